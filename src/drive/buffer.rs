//! What the callers of one writer and its streamer share: the open packet, the window, the phase.
//!
//! Question: may these bytes be taken, and where do they go? Rule: one short lock; under it bytes
//! are copied into the open packet, a full packet is queued, and whoever must act is woken after.
//! No await, no clock, no allocation in steady state. Each call's bytes are contiguous because the
//! lock is held for the copy; a call that had to wait holds a *turn*, and while anybody waits for
//! one, newcomers queue behind instead of slipping in.
//!
//! Phases only go forward: open, closing, closed; or failed with the *first* error, which every
//! later call tells again; or aborted. Every change of phase and every ack wakes every waiter
//! (PARITY W49): there are few, and a missed wake-up is a hang.
//!
//! Invariants: `file_backpressure::{a_blocked_writer_wakes_on_ack_close_error_and_abort,
//! a_write_that_fits_the_window_is_all_or_nothing}`,
//! `file_write::concurrent_writes_stay_contiguous`. What is not here: sending and acks
//! (`drive::stream`), waiting (`drive::writer`).

use super::budget::{Budget, GUARANTEED};
use super::packet::fill;
use crate::base::config::PACKET;
use crate::base::{Error, Result, Status};
use crate::decide::window::{Sending, Window};
use bytes::BytesMut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// How far a writer's life has gone.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// Takes bytes.
    Open,
    /// Takes none; the close is on its way.
    Closing,
    /// The file is closed.
    Closed,
    /// Over, by this error.
    Failed(Error),
    /// Given up by its owner.
    Aborted,
}

#[derive(Debug)]
struct State {
    /// The open packet, at its full length, or empty.
    open: BytesMut,
    /// How much of it is taken.
    filled: usize,
    window: Window,
    position: u64,
    charged: usize,
    phase: Phase,
}

/// What the streamer should do next.
#[derive(Debug)]
pub(crate) enum Next {
    /// A segment is due.
    Send,
    /// Everything is acked and the file is to be closed: segments sent, length.
    Close { end_seq: u64, length: u64 },
    /// Nothing now.
    Wait,
    /// The writer is over.
    Over,
}

/// One writer's buffer. Any thread; never blocks beyond its short lock.
#[derive(Debug)]
pub(crate) struct Buffer {
    path: String,
    limit: usize,
    state: Mutex<State>,
    acked: AtomicU64,
    budget: Arc<Budget>,
    /// Wakes the streamer.
    pub(crate) work: Notify,
    /// Wakes everybody who waits for acks, room or a phase.
    pub(crate) moved: Notify,
}

impl Buffer {
    /// An empty buffer in front of `window`, which begins at `position`.
    pub(crate) fn new(path: &str, window: Window, limit: usize, budget: Arc<Budget>) -> Buffer {
        let position = window.acked();
        // A window above the whole budget could never fill.
        let limit = limit.min((budget.limit() + GUARANTEED) * PACKET).max(GUARANTEED * PACKET);
        let state = State {
            open: BytesMut::new(),
            filled: 0,
            window,
            position,
            charged: 0,
            phase: Phase::Open,
        };
        Buffer {
            path: path.to_owned(),
            limit,
            state: Mutex::new(state),
            acked: AtomicU64::new(position),
            budget,
            work: Notify::new(),
            moved: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Un-acked bytes this writer may hold.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// File length including bytes not acked yet.
    pub(crate) fn position(&self) -> u64 {
        self.lock().position
    }

    /// File length up to which every byte is acked.
    pub(crate) fn acked(&self) -> u64 {
        self.acked.load(Ordering::Acquire)
    }

    /// The phase.
    pub(crate) fn phase(&self) -> Phase {
        self.lock().phase.clone()
    }

    /// Copies all of `bytes`, or takes nothing: `false` means there is no room now.
    #[inline]
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<bool> {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Open) {
            return Err(self.refusal(&state.phase));
        }
        if state.unacked() + bytes.len() > self.limit {
            return Ok(false);
        }
        // The common case: it fits into the open packet and does not fill it.
        if bytes.len() < state.spare() {
            state.append(bytes);
            return Ok(true);
        }
        let wake = match self.reserve(&mut state, bytes.len()) {
            true => self.turn_over(&mut state, bytes),
            false => return Ok(false),
        };
        drop(state);
        if wake {
            self.work.notify_one();
        }
        Ok(true)
    }

    /// Copies as much as there is room for.
    pub(crate) fn put_some(&self, bytes: &[u8]) -> Result<usize> {
        let room = self.limit.saturating_sub(self.lock().unacked());
        let mut take = room.min(bytes.len());
        while take > 0 {
            if self.put(&bytes[..take])? {
                return Ok(take);
            }
            take = if take > PACKET { take / 2 } else { 0 };
        }
        Ok(0)
    }

    /// Charges the budget for the packets that `len` more bytes need.
    fn reserve(&self, state: &mut State, len: usize) -> bool {
        let fresh = len.saturating_sub(state.spare()).div_ceil(PACKET);
        let held = state.held() + fresh;
        let more = held.saturating_sub(GUARANTEED).saturating_sub(state.charged);
        if !self.budget.take(more) {
            return false;
        }
        state.charged += more;
        true
    }

    /// Copies across packet boundaries. Returns whether the streamer has something to do.
    fn turn_over(&self, state: &mut State, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if state.open.is_empty() {
                state.open = self.budget.packet();
            }
            let (now, later) = bytes.split_at(bytes.len().min(state.spare()));
            state.append(now);
            if state.spare() == 0 {
                state.cut();
            }
            bytes = later;
        }
        state.window.wants_to_send()
    }

    /// Cuts the open packet and asks for everything to be sent. Returns the position to wait for;
    /// `None` if nothing is un-acked.
    pub(crate) fn flush(&self) -> Result<Option<u64>> {
        let mut state = self.lock();
        match &state.phase {
            Phase::Open | Phase::Closing => {}
            Phase::Closed => return Ok(None),
            over => return Err(self.refusal(over)),
        }
        let position = state.position;
        if position == self.acked() {
            return Ok(None);
        }
        state.cut();
        state.window.flush_to(position);
        drop(state);
        self.work.notify_one();
        Ok(Some(position))
    }

    /// Stops accepting, for ever, and asks the streamer to close. Idempotent.
    pub(crate) fn begin_close(&self) {
        let mut state = self.lock();
        if matches!(state.phase, Phase::Open) {
            state.cut();
            let position = state.position;
            state.window.flush_to(position);
            state.phase = Phase::Closing;
        }
        drop(state);
        self.work.notify_one();
        self.moved.notify_waiters();
    }

    /// For the mutant that goes on after an ambiguous close.
    pub(crate) fn reopen(&self) {
        let mut state = self.lock();
        if matches!(state.phase, Phase::Closing) {
            state.phase = Phase::Open;
        }
    }

    /// What the streamer should do.
    pub(crate) fn next(&self) -> Next {
        let state = self.lock();
        match state.phase {
            Phase::Open | Phase::Closing if state.window.wants_to_send() => Next::Send,
            Phase::Closing if state.window.is_empty() => {
                Next::Close { end_seq: state.window.next_seq(), length: state.position }
            }
            Phase::Open | Phase::Closing => Next::Wait,
            Phase::Closed | Phase::Failed(_) | Phase::Aborted => Next::Over,
        }
    }

    /// Whether sequence numbers are used up while bytes wait.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.lock().window.is_exhausted()
    }

    /// Takes the next segment.
    pub(crate) fn take(&self) -> Option<Sending> {
        self.lock().window.take()
    }

    /// A segment landed: moves the ack, frees packets, wakes everybody.
    pub(crate) fn landed(&self, seq: u64) {
        let mut state = self.lock();
        let free = state.window.landed(seq);
        self.acked.store(state.window.acked(), Ordering::Release);
        let keep = state.held().saturating_sub(GUARANTEED);
        let back = state.charged.saturating_sub(keep);
        state.charged -= back;
        drop(state);
        self.budget.recycle(free);
        self.budget.give_back(back);
        self.moved.notify_waiters();
    }

    /// Ends the writer, unless it is over already. Returns whether this call did it.
    pub(crate) fn end(&self, phase: Phase) -> bool {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Open | Phase::Closing) {
            return false;
        }
        state.phase = phase;
        let mut free = state.window.drain();
        free.push(std::mem::take(&mut state.open).freeze());
        state.filled = 0;
        let back = std::mem::take(&mut state.charged);
        drop(state);
        self.budget.recycle(free);
        self.budget.give_back(back);
        self.work.notify_one();
        self.moved.notify_waiters();
        true
    }

    /// Why no more bytes are taken.
    pub(crate) fn refusal(&self, phase: &Phase) -> Error {
        let closed = |what: &str| Error::new(Status::Closed, what).on(&self.path);
        match phase {
            Phase::Failed(first) => first.clone(),
            Phase::Aborted => closed("the writer was aborted"),
            Phase::Open | Phase::Closing | Phase::Closed => closed("the writer was closed"),
        }
    }
}

impl State {
    #[inline]
    fn spare(&self) -> usize {
        self.open.len() - self.filled
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        let end = self.filled + bytes.len();
        fill(&mut self.open[self.filled..end], bytes);
        self.filled = end;
        self.position += bytes.len() as u64;
    }

    #[inline]
    fn unacked(&self) -> usize {
        (self.position - self.window.acked()) as usize
    }

    fn held(&self) -> usize {
        self.window.packets() + usize::from(!self.open.is_empty())
    }

    /// Queues the open packet, if it holds anything.
    fn cut(&mut self) {
        if self.filled > 0 {
            let mut packet = std::mem::take(&mut self.open);
            packet.truncate(std::mem::take(&mut self.filled));
            self.window.push(packet.freeze());
        }
    }
}
