//! Who a writer is, and sending one segment until it is known where it went (PROTOCOL §5 W2, W3).
//!
//! Question: is segment *k* stored? Rule: no answer, or one that tells nothing, means the *same
//! bytes* under the *same number* again, with growing pauses, until `ack_timeout`: an earlier copy
//! may land at any time, so anything else could put two contents behind one number. A refusal is
//! not believed either: a copy of our own may have landed without an answer, so the stored header
//! is read, and only an equal one (same writer nonce, number, offset, length, checksum) counts as
//! stored. Anything else there, a seal or foreign bytes, means a newer holder shut this writer out,
//! for good.
//!
//! A seal is kept for at least seven days, so an answer that comes after more than a day is only
//! believed after the manifest named this writer again.
//!
//! Invariants: `file_write::{a_segment_whose_answer_was_lost_is_stored_once,
//! a_refusal_by_own_earlier_copy_is_an_ack}`, `file_takeover::a_refusal_by_a_seal_is_the_end`. What
//! is not here: which segment goes next (`drive::stream`).

use super::authority::Authority;
use super::backoff::Backoff;
use super::context::FileContext;
use crate::base::{
    Epoch, Error, FilePath, Id128, Mono, Protection, Result, Status, Version, WriterId,
};
use crate::decide::window::Sending;
use crate::store::{Outcome, Payload};
use crate::wire::key;
use crate::wire::manifest::Manifest;
use crate::wire::segment::{self, HEADER, Header, SegmentKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;

/// After this long without a manifest that named us, an ack needs one (seals of dead incarnations
/// are kept for 7 days).
const NAMED_FOR: Duration = Duration::from_secs(86_400);

/// The identity under which one handle writes one file.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) ctx: FileContext,
    pub(crate) path: FilePath,
    pub(crate) file_id: Id128,
    pub(crate) id: WriterId,
    pub(crate) nonce: Id128,
    pub(crate) authority: Arc<dyn Authority>,
    /// The manifest as this writer last left it.
    pub(crate) manifest: Mutex<(Manifest, Version)>,
    /// Send time of the last manifest request whose answer named this writer.
    pub(crate) named_at: AtomicU64,
}

impl Owner {
    /// Sends a segment until it is stored. Errors end the writer: `Fenced`, or `OutcomeUnknown`
    /// after `ack_timeout`.
    pub(crate) async fn put(self: Arc<Owner>, sending: Sending) -> Result<u64> {
        let limit = self.ctx.config.ack_timeout;
        let mut last = None;
        let sent = timeout(limit, self.put_until_known(&sending, &mut last)).await;
        sent.unwrap_or_else(|_| {
            let ms = limit.as_millis();
            let what = format!("segment {} was not acknowledged within {ms} ms", sending.seq);
            let error = Error::new(Status::OutcomeUnknown, what).on(&self.path).at(self.id.epoch);
            Err(match last {
                Some(cause) => error.because(cause),
                None => error,
            })
        })?;
        Ok(sending.seq)
    }

    async fn put_until_known(&self, sending: &Sending, last: &mut Option<Error>) -> Result<()> {
        let header = self.header(sending);
        let key = key::segment_at(self.file_id, self.id, sending.seq);
        let payload: Payload = segment::encode(&header, &sending.packets).into_iter().collect();
        let mut backoff = Backoff::default();
        loop {
            let create = self.ctx.store.blobs.create(&key, payload.clone());
            match self.ctx.send(&key, create).await {
                Outcome::Landed(_) => return self.still_named(last).await,
                Outcome::Refused if self.lacks(Protection::ForeignCheck) => return Ok(()),
                Outcome::Refused => match self.look(&key, &header).await {
                    Ok(true) => return self.still_named(last).await,
                    // Nothing is there: the store refused for another reason (409 of a concurrent
                    // request).
                    Ok(false) => {}
                    Err(e) if e.status().is_fenced() => return Err(e),
                    Err(e) => *last = Some(e),
                },
                Outcome::Unknown(e) => *last = Some(e),
            }
            backoff.pause(&self.ctx.world).await;
        }
    }

    fn header(&self, sending: &Sending) -> Header {
        Header {
            kind: SegmentKind::Data,
            by: self.id,
            seq: sending.seq,
            offset: sending.offset,
            len: sending.len,
            nonce: self.nonce,
        }
    }

    /// What is at my place? `true`: my own segment; `false`: nothing; `Fenced`: anything else.
    async fn look(&self, key: &str, mine: &Header) -> Result<bool> {
        let range = Some(0..HEADER as u64);
        let found = self.ctx.ask(key, self.ctx.store.blobs.read(key, range)).await?;
        let Some(found) = found else { return Ok(false) };
        if found[..] == mine.encode() {
            return Ok(true);
        }
        match Header::decode(&found, key) {
            Ok(other) => Err(self.fenced("a newer writer sealed the file", other.by.epoch)),
            Err(e) => {
                Err(self.fenced("foreign bytes at this writer's place", self.id.epoch).because(e))
            }
        }
    }

    /// The 7-day rule: an ack long after the manifest last named us needs it to name us again.
    async fn still_named(&self, last: &mut Option<Error>) -> Result<()> {
        let mut backoff = Backoff::default();
        loop {
            let now = self.ctx.world.clock.now();
            let named_at = Mono(self.named_at.load(Ordering::Acquire));
            if now.since(named_at) <= NAMED_FOR {
                return Ok(());
            }
            match self.ctx.manifest(&self.path).await {
                Ok(Some((m, _))) if m.writer == self.nonce && m.writer_id() == self.id => {
                    self.named_at.store(now.0, Ordering::Release);
                    return Ok(());
                }
                Ok(found) => {
                    let epoch = found.map_or(self.id.epoch, |(m, _)| m.epoch);
                    return Err(self.fenced("the manifest names another writer", epoch));
                }
                Err(e) => *last = Some(e),
            }
            backoff.pause(&self.ctx.world).await;
        }
    }

    pub(crate) fn lacks(&self, protection: Protection) -> bool {
        self.ctx.world.mutant.lacks(protection)
    }

    pub(crate) fn fenced(&self, what: &str, epoch: Epoch) -> Error {
        let error = Error::new(Status::Fenced, what).on(&self.path).at(epoch);
        match self.authority.loss().as_ref().and_then(Error::holder) {
            Some(holder) => error.held_by(holder),
            None => error,
        }
    }
}
