//! One client's session and its leases, shared by the tasks that keep them.
//!
//! Question: who may see and change the session? Rule: the pure machine lives behind one short
//! lock; its term is published to atomics for `check`; a notice suspends what it names before any
//! extension is published; whoever waits is woken by a watch. What is not here: the renewal loop
//! (`renew`), one lease's requests (`slot`).

use super::events::Events;
use super::slot::Slot;
use super::term::SharedTerm;
use super::world::World;
use super::{fork, renew};
use crate::base::{Error, Event, EventKind, Limits, Mono, Resource, Result, Status};
use crate::decide::lease::{Me, View};
use crate::decide::session::{Identity, Session, Told};
use crate::store::Store;
use crate::wire::notice::Notice;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// What holders are told of a gap.
const LAPSED: &str = "the session lapsed: not valid until it is proved again";
/// Touches in flight at once after a gap.
const TOUCHES: usize = 32;
/// Idle slots remembered (their last version saves a request on re-acquire).
const IDLE_SLOTS: usize = 1_024;

/// What the store was found to be like.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grain {
    /// `LastModified` truncation.
    pub grain: Duration,
    /// Skew between front ends.
    pub skew: Duration,
}

/// Everything the tasks of one client share.
#[derive(Debug)]
pub struct SessionCore {
    /// Clocks, chance, runtimes.
    pub world: World,
    /// The store.
    pub store: Store,
    /// Who this client is.
    pub identity: Identity,
    /// What `check` compares with.
    pub term: SharedTerm,
    /// What happened.
    pub events: Events,
    /// Counters.
    pub counters: Counters,
    /// Bounds touches after a gap.
    pub touches: Semaphore,
    born: u64,
    state: Mutex<State>,
    slots: Mutex<HashMap<Resource, Arc<Slot>>>,
    changed: watch::Sender<u64>,
    closing: AtomicBool,
}

/// Counters for metrics; relaxed.
#[derive(Debug, Default)]
pub struct Counters {
    /// Renewals that landed.
    pub renewals: AtomicU64,
    /// Renewals without a clear answer.
    pub renewals_unknown: AtomicU64,
    /// Gaps in the session's validity.
    pub gaps: AtomicU64,
    /// Leases granted.
    pub granted: AtomicU64,
    /// Leases lost.
    pub lost: AtomicU64,
    /// Lease swaps without a clear answer.
    pub ambiguous: AtomicU64,
}

#[derive(Debug)]
struct State {
    session: Session,
    grain: Grain,
    started: Started,
    /// Boot and raw clock at the send and at the answer of the latest renewal.
    sent: (Mono, Mono),
    answered: (Mono, Mono),
    trouble: Option<Error>,
    suspended_told: bool,
}

#[derive(Clone, Debug)]
enum Started {
    No,
    Yes,
    Failed(Error),
}

impl SessionCore {
    /// A session that has not started.
    #[must_use]
    pub fn new(world: World, store: Store, identity: Identity) -> Arc<SessionCore> {
        let session = Session::new(identity.clone(), world.mutant);
        let state = State {
            session,
            grain: Grain::default(),
            started: Started::No,
            sent: (Mono::ZERO, Mono::ZERO),
            answered: (Mono::ZERO, Mono::ZERO),
            trouble: None,
            suspended_told: true,
        };
        Arc::new(SessionCore {
            world,
            store,
            identity,
            term: SharedTerm::default(),
            events: Events::new(),
            counters: Counters::default(),
            touches: Semaphore::new(TOUCHES),
            born: fork::generation(),
            state: Mutex::new(state),
            slots: Mutex::default(),
            changed: watch::Sender::new(0),
            closing: AtomicBool::new(false),
        })
    }

    /// Refuses use in a forked child.
    pub fn own_process(&self) -> Result<()> {
        fork::own_process(self.born)
    }

    /// Refuses use in a forked child or after close.
    pub fn usable(&self) -> Result<()> {
        self.own_process()?;
        if self.closing.load(Ordering::Acquire) {
            return Err(Error::new(Status::Closed, "the client was closed"));
        }
        Ok(())
    }

    /// Whether this is a child of the process that opened it.
    #[must_use]
    pub fn forked(&self) -> bool {
        fork::forked_since(self.born)
    }

    /// Marks the client closed; whether it was open.
    pub fn begin_close(&self) -> bool {
        !self.closing.swap(true, Ordering::AcqRel)
    }

    /// Starts probe and renewal, once. Never waits.
    pub fn start(self: &Arc<SessionCore>) {
        let mut state = self.state();
        if matches!(state.started, Started::Yes) {
            return;
        }
        state.started = Started::Yes;
        drop(state);
        self.world.control.spawn(renew::supervise(Arc::clone(self)));
    }

    /// The probe refused the store, or could not ask it: the next acquire asks again.
    pub(super) fn start_failed(&self, why: Error) {
        self.state().started = Started::Failed(why);
        self.wake();
    }

    /// What the probe found.
    pub(super) fn set_grain(&self, grain: Grain) {
        self.state().grain = grain;
    }

    /// Why nothing can be acquired now, if the session could not start or its renewals fail.
    #[must_use]
    pub fn trouble(&self) -> Option<Error> {
        let state = self.state();
        match &state.started {
            Started::Failed(why) => Some(why.clone()),
            _ => state.trouble.clone(),
        }
    }

    /// Whether the session ever started a request.
    #[must_use]
    pub fn has_started(&self) -> bool {
        matches!(self.state().started, Started::Yes)
    }

    pub(super) fn set_trouble(&self, why: Option<Error>) {
        self.state().trouble = why;
        self.wake();
    }

    /// Runs one step of the machine under its lock.
    pub(super) fn with_session<T>(&self, step: impl FnOnce(&mut Session) -> T) -> T {
        step(&mut self.state().session)
    }

    /// Remembers both clocks of the latest renewal, for the corrections of [`SessionCore::tick`].
    pub(super) fn note_clocks(&self, sent: (Mono, Mono), answered: (Mono, Mono)) {
        let mut state = self.state();
        state.sent = sent;
        state.answered = answered;
    }

    /// What this process may claim as a holder.
    #[must_use]
    pub fn me(&self) -> Me {
        let limits: Limits = self.identity.limits;
        let (soft, hard) = (limits.soft, limits.hard);
        Me { sid: self.identity.sid, node: self.identity.node.clone(), soft, hard }
    }

    /// The session as a lease's decision sees it now.
    #[must_use]
    pub fn view(&self) -> View {
        let (now, raw) = (self.world.clock.now(), self.world.clock.raw());
        let state = self.state();
        let term = state.session.term();
        // Extrapolated with the slower of two clocks: a contender must not overestimate the store's
        // time.
        let (boot_then, raw_then) = state.answered;
        let elapsed = now.since(boot_then).min(raw.since(raw_then));
        View {
            valid: !state.session.is_over() && now < term.valid_until,
            generation: term.generation,
            store_time: state.session.store_time(boot_then + elapsed),
            last_gap: state.session.last_gap(),
            grain: state.grain.grain,
            skew: state.grain.skew,
        }
    }

    /// How long a contender waits beyond this client's own soft limit.
    #[must_use]
    pub fn guard(&self) -> Duration {
        let grain = self.state().grain;
        Limits::guard(self.identity.limits.soft, grain.grain, grain.skew)
    }

    /// Makes what the machine told true for everybody, in its order.
    pub(super) fn carry_out(self: &Arc<SessionCore>, told: Vec<Told>) {
        for one in told {
            match one {
                Told::Notice(notice) => self.suspend_noticed(&notice),
                Told::Term(term) => {
                    let before = self.term.load().generation;
                    self.term.publish(term);
                    self.state().suspended_told = false;
                    // The first term follows on nothing: no gap.
                    if before != 0 && before != term.generation {
                        self.counters.gaps.fetch_add(1, Ordering::Relaxed);
                        self.tell_suspended();
                        self.poke_writers();
                    }
                }
                Told::Lost(why) => self.lose_all(why),
            }
        }
        self.wake();
    }

    /// Once a second at most: clock corrections, and the news that the term has run out.
    pub(super) fn tick(self: &Arc<SessionCore>, jump: Duration) {
        let (now, raw) = (self.world.clock.now(), self.world.clock.raw());
        let told = {
            let mut state = self.state();
            let (boot_sent, raw_sent) = state.sent;
            let lag = raw.since(raw_sent).saturating_sub(now.since(boot_sent));
            if let Some(term) = state.session.pull_in(lag) {
                self.term.publish(term);
            }
            let grain = state.grain;
            let guard = Limits::guard(self.identity.limits.soft, grain.grain, grain.skew);
            if jump > guard / 2 { state.session.doubt(now) } else { Vec::new() }
        };
        if !told.is_empty() {
            self.carry_out(told);
        }
        self.tell_if_suspended(now);
    }

    fn tell_if_suspended(&self, now: Mono) {
        let lapsed = now >= self.term.load().valid_until;
        let news = {
            let mut state = self.state();
            let news = lapsed && !state.suspended_told;
            state.suspended_told |= lapsed;
            news
        };
        if news {
            self.tell_suspended();
            self.wake();
        }
    }

    fn tell_suspended(&self) {
        for slot in self.all_slots() {
            slot.tell_suspended(self, LAPSED);
        }
    }

    /// The slot of a resource, made on first use.
    pub fn slot(self: &Arc<SessionCore>, resource: &Resource) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() > IDLE_SLOTS {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1 || !slot.is_idle());
        }
        let make = || Arc::new(Slot::new(self.me(), resource.clone(), self.world.mutant));
        Arc::clone(slots.entry(resource.clone()).or_insert_with(make))
    }

    /// Every slot there is.
    #[must_use]
    pub fn all_slots(&self) -> Vec<Arc<Slot>> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.values().cloned().collect()
    }

    /// A receiver that sees every later change of the session.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Wakes everybody who waits for the session.
    pub fn wake(&self) {
        self.changed.send_modify(|n| *n += 1);
    }

    fn suspend_noticed(self: &Arc<SessionCore>, notice: &Notice) {
        for slot in self.all_slots() {
            slot.suspend_if(self, notice);
        }
        for wanted in &notice.wanted {
            self.events.push(Event {
                kind: EventKind::HandoverWanted,
                resource: format!("{}/{}", wanted.kind, wanted.resource),
                epoch: Some(wanted.epoch),
                holder: None,
                message: "somebody asks for a hand-over".into(),
            });
        }
    }

    fn poke_writers(self: &Arc<SessionCore>) {
        for slot in self.all_slots() {
            if slot.is_eager() {
                slot.poke(self);
            }
        }
    }

    /// After the end: no lease sends anything more.
    pub(super) fn stop_leases(self: &Arc<SessionCore>) {
        let closed = Error::new(Status::Closed, "the client was closed");
        for slot in self.all_slots() {
            slot.session_lost(self, &closed);
        }
        self.wake();
    }

    fn lose_all(self: &Arc<SessionCore>, why: &'static str) {
        let error = Error::new(Status::LeaseLost, format!("the session is lost: {why}"))
            .on(self.identity.sid);
        for slot in self.all_slots() {
            slot.session_lost(self, &error);
        }
        self.state().trouble = Some(error);
        self.events.push(Event {
            kind: EventKind::SessionLost,
            resource: String::new(),
            epoch: None,
            holder: None,
            message: why.into(),
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
