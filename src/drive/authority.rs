//! What a writer may ask of its lease.
//!
//! The streamer and the file opener see a lease only through this trait, so that they can be tested
//! without one.

use crate::base::{Epoch, Error, Result, Wall};
use async_trait::async_trait;
use std::time::Duration;

/// The three answers of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// We hold it, for at least this much longer.
    Valid(Duration),
    /// Our session lapsed or a notice came; a touch may bring it back under the same epoch.
    Suspended,
    /// Gone for good.
    Lost,
}

/// A held lease, seen by the code that writes under it.
#[async_trait]
pub trait Authority: Send + Sync + std::fmt::Debug + 'static {
    /// Memory and one clock read; lock-free; any thread.
    fn check(&self) -> Validity;
    /// The epoch in force; grows only by [`Authority::raise`].
    fn epoch(&self) -> Epoch;
    /// Proves the lease by one landed swap of its record, whatever `check` says. Errors:
    /// `LeaseLost` or `Fenced` (for good). Waits while the session is down or the store silent:
    /// give it a deadline by dropping it; the request is settled in the background.
    async fn touch(&self) -> Result<()>;
    /// Returns once `check` is valid, touching if needed. Errors: `LeaseLost` or `Fenced`, for
    /// good.
    async fn wait_valid(&self) -> Result<()>;
    /// Raises the lease's epoch to at least this (PROTOCOL §4.2) by a swap only the holder can
    /// land. Errors as [`Authority::touch`].
    async fn raise(&self, at_least: Epoch) -> Result<Epoch>;
    /// Why it is lost, once it is.
    fn loss(&self) -> Option<Error>;
    /// Gives it up in the background; `unclosed` marks the record so that a monitor recovers the
    /// file. Never blocks; idempotent.
    fn release(&self, unclosed: bool);
    /// As [`Authority::release`] by somebody who changed nothing: a recovery mark found stays.
    fn leave(&self) {
        self.release(false);
    }
    /// A lower bound of the store's time, asked for if it is not known; `None` if the store will
    /// not say.
    async fn store_time(&self) -> Option<Wall>;
    /// Returns once the store knows of the release, or the client gave up telling it.
    async fn settled(&self);
}
