//! The streamer: one task per writer that sends what its window offers.
//!
//! Question: what is sent when, and who learns of it? Rule: as long as fewer than `in_flight`
//! segments are un-acked, the lease's check is valid and a segment is due, it is sent; answers move
//! the ack in order. While the lease is *suspended* nothing new goes out (what is out is acked when
//! it lands: acks need no clock), the lease is proved again and the stream goes on under the same
//! epoch. *Lost* or fenced ends the writer with that error. The task is woken by its callers when a
//! segment is due, and by its own answers; never by time.
//!
//! A stream of its own per writer is what keeps one hanging request from stalling other files
//! (PARITY W92, `file_write::a_writer_whose_store_hangs_does_not_stall_others`). Closing is the
//! stream's last act, so a close that lost its caller still ends. If the task is dropped with its
//! runtime, its writer ends with an error instead of waiting for ever.
//!
//! Invariants: `file_write::nothing_new_is_sent_while_suspended`,
//! `file_write::acks_are_in_order_whatever_lands_first`. What is not here: one segment's repeats
//! (`drive::owner`), the swap that closes (`drive::close_file`).

use super::authority::Validity;
use super::buffer::{Buffer, Next, Phase};
use super::close_file::close;
use super::owner::Owner;
use crate::base::{Error, Protection, Result, Status};
use futures::future::{BoxFuture, OptionFuture};
use futures::stream::{FuturesUnordered, StreamExt};
use std::sync::Arc;

/// A writer's identity and buffer while its streamer runs. Dropping it aborts the writer: also one
/// that was opened after its caller had gone.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) owner: Arc<Owner>,
    pub(crate) buffer: Arc<Buffer>,
}

impl Live {
    /// Starts the streamer on the data runtime. Its task is not awaited: it ends with the writer,
    /// and [`Ending`] tells everybody.
    pub(crate) fn start(owner: Owner, buffer: Buffer) -> Live {
        let (owner, buffer) = (Arc::new(owner), Arc::new(buffer));
        drop(owner.ctx.world.data.spawn(run(owner.clone(), buffer.clone())));
        Live { owner, buffer }
    }

    /// Ends the writer unless it is over: nothing further is sent, and the lease goes back, marked
    /// for recovery.
    pub(crate) fn abort(&self) {
        if self.buffer.end(Phase::Aborted) {
            self.owner.authority.release(true);
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.abort();
    }
}

/// Runs until the writer is over.
async fn run(owner: Arc<Owner>, buffer: Arc<Buffer>) {
    let ending = Ending { owner: owner.clone(), buffer: buffer.clone() };
    let ended = stream(&owner, &buffer).await;
    ending.end(match ended {
        Ok(()) => Phase::Closed,
        Err(error) => Phase::Failed(error),
    });
}

async fn stream(owner: &Arc<Owner>, buffer: &Arc<Buffer>) -> Result<()> {
    let mut flights = FuturesUnordered::new();
    let mut proving: Option<BoxFuture<'static, Result<()>>> = None;
    loop {
        match buffer.next() {
            Next::Send if proving.is_none() => match admission(owner)? {
                Admission::Send => {
                    flights.extend(buffer.take().map(|sending| owner.clone().put(sending)));
                    continue;
                }
                Admission::Prove => {
                    let authority = owner.authority.clone();
                    proving = Some(Box::pin(async move { authority.wait_valid().await }));
                }
            },
            Next::Close { end_seq, length } => {
                let closed = tokio::select! {
                    closed = close(owner, end_seq, length) => closed?,
                    () = over(buffer) => return Err(aborted()),
                };
                if closed {
                    return Ok(());
                }
                buffer.reopen();
            }
            Next::Over => return Err(aborted()),
            Next::Send | Next::Wait => {}
        }
        if buffer.is_exhausted() {
            let what = "its sequence numbers are used up; open the file again";
            return Err(Error::new(Status::Unsupported, what).on(&owner.path));
        }
        tokio::select! {
            Some(landed) = flights.next() => buffer.landed(landed?),
            Some(proved) = OptionFuture::from(proving.as_mut()), if proving.is_some() => {
                proving = None;
                proved?;
            }
            () = buffer.work.notified() => {}
        }
    }
}

enum Admission {
    Send,
    Prove,
}

fn admission(owner: &Owner) -> Result<Admission> {
    match owner.authority.check() {
        Validity::Valid(_) => Ok(Admission::Send),
        Validity::Suspended if owner.lacks(Protection::SuspendedStops) => Ok(Admission::Send),
        Validity::Suspended => Ok(Admission::Prove),
        Validity::Lost => Err(owner.authority.loss().unwrap_or_else(|| {
            Error::new(Status::LeaseLost, "the lease is lost").on(&owner.path).at(owner.id.epoch)
        })),
    }
}

/// Returns when somebody ended the writer.
async fn over(buffer: &Buffer) {
    while !matches!(buffer.next(), Next::Over) {
        buffer.work.notified().await;
    }
}

/// Only told if the writer is not over yet, so by nobody but a dropped task.
fn aborted() -> Error {
    Error::new(Status::Closed, "the writer's task was stopped")
}

/// Ends the writer when the task does, however that comes about.
struct Ending {
    owner: Arc<Owner>,
    buffer: Arc<Buffer>,
}

impl Ending {
    fn end(&self, phase: Phase) {
        let unclosed = !matches!(phase, Phase::Closed);
        if !unclosed {
            // Before anybody is woken: whoever sees the file closed may acquire its lease.
            self.owner.authority.release(false);
        }
        if self.buffer.end(phase) {
            self.owner.authority.release(unclosed);
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.end(Phase::Failed(aborted()));
    }
}
