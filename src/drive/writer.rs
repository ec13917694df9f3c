//! A writer's handle: waiting for room, acks and the close.
//!
//! Question: who waits for what, and what ends a wait? Rule: a wait registers *before* it looks, so
//! that no wake-up falls between; it ends by ack, error, close, abort or deadline, and a deadline
//! undoes nothing. A caller that has to wait for room takes a turn; until it is served, others
//! queue behind it, so a large write is neither torn apart nor starved by small ones. Whoever waits
//! for room first has the open packet sent: bytes that sit in it are un-acked too, and a window
//! full of them would never drain.
//!
//! Invariants: `file_backpressure::*`, `file_close::{close_tells_the_first_error_once,
//! flush_after_close_does_nothing}`. What is not here: the copy (`drive::buffer`), sending
//! (`drive::stream`), opening (`drive::open_file`).

use super::authority::Authority;
use super::buffer::{Buffer, Phase};
use super::context::FileContext;
use super::open_file::{Start, open};
use super::stream::Live;
use crate::base::{Epoch, Error, FilePath, Result, Status};
use crate::decide::opening::Mode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;

/// The one admitted writer of a file.
#[derive(Debug)]
pub(crate) struct Writer {
    ctx: FileContext,
    path: FilePath,
    epoch: Epoch,
    /// Length at birth of a writer that never had anything to do.
    length: u64,
    live: Option<Live>,
    turn: Semaphore,
    waiting: AtomicUsize,
    error_told: AtomicBool,
}

impl Writer {
    pub(crate) async fn open(
        ctx: FileContext,
        path: FilePath,
        mode: Mode,
        authority: Arc<dyn Authority>,
    ) -> Result<Writer> {
        let epoch = authority.epoch();
        let start = open(ctx.clone(), path.clone(), mode, authority).await?;
        let (live, length, epoch) = match start {
            Start::Writing(live) => {
                let epoch = live.owner.id.epoch;
                (Some(live), 0, epoch)
            }
            Start::Nothing(found) => (None, found.map_or(0, |m| m.length), epoch),
            Start::Deleted => (None, 0, epoch),
        };
        Ok(Writer {
            ctx,
            path,
            epoch,
            length,
            live,
            turn: Semaphore::new(1),
            waiting: AtomicUsize::new(0),
            error_told: AtomicBool::new(false),
        })
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(crate) fn position(&self) -> u64 {
        self.live.as_ref().map_or(self.length, |l| l.buffer.position())
    }

    pub(crate) fn acked(&self) -> u64 {
        self.live.as_ref().map_or(self.length, |l| l.buffer.acked())
    }

    pub(crate) fn data(&self) -> &tokio::runtime::Handle {
        &self.ctx.world.data
    }

    fn buffer(&self) -> Result<&Buffer> {
        match &self.live {
            Some(live) => Ok(&live.buffer),
            None => Err(Error::new(Status::Closed, "the writer was closed").on(&self.path)),
        }
    }

    #[inline]
    pub(crate) fn try_write(&self, bytes: &[u8]) -> Result<()> {
        let buffer = self.buffer()?;
        if self.waiting.load(Ordering::Acquire) == 0 && buffer.put(bytes)? {
            return Ok(());
        }
        if bytes.len() > buffer.limit() {
            let what =
                format!("{} bytes, expected at most the window of {}", bytes.len(), buffer.limit());
            return Err(Error::new(Status::InvalidArgument, what).on(&self.path));
        }
        buffer.flush()?;
        Err(Error::new(Status::WouldBlock, "the window is full").on(&self.path))
    }

    pub(crate) async fn write(&self, bytes: &[u8], wait: Option<Duration>) -> (usize, Result<()>) {
        let buffer = match self.buffer() {
            Ok(buffer) => buffer,
            Err(e) => return (0, Err(e)),
        };
        if self.waiting.load(Ordering::Acquire) == 0 {
            match buffer.put(bytes) {
                Ok(true) => return (bytes.len(), Ok(())),
                Ok(false) => {}
                Err(e) => return (0, Err(e)),
            }
        }
        let mut taken = 0;
        let waited = self.wait_for_room(buffer, bytes, &mut taken);
        let written = self.ctx.within(wait, "the wait for room in the window", waited).await;
        let told = written.and_then(|r| r).map_err(|e| match e.status() {
            Status::TimedOut => e.on(&self.path),
            _ => e,
        });
        (taken, told)
    }

    async fn wait_for_room(&self, buffer: &Buffer, bytes: &[u8], taken: &mut usize) -> Result<()> {
        let _waiting = Waiting::new(&self.waiting);
        let _turn = self.turn.acquire().await;
        let whole = bytes.len() <= buffer.limit();
        loop {
            let mut moved = std::pin::pin!(buffer.moved.notified());
            let mut freed = std::pin::pin!(self.ctx.budget.freed.notified());
            moved.as_mut().enable();
            freed.as_mut().enable();
            let now = match whole {
                true if buffer.put(bytes)? => bytes.len(),
                true => 0,
                false => buffer.put_some(&bytes[*taken..])?,
            };
            *taken += now;
            if *taken == bytes.len() {
                return Ok(());
            }
            if now == 0 {
                buffer.flush()?;
                futures::future::select(moved, freed).await;
            }
        }
    }

    pub(crate) async fn flush(&self, wait: Option<Duration>) -> Result<()> {
        let Some(Live { buffer, .. }) = &self.live else { return Ok(()) };
        let Some(target) = buffer.flush()? else { return Ok(()) };
        let acked = self.until(buffer, |phase, acked| match phase {
            _ if acked >= target => Some(Ok(())),
            Phase::Open | Phase::Closing => None,
            Phase::Closed => Some(Ok(())),
            over => Some(Err(buffer.refusal(over))),
        });
        self.ctx.within(wait, "the wait for acks", acked).await.and_then(|r| r)
    }

    pub(crate) async fn close(&self, wait: Option<Duration>) -> Result<()> {
        let Some(Live { buffer, owner, .. }) = &self.live else { return Ok(()) };
        buffer.begin_close();
        let closed = async {
            let closed = self.until_closed(buffer).await;
            if closed.is_ok() {
                // So that the next writer, here or elsewhere, need not wait for it.
                owner.authority.settled().await;
            }
            closed
        };
        self.ctx.within(wait, "the close", closed).await.and_then(|r| r)
    }

    async fn until_closed(&self, buffer: &Buffer) -> Result<()> {
        self.until(buffer, |phase, _| match phase {
            Phase::Closing => None,
            Phase::Closed => Some(Ok(())),
            Phase::Failed(first) => Some(self.tell_once(first)),
            Phase::Aborted => Some(Err(buffer.refusal(phase))),
            // Only the mutant without `CloseIsFinal` comes back here.
            Phase::Open => {
                Some(Err(Error::new(Status::OutcomeUnknown, "the close was not answered")))
            }
        })
        .await
    }

    fn tell_once(&self, first: &Error) -> Result<()> {
        if self.error_told.swap(true, Ordering::AcqRel) { Ok(()) } else { Err(first.clone()) }
    }

    async fn until<T>(
        &self,
        buffer: &Buffer,
        mut look: impl FnMut(&Phase, u64) -> Option<Result<T>>,
    ) -> Result<T> {
        loop {
            let mut moved = std::pin::pin!(buffer.moved.notified());
            moved.as_mut().enable();
            if let Some(seen) = look(&buffer.phase(), buffer.acked()) {
                return seen;
            }
            moved.await;
        }
    }

    pub(crate) fn abort(&self) {
        if let Some(live) = &self.live {
            live.abort();
        }
    }
}

/// Counts callers that wait for room, also when their future is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Waiting<'a> {
        count.fetch_add(1, Ordering::AcqRel);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
