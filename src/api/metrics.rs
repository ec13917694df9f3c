//! Counters in Prometheus text form.

use super::Client;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

impl Client {
    /// This client's counters and gauges in Prometheus text form, names ending in their unit.
    /// Memory only; any thread.
    #[must_use]
    pub fn metrics_text(&self) -> String {
        let core = &self.inner.core;
        let c = &core.counters;
        let load = |n: &AtomicU64| n.load(Ordering::Relaxed);
        let held = core.all_slots().iter().filter(|s| s.is_held()).count() as u64;
        let left = core.world.clock.now().until(core.term.load().valid_until);
        let counters = [
            ("tenure_session_renewals_total", "renewals that landed", load(&c.renewals)),
            (
                "tenure_session_renewals_unknown_total",
                "renewals without a clear answer; rising: the store is slow or away",
                load(&c.renewals_unknown),
            ),
            (
                "tenure_session_gaps_total",
                "terms that ran out before a renewal; each one made every lease prove itself again",
                load(&c.gaps),
            ),
            ("tenure_leases_granted_total", "leases acquired", load(&c.granted)),
            ("tenure_leases_lost_total", "granted leases that were lost", load(&c.lost)),
            (
                "tenure_lease_swaps_ambiguous_total",
                "lease swaps without a clear answer, settled by reading",
                load(&c.ambiguous),
            ),
        ];
        let gauges = [
            ("tenure_leases_held", "leases held now", held),
            (
                "tenure_session_remaining_milliseconds",
                "how long the session stays valid without another renewal",
                u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            ),
        ];
        let mut text = String::new();
        let mut line = |kind: &str, (name, help, value): (&str, &str, u64)| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        };
        counters.into_iter().for_each(|row| line("counter", row));
        gauges.into_iter().for_each(|row| line("gauge", row));
        text
    }
}
