//! The next request, and what its answer means.

use super::{Answer, Attempt, Do, Hold, Lease, Left, RecordRead, Seen, Standing, Swapped, View};
use crate::base::{Error, Id128, Kind, Mono, Protection, Status, Version};
use crate::wire::lease::{LeaseRecord, LeaseState, Recover};
use std::time::Duration;

impl Lease {
    /// The next request. `nonce` is used if a record is written.
    pub fn next(&mut self, now: Mono, view: &View, nonce: Id128) -> Do {
        if let Some(orphan) = self.in_flight.take() {
            // Its task died before the answer.
            self.attempts.push(orphan);
        }
        if now < self.pause_until {
            return Do::Wait(Some(self.pause_until));
        }
        if !self.attempts.is_empty() {
            return self.settle(view, nonce);
        }
        if self.hold.is_some() && (self.releasing || !self.wanted) {
            return self.send_release(view, nonce);
        }
        self.releasing = false;
        if !self.wanted {
            // Refused and lost stay told until somebody wants it again.
            if !matches!(self.standing, Standing::Refused(_) | Standing::Lost(_)) {
                self.standing = Standing::Idle;
            }
            return Do::Rest;
        }
        match &self.hold {
            None => self.acquire(now, view, nonce),
            Some(hold) => {
                let stale = hold.generation != view.generation || self.proof_wanted;
                let raise = self.raise_to.is_some_and(|e| e > hold.record.epoch);
                self.standing = Standing::Held(hold.record.epoch);
                match (raise, stale) {
                    (true, _) => self.send_raise(view, nonce),
                    (false, true) => self.send_touch(view, nonce),
                    (false, false) => {
                        self.raise_to = None;
                        Do::Rest
                    }
                }
            }
        }
    }

    /// The answer to the last request.
    pub fn answer(&mut self, now: Mono, view: &View, answer: Answer, jitter: Duration) {
        match answer {
            Answer::Record(read) => self.record_read(now, read, jitter),
            Answer::Rival(read) => self.rival_read(now, view, read, jitter),
            Answer::Swap(swapped) => self.swapped(now, view, swapped, jitter),
            Answer::StoreTime(Ok(())) => self.failures = 0,
            Answer::Notified(Ok(())) => {
                if let Some(rival) = &mut self.rival {
                    rival.notified = true;
                }
            }
            Answer::StoreTime(Err(why)) | Answer::Notified(Err(why)) => {
                self.failed(now, why, jitter);
            }
        }
    }

    /// Sends a swap: from here on it may land at any time.
    pub(super) fn send(&mut self, view: &View, base: Option<Version>, record: LeaseRecord) -> Do {
        let (generation, proves) = (view.generation, self.proof_wanted);
        let attempt = Attempt { base: base.clone(), record, generation, proves, null: false };
        let record = Box::new(attempt.record.clone());
        self.in_flight = Some(attempt);
        self.seen = Seen::Nothing;
        Do::Swap(base, record)
    }

    /// The store did not answer: tell it, and go on more and more slowly.
    pub(super) fn failed(&mut self, now: Mono, why: Error, jitter: Duration) {
        self.failures = (self.failures + 1).min(16);
        self.pause_until = now + self.backoff(self.failures) + jitter;
        if self.hold.is_none() {
            self.standing = Standing::Failing(why);
        }
    }

    fn backoff(&self, times: u32) -> Duration {
        let base = (self.me.soft / 30).min(Duration::from_secs(2));
        (base * (1 << (times.max(1) - 1).min(4))).min(Duration::from_secs(5))
    }

    fn send_release(&mut self, view: &View, nonce: Id128) -> Do {
        self.releasing = true;
        let Some(hold) = &self.hold else { return Do::Rest };
        let mut record = hold.record.clone();
        record.nonce = self.nonce_for(&record, nonce);
        record.state = LeaseState::Released;
        record.offer = None;
        match self.left {
            Left::AsFound => {}
            Left::Closed => record.recover = None,
            Left::Unclosed => {
                let first_epoch = record.epoch;
                record.recover.get_or_insert(Recover { attempts: 0, first_epoch });
            }
        }
        if self.mutant.lacks(Protection::ReleaseKeepsRecord) {
            record.epoch = crate::base::Epoch(0);
        }
        let base = hold.version.clone();
        self.send(view, Some(base), record)
    }

    fn send_touch(&mut self, view: &View, nonce: Id128) -> Do {
        if !view.valid {
            return Do::Wait(None);
        }
        let Some(hold) = &mut self.hold else { return Do::Rest };
        if self.mutant.lacks(Protection::TouchBySwap) {
            hold.generation = view.generation;
            self.proof_wanted = false;
            return Do::Rest;
        }
        let (mut record, base) = (hold.record.clone(), hold.version.clone());
        record.touch += 1;
        record.nonce = self.nonce_for(&record, nonce);
        self.send(view, Some(base), record)
    }

    fn send_raise(&mut self, view: &View, nonce: Id128) -> Do {
        if !view.valid {
            return Do::Wait(None);
        }
        let (Some(hold), Some(to)) = (&self.hold, self.raise_to) else { return Do::Rest };
        let (mut record, base) = (hold.record.clone(), hold.version.clone());
        record.past = record.past_with_this();
        record.epoch = to;
        record.touch = 0;
        record.nonce = self.nonce_for(&record, nonce);
        self.send(view, Some(base), record)
    }

    pub(super) fn nonce_for(&self, old: &LeaseRecord, fresh: Id128) -> Id128 {
        if self.mutant.lacks(Protection::FreshNonce) { old.nonce } else { fresh }
    }

    fn swapped(&mut self, now: Mono, view: &View, swapped: Swapped, jitter: Duration) {
        let Some(mut attempt) = self.in_flight.take() else { return };
        if self.mutant.lacks(Protection::GenerationAtSend) {
            attempt.generation = view.generation;
        }
        match swapped {
            Swapped::Landed(version) => {
                self.failures = 0;
                self.landed(attempt, version);
            }
            Swapped::Refused => {
                let again = u32::try_from(self.attempts.len()).unwrap_or(u32::MAX);
                self.attempts.push(attempt);
                self.forget_unsettled();
                if again > 0 {
                    // Refused on an unchanged base: the store is at odds with itself.
                    self.pause_until = now + self.backoff(again) + jitter;
                }
            }
            Swapped::Unknown(why) => {
                self.attempts.push(attempt);
                self.forget_unsettled();
                self.failed(now, why, jitter);
            }
        }
    }

    /// Mutant: an abandoned request is simply forgotten.
    fn forget_unsettled(&mut self) {
        if self.mutant.lacks(Protection::Settle) {
            self.attempts.clear();
        }
    }

    /// This attempt is in the store under this version: every other one is dead.
    pub(super) fn landed(&mut self, attempt: Attempt, version: Version) {
        let generation = self.oldest_generation(attempt.generation);
        self.attempts.clear();
        self.rival = None;
        self.seen = Seen::Nothing;
        if attempt.null {
            self.known = None;
            return;
        }
        if attempt.proves {
            self.proof_wanted = false;
        }
        self.adopt(attempt.record, version, generation);
    }

    fn adopt(&mut self, record: LeaseRecord, version: Version, generation: u64) {
        if record.state == LeaseState::Released {
            self.hold = None;
            self.releasing = false;
            self.known = Some((Box::new(record), version));
            if !self.wanted {
                self.standing = Standing::Idle;
            }
            return;
        }
        if self.raise_to.is_some_and(|e| e <= record.epoch) {
            self.raise_to = None;
        }
        if self.wanted && !self.releasing {
            self.standing = Standing::Held(record.epoch);
        }
        self.known = None;
        self.hold = Some(Hold { record, version, generation });
    }

    fn record_read(&mut self, now: Mono, read: RecordRead, jitter: Duration) {
        let seen = match read {
            RecordRead::Failed(why) => return self.failed(now, why, jitter),
            RecordRead::Refused(why) => return self.unusable(why),
            RecordRead::Absent => Seen::Absent,
            RecordRead::Unchanged => match self.known.clone() {
                Some((record, version)) => Seen::Record(record, version),
                None => Seen::Nothing,
            },
            RecordRead::Present(record, version) => Seen::Record(record, version),
        };
        self.failures = 0;
        if let Seen::Record(record, version) = &seen {
            self.known = Some((record.clone(), version.clone()));
        }
        self.seen = seen;
        if !self.attempts.is_empty() {
            self.settle_read();
        }
    }

    /// Damaged or too new: closed to us, whatever was held or tried.
    fn unusable(&mut self, why: Error) {
        self.attempts.clear();
        let held = self.hold.take().is_some();
        self.wanted = false;
        self.releasing = false;
        self.standing = if held { Standing::Lost(why) } else { Standing::Refused(why) };
    }

    /// The record no longer names this holding.
    pub(super) fn lose(&mut self, record: Option<&LeaseRecord>) {
        self.hold = None;
        self.proof_wanted = false;
        self.raise_to = None;
        if self.releasing || !self.wanted {
            self.releasing = false;
            return;
        }
        self.wanted = false;
        let why = match record {
            Some(r) if r.state == LeaseState::Held => {
                // Files and cells have a newer writer then, and it shuts this one out.
                let bare = self.resource.kind() == Kind::Lease;
                let status = if bare { Status::LeaseLost } else { Status::Fenced };
                Error::new(status, "another holder took the lease").held_by(r.holder()).at(r.epoch)
            }
            Some(r) => Error::new(Status::LeaseLost, "the lease was taken away").at(r.epoch),
            None => Error::new(Status::LeaseLost, "the lease record was deleted"),
        };
        self.standing = Standing::Lost(why.on(&self.resource));
    }
}
