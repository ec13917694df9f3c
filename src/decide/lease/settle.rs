//! Settling: what became of swaps that nobody answered.
//!
//! Settled only by reading a nonce of mine (landed), by reading a version that is not their base
//! (dead: all of them name that base), or by a landed swap on the same base, which kills them.
//! After that no attempt of mine can land.

use super::{Do, Lease, Seen, View};
use crate::base::{Id128, Protection, Version};
use crate::wire::lease::{LeaseRecord, LeaseState};

impl Lease {
    /// The next request while attempts are unsettled.
    pub(super) fn settle(&mut self, view: &View, nonce: Id128) -> Do {
        match &self.seen {
            Seen::Nothing => Do::Read(None),
            // `settle_read` left it: the base is unchanged, so they may still land. Write on the
            // same base.
            Seen::Absent => self.kill(view, None, nonce),
            Seen::Record(record, version) => {
                let found = (record.clone(), version.clone());
                self.kill(view, Some(found), nonce)
            }
        }
    }

    /// A read came while attempts are unsettled.
    pub(super) fn settle_read(&mut self) {
        match self.seen.clone() {
            Seen::Nothing => {}
            Seen::Absent => {
                let undecided = self.attempts.iter().any(|a| a.base.is_none());
                if !undecided {
                    self.attempts.clear();
                    self.after_dead(None);
                }
            }
            Seen::Record(record, version) => {
                let mine = self.attempts.iter().find(|a| a.record.nonce == record.nonce);
                if let Some(mine) = mine.cloned() {
                    self.landed(mine, version);
                } else if !self.attempts.iter().any(|a| a.base.as_ref() == Some(&version)) {
                    self.attempts.clear();
                    self.after_dead(Some((&record, &version)));
                }
            }
        }
    }

    /// The generation under which an attempt may be adopted: the oldest among them.
    pub(super) fn oldest_generation(&self, landed: u64) -> u64 {
        if self.mutant.lacks(Protection::AdoptOldest) {
            return landed.max(self.attempts.iter().map(|a| a.generation).max().unwrap_or(0));
        }
        self.attempts.iter().map(|a| a.generation).fold(landed, u64::min)
    }

    /// All attempts are dead. What was held is still held if the record says so; otherwise it is
    /// gone.
    fn after_dead(&mut self, found: Option<(&LeaseRecord, &Version)>) {
        let Some(hold) = &mut self.hold else { return };
        match found {
            Some((record, version)) if record.names(self.me.sid, hold.record.epoch) => {
                hold.record = record.clone();
                hold.version = version.clone();
            }
            _ => self.lose(found.map(|(record, _)| record)),
        }
    }

    fn send_null(&mut self, view: &View, base: Option<Version>, record: LeaseRecord) -> Do {
        let sent = self.send(view, base, record);
        if let Some(attempt) = &mut self.in_flight {
            attempt.null = true;
        }
        sent
    }

    fn kill(
        &mut self,
        view: &View,
        found: Option<(Box<LeaseRecord>, Version)>,
        nonce: Id128,
    ) -> Do {
        let Some(last) = self.attempts.last().cloned() else { return Do::Rest };
        let acquiring = self.hold.is_none();
        let wanted = self.wanted && !self.releasing;
        if wanted && !view.valid {
            return Do::Wait(None);
        }
        if wanted || !acquiring {
            // The same intention once more, on the same base.
            let mut record = last.record;
            record.nonce = nonce;
            return self.send(view, last.base, record);
        }
        match found {
            Some((mut record, version)) => {
                record.nonce = nonce;
                self.send_null(view, Some(version), *record)
            }
            None => {
                let mut record = last.record;
                record.nonce = nonce;
                record.state = LeaseState::Released;
                self.send_null(view, None, record)
            }
        }
    }
}
