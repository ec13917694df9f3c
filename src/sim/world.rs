//! Clocks a test turns and chance from a seed.
//!
//! Rule: time is `tokio::time::Instant`, so `tokio::time::pause`/`advance` (or `start_paused`)
//! drives everything: timers, deadlines and the store's `LastModified`. Each node may have a clock
//! of its own that runs at another rate, is stepped, or sleeps through a suspend.

#![allow(clippy::disallowed_methods, reason = "a simulated clock is tokio's, which tests pause")]

use crate::base::{Clock, Id128, Mono, Mutant, Wall};
use crate::drive::world::{Chance, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::Instant;

/// Where every simulated clock begins: 2026-01-01, and 1,000 s after boot, so that subtracting from
/// "now" never meets zero.
const WALL_START_MS: i64 = 1_767_225_600_000;
const BOOT_START: Duration = Duration::from_secs(1_000);

/// One machine's clocks.
#[derive(Debug)]
pub struct SimClock {
    origin: Instant,
    rate_ppm: i64,
    suspended_ns: AtomicU64,
    wall_step_ms: AtomicI64,
}

impl SimClock {
    /// A true clock. Create it inside the runtime whose time drives it.
    #[must_use]
    pub fn new() -> Arc<SimClock> {
        SimClock::drifting(0)
    }

    /// A clock that gains this many parts per million (negative: it runs slow).
    #[must_use]
    pub fn drifting(rate_ppm: i64) -> Arc<SimClock> {
        Arc::new(SimClock {
            origin: Instant::now(),
            rate_ppm,
            suspended_ns: AtomicU64::new(0),
            wall_step_ms: AtomicI64::new(0),
        })
    }

    /// The machine slept this long: boot time and calendar jump, the raw oscillator does not, and
    /// no timer of the process ran.
    pub fn suspend(&self, slept: Duration) {
        self.suspended_ns.fetch_add(u64::try_from(slept.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Somebody set the calendar: it jumps by this many milliseconds.
    pub fn step_wall(&self, by_ms: i64) {
        self.wall_step_ms.fetch_add(by_ms, Relaxed);
    }

    fn ran(&self) -> u64 {
        let true_ns = Instant::now().saturating_duration_since(self.origin).as_nanos() as i128;
        let own_ns = true_ns + true_ns * i128::from(self.rate_ppm) / 1_000_000;
        u64::try_from(own_ns.max(0)).unwrap_or(u64::MAX)
    }
}

impl Clock for SimClock {
    fn now(&self) -> Mono {
        Mono(self.ran() + self.suspended_ns.load(Relaxed)) + BOOT_START
    }

    fn raw(&self) -> Mono {
        Mono(self.ran()) + BOOT_START
    }

    fn wall(&self) -> Wall {
        let since_start = Duration::from_nanos(self.ran() + self.suspended_ns.load(Relaxed));
        Wall(WALL_START_MS + self.wall_step_ms.load(Relaxed)) + since_start
    }
}

/// Identities and jitter from a seed (splitmix64: the sequence is ours and never changes with a
/// dependency).
#[derive(Debug)]
pub struct SimChance(AtomicU64);

impl SimChance {
    /// The sequence of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Arc<SimChance> {
        Arc::new(SimChance(AtomicU64::new(seed)))
    }

    /// The next 64 bits.
    pub fn bits(&self) -> u64 {
        let step = 0x9e37_79b9_7f4a_7c15_u64;
        let mut z = self.0.fetch_add(step, Relaxed).wrapping_add(step);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Chance for SimChance {
    fn id(&self) -> Id128 {
        Id128((u128::from(self.bits()) << 64) | u128::from(self.bits()))
    }

    fn below(&self, limit: Duration) -> Duration {
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(if limit_ns == 0 { 0 } else { self.bits() % limit_ns })
    }
}

/// A node's world: this clock, chance from `seed`, and the current runtime for both kinds of
/// traffic. For a mutant set `world.mutant`.
#[must_use]
pub fn world(clock: &Arc<SimClock>, seed: u64) -> World {
    let here = Handle::current();
    World {
        clock: clock.clone(),
        chance: SimChance::new(seed),
        control: here.clone(),
        data: here,
        mutant: Mutant::default(),
    }
}
