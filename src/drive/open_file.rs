//! Sending what `decide::opening` asks for.
//!
//! Question: how does a machine that asks become requests? Rule: each ask is one request; a read
//! that fails is repeated with growing pauses, a swap never is: its answer, or the lack of one,
//! goes to the machine. The whole is bounded by `ack_timeout`, and runs as a task of its own: a
//! caller that goes away cancels nothing; the writer nobody waits for is dropped, which releases
//! the lease. On failure the lease is given back here, marked for recovery if a swap of ours may
//! still land. What is not here: acquiring the lease (the client), the rules.

use super::authority::Authority;
use super::backoff::Backoff;
use super::buffer::Buffer;
use super::context::{FileContext, is_transient};
use super::owner::Owner;
use super::stream::Live;
use crate::base::{Error, FilePath, Id128, Result, Status, Version, WriterId};
use crate::decide::Answer;
use crate::decide::opening::{Ask, Heard, Mode, Opened, Opening};
use crate::decide::tail;
use crate::decide::window::Window;
use crate::store::{Outcome, Payload};
use crate::wire::key;
use crate::wire::manifest::Manifest;
use crate::wire::segment;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio::time::timeout;

/// How an opening ended.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per open, moved once")]
pub(crate) enum Start {
    /// We are the writer; its streamer runs.
    Writing(Live),
    /// Nothing had to be done; the lease was given back.
    Nothing(Option<Manifest>),
    /// The file was deleted; the lease was given back.
    Deleted,
}

/// Becomes the writer, recovers or deletes. Takes over the authority: on error, or when nothing is
/// left to write, it was released.
pub(crate) async fn open(
    ctx: FileContext,
    path: FilePath,
    mode: Mode,
    authority: Arc<dyn Authority>,
) -> Result<Start> {
    let data = ctx.world.data.clone();
    let task = data.spawn(async move { run(ctx, path, mode, authority).await });
    task.await.unwrap_or_else(|e| {
        Err(Error::new(Status::Internal, "the task that opens the file ended").because(e))
    })
}

async fn run(
    ctx: FileContext,
    path: FilePath,
    mode: Mode,
    authority: Arc<dyn Authority>,
) -> Result<Start> {
    let (me, file_id) = (ctx.world.chance.id(), ctx.world.chance.id());
    let name = path.as_str();
    let machine = Opening::new(name, mode, authority.epoch(), me, file_id, ctx.world.mutant);
    let mut sender =
        Sender { ctx, path, authority, me, machine, version: None, named_at: 0, last: None };
    match sender.until_open().await {
        Ok(Opened::Writing(manifest)) => Ok(sender.start(manifest)),
        Ok(Opened::Nothing(found)) => {
            sender.authority.release(false);
            Ok(Start::Nothing(found))
        }
        Ok(Opened::Deleted) => {
            sender.authority.release(false);
            Ok(Start::Deleted)
        }
        Err(error) => {
            match sender.machine.has_swapped() {
                true => sender.authority.release(true),
                false => sender.authority.leave(),
            }
            Err(error)
        }
    }
}

struct Sender {
    ctx: FileContext,
    path: FilePath,
    authority: Arc<dyn Authority>,
    me: Id128,
    machine: Opening,
    version: Option<Version>,
    named_at: u64,
    last: Option<Error>,
}

impl Sender {
    async fn until_open(&mut self) -> Result<Opened> {
        let limit = self.ctx.config.ack_timeout;
        match timeout(limit, self.ask_all()).await {
            Ok(opened) => opened,
            Err(_) => {
                let status = match self.machine.has_swapped() {
                    true => Status::OutcomeUnknown,
                    false => Status::StoreUnavailable,
                };
                let what = format!("the file could not be opened within {} ms", limit.as_millis());
                let error = Error::new(status, what).on(&self.path);
                Err(match self.last.take() {
                    Some(cause) => error.because(cause),
                    None => error,
                })
            }
        }
    }

    async fn ask_all(&mut self) -> Result<Opened> {
        let mut ask = Ask::Read;
        let mut backoff = Backoff::default();
        loop {
            let heard = match ask {
                Ask::Done(opened) => {
                    if matches!(*opened, Opened::Writing(_)) {
                        self.authority.wait_valid().await?;
                    }
                    return Ok(*opened);
                }
                Ask::Read => Heard::Manifest(self.read(&mut backoff).await?),
                Ask::Touch => {
                    self.authority.touch().await?;
                    Heard::Touched
                }
                Ask::Raise(epoch) => match self.authority.raise(epoch).await {
                    Ok(raised) => Heard::Raised(raised),
                    Err(e) => return Err(self.outrun(e)),
                },
                Ask::Tail(file_id, ask) => {
                    Heard::Tail(self.tail(file_id, ask, &mut backoff).await?)
                }
                Ask::Swap { expect, manifest, begins } => {
                    Heard::Swapped(self.swap(expect, *manifest, begins, &mut backoff).await?)
                }
            };
            ask = self.machine.hear(heard)?;
        }
    }

    async fn read(&mut self, backoff: &mut Backoff) -> Result<Option<(Manifest, Version)>> {
        loop {
            match self.ctx.manifest(&self.path).await {
                Ok(found) => return Ok(found),
                Err(e) => self.pause(e, backoff).await?,
            }
        }
    }

    async fn swap(
        &mut self,
        expect: Option<Version>,
        mut manifest: Manifest,
        begins: bool,
        backoff: &mut Backoff,
    ) -> Result<Answer> {
        let world = &self.ctx.world;
        manifest.nonce = world.chance.id();
        if begins {
            // By the store's clock: the age of a dead incarnation's seals is judged by it.
            let store_time = self.authority.store_time().await;
            manifest.first_at = store_time.unwrap_or_else(|| world.clock.wall()).0;
        }
        let body = manifest.encode()?;
        let sent_at = world.clock.now();
        match self.ctx.swap(&self.path, expect.as_ref(), body).await {
            Outcome::Landed(version) => {
                self.named_at = sent_at.0;
                self.version = Some(version);
                Ok(Answer::Landed)
            }
            Outcome::Refused => {
                backoff.pause(&self.ctx.world).await;
                Ok(Answer::Refused)
            }
            Outcome::Unknown(e) => {
                self.last = Some(e);
                backoff.pause(&self.ctx.world).await;
                Ok(Answer::Unknown)
            }
        }
    }

    async fn tail(
        &mut self,
        file_id: Id128,
        ask: tail::Ask,
        backoff: &mut Backoff,
    ) -> Result<tail::Heard> {
        match ask {
            tail::Ask::List { dir, from } => loop {
                match self.list(file_id, dir, from).await {
                    Ok(rows) => return Ok(tail::Heard::Rows(rows)),
                    Err(e) => self.pause(e, backoff).await?,
                }
            },
            tail::Ask::Seal { dir, seq } => {
                let by = WriterId { epoch: self.authority.epoch(), open: 0 };
                let body: Payload = segment::seal(by, self.me, seq, 0).into();
                let key = key::segment_at(file_id, dir, seq);
                let create = self.ctx.store.blobs.create(&key, body);
                Ok(tail::Heard::Sealed(match self.ctx.send(&key, create).await {
                    Outcome::Landed(_) => Answer::Landed,
                    Outcome::Refused => Answer::Refused,
                    Outcome::Unknown(e) => {
                        self.last = Some(e);
                        backoff.pause(&self.ctx.world).await;
                        Answer::Unknown
                    }
                }))
            }
            tail::Ask::Look { dir, seq } => loop {
                let key = key::segment_at(file_id, dir, seq);
                let range = Some(0..segment::object_size(1));
                match self.ctx.ask(&key, self.ctx.store.blobs.read(&key, range)).await {
                    Ok(None) => {
                        backoff.pause(&self.ctx.world).await;
                        return Ok(tail::Heard::LookedAbsent);
                    }
                    Ok(Some(found)) => {
                        return Ok(tail::Heard::LookedAt { size: found.len() as u64 });
                    }
                    Err(e) => self.pause(e, backoff).await?,
                }
            },
            tail::Ask::Done => Ok(tail::Heard::LookedAbsent),
        }
    }

    async fn list(&self, file_id: Id128, dir: WriterId, from: u64) -> Result<Vec<(u64, u64)>> {
        list_segments(&self.ctx, file_id, dir, from).await
    }

    async fn pause(&mut self, error: Error, backoff: &mut Backoff) -> Result<()> {
        if !is_transient(&error) {
            return Err(error);
        }
        self.last = Some(error);
        backoff.pause(&self.ctx.world).await;
        Ok(())
    }

    /// The manifest has a newer epoch than the lease, and the lease record could not be raised:
    /// somebody else holds it.
    fn outrun(&self, cause: Error) -> Error {
        if !cause.status().is_fenced() {
            return cause;
        }
        let what = "a holder with a newer epoch writes the file";
        let mut error = Error::new(Status::Fenced, what).on(&self.path);
        if let Some(epoch) = cause.epoch() {
            error = error.at(epoch);
        }
        if let Some(holder) = cause.holder() {
            error = error.held_by(holder);
        }
        error.because(cause)
    }

    fn start(self, manifest: Manifest) -> Start {
        let ctx = self.ctx;
        let config = &ctx.config;
        let window =
            Window::new(manifest.length, config.segment_max, config.in_flight, ctx.world.mutant);
        let limit = config.window();
        let buffer = Buffer::new(self.path.as_str(), window, limit, ctx.budget.clone());
        let owner = Owner {
            path: self.path,
            file_id: manifest.file_id,
            id: manifest.writer_id(),
            nonce: self.me,
            authority: self.authority,
            named_at: AtomicU64::new(self.named_at),
            manifest: std::sync::Mutex::new((manifest, self.version.unwrap_or_default())),
            ctx,
        };
        Start::Writing(Live::start(owner, buffer))
    }
}

/// Sequence numbers and sizes of the objects in a writer's directory, ascending, from `from`.
pub(crate) async fn list_segments(
    ctx: &FileContext,
    file_id: Id128,
    dir: WriterId,
    from: u64,
) -> Result<Vec<(u64, u64)>> {
    let prefix = key::data_dir(file_id, dir);
    let first = key::segment_at(file_id, dir, from);
    let rows = ctx.ask(&prefix, ctx.store.blobs.list(&prefix, Some(&first))).await?;
    let numbered = rows.iter().filter_map(|row| {
        let seq = row.key.strip_prefix(&prefix)?.parse::<u64>().ok()?;
        (seq >= from).then_some((seq, row.size))
    });
    Ok(numbered.collect())
}
