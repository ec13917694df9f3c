//! `tenure_error`: why a call failed, as facts.
//!
//! Question: what does a C program read after a failure? Rule: predicates first (`is_retryable`,
//! `is_fenced`, `outcome_unknown`), because they stay right when statuses are added; then the
//! facts; then one line for people that carries the whole chain of causes, because C has no chain
//! to walk. There is no thread-local last error: it would be wrong as soon as two calls or two
//! threads meet.

use super::args::{c_text, millis};
use super::handle::{self, Handle};
use super::status::tenure_status;
use super::wall::fact;
use crate::base::{Error, Status};
use std::error::Error as _;
use std::ffi::{CString, c_char};

/// Why a call failed. Owned by the caller, who frees it; independent of every other handle. Every
/// accessor takes NULL and then answers as if nothing had failed.
#[derive(Debug)]
pub struct tenure_error(());

pub(super) struct Inside {
    error: Error,
    message: CString,
    holder: CString,
}

impl Handle for tenure_error {
    type Inside = Inside;
    const MAGIC: u32 = u32::from_be_bytes(*b"tERR");
    const NAME: &'static str = "error";
}

/// An error for C; NULL if no handle is left, and then the status has to do.
pub(super) fn give(error: &Error) -> *mut tenure_error {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        line.push_str(": ");
        line.push_str(&next.to_string());
        cause = next.source();
    }
    let inside = Inside {
        error: error.clone(),
        message: c_text(&line),
        holder: c_text(error.holder().unwrap_or_default()),
    };
    handle::give::<tenure_error>(inside).map_or(std::ptr::null_mut(), |handle| handle.as_ptr())
}

fn read<R>(err: *const tenure_error, otherwise: R, ask: impl FnOnce(&Inside) -> R) -> R {
    fact(otherwise, || handle::with(err, |inside| Ok(ask(inside))))
}

/// The status the failed call returned. `TENURE_OK` for NULL, `TENURE_INVALID_ARGUMENT` for
/// something that is not an error. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_error_status(err: *const tenure_error) -> tenure_status {
    let otherwise = if err.is_null() { Status::Ok } else { Status::InvalidArgument };
    read(err, otherwise.code(), |e| e.error.status().code())
}

/// One line for people: the resource, what happened, holder and epoch, then the causes. Never NULL.
/// Borrowed from the error. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_error_message(err: *const tenure_error) -> *const c_char {
    read(err, c"".as_ptr(), |e| e.message.as_ptr())
}

/// Whether the same call may succeed later without anything else being done. Never blocks; any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_error_is_retryable(err: *const tenure_error) -> bool {
    read(err, false, |e| e.error.status().is_retryable())
}

/// Whether this writer or lease is over for good, because its authority went to somebody else or
/// was taken away: stop acting on it, acquire anew. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_error_is_fenced(err: *const tenure_error) -> bool {
    read(err, false, |e| e.error.status().is_fenced())
}

/// Whether what was asked may or may not have happened: look before you repeat it. Never blocks;
/// any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_error_outcome_unknown(err: *const tenure_error) -> bool {
    read(err, false, |e| e.error.status() == Status::OutcomeUnknown)
}

/// Who holds the resource, as node and session; empty if nobody is named. Never NULL. Borrowed from
/// the error. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_error_holder(err: *const tenure_error) -> *const c_char {
    read(err, c"".as_ptr(), |e| e.holder.as_ptr())
}

/// The epoch in force; 0 if none is named. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_error_epoch(err: *const tenure_error) -> u64 {
    read(err, 0, |e| e.error.epoch().map_or(0, |epoch| epoch.0))
}

/// After how many milliseconds trying again makes sense; -1 if nothing is known. Never blocks; any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_error_retry_after_ms(err: *const tenure_error) -> i64 {
    read(err, -1, |e| e.error.retry_after_hint().map_or(-1, millis))
}

/// Frees an error. NULL is fine. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_error_free(err: *mut tenure_error) {
    fact((), || {
        handle::free(err);
        Ok(())
    });
}
