//! The two runtimes, started lazily by the first client and shared by all clients of the process.
//!
//! Rule: lease traffic has a thread of its own. Nothing a user writes can delay a renewal: with
//! both data workers saturated a renewal on a shared runtime was late by 60 to 1,650 ms, on its own
//! thread by 10 ms. Nothing happens at library load; the last client's end stops both, without
//! waiting for work that hangs.

use super::fork;
use crate::base::{Error, Result, Status};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

/// Both runtimes of this process.
#[derive(Debug)]
pub struct Runtimes {
    born: u64,
    control: Handle,
    stop_control: Option<oneshot::Sender<()>>,
    data: Option<Runtime>,
}

/// One slot per process generation: a forked child must not touch a lock its parent may have held.
static SHARED: fork::PerProcess<Mutex<Weak<Runtimes>>> = fork::PerProcess::new();

impl Runtimes {
    /// The process's runtimes; `workers` counts only for the first.
    pub fn shared(workers: Option<usize>) -> Result<Arc<Runtimes>> {
        let mut current =
            SHARED.get(|| Mutex::new(Weak::new())).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = current.upgrade() {
            return Ok(running);
        }
        let started = Arc::new(Runtimes::start(workers)?);
        *current = Arc::downgrade(&started);
        Ok(started)
    }

    /// Where lease traffic runs.
    #[must_use]
    pub fn control(&self) -> Handle {
        self.control.clone()
    }

    /// Where data traffic runs; `None` only while shutting down.
    #[must_use]
    pub fn data(&self) -> Option<Handle> {
        self.data.as_ref().map(|r| r.handle().clone())
    }

    fn start(workers: Option<usize>) -> Result<Runtimes> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let workers = workers.unwrap_or_else(|| cores.clamp(2, 4));
        let data = Builder::new_multi_thread()
            .worker_threads(workers)
            .thread_name("tenure-data")
            .on_thread_start(fork::block_signals)
            .enable_all()
            .build()
            .map_err(cannot_start)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, handle) = std::sync::mpsc::sync_channel(1);
        let run = move || {
            fork::block_signals();
            let built = Builder::new_current_thread()
                .thread_name("tenure-control")
                .on_thread_start(fork::block_signals)
                .enable_all()
                .build();
            match built {
                Ok(runtime) => {
                    if ready.send(Ok(runtime.handle().clone())).is_ok() {
                        // An error means the sender is gone: stop as well.
                        let _ = runtime.block_on(stopped);
                    }
                    runtime.shutdown_timeout(Duration::from_millis(100));
                }
                Err(e) => drop(ready.send(Err(e))),
            }
        };
        let spawned = std::thread::Builder::new().name("tenure-control".into()).spawn(run);
        spawned.map_err(cannot_start)?;
        let control = match handle.recv() {
            Ok(answer) => answer.map_err(cannot_start)?,
            Err(e) => return Err(Error::new(Status::Internal, "control thread died").because(e)),
        };
        let born = fork::generation();
        Ok(Runtimes { born, control, stop_control: Some(stop), data: Some(data) })
    }
}

impl Drop for Runtimes {
    fn drop(&mut self) {
        if fork::forked_since(self.born) {
            // The threads belong to the parent: leave everything as it is.
            std::mem::forget((self.data.take(), self.stop_control.take()));
            return;
        }
        if let Some(stop) = self.stop_control.take() {
            let _ = stop.send(());
        }
        if let Some(data) = self.data.take() {
            data.shutdown_background();
        }
    }
}

fn cannot_start(e: std::io::Error) -> Error {
    Error::new(Status::Internal, "cannot start the library's threads").because(e)
}
