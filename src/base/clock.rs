//! Where time comes from: one trait, so that the simulator and tests can hand in their own.

use super::{Mono, Wall};

/// Three clocks of one machine. The production one is `drive::clock::SystemClock`.
///
/// [`Clock::now`] must count while the machine is suspended (`CLOCK_BOOTTIME`): a holder that slept
/// must know it. [`Clock::raw`] must not be slewed by NTP (`CLOCK_MONOTONIC_RAW`): a slewed clock
/// can run slow, and a slow holder believes in itself for too long. [`Clock::wall`] is only
/// compared with itself, to notice jumps. All are cheap (tens of nanoseconds), never block and may
/// be called from any thread.
pub trait Clock: Send + Sync + std::fmt::Debug + 'static {
    /// Time since boot, suspend included.
    fn now(&self) -> Mono;
    /// Time since boot by the oscillator alone: no suspend, no slewing.
    fn raw(&self) -> Mono;
    /// The machine's calendar. Never used to judge anybody else's age.
    fn wall(&self) -> Wall;
}
