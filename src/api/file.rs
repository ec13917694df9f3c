//! Writing an append-only file.
//!
//! A writer copies bytes into packets of 64 KiB and returns; a task in the background sends them
//! and moves [`FileWriter::acked`]. What is acked is stored, stays, and is seen by every reader
//! that looks afterwards. What is not acked yet may or may not be stored: after a crash the next
//! writer keeps a prefix of it. The window (`max_packets`, and the process's `memory_budget`)
//! bounds what is un-acked; beyond it `write` waits.
//!
//! A writer is over after the first error that is not about waiting (`Fenced`, `LeaseLost`,
//! `OutcomeUnknown`, `Closed`): that first error is told again by every later call. `TimedOut`
//! undoes nothing and ends nothing. All methods may be called from any thread at once.

use super::client::{Client, Wait};
use crate::base::{Epoch, FilePath, Result};
use crate::decide::opening::Mode;
use crate::drive::authority::Authority;
use crate::drive::context::FileContext;
use crate::drive::fork::Owned;
use crate::drive::writer::Writer;
use crate::drive::{open_file, stat};
use crate::wire::manifest::{FileState, Manifest};
use std::sync::Arc;

/// What `create` does with a path that exists.
#[derive(Clone, Copy, Debug, Default)]
pub struct CreateOptions {
    /// Replace an existing file (its former writer is fenced) instead of `AlreadyExists`.
    pub overwrite: bool,
}

/// The one admitted writer of a file. Dropping it without close aborts: the lease is released, the
/// file stays open for recovery.
#[derive(Debug)]
pub struct FileWriter {
    writer: Owned<Writer>,
    path: FilePath,
    epoch: Epoch,
    /// Keeps session and threads alive. Dropped last.
    _client: Option<Client>,
}

impl FileWriter {
    /// Becomes the writer under a lease that is held. The authority is taken over: on any error it
    /// was released. Recovery of a file that needs none gives a writer that is closed from birth.
    /// Errors: `NotFound`, `AlreadyExists`, `Fenced`, `LeaseLost`, `Corrupt` naming the object,
    /// `StoreUnavailable` (nothing was changed) or `OutcomeUnknown`. Dropping the future cancels
    /// nothing: the writer, once there, is dropped.
    #[doc(hidden)]
    pub async fn open(
        ctx: FileContext,
        path: FilePath,
        mode: Mode,
        authority: Arc<dyn Authority>,
    ) -> Result<FileWriter> {
        let writer = Writer::open(ctx, path.clone(), mode, authority).await?;
        let epoch = writer.epoch();
        Ok(FileWriter { writer: Owned::new(writer), path, epoch, _client: None })
    }

    /// Keeps this client alive as long as the writer.
    pub(super) fn keeping(self, client: &Client) -> FileWriter {
        FileWriter { _client: Some(client.clone()), ..self }
    }

    /// Copies bytes into the window, never blocks; takes nothing unless all of it fits now
    /// (`WouldBlock`). Any thread; calls are serialised. More than a whole window is
    /// `InvalidArgument`: it would never fit.
    #[inline]
    pub fn try_write(&self, bytes: &[u8]) -> Result<()> {
        self.writer.get()?.try_write(bytes)
    }

    /// Copies bytes into the window, waiting for room. Returns how many were taken: all, or fewer
    /// with the error that stopped it. At most a window of bytes is taken whole or not at all, and
    /// stays contiguous among concurrent calls; more than that is taken in parts.
    pub async fn write(&self, bytes: &[u8], wait: Wait) -> (usize, Result<()>) {
        match self.writer.get() {
            Ok(writer) => writer.write(bytes, wait).await,
            Err(forked) => (0, Err(forked)),
        }
    }

    /// Blocking twin of [`FileWriter::write`] for threads that are not in a runtime.
    pub fn write_blocking(&self, bytes: &[u8], wait: Wait) -> (usize, Result<()>) {
        let writer = match self.writer.get() {
            Ok(writer) => writer,
            Err(forked) => return (0, Err(forked)),
        };
        match writer.try_write(bytes) {
            Ok(()) => (bytes.len(), Ok(())),
            Err(_) => writer.data().block_on(writer.write(bytes, wait)),
        }
    }

    /// Waits until every byte written before this call is acked: stored and visible to new readers.
    /// With nothing new it sends nothing. After a close it does nothing. Errors: `TimedOut` (call
    /// again), or why the writer is over ([`FileWriter::acked`] tells how far it got).
    pub async fn hflush(&self, wait: Wait) -> Result<()> {
        self.writer.get()?.flush(wait).await
    }

    /// As `hflush`, and durable against power failure of the store's own promise: every store here
    /// acknowledges only what is durable, so it is the same wait.
    pub async fn hsync(&self, wait: Wait) -> Result<()> {
        self.writer.get()?.flush(wait).await
    }

    /// File length including bytes not acked yet; 0 in a forked child.
    pub fn position(&self) -> u64 {
        self.writer.get().map_or(0, Writer::position)
    }

    /// File length up to which every byte is acked. Goes on answering after the writer is over; 0
    /// in a forked child.
    pub fn acked(&self) -> u64 {
        self.writer.get().map_or(0, Writer::acked)
    }

    /// The lease's epoch.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The path.
    pub fn path(&self) -> &str {
        self.path.as_str()
    }

    /// Flushes, finalises the file, releases the lease. After `TimedOut` call again; the first
    /// error is told once more. Idempotent. From the first call on the writer accepts no bytes. A
    /// call after one that told the error is `Ok` and changes nothing.
    pub async fn close(&self, wait: Wait) -> Result<()> {
        self.writer.get()?.close(wait).await
    }

    /// Stops at once: nothing further is sent, the lease is released in the background, the tail
    /// waits for the next writer. Idempotent.
    pub fn abort(&self) {
        if let Ok(writer) = self.writer.get() {
            writer.abort();
        }
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

/// What the manifest of `path` says: one GET. `NotFound` if there is no such file.
#[doc(hidden)]
pub async fn stat(ctx: &FileContext, path: &FilePath) -> Result<FileStat> {
    let manifest = stat::stat(ctx, path).await?;
    Ok(FileStat::of(path, &manifest))
}

/// Every file whose path begins with `prefix`, in path order: one LIST and one GET each.
#[doc(hidden)]
pub async fn list(ctx: &FileContext, prefix: &str) -> Result<Vec<FileStat>> {
    let found = stat::list(ctx, prefix).await?;
    Ok(found.iter().map(|(path, manifest)| FileStat::of(path, manifest)).collect())
}

/// Deletes a file under its lease, which is released. Its former writer is sealed out; a tombstone
/// stays. `NotFound` if there is no such file.
#[doc(hidden)]
pub async fn delete(ctx: FileContext, path: FilePath, authority: Arc<dyn Authority>) -> Result<()> {
    open_file::open(ctx, path, Mode::Delete, authority).await.map(drop)
}

impl FileStat {
    fn of(path: &FilePath, manifest: &Manifest) -> FileStat {
        FileStat {
            path: path.as_str().to_owned(),
            length: manifest.length,
            closed: manifest.state == FileState::Closed,
            epoch: manifest.epoch,
            blocks: manifest.blocks.len(),
            incarnation: manifest.incarnation,
        }
    }
}
