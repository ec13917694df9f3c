//! L4: the only place with tasks, timers and requests in flight.
//!
//! Question: when is what sent, and on which runtime? Rule: one task = one loop = one file; a lock is never held across an await; every queue has a
//! limit; decisions come from `decide/`.

pub mod admin;
pub mod authority;
pub mod chance;
pub mod clock;
pub(crate) mod close;
pub mod events;
pub mod fork;
pub mod held;
pub(crate) mod mailbox;
mod renew;
pub mod runtime;
pub mod session;
pub mod slot;
pub mod task;
pub mod term;
pub mod world;
