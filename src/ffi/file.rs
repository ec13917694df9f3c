//! `tenure_file`: the one admitted writer of an append-only file.
//!
//! Question: when is a byte safe? Rule: written is a promise to try, acked is a fact:
//! [`tenure_file_acked`] counts bytes that are stored and visible, and goes on answering after the
//! writer is over. A write that finds room copies and returns without a clock, a lock that waits or
//! an allocation; only a full window makes it wait.
//!
//! What is not here: files by path ([`super::file_info`]), reading ([`super::reader`]).

use super::args::{self, Out};
use super::client::{self, tenure_client};
use super::error::tenure_error;
use super::handle::{self, Handle};
use super::status::tenure_status;
use super::wait;
use super::wall::{fact, wall};
use crate::api::{Client, CreateOptions, FileWriter};
use crate::base::{Result, Status};
use std::ffi::c_char;

/// `tenure_file_create`: replace an existing file instead of `TENURE_ALREADY_EXISTS`; its former
/// writer is fenced.
pub const TENURE_CREATE_OVERWRITE: u32 = 1;

/// The writer of a file. Calls of several threads are put in order; each write is one piece.
#[derive(Debug)]
pub struct tenure_file(());

/// A piece of memory, for `tenure_file_writev`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tenure_slice {
    /// Where it begins; may be NULL if `len` is zero.
    pub bytes: *const u8,
    /// How many bytes.
    pub len: usize,
}

pub(super) struct Inside {
    writer: FileWriter,
    /// Dropped after the writer: keeps the session that renews its lease.
    _client: Client,
}

impl Handle for tenure_file {
    type Inside = Inside;
    const MAGIC: u32 = u32::from_be_bytes(*b"tFIL");
    const NAME: &'static str = "file";
}

fn give(out: Out<*mut tenure_file>, writer: FileWriter, client: Client) -> Result<()> {
    let made = handle::give::<tenure_file>(Inside { writer, _client: client })?;
    // SAFETY: the header asks for a place for one pointer.
    unsafe { out.write(made.as_ptr()) };
    Ok(())
}

/// Creates the file `path` and becomes its writer, waiting for a former one up to `timeout_ms`.
/// `flags` is 0 or `TENURE_CREATE_OVERWRITE`.
///
/// Returns `TENURE_OK`; `TENURE_ALREADY_EXISTS`; `TENURE_LEASE_HELD` if another writer is active
/// (the error tells who); `TENURE_TIMED_OUT`; `TENURE_INVALID_ARGUMENT` for a path that cannot be
/// one. Blocks up to `timeout_ms`; any thread. The caller frees `*file`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_create(
    client: *mut tenure_client,
    path: *const c_char,
    flags: u32,
    file: *mut *mut tenure_file,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = Out::new("file", file)?;
        if flags & !TENURE_CREATE_OVERWRITE != 0 {
            return Err(args::invalid("flags", "has bits that are not TENURE_CREATE_*"));
        }
        let options = CreateOptions { overwrite: flags & TENURE_CREATE_OVERWRITE != 0 };
        // SAFETY: the header asks for NULL or a NUL-terminated string.
        let path = unsafe { args::text("path", path)? };
        let client = client::of(client)?;
        let writer = wait::complete(client.create(path, options, wait::limit(timeout_ms)))?;
        give(out, writer, client)
    })
}

/// Becomes the writer of the existing file `path`, waiting for a former one up to `timeout_ms`. A
/// writer that died is replaced once its soft limit and a guard time have passed; what it left
/// unfinished is recovered first, and every byte it was told is acked stays.
///
/// Returns `TENURE_OK`; `TENURE_NOT_FOUND`; `TENURE_LEASE_HELD` if another writer is active (the
/// error tells who, and when to retry); `TENURE_TIMED_OUT`. Blocks up to `timeout_ms`; any thread.
/// The caller frees `*file`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_append(
    client: *mut tenure_client,
    path: *const c_char,
    file: *mut *mut tenure_file,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = Out::new("file", file)?;
        // SAFETY: the header asks for NULL or a NUL-terminated string.
        let path = unsafe { args::text("path", path)? };
        let client = client::of(client)?;
        let writer = wait::complete(client.append(path, wait::limit(timeout_ms)))?;
        give(out, writer, client)
    })
}

/// Copies `len` bytes into the file's window, waiting up to `timeout_ms` for room; they are sent in
/// the background. Up to a window (37 MiB by default) all of them are taken or none; of more,
/// `*accepted` says how many, and it is written on failure too. It may be NULL.
///
/// Returns `TENURE_OK`; `TENURE_TIMED_OUT` if there was no room in time: go on after the accepted
/// bytes; `TENURE_FENCED` or `TENURE_LEASE_LOST` if the writer is over: `tenure_file_acked` tells
/// how far it got; `TENURE_CLOSED` after a close or abort. Blocks only while the window is full;
/// any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_write(
    file: *mut tenure_file,
    bytes: *const u8,
    len: usize,
    accepted: *mut usize,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        // SAFETY: the header asks for `len` readable bytes.
        let bytes = unsafe { args::bytes("bytes", bytes, len)? };
        let (taken, outcome) = write(file, bytes, timeout_ms);
        // SAFETY: the header asks for NULL or a place for one size.
        unsafe { tell(accepted, taken)? };
        outcome
    })
}

/// Room is the usual case and must cost no more than the copy.
#[inline]
fn write(file: *mut tenure_file, bytes: &[u8], timeout_ms: i64) -> (usize, Result<()>) {
    match handle::with(file, |f| f.writer.try_write(bytes)) {
        Ok(()) => (bytes.len(), Ok(())),
        Err(e) if e.status() == Status::WouldBlock => write_slowly(file, bytes, timeout_ms),
        Err(e) => (0, Err(e)),
    }
}

#[cold]
fn write_slowly(file: *mut tenure_file, bytes: &[u8], timeout_ms: i64) -> (usize, Result<()>) {
    match handle::share(file) {
        Ok(file) => file.writer.write_blocking(bytes, wait::limit(timeout_ms)),
        Err(e) => (0, Err(e)),
    }
}

/// Fills `accepted`, which may be NULL.
///
/// # Safety
/// `accepted` is NULL or a place for one size.
#[inline]
unsafe fn tell(accepted: *mut usize, taken: usize) -> Result<()> {
    if !accepted.is_null() {
        // SAFETY: the caller's promise.
        unsafe { Out::new("accepted", accepted)?.write(taken) };
    }
    Ok(())
}

/// Copies `len` bytes into the file's window if all of them fit now.
///
/// Returns `TENURE_OK`; `TENURE_WOULD_BLOCK` if not, and then nothing was taken; else as
/// `tenure_file_write`. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_try_write(
    file: *mut tenure_file,
    bytes: *const u8,
    len: usize,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        // SAFETY: the header asks for `len` readable bytes.
        let bytes = unsafe { args::bytes("bytes", bytes, len)? };
        handle::with(file, |f| f.writer.try_write(bytes))
    })
}

/// Writes `n` pieces as if they were one: no other thread's write comes between them. They are
/// gathered before the copy into the window, so it pays for many small pieces. `n` may be 0.
///
/// Returns, blocks and fills `*accepted` as `tenure_file_write`, counting over all pieces. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_writev(
    file: *mut tenure_file,
    slices: *const tenure_slice,
    n: usize,
    accepted: *mut usize,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        // SAFETY: the header asks for `n` slices, each of `len` readable bytes.
        let gathered = unsafe { gather(slices, n)? };
        let (taken, outcome) = write(file, &gathered, timeout_ms);
        // SAFETY: the header asks for NULL or a place for one size.
        unsafe { tell(accepted, taken)? };
        outcome
    })
}

/// The pieces as one.
///
/// # Safety
/// `slices` is NULL or points at `n` slices, each with `len` readable bytes.
unsafe fn gather(slices: *const tenure_slice, n: usize) -> Result<Vec<u8>> {
    let size = n.saturating_mul(size_of::<tenure_slice>());
    args::check_span("slices", slices.cast(), size)?;
    if n == 0 {
        return Ok(Vec::new());
    }
    if !slices.is_aligned() {
        return Err(args::invalid("slices", "is not aligned for its type"));
    }
    // SAFETY: not NULL, aligned, of a possible length, and there by the caller's promise.
    let slices = unsafe { std::slice::from_raw_parts(slices, n) };
    let total = slices.iter().try_fold(0_usize, |sum, s| sum.checked_add(s.len));
    let mut gathered = Vec::new();
    let room = total.is_some_and(|total| gathered.try_reserve_exact(total).is_ok());
    if !room {
        return Err(args::invalid("slices", "are longer than memory together"));
    }
    for slice in slices {
        // SAFETY: the caller's promise.
        gathered.extend_from_slice(unsafe { args::bytes("bytes", slice.bytes, slice.len)? });
    }
    Ok(gathered)
}

/// Waits until every byte written before this call is acked: stored, and visible to new readers.
///
/// Returns `TENURE_OK`; `TENURE_TIMED_OUT` if some are still on their way: nothing is undone, call
/// again; `TENURE_FENCED` or `TENURE_LEASE_LOST` if the writer is over: `tenure_file_acked` tells
/// how far it got. Blocks up to `timeout_ms`; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_hflush(
    file: *mut tenure_file,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let file = handle::share(file)?;
        wait::complete(file.writer.hflush(wait::limit(timeout_ms)))
    })
}

/// As `tenure_file_hflush`, and what is acked also survives a power failure of the store, as far as
/// the store promises that. An object store makes no difference between the two; `file://` flushes
/// to disk.
///
/// Returns and blocks as `tenure_file_hflush`. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_hsync(
    file: *mut tenure_file,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let file = handle::share(file)?;
        wait::complete(file.writer.hsync(wait::limit(timeout_ms)))
    })
}

/// The file's length including bytes that are not acked yet. 0 if there is no such file. Never
/// blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_position(file: *const tenure_file) -> u64 {
    fact(0, || handle::with(file, |f| Ok(f.writer.position())))
}

/// The length up to which every byte is acked: stored, and kept whatever happens to this writer.
/// Goes on answering after the writer is over. 0 if there is no such file. Never blocks; any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_acked(file: *const tenure_file) -> u64 {
    fact(0, || handle::with(file, |f| Ok(f.writer.acked())))
}

/// The epoch this writer writes under. 0 if there is no such file. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_epoch(file: *const tenure_file) -> u64 {
    fact(0, || handle::with(file, |f| Ok(f.writer.epoch().0)))
}

/// Flushes and finalises the file, and gives its lease up, so that the next writer need not wait.
/// The handle stays valid and is still to be freed. Idempotent.
///
/// Returns `TENURE_OK`; `TENURE_TIMED_OUT` if it is not done yet: call again; the error that ended
/// the writer, if one did. Blocks up to `timeout_ms`; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_close(
    file: *mut tenure_file,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let file = handle::share(file)?;
        wait::complete(file.writer.close(wait::limit(timeout_ms)))
    })
}

/// Stops at once: nothing further is sent, the lease is released in the background, and the file
/// stays open for the next writer with every acked byte. Idempotent. Returns `TENURE_OK`. Never
/// blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_abort(
    file: *mut tenure_file,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        handle::with(file, |f| {
            f.writer.abort();
            Ok(())
        })
    })
}

/// Frees the handle; a file that was not closed is aborted. NULL is fine. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_free(file: *mut tenure_file) {
    fact((), || {
        handle::free(file);
        Ok(())
    });
}
