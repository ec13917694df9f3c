//! L2: pure decisions.
//!
//! Question: given what is known now, what may be believed and what is to be done next? Rule: time, identities and store answers come in as arguments, requests
//! go out as data; nothing here waits, reads a clock or draws a random number. Store answers arrive as *landed*, *refused* or *unknown*.

pub mod lease;
pub mod session;
