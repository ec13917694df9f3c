//! The session: until when may this process believe in its leases?
//!
//! Rule. A renewal that landed proves life from the moment it was *sent*: `valid_until = max(old,
//! sent + soft)`. If its answer is processed at or after the old `valid_until`, others may have
//! acted in between: the generation moves, and every lease tagged with an older one is suspended
//! until it is proved by a swap of its own record (`decide::lease`).
//!
//! Why the obvious rule fails. "Valid again after a successful renewal" revives leases that were
//! lawfully taken during the pause (PROTOCOL trap 2); judging the gap when the request is sent
//! misses a request that lands late (trap 3); counting from the answer believes too long.
//!
//! Notices ride along: each attempt also reads the mailbox, and nothing is extended before both
//! answers are in (trap 14).
//!
//! What is not here: requests, sleeping, the atomics that publish the result (`drive::term`).

use crate::base::{Id128, Limits, Mono, Mutant, Protection, Version, Wall};
use crate::wire::json::VERSION;
use crate::wire::notice::Notice;
use crate::wire::session::{SessionRecord, SessionState};
use std::time::Duration;

/// Who the session is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The session.
    pub sid: Id128,
    /// How its process calls itself.
    pub node: String,
    /// Its limits, fixed.
    pub limits: Limits,
    /// The wall clock at the start, for people.
    pub started_at: Wall,
}

/// What to do next.
#[derive(Clone, Debug)]
pub enum Do {
    /// Nothing before this time.
    Sleep(Mono),
    /// Swap the record and, at the same time, read the mailbox. Answer with [`Session::renewed`].
    Renew {
        /// The version to replace; `None`: create.
        expect: Option<Version>,
        /// The new record.
        record: SessionRecord,
        /// The mailbox's version already known.
        known_mail: Option<Version>,
    },
    /// Read only the mailbox. Answer with [`Session::mailed`].
    ReadMail(Option<Version>),
    /// Read the own record. Answer with [`Session::resolved`].
    ReadOwn,
    /// The session is over.
    Stop,
}

/// How a renewal's swap came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// Stored under this version.
    Landed(Version),
    /// The condition did not hold, or so the store says.
    Refused,
    /// Nobody knows.
    Unknown,
}

/// What the mailbox said.
#[derive(Clone, Debug)]
pub enum Mail {
    /// Nothing new.
    Nothing,
    /// A notice not seen before.
    New(Notice, Version),
    /// It could not be read.
    Failed,
}

/// What the own record said.
#[derive(Clone, Debug)]
pub enum Own {
    /// It is gone.
    Missing,
    /// Here it is.
    Present(Box<SessionRecord>, Version),
    /// It is there and is not a session record.
    Corrupt,
    /// It could not be read.
    Failed,
}

/// What changed, for the world outside. Order matters: notices come before the extension they
/// precede.
#[derive(Clone, Debug)]
pub enum Told {
    /// A new notice: suspend what it names before anything is extended.
    Notice(Notice),
    /// The term changed: publish it.
    Term(Term),
    /// The session is lost for good; why.
    Lost(&'static str),
}

/// What `check` compares against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Leases tagged with another generation are suspended.
    pub generation: u64,
    /// Until when the session may be believed.
    pub valid_until: Mono,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Renewing,
    /// The swap landed, the mailbox did not answer: when it was sent.
    Mailing(Mono),
    Resolving,
    Over,
}

/// The machine. One request at a time.
#[derive(Debug)]
pub struct Session {
    who: Identity,
    mutant: Mutant,
    phase: Phase,
    term: Term,
    version: Option<Version>,
    record: SessionRecord,
    /// The record as sent and not yet known to have landed: sent again unchanged.
    pending: Option<SessionRecord>,
    attempts: Vec<Id128>,
    known_mail: Option<Version>,
    next_at: Mono,
    renewed_at: Option<(Mono, Mono)>,
    /// When `version` was first known to be stored: its `LastModified` is not after that.
    stored_at: Option<Mono>,
    own_time: Option<(Wall, Mono)>,
    last_gap: Option<Mono>,
}

impl Session {
    /// A session that never renewed: nothing is valid yet.
    #[must_use]
    pub fn new(who: Identity, mutant: Mutant) -> Session {
        let record = SessionRecord {
            v: VERSION,
            sid: who.sid,
            node: who.node.clone(),
            soft_ms: millis(who.limits.soft),
            hard_ms: millis(who.limits.hard),
            beat: 0,
            nonce: Id128::default(),
            state: SessionState::Live,
            started_at: who.started_at.0,
            extra: serde_json::Map::new(),
        };
        Session {
            who,
            mutant,
            phase: Phase::Renewing,
            term: Term { generation: 1, valid_until: Mono::ZERO },
            version: None,
            record,
            pending: None,
            attempts: Vec::new(),
            known_mail: None,
            next_at: Mono::ZERO,
            renewed_at: None,
            stored_at: None,
            own_time: None,
            last_gap: None,
        }
    }

    /// What `check` compares against now.
    #[must_use]
    pub fn term(&self) -> Term {
        self.term
    }

    /// Whether the session is over for good.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// When this session last found itself lapsed.
    #[must_use]
    pub fn last_gap(&self) -> Option<Mono> {
        self.last_gap
    }

    /// The record's version as last known: what ending the session swaps.
    #[must_use]
    pub fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// A lower bound of the store's time, if the own record's `LastModified` is known for the
    /// latest renewal.
    #[must_use]
    pub fn store_time(&self, now: Mono) -> Option<Wall> {
        self.own_time.map(|(modified, at)| modified + now.since(at))
    }

    /// The own record's `LastModified`, as a HEAD told it; counts only if it is still the latest
    /// renewal's, and from that renewal's answer on: an earlier one would put the store's time
    /// ahead by a whole period, and a holder that renews would look dead.
    pub fn learn_own_time(&mut self, version: &Version, modified: Wall) {
        if self.version.as_ref() == Some(version) {
            self.own_time = self.stored_at.map(|at| (modified, at));
        }
    }

    /// The next request. `nonce` is used if a new record is written.
    pub fn next(&mut self, now: Mono, nonce: Id128) -> Do {
        match self.phase {
            Phase::Over => Do::Stop,
            _ if now < self.next_at => Do::Sleep(self.next_at),
            Phase::Mailing(_) => Do::ReadMail(self.known_mail.clone()),
            Phase::Resolving => Do::ReadOwn,
            Phase::Renewing => {
                let record = self.pending.get_or_insert_with(|| {
                    let beat = self.record.beat + 1;
                    SessionRecord { beat, nonce, ..self.record.clone() }
                });
                if !self.attempts.contains(&record.nonce) {
                    self.attempts.push(record.nonce);
                }
                let record = record.clone();
                let known_mail = self.known_mail.clone();
                Do::Renew { expect: self.version.clone(), record, known_mail }
            }
        }
    }

    /// The answers to [`Do::Renew`], which was sent at `sent`; `now` is when the later of the two
    /// is processed.
    pub fn renewed(
        &mut self,
        now: Mono,
        sent: Mono,
        put: Put,
        mail: Mail,
        jitter: Duration,
    ) -> Vec<Told> {
        let mut told = Vec::new();
        if self.phase == Phase::Over {
            return told;
        }
        match put {
            Put::Landed(version) => {
                self.landed(now, version);
                self.phase = Phase::Mailing(sent);
                self.mailed_into(now, mail, jitter, &mut told);
            }
            Put::Refused => {
                self.note_mail(mail, &mut told);
                self.phase = Phase::Resolving;
                self.next_at = now;
            }
            Put::Unknown => {
                self.note_mail(mail, &mut told);
                self.next_at = now + self.who.limits.retry_pause() + jitter;
            }
        }
        told
    }

    /// The answer to [`Do::ReadMail`].
    pub fn mailed(&mut self, now: Mono, mail: Mail, jitter: Duration) -> Vec<Told> {
        let mut told = Vec::new();
        self.mailed_into(now, mail, jitter, &mut told);
        told
    }

    /// The answer to [`Do::ReadOwn`].
    pub fn resolved(&mut self, now: Mono, own: Own, jitter: Duration) -> Vec<Told> {
        let mut told = Vec::new();
        if self.phase != Phase::Resolving {
            return told;
        }
        self.phase = Phase::Renewing;
        self.next_at = now;
        match own {
            Own::Failed => {
                self.phase = Phase::Resolving;
                self.next_at = now + self.who.limits.retry_pause() + jitter;
            }
            Own::Missing => {
                // A create that was refused and yet is absent just goes again; a record that
                // vanished is a gap.
                if self.version.take().is_some() {
                    self.gap(now, &mut told);
                }
                self.pending = None;
            }
            Own::Present(record, version) if self.is_mine(&record) => {
                // Landed late, or refused with nothing stored: adopt the tag and renew again; never
                // extend from a read.
                if self.attempts.contains(&record.nonce) {
                    self.record = *record;
                    self.pending = None;
                    self.attempts.clear();
                } else {
                    self.next_at = now + self.who.limits.retry_pause() + jitter;
                }
                self.stored(now, version);
            }
            Own::Present(record, _) if record.state == SessionState::Ended => {
                self.lose(now, "its record was ended", &mut told);
            }
            Own::Present(..) | Own::Corrupt => {
                self.lose(now, "its record was rewritten by somebody else", &mut told);
            }
        }
        told
    }

    /// The boot clock lags behind the raw one by `lag` since the latest renewal was sent: believe
    /// that much less.
    pub fn pull_in(&mut self, lag: Duration) -> Option<Term> {
        let (sent, _) = self.renewed_at?;
        let bound = sent + self.who.limits.soft - lag;
        (bound < self.term.valid_until).then(|| {
            self.term.valid_until = bound;
            self.term
        })
    }

    /// Time that nobody here saw may have passed (a clock jump): nothing is believed until the next
    /// renewal, and every lease must be proved.
    pub fn doubt(&mut self, now: Mono) -> Vec<Told> {
        let mut told = Vec::new();
        if self.phase != Phase::Over {
            self.gap(now, &mut told);
            self.next_at = now;
            // A renewal sent before the jump proves nothing after it.
            if let Phase::Mailing(_) = self.phase {
                self.phase = Phase::Renewing;
            }
        }
        told
    }

    /// The owner ends it: the record that says so. Afterwards nothing is valid.
    pub fn end(&mut self, now: Mono, nonce: Id128) -> SessionRecord {
        self.phase = Phase::Over;
        self.term = Term { generation: self.term.generation + 1, valid_until: Mono::ZERO };
        self.next_at = now;
        let beat = self.record.beat + 1;
        SessionRecord { beat, nonce, state: SessionState::Ended, ..self.record.clone() }
    }

    fn landed(&mut self, now: Mono, version: Version) {
        self.stored(now, version);
        if let Some(record) = self.pending.take() {
            self.record = record;
        }
        self.attempts.clear();
    }

    fn stored(&mut self, now: Mono, version: Version) {
        self.version = Some(version);
        self.stored_at = Some(now);
        self.own_time = None;
    }

    fn mailed_into(&mut self, now: Mono, mail: Mail, jitter: Duration, told: &mut Vec<Told>) {
        let Phase::Mailing(sent) = self.phase else { return };
        let unread = matches!(mail, Mail::Failed) && !self.mutant.lacks(Protection::Notices);
        if unread {
            self.next_at = now + self.who.limits.retry_pause() + jitter;
            return;
        }
        self.note_mail(mail, told);
        self.extend(now, sent, told);
        self.phase = Phase::Renewing;
        self.next_at = sent + self.who.limits.renew;
    }

    fn extend(&mut self, now: Mono, sent: Mono, told: &mut Vec<Told>) {
        let judged = if self.mutant.lacks(Protection::GapAtAnswer) { sent } else { now };
        if judged >= self.term.valid_until && !self.mutant.lacks(Protection::GapRule) {
            self.term.generation += 1;
            if self.renewed_at.is_some() {
                self.last_gap = Some(now);
            }
        }
        let from = if self.mutant.lacks(Protection::TermFromSend) { now } else { sent };
        self.term.valid_until = self.term.valid_until.max(from + self.who.limits.soft);
        self.renewed_at = Some((sent, now));
        told.push(Told::Term(self.term));
    }

    fn note_mail(&mut self, mail: Mail, told: &mut Vec<Told>) {
        if let Mail::New(notice, version) = mail {
            self.known_mail = Some(version);
            if !self.mutant.lacks(Protection::Notices) {
                told.push(Told::Notice(notice));
            }
        }
    }

    fn gap(&mut self, now: Mono, told: &mut Vec<Told>) {
        self.term = Term { generation: self.term.generation + 1, valid_until: Mono::ZERO };
        self.last_gap = Some(now);
        self.own_time = None;
        told.push(Told::Term(self.term));
    }

    fn lose(&mut self, now: Mono, why: &'static str, told: &mut Vec<Told>) {
        self.gap(now, told);
        self.phase = Phase::Over;
        told.push(Told::Lost(why));
    }

    fn is_mine(&self, record: &SessionRecord) -> bool {
        let known = record.nonce == self.record.nonce || self.attempts.contains(&record.nonce);
        record.sid == self.who.sid && record.state == SessionState::Live && known
    }
}

fn millis(d: Duration) -> u64 {
    u64::try_from(d.as_millis()).unwrap_or(u64::MAX)
}
