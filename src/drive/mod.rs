//! L4: the only place with tasks, timers and requests in flight.
//!
//! Question: when is what sent, and on which runtime? Rule: one task = one loop = one file; a lock is never held across an await; every queue has a
//! limit; decisions come from `decide/`.

pub mod authority;
pub mod world;
