//! The library itself: versions, features, names, and the log callback.
//!
//! Question: what can a program ask before it has a client? Rule: nothing here needs a handle,
//! blocks or fails. The library prints nothing; what it has to say without being asked goes to the
//! callback, or nowhere. The callback runs on whichever thread had something to say, so it must be
//! quick, and it must not call back: such a call answers REENTRANT at once.

use super::args;
use super::pin;
use super::status::{self, tenure_status};
use super::wall::fact;
use std::ffi::{c_char, c_void};
use std::sync::{PoisonError, RwLock};

/// What this header declares. The library is new enough if `tenure_api_version() >=
/// TENURE_API_VERSION`; it grows with every addition.
pub const TENURE_API_VERSION: u32 = 1;

/// How serious a line for the log is: 1 error, 2 warning, 3 information, 4 detail.
pub type tenure_log_level = i32;
/// Something is broken and stays so.
pub const TENURE_LOG_ERROR: tenure_log_level = 1;
/// Something failed and is tried again.
pub const TENURE_LOG_WARNING: tenure_log_level = 2;
/// Something changed.
pub const TENURE_LOG_INFO: tenure_log_level = 3;
/// For looking closer.
pub const TENURE_LOG_DETAIL: tenure_log_level = 4;

/// Receives one line for the log, NUL-terminated UTF-8 without line feed at its end, valid during
/// the call. Called on any thread, also on several at once. Every function of this library answers
/// `TENURE_REENTRANT` from inside it.
pub type tenure_log_callback =
    Option<unsafe extern "C" fn(user: *mut c_void, level: tenure_log_level, line: *const c_char)>;

const VERSION: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes(),
) {
    Ok(text) => text,
    Err(_) => panic!("a version has no NUL inside"),
};

/// What `tenure_has_feature` knows: nouns of this header and schemes of `tenure_client_open`.
const FEATURES: &[&str] =
    &["lease", "file", "reader", "event", "memory://", "file://", "s3://", "gs://", "az://"];

/// The version of the interface that the library implements: compare with `TENURE_API_VERSION`.
/// Never blocks; any thread.
#[unsafe(no_mangle)]
pub extern "C" fn tenure_api_version() -> u32 {
    TENURE_API_VERSION
}

/// The library's own version, e.g. `0.1.0`. Static. Never blocks; any thread.
#[unsafe(no_mangle)]
pub extern "C" fn tenure_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Whether this library has a feature: a noun of this header (`lease`, `file`, `reader`, `event`)
/// or a scheme (`memory://`, `file://`, `s3://`, `gs://`, `az://`). False for a name it does not
/// know, and for NULL. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_has_feature(name: *const c_char) -> bool {
    // SAFETY: the header asks for NULL or a NUL-terminated string.
    fact(false, || Ok(FEATURES.contains(&unsafe { args::text("name", name) }?)))
}

/// The name of a status without its prefix, e.g. `LEASE_HELD`; `UNKNOWN` for a number this library
/// does not know. Static. Never blocks; any thread.
#[unsafe(no_mangle)]
pub extern "C" fn tenure_status_name(status: tenure_status) -> *const c_char {
    status::name_of(status).as_ptr()
}

struct Sink {
    callback: tenure_log_callback,
    user: *mut c_void,
}

// SAFETY: `user` is never dereferenced here; the header tells the host that the callback is called
// on any thread with it.
unsafe impl Send for Sink {}
// SAFETY: as above.
unsafe impl Sync for Sink {}

static SINK: RwLock<Sink> = RwLock::new(Sink { callback: None, user: std::ptr::null_mut() });

/// Sends the library's log lines to `callback(user, level, line)`; NULL turns them off, which is
/// the beginning. One callback for the process; a new one replaces the old. Waits until no thread
/// is inside the old one, so that what `user` points at may be freed afterwards. From inside the
/// callback it does nothing. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_set_log_callback(callback: tenure_log_callback, user: *mut c_void) {
    fact((), || {
        super::wall::quiet_panics();
        *SINK.write().unwrap_or_else(PoisonError::into_inner) = Sink { callback, user };
        Ok(())
    });
}

/// One line for the host's log. A line that comes up while this thread is inside the callback is
/// dropped.
pub(crate) fn log(level: tenure_log_level, line: &str) {
    if pin::calling_back() {
        return;
    }
    let sink = SINK.read().unwrap_or_else(PoisonError::into_inner);
    let Some(callback) = sink.callback else { return };
    let line = args::c_text(line);
    // SAFETY: the host promised a function of this type that may be called on any thread until it
    // is replaced, which waits for this read lock.
    pin::call_back(|| unsafe { callback(sink.user, level, line.as_ptr()) });
}
