//! L4: the only place with tasks, timers and requests in flight.
//!
//! Question: when is what sent, and on which runtime? Rule: one task = one loop = one file; a lock
//! is never held across an await; every queue has a limit; decisions come from `decide/`.

pub mod admin;
pub mod authority;
pub(crate) mod backoff;
pub mod budget;
pub(crate) mod buffer;
pub mod chance;
pub mod clock;
pub(crate) mod close;
pub(crate) mod close_file;
pub mod context;
pub mod events;
pub(crate) mod fetch;
pub mod fork;
pub mod held;
pub(crate) mod mailbox;
pub(crate) mod open_file;
pub(crate) mod owner;
pub(crate) mod packet;
pub(crate) mod reader;
mod renew;
pub mod runtime;
pub mod session;
pub mod slot;
pub(crate) mod stat;
pub(crate) mod stream;
pub mod task;
pub mod term;
pub(crate) mod view;
pub mod world;
pub(crate) mod writer;
