//! Running a caller's future on one of the library's runtimes.

use crate::base::{Error, Result, Status};
use std::future::Future;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Runs `work` on `runtime` and waits for it from any executor. Dropping the wait drops the work at
/// its next await; what it sent is settled by whoever owns it.
pub async fn run_on<T: Send + 'static>(
    runtime: &Handle,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let mut task = Aborting(runtime.spawn(work));
    match (&mut task.0).await {
        Ok(answer) => answer,
        Err(e) if e.is_panic() => {
            Err(Error::new(Status::Internal, "a step of this call failed unexpectedly").because(e))
        }
        Err(_) => Err(Error::new(Status::Closed, "the library is shutting down")),
    }
}

struct Aborting<T>(JoinHandle<T>);

impl<T> Drop for Aborting<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
