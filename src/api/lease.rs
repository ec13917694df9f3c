//! A held bare lease, and what its record tells everybody.

use super::client::Wait;
use crate::base::{Epoch, Kind, Result, Wall};
use crate::drive::authority::Validity;
use std::time::Duration;

/// A held lease. Dropping it releases it in the background.
#[derive(Debug)]
pub struct Lease {}

impl Lease {
    /// The fencing token: larger than every token given out before.
    pub fn epoch(&self) -> Epoch {
        todo!()
    }
    /// The resource's name.
    pub fn name(&self) -> &str {
        todo!()
    }
    /// May I still say yes, here, now? Memory and one clock read; lock-free.
    pub fn check(&self) -> Validity {
        todo!()
    }
    /// How much longer `check` stays valid without another renewal; zero unless valid.
    pub fn remaining(&self) -> Duration {
        todo!()
    }
    /// Gives it up and waits until the store knows. Idempotent.
    pub async fn release(&self, wait: Wait) -> Result<()> {
        todo!()
    }
}

/// A lease record as read, for people and tools.
#[derive(Clone, Debug)]
pub struct LeaseInfo {
    /// The family.
    pub kind: Kind,
    /// The resource's name.
    pub name: String,
    /// Whether somebody holds it by the record (its session may have lapsed: see `age`).
    pub held: bool,
    /// The epoch in force.
    pub epoch: Epoch,
    /// The holder's node name (of the last holder if released).
    pub node: String,
    /// The holder's session.
    pub session: String,
    /// How the epoch began: fresh, reacquired, preempted, recovered, handed_over, forced.
    pub how: String,
    /// The holder's soft limit.
    pub soft: Duration,
    /// How long ago the holder's session was renewed by the store's clock; `None` if unknown (no session object, or no own timestamp to compare with).
    pub age: Option<Duration>,
    /// Whether an unfinished writer waits for recovery, and how often that was tried.
    pub recover_attempts: Option<u32>,
    /// A note an operator left.
    pub note: Option<String>,
    /// `LastModified` of the record.
    pub modified: Wall,
}
