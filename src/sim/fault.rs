//! What may go wrong with a request, and which request is meant.

use std::time::Duration;

/// The verb of a request, as a store bills it. A swap and a create are both PUTs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// A read of a register or of a byte range.
    Get,
    /// `Registers::modified`.
    Head,
    /// A swap of a register or the creation of a blob.
    Put,
    /// A list.
    List,
}

/// Which requests: by verb, by a part of the key, by sender. `Match::any()` is all of them.
#[derive(Clone, Debug, Default)]
pub struct Match {
    pub(super) verb: Option<Verb>,
    pub(super) part: String,
    pub(super) from: Option<String>,
}

impl Match {
    /// Every request.
    #[must_use]
    pub fn any() -> Match {
        Match::default()
    }

    /// PUTs whose key contains `part`.
    #[must_use]
    pub fn put(part: &str) -> Match {
        Match::verb(Verb::Put, part)
    }

    /// GETs whose key contains `part`.
    #[must_use]
    pub fn get(part: &str) -> Match {
        Match::verb(Verb::Get, part)
    }

    /// HEADs whose key contains `part`.
    #[must_use]
    pub fn head(part: &str) -> Match {
        Match::verb(Verb::Head, part)
    }

    /// LISTs whose prefix contains `part`.
    #[must_use]
    pub fn list(part: &str) -> Match {
        Match::verb(Verb::List, part)
    }

    /// Only those sent by this node (see `SimStore::store_of`).
    #[must_use]
    pub fn from(mut self, node: &str) -> Match {
        self.from = Some(node.to_owned());
        self
    }

    fn verb(verb: Verb, part: &str) -> Match {
        Match { verb: Some(verb), part: part.to_owned(), from: None }
    }

    pub(super) fn meets(&self, verb: Verb, key: &str, from: &str) -> bool {
        self.verb.is_none_or(|v| v == verb)
            && key.contains(&self.part)
            && self.from.as_deref().is_none_or(|f| f == from)
    }
}

/// What happens to a request. "Error" is what a caller sees of a timeout or a 5xx:
/// `Outcome::Unknown` or `StoreUnavailable`. A request that is under way lands even if its caller
/// has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// None: served at once.
    Deliver,
    /// Travels this long, then is served and answered.
    Slow(Duration),
    /// Served at once; the answer travels this long.
    SlowAnswer(Duration),
    /// Served; the answer is an error (FAULTS 2, 10).
    Committed,
    /// Not served; the answer is an error.
    Lost,
    /// Error at once; a write lands this much later, under its own condition (FAULTS 1).
    Late(Duration),
    /// Error at once; a write lands when the test calls `SimStore::land`.
    Stray,
    /// Never answered; not served.
    Hang,
    /// Served, never answered.
    HangCommitted,
    /// Nothing stored, and the answer is "refused" (409 of a concurrent request, FAULTS 16). A read
    /// gets an error.
    Conflict,
    /// Stored, and the answer is "refused": a retry below us met its own write (FAULTS 3). A read
    /// gets an error.
    Disowned,
    /// Served and answered; a copy arrives this much later (FAULTS 3).
    Twice(Duration),
    /// 403.
    Denied,
}

/// Faults drawn from a seed: how many requests of a thousand meet each. Delays are drawn up to
/// `delay`.
#[derive(Clone, Copy, Debug)]
pub struct Chaos {
    /// [`Fault::Slow`].
    pub slow: u32,
    /// [`Fault::SlowAnswer`].
    pub slow_answer: u32,
    /// [`Fault::Committed`].
    pub committed: u32,
    /// [`Fault::Lost`].
    pub lost: u32,
    /// [`Fault::Late`].
    pub late: u32,
    /// [`Fault::Hang`].
    pub hang: u32,
    /// [`Fault::HangCommitted`].
    pub hang_committed: u32,
    /// [`Fault::Conflict`].
    pub conflict: u32,
    /// [`Fault::Disowned`].
    pub disowned: u32,
    /// [`Fault::Twice`].
    pub twice: u32,
    /// The longest delay.
    pub delay: Duration,
}

impl Chaos {
    /// No faults: a base for `Chaos { late: 50, ..Chaos::NONE }`.
    pub const NONE: Chaos = Chaos {
        slow: 0,
        slow_answer: 0,
        committed: 0,
        lost: 0,
        late: 0,
        hang: 0,
        hang_committed: 0,
        conflict: 0,
        disowned: 0,
        twice: 0,
        delay: Duration::from_secs(1),
    };

    /// One request in five meets something; delays up to 20 s.
    pub const ROUGH: Chaos = Chaos {
        slow: 40,
        slow_answer: 40,
        committed: 20,
        lost: 20,
        late: 20,
        hang: 10,
        hang_committed: 10,
        conflict: 15,
        disowned: 10,
        twice: 15,
        delay: Duration::from_secs(20),
    };

    /// The fault for one request from two draws.
    pub(super) fn draw(&self, pick: u64, span: u64) -> Fault {
        let delay_ns = u64::try_from(self.delay.as_nanos()).unwrap_or(u64::MAX).max(1);
        let delay = Duration::from_nanos(span % delay_ns);
        let table = [
            (self.slow, Fault::Slow(delay)),
            (self.slow_answer, Fault::SlowAnswer(delay)),
            (self.committed, Fault::Committed),
            (self.lost, Fault::Lost),
            (self.late, Fault::Late(delay)),
            (self.hang, Fault::Hang),
            (self.hang_committed, Fault::HangCommitted),
            (self.conflict, Fault::Conflict),
            (self.disowned, Fault::Disowned),
            (self.twice, Fault::Twice(delay)),
        ];
        let mut left = pick % 1_000;
        for (per_mille, fault) in table {
            if left < u64::from(per_mille) {
                return fault;
            }
            left -= u64::from(per_mille);
        }
        Fault::Deliver
    }
}

/// A way in which a store may not be what it claims, for tests of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirk {
    /// A create overwrites (s3rver).
    IgnoresCreateOnly,
    /// A swap overwrites whatever is there (s3rver).
    IgnoresIfMatch,
    /// A swap of a missing key creates it.
    SwapCreates,
    /// Condition and write are two steps (moto): two swaps of one version may both land.
    ChecksThenWrites,
    /// LIST does not show objects younger than 10 s.
    ListLags,
    /// `LastModified` stays at the time of creation.
    KeepsModified,
    /// The clocks of two front ends differ by 30 s.
    SkewedClocks,
}
