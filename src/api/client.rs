//! A client: one process's connection to one base URL, owning one session.

use super::{CreateOptions, FileReader, FileStat, FileWriter, Lease, LeaseInfo};
use crate::base::{Config, Event, Kind, Result};
use crate::store::probe::Report;
use std::time::Duration;

/// One process's connection to one base URL. Cheap to clone; all clones are one session.
#[derive(Clone, Debug)]
pub struct Client {}

/// How long a call may wait: `None` for ever, zero polls.
pub type Wait = Option<Duration>;

impl Client {
    /// Connects. Checks URL and configuration, sends nothing: the session starts with the first acquire, create or append.
    pub async fn open(url: &str, config: Config) -> Result<Client> {
        todo!()
    }
    /// The session's identity, 32 hexadecimal digits.
    pub fn id(&self) -> &str {
        todo!()
    }
    /// Acquires the bare lease `name`, waiting for its holder up to `wait`.
    pub async fn acquire(&self, name: &str, wait: Wait) -> Result<Lease> {
        todo!()
    }
    /// What the record of a resource says. Needs no session.
    pub async fn inspect(&self, kind: Kind, name: &str) -> Result<LeaseInfo> {
        todo!()
    }
    /// Every lease record, of one kind or of all.
    pub async fn leases(&self, kind: Option<Kind>) -> Result<Vec<LeaseInfo>> {
        todo!()
    }
    /// Takes a lease away from a holder that showed no life for `observe`; anything moved is `LeaseHeld`.
    pub async fn break_lease(
        &self,
        kind: Kind,
        name: &str,
        observe: Duration,
        note: &str,
    ) -> Result<LeaseInfo> {
        todo!()
    }
    /// Creates a file and becomes its writer.
    pub async fn create(
        &self,
        path: &str,
        options: CreateOptions,
        wait: Wait,
    ) -> Result<FileWriter> {
        todo!()
    }
    /// Becomes the writer of an existing file, recovering its tail if the former writer left one.
    pub async fn append(&self, path: &str, wait: Wait) -> Result<FileWriter> {
        todo!()
    }
    /// Opens a file for reading; never asks the lease.
    pub async fn open_file(&self, path: &str) -> Result<FileReader> {
        todo!()
    }
    /// What the manifest says.
    pub async fn stat(&self, path: &str) -> Result<FileStat> {
        todo!()
    }
    /// All files whose path starts with `prefix` (empty: all), in path order.
    pub async fn files(&self, prefix: &str) -> Result<Vec<FileStat>> {
        todo!()
    }
    /// Asks the store for everything this library depends on (PROTOCOL §7).
    pub async fn doctor(&self) -> Result<Report> {
        todo!()
    }
    /// The next event, or `None` after `wait`.
    pub async fn next_event(&self, wait: Wait) -> Option<Event> {
        todo!()
    }
    /// A descriptor that is readable while events are queued. Owned by the client.
    pub fn event_fd(&self) -> std::os::fd::RawFd {
        todo!()
    }
    /// Counters in Prometheus text form.
    pub fn metrics_text(&self) -> String {
        todo!()
    }
    /// Releases every lease, ends the session and waits for both, at most `wait`. Idempotent.
    pub async fn close(&self, wait: Wait) -> Result<()> {
        todo!()
    }
}
