//! Becoming the writer of a file: create, append, recover, delete (PROTOCOL §4).
//!
//! Question: how does a lease holder of epoch E become the only one whose bytes count? Rule: read
//! the manifest; make sure the epoch is not behind it; prove the lease before touching somebody
//! else's open tail; seal that tail; then **one swap** of the manifest installs the new writer with
//! a directory of its own. A refused or unanswered swap starts over from the read, and the nonces
//! found there tell whose it was.
//!
//! Why the obvious rules fail. *"The manifest's epoch is not below mine, so I am fenced"* locks out
//! one's own retry after a lost answer; relaxed, two opens share a directory and their segments
//! mix: hence (epoch, open) and one directory per open (trap 9). *"I hold the lease"* is only what
//! this process believes: after its record was deleted, a former holder would seal out the lawful
//! one; hence the touch (trap 26). *"Deleting needs no seal"* lets a former writer go on acking
//! into a dead file (trap 18). *"Retry the overwrite"* removes the next life of the path too; hence
//! the incarnation is fixed at the first read (trap 19).
//!
//! Invariants: (epoch, open) of the manifest only grows
//! (`file_open::an_older_epoch_raises_its_lease_or_is_fenced`); one operation removes one
//! incarnation (`file_open::an_overwrite_whose_answer_was_lost_does_not_overwrite_again`); two
//! opens under one epoch never share a directory
//! (`file_takeover::two_opens_under_one_lease_do_not_mix`). What is not here: sending, back-off,
//! nonces and times (the driver stamps each swap).

use super::Answer;
use super::tail::{self, Walk};
use crate::base::{Epoch, Error, Id128, Mutant, Protection, Result, Status, Version, WriterId};
use crate::wire::manifest::{BLOCKS_MAX, FileState, Manifest, Tail, VERSION};
use serde_json::Map;

/// What the caller wants with the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A new file; with `overwrite` also over a living one.
    Create {
        /// Replace a living file.
        overwrite: bool,
    },
    /// Go on writing an existing file.
    Append,
    /// Finish what a dead writer left; closed, deleted or missing files need nothing.
    Recover,
    /// Leave a tombstone.
    Delete,
}

/// What the machine needs to know or have done.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// Read the manifest.
    Read,
    /// Raise the lease's epoch to at least this, by a swap of its record.
    Raise(Epoch),
    /// Prove the lease by a swap of its record.
    Touch,
    /// A step of the walk that seals the old tail.
    Tail(Id128, tail::Ask),
    /// Swap the manifest. The driver stamps `nonce`, and `first_at` if `begins`.
    Swap {
        /// Over this version; `None`: create.
        expect: Option<Version>,
        /// The record.
        manifest: Box<Manifest>,
        /// Whether the swap sets `first`.
        begins: bool,
    },
    /// Finished.
    Done(Box<Opened>),
}

/// How it ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Opened {
    /// We are the writer.
    Writing(Manifest),
    /// Nothing had to be done (recovery of a file that is not open).
    Nothing(Option<Manifest>),
    /// The file is gone.
    Deleted,
}

/// What was heard.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time, consumed at once")]
pub enum Heard {
    /// The manifest, or that there is none.
    Manifest(Option<(Manifest, Version)>),
    /// The lease's epoch was raised to this.
    Raised(Epoch),
    /// The lease was proved.
    Touched,
    /// An answer for the walk.
    Tail(tail::Heard),
    /// The swap was answered.
    Swapped(Answer),
}

/// One attempt to become the writer.
#[derive(Clone, Debug)]
pub struct Opening {
    path: String,
    mode: Mode,
    me: Id128,
    file_id: Id128,
    epoch: Epoch,
    mutant: Mutant,
    /// The incarnation the operation is about, fixed at the first read.
    target: Option<u64>,
    /// Whether a swap of ours was sent in an earlier round.
    swapped: bool,
    proved: bool,
    seen: Option<(Manifest, Version)>,
    walk: Option<Walk>,
    sent: Option<Manifest>,
}

impl Opening {
    /// `me` is the new writer's nonce, `file_id` the identity a new file would get; both fresh.
    #[must_use]
    pub fn new(
        path: &str,
        mode: Mode,
        epoch: Epoch,
        me: Id128,
        file_id: Id128,
        mutant: Mutant,
    ) -> Opening {
        Opening {
            path: path.to_owned(),
            mode,
            me,
            file_id,
            epoch,
            mutant,
            target: None,
            swapped: false,
            proved: false,
            seen: None,
            walk: None,
            sent: None,
        }
    }

    /// Whether a swap of ours may have landed or may still land.
    #[must_use]
    pub fn has_swapped(&self) -> bool {
        self.swapped
    }

    /// Takes one answer; says what to ask next. Errors are final: `NotFound`, `AlreadyExists`,
    /// `Fenced`, `Corrupt`.
    pub fn hear(&mut self, heard: Heard) -> Result<Ask> {
        match heard {
            Heard::Manifest(found) => self.read(found),
            Heard::Raised(epoch) => {
                self.epoch = epoch;
                self.proved = true;
                self.admit()
            }
            Heard::Touched => {
                self.proved = true;
                self.admit()
            }
            Heard::Tail(answer) => {
                let Some(walk) = &mut self.walk else { return Ok(Ask::Read) };
                let ask = walk.hear(answer).map_err(|e| match e.resource() {
                    None => e.on(&self.path),
                    Some(_) => e,
                })?;
                self.walked(ask)
            }
            Heard::Swapped(Answer::Landed) => match self.sent.take() {
                Some(m) if m.is_live() => Ok(done(Opened::Writing(m))),
                _ => Ok(done(Opened::Deleted)),
            },
            Heard::Swapped(Answer::Refused | Answer::Unknown) => Ok(Ask::Read),
        }
    }

    /// Step 1: may the operation go on with what was found?
    fn read(&mut self, found: Option<(Manifest, Version)>) -> Result<Ask> {
        let manifest = found.as_ref().map(|(m, _)| m);
        let live = manifest.is_some_and(Manifest::is_live);
        let incarnation = manifest.map_or(0, |m| m.incarnation);
        let target = *self.target.get_or_insert(incarnation);
        let moved = incarnation != target && !self.mutant.lacks(Protection::TargetIncarnation);
        match self.mode {
            Mode::Append if !live => return Err(self.error(Status::NotFound, "no such file")),
            Mode::Recover if manifest.is_none_or(|m| m.state != FileState::Open) => {
                return Ok(done(Opened::Nothing(found.map(|(m, _)| m))));
            }
            Mode::Delete if !live && !self.swapped => {
                return Err(self.error(Status::NotFound, "no such file"));
            }
            Mode::Delete if !live || moved => return Ok(done(Opened::Deleted)),
            Mode::Create { .. }
                if moved && manifest.is_some_and(|m| live && self.made_by_me(m)) =>
            {
                // Our own swap landed; its answer was lost. Go on as an open.
                self.mode = Mode::Append;
            }
            Mode::Create { overwrite: false } if live => {
                return Err(self.error(Status::AlreadyExists, "the file exists"));
            }
            Mode::Create { .. } if moved => {
                let what = "another writer replaced the file meanwhile";
                let epoch = manifest.map_or(self.epoch, |m| m.epoch);
                return Err(self.error(Status::Fenced, what).at(epoch));
            }
            _ => {}
        }
        self.seen = found;
        self.proved = false;
        self.walk = None;
        self.admit()
    }

    /// Step 2: the epoch must not be behind, and the lease must be proved before a foreign tail is
    /// sealed.
    fn admit(&mut self) -> Result<Ask> {
        let Some((manifest, _)) = &self.seen else { return self.swap() };
        if manifest.epoch > self.epoch && !self.mutant.lacks(Protection::EpochComparison) {
            return self.raise_above(manifest.epoch);
        }
        let opens_used_up = manifest.epoch == self.epoch && manifest.open >= WriterId::MAX_OPEN;
        if opens_used_up {
            return self.raise_above(manifest.epoch);
        }
        let foreign = manifest.writer != self.me;
        // With equal epochs the former writer had this very lease, or its record was deleted: only
        // a swap can tell.
        let contested = manifest.tail.is_some() || manifest.epoch == self.epoch;
        let must_prove = foreign && contested && !self.proved;
        if must_prove && !self.mutant.lacks(Protection::TouchBeforeSeal) {
            return Ok(Ask::Touch);
        }
        let shares = self.mutant.lacks(Protection::OpenId) && manifest.epoch == self.epoch;
        match &manifest.tail {
            Some(tail) if !shares => {
                let walk = Walk::new(tail.dir, tail.base_seq, self.mutant);
                let ask = walk.begin();
                self.walk = Some(walk);
                self.walked(ask)
            }
            _ => self.swap(),
        }
    }

    fn raise_above(&self, epoch: Epoch) -> Result<Ask> {
        let next = epoch.next().ok_or_else(|| {
            self.error(Status::Corrupt, "the manifest's epoch is the largest there is").at(epoch)
        })?;
        Ok(Ask::Raise(next))
    }

    /// Step 3: the walk.
    fn walked(&mut self, ask: tail::Ask) -> Result<Ask> {
        match (ask, &self.seen) {
            (tail::Ask::Done, _) => self.swap(),
            (ask, Some((m, _))) => Ok(Ask::Tail(m.file_id, ask)),
            (_, None) => Ok(Ask::Read),
        }
    }

    /// Steps 4 and 6: the one swap.
    fn swap(&mut self) -> Result<Ask> {
        let (mut next, expect) = match &self.seen {
            Some((m, version)) => (m.clone(), Some(version.clone())),
            None => (self.blank(), None),
        };
        let by = self.next_id(expect.is_some().then_some(&next));
        let begins = match self.mode {
            Mode::Delete => {
                next.blocks.clear();
                (next.length, next.tail, next.state) = (0, None, FileState::Deleted);
                next.first = WriterId { open: by.open + 1, ..by };
                true
            }
            Mode::Create { .. } => {
                next.blocks.clear();
                next.incarnation += 1;
                next.maker = self.me;
                next.first = by;
                next.length = 0;
                next.tail = Some(begin(by, 0));
                next.state = FileState::Open;
                true
            }
            Mode::Append | Mode::Recover => {
                let shared = self.mutant.lacks(Protection::OpenId) && next.writer_id() == by;
                if !(shared && next.tail.is_some()) {
                    let (n, len) = self.walk.as_ref().map_or((0, 0), |w| (w.count(), w.bytes()));
                    next.finalise(n, len, None);
                    next.tail = Some(begin(by, next.length));
                }
                next.state = FileState::Open;
                false
            }
        };
        if next.blocks.len() >= BLOCKS_MAX {
            let what = format!("{} blocks, expected fewer: compact it first", next.blocks.len());
            return Err(self.error(Status::Unsupported, &what));
        }
        (next.epoch, next.open, next.writer) = (by.epoch, by.open, self.me);
        self.swapped = true;
        self.sent = Some(next.clone());
        Ok(Ask::Swap { expect, manifest: Box::new(next), begins })
    }

    /// The new writer's identity: the next open under the same epoch, else the first of a new one.
    fn next_id(&self, manifest: Option<&Manifest>) -> WriterId {
        let open = match manifest {
            Some(m) if m.epoch == self.epoch && !self.mutant.lacks(Protection::OpenId) => {
                m.open + 1
            }
            _ => 0,
        };
        WriterId { epoch: self.epoch, open }
    }

    fn blank(&self) -> Manifest {
        Manifest {
            v: VERSION,
            file_id: self.file_id,
            incarnation: 0,
            maker: self.me,
            first: WriterId::default(),
            first_at: 0,
            epoch: Epoch(0),
            open: 0,
            writer: self.me,
            nonce: self.me,
            state: FileState::Deleted,
            blocks: Vec::new(),
            tail: None,
            length: 0,
            rest: Map::new(),
        }
    }

    fn made_by_me(&self, m: &Manifest) -> bool {
        m.maker == self.me && m.writer == self.me
    }

    fn error(&self, status: Status, what: &str) -> Error {
        Error::new(status, what).on(&self.path)
    }
}

fn begin(dir: WriterId, offset: u64) -> Tail {
    Tail { dir, base_seq: 0, offset, rest: Map::new() }
}

fn done(opened: Opened) -> Ask {
    Ask::Done(Box::new(opened))
}
