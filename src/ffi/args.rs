//! How text, bytes and outputs cross the boundary.
//!
//! Question: which pointers from C can be checked, and what is checked? Rule: NULL, misalignment,
//! bad UTF-8 and impossible lengths are INVALID_ARGUMENT and the message names the argument. A
//! pointer to readable memory of the wrong size cannot be told from a right one; that much C must
//! promise. A zero length needs no pointer at all.
//!
//! Text that goes out is NUL-terminated and never NULL: an absent text is empty, so that it can be
//! printed as it is.

use crate::base::{Error, Result, Status};
use std::ffi::{CStr, CString, c_char};
use std::ptr::NonNull;

/// Text from C.
///
/// # Safety
/// `text` is NULL or a NUL-terminated string that stays unchanged for `'a`.
pub(super) unsafe fn text<'a>(name: &str, text: *const c_char) -> Result<&'a str> {
    if text.is_null() {
        return Err(invalid(name, "is NULL"));
    }
    // SAFETY: not NULL, and NUL-terminated as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|e| invalid(name, "is not UTF-8").because(e))
}

/// Bytes from C.
///
/// # Safety
/// `len` is zero, or `bytes` is NULL or points at `len` readable bytes that stay unchanged for
/// `'a`.
#[inline]
pub(super) unsafe fn bytes<'a>(name: &str, bytes: *const u8, len: usize) -> Result<&'a [u8]> {
    check_span(name, bytes, len)?;
    match len {
        0 => Ok(&[]),
        // SAFETY: not NULL, the length is one a slice may have, and the caller promises that the
        // bytes are there.
        _ => Ok(unsafe { std::slice::from_raw_parts(bytes, len) }),
    }
}

/// Whether `len` bytes can exist at an address at all.
#[inline]
pub(super) fn check_span(name: &str, bytes: *const u8, len: usize) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    if bytes.is_null() {
        return Err(invalid(name, "is NULL although its length is not zero"));
    }
    let fits = len <= isize::MAX as usize && (bytes as usize).checked_add(len).is_some();
    if fits { Ok(()) } else { Err(invalid(name, "is longer than memory")) }
}

/// A place for a result.
pub(super) struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// Checks it before anything is done, so that a call never succeeds without telling.
    pub(super) fn new(name: &str, place: *mut T) -> Result<Out<T>> {
        match NonNull::new(place) {
            None => Err(invalid(name, "(an output) is NULL")),
            Some(place) if !place.is_aligned() => {
                Err(invalid(name, "(an output) is not aligned for its type"))
            }
            Some(place) => Ok(Out(place)),
        }
    }

    /// Fills it.
    ///
    /// # Safety
    /// The place is writable for one `T`.
    pub(super) unsafe fn write(self, value: T) {
        // SAFETY: not NULL and aligned by construction, writable by the caller's promise.
        unsafe { self.0.write(value) }
    }
}

/// Text for C. A NUL inside cannot be told to C and becomes U+FFFD.
pub(super) fn c_text(text: &str) -> CString {
    CString::new(text).unwrap_or_else(|_| {
        CString::new(text.replace('\0', "\u{FFFD}")).expect("every NUL was replaced")
    })
}

/// An argument that cannot be.
#[cold]
pub(super) fn invalid(name: &str, what: &str) -> Error {
    Error::new(Status::InvalidArgument, format!("{name} {what}"))
}

/// Whole milliseconds, for C.
pub(super) fn millis(time: std::time::Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
