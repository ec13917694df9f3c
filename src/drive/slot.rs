//! One resource of one client: who uses it here, and the task that talks to its record.
//!
//! Question: what is sent for this lease, and who learns of it? Rule: the pure machine
//! (`decide::lease`) sits behind one short lock; at most one task per slot runs it, one request at
//! a time, and goes away when there is nothing to do: a lease at rest costs no task and no request.
//! Callers never own a request: they state a goal and watch; giving up a wait leaves the task to
//! settle what it sent.

use super::authority::Validity;
use super::mailbox;
use super::renew::bounded;
use super::session::SessionCore;
use super::term::LeaseCell;
use crate::base::{
    Epoch, Error, Event, EventKind, Mono, Mutant, Protection, Resource, Result, Status,
};
use crate::decide::lease::{
    Answer, Do, Lease, Left, Me, RecordRead, RivalRead, Standing, Swapped, View,
};
use crate::store::{Outcome, Read};
use crate::wire::key;
use crate::wire::lease::LeaseRecord;
use crate::wire::notice::Notice;
use crate::wire::session::SessionRecord;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// One resource of one client.
#[derive(Debug)]
pub struct Slot {
    resource: Resource,
    key: String,
    cell: LeaseCell,
    inner: Mutex<Inner>,
    /// What callers ask for: wakes the task.
    goals: watch::Sender<u64>,
    /// What the task found: wakes the callers.
    news: watch::Sender<u64>,
    /// A check found it suspended: somebody uses it, so it is worth a touch.
    used: AtomicBool,
}

#[derive(Debug)]
struct Inner {
    machine: Lease,
    running: bool,
    /// A handle, or an acquire, of this client uses it.
    claimed: bool,
    eager: bool,
    /// The grant was told, so its loss is told too.
    granted: bool,
    suspended_told: bool,
    loss: Option<Error>,
    last_swap: Option<Mono>,
}

impl Slot {
    /// A slot nobody uses.
    #[must_use]
    pub fn new(me: Me, resource: Resource, mutant: Mutant) -> Slot {
        let key = key::lease(&resource);
        let inner = Inner {
            machine: Lease::new(me, resource.clone(), mutant),
            running: false,
            claimed: false,
            eager: false,
            granted: false,
            suspended_told: false,
            loss: None,
            last_swap: None,
        };
        Slot {
            resource,
            key,
            cell: LeaseCell::default(),
            inner: Mutex::new(inner),
            goals: watch::Sender::new(0),
            news: watch::Sender::new(0),
            used: AtomicBool::new(false),
        }
    }

    /// The resource.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Claims it for one handle, or says that this client already uses it. `eager`: touch at once
    /// after a gap.
    pub fn claim(&self, core: &SessionCore, eager: bool) -> Result<()> {
        let mut inner = self.lock();
        if inner.claimed {
            let why = "this client itself already holds or acquires it";
            let holder = format!("{}/{}", core.identity.node, core.identity.sid);
            let error = Error::new(Status::LeaseHeld, why).on(&self.resource).held_by(holder);
            return Err(match inner.machine.epoch() {
                Some(epoch) => error.at(epoch),
                None => error,
            });
        }
        inner.claimed = true;
        inner.eager = eager;
        inner.loss = None;
        inner.granted = false;
        inner.machine.want();
        self.publish(&mut inner);
        Ok(())
    }

    /// Ends the claim: whatever is held, or lands later, is released in the background.
    pub fn give_up(self: &Arc<Slot>, core: &Arc<SessionCore>, left: Left) {
        {
            let mut inner = self.lock();
            if !inner.claimed {
                return;
            }
            inner.claimed = false;
            inner.granted = false;
            inner.machine.give_up(left);
            self.publish(&mut inner);
        }
        self.poke(core);
    }

    /// Where the machine stands.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.lock().machine.standing().clone()
    }

    /// Whether nothing is held, wanted or unsettled.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let inner = self.lock();
        !inner.claimed && !inner.running && inner.machine.is_idle()
    }

    /// Whether a handle of this client holds it by its last record.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let inner = self.lock();
        inner.claimed && inner.machine.epoch().is_some()
    }

    /// Whether something given up is still being released or settled.
    #[must_use]
    pub fn is_releasing(&self) -> bool {
        self.lock().machine.is_releasing()
    }

    /// Whether a gap is worth a touch at once: a writer is open.
    #[must_use]
    pub fn is_eager(&self) -> bool {
        let inner = self.lock();
        inner.eager && inner.claimed && inner.machine.epoch().is_some()
    }

    /// Valid, suspended or lost. Lock-free; a suspended answer asks for a touch in the background.
    #[must_use]
    pub fn check(self: &Arc<Slot>, core: &Arc<SessionCore>) -> Validity {
        let answer = self.cell.check(&core.term, core.world.clock.now());
        let worth = answer == Validity::Suspended && self.cell.is_stale(&core.term);
        if worth && !self.used.swap(true, Ordering::Relaxed) {
            self.poke(core);
        }
        answer
    }

    /// The epoch last held.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.cell.epoch()
    }

    /// Why it is lost, once it is.
    #[must_use]
    pub fn loss(&self) -> Option<Error> {
        self.lock().loss.clone()
    }

    /// Asks for a proof by swap.
    pub fn prove(self: &Arc<Slot>, core: &Arc<SessionCore>) {
        self.lock().machine.prove();
        self.poke(core);
    }

    /// Asks for a larger epoch.
    pub fn raise(self: &Arc<Slot>, core: &Arc<SessionCore>, at_least: Epoch) {
        self.lock().machine.raise(at_least);
        self.poke(core);
    }

    /// Whether a proof or a raise is still owed.
    #[must_use]
    pub fn owes(&self) -> bool {
        self.lock().machine.owes()
    }

    /// A receiver that sees every later change.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// A notice may name it: then it counts only after a touch.
    pub fn suspend_if(self: &Arc<Slot>, core: &Arc<SessionCore>, notice: &Notice) {
        {
            let mut inner = self.lock();
            let epoch = inner.machine.epoch().unwrap_or_default();
            if !notice.evicts(&self.resource, epoch) {
                return;
            }
            inner.machine.suspend();
            self.publish(&mut inner);
        }
        self.tell_suspended(core, "an operator took it: not valid until it is proved again");
        self.poke(core);
    }

    /// The session is over.
    pub fn session_lost(self: &Arc<Slot>, core: &Arc<SessionCore>, why: &Error) {
        let mut inner = self.lock();
        inner.machine.session_lost(why.clone().on(&self.resource));
        self.settle_news(core, &mut inner);
    }

    /// It does not count for now; why.
    pub fn tell_suspended(&self, core: &SessionCore, message: &str) {
        let mut inner = self.lock();
        if inner.granted && inner.loss.is_none() && !inner.suspended_told {
            inner.suspended_told = true;
            self.tell(core, EventKind::LeaseSuspended, inner.machine.epoch(), message, None);
        }
        drop(inner);
        self.news.send_modify(|n| *n += 1);
    }

    /// Makes sure that a task runs if there is something to do.
    pub fn poke(self: &Arc<Slot>, core: &Arc<SessionCore>) {
        {
            let mut inner = self.lock();
            if inner.running {
                drop(inner);
                self.goals.send_modify(|n| *n += 1);
                return;
            }
            inner.running = true;
        }
        let (slot, core) = (Arc::clone(self), Arc::clone(core));
        let control = core.world.control.clone();
        control.spawn(async move {
            let guard = Running(slot);
            guard.0.run(&core).await;
        });
    }

    async fn run(self: &Arc<Slot>, core: &Arc<SessionCore>) {
        let mut session = core.watch();
        let mut goals = self.goals.subscribe();
        loop {
            // Marked seen before the step, so that a change during it is not missed.
            session.borrow_and_update();
            goals.borrow_and_update();
            let view = core.view();
            let (now, nonce) = (core.world.clock.now(), core.world.chance.id());
            let step = {
                let mut inner = self.lock();
                let step = inner.machine.next(now, &view, nonce);
                self.settle_news(core, &mut inner);
                if matches!(step, Do::Rest) {
                    inner.running = false;
                    self.used.store(false, Ordering::Relaxed);
                    return;
                }
                step
            };
            match step {
                Do::Rest => return,
                Do::Wait(until) => {
                    let pause = async {
                        match until {
                            Some(until) => sleep(now.until(until)).await,
                            None => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        () = pause => {}
                        _ = session.changed() => {}
                        _ = goals.changed() => {}
                    }
                }
                request => self.ask(core, view, request).await,
            }
        }
    }

    async fn ask(self: &Arc<Slot>, core: &Arc<SessionCore>, view: View, request: Do) {
        let guard = core.guard();
        let (answer, spread) = match request {
            Do::Read(known) => {
                let read = core.store.leases.read(&self.key, known.as_ref());
                let read = bounded(core, read).await.and_then(|r| r);
                (Answer::Record(self.decode(read)), Duration::ZERO)
            }
            Do::ReadRival(sid) => (Answer::Rival(self.read_rival(core, sid).await), guard),
            Do::StoreTime => (Answer::StoreTime(self.learn_time(core).await), Duration::ZERO),
            Do::Notify(sid, epoch) => {
                let told = mailbox::evicted(core, sid, &self.resource, epoch).await;
                (Answer::Notified(told), Duration::ZERO)
            }
            Do::Swap(expect, record) => {
                self.keep_write_gap(core).await;
                let _permit = core.touches.acquire().await;
                let swap = core.store.leases.swap(&self.key, expect.as_ref(), record.encode());
                let outcome = bounded(core, swap).await.unwrap_or_else(Outcome::Unknown);
                (Answer::Swap(self.swapped(core, outcome)), Duration::ZERO)
            }
            Do::Rest | Do::Wait(_) => return,
        };
        let spread = spread.max(core.identity.limits.retry_pause() / 4);
        let jitter = core.world.chance.below(spread);
        let now = core.world.clock.now();
        // The store's time stays the one known before the request: a rival read at some instant is
        // judged by a time not after it, however late the answer.
        let mut judged = core.view();
        if !core.world.mutant.lacks(Protection::JudgeBeforeRead) {
            judged.store_time = view.store_time;
        }
        let mut inner = self.lock();
        inner.machine.answer(now, &judged, answer, jitter);
        self.settle_news(core, &mut inner);
    }

    fn decode(&self, read: Result<Read>) -> RecordRead {
        match read {
            Ok(Read::Absent) => RecordRead::Absent,
            Ok(Read::Unchanged) => RecordRead::Unchanged,
            Ok(Read::Present(found)) => match LeaseRecord::decode(&self.key, &found.body) {
                Ok(record) if !record.is_about(&self.resource) => {
                    let why = "the record is about another resource";
                    RecordRead::Refused(Error::new(Status::Corrupt, why).on(&self.key))
                }
                Ok(record) => RecordRead::Present(Box::new(record), found.version),
                Err(why) => RecordRead::Refused(why),
            },
            Err(why) => RecordRead::Failed(why),
        }
    }

    async fn read_rival(&self, core: &SessionCore, sid: crate::base::Id128) -> RivalRead {
        let key = key::session(sid);
        match bounded(core, core.store.leases.read(&key, None)).await {
            Ok(Ok(Read::Absent)) => RivalRead::Missing,
            Ok(Ok(Read::Present(found))) => match SessionRecord::decode(&key, &found.body) {
                Ok(record) => RivalRead::Present(Box::new(record), found.modified),
                // A damaged session counts as missing: waited out by the copies in the lease
                // record.
                Err(why) if why.status() == Status::Corrupt => RivalRead::Missing,
                Err(why) => RivalRead::Failed(why),
            },
            Ok(Ok(Read::Unchanged)) => RivalRead::Missing,
            Ok(Err(why)) | Err(why) => RivalRead::Failed(why),
        }
    }

    pub(super) async fn learn_time(&self, core: &SessionCore) -> Result<()> {
        let key = key::session(core.identity.sid);
        if let Some((version, modified)) = bounded(core, core.store.leases.modified(&key)).await?? {
            core.with_session(|s| s.learn_own_time(&version, modified));
        }
        if core.view().store_time.is_some() {
            return Ok(());
        }
        // A renewal moved the record between: its own answer will do at the next try.
        Err(Error::new(Status::StoreUnavailable, "the store's time is not known yet").on(key))
    }

    async fn keep_write_gap(&self, core: &SessionCore) {
        let now = core.world.clock.now();
        let gap = core.store.write_gap;
        let due = self.lock().last_swap.map(|last| last + gap);
        if let Some(due) = due
            && now < due
        {
            sleep(now.until(due)).await;
        }
        self.lock().last_swap = Some(core.world.clock.now());
    }

    fn swapped(&self, core: &SessionCore, outcome: Outcome) -> Swapped {
        match outcome {
            Outcome::Landed(version) => Swapped::Landed(version),
            Outcome::Refused => Swapped::Refused,
            Outcome::Unknown(why) => {
                core.counters.ambiguous.fetch_add(1, Ordering::Relaxed);
                Swapped::Unknown(why)
            }
        }
    }

    /// Publishes the machine's state and tells what changed, each thing once.
    fn settle_news(&self, core: &SessionCore, inner: &mut Inner) {
        self.publish(inner);
        let epoch = inner.machine.epoch();
        match inner.machine.standing().clone() {
            Standing::Held(_) if inner.claimed && !inner.granted => {
                inner.granted = true;
                inner.suspended_told = false;
                core.counters.granted.fetch_add(1, Ordering::Relaxed);
                self.tell(core, EventKind::LeaseGranted, epoch, "acquired", None);
            }
            Standing::Held(_) if inner.suspended_told => {
                let now = core.world.clock.now();
                if let Validity::Valid(_) = self.cell.check(&core.term, now) {
                    inner.suspended_told = false;
                    let message = "valid again under the same epoch";
                    self.tell(core, EventKind::LeaseResumed, epoch, message, None);
                }
            }
            Standing::Lost(why) if inner.loss.is_none() && inner.claimed => {
                if inner.granted {
                    core.counters.lost.fetch_add(1, Ordering::Relaxed);
                    let last = Some(self.cell.epoch());
                    let holder = why.holder().map(str::to_owned);
                    let fenced = why.status() == Status::Fenced;
                    let kind = if fenced { EventKind::Fenced } else { EventKind::LeaseLost };
                    self.tell(core, kind, last, why.message(), holder);
                }
                inner.loss = Some(why);
                self.cell.lose();
            }
            _ => {}
        }
        self.news.send_modify(|n| *n += 1);
    }

    fn publish(&self, inner: &mut Inner) {
        if inner.loss.is_none() {
            self.cell.publish(inner.machine.tag(), inner.machine.epoch());
        }
    }

    fn tell(
        &self,
        core: &SessionCore,
        kind: EventKind,
        epoch: Option<Epoch>,
        message: &str,
        holder: Option<String>,
    ) {
        let (resource, message) = (self.resource.to_string(), message.to_owned());
        core.events.push(Event { kind, resource, epoch, holder, message });
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Clears the running mark even if the task panics, so that the next poke starts another.
struct Running(Arc<Slot>);

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().running = false;
        }
    }
}
