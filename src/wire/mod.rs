//! L1: bytes <-> values, pure.
//!
//! Question: how does each object look in the store? Rule: formats carry a version; a newer one is
//! refused by name; unknown fields are kept when a record is rewritten; anything that does not
//! parse is `Corrupt` with the object's key and is never repaired here.

pub mod json;
pub mod key;
pub mod lease;
pub mod manifest;
pub mod notice;
pub mod segment;
pub mod session;
