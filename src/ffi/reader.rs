//! `tenure_reader`: reading an append-only file, also while it is written.
//!
//! Question: what may a reader rely on while somebody writes? Rule: what it has shown never shrinks
//! or changes. It never asks the lease, so a reader needs read permission only and disturbs nobody.

use super::args::{self, Out};
use super::client::{self, tenure_client};
use super::error::tenure_error;
use super::handle::{self, Handle};
use super::status::tenure_status;
use super::wait;
use super::wall::{fact, wall};
use crate::api::{Client, FileReader};
use std::ffi::c_char;

/// A reader of one life of a file: an overwritten file goes on being what it was.
#[derive(Debug)]
pub struct tenure_reader(());

pub(super) struct Inside {
    reader: FileReader,
    /// Dropped after the reader.
    _client: Client,
}

impl Handle for tenure_reader {
    type Inside = Inside;
    const MAGIC: u32 = u32::from_be_bytes(*b"tREA");
    const NAME: &'static str = "reader";
}

/// Opens the file `path` for reading, as it is now.
///
/// Returns `TENURE_OK`; `TENURE_NOT_FOUND`. Blocks for the requests; any thread. The caller frees
/// `*reader`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_reader_open(
    client: *mut tenure_client,
    path: *const c_char,
    reader: *mut *mut tenure_reader,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = Out::new("reader", reader)?;
        // SAFETY: the header asks for NULL or a NUL-terminated string.
        let path = unsafe { args::text("path", path)? };
        let client = client::of(client)?;
        let reader = wait::complete(client.open_file(path))?;
        let made = handle::give::<tenure_reader>(Inside { reader, _client: client })?;
        // SAFETY: the header asks for a place for one pointer.
        unsafe { out.write(made.as_ptr()) };
        Ok(())
    })
}

/// Reads up to `len` bytes from `offset` into `buf` and tells in `*n` how many: fewer only at the
/// visible end, 0 at or beyond it. Every byte was verified against its checksum.
///
/// Returns `TENURE_OK`; `TENURE_TIMED_OUT` if the store did not answer in time; `TENURE_CORRUPT`
/// with the damaged object's name. On failure `buf` is as it was. Blocks up to `timeout_ms` (a read
/// cannot be polled: 0 mostly times out); any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_reader_read_at(
    reader: *mut tenure_reader,
    offset: u64,
    buf: *mut u8,
    len: usize,
    n: *mut usize,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = Out::new("n", n)?;
        args::check_span("buf", buf, len)?;
        let reader = handle::share(reader)?;
        let bytes = match len {
            0 => bytes::Bytes::new(),
            _ => wait::complete_within(timeout_ms, reader.reader.read_at(offset, len))?,
        };
        let count = bytes.len().min(len);
        if count > 0 {
            // SAFETY: `buf` is not NULL and the header asks for `len` writable bytes; `bytes` is
            // memory of ours, so they do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buf, count) };
        }
        // SAFETY: the header asks for a place for one size.
        unsafe { out.write(count) };
        Ok(())
    })
}

/// The length that was visible at the last look (open, refresh or wait). 0 if there is no such
/// reader. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_reader_visible_length(reader: *const tenure_reader) -> u64 {
    fact(0, || handle::with(reader, |r| Ok(r.reader.visible_length())))
}

/// Whether the file was closed at the last look: then its visible length is final. Never blocks;
/// any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_reader_is_closed(reader: *const tenure_reader) -> bool {
    fact(false, || handle::with(reader, |r| Ok(r.reader.is_closed())))
}

/// Looks again and tells the visible length, which never shrinks. `visible` may be NULL.
///
/// Returns `TENURE_OK`; `TENURE_TIMED_OUT` if the store did not answer in time. Blocks up to
/// `timeout_ms`; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_reader_refresh(
    reader: *mut tenure_reader,
    visible: *mut u64,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = optional("visible", visible)?;
        let reader = handle::share(reader)?;
        let length = wait::complete_within(timeout_ms, reader.reader.refresh())?;
        if let Some(out) = out {
            // SAFETY: the header asks for NULL or a place for one length.
            unsafe { out.write(length) };
        }
        Ok(())
    })
}

/// Follows the file: waits until at least `length` bytes are visible or the file is closed, and
/// tells the visible length; less than `length` means closed. `visible` may be NULL.
///
/// Returns `TENURE_OK`; `TENURE_TIMED_OUT` if neither came in time: call again. Blocks up to
/// `timeout_ms`; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_reader_wait(
    reader: *mut tenure_reader,
    length: u64,
    visible: *mut u64,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = optional("visible", visible)?;
        let reader = handle::share(reader)?;
        let length = wait::complete(reader.reader.wait(length, wait::limit(timeout_ms)))?;
        if let Some(out) = out {
            // SAFETY: the header asks for NULL or a place for one length.
            unsafe { out.write(length) };
        }
        Ok(())
    })
}

/// An output that may be left out.
fn optional<T>(name: &str, place: *mut T) -> crate::base::Result<Option<Out<T>>> {
    if place.is_null() { Ok(None) } else { Out::new(name, place).map(Some) }
}

/// Frees the handle. NULL is fine. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_reader_free(reader: *mut tenure_reader) {
    fact((), || {
        handle::free(reader);
        Ok(())
    });
}
