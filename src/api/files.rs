//! Files by path: becoming a writer, reading, looking.
//!
//! Rule: a writer's lease is acquired first and handed to the file code, which releases it on every
//! error; readers and lookers ask no lease and need read permission only.

use super::Client;
use super::client::Wait;
use super::file::{self, CreateOptions, FileStat, FileWriter};
use super::reader::FileReader;
use crate::base::{FilePath, Result};
use crate::decide::opening::Mode;
use crate::drive::budget::Budget;
use crate::drive::context::FileContext;
use crate::drive::fork::PerProcess;
use crate::drive::held::{self, Held};
use crate::drive::task::run_on;
use std::sync::Arc;

/// One budget for every writer of the process; the first client's `memory_budget` counts.
static BUDGET: PerProcess<Arc<Budget>> = PerProcess::new();

impl Client {
    /// Creates a file and becomes its writer, waiting for a holder of its lease up to `wait`.
    ///
    /// Errors: `AlreadyExists` unless `options.overwrite`; `LeaseHeld` with holder, epoch and
    /// retry-after; `Fenced` or `LeaseLost` if the lease went while opening.
    pub async fn create(
        &self,
        path: &str,
        options: CreateOptions,
        wait: Wait,
    ) -> Result<FileWriter> {
        let path = FilePath::new(path)?;
        self.write(path, Mode::Create { overwrite: options.overwrite }, wait).await
    }

    /// Becomes the writer of an existing file, sealing and finalising the tail its former writer
    /// left. Errors: `NotFound`, else as [`Client::create`].
    pub async fn append(&self, path: &str, wait: Wait) -> Result<FileWriter> {
        self.write(FilePath::new(path)?, Mode::Append, wait).await
    }

    /// Opens a file for reading. Never asks the lease, never waits for a writer. Errors:
    /// `NotFound`, `Corrupt` naming the object.
    pub async fn open_file(&self, path: &str) -> Result<FileReader> {
        let (path, ctx) = (FilePath::new(path)?, self.files_context()?);
        let data = ctx.world.data.clone();
        let reader = run_on(&data, async move { FileReader::open(ctx, path).await }).await?;
        Ok(reader.keeping(self))
    }

    /// What the manifest of a file says: one GET. Errors: `NotFound`.
    pub async fn stat(&self, path: &str) -> Result<FileStat> {
        let (path, ctx) = (FilePath::new(path)?, self.files_context()?);
        let data = ctx.world.data.clone();
        run_on(&data, async move { file::stat(&ctx, &path).await }).await
    }

    /// All files whose path starts with `prefix` (empty: all), in path order. One LIST and one GET
    /// a file.
    pub async fn files(&self, prefix: &str) -> Result<Vec<FileStat>> {
        let (prefix, ctx) = (prefix.to_owned(), self.files_context()?);
        let data = ctx.world.data.clone();
        run_on(&data, async move { file::list(&ctx, &prefix).await }).await
    }

    /// Deletes a file under its lease, waiting for a holder up to `wait`. A former writer is sealed
    /// out and told `Fenced`; a tombstone stays, so that the path's epochs are never reused.
    /// Errors: `NotFound`, else as [`Client::create`].
    pub async fn delete(&self, path: &str, wait: Wait) -> Result<()> {
        let (path, ctx) = (FilePath::new(path)?, self.files_context()?);
        let held = self.hold(&path, wait).await?;
        let data = ctx.world.data.clone();
        run_on(&data, async move { file::delete(ctx, path, Arc::new(held)).await }).await
    }

    async fn hold(&self, path: &FilePath, wait: Wait) -> Result<Held> {
        let (core, control) = self.on_control()?;
        let resource = path.resource();
        run_on(&control, async move { held::acquire(&core, &resource, wait, true).await }).await
    }

    async fn write(&self, path: FilePath, mode: Mode, wait: Wait) -> Result<FileWriter> {
        let ctx = self.files_context()?;
        let held = self.hold(&path, wait).await?;
        let data = ctx.world.data.clone();
        let opened = async move { FileWriter::open(ctx, path, mode, Arc::new(held)).await };
        Ok(run_on(&data, opened).await?.keeping(self))
    }

    fn files_context(&self) -> Result<FileContext> {
        self.inner.core.own_process()?;
        let core = &self.inner.core;
        let limit = self.inner.config.memory_budget;
        Ok(FileContext {
            world: core.world.clone(),
            store: core.store.clone(),
            config: Arc::clone(&self.inner.config),
            budget: Arc::clone(BUDGET.get(|| Arc::new(Budget::new(limit)))),
        })
    }
}
