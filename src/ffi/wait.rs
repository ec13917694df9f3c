//! How a thread that has no runtime waits for a future.
//!
//! Question: what happens between a blocking C call and the asynchronous api? Rule: the library's
//! own runtimes do the work; the calling thread only polls and sleeps on a condition variable. A
//! future that runs out of time is dropped, which undoes nothing: a request in flight is settled in
//! the background.
//!
//! Why not `Runtime::block_on`? It refuses to run inside another runtime's thread, and a C function
//! cannot know whose thread it is on. Why not `futures::executor`? It refuses to nest as well.

use crate::api::client::Wait;
use crate::base::{Error, Result, Status};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// `timeout_ms` of the header: negative waits for ever, zero polls.
pub(super) fn limit(timeout_ms: i64) -> Wait {
    u64::try_from(timeout_ms).ok().map(Duration::from_millis)
}

/// The clock of condition variables, which a caller's patience is measured on. Nothing is decided
/// on it: a lease's validity is the business of `base::Clock`.
#[allow(clippy::disallowed_methods, reason = "a condition variable waits on this clock alone")]
fn now() -> Instant {
    Instant::now()
}

/// Wakes one sleeping thread. A wake that comes first is kept.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    condition: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.condition.notify_one();
    }

    /// Sleeps until rung; false if `deadline` came first.
    fn sleep(&self, deadline: Option<Instant>) -> bool {
        let mut rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        while !*rung {
            let Some(deadline) = deadline else {
                rung = self.condition.wait(rung).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let Some(left) = deadline.checked_duration_since(now()) else { return false };
            let woken = self.condition.wait_timeout(rung, left);
            rung = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        *rung = false;
        true
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

/// Runs a future to its end; it keeps its own time.
pub(super) fn complete<F: Future>(future: F) -> F::Output {
    run(future, None).expect("without a deadline it only ends by completing")
}

/// Runs a future that keeps no time of its own, for at most `timeout_ms`.
pub(super) fn complete_within<T>(
    timeout_ms: i64,
    future: impl Future<Output = Result<T>>,
) -> Result<T> {
    // A deadline past what the clock can tell is for ever.
    let deadline = limit(timeout_ms).and_then(|wait| now().checked_add(wait));
    run(future, deadline).unwrap_or_else(|| {
        Err(Error::new(Status::TimedOut, format!("no answer within {timeout_ms} ms")))
    })
}

fn run<F: Future>(future: F, deadline: Option<Instant>) -> Option<F::Output> {
    let mut future = pin!(future);
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        if !bell.sleep(deadline) {
            return None;
        }
    }
}
