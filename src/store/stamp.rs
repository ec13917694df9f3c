//! The two clock readings of this layer, in one place.
//!
//! `wall` stamps objects of `memory://`, as a store's own clock would; nobody judges an age by it.
//! `boot` bounds how long a directory scan took. Everything above gets its time from a
//! [`crate::base::Clock`].

use crate::base::{Mono, Wall};
use rustix::time::{ClockId, clock_gettime};

/// The calendar, in milliseconds since 1970.
#[must_use]
pub fn wall() -> Wall {
    let now = clock_gettime(ClockId::Realtime);
    Wall(now.tv_sec * 1_000 + now.tv_nsec / 1_000_000)
}

/// Time since boot; on Linux it counts while the machine is suspended.
#[must_use]
pub fn boot() -> Mono {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let now = clock_gettime(clock);
    let whole_ns = u64::try_from(now.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000);
    Mono(whole_ns.saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0)))
}
