//! Protections that can be switched off, to prove that a test can fail.
//!
//! Rule: every safety test is also run against a mutant that lacks the protection, and fails there.
//! Without the feature `sim` a [`Mutant`] is a unit and every question compiles to `false`: a
//! shipped library cannot be weakened.

macro_rules! protections {
    ($($(#[$doc:meta])* $variant:ident,)*) => {
        /// A guard of the protocol. Each names the rule that dies without it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Protection { $($(#[$doc])* $variant,)* }

        impl Protection {
            /// Every protection.
            pub const ALL: &[Protection] = &[$(Protection::$variant),*];
        }
    };
}

protections! {
    /// A gap in the session's validity suspends every lease (trap 2).
    GapRule,
    /// The gap is judged when the answer is processed, not when the request is sent (trap 3).
    GapAtAnswer,
    /// The lease is read before its holder's session is judged (trap 4).
    ReadOrder,
    /// A holder's session is judged by the store's time known before it was read.
    JudgeBeforeRead,
    /// A missing session is waited out (trap 5).
    MissingWait,
    /// Every record write carries a fresh nonce (trap 6).
    FreshNonce,
    /// A lease is tagged with the session generation at the send of its swap (trap 7).
    GenerationAtSend,
    /// Time is counted from the send of the renewal.
    TermFromSend,
    /// A contender adds the guard to soft.
    Guard,
    /// A lease after a gap is proved by a swap, not by a read.
    TouchBySwap,
    /// An ambiguous lease write is settled before anything else is sent (trap 12).
    Settle,
    /// Only a nonce of mine is adopted, under the oldest generation among the attempts (trap 16).
    AdoptOldest,
    /// Notices are read with every renewal (trap 14).
    Notices,
    /// A notice also invalidates lease requests in flight (trap 15).
    NoticeInFlight,
    /// Nobody preempts right after an own gap (§3.3.4).
    NoPreemptAfterGap,
    /// Release keeps the record and its epoch.
    ReleaseKeepsRecord,
    /// The first epoch of an absent record is seeded from the store's time (trap 25).
    EpochSeed,
    /// The tail of the former writer is sealed before the manifest is swapped.
    Seal,
    /// LIST sizes tell a seal from data (trap 8).
    SealSize,
    /// The sealer goes on past data it did not know of.
    SealPastData,
    /// Each open has a directory of its own (trap 9).
    OpenId,
    /// An older epoch does not open (§4.2).
    EpochComparison,
    /// A foreign open tail is sealed only after a touch (trap 26).
    TouchBeforeSeal,
    /// Segments are acked in order only.
    OrderedAck,
    /// `AlreadyExists` is resolved by nonce and checksum (W2).
    ForeignCheck,
    /// After close was sent the handle accepts nothing (trap 10).
    CloseIsFinal,
    /// The reader looks at the manifest again after its LIST (trap 11).
    ReaderRecheck,
    /// The reader stays with one incarnation (trap 23).
    ReaderIncarnation,
    /// No new segment is sent while suspended (W1).
    SuspendedStops,
    /// Overwrite and delete remove the incarnation first read (trap 19).
    TargetIncarnation,
    /// Checksums are verified on read.
    VerifyOnRead,
}

/// Which protection is missing: none in a shipped library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mutant(#[cfg(feature = "sim")] Option<Protection>);

impl Mutant {
    /// Whether this mutant lacks that protection.
    #[inline]
    #[must_use]
    pub fn lacks(self, protection: Protection) -> bool {
        #[cfg(feature = "sim")]
        return self.0 == Some(protection);
        #[cfg(not(feature = "sim"))]
        {
            let _ = protection;
            false
        }
    }

    /// A mutant without that protection. Only for tests.
    #[cfg(feature = "sim")]
    #[must_use]
    pub fn without(protection: Protection) -> Mutant {
        Mutant(Some(protection))
    }

    /// The mutant with this name (a protection's, any case); none if there is no such name. Only
    /// for tests.
    #[cfg(feature = "sim")]
    #[must_use]
    pub fn named(name: &str) -> Mutant {
        let same = |p: &&Protection| format!("{p:?}").eq_ignore_ascii_case(name);
        Mutant(Protection::ALL.iter().find(same).copied())
    }
}
