//! `file://` registers: a compare-and-swap out of `link(2)`.
//!
//! Question: how do processes of one machine swap a small record on a file system, which has no
//! conditional overwrite? Rule: a register is a directory of numbered values, `<key>/<n:020>`; its
//! value is the one with the highest number. A value is written to a temporary file first and then
//! linked under the next number; `link` fails if the name exists, so one of all contenders lands.
//! Nothing is ever overwritten.
//!
//! Why the obvious rules fail. *Rename over the file*: the last one wins, nobody is refused. *Take
//! an advisory lock, compare, write*: a process stopped inside (SIGSTOP, a swapped-out host) keeps
//! the lock, and everybody waits for it: in a prototype 41 of 120 random stops blocked all others.
//! Here a process stopped anywhere delays nobody. *Delete old numbers at once*: a swapper that
//! stopped before its `link` finds its number free again and believes it landed.
//!
//! The argument. Numbers near the head have no gaps, because n+1 is only linked by one who saw n as
//! head; so the head moves by one, and never back.
//! - **A swap** opens the directory once, scans it, compares n and the content's identity with what
//!   is expected and links n+1 relative to that descriptor. `link` succeeded: the name was free.
//!   Either it had never existed: then the head was n at that moment, the swap landed. Or it had
//!   been collected: then the head is at n+17 or more already. So it looks again *by path*: the
//!   same directory and a head below n+17 proves that it landed, even if others have built on it
//!   since; anything else is *unknown* and is settled above by reading. Such a stray link lies
//!   below the head, is never anybody's value, and is collected in turn.
//! - **A read** scans, opens the head and reads it. A directory entry that exists while a scan
//!   lasts is seen by it, so the result was the head at some moment of the scan. The head of a scan
//!   can only be collected 60 s later, so a read (scan to last byte) that took under 10 s did not
//!   see a name that was collected and linked again by a straggler. One that took longer, or whose
//!   head is gone at open, is repeated.
//! - **Collection** (`past.rs`): a process removes n only if it saw n+16 at least 60 s ago on its
//!   own boot clock. So the head and its 15 elders always stay, and names under a reader's eye
//!   stay. A collector that stops in the middle removes, when it wakes, names that were garbage
//!   before.
//! - **Number 0 is never collected.** So create-only is one `link` to 0, true for all time. Only
//!   create makes the directory: a late swap cannot revive a register that was moved away. Removing
//!   one (tests only): rename the directory away first.
//! - **Power failure**: contents are flushed before the link, the directory after it, and its
//!   ancestors when it is made, before anything is told.
//!
//! `LastModified` is the temporary file's mtime: written after the request began, so never before
//! its send; the kernel's coarse clock makes the grain 10 ms. Invariants and their tests
//! (`tests/store_chain.rs`): each number is landed by one; what is told as landed is in the
//! history; a stopped process delays nobody; a collected number linked again is told as unknown.
//! What is not here: more than one machine (NFS gives none of these guarantees), blobs
//! (`store::file`).

mod dir;
mod past;

use super::errors::io as io_error;
use super::local::Base;
use super::{Listed, Outcome, Read, Registers, Snapshot, stamp};
use crate::base::{Error, Result, Status, Version, Wall};
use async_trait::async_trait;
use bytes::Bytes;
use dir::{ChainDir, Value};
use past::Past;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Values that stay behind the head for certain: a number is collected by one who saw this many
/// more.
const KEEP: u64 = 16;
/// How long ago (own clock) the younger number must have been seen.
const KEEP_FOR: Duration = Duration::from_secs(60);
/// A read that takes longer is repeated. Far below [`KEEP_FOR`], far above what a directory of some
/// thirty names takes.
const READ_LIMIT: Duration = Duration::from_secs(10);
/// How often a read is repeated before the store counts as unavailable.
const TRIES: u32 = 8;

/// The registers below one directory. Clones share what they remember.
#[derive(Clone, Debug)]
pub struct Chains(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    base: Base,
    past: Past,
}

impl Chains {
    /// The registers below `base`. Touches nothing.
    pub(super) fn new(base: Base) -> Chains {
        Chains(Arc::new(Inner { base, past: Past::default() }))
    }

    /// Runs blocking work. It goes on if the caller drops the future: a swap under way may still
    /// land.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let inner = self.0.clone();
        super::local::blocking(move || work(&inner)).await
    }
}

#[async_trait]
impl Registers for Chains {
    async fn read(&self, key: &str, known: Option<&Version>) -> Result<Read> {
        let (key, known) = (key.to_owned(), known.cloned());
        let found = self.run(move |inner| inner.value(&key)).await?;
        Ok(match found {
            None => Read::Absent,
            Some(value) if known.as_ref() == Some(&value.version) => Read::Unchanged,
            Some(Value { body, version, modified }) => {
                Read::Present(Snapshot { body, version, modified })
            }
        })
    }

    async fn modified(&self, key: &str) -> Result<Option<(Version, Wall)>> {
        let key = key.to_owned();
        let found = self.run(move |inner| inner.value(&key)).await?;
        Ok(found.map(|value| (value.version, value.modified)))
    }

    async fn swap(&self, key: &str, expect: Option<&Version>, body: Bytes) -> Outcome {
        let (key, expect) = (key.to_owned(), expect.cloned());
        let swapped = self.run(move |inner| inner.swap(&key, expect.as_ref(), &body)).await;
        swapped.unwrap_or_else(Outcome::Unknown)
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        let prefix = prefix.to_owned();
        self.run(move |inner| inner.list(&prefix)).await
    }
}

impl Inner {
    fn value(&self, key: &str) -> Result<Option<Value>> {
        let path = self.base.path(key)?;
        for _ in 0..TRIES {
            let began = stamp::boot();
            let Some(dir) = open(&path, key)? else { return Ok(None) };
            let Some(head) = dir.scan().map_err(|e| io_error(e, key, "scan"))?.head else {
                return Ok(None);
            };
            let value = dir.value(head).map_err(|e| io_error(e, key, "read"))?;
            if value.is_some() && stamp::boot().since(began) < READ_LIMIT {
                return Ok(value);
            }
        }
        Err(too_slow(key))
    }

    fn swap(&self, key: &str, expect: Option<&Version>, body: &Bytes) -> Result<Outcome> {
        let path = self.base.path(key)?;
        let (dir, next) = match expect {
            None => {
                self.base.make(&path).map_err(|e| io_error(e, key, "create the directory"))?;
                (open(&path, key)?.ok_or_else(|| moved(key))?, 0)
            }
            Some(version) => match self.above(&path, key, version)? {
                Some(found) => found,
                None => return Ok(Outcome::Refused),
            },
        };
        let sync = self.base.fsync;
        if !dir.place(next, body, sync).map_err(|e| io_error(e, key, "write"))? {
            return Ok(Outcome::Refused);
        }
        self.confirm(&path, key, &dir, next)?;
        Ok(Outcome::Landed(dir::version(next, body)))
    }

    /// The directory and the next number, if its head is this version.
    fn above(&self, path: &Path, key: &str, version: &Version) -> Result<Option<(ChainDir, u64)>> {
        let Some(expected) = dir::number(version) else { return Ok(None) };
        let Some(dir) = open(path, key)? else { return Ok(None) };
        let scan = dir.scan().map_err(|e| io_error(e, key, "scan"))?;
        if scan.head != Some(expected) {
            return Ok(None);
        }
        // Gone since the scan: the head has moved on, far.
        let value = dir.value(expected).map_err(|e| io_error(e, key, "read"))?;
        if value.is_none_or(|value| value.version != *version) {
            return Ok(None);
        }
        let next = expected
            .checked_add(1)
            .ok_or_else(|| Error::new(Status::Corrupt, "the last number is taken").on(key))?;
        Ok(Some((dir, next)))
    }

    /// Proves that the link to `next` was a landing and not one to a collected number, or in a
    /// directory that was moved away.
    fn confirm(&self, path: &Path, key: &str, dir: &ChainDir, next: u64) -> Result<()> {
        let again = open(path, key)?.ok_or_else(|| moved(key))?;
        let same = again.is_same(dir).map_err(|e| io_error(e, key, "stat"))?;
        if !same {
            return Err(moved(key));
        }
        let scan = again.steady_scan(READ_LIMIT, TRIES).map_err(|e| io_error(e, key, "scan"))?;
        let head = scan.head.ok_or_else(|| moved(key))?;
        if next > 0 && head >= next.saturating_add(KEEP) {
            let what = format!("number {next} was linked below a head of {head}");
            return Err(Error::new(Status::OutcomeUnknown, what).on(key));
        }
        self.past.tidy(&again, &scan);
        Ok(())
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        let root = self.base.prefix(prefix)?;
        let mut rows = Vec::new();
        let mut todo = vec![(root, prefix.trim_end_matches('/').to_owned())];
        while let Some((path, key)) = todo.pop() {
            let Some(dir) = open(&path, &key)? else { continue };
            let scan = dir.scan().map_err(|e| io_error(e, &key, "scan"))?;
            for name in &scan.dirs {
                let below = if key.is_empty() { name.clone() } else { format!("{key}/{name}") };
                todo.push((path.join(name), below));
            }
            // The prefix itself ends in a slash: a register of that very name is not below it.
            if scan.head.is_some() && key.len() >= prefix.len() {
                rows.extend(self.row(&key)?);
            }
        }
        rows.sort_by(|a: &Listed, b| a.key.cmp(&b.key));
        Ok(rows)
    }

    fn row(&self, key: &str) -> Result<Option<Listed>> {
        let path = self.base.path(key)?;
        for _ in 0..TRIES {
            let began = stamp::boot();
            let Some(dir) = open(&path, key)? else { return Ok(None) };
            let Some(head) = dir.scan().map_err(|e| io_error(e, key, "scan"))?.head else {
                return Ok(None);
            };
            let found = dir.stat(head).map_err(|e| io_error(e, key, "stat"))?;
            if let Some((size, modified)) = found
                && stamp::boot().since(began) < READ_LIMIT
            {
                return Ok(Some(Listed { key: key.to_owned(), size, modified }));
            }
        }
        Err(too_slow(key))
    }
}

fn open(path: &Path, key: &str) -> Result<Option<ChainDir>> {
    ChainDir::open(path).map_err(|e: io::Error| io_error(e, key, "open"))
}

fn moved(key: &str) -> Error {
    Error::new(Status::OutcomeUnknown, "the register's directory was moved away meanwhile").on(key)
}

fn too_slow(key: &str) -> Error {
    let what = format!("reading took over {} s, {TRIES} times", READ_LIMIT.as_secs());
    Error::new(Status::StoreUnavailable, what).on(key)
}

#[cfg(test)]
mod tests;
