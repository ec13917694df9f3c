//! A lease without a lease: the answers a test wants its writers to hear.
//!
//! Several authorities may share one [`SimLease`], the record: the last one granted is its holder,
//! and only the holder's touch and raise succeed, as with the real record (`PROTOCOL` §3.4, §4.2).
//! What is not here: time; a test says when an authority is suspended or lost.

use crate::base::{Epoch, Error, Result, Status, Wall};
use crate::drive::authority::{Authority, Validity};
use async_trait::async_trait;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// A lease record: who holds it, at which epoch.
#[derive(Debug, Default)]
pub struct SimLease(Mutex<(u64, Epoch)>);

/// One holding of a [`SimLease`], as a writer sees it.
#[derive(Debug)]
pub struct SimAuthority {
    lease: Arc<SimLease>,
    serial: u64,
    state: Mutex<(Validity, Epoch)>,
    changed: Notify,
    touches: AtomicUsize,
    released: Mutex<Option<bool>>,
}

impl SimLease {
    /// A record nobody holds, at epoch 0.
    #[must_use]
    pub fn new() -> Arc<SimLease> {
        Arc::new(SimLease::default())
    }

    /// Grants it at the next epoch; the former holder does not know.
    pub fn grant(self: &Arc<SimLease>) -> Arc<SimAuthority> {
        let next = Epoch(self.lock().1.0 + 1);
        self.grant_at(next)
    }

    /// Grants it at this epoch, as after somebody deleted the record.
    pub fn grant_at(self: &Arc<SimLease>, epoch: Epoch) -> Arc<SimAuthority> {
        let mut record = self.lock();
        *record = (record.0 + 1, epoch);
        Arc::new(SimAuthority {
            lease: self.clone(),
            serial: record.0,
            state: Mutex::new((Validity::Valid(Duration::from_secs(60)), epoch)),
            changed: Notify::new(),
            touches: AtomicUsize::new(0),
            released: Mutex::new(None),
        })
    }

    fn lock(&self) -> MutexGuard<'_, (u64, Epoch)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SimAuthority {
    /// Makes `check` answer this from now on.
    pub fn set(&self, validity: Validity) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0 = validity;
        self.changed.notify_waiters();
    }

    /// How often it was proved by `touch` or `raise`.
    pub fn touches(&self) -> usize {
        self.touches.load(Ordering::Acquire)
    }

    /// Whether it was given up, and if so whether its file was left unclosed.
    pub fn released(&self) -> Option<bool> {
        *self.released.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prove(&self) -> Result<()> {
        self.touches.fetch_add(1, Ordering::AcqRel);
        let record = self.lease.lock();
        if record.0 == self.serial {
            return Ok(());
        }
        let lost = Error::new(Status::LeaseLost, "another session holds the lease");
        Err(lost.at(record.1).held_by("other"))
    }
}

#[async_trait]
impl Authority for SimAuthority {
    fn check(&self) -> Validity {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    fn epoch(&self) -> Epoch {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    async fn touch(&self) -> Result<()> {
        self.prove()
    }

    async fn wait_valid(&self) -> Result<()> {
        loop {
            let changed = self.changed.notified();
            match self.check() {
                Validity::Valid(_) => return Ok(()),
                Validity::Suspended => changed.await,
                Validity::Lost => {
                    return Err(Error::new(Status::LeaseLost, "the lease is lost"));
                }
            }
        }
    }

    async fn raise(&self, at_least: Epoch) -> Result<Epoch> {
        self.prove()?;
        let mut record = self.lease.lock();
        record.1 = record.1.max(at_least);
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = record.1;
        Ok(record.1)
    }

    fn loss(&self) -> Option<Error> {
        let lost = self.check() == Validity::Lost;
        lost.then(|| Error::new(Status::LeaseLost, "the lease is lost"))
    }

    fn release(&self, unclosed: bool) {
        let mut released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        released.get_or_insert(unclosed);
    }

    async fn settled(&self) {}

    async fn store_time(&self) -> Option<Wall> {
        None
    }
}
