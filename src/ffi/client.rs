//! `tenure_client`: one process's connection to one base URL.
//!
//! Question: what does C hold when it holds a client? Rule: one clone of [`Client`]; every lease,
//! file and reader made from it holds another, so that a freed client lives on until its last child
//! is freed. Closing is a promise kept by waiting; freeing returns at once and leaves the rest to
//! the background.
//!
//! What is not here: when events are queued and what metrics are called (`api/`).

use super::args::{self, Out};
use super::config::{self, tenure_config};
use super::error::tenure_error;
use super::event::{self, tenure_event};
use super::handle::{self, Handle};
use super::status::tenure_status;
use super::text::{self, tenure_text};
use super::wait;
use super::wall::{fact, quiet_panics, wall};
use crate::api::Client;
use crate::base::{Error, Status};
use std::ffi::{CString, c_char, c_int};

/// One process's connection to one base URL; it owns one session, which keeps all its leases alive.
/// Leases, files and readers made from it keep it alive after it was freed.
#[derive(Debug)]
pub struct tenure_client(());

pub(super) struct Inside {
    pub(super) client: Client,
    id: CString,
}

impl Handle for tenure_client {
    type Inside = Inside;
    const MAGIC: u32 = u32::from_be_bytes(*b"tCLI");
    const NAME: &'static str = "client";
}

/// The api's client behind a handle: cheap to clone, and a clone outlives the handle.
pub(super) fn of(client: *const tenure_client) -> crate::base::Result<Client> {
    handle::with(client, |inside| Ok(inside.client.clone()))
}

/// Opens a base URL: `memory://name`, `file:///folder`, `s3://bucket/prefix`, `gs://bucket/prefix`
/// or `az://container/prefix`. Credentials come from the cloud's own environment variables,
/// settings from `config`, or the defaults if that is NULL. Checks both and sends nothing: the
/// session starts with the first acquire, create or append, so that reading needs read permission
/// only.
///
/// Returns `TENURE_OK`; `TENURE_INVALID_ARGUMENT` for a URL that cannot be one, a scheme this
/// library does not know or a combination of settings that cannot work. Does not wait for the
/// network; any thread. The caller frees `*client`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_client_open(
    url: *const c_char,
    config: *const tenure_config,
    client: *mut *mut tenure_client,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = Out::new("client", client)?;
        // SAFETY: the header asks for NULL or a NUL-terminated string.
        let url = unsafe { args::text("url", url)? };
        let config = config::copy(config)?;
        quiet_panics();
        let client = wait::complete(Client::open(url, config))?;
        let id = args::c_text(client.id());
        let made = handle::give::<tenure_client>(Inside { client, id })?;
        // SAFETY: the header asks for a place for one pointer.
        unsafe { out.write(made.as_ptr()) };
        Ok(())
    })
}

/// The identity of the client's session, 32 hexadecimal digits: what others see as the holder.
/// Empty if there is no such client. Borrowed from the client. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_client_id(client: *const tenure_client) -> *const c_char {
    fact(c"".as_ptr(), || handle::with(client, |c| Ok(c.id.as_ptr())))
}

/// Releases every lease, ends the session and waits until the store knows both. The handle stays
/// valid and is still to be freed; calls on it and its children answer `TENURE_CLOSED`. Idempotent.
///
/// Returns `TENURE_OK`; `TENURE_TIMED_OUT` if it is not done yet: nothing is undone, call again.
/// Blocks up to `timeout_ms`; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_client_close(
    client: *mut tenure_client,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || wait::complete(of(client)?.close(wait::limit(timeout_ms))))
}

/// Frees the handle. Without a close before, and once the last lease, file and reader made from it
/// are freed too, the session is ended in the background. NULL is fine. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_client_free(client: *mut tenure_client) {
    fact((), || {
        handle::free(client);
        Ok(())
    });
}

/// Takes the oldest event from the client's queue, waiting for one up to `timeout_ms`.
///
/// Returns `TENURE_OK`; `TENURE_WOULD_BLOCK` if `timeout_ms` is 0 and the queue is empty;
/// `TENURE_TIMED_OUT` if none came in time; `TENURE_CLOSED` if none can come any more. Blocks up to
/// `timeout_ms`; any thread, each event goes to one caller. The caller frees `*event`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_client_poll_event(
    client: *mut tenure_client,
    event: *mut *mut tenure_event,
    timeout_ms: i64,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = Out::new("event", event)?;
        let next = wait::complete(of(client)?.next_event(wait::limit(timeout_ms)));
        let next = next.ok_or_else(|| none_came(timeout_ms))?;
        let made = handle::give::<tenure_event>(event::Inside::new(next))?;
        // SAFETY: the header asks for a place for one pointer.
        unsafe { out.write(made.as_ptr()) };
        Ok(())
    })
}

#[cold]
fn none_came(timeout_ms: i64) -> Error {
    match timeout_ms {
        0 => Error::new(Status::WouldBlock, "no event is queued"),
        ..0 => Error::new(Status::Closed, "the client is closed: no event will come"),
        _ => Error::new(Status::TimedOut, format!("no event within {timeout_ms} ms")),
    }
}

/// A descriptor that polls readable while events are queued: put it into `poll`, `epoll` or an
/// event loop, then call `tenure_client_poll_event` with 0 until it answers `TENURE_WOULD_BLOCK`.
/// Do not read, write or close it. -1 if there is no such client. Belongs to the client. Never
/// blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_client_event_fd(client: *const tenure_client) -> c_int {
    fact(-1, || handle::with(client, |c| Ok(c.client.event_fd())))
}

/// The client's counters in Prometheus text form. Returns `TENURE_OK`. Never blocks; any thread.
/// The caller frees `*text`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_client_metrics_text(
    client: *const tenure_client,
    text: *mut *mut tenure_text,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = Out::new("text", text)?;
        let metrics = of(client)?.metrics_text();
        let made = handle::give::<tenure_text>(text::new(&metrics))?;
        // SAFETY: the header asks for a place for one pointer.
        unsafe { out.write(made.as_ptr()) };
        Ok(())
    })
}
