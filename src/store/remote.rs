//! `s3://`, `gs://`, `az://`: a bucket.
//!
//! Question: what did the bucket say? Rule: one verb is one HTTP request. The client below retries
//! nothing (`max_retries = 0`), because a retried conditional PUT is refused by its own first
//! landing, and its timeouts are out of the way (an hour), because they outlive a lease: callers
//! set their own. Lease traffic has a client, and so a connection pool, of its own: segments cannot
//! queue before a renewal. Why not `object_store`'s defaults: ten retries over three minutes inside
//! one call, all told as one answer.
//!
//! Refused is what the store says of its condition: 412, 409, or 404 on a swap. All else (timeouts,
//! 5xx, 403, a missing bucket) is unknown with its status. What is not here: credentials (the
//! environment's standard variables and `store.*`), caching, retries.

use super::errors::{self, Secrets};
use super::{Blobs, Listed, Outcome, Payload, Read, Registers, Snapshot, Store};
use crate::base::{Config, Error, Result, Status, Version, Wall};
use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use slatedb::object_store::path::Path;
use slatedb::object_store::{
    Error as OsError, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode,
    PutOptions, UpdateVersion,
};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

mod client;

/// Opens a bucket. Sends nothing.
pub(super) fn open(url: &str, config: &Config) -> Result<Store> {
    let place = client::Place::parse(url)?;
    let secrets = Arc::new(client::secrets(config));
    let bucket = |store| Arc::new(Bucket::new(store, place.base.clone(), secrets.clone()));
    let leases = bucket(client::build(&place, config, &secrets)?);
    let data = bucket(client::build(&place, config, &secrets)?);
    Ok(Store {
        name: place.shown.clone(),
        leases,
        files: data.clone(),
        blobs: data,
        write_gap: if place.scheme == "gs" { Duration::from_secs(1) } else { Duration::ZERO },
    })
}

/// One client of a bucket, below a base path.
#[derive(Clone)]
pub(super) struct Bucket {
    store: Arc<dyn ObjectStore>,
    /// Empty, or a path and a slash.
    base: String,
    secrets: Arc<Secrets>,
}

/// Written by hand: the client's own `Debug` tells key ids and shared access signatures.
impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Bucket {
    pub(super) fn new(store: Arc<dyn ObjectStore>, base: String, secrets: Arc<Secrets>) -> Bucket {
        Bucket { store, base, secrets }
    }

    fn path(&self, key: &str) -> Result<Path> {
        Path::parse(format!("{}{key}", self.base)).map_err(|e| {
            Error::new(Status::InvalidArgument, "the key is not a path").on(key).because(e)
        })
    }

    fn failed(&self, e: &OsError, key: &str) -> Error {
        errors::foreign(e, key, &self.secrets)
    }

    /// Whether the object is absent. A missing bucket also answers 404, and that is an error:
    /// absence is evidence.
    fn is_absent(e: &OsError) -> bool {
        matches!(e, OsError::NotFound { .. }) && !errors::bucket_is_missing(&e.to_string())
    }

    async fn put(&self, key: &str, expect: Option<&Version>, payload: Payload) -> Outcome {
        let path = match self.path(key) {
            Ok(path) => path,
            Err(e) => return Outcome::Unknown(e),
        };
        let mode = match expect {
            None => PutMode::Create,
            Some(v) => {
                let (e_tag, version) = (v.e_tag.clone(), v.version.clone());
                PutMode::Update(UpdateVersion { e_tag, version })
            }
        };
        let options = PutOptions { mode, ..PutOptions::default() };
        match self.store.put_opts(&path, payload, options).await {
            Ok(done) => Outcome::Landed(Version { e_tag: done.e_tag, version: done.version }),
            // The client turns a swap's 404 into a failed precondition, whatever is missing.
            Err(e) if errors::bucket_is_missing(&e.to_string()) => {
                Outcome::Unknown(self.failed(&e, key))
            }
            Err(OsError::AlreadyExists { .. } | OsError::Precondition { .. }) => Outcome::Refused,
            Err(OsError::NotFound { .. }) if expect.is_some() => Outcome::Refused,
            Err(e) => Outcome::Unknown(self.failed(&e, key)),
        }
    }

    /// One LIST, all pages; any failed page fails it.
    async fn rows(&self, prefix: &str, from: Option<&str>) -> Result<Vec<Listed>> {
        let root = format!("{}{prefix}", self.base);
        let below = if root.is_empty() { None } else { Some(self.path(prefix)?) };
        // The store's offset is exclusive and ours inclusive: begin one character earlier and drop
        // what comes before.
        let offset =
            match from.and_then(|from| from.char_indices().next_back().map(|(i, _)| &from[..i])) {
                Some(before) if before.len() > prefix.len() => Some(self.path(before)?),
                _ => None,
            };
        let pages = match &offset {
            Some(offset) => self.store.list_with_offset(below.as_ref(), offset),
            None => self.store.list(below.as_ref()),
        };
        let found: Vec<ObjectMeta> =
            pages.try_collect().await.map_err(|e| self.failed(&e, prefix))?;
        let mut rows: Vec<Listed> = found
            .into_iter()
            .filter_map(|meta| {
                let key = meta.location.as_ref().strip_prefix(&self.base)?.to_owned();
                Some(Listed { key, size: meta.size, modified: wall(&meta) })
            })
            .filter(|row| row.key.starts_with(prefix))
            .filter(|row| from.is_none_or(|from| row.key.as_str() >= from))
            .collect();
        rows.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(rows)
    }
}

#[async_trait]
impl Registers for Bucket {
    async fn read(&self, key: &str, known: Option<&Version>) -> Result<Read> {
        let path = self.path(key)?;
        let if_none_match = known.and_then(|v| v.e_tag.clone());
        let options = GetOptions { if_none_match, ..GetOptions::default() };
        let found = match self.store.get_opts(&path, options).await {
            Ok(found) => found,
            Err(OsError::NotModified { .. }) => return Ok(Read::Unchanged),
            Err(e) if Bucket::is_absent(&e) => return Ok(Read::Absent),
            Err(e) => return Err(self.failed(&e, key)),
        };
        let (version, modified) = (version(&found.meta), wall(&found.meta));
        let body = found.bytes().await.map_err(|e| self.failed(&e, key))?;
        Ok(Read::Present(Snapshot { body, version, modified }))
    }

    async fn modified(&self, key: &str) -> Result<Option<(Version, Wall)>> {
        match self.store.head(&self.path(key)?).await {
            Ok(meta) => Ok(Some((version(&meta), wall(&meta)))),
            Err(e) if Bucket::is_absent(&e) => Ok(None),
            Err(e) => Err(self.failed(&e, key)),
        }
    }

    async fn swap(&self, key: &str, expect: Option<&Version>, body: Bytes) -> Outcome {
        self.put(key, expect, body.into()).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        self.rows(prefix, None).await
    }
}

#[async_trait]
impl Blobs for Bucket {
    async fn create(&self, key: &str, payload: Payload) -> Outcome {
        self.put(key, None, payload).await
    }

    async fn read(&self, key: &str, range: Option<Range<u64>>) -> Result<Option<Bytes>> {
        let options = GetOptions { range: range.map(GetRange::Bounded), ..GetOptions::default() };
        let found = match self.store.get_opts(&self.path(key)?, options).await {
            Ok(found) => found,
            Err(e) if Bucket::is_absent(&e) => return Ok(None),
            Err(e) => return Err(self.failed(&e, key)),
        };
        found.bytes().await.map(Some).map_err(|e| self.failed(&e, key))
    }

    async fn list(&self, prefix: &str, from: Option<&str>) -> Result<Vec<Listed>> {
        self.rows(prefix, from).await
    }
}

fn version(meta: &ObjectMeta) -> Version {
    Version { e_tag: meta.e_tag.clone(), version: meta.version.clone() }
}

fn wall(meta: &ObjectMeta) -> Wall {
    Wall(meta.last_modified.timestamp_millis())
}
