//! A world in a box: a store with faults, clocks that a test turns, chance from a seed. Feature
//! `sim`.
//!
//! Question: does the code above keep its promises when requests are lost, late, doubled or
//! answered wrongly? Rule: nothing here decides anything by itself. Time is tokio's (paused in
//! tests, so hours pass in microseconds), chance is a seed, and each fault is asked for by a test
//! or drawn from the seed: the same seed gives the same log. Why not mock the traits: a mock
//! answers what its author thought of; this store *is* a store (content-hash ETags, `LastModified`
//! cut to seconds, requests that outlive their callers), so a protocol that leans on more than that
//! fails. Public, so that users can test their own engine on it. What is not here: local disks
//! ([`crate::store`] has the real one).
//!
//! ```
//! # let mut paused = tokio::runtime::Builder::new_current_thread();
//! # paused.enable_time().start_paused(true).build().unwrap().block_on(async {
//! use tenure::sim::{Fault, Match, SimClock, SimStore, world};
//! use tenure::store::{Outcome, Read};
//! use std::time::Duration;
//!
//! let clock = SimClock::new();                    // boot and wall clock, driven by tokio's time
//! let sim = SimStore::new(clock.clone());
//! let world = world(&clock, 7);                   // for `Client::open_in` and the drivers
//! let leases = sim.store().leases;
//!
//! // The answer of the next PUT below leases/ is lost; the write itself lands five seconds later.
//! sim.next(Match::put("leases/"), Fault::Late(Duration::from_secs(5)));
//! let answer = leases.swap("leases/a", None, "one".into()).await;
//! assert!(matches!(answer, Outcome::Unknown(_)));
//! assert!(matches!(leases.read("leases/a", None).await, Ok(Read::Absent)));
//! tokio::time::sleep(Duration::from_secs(6)).await;
//! assert!(matches!(leases.read("leases/a", None).await, Ok(Read::Present(_))));
//!
//! // Script an interleaving: stop a request on the wire, do something else, let it go.
//! let hold = sim.hold(Match::put("leases/b"));
//! let l = leases.clone();
//! let slow = tokio::spawn(async move { l.swap("leases/b", None, "late".into()).await });
//! hold.arrived().await;
//! assert!(matches!(leases.swap("leases/b", None, "early".into()).await, Outcome::Landed(_)));
//! hold.release();
//! assert!(matches!(slow.await.unwrap(), Outcome::Refused));
//! assert_eq!(sim.count(Match::put("leases/b")), 2);
//! # });
//! ```

mod authority;
mod coarse;
mod fault;
mod request;
mod store;
mod wire;
mod world;

pub use authority::{SimAuthority, SimLease};
pub use coarse::coarse;
pub use fault::{Chaos, Fault, Match, Quirk, Verb};
pub use request::Sent;
pub use store::{Hold, SimStore};
pub use world::{SimChance, SimClock, world};

#[cfg(test)]
mod tests;
