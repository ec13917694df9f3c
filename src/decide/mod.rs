//! L2: the decisions, as pure state machines.
//!
//! Question: given what was just heard, what is asked next? Rule: a machine takes facts and yields
//! requests as data; it never waits, sends, reads a clock or draws a random number, so a test sets
//! a state, says one thing and compares the exact answer. Store answers reach it as *landed*,
//! *refused* or *unknown*.

pub mod closing;
pub mod lease;
pub mod opening;
pub mod session;
pub mod tail;
pub mod window;

/// How a write came out, without its details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is stored.
    Landed,
    /// The condition did not hold, or did not hold any more because our own earlier copy landed.
    Refused,
    /// It may land at any later time.
    Unknown,
}
