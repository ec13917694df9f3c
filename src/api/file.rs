//! Writing an append-only file.

use super::client::Wait;
use crate::base::{Epoch, Result};

/// What `create` does with a path that exists.
#[derive(Clone, Copy, Debug, Default)]
pub struct CreateOptions {
    /// Replace an existing file (its former writer is fenced) instead of `AlreadyExists`.
    pub overwrite: bool,
}

/// The one admitted writer of a file. Dropping it without close aborts: the lease is released, the file stays open for recovery.
#[derive(Debug)]
pub struct FileWriter {}

impl FileWriter {
    /// Copies bytes into the window, never blocks; takes nothing unless all of it fits now (`WouldBlock`). Any thread; calls are serialised.
    pub fn try_write(&self, bytes: &[u8]) -> Result<()> {
        todo!()
    }
    /// Copies bytes into the window, waiting for room. Returns how many were taken: all, or fewer with the error that stopped it.
    pub async fn write(&self, bytes: &[u8], wait: Wait) -> (usize, Result<()>) {
        todo!()
    }
    /// Blocking twin of [`FileWriter::write`] for threads that are not in a runtime.
    pub fn write_blocking(&self, bytes: &[u8], wait: Wait) -> (usize, Result<()>) {
        todo!()
    }
    /// Waits until every byte written before this call is acked: stored and visible to new readers.
    pub async fn hflush(&self, wait: Wait) -> Result<()> {
        todo!()
    }
    /// As `hflush`, and durable against power failure of the store's own promise.
    pub async fn hsync(&self, wait: Wait) -> Result<()> {
        todo!()
    }
    /// File length including bytes not acked yet.
    pub fn position(&self) -> u64 {
        todo!()
    }
    /// File length up to which every byte is acked. Goes on answering after the writer is over.
    pub fn acked(&self) -> u64 {
        todo!()
    }
    /// The lease's epoch.
    pub fn epoch(&self) -> Epoch {
        todo!()
    }
    /// The path.
    pub fn path(&self) -> &str {
        todo!()
    }
    /// Flushes, finalises the file, releases the lease. After `TimedOut` call again; the first error is told once more. Idempotent.
    pub async fn close(&self, wait: Wait) -> Result<()> {
        todo!()
    }
    /// Stops at once: nothing further is sent, the lease is released in the background, the tail waits for the next writer. Idempotent.
    pub fn abort(&self) {
        todo!()
    }
}

/// A file as its manifest tells it.
#[derive(Clone, Debug)]
pub struct FileStat {
    /// The path.
    pub path: String,
    /// Finalised length; an open file may be longer (see `FileReader::visible_length`).
    pub length: u64,
    /// Whether it is closed.
    pub closed: bool,
    /// The epoch of its last writer.
    pub epoch: Epoch,
    /// Finalised blocks.
    pub blocks: usize,
    /// Which life of this path it is, from 1.
    pub incarnation: u64,
}
