//! L3: the object store, one verb per request.
//!
//! Question: what does the store say? Rule: each verb here is one request (or one step of the local chain), is never retried inside, and its answer
//! is told as it came: *landed*, *refused* or *unknown*. Why no retries here: a retried conditional PUT comes back as a refusal of our own write, and
//! a retry that outlives a lease is worse than an error (TESTING, object_store facts). Resending is a decision, and decisions live above. What is
//! not here: timeouts (the caller drops the future; the request may still land), leases, files.
//!
//! Keys are relative to the base URL (`_tenure/v1/leases/lease/a`); every implementation adds its own base.

pub mod probe;

use crate::base::{Error, Result, Version, Wall};
use async_trait::async_trait;
use bytes::Bytes;
use std::fmt::Debug;
use std::ops::Range;

pub use slatedb::object_store::PutPayload as Payload;

/// How a write came out.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It is stored, under this version.
    Landed(Version),
    /// The store says the condition did not hold. Some stores say so of one's own earlier landing: read the nonce before believing it.
    Refused,
    /// No answer, or one that tells nothing (timeout, 5xx, connection lost, 403): it may land at any later time.
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
    /// One whole LIST of the registers under a prefix ending in `/`, in key order. A truncated or partly failed LIST is an error, never a shorter answer.
    async fn list(&self, prefix: &str) -> Result<Vec<Listed>>;
}

/// Data objects: written once, never changed.
#[async_trait]
pub trait Blobs: Send + Sync + Debug + 'static {
    /// One create-only PUT. The payload's pieces go out as they are, without a copy.
    async fn create(&self, key: &str, payload: Payload) -> Outcome;
    /// One GET of a byte range (or all); `None` if absent. A range that begins inside the object and runs past its end yields what there is.
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
    pub leases: std::sync::Arc<dyn Registers>,
    /// File manifests: used on the data runtime.
    pub files: std::sync::Arc<dyn Registers>,
    /// Segments: used on the data runtime.
    pub blobs: std::sync::Arc<dyn Blobs>,
    /// The least time between two writes to one key (GCS: 1 s).
    pub write_gap: std::time::Duration,
}

impl Store {
    /// Opens a base URL: `memory://[name]`, `file:///dir`, `s3://`, `gs://`, `az://`. Sends nothing.
    pub fn open(url: &str, config: &crate::base::Config) -> Result<Store> {
        todo!()
    }
}
