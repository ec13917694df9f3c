//! Acquiring a lease, and the handle that holds it.
//!
//! Question: when may an acquire return? Rule: with a lease whose check is valid *now*, with
//! somebody else's name, or with the store's trouble; never with a guess. A caller that stops
//! waiting leaves the slot to settle what it sent, and to release it if it landed.

use super::authority::{Authority, Validity};
use super::session::SessionCore;
use super::slot::Slot;
use super::task::run_on;
use crate::base::{Epoch, Error, Resource, Result, Status, Wall};
use crate::decide::lease::{Left, Standing};
use async_trait::async_trait;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::timeout;

/// A lease held by this client. Dropping it releases it in the background.
#[derive(Debug)]
pub struct Held {
    core: Arc<SessionCore>,
    slot: Arc<Slot>,
    /// Set once it is given up, to the epoch it had: the slot may serve another handle then.
    given_up: OnceLock<Epoch>,
}

/// Acquires. `wait`: how long to wait for a holder; zero asks once. `eager`: touch at once after a
/// gap (a writer is open).
pub async fn acquire(
    core: &Arc<SessionCore>,
    resource: &Resource,
    wait: Option<Duration>,
    eager: bool,
) -> Result<Held> {
    core.usable()?;
    core.start();
    let slot = core.slot(resource);
    slot.claim(core, eager)?;
    // From here on dropping this future gives the claim up.
    let held = Held { core: Arc::clone(core), slot, given_up: OnceLock::new() };
    held.slot.poke(core);
    // "Ask once" still waits for the store, for as long as a lease could matter.
    let patience = match wait {
        Some(wait) if !wait.is_zero() => Some(wait),
        Some(_) => Some(core.identity.limits.soft.max(Duration::from_secs(10))),
        None => None,
    };
    let once = wait.is_some_and(|w| w.is_zero());
    match patience {
        None => held.granted(once).await?,
        // Late: the most telling answer there is. What was sent is settled in the background.
        Some(limit) => timeout(limit, held.granted(once)).await.map_err(|_| held.late())??,
    }
    Ok(held)
}

impl Held {
    async fn granted(&self, once: bool) -> Result<()> {
        let mut session = self.core.watch();
        let mut news = self.slot.watch();
        loop {
            session.borrow_and_update();
            news.borrow_and_update();
            if let Some(answer) = self.look(once) {
                return answer;
            }
            tokio::select! {
                _ = session.changed() => {}
                _ = news.changed() => {}
            }
        }
    }

    /// What can be answered now.
    fn look(&self, once: bool) -> Option<Result<()>> {
        if let Err(why) = self.core.usable() {
            return Some(Err(why));
        }
        match self.slot.standing() {
            Standing::Held(_) if matches!(self.check(), Validity::Valid(_)) => Some(Ok(())),
            Standing::Refused(why) | Standing::Lost(why) => Some(Err(why)),
            Standing::Failing(why) if once || is_final(&why) => Some(Err(why)),
            Standing::Contended { .. } if once => Some(Err(self.late())),
            _ => self.trouble(once).map(Err),
        }
    }

    fn trouble(&self, once: bool) -> Option<Error> {
        let why = self.core.trouble()?;
        let final_for_us = is_final(&why) || !self.core.has_started();
        (final_for_us || (once && !self.core.view().valid)).then_some(why)
    }

    /// The deadline passed: the most telling answer.
    fn late(&self) -> Error {
        match self.slot.standing() {
            Standing::Contended { holder, epoch, retry_after } => {
                Error::new(Status::LeaseHeld, "another holder has the lease")
                    .on(self.slot.resource())
                    .held_by(holder)
                    .at(epoch)
                    .retry_after(retry_after)
            }
            Standing::Failing(why) => why,
            _ => {
                let late = Error::new(Status::TimedOut, "the lease was not granted in time");
                let late = late.on(self.slot.resource());
                match self.core.trouble() {
                    Some(why) => late.because(why),
                    None => late,
                }
            }
        }
    }

    /// The resource.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        self.slot.resource()
    }

    /// Refuses use in a forked child.
    pub fn own_process(&self) -> Result<()> {
        self.core.own_process()
    }

    /// Gives it up and waits until the store knows.
    pub async fn release_and_wait(&self, wait: Option<Duration>) -> Result<()> {
        self.leave();
        let settled = self.settled();
        let Some(wait) = wait else {
            settled.await;
            return Ok(());
        };
        timeout(wait, settled).await.map_err(|_| {
            let why = "the release is on its way; it goes on in the background";
            Error::new(Status::TimedOut, why).on(self.slot.resource())
        })
    }

    /// Refuses a handle that was given up: what its slot says may be about another one.
    fn in_use(&self) -> Result<()> {
        self.core.usable()?;
        match self.given_up.get() {
            None => Ok(()),
            Some(epoch) => Err(Error::new(Status::Closed, "the lease was released")
                .on(self.slot.resource())
                .at(*epoch)),
        }
    }

    fn give_up(&self, left: Left) {
        if !self.core.forked() && self.given_up.set(self.slot.epoch()).is_ok() {
            self.slot.give_up(&self.core, left);
        }
    }

    async fn until<T>(&self, mut answer: impl FnMut() -> Option<Result<T>>) -> Result<T> {
        let mut session = self.core.watch();
        let mut news = self.slot.watch();
        loop {
            session.borrow_and_update();
            news.borrow_and_update();
            // Before the loss is looked at: a loss also clears what was owed, and would look like a
            // proof.
            let answered = answer();
            self.in_use()?;
            if let Some(why) = self.loss() {
                return Err(why);
            }
            if let Some(answer) = answered {
                return answer;
            }
            tokio::select! {
                _ = session.changed() => {}
                _ = news.changed() => {}
            }
        }
    }
}

/// Trying again by itself will not help.
pub(crate) fn is_final(why: &Error) -> bool {
    use Status::{
        AccessDenied, BucketNotFound, Closed, Corrupt, Fenced, Forked, InvalidArgument, LeaseLost,
        NoSpace, StoreUnsupported, Unsupported,
    };
    matches!(
        why.status(),
        AccessDenied
            | BucketNotFound
            | Closed
            | Corrupt
            | Fenced
            | Forked
            | InvalidArgument
            | LeaseLost
            | NoSpace
            | StoreUnsupported
            | Unsupported
    )
}

#[async_trait]
impl Authority for Held {
    fn check(&self) -> Validity {
        if self.given_up.get().is_some() || self.core.usable().is_err() {
            return Validity::Lost;
        }
        self.slot.check(&self.core)
    }

    fn epoch(&self) -> Epoch {
        self.given_up.get().copied().unwrap_or_else(|| self.slot.epoch())
    }

    async fn touch(&self) -> Result<()> {
        self.in_use()?;
        self.slot.prove(&self.core);
        self.until(|| (!self.slot.owes()).then_some(Ok(()))).await
    }

    async fn wait_valid(&self) -> Result<()> {
        self.until(|| match self.check() {
            Validity::Valid(_) => Some(Ok(())),
            Validity::Suspended | Validity::Lost => None,
        })
        .await
    }

    async fn raise(&self, at_least: Epoch) -> Result<Epoch> {
        self.in_use()?;
        self.slot.raise(&self.core, at_least);
        self.until(|| {
            let epoch = self.slot.epoch();
            (epoch >= at_least).then_some(Ok(epoch))
        })
        .await
    }

    fn loss(&self) -> Option<Error> {
        self.slot.loss().or_else(|| self.core.usable().err())
    }

    fn release(&self, unclosed: bool) {
        self.give_up(if unclosed { Left::Unclosed } else { Left::Closed });
    }

    fn leave(&self) {
        self.give_up(Left::AsFound);
    }

    async fn store_time(&self) -> Option<Wall> {
        if let Some(known) = self.core.view().store_time {
            return Some(known);
        }
        let (core, slot) = (Arc::clone(&self.core), Arc::clone(&self.slot));
        let ask = async move { slot.learn_time(&core).await.map(|()| core.view().store_time) };
        run_on(&self.core.world.control, ask).await.ok().flatten()
    }

    async fn settled(&self) {
        let mut news = self.slot.watch();
        loop {
            news.borrow_and_update();
            if !self.slot.is_releasing() || news.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.leave();
    }
}
