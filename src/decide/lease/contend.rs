//! Acquiring: from the record to the swap, past a rival if it lapsed.
//!
//! Strict order: read the record, *then* its holder's session, then swap on the version read. The
//! swap lands only if the holder wrote nothing to the record since the first read; the session read
//! in between shows that it had lapsed at that instant; any later validity of the holder needs a
//! touch, which moves the version or fails.

use super::{Do, Lapse, Lease, Rival, RivalRead, Seen, Standing, View};
use crate::base::{Epoch, Error, Id128, Limits, Mono, Protection, Status, Version, Wall};
use crate::wire::json::VERSION;
use crate::wire::lease::{How, LeaseRecord, LeaseState};
use crate::wire::session::{SessionRecord, SessionState};
use std::time::Duration;

/// How often a waiter looks whether the record moved, so that a release is noticed soon.
const POLL: Duration = Duration::from_secs(2);

impl Lease {
    /// The next request of an acquire.
    pub(super) fn acquire(&mut self, now: Mono, view: &View, nonce: Id128) -> Do {
        if !view.valid {
            return Do::Wait(None);
        }
        match std::mem::replace(&mut self.seen, Seen::Nothing) {
            Seen::Nothing => match self.known.take() {
                // Released by ourselves just now: its version is remembered, one request suffices.
                Some((record, version))
                    if record.state == LeaseState::Released
                        && record.sid == self.me.sid
                        && record.how != How::Forced
                        && self.rival.is_none() =>
                {
                    self.take(view, Some((record, version)), How::Fresh, nonce)
                }
                known => {
                    self.known = known;
                    Do::Read(self.known.as_ref().map(|(_, v)| v.clone()))
                }
            },
            Seen::Absent => self.take(view, None, How::Fresh, nonce),
            Seen::Record(record, version) => self.judge(now, view, record, version, nonce),
        }
    }

    fn judge(
        &mut self,
        now: Mono,
        view: &View,
        record: Box<LeaseRecord>,
        version: Version,
        nonce: Id128,
    ) -> Do {
        if self.rival.as_ref().is_none_or(|r| r.version != version) {
            self.rival = Some(Rival {
                version: version.clone(),
                due: now,
                missing_since: None,
                offer_since: None,
                lapse: match &self.rival {
                    Some(r) if self.mutant.lacks(Protection::ReadOrder) => r.lapse,
                    _ => Lapse::No,
                },
                notified: false,
            });
        }
        let Some(rival) = &mut self.rival else { return Do::Read(None) };
        match record.state {
            LeaseState::Released => self.judge_released(now, view, record, version, nonce),
            LeaseState::Held if record.sid == self.me.sid => {
                self.take(view, Some((record, version)), How::Reacquired, nonce)
            }
            LeaseState::Held if rival.lapse != Lapse::No => {
                // An own gap may have come since the session was judged.
                let soft = Duration::from_millis(record.soft_ms);
                let ended = rival.lapse == Lapse::Ended;
                match self.calm_left(now, view, soft).filter(|_| !ended) {
                    None => self.take(view, Some((record, version)), How::Preempted, nonce),
                    Some(left) => {
                        self.rival = None;
                        self.held_by(now, &record, left)
                    }
                }
            }
            LeaseState::Held if now < rival.due => {
                let wait = now.until(rival.due);
                self.held_by(now, &record, wait)
            }
            LeaseState::Held if view.store_time.is_none() => {
                self.seen = Seen::Record(record, version);
                Do::StoreTime
            }
            LeaseState::Held => {
                let sid = record.sid;
                self.known = Some((record, version));
                Do::ReadRival(sid)
            }
        }
    }

    /// Free, unless an operator's notice is owed first or the lease is reserved for somebody.
    fn judge_released(
        &mut self,
        now: Mono,
        view: &View,
        record: Box<LeaseRecord>,
        version: Version,
        nonce: Id128,
    ) -> Do {
        let Some(rival) = &mut self.rival else { return Do::Read(None) };
        if record.how == How::Forced && !rival.notified {
            let (sid, epoch) = (record.sid, record.epoch);
            self.seen = Seen::Record(record, version);
            return Do::Notify(sid, epoch);
        }
        let how = match &record.offer {
            Some(offer) if offer.sid != self.me.sid => {
                let since = *rival.offer_since.get_or_insert(now);
                let over = since + Duration::from_millis(offer.ms);
                if now < over {
                    return self.held_by(now, &record, now.until(over));
                }
                How::Fresh
            }
            Some(_) => How::HandedOver,
            None => How::Fresh,
        };
        self.take(view, Some((record, version)), how, nonce)
    }

    /// The holder's session, read after its record.
    pub(super) fn rival_read(&mut self, now: Mono, view: &View, read: RivalRead, jitter: Duration) {
        let Some((record, version)) = self.known.clone() else { return };
        let ended = matches!(&read, RivalRead::Present(s, _) if s.state == SessionState::Ended);
        let left = match read {
            RivalRead::Failed(why) => return self.failed(now, why, jitter),
            RivalRead::Missing => self.missing(now, view, &record),
            RivalRead::Present(session, modified) => {
                if let Some(rival) = &mut self.rival {
                    rival.missing_since = None;
                }
                self.age_left(now, view, &session, modified)
            }
        };
        self.failures = 0;
        let Some(rival) = &mut self.rival else { return };
        match left {
            None => {
                rival.lapse = if ended { Lapse::Ended } else { Lapse::Silent };
                // The record as read before the session: the swap names its version.
                self.seen = Seen::Record(record, version);
            }
            Some(left) => {
                rival.due = now + left + jitter;
                let retry_after = left + jitter;
                self.contended(&record, retry_after);
                self.pause_until = now + POLL.min(retry_after);
            }
        }
    }

    /// How much longer a session that is present must be believed; `None` if it lapsed or ended.
    fn age_left(
        &self,
        now: Mono,
        view: &View,
        session: &SessionRecord,
        modified: Wall,
    ) -> Option<Duration> {
        if session.state == SessionState::Ended {
            return None;
        }
        let soft = Duration::from_millis(session.soft_ms);
        let store_now = view.store_time?;
        let age = store_now.since(modified);
        let term = soft + self.guard(view, soft);
        if age < term {
            return Some(term - age);
        }
        self.calm_left(now, view, soft)
    }

    /// A missing session is waited out by the own clock, from its first sight beside this version
    /// of the record.
    fn missing(&mut self, now: Mono, view: &View, record: &LeaseRecord) -> Option<Duration> {
        let soft = Duration::from_millis(record.soft_ms);
        let term = soft + self.guard(view, soft);
        let calm = self.calm_left(now, view, soft);
        let lacks_wait = self.mutant.lacks(Protection::MissingWait);
        let rival = self.rival.as_mut()?;
        let since = *rival.missing_since.get_or_insert(now);
        if lacks_wait || now.since(since) >= term { calm } else { Some(now.until(since + term)) }
    }

    /// Right after an own gap nobody is preempted: a store outage must not turn healthy holders
    /// into victims.
    fn calm_left(&self, now: Mono, view: &View, soft: Duration) -> Option<Duration> {
        if self.mutant.lacks(Protection::NoPreemptAfterGap) {
            return None;
        }
        let calm_until = view.last_gap? + self.me.soft.max(soft);
        (now < calm_until).then(|| now.until(calm_until))
    }

    fn guard(&self, view: &View, soft: Duration) -> Duration {
        if self.mutant.lacks(Protection::Guard) {
            return Duration::ZERO;
        }
        Limits::guard(soft, view.grain, view.skew)
    }

    /// Somebody else holds it: tell, and look again soon whether the record moved.
    fn held_by(&mut self, now: Mono, record: &LeaseRecord, retry_after: Duration) -> Do {
        self.contended(record, retry_after);
        self.pause_until = now + POLL.min(retry_after);
        Do::Wait(Some(self.pause_until))
    }

    fn contended(&mut self, record: &LeaseRecord, retry_after: Duration) {
        let (holder, epoch) = (record.holder(), record.epoch);
        self.standing = Standing::Contended { holder, epoch, retry_after };
    }

    /// The swap that takes the lease: over this record, or as the first.
    fn take(
        &mut self,
        view: &View,
        over: Option<(Box<LeaseRecord>, Version)>,
        how: How,
        nonce: Id128,
    ) -> Do {
        let (old, base) = match over {
            Some((record, version)) => (Some(record), Some(version)),
            None => (None, None),
        };
        let epoch = match &old {
            Some(record) => record.epoch.next(),
            None => match self.seed(view) {
                Ok(epoch) => Some(epoch),
                Err(ask) => return ask,
            },
        };
        let Some(epoch) = epoch else {
            let why = format!("no epoch is left above {}", Epoch::MAX);
            self.wanted = false;
            let error = Error::new(Status::Corrupt, why).on(&self.resource);
            self.standing = Standing::Refused(error);
            return Do::Rest;
        };
        let record = self.record(old.as_deref(), epoch, how, nonce);
        self.send(view, base, record)
    }

    /// The first epoch of an absent record: above every token handed out before it was deleted
    /// (trap 25).
    fn seed(&mut self, view: &View) -> Result<Epoch, Do> {
        if self.mutant.lacks(Protection::EpochSeed) {
            return Ok(Epoch(1));
        }
        let Some(now) = view.store_time else {
            self.seen = Seen::Absent;
            return Err(Do::StoreTime);
        };
        let seconds = u64::try_from(now.0 / 1_000).unwrap_or(0);
        Ok(Epoch((seconds << 16).clamp(1, Epoch::MAX.0)))
    }

    fn record(
        &self,
        old: Option<&LeaseRecord>,
        epoch: Epoch,
        how: How,
        nonce: Id128,
    ) -> LeaseRecord {
        LeaseRecord {
            v: VERSION,
            kind: self.resource.kind().to_string(),
            resource: self.resource.name().to_owned(),
            epoch,
            touch: 0,
            state: LeaseState::Held,
            sid: self.me.sid,
            node: self.me.node.clone(),
            soft_ms: u64::try_from(self.me.soft.as_millis()).unwrap_or(u64::MAX),
            hard_ms: u64::try_from(self.me.hard.as_millis()).unwrap_or(u64::MAX),
            nonce,
            how,
            offer: None,
            cell_epoch: old.and_then(|r| r.cell_epoch),
            recover: old.and_then(|r| r.recover.clone()),
            note: old.and_then(|r| r.note.clone()),
            past: old.map(LeaseRecord::past_with_this).unwrap_or_default(),
            extra: old.map(|r| r.extra.clone()).unwrap_or_default(),
        }
    }
}
