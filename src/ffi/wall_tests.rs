//! The wall, the wait and the log, without a client.

use super::error::{
    self, tenure_error, tenure_error_free, tenure_error_message, tenure_error_status,
};
use super::library::{log, tenure_set_log_callback};
use super::status::*;
use super::wait;
use super::wall::{fact, wall};
use crate::base::{Epoch, Error, Status};
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
use std::time::Duration;

/// The text of an error that a call left behind; frees it.
fn text(err: *mut tenure_error) -> String {
    // SAFETY: `err` was given out by the wall just now and is freed here once.
    unsafe {
        let text = CStr::from_ptr(tenure_error_message(err)).to_str().unwrap().to_owned();
        tenure_error_free(err);
        text
    }
}

#[test]
fn a_panic_stops_at_the_wall() {
    let mut err = null_mut();
    let status = wall(&raw mut err, || panic!("seven is {}", 8));
    assert_eq!(status, TENURE_INTERNAL);
    assert!(text(err).ends_with("seven is 8"));
    assert_eq!(fact(5, || panic!("again")), 5);
}

#[test]
fn an_error_is_written_only_on_failure_and_only_if_wanted() {
    let untouched = std::ptr::without_provenance_mut::<tenure_error>(8);
    let mut err = untouched;
    assert_eq!(wall(&raw mut err, || Ok(())), TENURE_OK);
    assert_eq!(err, untouched);
    assert_eq!(wall(null_mut(), || Err(Error::new(Status::NoSpace, "full"))), TENURE_NO_SPACE);
    let crooked = std::ptr::without_provenance_mut::<*mut tenure_error>(3);
    assert_eq!(wall(crooked, || Err(Error::new(Status::NoSpace, "full"))), TENURE_NO_SPACE);
}

#[test]
fn an_error_tells_its_facts_and_its_causes() {
    let cause = std::io::Error::other("disk on fire");
    let e = Error::new(Status::LeaseHeld, "held by another")
        .on("lease/a")
        .held_by("n1/s1")
        .at(Epoch(7))
        .retry_after(Duration::from_millis(250))
        .because(cause);
    let err = error::give(&e);
    // SAFETY: `err` is a living error.
    unsafe {
        assert_eq!(tenure_error_status(err), TENURE_LEASE_HELD);
        assert_eq!(error::tenure_error_epoch(err), 7);
        assert_eq!(error::tenure_error_retry_after_ms(err), 250);
        assert_eq!(CStr::from_ptr(error::tenure_error_holder(err)), c"n1/s1");
    }
    assert_eq!(text(err), "lease/a: held by another (holder n1/s1, epoch 7): disk on fire");
}

static SEEN: AtomicI32 = AtomicI32::new(-1);

extern "C" fn calls_back(_: *mut c_void, _: i32, line: *const c_char) {
    // SAFETY: the library hands out a NUL-terminated line.
    assert_eq!(unsafe { CStr::from_ptr(line) }, c"hello");
    SEEN.store(wall(null_mut(), || Ok(())), SeqCst);
    log(1, "a line from inside the callback is dropped");
    // SAFETY: replaces nothing: from inside it does nothing.
    unsafe { tenure_set_log_callback(None, null_mut()) };
}

#[test]
fn a_call_from_the_log_callback_is_reentrant() {
    // SAFETY: the function lives for ever and takes no user pointer.
    unsafe { tenure_set_log_callback(Some(calls_back), null_mut()) };
    log(3, "hello");
    assert_eq!(SEEN.load(SeqCst), TENURE_REENTRANT);
    assert_eq!(wall(null_mut(), || Ok(())), TENURE_OK, "afterwards all is as before");
    // SAFETY: as above.
    unsafe { tenure_set_log_callback(None, null_mut()) };
}

#[test]
fn a_wait_ends_when_the_answer_comes_from_another_thread() {
    let (tell, told) = futures::channel::oneshot::channel();
    std::thread::spawn(move || tell.send(42));
    assert_eq!(wait::complete(told), Ok(42));
}

#[test]
fn a_wait_ends_at_its_deadline() {
    let never = std::future::pending::<crate::base::Result<()>>();
    let e = wait::complete_within(0, never).unwrap_err();
    assert_eq!(e.status(), Status::TimedOut);
    let now = std::future::ready(Ok(1));
    assert_eq!(wait::complete_within(0, now).unwrap(), 1, "an answer that is there is taken");
}

#[test]
fn negative_timeouts_are_for_ever() {
    assert_eq!(wait::limit(-1), None);
    assert_eq!(wait::limit(i64::MIN), None);
    assert_eq!(wait::limit(0), Some(Duration::ZERO));
    let long = wait::complete_within(i64::MAX, std::future::ready(Ok(1)));
    assert_eq!(long.unwrap(), 1, "a deadline beyond the clock is none");
}
