//! Model L: sessions, notices and one lease record, on clocks.
//!
//! Question: is there ever more than one client that may say "I hold it, now"? And can a crash or
//! an unlucky answer wedge the lease for good?
//!
//! State: for each client its session object in the store, its own idea of how long that session is
//! valid, what it holds, where its current operation stands; the record; the requests under way.
//! Steps: time passes; a request is sent, lands, is answered or given up (and may then land at any
//! later time); a client crashes; an operator deletes a session or evicts the holder.
//!
//! How it stays finite although time, renewals and epochs do not end: ages and deadlines are
//! relative and saturate; etags, epochs and session generations are reduced to "is it still the
//! current one?". So no run is bounded in time, in renewals, in epochs or in the number of late
//! PUTs.
//!
//! Properties: P4 one valid holder at most; P4b whoever is valid is named by the record; P5 a valid
//! holder is never preempted; P7 an epoch is never reused; PS once an ambiguous acquire is settled,
//! none of its attempts can land. Liveness (P6) is searched as "a path to valid exists from every
//! state". Not here: the files (models D and F), a monitor's back-off, several resources.

use crate::run::{Expect, Run, reaches, run};
use stateright::{Model, Property};

/// "Not known" or "not running", in a field that otherwise counts ticks.
const NONE: i8 = 99;

/// The rule that a mutation takes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A renewal after a pause revives the leases (trap 2).
    NoGapRule,
    /// The gap is judged when the renewal is sent (trap 3).
    GapAtSend,
    /// A lease is proved by a read after a gap.
    RevalidateByGet,
    /// A touch that writes equal bytes under a content-hash etag (trap 6).
    TouchKeepsEtag,
    /// The session is judged before the lease is read (trap 4).
    JudgeFirst,
    /// Lease writes without If-Match.
    NoIfMatch,
    /// The generation is taken when the answer comes (trap 7).
    GenerationAtAnswer,
    /// The term is counted from the answer.
    TermFromAnswer,
    /// A missing session is free at once (trap 5).
    MissingIsFree,
    /// Release deletes the record.
    ReleaseDeletes,
    /// A record that names me is foreign to me (trap 12).
    OwnIsForeign,
    /// An evict leaves no notice (trap 14).
    NoNotice,
    /// A notice covers the leases held now, not the requests in flight (trap 15).
    NoticeForHeldOnly,
    /// An undecided attempt is dropped instead of killed.
    NoKill,
    /// A landed attempt is adopted under the present generation (trap 16).
    AdoptNow,
    /// Whatever names me is adopted, without comparing nonces (trap 16).
    AdoptForeign,
    /// The successor of a direct hand-over adopts the record by a read (trap 17).
    AdoptByGet,
}

/// How a holder may give its lease to client 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// Not at all.
    Never,
    /// By writing the successor's session into the record: the rejected design (trap 17).
    Direct,
    /// By a release with a reservation.
    Offer,
}

/// One configuration.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Clients, each with a session. Client 0 holds the lease at first.
    pub clients: usize,
    /// The soft limit in ticks.
    pub soft: i8,
    /// `LastModified` is truncated to multiples of this.
    pub grain: i8,
    /// How many ticks slow a holder's clock may be over one term.
    pub drift: i8,
    /// What a contender adds to soft.
    pub guard: i8,
    /// A client older than this since its last renewal no longer knows the store's time.
    pub lag_cap: i8,
    /// PUTs given up and still under way, at a time.
    pub abandoned: usize,
    /// Clients that may crash.
    pub crashes: usize,
    /// Whether the operator deletes client 0's session object, once.
    pub delete_session: bool,
    /// Clients from this one on renew in one step instead of three.
    pub atomic_renewals_from: usize,
    /// Sessions are renewed without If-Match.
    pub plain_renewals: bool,
    /// Whether an operator evicts client 0, once.
    pub evict: bool,
    /// Whether abandoned acquires are settled (else they are simply forgotten).
    pub settle: bool,
    /// How the lease is handed over.
    pub hand_over: HandOver,
    /// The successor is alive and renewing, but nobody told it.
    pub unaware_successor: bool,
    /// The rule taken out.
    pub flaw: Option<Flaw>,
}

impl Lease {
    /// Two clients, soft 2 ticks, timestamps truncated to 2 ticks, every request in three steps.
    pub fn base() -> Lease {
        Lease {
            clients: 2,
            soft: 2,
            grain: 2,
            drift: 0,
            guard: 1,
            lag_cap: 2,
            abandoned: 0,
            crashes: 0,
            delete_session: false,
            atomic_renewals_from: usize::MAX,
            plain_renewals: false,
            evict: false,
            settle: false,
            hand_over: HandOver::Never,
            unaware_successor: false,
            flaw: None,
        }
    }

    fn lacks(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct Record {
    absent: bool,
    holder: u8,
    released: bool,
    /// Released, and reserved for client 1.
    offered: bool,
}

impl Record {
    const ABSENT: Record = Record { absent: true, holder: 9, released: true, offered: false };

    fn held_by(self, client: usize) -> bool {
        !self.absent && !self.released && usize::from(self.holder) == client
    }
}

/// A record as somebody read it, and whether that is still its newest version.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    record: Record,
    current: bool,
}

/// A session object. `age` is now minus the truncated `LastModified`.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct SessionObject {
    present: bool,
    age: i8,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    /// It has not landed.
    Waiting,
    /// It landed; whether that version is still current, and whether the record still names us.
    Landed {
        current: bool,
        mine: bool,
    },
    Refused,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum Verb {
    Acquire,
    Touch,
    Release,
    /// The same record with a fresh nonce: kills an attempt that is not wanted any more.
    Rewrite,
    HandOver,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A session's PUT: over the current version, or create-only.
    Renew { current: bool, create: bool },
    /// A swap of the record; `current` while the version it names is the newest.
    Swap { verb: Verb, current: bool },
}

impl What {
    fn is_renewal(self) -> bool {
        matches!(self, What::Renew { .. })
    }
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    client: u8,
    /// Nobody waits for the answer; it may land at any later time.
    abandoned: bool,
    what: What,
    answer: Answer,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum Renewal {
    Idle,
    /// For how long it is under way, and whether the session had lapsed when it was sent.
    Sent {
        since: i8,
        lapsed_at_send: bool,
    },
    /// Refused: read the session object next.
    Refused,
}

/// Where a client's lease operation stands. The flag of a sent acquire or touch says whether the
/// session's generation is still the one of the send.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Idle,
    JudgedFirst,
    Read(Seen),
    Judged(Seen),
    AcquireSent(bool),
    TouchSent(bool),
    Recheck,
    Sent(Verb),
}

/// What a client believes to hold.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    /// It knows the record's newest version.
    current: bool,
    /// The record names it at this epoch.
    mine: bool,
    /// Acquired or touched in the session's present generation.
    this_generation: bool,
}

/// Acquires whose answers are missing.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct Attempt {
    this_generation: bool,
    landed: bool,
    /// One of them names the record's newest version: it can still land.
    current: bool,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct Client {
    dead: bool,
    /// Ticks until its own deadline; below zero it is past, by up to the drift.
    remaining: i8,
    /// How far its idea of the store's time may lie behind.
    lag: i8,
    knows_version: bool,
    create: bool,
    renewal: Renewal,
    stage: Stage,
    held: Option<Held>,
    /// For how long it has seen the holder's session missing.
    missing_for: i8,
    attempt: Option<Attempt>,
}

impl Client {
    /// The session lapsed: everything acquired before, or on its way, is suspended.
    fn gap(&mut self) {
        if let Some(held) = &mut self.held {
            held.this_generation = false;
        }
        if let Some(attempt) = &mut self.attempt {
            attempt.this_generation = false;
        }
        if let Stage::AcquireSent(same) | Stage::TouchSent(same) = &mut self.stage {
            *same = false;
        }
    }
}

/// One state of the world.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct World {
    phase: i8,
    sessions: Vec<SessionObject>,
    record: Record,
    clients: Vec<Client>,
    requests: Vec<Request>,
    session_deleted: bool,
    record_deleted: bool,
    moved: bool,
    evicted: bool,
    /// Ticks since the notice landed (or, without one, since the evict).
    noticed_for: i8,
    notice: bool,
    successor_told: bool,
    preempted_valid: bool,
    reused_epoch: bool,
}

impl World {
    fn own(&self, client: usize, renewal: bool) -> Option<usize> {
        self.requests.iter().position(|r| {
            usize::from(r.client) == client && !r.abandoned && r.what.is_renewal() == renewal
        })
    }

    fn answered(&self, client: usize, renewal: bool) -> bool {
        self.own(client, renewal).is_some_and(|k| self.requests[k].answer != Answer::Waiting)
    }

    fn send(&mut self, client: usize, what: What) {
        let client = client as u8;
        let answer = Answer::Waiting;
        self.requests.push(Request { client, abandoned: false, what, answer });
    }

    /// A swap of the record landed: every version remembered is old now, and if the holding
    /// changed, no older claim is "mine" any more.
    fn record_moved(&mut self, holding_changed: bool) {
        for client in &mut self.clients {
            if let Some(held) = &mut client.held {
                held.current = false;
                held.mine &= !holding_changed;
            }
            if let Some(attempt) = &mut client.attempt {
                attempt.current = false;
                attempt.landed &= !holding_changed;
            }
            if let Stage::Read(seen) | Stage::Judged(seen) = &mut client.stage {
                seen.current = false;
            }
        }
        for request in &mut self.requests {
            let What::Swap { current: base, .. } = &mut request.what else { continue };
            match &mut request.answer {
                Answer::Waiting => *base = false,
                Answer::Landed { current, mine } => {
                    *current = false;
                    *mine &= !holding_changed;
                }
                Answer::Refused => {}
            }
        }
    }
}

/// One step.
#[derive(Clone, Debug, Hash, PartialEq)]
pub enum Step {
    /// Time passes.
    Tick,
    /// A renewal is sent.
    Renew(usize),
    /// A renewal in one step.
    RenewAtomic(usize),
    /// The answer to a renewal is processed.
    RenewAnswer(usize),
    /// Nobody waits for the renewal any more.
    RenewGiveUp(usize),
    /// After a refused renewal: read the session object.
    RenewRead(usize),
    /// A request takes effect in the store.
    Land(usize),
    /// GET of the record.
    Read(usize),
    /// The mutation: the holder is judged before the record is read.
    JudgeFirst(usize),
    /// GET of the holder's session.
    Judge(usize),
    /// The acquire is sent.
    Acquire(usize),
    /// A lease after a gap is touched.
    Touch(usize),
    /// After a refused touch: read the record.
    Recheck(usize),
    /// The lease is given up.
    Release(usize),
    /// The answer to a swap is processed.
    Answer(usize),
    /// Nobody waits for the swap any more.
    GiveUp(usize),
    /// An ambiguous acquire is settled; whether it is still wanted.
    Settle(usize, bool),
    /// Client 0 hands over to client 1.
    HandOver(usize),
    /// The mutation: the successor adopts by a read.
    AdoptByGet(usize),
    /// The reservation ends.
    OfferOver,
    /// The successor is told.
    Tell,
    /// A client stops for ever.
    Crash(usize),
    /// The operator deletes client 0's session object.
    DeleteSession,
    /// The operator evicts client 0.
    Evict,
    /// The operator's notice lands.
    Notice,
}

impl Lease {
    fn session_valid(&self, w: &World, i: usize) -> bool {
        w.clients[i].remaining + self.drift > 0
    }

    /// May client `i` say yes, now?
    pub fn valid(&self, w: &World, i: usize) -> bool {
        let client = &w.clients[i];
        !client.dead && self.session_valid(w, i) && client.held.is_some_and(|h| h.this_generation)
    }

    /// Whether client `i` has not crashed.
    pub fn alive(&self, w: &World, i: usize) -> bool {
        !w.clients[i].dead
    }

    /// Whether client `i` believes to hold something, valid or not.
    pub fn holds(&self, w: &World, i: usize) -> bool {
        w.clients[i].held.is_some()
    }

    /// Does client `i` find the session of `holder` dead? Remembers the first sight of a missing
    /// one.
    fn finds_dead(&self, w: &mut World, i: usize, holder: usize) -> bool {
        let session = w.sessions[holder];
        let client = &mut w.clients[i];
        if session.present {
            client.missing_for = NONE;
            return client.lag != NONE && session.age >= self.soft + self.guard + client.lag;
        }
        if self.lacks(Flaw::MissingIsFree) {
            return true;
        }
        if client.missing_for == NONE {
            client.missing_for = 0;
            return false;
        }
        client.missing_for >= self.soft + self.guard + self.drift
    }

    /// Client `i` reads its mailbox with the renewal it is about to send.
    fn read_notices(&self, w: &mut World, i: usize) {
        if !w.notice || i != 0 || self.lacks(Flaw::NoNotice) {
            return;
        }
        w.notice = false;
        if self.lacks(Flaw::NoticeForHeldOnly) {
            if let Some(held) = &mut w.clients[0].held {
                held.this_generation = false;
            }
        } else {
            w.clients[0].gap();
        }
    }

    fn tick(&self, w: &mut World) {
        if w.noticed_for != NONE {
            w.noticed_for = (self.soft + self.drift + 1).min(w.noticed_for + 1);
        }
        w.phase = (w.phase + 1) % self.grain;
        let oldest = self.soft + self.guard + self.lag_cap;
        for session in w.sessions.iter_mut().filter(|s| s.present) {
            session.age = oldest.min(session.age + 1);
        }
        for client in &mut w.clients {
            client.remaining = (-self.drift).max(client.remaining - 1);
            if let Renewal::Sent { since, .. } = &mut client.renewal {
                *since = (self.soft + self.drift).min(*since + 1);
            }
            if client.missing_for != NONE {
                let enough = self.soft + self.guard + self.drift;
                client.missing_for = enough.min(client.missing_for + 1);
            }
        }
        if self.unaware_successor && !w.clients[1].dead {
            w.sessions[1] = SessionObject { present: true, age: 0 };
            w.clients[1].remaining = self.soft;
            w.clients[1].lag = 0;
        }
    }

    fn renew_answer(&self, w: &mut World, i: usize) -> Option<()> {
        let k = w.own(i, true)?;
        let request = w.requests.remove(k);
        let session = w.sessions[i];
        let client = &mut w.clients[i];
        let Renewal::Sent { since, lapsed_at_send } = client.renewal else { return None };
        match request.answer {
            Answer::Waiting => return None,
            Answer::Refused => client.renewal = Renewal::Refused,
            Answer::Landed { current, .. } => {
                let lapsed = if self.lacks(Flaw::GapAtSend) {
                    lapsed_at_send
                } else {
                    client.remaining + self.drift <= 0
                };
                if lapsed && !self.lacks(Flaw::NoGapRule) {
                    client.gap();
                }
                let from_answer = self.lacks(Flaw::TermFromAnswer);
                let term = if from_answer { self.soft } else { self.soft - since };
                client.remaining = client.remaining.max(term).max(-self.drift);
                client.knows_version = current;
                client.create = false;
                let fresh = session.present && session.age < self.lag_cap;
                client.lag = if fresh { session.age } else { NONE };
                client.renewal = Renewal::Idle;
            }
        }
        Some(())
    }

    fn renew_read(&self, w: &mut World, i: usize) {
        let present = w.sessions[i].present;
        let client = &mut w.clients[i];
        client.renewal = Renewal::Idle;
        if present {
            client.knows_version = true;
            client.create = false;
        } else {
            client.create = true;
            client.gap();
            client.remaining = -self.drift;
        }
        client.remaining = client.remaining.min(self.soft - 1);
    }

    fn land(&self, w: &mut World, k: usize) {
        let request = w.requests[k];
        let answer = match request.what {
            What::Renew { current, create } => {
                self.land_renewal(w, usize::from(request.client), current, create)
            }
            What::Swap { verb, current } => self.land_swap(w, request, verb, current),
        };
        if request.abandoned {
            w.requests.remove(k);
            return;
        }
        let landed = &mut w.requests[k];
        landed.answer = answer;
        let (What::Renew { current, .. } | What::Swap { current, .. }) = &mut landed.what;
        *current = false;
    }

    fn land_renewal(&self, w: &mut World, i: usize, current: bool, create: bool) -> Answer {
        let present = w.sessions[i].present;
        let good = if create { !present } else { present && (current || self.plain_renewals) };
        if !good {
            return Answer::Refused;
        }
        w.sessions[i] = SessionObject { present: true, age: w.phase };
        w.clients[i].knows_version = false;
        for other in w.requests.iter_mut().filter(|r| usize::from(r.client) == i) {
            if let What::Renew { current, .. } = &mut other.what {
                *current = false;
                if let Answer::Landed { current, .. } = &mut other.answer {
                    *current = false;
                }
            }
        }
        Answer::Landed { current: true, mine: true }
    }

    fn land_swap(&self, w: &mut World, request: Request, verb: Verb, current: bool) -> Answer {
        let blind = verb == Verb::Acquire && self.lacks(Flaw::NoIfMatch);
        if !current && !blind {
            return Answer::Refused;
        }
        match verb {
            Verb::Acquire => self.land_acquire(w, request),
            Verb::Touch if self.lacks(Flaw::TouchKeepsEtag) => {}
            Verb::Touch | Verb::Rewrite => w.record_moved(false),
            Verb::Release => {
                w.record_moved(true);
                if self.lacks(Flaw::ReleaseDeletes) {
                    w.record = Record::ABSENT;
                    w.record_deleted = true;
                } else {
                    w.record.released = true;
                }
            }
            Verb::HandOver => {
                w.record_moved(true);
                if self.hand_over == HandOver::Direct {
                    w.record.holder = 1;
                } else {
                    w.record.released = true;
                    w.record.offered = true;
                }
            }
        }
        Answer::Landed { current: true, mine: true }
    }

    fn land_acquire(&self, w: &mut World, request: Request) {
        w.reused_epoch |= w.record_deleted;
        let old = w.record;
        let other = !old.absent && !old.released && old.holder != request.client;
        w.preempted_valid |= other && self.valid(w, usize::from(old.holder));
        w.record_moved(true);
        w.record =
            Record { absent: false, holder: request.client, released: false, offered: false };
        if request.abandoned
            && let Some(attempt) = &mut w.clients[usize::from(request.client)].attempt
        {
            attempt.landed = true;
        }
        w.moved |= request.client != 0;
    }

    fn answer(&self, w: &mut World, i: usize) -> Option<()> {
        let k = w.own(i, false)?;
        let request = w.requests.remove(k);
        let late = self.lacks(Flaw::GenerationAtAnswer);
        let client = &mut w.clients[i];
        let (stage, held) = match (client.stage, request.answer) {
            (_, Answer::Waiting) => return None,
            (Stage::AcquireSent(same), Answer::Landed { current, mine }) => {
                client.attempt = None;
                (Stage::Idle, Some(Held { current, mine, this_generation: same || late }))
            }
            (Stage::TouchSent(same), Answer::Landed { current, mine }) => {
                (Stage::Idle, Some(Held { current, mine, this_generation: same || late }))
            }
            (Stage::TouchSent(_), Answer::Refused) => (Stage::Recheck, client.held),
            _ => (Stage::Idle, client.held),
        };
        client.stage = stage;
        client.held = held;
        Some(())
    }

    fn give_up(&self, w: &mut World, i: usize) -> Option<()> {
        let k = w.own(i, false)?;
        w.requests[k].abandoned = true;
        let request = w.requests[k];
        let client = &mut w.clients[i];
        if let (Stage::AcquireSent(same), true) = (client.stage, self.settle) {
            let landed = matches!(request.answer, Answer::Landed { mine: true, .. });
            let current = matches!(request.what, What::Swap { current: true, .. });
            let older = client.attempt;
            client.attempt = Some(Attempt {
                // The oldest generation among the attempts: a gap since any of them counts.
                this_generation: same && older.is_none_or(|a| a.this_generation),
                landed: landed || older.is_some_and(|a| a.landed),
                current: current && !landed,
            });
        }
        let touching = matches!(client.stage, Stage::TouchSent(_));
        client.stage = if touching { Stage::Recheck } else { Stage::Idle };
        Some(())
    }

    fn settle(&self, w: &mut World, i: usize, wanted: bool) -> Option<()> {
        let named = w.record.held_by(i);
        let attempt = w.clients[i].attempt?;
        let session_valid = self.session_valid(w, i);
        let client = &mut w.clients[i];
        if attempt.landed || named && self.lacks(Flaw::AdoptForeign) {
            client.attempt = None;
            if wanted {
                let this_generation = attempt.this_generation || self.lacks(Flaw::AdoptNow);
                client.held = Some(Held { current: true, mine: true, this_generation });
            } else {
                client.stage = Stage::Sent(Verb::Release);
                w.send(i, What::Swap { verb: Verb::Release, current: true });
            }
        } else if attempt.current && !self.lacks(Flaw::NoKill) {
            if wanted && !session_valid {
                return None;
            }
            let verb = if wanted { Verb::Acquire } else { Verb::Rewrite };
            client.stage = if wanted { Stage::AcquireSent(true) } else { Stage::Sent(verb) };
            w.send(i, What::Swap { verb, current: true });
        } else {
            client.attempt = None;
        }
        Some(())
    }

    fn touch(&self, w: &mut World, i: usize) -> Option<()> {
        let named = usize::from(w.record.holder) == i;
        let client = &mut w.clients[i];
        let held = client.held?;
        if self.lacks(Flaw::RevalidateByGet) {
            let proved = Held { current: true, mine: true, this_generation: true };
            client.held = (held.mine && named).then_some(proved);
        } else {
            client.stage = Stage::TouchSent(true);
            w.send(i, What::Swap { verb: Verb::Touch, current: held.current });
        }
        Some(())
    }

    fn acquire(&self, w: &mut World, i: usize) -> Option<()> {
        let session_valid = self.session_valid(w, i);
        let client = &mut w.clients[i];
        let (Stage::Read(seen) | Stage::Judged(seen)) = client.stage else { return None };
        if session_valid {
            client.stage = Stage::AcquireSent(true);
            w.send(i, What::Swap { verb: Verb::Acquire, current: seen.current });
        } else {
            client.stage = Stage::Idle;
        }
        Some(())
    }

    fn judge(&self, w: &mut World, i: usize) -> Option<()> {
        let Stage::Read(seen) = w.clients[i].stage else { return None };
        let holder = usize::from(seen.record.holder);
        let dead = !seen.record.released && self.finds_dead(w, i, holder);
        w.clients[i].stage = if dead { Stage::Judged(seen) } else { Stage::Idle };
        Some(())
    }

    fn crash(&self, w: &mut World, i: usize) {
        w.clients[i] = Client {
            dead: true,
            held: None,
            attempt: None,
            stage: Stage::Idle,
            renewal: Renewal::Idle,
            remaining: -self.drift,
            lag: NONE,
            missing_for: NONE,
            ..w.clients[i]
        };
        for request in w.requests.iter_mut().filter(|r| usize::from(r.client) == i) {
            request.abandoned = true;
        }
    }

    fn delete_session(&self, w: &mut World) {
        w.session_deleted = true;
        w.sessions[0] = SessionObject { present: false, age: 0 };
        w.clients[0].knows_version = false;
        for request in w.requests.iter_mut().filter(|r| r.client == 0) {
            if let What::Renew { current, create: false } = &mut request.what {
                *current = false;
            }
        }
    }

    /// Forgets what can have no effect any more: answers nobody reads, swaps that cannot win.
    fn forget_inert(&self, w: &mut World) {
        let hopeless = |what: What| match what {
            What::Renew { current, create } => !current && !create,
            What::Swap { current, .. } => !current,
        };
        let conditional = !self.lacks(Flaw::NoIfMatch) && !self.plain_renewals;
        w.requests.retain(|r| {
            !r.abandoned || r.answer == Answer::Waiting && !(conditional && hopeless(r.what))
        });
        w.requests.sort();
    }

    fn client_steps(&self, w: &World, i: usize, may_abandon: bool, steps: &mut Vec<Step>) {
        let client = &w.clients[i];
        match client.renewal {
            Renewal::Idle if client.remaining < self.soft => {
                let atomic = i >= self.atomic_renewals_from;
                steps.push(if atomic { Step::RenewAtomic(i) } else { Step::Renew(i) });
            }
            Renewal::Idle => {}
            Renewal::Sent { .. } => {
                if w.answered(i, true) {
                    steps.push(Step::RenewAnswer(i));
                }
                if may_abandon {
                    steps.push(Step::RenewGiveUp(i));
                }
            }
            Renewal::Refused => steps.push(Step::RenewRead(i)),
        }
        match client.stage {
            Stage::Idle => self.idle_steps(w, i, steps),
            Stage::JudgedFirst => steps.push(Step::Read(i)),
            Stage::Read(Seen { record, .. }) => {
                let reserved = record.released && record.offered && i != 1;
                let own = usize::from(record.holder) == i;
                let free = record.absent || record.released || own;
                steps.push(if free && !reserved { Step::Acquire(i) } else { Step::Judge(i) });
            }
            Stage::Judged(_) => steps.push(Step::Acquire(i)),
            Stage::AcquireSent(_) | Stage::TouchSent(_) | Stage::Sent(_) => {
                if w.answered(i, false) {
                    steps.push(Step::Answer(i));
                }
                if may_abandon {
                    steps.push(Step::GiveUp(i));
                }
            }
            Stage::Recheck => steps.push(Step::Recheck(i)),
        }
    }

    fn idle_steps(&self, w: &World, i: usize, steps: &mut Vec<Step>) {
        let client = &w.clients[i];
        let session_valid = self.session_valid(w, i);
        let hands_over = self.hand_over != HandOver::Never;
        if client.attempt.is_some() {
            steps.extend([Step::Settle(i, true), Step::Settle(i, false)]);
        } else if let Some(held) = client.held {
            if hands_over && i == 0 {
                steps.push(Step::HandOver(i));
            }
            if !held.this_generation && session_valid {
                steps.push(Step::Touch(i));
            }
            steps.push(Step::Release(i));
        } else if session_valid {
            if self.lacks(Flaw::JudgeFirst) {
                steps.push(Step::JudgeFirst(i));
            }
            if hands_over && i == 1 && !w.successor_told {
                return;
            }
            if self.lacks(Flaw::AdoptByGet) && i == 1 {
                steps.push(Step::AdoptByGet(i));
            }
            steps.push(Step::Read(i));
        }
    }
}

impl Model for Lease {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let client = |i: usize| Client {
            dead: false,
            remaining: self.soft,
            lag: 0,
            knows_version: true,
            create: false,
            renewal: Renewal::Idle,
            stage: Stage::Idle,
            held: (i == 0).then_some(Held { current: true, mine: true, this_generation: true }),
            missing_for: NONE,
            attempt: None,
        };
        vec![World {
            phase: 0,
            sessions: vec![SessionObject { present: true, age: 0 }; self.clients],
            record: Record { absent: false, holder: 0, released: false, offered: false },
            clients: (0..self.clients).map(client).collect(),
            requests: Vec::new(),
            session_deleted: false,
            record_deleted: false,
            moved: false,
            evicted: false,
            noticed_for: NONE,
            notice: false,
            successor_told: false,
            preempted_valid: false,
            reused_epoch: false,
        }]
    }

    fn actions(&self, w: &World, steps: &mut Vec<Step>) {
        if w.preempted_valid || w.reused_epoch {
            return;
        }
        steps.push(Step::Tick);
        let waiting = |k: &usize| w.requests[*k].answer == Answer::Waiting;
        steps.extend((0..w.requests.len()).filter(waiting).map(Step::Land));
        if self.delete_session && !w.session_deleted {
            steps.push(Step::DeleteSession);
        }
        if self.evict && !w.evicted && w.record.held_by(0) {
            steps.push(Step::Evict);
        }
        if w.evicted && w.noticed_for == NONE && !self.lacks(Flaw::NoNotice) {
            steps.push(Step::Notice);
        }
        if w.record.offered && w.record.released {
            steps.push(Step::OfferOver);
        }
        let tells = self.hand_over != HandOver::Never && !self.unaware_successor;
        if tells && !w.successor_told {
            steps.push(Step::Tell);
        }
        let may_abandon = w.requests.iter().filter(|r| r.abandoned).count() < self.abandoned;
        let may_crash = w.clients.iter().filter(|c| c.dead).count() < self.crashes;
        for i in (0..self.clients).filter(|i| !w.clients[*i].dead) {
            if may_crash {
                steps.push(Step::Crash(i));
            }
            self.client_steps(w, i, may_abandon, steps);
        }
    }

    fn next_state(&self, before: &World, step: Step) -> Option<World> {
        let mut w = before.clone();
        match step {
            Step::Tick => self.tick(&mut w),
            Step::Renew(i) => {
                self.read_notices(&mut w, i);
                let client = &mut w.clients[i];
                let lapsed_at_send = client.remaining + self.drift <= 0;
                client.renewal = Renewal::Sent { since: 0, lapsed_at_send };
                let (current, create) = (client.knows_version, client.create);
                w.send(i, What::Renew { current, create });
            }
            Step::RenewAtomic(i) => {
                self.read_notices(&mut w, i);
                w.sessions[i] = SessionObject { present: true, age: w.phase };
                let client = &mut w.clients[i];
                if client.remaining + self.drift <= 0 {
                    client.gap();
                }
                client.remaining = self.soft;
                client.lag = w.phase;
            }
            Step::RenewAnswer(i) => self.renew_answer(&mut w, i)?,
            Step::RenewGiveUp(i) => {
                let k = w.own(i, true)?;
                w.requests[k].abandoned = true;
                let client = &mut w.clients[i];
                client.renewal = Renewal::Idle;
                client.remaining = client.remaining.min(self.soft - 1);
            }
            Step::RenewRead(i) => self.renew_read(&mut w, i),
            Step::Land(k) => self.land(&mut w, k),
            Step::Read(i) => {
                if self.lacks(Flaw::OwnIsForeign) && w.record.held_by(i) {
                    return None;
                }
                let seen = Seen { record: w.record, current: true };
                let judged = w.clients[i].stage == Stage::JudgedFirst;
                w.clients[i].stage = if judged { Stage::Judged(seen) } else { Stage::Read(seen) };
            }
            Step::JudgeFirst(i) => {
                let record = w.record;
                if record.absent || record.released || record.held_by(i) {
                    return None;
                }
                if self.finds_dead(&mut w, i, usize::from(record.holder)) {
                    w.clients[i].stage = Stage::JudgedFirst;
                }
            }
            Step::Judge(i) => self.judge(&mut w, i)?,
            Step::Acquire(i) => self.acquire(&mut w, i)?,
            Step::Touch(i) => self.touch(&mut w, i)?,
            Step::Recheck(i) => {
                let client = &mut w.clients[i];
                client.stage = Stage::Idle;
                client.held = client.held.filter(|h| h.mine).map(|h| Held { current: true, ..h });
            }
            Step::Release(i) => {
                let held = w.clients[i].held.take()?;
                w.clients[i].stage = Stage::Sent(Verb::Release);
                w.send(i, What::Swap { verb: Verb::Release, current: held.current });
            }
            Step::Answer(i) => self.answer(&mut w, i)?,
            Step::GiveUp(i) => self.give_up(&mut w, i)?,
            Step::Settle(i, wanted) => self.settle(&mut w, i, wanted)?,
            Step::HandOver(i) => {
                let held = w.clients[i].held.take()?;
                w.clients[i].stage = Stage::Sent(Verb::HandOver);
                w.send(i, What::Swap { verb: Verb::HandOver, current: held.current });
            }
            Step::AdoptByGet(i) => {
                if !w.record.held_by(i) {
                    return None;
                }
                let adopted = Held { current: true, mine: true, this_generation: true };
                w.clients[i].held = Some(adopted);
            }
            Step::OfferOver => {
                w.record.offered = false;
                for client in &mut w.clients {
                    if let Stage::Read(seen) | Stage::Judged(seen) = &mut client.stage {
                        seen.record.offered = false;
                    }
                }
            }
            Step::Tell => w.successor_told = true,
            Step::Crash(i) => self.crash(&mut w, i),
            Step::DeleteSession => self.delete_session(&mut w),
            Step::Evict => {
                w.evicted = true;
                w.record_moved(true);
                w.record.released = true;
                if self.lacks(Flaw::NoNotice) {
                    w.noticed_for = 0;
                }
            }
            Step::Notice => {
                w.notice = true;
                w.noticed_for = 0;
            }
        }
        self.forget_inert(&mut w);
        Some(w)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("P4 one valid holder", |m: &Lease, w: &World| {
                let holders = (0..m.clients).filter(|i| m.valid(w, *i)).count();
                // After an evict the old holder may believe in itself until the notice plus soft.
                let told = w.noticed_for != NONE;
                let excused = w.evicted
                    && (!told && !m.lacks(Flaw::NoNotice)
                        || told && w.noticed_for < m.soft + m.drift);
                holders <= 1 || excused
            }),
            Property::always("P5 a valid holder is never preempted", |_, w: &World| {
                !w.preempted_valid
            }),
            Property::always("P7 epochs are never reused", |_, w: &World| !w.reused_epoch),
            Property::always("P4b valid: the record names me", |m: &Lease, w: &World| {
                let named =
                    |i: usize| w.record.held_by(i) && w.clients[i].held.is_some_and(|h| h.mine);
                w.evicted || (0..m.clients).all(|i| !m.valid(w, i) || named(i))
            }),
            Property::always("PS settled: no own attempt can land", |m: &Lease, w: &World| {
                let can_land = |r: &Request| {
                    let swap = What::Swap { verb: Verb::Acquire, current: true };
                    let client = &w.clients[usize::from(r.client)];
                    r.abandoned && r.what == swap && !client.dead && client.attempt.is_none()
                };
                !m.settle || !w.requests.iter().any(can_land)
            }),
            Property::sometimes("takeover", |m: &Lease, w: &World| m.valid(w, 1)),
            Property::sometimes("takeover and back", |m: &Lease, w: &World| {
                w.moved && m.valid(w, 0)
            }),
            Property::sometimes("a zombie holds on in vain", |m: &Lease, w: &World| {
                m.valid(w, 1) && m.holds(w, 0)
            }),
        ]
    }
}

/// The lease and its sessions; settling, notices and hand-over have a table of their own.
pub fn runs() -> Vec<Run> {
    use Expect::{Breaks, Holds, Wedges};
    let base = Lease::base;
    let contended = || Lease { atomic_renewals_from: 1, ..base() };
    let without = |flaw| Lease { flaw: Some(flaw), ..contended() };
    let crashing = Lease { crashes: 1, abandoned: 1, atomic_renewals_from: 0, ..base() };
    let drifting = |guard, lag_cap| Lease { drift: 1, guard, lag_cap, ..contended() };
    let deleted = |flaw| Lease { delete_session: true, flaw, ..contended() };
    vec![
        run("L0 2 sessions, every PUT slow", base(), Holds).states(10_873_795).large(),
        run("L1 1 abandoned PUT", Lease { abandoned: 1, ..contended() }, Holds)
            .states(12_397_642)
            .large(),
        run("L2 the holder's clock 1 tick slow, guard 2", drifting(2, 2), Holds).states(1_627_963),
        run("L3 3 sessions", Lease { clients: 3, atomic_renewals_from: 0, ..base() }, Holds)
            .states(18_407_552)
            .large(),
        run("L4 the operator deletes the holder's session", deleted(None), Holds)
            .states(4_946_492)
            .large(),
        run(
            "L5 sessions renewed without If-Match",
            Lease { plain_renewals: true, abandoned: 1, ..contended() },
            Holds,
        )
        .states(25_328_985)
        .large(),
        reaches(
            "LE a live contender can always acquire",
            crashing.clone(),
            |m, w| m.alive(w, 1),
            |m, w| m.valid(w, 1),
            Holds,
        )
        .states(401_953),
        reaches(
            "mutation: an own orphaned acquire is foreign",
            Lease { flaw: Some(Flaw::OwnIsForeign), ..crashing },
            |m, w| m.alive(w, 1),
            |m, w| m.valid(w, 1),
            Wedges,
        ),
        run("mutation: no gap rule", without(Flaw::NoGapRule), Breaks("P5")),
        run("mutation: gap judged at send", without(Flaw::GapAtSend), Breaks("P5")),
        run("mutation: lease proved by a read", without(Flaw::RevalidateByGet), Breaks("P5")),
        run("mutation: touch keeps the etag", without(Flaw::TouchKeepsEtag), Breaks("P5")),
        run("mutation: guard 0", Lease { guard: 0, ..contended() }, Breaks("P5")),
        run("mutation: drift 1, guard without it", drifting(1, 2), Breaks("P5")),
        run(
            "mutation: session judged before the lease is read",
            without(Flaw::JudgeFirst),
            Breaks("P5"),
        ),
        run("mutation: lease PUT without If-Match", without(Flaw::NoIfMatch), Breaks("P5")),
        run(
            "mutation: generation taken at the answer",
            Lease { flaw: Some(Flaw::GenerationAtAnswer), ..base() },
            Breaks("P5"),
        ),
        run("mutation: term counted from the answer", without(Flaw::TermFromAnswer), Breaks("P5")),
        run(
            "mutation: a missing session is free at once",
            deleted(Some(Flaw::MissingIsFree)),
            Breaks("P5"),
        ),
        run("mutation: release deletes the record", without(Flaw::ReleaseDeletes), Breaks("P7")),
    ]
}
