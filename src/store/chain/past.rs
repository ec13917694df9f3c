//! Which old numbers may go.
//!
//! Rule: n goes only if this process saw n+16 at least 60 s ago on its own boot clock (`super`,
//! *Collection*). So a process remembers, for each chain it swaps, a few sightings of the head.
//! Sightings are forgotten when there are too many chains, which only delays collection; they are
//! discarded when a head is below an older sighting, because then the directory is another one that
//! got the same inode.

use super::dir::{ChainDir, Scan};
use super::{KEEP, KEEP_FOR};
use crate::base::{Mono, Wall};
use crate::store::stamp;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Chains remembered at once.
const CHAINS_MAX: usize = 4_096;
/// Sightings closer together than this are one: 60 s hold a dozen.
const APART: Duration = Duration::from_secs(5);
/// Numbers removed after one swap, so that no swap waits long for the past.
const REMOVALS_MAX: usize = 64;
/// Temporary files older than this belong to the dead. One that a stopped process still wants costs
/// it its swap, told as unknown.
const TEMP_MAX: Duration = Duration::from_secs(3_600);

/// Device and inode of a chain's directory.
type Inode = (u64, u64);
/// Heads seen, each with when.
type Sightings = VecDeque<(u64, Mono)>;

/// What this process saw of the chains it swaps.
#[derive(Debug, Default)]
pub(super) struct Past(Mutex<HashMap<Inode, Sightings>>);

impl Past {
    /// Removes what may go after a landed swap. Errors are left to the next swap: nothing depends
    /// on it.
    pub(super) fn tidy(&self, dir: &ChainDir, scan: &Scan) {
        let Some(head) = scan.head else { return };
        let hour_ago = Wall(stamp::wall().0 - i64::try_from(TEMP_MAX.as_millis()).unwrap_or(0));
        for temp in &scan.temps {
            let _ = dir.drop_temp(temp, hour_ago);
        }
        if head <= KEEP {
            return;
        }
        let Ok(identity) = dir.identity() else { return };
        let Some(last) = self.sight(identity, head, stamp::boot()) else { return };
        let old = scan.numbers.iter().copied().filter(|n| (1..=last).contains(n));
        for n in old.take(REMOVALS_MAX) {
            let _ = dir.drop_number(n);
        }
    }

    /// Notes a sighting of the head; tells the last number that may go now.
    fn sight(&self, chain: (u64, u64), head: u64, now: Mono) -> Option<u64> {
        let mut chains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if chains.len() >= CHAINS_MAX && !chains.contains_key(&chain) {
            chains.clear();
        }
        let seen = chains.entry(chain).or_default();
        if seen.back().is_some_and(|(last, _)| *last > head) {
            seen.clear();
        }
        if seen.back().is_none_or(|(_, at)| now.since(*at) >= APART) {
            seen.push_back((head, now));
        }
        // Keep the youngest of those that are old enough: it allows most.
        while seen.get(1).is_some_and(|(_, at)| now.since(*at) >= KEEP_FOR) {
            seen.pop_front();
        }
        let (old_head, at) = seen.front()?;
        (now.since(*at) >= KEEP_FOR).then(|| old_head.saturating_sub(KEEP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAIN: (u64, u64) = (1, 2);

    fn at(secs: u64) -> Mono {
        Mono::ZERO + Duration::from_secs(1_000 + secs)
    }

    #[test]
    fn a_number_goes_sixty_seconds_after_its_sixteenth_successor_was_seen() {
        let past = Past::default();
        assert_eq!(past.sight(CHAIN, 20, at(0)), None);
        assert_eq!(past.sight(CHAIN, 90, at(30)), None);
        assert_eq!(past.sight(CHAIN, 95, at(59)), None);
        assert_eq!(past.sight(CHAIN, 99, at(60)), Some(4));
        assert_eq!(past.sight(CHAIN, 99, at(90)), Some(74));
    }

    #[test]
    fn sightings_of_a_directory_that_was_replaced_are_discarded() {
        let past = Past::default();
        assert_eq!(past.sight(CHAIN, 500, at(0)), None);
        assert_eq!(past.sight(CHAIN, 20, at(100)), None);
        assert_eq!(past.sight(CHAIN, 21, at(160)), Some(4));
    }

    #[test]
    fn memory_is_bounded_in_chains_and_sightings() {
        let past = Past::default();
        for i in 0..10_000 {
            past.sight((0, i), 20, at(0));
        }
        for i in 0..10_000 {
            past.sight(CHAIN, 20 + i, at(i));
        }
        let chains = past.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(chains.len() <= CHAINS_MAX);
        assert!(chains[&CHAIN].len() <= 14);
    }
}
