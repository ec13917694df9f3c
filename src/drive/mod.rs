//! L4: the only place with tasks, timers and requests in flight.
//!
//! Question: when is what sent, and on which runtime? Rule: one task = one loop = one file; a lock is never held across an await; every queue has a
//! limit; decisions come from `decide/`.

pub mod authority;
pub(crate) mod backoff;
pub mod budget;
pub(crate) mod buffer;
pub(crate) mod close_file;
pub mod context;
pub(crate) mod open_file;
pub(crate) mod owner;
pub(crate) mod fetch;
pub(crate) mod packet;
pub(crate) mod reader;
pub(crate) mod stat;
pub(crate) mod stream;
pub mod world;
pub(crate) mod writer;
pub(crate) mod view;
