//! `tenure_file_info` and `tenure_file_listing`: files by path, without writing or reading them.
//!
//! Rule: what a manifest says, as a value. A file that is being written is longer than its manifest
//! says; the reader knows how much.

use super::args::{self, Out, c_text};
use super::client::{self, tenure_client};
use super::error::tenure_error;
use super::handle::{self, Handle};
use super::status::tenure_status;
use super::wait;
use super::wall::{fact, wall};
use crate::api::FileStat;
use crate::base::{Error, Result, Status};
use std::ffi::{CString, c_char};

/// A file as its manifest tells it. Owned by the caller; independent of its client.
#[derive(Debug)]
pub struct tenure_file_info(());

pub(super) struct Inside {
    stat: FileStat,
    path: CString,
}

impl Handle for tenure_file_info {
    type Inside = Inside;
    const MAGIC: u32 = u32::from_be_bytes(*b"tFIN");
    const NAME: &'static str = "file_info";
}

/// Files as they were listed, in path order. Owned by the caller; independent of its client.
#[derive(Debug)]
pub struct tenure_file_listing(());

impl Handle for tenure_file_listing {
    type Inside = Vec<FileStat>;
    const MAGIC: u32 = u32::from_be_bytes(*b"tFLS");
    const NAME: &'static str = "file_listing";
}

fn give(out: Out<*mut tenure_file_info>, stat: FileStat) -> Result<()> {
    let path = c_text(&stat.path);
    let made = handle::give::<tenure_file_info>(Inside { stat, path })?;
    // SAFETY: the header asks for a place for one pointer.
    unsafe { out.write(made.as_ptr()) };
    Ok(())
}

/// Reads what the manifest of the file `path` says. Starts no session and needs read permission
/// only.
///
/// Returns `TENURE_OK`; `TENURE_NOT_FOUND`. Blocks for the requests; any thread. The caller frees
/// `*info`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_stat(
    client: *mut tenure_client,
    path: *const c_char,
    info: *mut *mut tenure_file_info,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = Out::new("info", info)?;
        // SAFETY: the header asks for NULL or a NUL-terminated string.
        let path = unsafe { args::text("path", path)? };
        give(out, wait::complete(client::of(client)?.stat(path))?)
    })
}

/// Whether the file `path` is closed: finished by its writer, or recovered and finished after it
/// died.
///
/// Returns `TENURE_OK`; `TENURE_NOT_FOUND`. Blocks for the requests; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_is_closed(
    client: *mut tenure_client,
    path: *const c_char,
    is_closed: *mut bool,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = Out::new("is_closed", is_closed)?;
        // SAFETY: the header asks for NULL or a NUL-terminated string.
        let path = unsafe { args::text("path", path)? };
        let stat = wait::complete(client::of(client)?.stat(path))?;
        // SAFETY: the header asks for a place for one bool.
        unsafe { out.write(stat.closed) };
        Ok(())
    })
}

/// Lists all files whose path begins with `prefix`, in path order; all of them for the empty
/// prefix.
///
/// Returns `TENURE_OK`, also if there are none. Blocks for the requests; any thread. The caller
/// frees `*listing`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_list(
    client: *mut tenure_client,
    prefix: *const c_char,
    listing: *mut *mut tenure_file_listing,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = Out::new("listing", listing)?;
        // SAFETY: the header asks for NULL or a NUL-terminated string.
        let prefix = unsafe { args::text("prefix", prefix)? };
        let files = wait::complete(client::of(client)?.files(prefix))?;
        let made = handle::give::<tenure_file_listing>(files)?;
        // SAFETY: the header asks for a place for one pointer.
        unsafe { out.write(made.as_ptr()) };
        Ok(())
    })
}

/// How many files were listed. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_listing_count(listing: *const tenure_file_listing) -> usize {
    fact(0, || handle::with(listing, |files| Ok(files.len())))
}

/// The file at `index`, from 0. Returns `TENURE_OK`; `TENURE_NOT_FOUND` past the end. Never blocks;
/// any thread. The caller frees `*info`, which is independent of the listing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_listing_at(
    listing: *const tenure_file_listing,
    index: usize,
    info: *mut *mut tenure_file_info,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = Out::new("info", info)?;
        let file = handle::with(listing, |files| {
            files.get(index).cloned().ok_or_else(|| {
                let count = files.len();
                Error::new(Status::NotFound, format!("index {index} of a listing of {count}"))
            })
        })?;
        give(out, file)
    })
}

/// Frees a listing. NULL is fine. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_listing_free(listing: *mut tenure_file_listing) {
    fact((), || {
        handle::free(listing);
        Ok(())
    });
}

fn read<R>(info: *const tenure_file_info, otherwise: R, ask: impl FnOnce(&Inside) -> R) -> R {
    fact(otherwise, || handle::with(info, |inside| Ok(ask(inside))))
}

/// The file's path. Never NULL. Borrowed from `info`. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_info_path(info: *const tenure_file_info) -> *const c_char {
    read(info, c"".as_ptr(), |i| i.path.as_ptr())
}

/// The finalised length; an open file may be longer, see `tenure_reader_visible_length`. Never
/// blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_info_length(info: *const tenure_file_info) -> u64 {
    read(info, 0, |i| i.stat.length)
}

/// Whether the file is closed. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_info_is_closed(info: *const tenure_file_info) -> bool {
    read(info, false, |i| i.stat.closed)
}

/// The epoch of the file's last writer. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_info_epoch(info: *const tenure_file_info) -> u64 {
    read(info, 0, |i| i.stat.epoch.0)
}

/// Which life of its path the file is, from 1: an overwritten or deleted file begins another. Never
/// blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_info_incarnation(info: *const tenure_file_info) -> u64 {
    read(info, 0, |i| i.stat.incarnation)
}

/// Frees what was told about a file. NULL is fine. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_file_info_free(info: *mut tenure_file_info) {
    fact((), || {
        handle::free(info);
        Ok(())
    });
}
