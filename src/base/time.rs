//! Two kinds of time, never mixed.
//!
//! [`Mono`] counts nanoseconds on this machine since boot, suspend included: deadlines of our own.
//! [`Wall`] is a store's `LastModified`, in milliseconds since 1970: the age of other people's
//! objects. Why not one type: comparing a local clock with a store's clock is the oldest mistake in
//! lease code, so the compiler refuses it. What is not here: reading either of them (see
//! [`crate::base::Clock`]).

use std::ops::{Add, Sub};
use std::time::Duration;

/// A point on this machine's boot clock, in nanoseconds. Valid only inside the process that read
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mono(pub u64);

impl Mono {
    /// The beginning of the clock: before every deadline.
    pub const ZERO: Mono = Mono(0);

    /// How long ago `earlier` was; zero if it is in the future.
    #[must_use]
    pub fn since(self, earlier: Mono) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// How long until `later`; zero if it has passed.
    #[must_use]
    pub fn until(self, later: Mono) -> Duration {
        later.since(self)
    }
}

impl Add<Duration> for Mono {
    type Output = Mono;
    fn add(self, d: Duration) -> Mono {
        Mono(self.0.saturating_add(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Mono {
    type Output = Mono;
    fn sub(self, d: Duration) -> Mono {
        Mono(self.0.saturating_sub(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// A store's timestamp in milliseconds since 1970, as its `LastModified` tells it (often truncated
/// to a second).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wall(pub i64);

impl Wall {
    /// How much older `earlier` is than `self`; zero if it is younger.
    #[must_use]
    pub fn since(self, earlier: Wall) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Add<Duration> for Wall {
    type Output = Wall;
    fn add(self, d: Duration) -> Wall {
        Wall(self.0.saturating_add(i64::try_from(d.as_millis()).unwrap_or(i64::MAX)))
    }
}
