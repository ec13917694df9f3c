//! `tenure_lease`: a held bare lease.
//!
//! Question: may I still act for this resource, here, now? Rule: [`tenure_lease_check`] is asked
//! before every act, so it is the cheapest function of the library: no error object, no lock, one
//! clock read. What it says holds for the moment of asking; what must hold when the act arrives is
//! carried by the epoch, which the receiver compares.
//!
//! What is not here: the leases of files, which files take by themselves.

use super::args::{self, Out, millis};
use super::client::{self, tenure_client};
use super::error::tenure_error;
use super::handle::{self, Handle};
use super::status::{TENURE_LEASE_LOST, TENURE_LEASE_SUSPENDED, TENURE_OK, tenure_status};
use super::wait;
use super::wall::{fact, wall};
use crate::api::client::Wait;
use crate::api::{Client, Lease};
use crate::base::Result;
use crate::drive::authority::Validity;
use std::ffi::c_char;
use std::time::Duration;

/// A held lease: this client and no other may act for the resource, as long as `tenure_lease_check`
/// says so.
#[derive(Debug)]
pub struct tenure_lease(());

pub(super) struct Inside {
    lease: Lease,
    /// Dropped after the lease: keeps the session that renews it.
    _client: Client,
}

impl Handle for tenure_lease {
    type Inside = Inside;
    const MAGIC: u32 = u32::from_be_bytes(*b"tLEA");
    const NAME: &'static str = "lease";
}

/// Acquires the lease `name`, waiting for its holder up to `timeout_ms`.
///
/// Returns `TENURE_OK`; `TENURE_LEASE_HELD` if somebody, perhaps this client, still holds it at the
/// end (the error tells holder, epoch and when to retry); `TENURE_TIMED_OUT` if the store did not
/// answer in time; `TENURE_INVALID_ARGUMENT` for a name that cannot be one;
/// `TENURE_STORE_UNSUPPORTED` if the store ignores the conditions that leases depend on. A lease
/// that the store grants after the call gave up is released in the background. Blocks up to
/// `timeout_ms`; any thread. The caller frees `*lease`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_acquire(
    client: *mut tenure_client,
    name: *const c_char,
    lease: *mut *mut tenure_lease,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    // SAFETY: the obligations of `acquire` are those of the header.
    wall(err, || unsafe { acquire(client, name, lease, wait::limit(timeout_ms)) })
}

/// Acquires the lease `name` if nobody holds it now: asks the store, does not wait for a holder.
///
/// Returns as `tenure_lease_acquire`. Blocks for the requests alone; any thread. The caller frees
/// `*lease`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_try_acquire(
    client: *mut tenure_client,
    name: *const c_char,
    lease: *mut *mut tenure_lease,
    err: *mut *mut tenure_error,
) -> tenure_status {
    // SAFETY: the obligations of `acquire` are those of the header.
    wall(err, || unsafe { acquire(client, name, lease, Some(Duration::ZERO)) })
}

/// # Safety
/// `name` is NULL or NUL-terminated; `lease` is NULL or a place for one pointer.
unsafe fn acquire(
    client: *mut tenure_client,
    name: *const c_char,
    lease: *mut *mut tenure_lease,
    wait: Wait,
) -> Result<()> {
    let out = Out::new("lease", lease)?;
    // SAFETY: the caller's promise.
    let name = unsafe { args::text("name", name)? };
    let client = client::of(client)?;
    let lease = wait::complete(client.acquire(name, wait))?;
    let made = handle::give::<tenure_lease>(Inside { lease, _client: client })?;
    // SAFETY: the caller's promise.
    unsafe { out.write(made.as_ptr()) };
    Ok(())
}

/// The lease's epoch, its fencing token: larger than every one given out before for this resource.
/// Send it along with what you do under the lease, and let the receiver refuse a smaller one. 0 if
/// there is no such lease. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_epoch(lease: *const tenure_lease) -> u64 {
    fact(0, || handle::with(lease, |l| Ok(l.lease.epoch().0)))
}

/// May I still say yes, here, now? Memory and one clock read: cheap enough to ask before every act.
///
/// Returns `TENURE_OK`; `TENURE_LEASE_SUSPENDED` if the session could not be renewed in time, so
/// that others may take over: pause, it may come back; `TENURE_LEASE_LOST` if it is gone for good;
/// `TENURE_INVALID_ARGUMENT` if there is no such lease. No error object. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_check(lease: *const tenure_lease) -> tenure_status {
    let mut status = TENURE_OK;
    let refused = wall(std::ptr::null_mut(), || {
        handle::with(lease, |l| {
            status = match l.lease.check() {
                Validity::Valid(_) => TENURE_OK,
                Validity::Suspended => TENURE_LEASE_SUSPENDED,
                Validity::Lost => TENURE_LEASE_LOST,
            };
            Ok(())
        })
    });
    if refused == TENURE_OK { status } else { refused }
}

/// For how many milliseconds `tenure_lease_check` will say yes without another renewal: start
/// nothing that takes longer. 0 unless it says yes now. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_remaining_ms(lease: *const tenure_lease) -> i64 {
    fact(0, || handle::with(lease, |l| Ok(millis(l.lease.remaining()))))
}

/// Gives the lease up and waits until the store knows. From this call on `tenure_lease_check`
/// refuses. The handle stays valid and is still to be freed. Idempotent.
///
/// Returns `TENURE_OK`; `TENURE_TIMED_OUT` if it is not done yet: call again; `TENURE_LEASE_LOST`
/// if it was gone before. Blocks up to `timeout_ms`; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_release(
    lease: *mut tenure_lease,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let lease = handle::share(lease)?;
        wait::complete(lease.lease.release(wait::limit(timeout_ms)))
    })
}

/// Frees the handle; a lease that is still held is released in the background. NULL is fine. Never
/// blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_lease_free(lease: *mut tenure_lease) {
    fact((), || {
        handle::free(lease);
        Ok(())
    });
}
