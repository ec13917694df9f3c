//! The manifest: what a file is, as one swapped record (PROTOCOL §2).
//!
//! Question: which bytes are the file, and who may add to them? Rule: everything a reader or the
//! next writer must know is in this one record, and it only changes by a swap of the version read.
//! `writer` says who owns the tail and changes only when the tail does; `nonce` is fresh in every
//! write. The obvious single nonce breaks when anybody else rewrites the record (compaction, a
//! sweep): the live writer no longer finds itself and gives up (trap 22).
//!
//! Invariants: a field we do not know survives a rewrite
//! (`file_wire::a_manifest_keeps_fields_it_does_not_know`); a record that contradicts itself is
//! `Corrupt` with its key, never repaired
//! (`file_wire::a_manifest_that_contradicts_itself_is_corrupt`); a newer version is refused by
//! name. What is not here: which change is allowed when (`decide::tail`, `decide::close`).

use crate::base::{Epoch, Error, Id128, Result, Status, WriterId};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version this library writes.
pub const VERSION: u64 = 1;
/// The most blocks of one file (PARITY W89).
pub const BLOCKS_MAX: usize = 10_000;
const EXACT: u64 = Epoch::MAX.0;

/// What state a file is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileState {
    /// Somebody writes it, or stopped without closing it: there is a tail.
    Open,
    /// Complete: there is no tail.
    Closed,
    /// A tombstone; it keeps epoch and incarnation.
    Deleted,
}

/// A finalised run of segments of one writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Whose directory.
    pub dir: WriterId,
    /// Its first sequence number there.
    pub first: u64,
    /// How many segments.
    pub n: u64,
    /// Bytes of payload.
    pub len: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// The object with its segments' lengths; `None`: ask a LIST.
    pub index: Option<Id128>,
    /// The object that holds it in one piece; `None`: its segments do.
    pub compacted: Option<Id128>,
    /// Fields of later versions.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Where the present writer's segments begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// Whose directory.
    pub dir: WriterId,
    /// The first sequence number that is not in a block.
    pub base_seq: u64,
    /// Where it belongs in the file.
    pub offset: u64,
    /// Fields of later versions.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A file's manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format version.
    pub v: u64,
    /// Names the data directory; the same for all incarnations of the path.
    pub file_id: Id128,
    /// Which life of this path, from 1.
    pub incarnation: u64,
    /// The nonce of the writer that began this incarnation.
    pub maker: Id128,
    /// Directories below this one belong to dead incarnations.
    pub first: WriterId,
    /// When the swap that set `first` was sent, in milliseconds since 1970 by the store's clock.
    pub first_at: i64,
    /// The epoch of the last writer.
    pub epoch: Epoch,
    /// Its open number under that epoch.
    pub open: u32,
    /// Its nonce: who owns the tail.
    pub writer: Id128,
    /// Fresh in every write of this record.
    pub nonce: Id128,
    /// Open, closed, deleted.
    pub state: FileState,
    /// The finalised part, in file order.
    pub blocks: Vec<Block>,
    /// The open part.
    pub tail: Option<Tail>,
    /// Bytes in blocks.
    pub length: u64,
    /// Fields of later versions.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Manifest {
    /// Reads a record and refuses one that contradicts itself; `key` is for the error.
    pub fn decode(body: &[u8], key: &str) -> Result<Manifest> {
        let value: Value = serde_json::from_slice(body).map_err(|e| bad(key, e.to_string()))?;
        let version = value.get("v").and_then(Value::as_u64);
        match version {
            Some(VERSION) => {}
            Some(newer) if newer > VERSION => {
                let what = format!("manifest version {newer}, this library reads {VERSION}");
                return Err(Error::new(Status::Unsupported, what).on(key));
            }
            _ => return Err(bad(key, format!("manifest version {:?}", value.get("v")))),
        }
        let manifest: Manifest =
            serde_json::from_value(value).map_err(|e| bad(key, e.to_string()))?;
        match manifest.contradiction() {
            Some(what) => Err(bad(key, what)),
            None => Ok(manifest),
        }
    }

    /// The record's bytes.
    pub fn encode(&self) -> Result<Bytes> {
        debug_assert_eq!(self.contradiction(), None);
        let body = serde_json::to_vec(self).map_err(|e| {
            Error::new(Status::Internal, "a manifest could not be written as JSON").because(e)
        })?;
        Ok(Bytes::from(body))
    }

    /// Whether there is a file: open or closed.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.state != FileState::Deleted
    }

    /// The last writer's identity.
    #[must_use]
    pub fn writer_id(&self) -> WriterId {
        WriterId { epoch: self.epoch, open: self.open }
    }

    /// Turns `n` segments of the tail, `len` bytes, into a block and drops the tail.
    pub fn finalise(&mut self, n: u64, len: u64, index: Option<Id128>) {
        let Some(tail) = self.tail.take() else { return };
        if n > 0 {
            self.blocks.push(Block {
                dir: tail.dir,
                first: tail.base_seq,
                n,
                len,
                offset: tail.offset,
                index,
                compacted: None,
                rest: Map::new(),
            });
            self.length += len;
        }
    }

    /// What in this record cannot be, if anything.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let mut at = 0_u64;
        for (i, b) in self.blocks.iter().enumerate() {
            if b.offset != at || b.n == 0 || b.len < b.n || b.len > EXACT || b.n > EXACT {
                return Some(format!(
                    "block {i} has {} segments of {} bytes at {}, expected at {at}",
                    b.n, b.len, b.offset
                ));
            }
            if let Some(what) = out_of_range(b.dir).or_else(|| huge("block.first", b.first)) {
                return Some(what);
            }
            at += b.len;
        }
        if self.length != at || at > EXACT {
            return Some(format!("length {} but blocks of {at} bytes", self.length));
        }
        if let Some(t) = &self.tail {
            if t.offset != at {
                return Some(format!("the tail begins at {}, the blocks end at {at}", t.offset));
            }
            if t.dir != self.writer_id() {
                return Some(format!("tail of {} but writer {}", t.dir, self.writer_id()));
            }
            if let Some(what) = huge("tail.base_seq", t.base_seq) {
                return Some(what);
            }
        }
        if (self.state == FileState::Open) != self.tail.is_some() {
            return Some(format!("{:?} with tail {:?}", self.state, self.tail.is_some()));
        }
        if self.state == FileState::Deleted && !self.blocks.is_empty() {
            return Some("deleted, with blocks".into());
        }
        if self.incarnation == 0 {
            return Some("incarnation 0".into());
        }
        huge("incarnation", self.incarnation)
            .or_else(|| out_of_range(self.writer_id()))
            .or_else(|| out_of_range(self.first))
    }
}

fn huge(field: &str, value: u64) -> Option<String> {
    (value > EXACT).then(|| format!("{field} {value} is above {EXACT}"))
}

fn out_of_range(id: WriterId) -> Option<String> {
    // One past the last open is a legal bound for `first` after a delete.
    let bad = !id.epoch.in_range() || id.open > WriterId::MAX_OPEN + 1;
    bad.then(|| format!("writer {id} is out of range"))
}

fn bad(key: &str, what: String) -> Error {
    Error::new(Status::Corrupt, format!("manifest: {what}")).on(key)
}
