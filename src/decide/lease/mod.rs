//! One lease of one client: acquire, contend, touch, raise, release, and settling what nobody
//! answered.
//!
//! Rule. Only the swap of the record decides. Every swap names the version it read, carries a fresh
//! nonce and remembers the session's generation at its *send*. A swap without a clear answer is an
//! *attempt*; while a resource has attempts, nothing else is sent for it but settling: read, adopt
//! what carries a nonce of mine under the oldest generation among the attempts, kill what may still
//! land by writing on the same version, forget what can no longer land.
//!
//! Why the obvious rules fail. "Refused means somebody else" forgets that a store may refuse one's
//! own earlier landing (trap 3, 12); "the record names me, so it is mine" revives a lease over a
//! gap (trap 16); judging the holder's session before reading the record lets the holder come back
//! in between (trap 4); a missing session is not a dead one (trap 5).
//!
//! What is not here: requests, waiting, the session's own renewal (`decide::session`), files.

mod contend;
mod settle;
mod step;

use crate::base::{Epoch, Error, Id128, Mono, Mutant, Resource, Version, Wall};
use crate::wire::lease::LeaseRecord;
use crate::wire::session::SessionRecord;
use std::time::Duration;

/// Who acquires.
#[derive(Clone, Debug)]
pub struct Me {
    /// The session.
    pub sid: Id128,
    /// The node.
    pub node: String,
    /// The soft limit.
    pub soft: Duration,
    /// The hard limit.
    pub hard: Duration,
}

/// The session as this step sees it.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Whether the session may be believed now.
    pub valid: bool,
    /// Its generation.
    pub generation: u64,
    /// A lower bound of the store's time, if known.
    pub store_time: Option<Wall>,
    /// When the session last found itself lapsed.
    pub last_gap: Option<Mono>,
    /// The store's `LastModified` grain and skew, for the guard.
    pub grain: Duration,
    /// See `grain`.
    pub skew: Duration,
}

/// What to do next.
#[derive(Clone, Debug)]
pub enum Do {
    /// Nothing: the goal is reached.
    Rest,
    /// Wait until then (or for ever), or until session or goal changes.
    Wait(Option<Mono>),
    /// Read the record. Answer: [`Answer::Record`].
    Read(Option<Version>),
    /// Read that session's record and `LastModified`. Answer: [`Answer::Rival`].
    ReadRival(Id128),
    /// Learn the store's time from the own session record, then ask again. Answer:
    /// [`Answer::StoreTime`].
    StoreTime,
    /// Leave a notice for that session before its broken lease is acquired. Answer:
    /// [`Answer::Notified`].
    Notify(Id128, Epoch),
    /// Swap the record. Answer: [`Answer::Swap`].
    Swap(Option<Version>, Box<LeaseRecord>),
}

/// What the store said.
#[derive(Clone, Debug)]
pub enum Answer {
    /// To [`Do::Read`].
    Record(RecordRead),
    /// To [`Do::ReadRival`].
    Rival(RivalRead),
    /// To [`Do::StoreTime`]: whether it could be learnt.
    StoreTime(Result<(), Error>),
    /// To [`Do::Notify`].
    Notified(Result<(), Error>),
    /// To [`Do::Swap`].
    Swap(Swapped),
}

/// A record as read.
#[derive(Clone, Debug)]
pub enum RecordRead {
    /// None.
    Absent,
    /// Still the version asked about.
    Unchanged,
    /// Here.
    Present(Box<LeaseRecord>, Version),
    /// There, but not to be used or understood.
    Refused(Error),
    /// No answer.
    Failed(Error),
}

/// A rival's session as read.
#[derive(Clone, Debug)]
pub enum RivalRead {
    /// Missing, or not a session record.
    Missing,
    /// Here, with its `LastModified`.
    Present(Box<SessionRecord>, Wall),
    /// No answer.
    Failed(Error),
}

/// A swap's outcome.
#[derive(Clone, Debug)]
pub enum Swapped {
    /// Stored.
    Landed(Version),
    /// Refused, or so the store says.
    Refused,
    /// Unknown.
    Unknown(Error),
}

/// Where the machine stands, for whoever waits.
#[derive(Clone, Debug)]
pub enum Standing {
    /// Nothing is held and nothing is wanted.
    Idle,
    /// On the way; nothing to tell yet.
    Working,
    /// Held at this epoch (valid or suspended: the generation tells).
    Held(Epoch),
    /// Somebody else holds it.
    Contended {
        /// Node and session.
        holder: String,
        /// Its epoch.
        epoch: Epoch,
        /// When trying again makes sense.
        retry_after: Duration,
    },
    /// The store does not answer; going on.
    Failing(Error),
    /// It cannot be had: the record is damaged or too new.
    Refused(Error),
    /// It was held and is gone.
    Lost(Error),
}

/// What a holder leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// What it found: a recovery mark stays.
    AsFound,
    /// Nothing to recover.
    Closed,
    /// A file that waits for recovery.
    Unclosed,
}

/// A lease held.
#[derive(Clone, Debug)]
struct Hold {
    record: LeaseRecord,
    version: Version,
    /// The session generation under which it was last proved; 0 never matches.
    generation: u64,
}

/// A swap without an answer, or one in flight.
#[derive(Clone, Debug)]
struct Attempt {
    base: Option<Version>,
    record: LeaseRecord,
    /// The session's generation at the send.
    generation: u64,
    /// Sent after somebody asked for a proof: its landing is one.
    proves: bool,
    /// Only there to kill others: its landing gives nothing.
    null: bool,
}

/// What a rival looked like when it was last seen.
#[derive(Clone, Debug)]
struct Rival {
    version: Version,
    /// Not before this the session is worth reading again.
    due: Mono,
    /// When its session object was first found missing.
    missing_since: Option<Mono>,
    /// When an offer to somebody else was first seen.
    offer_since: Option<Mono>,
    /// What its session showed, read after this version of the record.
    lapse: Lapse,
    /// Whoever broke it may have died before its notice: left by us now.
    notified: bool,
}

/// Whether a rival may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lapse {
    /// Not known to be lapsed.
    No,
    /// Silent, or missing, for long enough.
    Silent,
    /// Ended by itself.
    Ended,
}

/// What the last read found, good for one decision.
#[derive(Clone, Debug)]
enum Seen {
    Nothing,
    Absent,
    Record(Box<LeaseRecord>, Version),
}

/// The machine.
#[derive(Debug)]
pub struct Lease {
    me: Me,
    resource: Resource,
    mutant: Mutant,
    wanted: bool,
    /// A release that must be finished before anything new is acquired.
    releasing: bool,
    left: Left,
    /// Somebody asks for a proof whatever the generation says.
    proof_wanted: bool,
    raise_to: Option<Epoch>,
    hold: Option<Hold>,
    in_flight: Option<Attempt>,
    attempts: Vec<Attempt>,
    seen: Seen,
    /// The last record known, for conditional reads and for re-acquiring after an own release.
    known: Option<(Box<LeaseRecord>, Version)>,
    rival: Option<Rival>,
    /// The next request goes out not before this.
    pause_until: Mono,
    failures: u32,
    standing: Standing,
}

impl Lease {
    /// A lease that is neither held nor wanted.
    #[must_use]
    pub fn new(me: Me, resource: Resource, mutant: Mutant) -> Lease {
        Lease {
            me,
            resource,
            mutant,
            wanted: false,
            releasing: false,
            left: Left::AsFound,
            proof_wanted: false,
            raise_to: None,
            hold: None,
            in_flight: None,
            attempts: Vec::new(),
            seen: Seen::Nothing,
            known: None,
            rival: None,
            pause_until: Mono::ZERO,
            failures: 0,
            standing: Standing::Idle,
        }
    }

    /// Somebody wants to hold it.
    pub fn want(&mut self) {
        self.wanted = true;
        self.raise_to = None;
        self.proof_wanted = false;
        if self.hold.is_none() && !matches!(self.standing, Standing::Contended { .. }) {
            self.standing = Standing::Working;
        }
    }

    /// Nobody wants it any more: what is held, or lands later, is released.
    pub fn give_up(&mut self, left: Left) {
        self.wanted = false;
        self.left = left;
        self.releasing =
            self.hold.is_some() || self.in_flight.is_some() || !self.attempts.is_empty();
        self.rival = None;
        if matches!(self.standing, Standing::Contended { .. }) {
            // A waiter's rhythm ends with the waiter: the next caller's first question is not late.
            self.pause_until = Mono::ZERO;
        }
        self.standing = if self.releasing { Standing::Working } else { Standing::Idle };
    }

    /// Prove it by a swap, whatever the generation says.
    pub fn prove(&mut self) {
        self.proof_wanted = self.hold.is_some();
    }

    /// Raise its epoch to at least this.
    pub fn raise(&mut self, at_least: Epoch) {
        self.raise_to = Some(at_least);
    }

    /// A notice names it: what is held, and what is in flight, counts only after a touch.
    pub fn suspend(&mut self) {
        if let Some(hold) = &mut self.hold {
            hold.generation = 0;
        }
        if self.mutant.lacks(crate::base::Protection::NoticeInFlight) {
            return;
        }
        for attempt in self.attempts.iter_mut().chain(self.in_flight.iter_mut()) {
            attempt.generation = 0;
        }
    }

    /// The session is over: everything is lost, nothing more is sent.
    pub fn session_lost(&mut self, why: Error) {
        let held = self.hold.take().is_some();
        self.wanted = false;
        self.releasing = false;
        self.in_flight = None;
        self.attempts.clear();
        self.standing = if held { Standing::Lost(why) } else { Standing::Refused(why) };
    }

    /// Where it stands.
    #[must_use]
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// The generation to publish: what `check` compares with the session's. 0 while nothing may be
    /// claimed.
    #[must_use]
    pub fn tag(&self) -> u64 {
        match &self.hold {
            Some(hold) if self.wanted && !self.releasing => hold.generation,
            _ => 0,
        }
    }

    /// The epoch held, if any.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        self.hold.as_ref().map(|h| h.record.epoch)
    }

    /// Whether something given up is still being released or settled.
    #[must_use]
    pub fn is_releasing(&self) -> bool {
        self.releasing
    }

    /// Whether a raise or a proof is still owed to somebody.
    #[must_use]
    pub fn owes(&self) -> bool {
        self.proof_wanted || self.raise_to.is_some()
    }

    /// Whether nothing is held, wanted, in flight or unsettled: the machine may be dropped.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.hold.is_none() && !self.wanted && self.in_flight.is_none() && self.attempts.is_empty()
    }
}
