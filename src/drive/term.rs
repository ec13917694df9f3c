//! The lock-free answer to "may I still say yes?".
//!
//! Rule: two words of the session (generation, valid-until) and one of the lease (its tag). The
//! writer stores the generation *before* valid-until, the reader loads them in reverse: whoever
//! sees an extension also sees the generation it belongs to.

use super::authority::Validity;
use crate::base::{Epoch, Mono};
use crate::decide::session::Term;
use std::sync::atomic::{AtomicU64, Ordering};

/// The session's term, published.
#[derive(Debug, Default)]
pub struct SharedTerm {
    generation: AtomicU64,
    valid_until: AtomicU64,
}

impl SharedTerm {
    /// Publishes a term.
    pub fn publish(&self, term: Term) {
        self.generation.store(term.generation, Ordering::Release);
        self.valid_until.store(term.valid_until.0, Ordering::Release);
    }

    /// The term as last published.
    #[must_use]
    pub fn load(&self) -> Term {
        let valid_until = Mono(self.valid_until.load(Ordering::Acquire));
        Term { generation: self.generation.load(Ordering::Acquire), valid_until }
    }
}

/// A lease's tag that means: gone for good.
const LOST: u64 = u64::MAX;

/// One lease's word: the generation under which it was last proved.
#[derive(Debug, Default)]
pub struct LeaseCell {
    tag: AtomicU64,
    epoch: AtomicU64,
}

impl LeaseCell {
    /// Publishes tag and epoch.
    pub fn publish(&self, tag: u64, epoch: Option<Epoch>) {
        if let Some(epoch) = epoch {
            self.epoch.store(epoch.0, Ordering::Release);
        }
        self.tag.store(tag, Ordering::Release);
    }

    /// Publishes the end.
    pub fn lose(&self) {
        self.tag.store(LOST, Ordering::Release);
    }

    /// The epoch last held.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::Acquire))
    }

    /// Whether its last proof belongs to an older generation: only a touch helps.
    #[must_use]
    pub fn is_stale(&self, term: &SharedTerm) -> bool {
        self.tag.load(Ordering::Acquire) != term.load().generation
    }

    /// Valid, suspended or lost, at `now`. Tens of nanoseconds; any thread.
    #[must_use]
    pub fn check(&self, term: &SharedTerm, now: Mono) -> Validity {
        let tag = self.tag.load(Ordering::Acquire);
        if tag == LOST {
            return Validity::Lost;
        }
        let term = term.load();
        if tag != 0 && tag == term.generation && now < term.valid_until {
            return Validity::Valid(now.until(term.valid_until));
        }
        Validity::Suspended
    }
}
