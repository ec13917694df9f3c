//! Requests under way: when each is served, and when its caller hears of it.

use super::fault::{Chaos, Fault, Match, Quirk};
use super::request::{Answer, Op, Sent, Shelf};
use super::world::SimChance;
use crate::base::{Clock, Error, Mono, Result, Status, Version, Wall};
use crate::store::{Blobs, Listed, Outcome, Payload, Read, Registers};
use async_trait::async_trait;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) state: Mutex<State>,
    pub(super) held: Notify,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) shelf: Shelf,
    began: Mono,
    /// One-time rules, first match first.
    pub(super) rules: VecDeque<(Match, Rule)>,
    /// Rules that stay.
    pub(super) always: Vec<(Match, Fault)>,
    pub(super) chaos: Option<(Chaos, Arc<SimChance>)>,
    pub(super) wire: Vec<Travelling>,
    pub(super) last_id: u64,
    pub(super) sent: Vec<Sent>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    Meet(Fault),
    Hold { id: u64, served: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    At(Mono),
    /// When this hold lets go.
    Hold(u64),
    /// When the test says `land`.
    Land,
    /// Never: only keeps the caller waiting.
    Never,
}

#[derive(Debug)]
pub(super) struct Travelling {
    pub(super) due: Due,
    /// Not served yet.
    op: Option<Op>,
    answer: Option<Answer>,
    caller: Option<oneshot::Sender<Answer>>,
}

/// The requests to one store from one node.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    pub(super) shared: Arc<Shared>,
    pub(super) node: String,
}

impl Shared {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Shared {
        let began = clock.now();
        let shelf = Shelf { objects: BTreeMap::new(), grain_ms: 1_000, quirk: None, puts: 0 };
        let state = State {
            shelf,
            began,
            rules: VecDeque::new(),
            always: Vec::new(),
            chaos: None,
            wire: Vec::new(),
            last_id: 0,
            sent: Vec::new(),
        };
        Shared { clock, state: Mutex::new(state), held: Notify::new() }
    }

    /// The state after everything due has been done.
    pub(super) fn settled(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.settle(&*self.clock);
        state
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the journey of what waits for `which`: served, or lost.
    pub(super) fn let_go(&self, which: impl Fn(Due) -> bool, served: bool) -> usize {
        let mut state = self.lock();
        state.settle(&*self.clock);
        let (gone, stay) = std::mem::take(&mut state.wire).into_iter().partition(|t| which(t.due));
        state.wire = stay;
        let gone: Vec<Travelling> = gone;
        let count = gone.len();
        let wall = self.clock.wall();
        for journey in gone {
            if served {
                state.finish(journey, wall);
            } else if let (Some(op), Some(caller)) = (&journey.op, journey.caller) {
                // A caller that has gone needs no answer.
                let _ = caller.send(op.failed(Status::StoreUnavailable, "lost"));
            }
        }
        count
    }
}

impl State {
    /// Does everything that is due, in order of time.
    fn settle(&mut self, clock: &dyn Clock) {
        let (now, wall) = (clock.now(), clock.wall());
        while let Some(i) = self.first_due(now) {
            let journey = self.wire.remove(i);
            let Due::At(due) = journey.due else { continue };
            let ago_ms = i64::try_from(now.since(due).as_millis()).unwrap_or(i64::MAX);
            self.finish(journey, Wall(wall.0 - ago_ms));
        }
    }

    fn first_due(&self, now: Mono) -> Option<usize> {
        let due = |t: &Travelling| match t.due {
            Due::At(at) if at <= now => Some(at),
            _ => None,
        };
        let dues = self.wire.iter().enumerate().filter_map(|(i, t)| due(t).map(|at| (at, i)));
        dues.min().map(|(_, i)| i)
    }

    fn next_due(&self) -> Option<Mono> {
        let at = |t: &Travelling| match t.due {
            Due::At(at) => Some(at),
            _ => None,
        };
        self.wire.iter().filter_map(at).min()
    }

    fn finish(&mut self, journey: Travelling, wall: Wall) {
        let served = journey.op.map(|op| self.shelf.serve(&op, wall));
        if let (Some(caller), Some(answer)) = (journey.caller, journey.answer.or(served)) {
            // A caller that has gone needs no answer; the write stands.
            let _ = caller.send(answer);
        }
    }

    fn rule_for(&mut self, op: &Op, node: &str) -> Rule {
        let meets = |which: &Match| which.meets(op.verb(), op.key(), node);
        if let Some(i) = self.rules.iter().position(|(which, _)| meets(which))
            && let Some((_, rule)) = self.rules.remove(i)
        {
            return rule;
        }
        if let Some((_, fault)) = self.always.iter().find(|(which, _)| meets(which)) {
            return Rule::Meet(*fault);
        }
        match &self.chaos {
            Some((chaos, chance)) => Rule::Meet(chaos.draw(chance.bits(), chance.bits())),
            None => Rule::Meet(Fault::Deliver),
        }
    }

    fn note(&mut self, op: &Op, node: &str, rule: Rule, now: Mono) {
        let fate = match rule {
            Rule::Meet(fault) => format!("{fault:?}"),
            Rule::Hold { .. } => "Hold".into(),
        };
        let at_ms = u64::try_from(now.since(self.began).as_millis()).unwrap_or(u64::MAX);
        let from = node.to_owned();
        self.sent.push(Sent { at_ms, from, verb: op.verb(), key: op.key().to_owned(), fate });
    }

    /// Puts a request on the wire under its rule.
    fn dispatch(&mut self, op: Op, rule: Rule, now: Mono, wall: Wall) -> oneshot::Receiver<Answer> {
        let (caller, receiver) = oneshot::channel();
        let down = op.failed(Status::StoreUnavailable, "no answer");
        let at = Due::At;
        // When the answer is told, what is still to be served then, and the answer if it is known
        // now.
        let (due, pending, answer) = match rule {
            Rule::Hold { id, served: false } => (Due::Hold(id), Some(op), None),
            Rule::Hold { id, served: true } => (Due::Hold(id), None, self.serve(&op, wall)),
            Rule::Meet(fault) => match fault {
                Fault::Deliver => (at(now), None, self.serve(&op, wall)),
                Fault::Slow(d) => (at(now + d), Some(op), None),
                Fault::SlowAnswer(d) => (at(now + d), None, self.serve(&op, wall)),
                Fault::Committed => (at(now), None, self.serve(&op, wall).and(Some(down))),
                Fault::Lost => (at(now), None, Some(down)),
                Fault::Late(d) => (at(now), self.orphan(at(now + d), op), Some(down)),
                Fault::Stray => (at(now), self.orphan(Due::Land, op), Some(down)),
                Fault::Hang => (Due::Never, None, None),
                Fault::HangCommitted => (Due::Never, None, self.serve(&op, wall)),
                Fault::Conflict => (at(now), None, Some(op.refused())),
                Fault::Disowned => (at(now), None, self.serve(&op, wall).and(Some(op.refused()))),
                Fault::Twice(d) => {
                    let answer = self.serve(&op, wall);
                    (at(now), self.orphan(at(now + d), op), answer)
                }
                Fault::Denied => (at(now), None, Some(op.failed(Status::AccessDenied, "denied"))),
            },
        };
        self.wire.push(Travelling { due, op: pending, answer, caller: Some(caller) });
        receiver
    }

    fn serve(&mut self, op: &Op, wall: Wall) -> Option<Answer> {
        Some(self.shelf.serve(op, wall))
    }

    /// A request nobody listens for any more.
    fn orphan(&mut self, due: Due, op: Op) -> Option<Op> {
        self.wire.push(Travelling { due, op: Some(op), answer: None, caller: None });
        None
    }
}

impl Wire {
    async fn send(&self, op: Op) -> Answer {
        // A real request always lets others run; without this a zero-latency store would hide
        // interleavings.
        tokio::task::yield_now().await;
        if let Some(answer) = self.check_then_write(&op).await {
            return answer;
        }
        let shared = &self.shared;
        let gone = op.failed(Status::StoreUnavailable, "the store is gone");
        let mut answer = {
            let mut state = shared.settled();
            let rule = state.rule_for(&op, &self.node);
            let now = shared.clock.now();
            state.note(&op, &self.node, rule, now);
            let answer = state.dispatch(op, rule, now, shared.clock.wall());
            state.settle(&*shared.clock);
            answer
        };
        shared.held.notify_waiters();
        loop {
            let next = shared.settled().next_due();
            // Our answer may be due at `next`, or be told by a test that lets go: listen to both.
            let nap = next.map_or(IDLE, |at| shared.clock.now().until(at));
            tokio::select! {
                biased;
                told = &mut answer => return told.unwrap_or(gone),
                () = tokio::time::sleep(nap.max(TICK)) => {}
            }
        }
    }

    /// [`Quirk::ChecksThenWrites`]: the condition is looked at, others run, and then the write is
    /// unconditional. No fault rules here.
    async fn check_then_write(&self, op: &Op) -> Option<Answer> {
        let Op::Swap { key, expect, body } = op else { return None };
        let admitted = {
            let state = self.shared.settled();
            (state.shelf.quirk == Some(Quirk::ChecksThenWrites))
                .then(|| state.shelf.admits(key, expect.as_ref()))?
        };
        tokio::task::yield_now().await;
        if !admitted {
            return Some(Answer::Outcome(Outcome::Refused));
        }
        let wall = self.shared.clock.wall();
        let version = self.shared.settled().shelf.put(key, body.clone(), wall);
        Some(Answer::Outcome(Outcome::Landed(version)))
    }
}

/// How long a caller sleeps while nothing is due; a hung request wakes this often for nothing.
const IDLE: Duration = Duration::from_secs(3_600);
/// Tokio's timers are no finer.
const TICK: Duration = Duration::from_millis(1);

fn mismatched() -> Error {
    Error::new(Status::Internal, "the simulated store answered another verb")
}

#[async_trait]
impl Registers for Wire {
    async fn read(&self, key: &str, known: Option<&Version>) -> Result<Read> {
        match self.send(Op::Read { key: key.to_owned(), known: known.cloned() }).await {
            Answer::Read(read) => Ok(read),
            Answer::Failed(error) => Err(error),
            _ => Err(mismatched()),
        }
    }

    async fn modified(&self, key: &str) -> Result<Option<(Version, Wall)>> {
        match self.send(Op::Modified { key: key.to_owned() }).await {
            Answer::Modified(found) => Ok(found),
            Answer::Failed(error) => Err(error),
            _ => Err(mismatched()),
        }
    }

    async fn swap(&self, key: &str, expect: Option<&Version>, body: Bytes) -> Outcome {
        let op = Op::Swap { key: key.to_owned(), expect: expect.cloned(), body };
        match self.send(op).await {
            Answer::Outcome(outcome) => outcome,
            _ => Outcome::Unknown(mismatched()),
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        rows(self.send(Op::List { prefix: prefix.to_owned(), from: None }).await)
    }
}

#[async_trait]
impl Blobs for Wire {
    async fn create(&self, key: &str, payload: Payload) -> Outcome {
        let op = Op::Create { key: key.to_owned(), body: payload.into() };
        match self.send(op).await {
            Answer::Outcome(outcome) => outcome,
            _ => Outcome::Unknown(mismatched()),
        }
    }

    async fn read(&self, key: &str, range: Option<Range<u64>>) -> Result<Option<Bytes>> {
        match self.send(Op::Range { key: key.to_owned(), range }).await {
            Answer::Bytes(bytes) => Ok(bytes),
            Answer::Failed(error) => Err(error),
            _ => Err(mismatched()),
        }
    }

    async fn list(&self, prefix: &str, from: Option<&str>) -> Result<Vec<Listed>> {
        let from = from.map(str::to_owned);
        rows(self.send(Op::List { prefix: prefix.to_owned(), from }).await)
    }
}

fn rows(answer: Answer) -> Result<Vec<Listed>> {
    match answer {
        Answer::Rows(rows) => Ok(rows),
        Answer::Failed(error) => Err(error),
        _ => Err(mismatched()),
    }
}
