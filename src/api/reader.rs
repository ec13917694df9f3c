//! Reading an append-only file, also while it is written.
//!
//! A reader sees finalised blocks and the contiguous part of the open tail. It may show bytes that
//! are stored but not acked yet; they are never withdrawn.

use super::client::{Client, Wait};
use crate::base::{FilePath, Result};
use crate::drive::context::FileContext;
use crate::drive::fork::Owned;
use crate::drive::reader::Reader;
use bytes::Bytes;
use std::sync::Arc;

/// A reader bound to one incarnation of a file. What it has shown never shrinks or changes. Never
/// asks the lease. Any thread, any executor; when the path is deleted or replaced, looking again is
/// `NotFound` for good.
#[derive(Debug)]
pub struct FileReader {
    reader: Owned<Arc<Reader>>,
    /// Keeps the threads alive. Dropped last.
    _client: Option<Client>,
}

impl FileReader {
    /// Opens a file for reading: two or three requests. `NotFound` if there is no such file.
    #[doc(hidden)]
    pub async fn open(ctx: FileContext, path: FilePath) -> Result<FileReader> {
        let data = ctx.world.data.clone();
        let reader = on(&data, async move { Reader::open(ctx, path).await }).await?;
        Ok(FileReader { reader: Owned::new(Arc::new(reader)), _client: None })
    }

    /// Keeps this client alive as long as the reader.
    pub(super) fn keeping(self, client: &Client) -> FileReader {
        FileReader { _client: Some(client.clone()), ..self }
    }

    /// Up to `len` bytes from `offset`: fewer only at the visible end, none beyond it. Damage is
    /// `Corrupt` with the object's name. Every byte was checked against its checksum. Large ranges
    /// fetch up to eight segments at once.
    pub async fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        let reader = Arc::clone(self.reader.get()?);
        on(&reader.context().world.data.clone(), async move { reader.read_at(offset, len).await })
            .await
    }

    /// The length visible at the last refresh. Memory only.
    pub fn visible_length(&self) -> u64 {
        self.reader.get().map_or(0, |r| r.view().length())
    }

    /// Whether the file was closed at the last refresh.
    pub fn is_closed(&self) -> bool {
        self.reader.get().is_ok_and(|r| r.view().is_closed())
    }

    /// Looks again; returns the visible length. Three requests for an open file, one for a closed
    /// one.
    pub async fn refresh(&self) -> Result<u64> {
        let reader = Arc::clone(self.reader.get()?);
        on(&reader.context().world.data.clone(), async move { reader.refresh().await }).await
    }

    /// Follows: returns the visible length once it is at least `length` or the file is closed;
    /// `TimedOut` after `wait`.
    pub async fn wait(&self, length: u64, wait: Wait) -> Result<u64> {
        let reader = Arc::clone(self.reader.get()?);
        let ctx = reader.context().clone();
        let data = ctx.world.data.clone();
        let follow = async move {
            let waited = reader.follow(length);
            ctx.within(wait, "the wait for the file's length", waited).await.and_then(|r| r)
        };
        on(&data, follow).await
    }
}

/// Runs on the data runtime, whatever executor awaits it; ends with its caller.
async fn on<T: Send + 'static>(
    data: &tokio::runtime::Handle,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let mut task = tokio::task::JoinSet::new();
    task.spawn_on(work, data);
    match task.join_next().await {
        Some(Ok(done)) => done,
        Some(Err(e)) => Err(stopped().because(e)),
        None => Err(stopped()),
    }
}

fn stopped() -> crate::base::Error {
    crate::base::Error::new(crate::base::Status::Closed, "the client's runtime was shut down")
}
