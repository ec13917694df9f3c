//! A session's mailbox: what others want it to know.
//!
//! Rule: a hint, never authority. It makes a holder re-prove leases it would otherwise believe in
//! until its next gap (PROTOCOL traps 14, 15). A swap keeps every entry found; instead of a 65th
//! entry `all` is set: every lease is to be re-proved.

use super::json;
use crate::base::{Epoch, Id128, Kind, Resource, Result};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Most entries of one list.
pub const MAX_ENTRIES: usize = 64;

/// One lease concerned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The family, as a word.
    pub kind: String,
    /// The resource's name.
    pub resource: String,
    /// The epoch that took the lease away; a holder at this epoch or above ignores the entry.
    pub epoch: Epoch,
}

/// `notices/<sid>`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// Format version.
    pub v: u32,
    /// Fresh in every write.
    pub nonce: Id128,
    /// Leases taken away by an operator.
    #[serde(default)]
    pub evicted: Vec<Entry>,
    /// Re-prove every lease.
    #[serde(default)]
    pub all: bool,
    /// Leases somebody asks to be handed over.
    #[serde(default)]
    pub wanted: Vec<Entry>,
    /// Fields of other writers, kept.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl Notice {
    /// Reads it; `key` names it in errors.
    pub fn decode(key: &str, body: &[u8]) -> Result<Notice> {
        json::decode(key, body)
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        json::encode(self)
    }

    /// This notice with one eviction more, under a fresh nonce.
    #[must_use]
    pub fn with_eviction(mut self, resource: &Resource, epoch: Epoch, nonce: Id128) -> Notice {
        self.v = json::VERSION;
        self.nonce = nonce;
        let entry = Entry {
            kind: resource.kind().to_string(),
            resource: resource.name().to_owned(),
            epoch,
        };
        let same = |e: &Entry| e.kind == entry.kind && e.resource == entry.resource;
        if let Some(old) = self.evicted.iter_mut().find(|e| same(e)) {
            old.epoch = old.epoch.max(epoch);
        } else if self.evicted.len() < MAX_ENTRIES {
            self.evicted.push(entry);
        } else {
            self.all = true;
        }
        self
    }

    /// Whether an entry of its own takes the lease on `resource` away from a holder at `epoch`.
    #[must_use]
    pub fn names(&self, resource: &Resource, epoch: Epoch) -> bool {
        let kind: &str = Kind::as_str(resource.kind());
        let same = |e: &Entry| e.kind == kind && e.resource == resource.name();
        self.evicted.iter().any(|e| same(e) && e.epoch > epoch)
    }

    /// Whether the lease on `resource`, held at `epoch`, is called into question.
    #[must_use]
    pub fn evicts(&self, resource: &Resource, epoch: Epoch) -> bool {
        self.all || self.names(resource, epoch)
    }
}
