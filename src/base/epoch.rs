//! The fencing token: a number that only ever grows.
//!
//! Tokens are opaque to users: increasing, never reused, not dense. The cap of 2^53-1 keeps them
//! exact in JSON and in every language's doubles.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A lease's fencing token. Each new holding of a resource gets a larger one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The largest epoch; a stored one above it is corrupt.
    pub const MAX: Epoch = Epoch((1 << 53) - 1);

    /// The next epoch, or `None` at the cap.
    #[must_use]
    pub fn next(self) -> Option<Epoch> {
        (self < Self::MAX).then(|| Epoch(self.0 + 1))
    }

    /// Whether a stored value may be an epoch at all.
    #[must_use]
    pub fn in_range(self) -> bool {
        self <= Self::MAX
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Who writes a file: the lease's epoch and how often it was opened under it. Each writer has its
/// own data directory.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct WriterId {
    /// The lease epoch.
    pub epoch: Epoch,
    /// The number of this open under the epoch, from 0.
    pub open: u32,
}

impl WriterId {
    /// Opens per epoch: four digits in a directory's name.
    pub const MAX_OPEN: u32 = 9_999;
}

impl fmt::Display for WriterId {
    /// The directory's name: fixed width, so that names sort as numbers do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:020}.{:04}", self.epoch.0, self.open)
    }
}
