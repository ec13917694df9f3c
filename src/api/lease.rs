//! A held bare lease, and what a lease's record tells everybody.

use super::client::{Client, Wait};
use crate::base::{Epoch, Error, Kind, Result, Status, Wall};
use crate::drive::authority::{Authority, Validity};
use crate::drive::held::Held;
use crate::drive::task::run_on;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// A held lease. Dropping it releases it in the background; a paused process finds out by
/// [`Lease::check`], never by an error on somebody else's store.
#[derive(Debug)]
pub struct Lease {
    held: Arc<Held>,
    control: Handle,
    /// Keeps session and threads alive. Dropped last.
    client: Client,
}

impl Lease {
    pub(super) fn new(held: Held, control: Handle, client: &Client) -> Lease {
        Lease { held: Arc::new(held), control, client: client.clone() }
    }

    /// The fencing token: larger than every token given out before for this resource. Memory only;
    /// any thread.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.held.epoch()
    }

    /// The client that holds it.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The resource's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.held.resource().name()
    }

    /// May I still say yes, here, now? Memory and one clock read; lock-free; any thread. A
    /// suspended answer starts a touch in the background, so that a later check may be valid again
    /// under the same epoch.
    #[must_use]
    pub fn check(&self) -> Validity {
        self.held.check()
    }

    /// How much longer [`Lease::check`] stays valid without another renewal; zero unless valid.
    /// Memory only; any thread.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        match self.check() {
            Validity::Valid(left) => left,
            Validity::Suspended | Validity::Lost => Duration::ZERO,
        }
    }

    /// Why it is lost, once it is.
    #[must_use]
    pub fn loss(&self) -> Option<Error> {
        self.held.loss()
    }

    /// Waits until [`Lease::check`] is valid, touching if needed. Errors: `TimedOut`, or why it is
    /// lost for good.
    pub async fn wait_valid(&self, wait: Wait) -> Result<()> {
        self.held.own_process()?;
        let held = Arc::clone(&self.held);
        run_on(&self.control, async move { within(wait, held.wait_valid()).await }).await
    }

    /// Gives it up and waits until the store knows, so that the next contender need not wait.
    /// Idempotent. `TimedOut`: it goes on in the background.
    pub async fn release(&self, wait: Wait) -> Result<()> {
        self.held.own_process()?;
        let held = Arc::clone(&self.held);
        run_on(&self.control, async move { held.release_and_wait(wait).await }).await
    }
}

async fn within(wait: Wait, work: impl Future<Output = Result<()>>) -> Result<()> {
    match wait {
        None => work.await,
        Some(limit) => tokio::time::timeout(limit, work)
            .await
            .unwrap_or_else(|_| Err(Error::new(Status::TimedOut, "not valid again in time"))),
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
    /// How long ago the holder's session was renewed by the store's clock; `None` if unknown (no
    /// session object, or no timestamp to compare with).
    pub age: Option<Duration>,
    /// Whether an unfinished writer waits for recovery, and how often that was tried.
    pub recover_attempts: Option<u32>,
    /// A note an operator left.
    pub note: Option<String>,
    /// `LastModified` of the record.
    pub modified: Wall,
}
