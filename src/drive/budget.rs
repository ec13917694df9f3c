//! The memory of all writers of a process, and the packets it is made of.
//!
//! Question: may this writer take another 64 KiB? Rule: each writer owns two packets that nobody
//! can take from it, so every writer always gets on; everything beyond comes out of one
//! process-wide budget and goes back when the bytes are acked. A limit per writer alone is the
//! obvious rule, and a thousand writers times 37 MiB is 37 GB. Used packets are kept for the next
//! writer (a fresh 64 KiB costs page faults: 28 ns instead of 17 per 100-byte write), up to a
//! bound.
//!
//! Invariants: `file_backpressure::{a_writer_always_gets_two_packets,
//! the_budget_comes_back_after_ack_error_and_abort}`. What is not here: who waits, and the window
//! of one writer.

use crate::base::config::PACKET;
use bytes::{Bytes, BytesMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// Packets each writer owns whatever the others do.
pub const GUARANTEED: usize = 2;
/// Packets kept for reuse: 64 MiB.
const KEPT_MAX: usize = 1_024;

/// One process's budget. Any thread; never blocks.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
    kept: Mutex<Vec<BytesMut>>,
    pub(crate) freed: Notify,
}

impl Budget {
    /// A budget of this many bytes, rounded down to packets.
    #[must_use]
    pub fn new(bytes: usize) -> Budget {
        Budget {
            limit: bytes / PACKET,
            used: AtomicUsize::new(0),
            kept: Mutex::new(Vec::new()),
            freed: Notify::new(),
        }
    }

    /// Packets taken now, beyond the guaranteed ones.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    /// Packets there are.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Takes `n` packets or none.
    pub(crate) fn take(&self, n: usize) -> bool {
        let fits = |used: usize| used.checked_add(n).filter(|sum| *sum <= self.limit);
        n == 0 || self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).is_ok()
    }

    /// Gives `n` packets back and wakes every writer that waits for some.
    pub(crate) fn give_back(&self, n: usize) {
        if n > 0 {
            self.used.fetch_sub(n, Ordering::AcqRel);
            self.freed.notify_waiters();
        }
    }

    /// A packet at its full length; its bytes are whatever they were.
    pub(crate) fn packet(&self) -> BytesMut {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| BytesMut::zeroed(PACKET))
    }

    /// Keeps acked packets for reuse, where nobody else holds them any more.
    pub(crate) fn recycle(&self, packets: Vec<Bytes>) {
        let unique = packets.into_iter().filter_map(|p| p.try_into_mut().ok());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for mut packet in unique {
            if packet.capacity() == PACKET && kept.len() < KEPT_MAX {
                // Only a packet that was cut short is filled up; a full one keeps its length, and
                // costs nothing.
                packet.resize(PACKET, 0);
                kept.push(packet);
            }
        }
    }
}
