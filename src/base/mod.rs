//! L0: the vocabulary every other layer speaks.
//!
//! Question: what are the words? Identifiers that parse or refuse, the epoch, time as a value, the
//! one error type, limits, configuration, events. Rule: nothing here does input or output, reads a
//! clock, awaits or draws a random number (`tests/tidy.rs` enforces it).

pub mod clock;
pub mod config;
pub mod epoch;
pub mod error;
pub mod event;
pub mod id;
pub mod limits;
pub mod mutant;
pub mod name;
pub mod time;
pub mod version;

pub use clock::Clock;
pub use config::Config;
pub use epoch::{Epoch, WriterId};
pub use error::{Error, Result, Status};
pub use event::{Event, EventKind};
pub use id::Id128;
pub use limits::Limits;
pub use mutant::{Mutant, Protection};
pub use name::{FilePath, Kind, Resource};
pub use time::{Mono, Wall};
pub use version::Version;
