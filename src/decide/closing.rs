//! Closing a file: one swap that turns the tail into a block (PROTOCOL §5 W4).
//!
//! Question: did my close land? Rule: once it is sent, the handle accepts nothing any more; only
//! the close itself is repeated, and after a missing or negative answer the manifest is read:
//! closed by *my* writer nonce and identity means done; still my open tail means send it again over
//! the version just read; anything else means a newer writer shut this one out. Why not go on
//! appending after a failed close: it may land later, and every byte acked after it lies behind the
//! final block (trap 10). Why not look at `nonce`: a sweep or a compaction rewrites it (trap 22).
//!
//! Invariants: `file_close::{a_close_whose_answer_was_lost_is_done_once,
//! nothing_is_accepted_once_close_was_sent}`. What is not here: waiting for acks before the close
//! is sent (`drive::stream`), the lease's release.

use super::Answer;
use crate::base::{Error, Id128, Mutant, Protection, Result, Status, Version, WriterId};
use crate::wire::manifest::{FileState, Manifest};

/// What the machine needs to know or have done.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// Read the manifest.
    Read,
    /// Swap it; the driver stamps `nonce`.
    Swap {
        /// Over this version.
        expect: Version,
        /// The record.
        manifest: Box<Manifest>,
    },
    /// The file is closed, by us.
    Done,
}

/// A close under way.
#[derive(Clone, Debug)]
pub struct Closing {
    path: String,
    me: Id128,
    id: WriterId,
    /// Sequence numbers used: the next one, were there one.
    end_seq: u64,
    /// The file's length with everything acked.
    length: u64,
    mutant: Mutant,
}

impl Closing {
    /// Of the writer `id` with nonce `me`, which acked `end_seq` segments up to file offset
    /// `length`.
    #[must_use]
    pub fn new(path: &str, me: Id128, id: WriterId, end_seq: u64, length: u64) -> Closing {
        Closing { path: path.to_owned(), me, id, end_seq, length, mutant: Mutant::default() }
    }

    /// The same close by a mutant, which knows its tail by the manifest's last `nonce` alone.
    #[must_use]
    pub fn mutated(self, mutant: Mutant, nonce: Id128) -> Closing {
        let me = if mutant.lacks(Protection::WriterNonce) { nonce } else { self.me };
        Closing { me, mutant, ..self }
    }

    /// The manifest as read, or as this writer last left it.
    pub fn found(&self, found: Option<(Manifest, Version)>) -> Result<Ask> {
        let Some((mut manifest, expect)) = found else {
            return Err(self.fenced("the file's manifest is gone"));
        };
        let lacks = self.mutant.lacks(Protection::WriterNonce);
        let owner = if lacks { manifest.nonce } else { manifest.writer };
        let mine = owner == self.me && manifest.writer_id() == self.id;
        if mine && manifest.state == FileState::Closed {
            return Ok(Ask::Done);
        }
        let tail = manifest.tail.as_ref().filter(|t| mine && t.dir == self.id);
        let Some(tail) = tail else {
            let what = match manifest.state {
                FileState::Deleted => "the file was deleted",
                _ => "a newer writer opened the file",
            };
            return Err(self.fenced(what).at(manifest.epoch));
        };
        let n = self.end_seq.checked_sub(tail.base_seq);
        let len = self.length.checked_sub(tail.offset);
        let (Some(n), Some(len)) = (n, len) else {
            let what = "the manifest's tail begins behind what this writer wrote";
            return Err(Error::new(Status::Corrupt, what).on(&self.path));
        };
        manifest.finalise(n, len, None);
        manifest.state = FileState::Closed;
        Ok(Ask::Swap { expect, manifest: Box::new(manifest) })
    }

    /// The swap was answered.
    #[must_use]
    pub fn swapped(&self, answer: Answer) -> Ask {
        if answer == Answer::Landed { Ask::Done } else { Ask::Read }
    }

    fn fenced(&self, what: &str) -> Error {
        Error::new(Status::Fenced, what).on(&self.path)
    }
}
