//! `file://` blobs: one file per object, made whole by a hard link.
//!
//! Rule: `LocalFileSystem` writes the payload's pieces one after the other into a staging file (no
//! copy, no concatenation), flushes it, and links it under its name; an existing name refuses. What
//! this file adds: the base directory appears with the first write, directories are made durable
//! whoever made them, reads begin anywhere, and errors keep the meaning of their errno. What is not
//! here: registers (`store::chain`); removal.

use super::local::{Base, at_base, blocking};
use super::{Blobs, Listed, Outcome, Payload, errors};
use crate::base::{Error, Result, Status, Version, Wall};
use async_trait::async_trait;
use bytes::Bytes;
use errors::Secrets;
use futures::TryStreamExt;
use slatedb::object_store::local::LocalFileSystem;
use slatedb::object_store::path::Path;
use slatedb::object_store::{Error as OsError, ObjectStore, PutMode, PutOptions};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// The blobs below one directory.
#[derive(Debug)]
pub(super) struct Files {
    base: Base,
    /// Opened once the base exists: it resolves symbolic links.
    local: OnceLock<LocalFileSystem>,
}

impl Files {
    pub(super) fn new(base: Base) -> Files {
        Files { base, local: OnceLock::new() }
    }

    /// The file system below the base, or `None` while the base does not exist.
    fn local(&self) -> Result<Option<&LocalFileSystem>> {
        if let Some(local) = self.local.get() {
            return Ok(Some(local));
        }
        match self.base.root().metadata() {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(at_base(e, &self.base, "open")),
        }
        let local = LocalFileSystem::new_with_prefix(self.base.root())
            .map_err(|e| errors::foreign(&e, &self.base.root().display().to_string(), &none()))?;
        Ok(Some(self.local.get_or_init(|| local.with_fsync(self.base.fsync))))
    }

    async fn put(&self, key: &str, payload: Payload) -> Result<Outcome> {
        let path = self.base.path(key)?;
        let (base, name) = (self.base.clone(), key.to_owned());
        blocking(move || {
            let dir = path.parent().unwrap_or(base.root());
            base.make(dir).map_err(|e| errors::io(e, &name, "create the directory"))
        })
        .await?;
        let local = self.local()?.ok_or_else(|| {
            Error::new(Status::BucketNotFound, "the base directory is gone").on(key)
        })?;
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match local.put_opts(&object(key)?, payload, options).await {
            Ok(done) => Ok(Outcome::Landed(Version { e_tag: done.e_tag, version: done.version })),
            Err(OsError::AlreadyExists { .. }) => Ok(Outcome::Refused),
            Err(e) => Err(errors::foreign(&e, key, &none())),
        }
    }
}

#[async_trait]
impl Blobs for Files {
    async fn create(&self, key: &str, payload: Payload) -> Outcome {
        self.put(key, payload).await.unwrap_or_else(Outcome::Unknown)
    }

    async fn read(&self, key: &str, range: Option<Range<u64>>) -> Result<Option<Bytes>> {
        let (path, key) = (self.base.path(key)?, key.to_owned());
        blocking(move || {
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(e) => return Err(errors::io(e, &key, "open")),
            };
            let failed = |e| errors::io(e, &key, "read");
            let size = file.metadata().map_err(failed)?.len();
            let range = match range {
                None => 0..size,
                Some(r) if r.start < size && r.start < r.end => r.start..r.end.min(size),
                Some(r) => return Err(errors::outside(&r, size).on(&key)),
            };
            let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            let mut bytes = vec![0; len];
            file.read_exact_at(&mut bytes, range.start).map_err(failed)?;
            Ok(Some(Bytes::from(bytes)))
        })
        .await
    }

    async fn list(&self, prefix: &str, from: Option<&str>) -> Result<Vec<Listed>> {
        self.base.prefix(prefix)?;
        let Some(local) = self.local()? else { return Ok(Vec::new()) };
        let below = if prefix.is_empty() { None } else { Some(object(prefix)?) };
        let found: Vec<_> = local
            .list(below.as_ref())
            .try_collect()
            .await
            .map_err(|e| errors::foreign(&e, prefix, &none()))?;
        let mut rows: Vec<Listed> = found
            .into_iter()
            .map(|meta| Listed {
                key: meta.location.to_string(),
                size: meta.size,
                modified: Wall(meta.last_modified.timestamp_millis()),
            })
            .filter(|row| row.key.starts_with(prefix))
            .filter(|row| from.is_none_or(|from| row.key.as_str() >= from))
            .collect();
        rows.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(rows)
    }
}

fn object(key: &str) -> Result<Path> {
    Path::parse(key).map_err(|e| {
        Error::new(Status::InvalidArgument, "the key is not a path").on(key).because(e)
    })
}

/// A file system has no secrets to strike out.
fn none() -> Secrets {
    Secrets::default()
}
