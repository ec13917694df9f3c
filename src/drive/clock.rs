//! The production clocks: boot time, raw time, calendar.

use crate::base::{Clock, Mono, Wall};
use rustix::time::{ClockId, clock_gettime};

/// This machine's clocks. `now` counts while the machine is suspended; `raw` is not slewed by NTP.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Mono {
        nanos(ClockId::Boottime)
    }

    fn raw(&self) -> Mono {
        nanos(ClockId::MonotonicRaw)
    }

    fn wall(&self) -> Wall {
        let t = clock_gettime(ClockId::Realtime);
        Wall(t.tv_sec.saturating_mul(1_000).saturating_add(t.tv_nsec / 1_000_000))
    }
}

fn nanos(clock: ClockId) -> Mono {
    let t = clock_gettime(clock);
    let (sec, nsec) = (u64::try_from(t.tv_sec), u64::try_from(t.tv_nsec));
    Mono(sec.unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(nsec.unwrap_or(0)))
}
