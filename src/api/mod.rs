//! L5: what Rust users see, and what every other language is a conversion of.
//!
//! Every async method may be awaited on any executor: the work runs on the library's own runtimes,
//! and dropping the future undoes nothing (a request in flight is settled in the background).

mod admin;
pub mod client;
pub mod file;
mod files;
pub mod lease;
mod metrics;
pub mod reader;

pub use client::Client;
pub use file::{CreateOptions, FileStat, FileWriter};
pub use lease::{Lease, LeaseInfo};
pub use reader::FileReader;
