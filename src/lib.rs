//! Who may write?
//!
//! For every resource in an object store (a file, or anything you guard with a lease) tenure admits
//! one writer at a time, and makes sure that a writer which lost its turn without noticing can do
//! no harm. What it does not give: takeover in milliseconds, several writers at once, or safety for
//! something that does not look at the token.
//!
//! # A lease, a file, a reader
//!
//! ```
//! use std::time::Duration;
//! use tenure::drive::authority::Validity;
//! use tenure::{Client, Config, CreateOptions, Status};
//!
//! # fn main() -> Result<(), tenure::Error> {
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! // A client is one process's place in a base URL. `s3://bucket/base` or `file:///folder` would
//! // do as well; opening sends nothing.
//! let ours = Client::open("memory://tutorial", Config::default()).await?;
//!
//! // A lease is held by one client at a time. Its epoch is the fencing token: it only grows, and
//! // whatever the lease guards should refuse a smaller one than it has seen.
//! let lease = ours.acquire("orders/0", None).await?;
//! let token = lease.epoch();
//!
//! // Ask before every act. It reads memory and one clock, and counts from the moment the last
//! // renewal was sent: a process that was frozen finds out here.
//! assert!(matches!(lease.check(), Validity::Valid(_)));
//!
//! // Somebody else is told who holds it, and when to try again.
//! let theirs = Client::open("memory://tutorial", Config::default()).await?;
//! let refused = theirs.acquire("orders/0", Some(Duration::ZERO)).await.unwrap_err();
//! assert_eq!(refused.status(), Status::LeaseHeld);
//! assert_eq!(refused.epoch(), Some(token));
//!
//! // Released, it is theirs under a larger token. (Of a crashed holder: after its soft limit.)
//! lease.release(None).await?;
//! let next = theirs.acquire("orders/0", None).await?;
//! assert!(next.epoch() > token);
//!
//! // A file takes its lease by itself. `write` copies into a window and returns; after `hflush`
//! // the bytes are stored, and stay whoever writes next.
//! let log = ours.create("logs/today", CreateOptions::default(), None).await?;
//! let (taken, written) = log.write(b"one line\n", None).await;
//! written?;
//! log.hflush(None).await?;
//! assert_eq!(log.acked(), taken as u64);
//!
//! // Readers never ask a lease and wait for nobody. What they have seen never changes.
//! let reader = theirs.open_file("logs/today").await?;
//! assert_eq!(reader.read_at(0, 1_024).await?, "one line\n");
//!
//! // The writer goes without a word. The next one seals what it left, keeps every acked byte, and
//! // goes on behind it; the reader follows.
//! log.abort();
//! let log = theirs.append("logs/today", None).await?;
//! log.write(b"another\n", None).await.1?;
//! log.close(None).await?;
//! let length = reader.wait(17, None).await?;
//! assert_eq!(reader.read_at(0, 1_024).await?, "one line\nanother\n");
//! assert!(length == 17 && reader.is_closed());
//!
//! // Dropping would do, in the background; closing waits until the others need not.
//! theirs.close(None).await?;
//! ours.close(None).await
//! # })
//! # }
//! ```
//!
//! # Where things are
//!
//! [`Client`] is the door: [`Lease`], [`FileWriter`] and [`FileReader`] come from it. An [`Error`]
//! has one [`Status`] that says what to do, and keeps an unknown outcome apart from a failure.
//! [`Config`] is one table of string keys, the same in every language. Events
//! ([`Client::next_event`]) tell what happens without being asked.
//!
//! Methods are async and run on the library's own threads, so any executor may await them, and
//! dropping a future undoes nothing. The layers below are public for those who test their own
//! engine on the simulated store (feature `sim`); their shapes may change in any version.
//!
//! `docs/guarantees.md` says call by call what holds, `docs/how-to-lose-data.md` how to break it,
//! `docs/protocol.md` why it is safe.

pub mod api;
pub mod base;
pub mod decide;
pub mod drive;
pub mod ffi;
#[cfg(feature = "sim")]
pub mod sim;
pub mod store;
pub mod wire;
pub use api::*;
pub use base::{Config, Epoch, Error, Event, EventKind, Kind, Result, Status};

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
