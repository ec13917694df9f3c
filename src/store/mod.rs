//! L3: the object store, one verb per request.
//!
//! Question: what does the store say? Rule: each verb here is one request (or one step of the local
//! chain), is never retried inside, and its answer is told as it came: *landed*, *refused* or
//! *unknown*. Why no retries here: a retried conditional PUT comes back as a refusal of our own
//! write, and a retry that outlives a lease is worse than an error (TESTING, object_store facts).
//! Resending is a decision, and decisions live above. What is not here: timeouts (the caller drops
//! the future; the request may still land), leases, files.
//!
//! Keys are relative to the base URL (`_tenure/v1/leases/lease/a`); every implementation adds its
//! own base.

mod chain;
mod errors;
mod file;
mod local;
pub mod marker;
pub mod memory;
pub mod probe;
mod remote;
mod stamp;

use crate::base::{Error, Result, Status, Version, Wall};
use async_trait::async_trait;
use bytes::Bytes;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

pub use marker::{Traits, admit};
pub use slatedb::object_store::PutPayload as Payload;

/// How a write came out.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It is stored, under this version.
    Landed(Version),
    /// The store says the condition did not hold. Some stores say so of one's own earlier landing:
    /// read the nonce before believing it.
    Refused,
    /// No answer, or one that tells nothing (timeout, 5xx, connection lost, 403): it may land at
    /// any later time.
    Unknown(Error),
}

/// A register's value as read.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The record's bytes.
    pub body: Bytes,
    /// What a swap has to name.
    pub version: Version,
    /// The store's `LastModified`.
    pub modified: Wall,
}

/// The answer to a read.
#[derive(Clone, Debug)]
pub enum Read {
    /// There is no such object.
    Absent,
    /// It still has the version the caller knows.
    Unchanged,
    /// Here it is.
    Present(Snapshot),
}

/// One row of a LIST.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The key, relative to the base.
    pub key: String,
    /// Bytes of the object (of a chain register: of its newest value).
    pub size: u64,
    /// The store's `LastModified`.
    pub modified: Wall,
}

/// Small records that are swapped whole: sessions, leases, notices, manifests.
#[async_trait]
pub trait Registers: Send + Sync + Debug + 'static {
    /// One GET; with `known` a conditional one.
    async fn read(&self, key: &str, known: Option<&Version>) -> Result<Read>;
    /// One HEAD: version and `LastModified`, `None` if absent.
    async fn modified(&self, key: &str) -> Result<Option<(Version, Wall)>>;
    /// One conditional PUT: create-only when `expect` is `None`, else only over that version.
    async fn swap(&self, key: &str, expect: Option<&Version>, body: Bytes) -> Outcome;
    /// One whole LIST of the registers under a prefix ending in `/`, in key order. A truncated or
    /// partly failed LIST is an error, never a shorter answer.
    async fn list(&self, prefix: &str) -> Result<Vec<Listed>>;
}

/// Data objects: written once, never changed.
#[async_trait]
pub trait Blobs: Send + Sync + Debug + 'static {
    /// One create-only PUT. The payload's pieces go out as they are, without a copy.
    async fn create(&self, key: &str, payload: Payload) -> Outcome;
    /// One GET of a byte range (or all); `None` if absent. A range that begins inside the object
    /// and runs past its end yields what there is.
    async fn read(&self, key: &str, range: Option<Range<u64>>) -> Result<Option<Bytes>>;
    /// One whole LIST under a prefix ending in `/`, keys `>= from` only if given, in key order.
    async fn list(&self, prefix: &str, from: Option<&str>) -> Result<Vec<Listed>>;
}

/// One base URL, opened: the three ways to talk to it.
#[derive(Clone, Debug)]
pub struct Store {
    /// Scheme and base without credentials, for people.
    pub name: String,
    /// Lease traffic, with an HTTP client of its own: used on the control runtime only.
    pub leases: Arc<dyn Registers>,
    /// File manifests: used on the data runtime.
    pub files: Arc<dyn Registers>,
    /// Segments: used on the data runtime.
    pub blobs: Arc<dyn Blobs>,
    /// The least time between two writes to one key (GCS: 1 s).
    pub write_gap: std::time::Duration,
}

impl Store {
    /// Opens a base URL: `memory://[name]`, `file:///dir`, `s3://`, `gs://`, `az://`. Sends
    /// nothing.
    pub fn open(url: &str, config: &crate::base::Config) -> Result<Store> {
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        match scheme {
            "memory" => {
                let store = memory::Memory::named(memory::name_of(url)?);
                Ok(Store::all(url.to_owned(), store.clone(), store))
            }
            "file" => {
                let base = local::Base::new(local::directory(url)?, config.fsync);
                let name = format!("file://{}", base.root().display());
                let chains = Arc::new(chain::Chains::new(base.clone()));
                Ok(Store::all(name, chains, Arc::new(file::Files::new(base))))
            }
            "s3" | "gs" | "az" => remote::open(url, config),
            "" => Err(Error::new(
                Status::InvalidArgument,
                format!("the base URL has no scheme: expected {SCHEMES}"),
            )),
            other => Err(Error::new(
                Status::InvalidArgument,
                format!("unknown scheme {other:?}: expected {SCHEMES}"),
            )),
        }
    }

    /// A store of these parts that uses one client for all, and lets one key be written as often as
    /// one likes.
    #[must_use]
    pub fn all(name: String, registers: Arc<dyn Registers>, blobs: Arc<dyn Blobs>) -> Store {
        Store {
            name,
            leases: registers.clone(),
            files: registers,
            blobs,
            write_gap: std::time::Duration::ZERO,
        }
    }
}

const SCHEMES: &str = "memory://, file:///dir, s3://, gs:// or az://";
