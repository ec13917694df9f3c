//! What a reader sees of a file at one moment (PROTOCOL §6).
//!
//! Question: which bytes are visible? Rule: the blocks of the manifest, then the data of the open
//! tail up to the first hole or seal. It takes three requests in this order: manifest, LIST of the
//! tail, manifest again if it changed. The third is the point: between the first two the tail may
//! have been sealed, compacted and its segments collected, and a reader that trusts the empty LIST
//! loses acked bytes (trap 11). `tail` must be the same in directory, base and offset; the
//! directory alone is not enough, a checkpoint moves the base. And the file must still be the same
//! incarnation: going on at the same offset in the next life of a path mixes two files (trap 23).
//!
//! Invariants: `file_read::{a_reader_sees_acked_bytes_through_recovery_and_collection,
//! a_reader_never_goes_on_in_another_incarnation}`. What is not here: fetching bytes
//! (`drive::fetch`), following (`drive::reader`).

use super::backoff::Backoff;
use super::context::{FileContext, is_transient};
use super::open_file::list_segments;
use crate::base::{Error, FilePath, Id128, Protection, Result, Status, Version, WriterId};
use crate::store::Read;
use crate::wire::key;
use crate::wire::manifest::{Block, FileState, Manifest, Tail};
use crate::wire::segment::{HEADER, Header, SizeTells, told_by_size};
use std::sync::Arc;

/// Rounds of manifest and LIST before a file that changes without end is given up.
const ROUNDS_MAX: u32 = 16;

/// One stored object and the part of the file it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it begins in the file.
    pub(crate) offset: u64,
    /// Bytes of payload.
    pub(crate) len: u64,
    /// Its key.
    pub(crate) key: Arc<str>,
}

/// Blocks and tail at one moment.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) manifest: Manifest,
    pub(crate) version: Version,
    /// The visible segments of the tail, in order.
    pub(crate) tail: Vec<Piece>,
    /// Whether a seal stands behind them.
    pub(crate) sealed: bool,
}

impl View {
    pub(crate) fn length(&self) -> u64 {
        self.tail.last().map_or(self.manifest.length, |p| p.offset + p.len)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.manifest.state == FileState::Closed
    }

    /// The tail's directory and the sequence number that follows what is visible.
    pub(crate) fn next(&self) -> Option<(WriterId, u64)> {
        let tail = self.manifest.tail.as_ref()?;
        Some((tail.dir, tail.base_seq + self.tail.len() as u64))
    }
}

/// Looks at a file. `bound` is the incarnation to stay with; another one, or none, is `NotFound`.
pub(crate) async fn look(ctx: &FileContext, path: &FilePath, bound: Option<u64>) -> Result<View> {
    let mut backoff = Backoff::default();
    for _ in 0..ROUNDS_MAX {
        let (manifest, version) = same_life(ctx, path, bound, ctx.manifest(path).await?)?;
        let (tail, sealed) = match &manifest.tail {
            Some(t) => tail_pieces(ctx, manifest.file_id, t).await?,
            None => return Ok(View { manifest, version, tail: Vec::new(), sealed: false }),
        };
        if ctx.world.mutant.lacks(Protection::ReaderRecheck) {
            return Ok(View { manifest, version, tail, sealed });
        }
        let bound = Some(manifest.incarnation);
        let again = match ctx.manifest_if_changed(path, Some(&version)).await? {
            Read::Unchanged => return Ok(View { manifest, version, tail, sealed }),
            Read::Absent => None,
            Read::Present(s) => Some((Manifest::decode(&s.body, &key::manifest(path))?, s.version)),
        };
        let (manifest2, version) = same_life(ctx, path, bound, again)?;
        if same_tail(&manifest.tail, &manifest2.tail) {
            return Ok(View { manifest: manifest2, version, tail, sealed });
        }
        backoff.pause(&ctx.world).await;
    }
    let what = format!("it changed in each of {ROUNDS_MAX} looks");
    Err(Error::new(Status::StoreUnavailable, what).on(path))
}

/// As [`look`], repeated while the store is silent, at most `ack_timeout`.
pub(crate) async fn look_again(
    ctx: &FileContext,
    path: &FilePath,
    bound: Option<u64>,
) -> Result<View> {
    let mut backoff = Backoff::default();
    for _ in 0..3 {
        match look(ctx, path, bound).await {
            Err(e) if is_transient(&e) => backoff.pause(&ctx.world).await,
            seen => return seen,
        }
    }
    look(ctx, path, bound).await
}

fn same_life(
    ctx: &FileContext,
    path: &FilePath,
    bound: Option<u64>,
    found: Option<(Manifest, Version)>,
) -> Result<(Manifest, Version)> {
    let gone = |what: &str| Err(Error::new(Status::NotFound, what).on(path));
    let Some((manifest, version)) = found else { return gone("no such file") };
    if !manifest.is_live() {
        return gone(if bound.is_some() { "the file was deleted" } else { "no such file" });
    }
    let moved = bound.is_some_and(|b| b != manifest.incarnation);
    if moved && !ctx.world.mutant.lacks(Protection::ReaderIncarnation) {
        return gone("the file was replaced by a new one of the same path");
    }
    Ok((manifest, version))
}

fn same_tail(a: &Option<Tail>, b: &Option<Tail>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.dir == b.dir && a.base_seq == b.base_seq && a.offset == b.offset,
        (None, None) => true,
        _ => false,
    }
}

async fn tail_pieces(ctx: &FileContext, file_id: Id128, tail: &Tail) -> Result<(Vec<Piece>, bool)> {
    let rows = list_segments(ctx, file_id, tail.dir, tail.base_seq).await?;
    let mut pieces = Vec::with_capacity(rows.len());
    let mut offset = tail.offset;
    for (next, (seq, size)) in (tail.base_seq..).zip(rows) {
        if seq != next {
            break;
        }
        let key = key::segment_at(file_id, tail.dir, seq);
        match told_by_size(size) {
            Some(SizeTells::Seal) => return Ok((pieces, true)),
            Some(SizeTells::Data(len)) => {
                pieces.push(Piece { offset, len, key: key.into() });
                offset += len;
            }
            None => return Err(impossible_size(&key, size, offset)),
        }
    }
    Ok((pieces, false))
}

/// The segments of a finalised block, from a LIST.
pub(crate) async fn block_pieces(
    ctx: &FileContext,
    file_id: Id128,
    block: &Block,
) -> Result<Vec<Piece>> {
    let rows = list_segments(ctx, file_id, block.dir, block.first).await?;
    let mut pieces = Vec::with_capacity(block.n as usize);
    let mut offset = block.offset;
    for (next, (seq, size)) in (block.first..block.first + block.n).zip(rows) {
        let key = key::segment_at(file_id, block.dir, next);
        match told_by_size(size) {
            Some(SizeTells::Data(len)) if seq == next => {
                pieces.push(Piece { offset, len, key: key.into() });
                offset += len;
            }
            // Collected after a compaction, perhaps: the caller looks at the manifest again before
            // it believes this.
            _ if seq != next => return Err(missing(&key, offset)),
            _ => return Err(impossible_size(&key, size, offset)),
        }
    }
    if (pieces.len() as u64) < block.n {
        let key = key::segment_at(file_id, block.dir, block.first + pieces.len() as u64);
        return Err(missing(&key, offset));
    }
    if offset == block.offset + block.len {
        Ok(pieces)
    } else {
        by_headers(ctx, block, pieces).await
    }
}

/// A segment was cut or replaced, since the sizes do not add up. Headers carry their own checksum,
/// so they tell where each segment belongs; the damaged one fails when it is read, under its own
/// name, and the sound ones around it stay readable.
async fn by_headers(
    ctx: &FileContext,
    block: &Block,
    mut pieces: Vec<Piece>,
) -> Result<Vec<Piece>> {
    let mut offset = block.offset;
    for piece in &mut pieces {
        let range = Some(0..HEADER as u64);
        let found = ctx.ask(&piece.key, ctx.store.blobs.read(&piece.key, range)).await?;
        let header = found.as_deref().map(|head| Header::decode(head, &piece.key)).transpose()?;
        piece.offset = offset;
        piece.len = header.map_or(piece.len, |h| h.len);
        offset += piece.len;
    }
    Ok(pieces)
}

/// A segment that must be there is not: `NotFound` of its key, `Corrupt` once the manifest proves
/// not to have moved on.
pub(crate) fn missing(key: &str, offset: u64) -> Error {
    let what = format!("it is missing; the file has bytes there from offset {offset}");
    Error::new(Status::NotFound, what).on(key)
}

fn impossible_size(key: &str, size: u64, offset: u64) -> Error {
    let what = format!("no segment has {size} bytes (offset {offset} of the file)");
    Error::new(Status::Corrupt, what).on(key)
}
