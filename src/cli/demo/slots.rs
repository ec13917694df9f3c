//! Whether a frozen writer was caught in the act, as its directory shows.
//!
//! Rule: the demo must fail without the seal, so when it freezes a writer the segment at the first
//! missing position has to be sent and not stored, and the writer must have nothing to do but wait
//! for it. Why the writer's own numbers do not tell: they are as old as its last look. On `file://`
//! a segment under way is a staging file (`<seq>#…`) beside its place. If the first missing
//! position has one and so many follow that every slot is taken, then acked = stored, the next
//! thing this writer learns is that answer, and without a seal it will believe an ack that nobody
//! else sees.

use std::collections::BTreeSet;
use std::path::Path;

/// Segments of one writer, by sequence number.
#[derive(Debug, Default)]
struct Segments {
    stored: BTreeSet<u64>,
    under_way: BTreeSet<u64>,
}

/// Whether the writer with this epoch waits for its first missing segment with all slots taken.
pub fn all_wait(base: &Path, epoch: u64, in_flight: usize) -> bool {
    let mut found = Segments::default();
    let prefix = format!("{epoch:020}.");
    for file in names(&base.join("data")) {
        let file = base.join("data").join(file);
        for open in names(&file).into_iter().filter(|name| name.starts_with(&prefix)) {
            names(&file.join(open)).iter().for_each(|name| found.add(name));
        }
    }
    found.all_wait(in_flight as u64)
}

impl Segments {
    fn add(&mut self, name: &str) {
        match name.split_once('#') {
            Some((seq, _)) => self.under_way.extend(seq.parse::<u64>()),
            None => self.stored.extend(name.parse::<u64>()),
        }
    }

    fn all_wait(&self, in_flight: u64) -> bool {
        let first = (0..).find(|seq| !self.stored.contains(seq)).unwrap_or(0);
        let last = self.stored.last().max(self.under_way.last()).copied().unwrap_or(0);
        self.under_way.contains(&first) && last + 1 >= first + in_flight
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(stored: &[u64], under_way: &[u64]) -> Segments {
        let mut all = Segments::default();
        stored.iter().for_each(|seq| all.add(&format!("{seq:010}")));
        under_way.iter().for_each(|seq| all.add(&format!("{seq:010}#1")));
        all
    }

    #[test]
    fn every_slot_must_be_taken_behind_the_first_missing_segment() {
        assert!(segments(&[0, 1], &[2, 3, 4]).all_wait(3));
        // Stored out of order, but not answered as far as acks go: still three.
        assert!(segments(&[0, 1, 3], &[2, 4]).all_wait(3));
        // A slot is free, or its segment not begun.
        assert!(!segments(&[0, 1], &[2, 3]).all_wait(3));
        // The first missing one was never sent.
        assert!(!segments(&[0, 1, 2], &[]).all_wait(3));
        assert!(!segments(&[0], &[2, 3, 4]).all_wait(3));
    }
}
