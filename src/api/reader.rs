//! Reading an append-only file, also while it is written.

use super::client::Wait;
use crate::base::Result;
use bytes::Bytes;

/// A reader bound to one incarnation of a file. What it has shown never shrinks or changes. Never asks the lease.
#[derive(Debug)]
pub struct FileReader {}

impl FileReader {
    /// Up to `len` bytes from `offset`: fewer only at the visible end, none beyond it. Damage is `Corrupt` with the object's name.
    pub async fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        todo!()
    }
    /// The length visible at the last refresh. Memory only.
    pub fn visible_length(&self) -> u64 {
        todo!()
    }
    /// Whether the file was closed at the last refresh.
    pub fn is_closed(&self) -> bool {
        todo!()
    }
    /// Looks again; returns the visible length.
    pub async fn refresh(&self) -> Result<u64> {
        todo!()
    }
    /// Follows: returns the visible length once it is at least `length` or the file is closed; `TimedOut` after `wait`.
    pub async fn wait(&self, length: u64, wait: Wait) -> Result<u64> {
        todo!()
    }
}
