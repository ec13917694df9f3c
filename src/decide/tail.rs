//! Sealing the tail another writer left (PROTOCOL §4.3).
//!
//! Question: which segments of an open directory are the file, for ever? Rule: the directory gets a
//! *seal*, a create-only object of 64 bytes at the first position that is not taken. From then on
//! everything below it is the file and nothing at or behind it ever is, however late a request of
//! the former writer arrives: its position is taken. Why not simply count what a LIST shows: a
//! request in flight lands after the count, its sender is told "stored", and those bytes are gone
//! (`file_takeover::a_segment_in_flight_is_refused_after_takeover`). Why not stop at the first
//! refusal: a refusal also comes from a data segment that landed since the LIST; counting it out
//! loses acked bytes (Protection::SealPastData), so the walk goes on one further. Why not trust
//! names: with a pipeline there may be data *behind* a seal; sizes tell them apart (trap 8,
//! Protection::SealSize).
//!
//! A segment with damaged content counts as data: a PUT is atomic, so damage is the store's, and
//! cutting there would lose what follows. An object of a size that nothing of ours has is
//! `Corrupt`: fail closed. What is not here: who may seal (`decide::opening`), sending.

use super::Answer;
use crate::base::{Error, Mutant, Protection, Result, Status, WriterId};
use crate::wire::segment::{SizeTells, told_by_size};

/// How often a LIST may miss what was seen at a position before the store is given up.
const LISTS_MAX: u32 = 8;

/// What the walk needs to know or have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A LIST of the directory from this sequence number.
    List {
        /// Whose directory.
        dir: WriterId,
        /// From where on.
        from: u64,
    },
    /// A create-only PUT of a seal.
    Seal {
        /// Whose directory.
        dir: WriterId,
        /// At which position.
        seq: u64,
    },
    /// What is at this position?
    Look {
        /// Whose directory.
        dir: WriterId,
        /// At which position.
        seq: u64,
    },
    /// Nothing more.
    Done,
}

/// What was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The rows of the LIST: sequence number and size, ascending.
    Rows(Vec<(u64, u64)>),
    /// The seal's PUT was answered.
    Sealed(Answer),
    /// There is nothing at the position.
    LookedAbsent,
    /// There is an object of this many bytes, or more.
    LookedAt {
        /// Its bytes, at least.
        size: u64,
    },
}

/// The walk over one directory.
#[derive(Clone, Debug)]
pub struct Walk {
    dir: WriterId,
    base: u64,
    /// Payload lengths of the segments from `base`, as far as a LIST told them.
    lengths: Vec<u64>,
    /// The position to be sealed next, or sealed.
    at: u64,
    sealed: bool,
    lists: u32,
    mutant: Mutant,
}

impl Walk {
    /// Begins at the tail's base.
    #[must_use]
    pub fn new(dir: WriterId, base: u64, mutant: Mutant) -> Walk {
        Walk { dir, base, lengths: Vec::new(), at: base, sealed: false, lists: 0, mutant }
    }

    /// The first thing to ask.
    #[must_use]
    pub fn begin(&self) -> Ask {
        Ask::List { dir: self.dir, from: self.base }
    }

    /// How many segments count, once done.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.lengths.len() as u64
    }

    /// How many bytes of payload they hold.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lengths.iter().sum()
    }

    /// Takes one answer; says what to ask next. `Corrupt` for an object of impossible size,
    /// `StoreUnsupported` for a LIST that keeps hiding objects.
    pub fn hear(&mut self, heard: Heard) -> Result<Ask> {
        let (dir, seq) = (self.dir, self.at);
        match heard {
            Heard::Rows(rows) => self.rows(&rows),
            Heard::Sealed(Answer::Landed) => Ok(self.seal_found()),
            Heard::Sealed(Answer::Refused) if self.mutant.lacks(Protection::SealPastData) => {
                Ok(self.seal_found())
            }
            Heard::Sealed(Answer::Refused) => Ok(Ask::Look { dir, seq }),
            // Any seal there will do, so the same PUT again is harmless.
            Heard::Sealed(Answer::Unknown) | Heard::LookedAbsent => Ok(Ask::Seal { dir, seq }),
            Heard::LookedAt { size } => match told_by_size(size) {
                Some(SizeTells::Seal) => Ok(self.seal_found()),
                _ => {
                    self.at += 1;
                    Ok(Ask::Seal { dir, seq: self.at })
                }
            },
        }
    }

    fn rows(&mut self, rows: &[(u64, u64)]) -> Result<Ask> {
        self.lists += 1;
        self.lengths.clear();
        let mut at = self.base;
        let mut seal = false;
        for &(seq, size) in rows {
            if seq != at || (self.sealed && at == self.at) {
                break;
            }
            match told_by_size(size) {
                Some(SizeTells::Data(len)) => self.lengths.push(len),
                Some(SizeTells::Seal) if self.mutant.lacks(Protection::SealSize) => {
                    self.lengths.push(0);
                }
                Some(SizeTells::Seal) => {
                    seal = true;
                    break;
                }
                None => {
                    let what = format!("segment {seq} of {} has impossible size {size}", self.dir);
                    return Err(Error::new(Status::Corrupt, what));
                }
            }
            at += 1;
        }
        if self.sealed && at < self.at {
            return self.list_again(at);
        }
        self.at = at;
        if seal || self.sealed || self.mutant.lacks(Protection::Seal) {
            return Ok(Ask::Done);
        }
        Ok(Ask::Seal { dir: self.dir, seq: at })
    }

    /// The seal stands at `at`; lengths of segments that landed since the LIST are still to be
    /// asked for.
    fn seal_found(&mut self) -> Ask {
        self.sealed = true;
        if self.base + self.count() == self.at { Ask::Done } else { self.begin() }
    }

    fn list_again(&self, missing: u64) -> Result<Ask> {
        if self.lists < LISTS_MAX {
            return Ok(self.begin());
        }
        let what = format!("LIST does not show segment {missing} of {}, which exists", self.dir);
        Err(Error::new(Status::StoreUnsupported, what))
    }
}
