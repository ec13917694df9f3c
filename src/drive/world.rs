//! The world a client lives in: clocks, chance and the two runtimes. Tests and the simulator hand
//! in their own.

use crate::base::{Clock, Id128, Mutant};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// Where identities and jitter come from.
pub trait Chance: Send + Sync + std::fmt::Debug + 'static {
    /// A fresh 128-bit identity.
    fn id(&self) -> Id128;
    /// A duration in `[0, limit)`; zero if `limit` is zero.
    fn below(&self, limit: Duration) -> Duration;
}

/// Clocks, chance, runtimes.
#[derive(Clone, Debug)]
pub struct World {
    /// The machine's clocks.
    pub clock: Arc<dyn Clock>,
    /// Identities and jitter.
    pub chance: Arc<dyn Chance>,
    /// Lease traffic: one thread of its own that nothing a user writes can delay.
    pub control: Handle,
    /// File and cell traffic.
    pub data: Handle,
    /// The protection a test switched off; nothing in a shipped library.
    pub mutant: Mutant,
}
