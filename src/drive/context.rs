//! What every file driver needs: world, store, configuration, budget.

use super::budget::Budget;
use super::world::World;
use crate::base::{Config, Error, FilePath, Result, Status, Version};
use crate::store::{Outcome, Read, Store};
use crate::wire::key;
use crate::wire::manifest::Manifest;
use bytes::Bytes;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Sleep, timeout};

/// World, store, configuration and budget of one client. Cheap to clone.
#[derive(Clone, Debug)]
pub struct FileContext {
    /// Clocks, chance, runtimes.
    pub world: World,
    /// The opened base URL.
    pub store: Store,
    /// The client's configuration.
    pub config: Arc<Config>,
    /// Shared by every client of the process.
    pub budget: Arc<Budget>,
}

impl FileContext {
    /// A timer that works on any executor: it belongs to the data runtime.
    pub(crate) fn sleep(&self, wait: Duration) -> Sleep {
        let _inside = self.world.data.enter();
        tokio::time::sleep(wait)
    }

    /// `done`, or `TimedOut` after `wait`. Dropping `done` must undo nothing.
    pub(crate) async fn within<T>(
        &self,
        wait: Option<Duration>,
        what: &str,
        done: impl Future<Output = T>,
    ) -> Result<T> {
        let Some(wait) = wait else { return Ok(done.await) };
        let mut done = std::pin::pin!(done);
        // Polled once before the timer counts: a wait of zero is a poll, not a refusal.
        if let std::task::Poll::Ready(value) = futures::poll!(done.as_mut()) {
            return Ok(value);
        }
        let timer = std::pin::pin!(self.sleep(wait));
        match futures::future::select(done, timer).await {
            futures::future::Either::Left((value, _)) => Ok(value),
            futures::future::Either::Right(_) => {
                let what = format!("{what} took longer than {} ms", wait.as_millis());
                Err(Error::new(Status::TimedOut, what))
            }
        }
    }

    /// One read request, bounded by `request_timeout`.
    pub(crate) async fn ask<T>(
        &self,
        key: &str,
        request: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let limit = self.config.request_timeout;
        timeout(limit, request).await.unwrap_or_else(|_| Err(silent(key, limit)))
    }

    /// One write request, bounded by `request_timeout`: what does not answer in time is unknown.
    pub(crate) async fn send(&self, key: &str, request: impl Future<Output = Outcome>) -> Outcome {
        let limit = self.config.request_timeout;
        timeout(limit, request).await.unwrap_or_else(|_| Outcome::Unknown(silent(key, limit)))
    }

    /// Reads a manifest; `Ok(None)`: there is none.
    pub(crate) async fn manifest(&self, path: &FilePath) -> Result<Option<(Manifest, Version)>> {
        match self.manifest_if_changed(path, None).await? {
            Read::Present(found) => {
                let manifest = Manifest::decode(&found.body, &key::manifest(path))?;
                Ok(Some((manifest, found.version)))
            }
            Read::Absent | Read::Unchanged => Ok(None),
        }
    }

    /// Reads a manifest unless it still has this version.
    pub(crate) async fn manifest_if_changed(
        &self,
        path: &FilePath,
        known: Option<&Version>,
    ) -> Result<Read> {
        let key = key::manifest(path);
        self.ask(&key, self.store.files.read(&key, known)).await
    }

    /// Swaps a manifest.
    pub(crate) async fn swap(
        &self,
        path: &FilePath,
        expect: Option<&Version>,
        body: Bytes,
    ) -> Outcome {
        let key = key::manifest(path);
        self.send(&key, self.store.files.swap(&key, expect, body)).await
    }
}

/// Whether asking again may help: the store was silent or overloaded, rather than clear.
pub(crate) fn is_transient(error: &Error) -> bool {
    error.status().is_retryable()
}

fn silent(key: &str, limit: Duration) -> Error {
    let what = format!("no answer within {} ms", limit.as_millis());
    Error::new(Status::StoreUnavailable, what).on(key)
}
