//! tenure: who may write?
pub mod api;
pub mod base;
pub mod drive;
pub mod ffi;
pub mod store;
pub mod wire;
pub use api::*;
pub use base::{Config, Epoch, Error, Event, EventKind, Kind, Result, Status};
