//! Which C name is which Rust type, and the four things one can do with a handle.
//!
//! Question: what does `tenure_file *` point at? Rule: the opaque C name implements [`Handle`],
//! which binds it to the Rust value behind it and to its magic word; [`give`] makes a handle,
//! [`with`] uses it in place for calls that do not wait, [`share`] takes a counted reference for
//! calls that do, [`free`] ends it. The value is an `Arc`: a call that waits keeps it alive
//! although the handle is freed meanwhile, and a child's value holds a clone of its client, so that
//! the order of frees never matters.
//!
//! What is not here: where handles live ([`super::arena`]), how a use excludes a free
//! ([`super::pin`]).

use super::arena::{self, State};
use super::pin::pin;
use crate::base::{Error, Result, Status};
use std::ptr::NonNull;
use std::sync::Arc;

/// An opaque C name.
pub(super) trait Handle: Sized {
    /// What is behind it.
    type Inside: Send + Sync + 'static;
    /// Four letters that tell it from every other type; never zero.
    const MAGIC: u32;
    /// The noun, for messages.
    const NAME: &'static str;
}

/// Makes a handle; the caller of the C function owns it.
pub(super) fn give<H: Handle>(inside: H::Inside) -> Result<NonNull<H>> {
    let raw = Arc::into_raw(Arc::new(inside)).cast_mut().cast::<()>();
    let address = arena::make(H::MAGIC, raw).and_then(|a| NonNull::new(a as *mut H));
    address.ok_or_else(|| {
        // SAFETY: `raw` came from `into_raw` just now and no handle took it over.
        drop(unsafe { Arc::from_raw(raw.cast_const().cast::<H::Inside>()) });
        let limit = arena::CELLS;
        Error::new(Status::Internal, format!("{limit} handles are alive: free some"))
    })
}

/// Uses a handle in place. For calls that do not wait: a free waits for them.
#[inline]
pub(super) fn with<H: Handle, R>(
    handle: *const H,
    call: impl FnOnce(&H::Inside) -> Result<R>,
) -> Result<R> {
    let address = handle as usize;
    let Some(cell) = arena::at(address) else { return Err(refused::<H>(address)) };
    let _pin = pin(std::ptr::from_ref(cell) as usize);
    if !cell.is_live(H::MAGIC, address) {
        return Err(refused::<H>(address));
    }
    // SAFETY: the word says that the value is an `H::Inside` put there by `give`; it was read after
    // the pin was announced, so `free` waits for the pin before it drops the value, and the pin
    // outlives the borrow.
    call(unsafe { &*cell.value().cast_const().cast::<H::Inside>() })
}

/// A counted reference to what is behind a handle. For calls that wait.
pub(super) fn share<H: Handle>(handle: *const H) -> Result<Arc<H::Inside>> {
    with(handle, |inside| {
        let raw = std::ptr::from_ref(inside);
        // SAFETY: `inside` lives in an `Arc` made by `give`, whose own count is held by the cell
        // while the pin of `with` lasts.
        unsafe {
            Arc::increment_strong_count(raw);
            Ok(Arc::from_raw(raw))
        }
    })
}

/// Ends a handle. NULL, foreign and freed handles are left alone. In a forked child the value is
/// leaked: dropping it could do I/O under the parent's name.
pub(super) fn free<H: Handle>(handle: *mut H) {
    let address = handle as usize;
    let Some(cell) = arena::at(address) else { return };
    let forked = cell.state(H::MAGIC, address) == State::Forked;
    if !cell.kill(H::MAGIC, address) || forked {
        return;
    }
    if !super::pin::drain(std::ptr::from_ref(cell) as usize) {
        return;
    }
    let raw = arena::recycle(cell).cast_const().cast::<H::Inside>();
    // SAFETY: `kill` succeeded, so this is the only free of this handle; nobody pins the cell and
    // nobody can any more; `raw` came from `give`.
    drop(unsafe { Arc::from_raw(raw) });
}

/// Why a handle was not accepted.
#[cold]
fn refused<H: Handle>(address: usize) -> Error {
    let name = H::NAME;
    if address == 0 {
        return Error::new(Status::InvalidArgument, format!("{name} is NULL"));
    }
    match arena::at(address).map(|cell| cell.state(H::MAGIC, address)) {
        Some(State::Forked) => Error::new(
            Status::Forked,
            format!("this {name} was made before fork: open a new client in the child"),
        ),
        _ => Error::new(
            Status::InvalidArgument,
            format!("not a living {name} handle: freed, of another type, or not a handle at all"),
        ),
    }
}
