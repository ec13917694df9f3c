//! The one boundary that every exported function crosses.
//!
//! Question: what may leave this library towards C? Rule: a status, and on failure an error if the
//! caller wants one. Never a panic: unwinding into a C frame is undefined, and aborting the host is
//! not ours to decide, so a panic becomes INTERNAL with its message. Never from inside our own
//! callback: a library thread that waits for itself waits for ever, so such a call answers
//! REENTRANT before it does anything.
//!
//! Why one function and not one per file? A boundary that is written forty times is forgotten once.
//! On the success path it costs one thread-local read; `catch_unwind` is free until something
//! unwinds.

use super::error::{self, tenure_error};
use super::pin;
use super::status::{TENURE_OK, tenure_status};
use crate::base::{Error, Result, Status};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Runs a fallible body; the error goes to `err` unless that is NULL.
#[inline]
pub(super) fn wall(
    err: *mut *mut tenure_error,
    body: impl FnOnce() -> Result<()>,
) -> tenure_status {
    if pin::calling_back() {
        return fail(err, reentrant());
    }
    // Unwind safety: what a panic leaves behind is the api's own state, which poisons or repairs
    // itself; nothing here is touched again.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => TENURE_OK,
        Ok(Err(e)) => fail(err, e),
        Err(payload) => fail(err, internal(payload)),
    }
}

/// Runs a body that tells one fact; `otherwise` if the handle is not a living one of this process.
#[inline]
pub(super) fn fact<R>(otherwise: R, body: impl FnOnce() -> Result<R>) -> R {
    if pin::calling_back() {
        return otherwise;
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => value,
        Ok(Err(_)) => otherwise,
        Err(payload) => {
            std::mem::forget(payload);
            otherwise
        }
    }
}

#[cold]
fn fail(err: *mut *mut tenure_error, e: Error) -> tenure_status {
    let status = e.status().code();
    if !err.is_null() && err.is_aligned() {
        let handle = error::give(&e);
        // SAFETY: the header obliges the caller to pass NULL or a place for one pointer; null and
        // misaligned ones were sorted out above.
        unsafe { err.write(handle) };
    }
    status
}

fn reentrant() -> Error {
    Error::new(
        Status::Reentrant,
        "called from inside a callback of the library: hand the work to another thread",
    )
}

/// A panic as an error. The payload is leaked: its destructor could panic again.
fn internal(payload: Box<dyn Any + Send>) -> Error {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let e = Error::new(
        Status::Internal,
        format!("a bug in this library, please report it: {}", text.unwrap_or("no message")),
    );
    std::mem::forget(payload);
    e
}

/// Sends panics to the log callback instead of standard error: a library prints nothing. Once,
/// before the first client; the hook belongs to the Rust runtime inside this shared library, so
/// that a Rust host's own is not touched.
pub(super) fn quiet_panics() {
    static ONCE: Once = Once::new();
    if cfg!(test) {
        return;
    }
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            super::library::log(super::library::TENURE_LOG_ERROR, &format!("{panic}"));
        }));
    });
}
