//! A store whose requests can be lost, late, doubled, refused or held.
//!
//! Question: what may a store do to a request? Rule: a request, once sent, belongs to the wire. Its
//! caller may time out and drop the future; the write still lands, under its own condition, at its
//! own time. So requests are values in a queue, served when they are due, and a caller only listens
//! for the answer. Why the obvious rule (sleep, then write, in the caller's future) fails: dropping
//! the future would undo the write, and the very fault that lease protocols die of could not
//! happen. Work that is due is done before anybody looks, so no task is needed and two runs of one
//! seed are alike. Invariants (`sim::tests`): an abandoned write lands; a late write meets the
//! condition of the moment it lands; equal bodies have equal tags; one seed, one log.

use super::fault::{Chaos, Fault, Match, Quirk};
use super::request::Sent;
use super::wire::{Due, Rule, Shared, State, Wire};
use super::world::SimChance;
use crate::base::{Clock, Version};
use crate::store::Store;
use bytes::Bytes;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

/// A shared, faulty, deterministic object store. Clones are the same store.
#[derive(Clone, Debug)]
pub struct SimStore(Arc<Shared>);

/// A request stopped on its way. Dropping it lets the request go.
#[derive(Debug)]
pub struct Hold {
    store: SimStore,
    id: u64,
}

impl SimStore {
    /// An empty store on this clock: content-hash tags, `LastModified` cut to 1 s, no faults.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> SimStore {
        SimStore(Arc::new(Shared::new(clock)))
    }

    /// What the rest of the crate sees of it. All requests come from the node `""`.
    #[must_use]
    pub fn store(&self) -> Store {
        self.store_of("")
    }

    /// The same store seen by a named node, so that [`Match::from`] can cut off one node of many.
    #[must_use]
    pub fn store_of(&self, node: &str) -> Store {
        let wire = Arc::new(Wire { shared: self.0.clone(), node: node.to_owned() });
        Store {
            name: "sim://".into(),
            leases: wire.clone(),
            files: wire.clone(),
            blobs: wire,
            write_gap: Duration::ZERO,
        }
    }

    /// `LastModified` is cut to this; 1 s unless told otherwise.
    #[must_use]
    pub fn with_grain(self, grain: Duration) -> SimStore {
        self.state().shelf.grain_ms = i64::try_from(grain.as_millis()).unwrap_or(i64::MAX).max(1);
        self
    }

    /// Makes it a store that breaks a promise.
    #[must_use]
    pub fn with_quirk(self, quirk: Quirk) -> SimStore {
        self.state().shelf.quirk = Some(quirk);
        self
    }

    /// The next matching request meets this fault; calls queue up, so three calls script three
    /// requests.
    pub fn next(&self, which: Match, fault: Fault) {
        self.state().rules.push_back((which, Rule::Meet(fault)));
    }

    /// Every matching request meets this fault until [`SimStore::heal`]. The latest such rule wins;
    /// one-time rules come first.
    pub fn always(&self, which: Match, fault: Fault) {
        self.state().always.insert(0, (which, fault));
    }

    /// The next matching request stops before the store has seen it, until the hold is released or
    /// dropped.
    #[must_use = "dropping the hold releases the request"]
    pub fn hold(&self, which: Match) -> Hold {
        self.new_hold(which, false)
    }

    /// The next matching request is served at once, but its answer waits until the hold is released
    /// or dropped.
    #[must_use = "dropping the hold releases the answer"]
    pub fn hold_answer(&self, which: Match) -> Hold {
        self.new_hold(which, true)
    }

    /// From now on faults are drawn from this seed, for requests that no rule matches.
    pub fn rage(&self, chaos: Chaos, seed: u64) {
        self.state().chaos = Some((chaos, SimChance::new(seed)));
    }

    /// No faults from now on. Requests under way stay under way.
    pub fn heal(&self) {
        let mut state = self.state();
        state.rules.clear();
        state.always.clear();
        state.chaos = None;
    }

    /// Lands every stray write ([`Fault::Stray`]), oldest first; tells how many there were.
    pub fn land(&self) -> usize {
        self.0.let_go(|due| due == Due::Land, true)
    }

    /// How many matching requests were sent.
    #[must_use]
    pub fn count(&self, which: Match) -> usize {
        self.state().sent.iter().filter(|s| which.meets(s.verb, &s.key, &s.from)).count()
    }

    /// Every request sent since the last [`SimStore::forget`], in order.
    #[must_use]
    pub fn sent(&self) -> Vec<Sent> {
        self.state().sent.clone()
    }

    /// Starts counting anew.
    pub fn forget(&self) {
        self.state().sent.clear();
    }

    /// An object as it is stored now, without a request.
    #[must_use]
    pub fn peek(&self, key: &str) -> Option<Bytes> {
        self.settled().shelf.objects.get(key).map(|o| o.body.clone())
    }

    /// Every key with this prefix, without a request.
    #[must_use]
    pub fn keys(&self, prefix: &str) -> Vec<String> {
        let state = self.settled();
        state.shelf.objects.keys().filter(|k| k.starts_with(prefix)).cloned().collect()
    }

    /// Stores an object behind everybody's back.
    pub fn plant(&self, key: &str, body: impl Into<Bytes>) -> Version {
        let wall = self.0.clock.wall();
        self.settled().shelf.put(key, body.into(), wall)
    }

    /// Deletes an object as an operator would; tells whether it was there.
    pub fn erase(&self, key: &str) -> bool {
        self.settled().shelf.objects.remove(key).is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// The state after everything due has been done.
    fn settled(&self) -> MutexGuard<'_, State> {
        self.0.settled()
    }

    fn new_hold(&self, which: Match, served: bool) -> Hold {
        let mut state = self.state();
        state.last_id += 1;
        let id = state.last_id;
        state.rules.push_back((which, Rule::Hold { id, served }));
        Hold { store: self.clone(), id }
    }
}

impl Hold {
    /// Returns once a request (or, for [`SimStore::hold_answer`], its answer) is held here.
    pub async fn arrived(&self) {
        loop {
            let news = self.store.0.held.notified();
            if self.is_holding() {
                return;
            }
            news.await;
        }
    }

    /// Whether a request is held here now.
    #[must_use]
    pub fn is_holding(&self) -> bool {
        self.store.state().wire.iter().any(|t| t.due == Due::Hold(self.id))
    }

    /// Lets it go on: the request is served at this moment, or the answer told.
    pub fn release(self) {
        drop(self);
    }

    /// It never gets there: the caller is told an error.
    pub fn lose(self) {
        self.store.0.let_go(|due| due == Due::Hold(self.id), false);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let ours = |rule: &Rule| matches!(rule, Rule::Hold { id, .. } if *id == self.id);
        self.store.state().rules.retain(|(_, rule)| !ours(rule));
        self.store.0.let_go(|due| due == Due::Hold(self.id), true);
    }
}
