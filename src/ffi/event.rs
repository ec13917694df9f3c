//! `tenure_event`: one thing that happened to a client, taken from its queue.
//!
//! Rule: an event is a value; it holds nothing alive and says nothing about the present, only about
//! when it was queued. Numbers of kinds are append-only. Where events come from: [`super::client`].

use super::args::c_text;
use super::handle::{self, Handle};
use super::wall::fact;
use crate::base::Event;
use std::ffi::{CString, c_char};

/// What happened. Numbers are only ever added: ignore a kind you do not know.
pub type tenure_event_code = i32;

/// A lease was acquired.
pub const TENURE_EVENT_LEASE_GRANTED: tenure_event_code = 1;
/// The session lapsed or a notice came: the lease is not valid now and may come back.
pub const TENURE_EVENT_LEASE_SUSPENDED: tenure_event_code = 2;
/// A suspended lease is valid again, under the same epoch.
pub const TENURE_EVENT_LEASE_RESUMED: tenure_event_code = 3;
/// A lease that was granted is gone for good.
pub const TENURE_EVENT_LEASE_LOST: tenure_event_code = 4;
/// A writer was shut out by a newer holder.
pub const TENURE_EVENT_FENCED: tenure_event_code = 5;
/// The fleet's view changed.
pub const TENURE_EVENT_VIEW_CHANGED: tenure_event_code = 6;
/// A cell's placement owner changed.
pub const TENURE_EVENT_OWNER_CHANGED: tenure_event_code = 7;
/// A managed cell was opened here.
pub const TENURE_EVENT_CELL_GAINED: tenure_event_code = 8;
/// A managed cell is about to be handed over.
pub const TENURE_EVENT_CELL_LOSING: tenure_event_code = 9;
/// A managed cell is no longer here.
pub const TENURE_EVENT_CELL_LOST: tenure_event_code = 10;
/// Somebody asks the holder to hand over.
pub const TENURE_EVENT_HANDOVER_WANTED: tenure_event_code = 11;
/// A dead holder's resource was recovered.
pub const TENURE_EVENT_RECOVERED: tenure_event_code = 12;
/// Recovery failed so often that it now waits for a person.
pub const TENURE_EVENT_QUARANTINED: tenure_event_code = 13;
/// The session is gone for good, and every lease with it.
pub const TENURE_EVENT_SESSION_LOST: tenure_event_code = 14;
/// A line for a log.
pub const TENURE_EVENT_LOG: tenure_event_code = 15;

/// One thing that happened, as the client's queue handed it out. Owned by the caller; independent
/// of its client.
#[derive(Debug)]
pub struct tenure_event(());

pub(super) struct Inside {
    event: Event,
    resource: CString,
    holder: CString,
    message: CString,
}

impl Handle for tenure_event {
    type Inside = Inside;
    const MAGIC: u32 = u32::from_be_bytes(*b"tEVT");
    const NAME: &'static str = "event";
}

impl Inside {
    pub(super) fn new(event: Event) -> Inside {
        Inside {
            resource: c_text(&event.resource),
            holder: c_text(event.holder.as_deref().unwrap_or_default()),
            message: c_text(&event.message),
            event,
        }
    }
}

fn read<R>(event: *const tenure_event, otherwise: R, ask: impl FnOnce(&Inside) -> R) -> R {
    fact(otherwise, || handle::with(event, |inside| Ok(ask(inside))))
}

/// What happened, one of `TENURE_EVENT_*`; 0 if there is no such event. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_event_kind(event: *const tenure_event) -> tenure_event_code {
    read(event, 0, |e| e.event.kind as i32)
}

/// The resource concerned as `kind/name`, e.g. `lease/orders`; empty for the client as a whole.
/// Borrowed from the event. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_event_resource(event: *const tenure_event) -> *const c_char {
    read(event, c"".as_ptr(), |e| e.resource.as_ptr())
}

/// The epoch concerned; 0 if none. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_event_epoch(event: *const tenure_event) -> u64 {
    read(event, 0, |e| e.event.epoch.map_or(0, |epoch| epoch.0))
}

/// Who holds the resource now; empty if unknown. Borrowed from the event. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_event_holder(event: *const tenure_event) -> *const c_char {
    read(event, c"".as_ptr(), |e| e.holder.as_ptr())
}

/// One clause for people. Borrowed from the event. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_event_message(event: *const tenure_event) -> *const c_char {
    read(event, c"".as_ptr(), |e| e.message.as_ptr())
}

/// Frees an event. NULL is fine. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_event_free(event: *mut tenure_event) {
    fact((), || {
        handle::free(event);
        Ok(())
    });
}
