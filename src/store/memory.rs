//! `memory://`: a store inside this process.
//!
//! Question: where do tests and first steps keep their objects? Rule: one store per URL, living as
//! long as the process, so that two clients with the same URL contend as they would in a bucket.
//! Why not one store per client: nothing could ever be contended for. Its versions are counters, so
//! it hides mistakes that a content-hash ETag shows; protocols are tested on [`crate::sim`]. What
//! is not here: faults, limits, persistence.

use super::{Blobs, Listed, Outcome, Payload, Read, Registers, Snapshot, stamp};
use crate::base::{Error, Result, Status, Version, Wall};
use async_trait::async_trait;
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

static NAMED: LazyLock<Mutex<HashMap<String, Arc<Memory>>>> = LazyLock::new(Mutex::default);

/// The objects of one `memory://` URL.
pub struct Memory {
    wall: Box<dyn Fn() -> Wall + Send + Sync>,
    shelf: Mutex<Shelf>,
}

#[derive(Default)]
struct Shelf {
    objects: BTreeMap<String, Object>,
    writes: u64,
}

struct Object {
    body: Bytes,
    version: Version,
    modified: Wall,
}

impl Memory {
    /// The store of this name, made when it is first asked for.
    #[must_use]
    pub fn named(name: &str) -> Arc<Memory> {
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        named.entry(name.to_owned()).or_insert_with(|| Memory::new(stamp::wall)).clone()
    }

    /// A store of its own, stamped by this calendar: tests hand in a clock they turn.
    #[must_use]
    pub fn new(wall: impl Fn() -> Wall + Send + Sync + 'static) -> Arc<Memory> {
        Arc::new(Memory { wall: Box::new(wall), shelf: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, key: &str, expect: Option<&Version>, body: Bytes) -> Outcome {
        let modified = (self.wall)();
        let mut shelf = self.lock();
        if shelf.objects.get(key).map(|o| &o.version) != expect {
            return Outcome::Refused;
        }
        shelf.writes += 1;
        let version = Version { e_tag: Some(shelf.writes.to_string()), version: None };
        shelf.objects.insert(key.to_owned(), Object { body, version: version.clone(), modified });
        Outcome::Landed(version)
    }

    fn rows(&self, prefix: &str, from: Option<&str>) -> Vec<Listed> {
        let shelf = self.lock();
        let rows = shelf.objects.range(prefix.to_owned()..);
        rows.take_while(|(key, _)| key.starts_with(prefix))
            .filter(|(key, _)| from.is_none_or(|from| key.as_str() >= from))
            .map(|(key, o)| Listed {
                key: key.clone(),
                size: o.body.len() as u64,
                modified: o.modified,
            })
            .collect()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("objects", &self.lock().objects.len()).finish()
    }
}

#[async_trait]
impl Registers for Memory {
    async fn read(&self, key: &str, known: Option<&Version>) -> Result<Read> {
        Ok(match self.lock().objects.get(key) {
            None => Read::Absent,
            Some(o) if known == Some(&o.version) => Read::Unchanged,
            Some(o) => Read::Present(Snapshot {
                body: o.body.clone(),
                version: o.version.clone(),
                modified: o.modified,
            }),
        })
    }

    async fn modified(&self, key: &str) -> Result<Option<(Version, Wall)>> {
        Ok(self.lock().objects.get(key).map(|o| (o.version.clone(), o.modified)))
    }

    async fn swap(&self, key: &str, expect: Option<&Version>, body: Bytes) -> Outcome {
        self.put(key, expect, body)
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        Ok(self.rows(prefix, None))
    }
}

#[async_trait]
impl Blobs for Memory {
    async fn create(&self, key: &str, payload: Payload) -> Outcome {
        self.put(key, None, payload.into())
    }

    async fn read(&self, key: &str, range: Option<Range<u64>>) -> Result<Option<Bytes>> {
        let shelf = self.lock();
        let Some(object) = shelf.objects.get(key) else { return Ok(None) };
        match range {
            None => Ok(Some(object.body.clone())),
            Some(range) => cut(&object.body, &range).map(Some).map_err(|e| e.on(key)),
        }
    }

    async fn list(&self, prefix: &str, from: Option<&str>) -> Result<Vec<Listed>> {
        Ok(self.rows(prefix, from))
    }
}

/// The bytes of a range that begins inside; what runs past the end is left out.
fn cut(body: &Bytes, range: &Range<u64>) -> Result<Bytes> {
    let size = body.len() as u64;
    if range.start >= size || range.start >= range.end {
        return Err(super::errors::outside(range, size));
    }
    let inside = |at: u64| usize::try_from(at.min(size)).unwrap_or(body.len());
    Ok(body.slice(inside(range.start)..inside(range.end)))
}

/// Reads the part of a `memory://` URL that names the store.
pub(super) fn name_of(url: &str) -> Result<&str> {
    url.strip_prefix("memory://")
        .ok_or_else(|| Error::new(Status::InvalidArgument, "expected memory:// or memory://<name>"))
}
