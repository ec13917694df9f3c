//! `tenure_text`: a text made for the caller.
//!
//! Rule: text that belongs to a handle is borrowed from it; text that is made at the moment of
//! asking is an object of its own, so that two threads asking one handle cannot pull it from under
//! each other.

use super::args::c_text;
use super::handle::{self, Handle};
use super::wall::fact;
use std::ffi::{CString, c_char};

/// A text made for the caller, who frees it. Independent of every other handle.
#[derive(Debug)]
pub struct tenure_text(());

impl Handle for tenure_text {
    type Inside = CString;
    const MAGIC: u32 = u32::from_be_bytes(*b"tTXT");
    const NAME: &'static str = "text";
}

pub(super) fn new(text: &str) -> CString {
    c_text(text)
}

/// The text, NUL-terminated UTF-8. Never NULL. Borrowed from `text`. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_text_string(text: *const tenure_text) -> *const c_char {
    fact(c"".as_ptr(), || handle::with(text, |t| Ok(t.as_ptr())))
}

/// The length in bytes, without the NUL. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_text_length(text: *const tenure_text) -> usize {
    fact(0, || handle::with(text, |t| Ok(t.as_bytes().len())))
}

/// Frees a text. NULL is fine. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_text_free(text: *mut tenure_text) {
    fact((), || {
        handle::free(text);
        Ok(())
    });
}
