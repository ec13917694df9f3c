//! Leases by name, without holding them: `tenure_lease_info`, what a record tells everybody, and
//! taking a lease away.
//!
//! Rule: a record as read, for people and tools. It is old when it arrives; nothing may be decided
//! on it that a lease is for.

use super::args::{self, Out, c_text, millis};
use super::client::{self, tenure_client};
use super::error::tenure_error;
use super::handle::{self, Handle};
use super::status::tenure_status;
use super::wait;
use super::wall::{fact, wall};
use crate::api::LeaseInfo;
use crate::base::{Error, Kind, Result, Status};
use std::ffi::{CString, c_char};
use std::time::Duration;

/// Which family a leased resource belongs to. A file and a bare lease of one name never share a
/// record.
pub type tenure_kind = i32;
/// An append-only file.
pub const TENURE_KIND_FILE: tenure_kind = 1;
/// A cell, which is one database.
pub const TENURE_KIND_CELL: tenure_kind = 2;
/// A bare lease.
pub const TENURE_KIND_LEASE: tenure_kind = 3;

/// The kind behind a number of the header.
pub(super) fn to_kind(kind: tenure_kind) -> Result<Kind> {
    match kind {
        TENURE_KIND_FILE => Ok(Kind::File),
        TENURE_KIND_CELL => Ok(Kind::Cell),
        TENURE_KIND_LEASE => Ok(Kind::Lease),
        _ => Err(Error::new(
            Status::InvalidArgument,
            format!("kind = {kind}: expected one of TENURE_KIND_*"),
        )),
    }
}

/// A lease's record as read. Owned by the caller; independent of its client.
#[derive(Debug)]
pub struct tenure_lease_info(());

pub(super) struct Inside {
    info: LeaseInfo,
    node: CString,
    session: CString,
}

impl Handle for tenure_lease_info {
    type Inside = Inside;
    const MAGIC: u32 = u32::from_be_bytes(*b"tLIN");
    const NAME: &'static str = "lease_info";
}

/// Reads the record of the bare lease `name`. Starts no session and needs read permission only.
///
/// Returns `TENURE_OK`; `TENURE_NOT_FOUND` if nobody ever acquired it. Blocks for the requests; any
/// thread. The caller frees `*info`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_inspect(
    client: *mut tenure_client,
    name: *const c_char,
    info: *mut *mut tenure_lease_info,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = Out::new("info", info)?;
        // SAFETY: the header asks for NULL or a NUL-terminated string.
        let name = unsafe { args::text("name", name)? };
        let info = wait::complete(client::of(client)?.inspect(Kind::Lease, name))?;
        let (node, session) = (c_text(&info.node), c_text(&info.session));
        let made = handle::give::<tenure_lease_info>(Inside { info, node, session })?;
        // SAFETY: the header asks for a place for one pointer.
        unsafe { out.write(made.as_ptr()) };
        Ok(())
    })
}

/// Takes a lease away from a holder that shows no life for `observe_ms`, whatever its limits say.
/// For operators: the holder may be alive and only cut off; its epoch is ended, so that what it
/// sends under it is refused.
///
/// Returns `TENURE_OK` once the lease is free; `TENURE_LEASE_HELD` if its holder was renewed
/// meanwhile; `TENURE_NOT_FOUND` if there is no such record. Blocks for `observe_ms` and the
/// requests; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_break(
    client: *mut tenure_client,
    kind: tenure_kind,
    name: *const c_char,
    observe_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        // SAFETY: the header asks for NULL or a NUL-terminated string.
        let name = unsafe { args::text("name", name)? };
        let kind = to_kind(kind)?;
        let observe = u64::try_from(observe_ms).map(Duration::from_millis).map_err(|_| {
            Error::new(
                Status::InvalidArgument,
                format!("observe_ms = {observe_ms}: expected 0 or more"),
            )
        })?;
        let client = client::of(client)?;
        wait::complete(client.break_lease(kind, name, observe, "")).map(drop)
    })
}

fn read<R>(info: *const tenure_lease_info, otherwise: R, ask: impl FnOnce(&Inside) -> R) -> R {
    fact(otherwise, || handle::with(info, |inside| Ok(ask(inside))))
}

/// Whether somebody holds it by the record; its session may have lapsed, see
/// `tenure_lease_info_age_ms`. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_info_held(info: *const tenure_lease_info) -> bool {
    read(info, false, |i| i.info.held)
}

/// The epoch in force. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_info_epoch(info: *const tenure_lease_info) -> u64 {
    read(info, 0, |i| i.info.epoch.0)
}

/// The node name of the holder, or of the last one. Never NULL. Borrowed from `info`. Never blocks;
/// any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_info_node(info: *const tenure_lease_info) -> *const c_char {
    read(info, c"".as_ptr(), |i| i.node.as_ptr())
}

/// The session of the holder, or of the last one: what its `tenure_client_id` says. Never NULL.
/// Borrowed from `info`. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_info_session(
    info: *const tenure_lease_info,
) -> *const c_char {
    read(info, c"".as_ptr(), |i| i.session.as_ptr())
}

/// The holder's soft limit: a holder silent for longer may be replaced. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_info_soft_ms(info: *const tenure_lease_info) -> i64 {
    read(info, 0, |i| millis(i.info.soft))
}

/// How long ago the holder's session was renewed, by the store's clock; -1 if that is unknown.
/// Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_info_age_ms(info: *const tenure_lease_info) -> i64 {
    read(info, -1, |i| i.info.age.map_or(-1, millis))
}

/// Frees a lease's record. NULL is fine. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_info_free(info: *mut tenure_lease_info) {
    fact((), || {
        handle::free(info);
        Ok(())
    });
}
