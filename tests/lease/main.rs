//! Sessions and leases: every rule of PROTOCOL §3 built here, as a sentence; every trap also
//! against the mutant that lacks its guard.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod corners;
mod machine;
mod race;
mod session;
mod story;

use tenure::base::{Mutant, Protection};

/// A safety test that can fail: it holds for the product and does not for the mutant.
fn guarded(protection: Protection, holds: impl Fn(Mutant) -> bool) {
    assert!(holds(Mutant::default()), "the rule is broken");
    assert!(!holds(Mutant::without(protection)), "the test cannot fail without {protection:?}");
}
