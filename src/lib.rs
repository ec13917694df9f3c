//! tenure: who may write?
pub mod api;
pub mod base;
pub mod decide;
pub mod drive;
pub mod ffi;
#[cfg(feature = "sim")]
pub mod sim;
pub mod store;
pub mod wire;
pub use api::*;
pub use base::{Config, Epoch, Error, Event, EventKind, Kind, Result, Status};
