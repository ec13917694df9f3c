//! What a store must promise, asked before the first write (PROTOCOL §7).

use std::time::Duration;

/// What the probe found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Which store: scheme and base, without credentials.
    pub store: String,
    /// Each property asked: its name, whether it holds, and what was seen.
    pub checks: Vec<Check>,
    /// `LastModified` truncation.
    pub grain: Duration,
    /// Skew between the store's front ends.
    pub skew: Duration,
}

/// One property of a store.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its name, e.g. `create-only`.
    pub name: &'static str,
    /// Whether it holds.
    pub ok: bool,
    /// What was expected and seen.
    pub detail: String,
}

/// What the probe measured.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// `LastModified` truncation.
    pub grain: Duration,
    /// Skew between front ends.
    pub skew: Duration,
}

/// Temporary.
pub async fn admit(
    _store: &super::Store,
    _clock: &dyn crate::base::Clock,
    _id: crate::base::Id128,
) -> crate::base::Result<Traits> {
    Ok(Traits { grain: Duration::from_secs(1), skew: Duration::from_millis(0) })
}

/// Temporary.
pub async fn probe(
    _store: &super::Store,
    _clock: &dyn crate::base::Clock,
    _id: crate::base::Id128,
) -> crate::base::Result<Report> {
    todo!()
}
