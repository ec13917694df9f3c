//! What a writer holds between `write` and `ack`.
//!
//! Question: which bytes go out next, and how far is the file durable? Rule: full packets queue up
//! in file order; the streamer takes a run of them as one segment while fewer than `in_flight` are
//! un-acked; a segment is *acked* only when it and every one before it landed. Acking what landed,
//! in whatever order, is the obvious rule and loses data: a hole before it lets the next writer
//! seal below the acked bytes (Protection::OrderedAck,
//! `file_write::acks_are_in_order_whatever_lands_first`).
//!
//! How large is a segment? An idle stream sends what it has at once, so a lone flush waits for one
//! request only. While requests are out, bytes collect; the target doubles with each segment that
//! leaves a backlog, up to `segment_max`, and falls back to one packet when the stream runs dry. So
//! small writes stay quick and a busy stream sends few large requests, without a timer and without
//! a knob.
//!
//! The two places that block are here as numbers, not as waits: `unacked` against the window's
//! limit (the caller waits), and `in_flight` (the streamer waits). Invariants: bytes leave in
//! order, once (`file_window::what_goes_in_comes_out_once_in_order`); what waits for a flush is
//! sent whatever the target. What is not here: the open packet, waking anybody (`drive::buffer`),
//! sending (`drive::stream`).

use crate::base::config::PACKET;
use crate::base::{Mutant, Protection};
use bytes::Bytes;
use std::collections::VecDeque;

/// The largest sequence number: ten digits.
pub const SEQ_MAX: u64 = 9_999_999_999;

/// A segment to be sent.
#[derive(Clone, Debug)]
pub struct Sending {
    /// Its sequence number.
    pub seq: u64,
    /// Where its first byte belongs in the file.
    pub offset: u64,
    /// Bytes of payload.
    pub len: u64,
    /// The payload.
    pub packets: Vec<Bytes>,
}

#[derive(Debug)]
struct Flight {
    sending: Sending,
    landed: bool,
}

/// Queue, flights and acks of one writer.
#[derive(Debug)]
pub struct Window {
    segment_max: usize,
    in_flight: usize,
    mutant: Mutant,
    queue: VecDeque<Bytes>,
    queued: usize,
    flights: VecDeque<Flight>,
    next_seq: u64,
    sent: u64,
    acked: u64,
    flush_to: u64,
    target: usize,
}

impl Window {
    /// Begins at file offset `offset`, sequence number 0.
    #[must_use]
    pub fn new(offset: u64, segment_max: usize, in_flight: usize, mutant: Mutant) -> Window {
        Window {
            segment_max: segment_max.max(PACKET),
            in_flight: in_flight.max(1),
            mutant,
            queue: VecDeque::new(),
            queued: 0,
            flights: VecDeque::new(),
            next_seq: 0,
            sent: offset,
            acked: offset,
            flush_to: offset,
            target: PACKET,
        }
    }

    /// The file offset up to which everything is acked.
    #[inline]
    #[must_use]
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// The next sequence number: how many segments were begun.
    #[must_use]
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Whether nothing is queued or un-acked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.flights.is_empty()
    }

    /// Packets held.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.queue.len() + self.flights.iter().map(|f| f.sending.packets.len()).sum::<usize>()
    }

    /// Queues a packet behind all others.
    pub fn push(&mut self, packet: Bytes) {
        self.queued += packet.len();
        self.queue.push_back(packet);
    }

    /// Somebody waits for everything up to this file offset.
    pub fn flush_to(&mut self, offset: u64) {
        self.flush_to = self.flush_to.max(offset);
    }

    /// Whether a segment should be sent now.
    #[must_use]
    pub fn wants_to_send(&self) -> bool {
        let room = self.flights.len() < self.in_flight;
        let due =
            self.flights.is_empty() || self.queued >= self.target || self.flush_to > self.sent;
        room && due && !self.queue.is_empty() && self.next_seq <= SEQ_MAX
    }

    /// Whether the sequence numbers are used up.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.next_seq > SEQ_MAX
    }

    /// Takes the next segment, if one should be sent now.
    pub fn take(&mut self) -> Option<Sending> {
        if !self.wants_to_send() {
            return None;
        }
        let idle = self.flights.is_empty();
        let mut packets = Vec::new();
        let mut len = 0;
        while let Some(packet) = self.queue.front() {
            if len > 0 && len + packet.len() > self.segment_max {
                break;
            }
            len += packet.len();
            packets.extend(self.queue.pop_front());
        }
        self.queued -= len;
        self.target = match (idle, self.queued > 0 || len >= self.target) {
            (true, false) => PACKET,
            (_, true) => (self.target * 2).min(self.segment_max),
            (false, false) => self.target,
        };
        let sending = Sending { seq: self.next_seq, offset: self.sent, len: len as u64, packets };
        self.next_seq += 1;
        self.sent += len as u64;
        self.flights.push_back(Flight { sending: sending.clone(), landed: false });
        Some(sending)
    }

    /// A segment landed. Returns the packets that are acked by it, to be used again.
    pub fn landed(&mut self, seq: u64) -> Vec<Bytes> {
        let mut free = Vec::new();
        if let Some(flight) = self.flights.iter_mut().find(|f| f.sending.seq == seq) {
            flight.landed = true;
            if self.mutant.lacks(Protection::OrderedAck) {
                self.acked = self.acked.max(flight.sending.offset + flight.sending.len);
            }
        }
        while self.flights.front().is_some_and(|f| f.landed) {
            let Some(flight) = self.flights.pop_front() else { break };
            self.acked = self.acked.max(flight.sending.offset + flight.sending.len);
            free.extend(flight.sending.packets);
        }
        free
    }

    /// Forgets everything un-acked. Returns the packets.
    pub fn drain(&mut self) -> Vec<Bytes> {
        self.queued = 0;
        let flights = self.flights.drain(..).flat_map(|f| f.sending.packets);
        flights.chain(self.queue.drain(..)).collect()
    }
}
