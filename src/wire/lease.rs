//! A lease's record: who may write, under which epoch.
//!
//! Rule: changed by swap only, never deleted (a deleted record would hand out old epochs again),
//! fresh nonce in every write (equal bytes may get equal tags). The holder's limits are copied in,
//! for the day its session object is missing or damaged.

use super::json;
use crate::base::{Epoch, Id128, Resource, Result};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Whether somebody holds it by the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LeaseState {
    /// `sid` holds it, as long as its session lives.
    Held,
    /// Free.
    Released,
}

/// How an epoch began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Nobody held it.
    Fresh,
    /// The same session took it again.
    Reacquired,
    /// The former holder had lapsed.
    Preempted,
    /// The monitor took it past the hard limit.
    Recovered,
    /// The former holder named this successor.
    HandedOver,
    /// An operator broke it.
    Forced,
}

impl How {
    /// The word in the record.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            How::Fresh => "fresh",
            How::Reacquired => "reacquired",
            How::Preempted => "preempted",
            How::Recovered => "recovered",
            How::HandedOver => "handed_over",
            How::Forced => "forced",
        }
    }
}

/// A reservation left by a holder that handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// For whom.
    pub sid: Id128,
    /// For how long after it is first seen.
    pub ms: u64,
}

/// An unclosed file waits for recovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recover {
    /// How often it was tried.
    pub attempts: u32,
    /// The epoch that left it.
    pub first_epoch: Epoch,
}

/// A former holding, for history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// Its epoch.
    pub epoch: Epoch,
    /// Its session.
    pub sid: Id128,
    /// Its node.
    pub node: String,
    /// How it began.
    pub how: How,
}

/// Former holdings kept in the record.
pub const MAX_PAST: usize = 16;

/// `leases/<kind>/<name>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaseRecord {
    /// Format version.
    pub v: u32,
    /// The family, as a word.
    pub kind: String,
    /// The resource's name.
    pub resource: String,
    /// The epoch in force.
    pub epoch: Epoch,
    /// Counts touches under this epoch.
    pub touch: u64,
    /// Held or released.
    pub state: LeaseState,
    /// The (last) holder's session.
    pub sid: Id128,
    /// The (last) holder's node.
    pub node: String,
    /// The holder's soft limit.
    pub soft_ms: u64,
    /// The holder's hard limit.
    pub hard_ms: u64,
    /// Fresh in every write.
    pub nonce: Id128,
    /// How this epoch began.
    pub how: How,
    /// A reservation; only while released.
    #[serde(default)]
    pub offer: Option<Offer>,
    /// SlateDB's writer epoch, as a cell's holder last recorded it.
    #[serde(default)]
    pub cell_epoch: Option<u64>,
    /// Set while an unclosed file waits for recovery.
    #[serde(default)]
    pub recover: Option<Recover>,
    /// An operator's note.
    #[serde(default)]
    pub note: Option<String>,
    /// The last holdings, newest first.
    #[serde(default)]
    pub past: Vec<Past>,
    /// Fields of other writers, kept.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl LeaseRecord {
    /// Reads it and checks ranges; `key` names it in errors.
    pub fn decode(key: &str, body: &[u8]) -> Result<LeaseRecord> {
        let record: LeaseRecord = json::decode(key, body)?;
        if !record.epoch.in_range() {
            let why = format!("epoch {} is above {}", record.epoch, Epoch::MAX);
            return Err(json::corrupt(key, &why));
        }
        if record.soft_ms == 0 || record.hard_ms < record.soft_ms {
            let why = format!("limits {} and {} ms", record.soft_ms, record.hard_ms);
            return Err(json::corrupt(key, &why));
        }
        Ok(record)
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        json::encode(self)
    }

    /// Whether it says that `sid` holds it at `epoch`.
    #[must_use]
    pub fn names(&self, sid: Id128, epoch: Epoch) -> bool {
        self.state == LeaseState::Held && self.sid == sid && self.epoch == epoch
    }

    /// The holder as errors tell it: node and session.
    #[must_use]
    pub fn holder(&self) -> String {
        format!("{}/{}", self.node, self.sid)
    }

    /// The history with the holding of this record put in front.
    #[must_use]
    pub fn past_with_this(&self) -> Vec<Past> {
        let this =
            Past { epoch: self.epoch, sid: self.sid, node: self.node.clone(), how: self.how };
        std::iter::once(this).chain(self.past.iter().cloned()).take(MAX_PAST).collect()
    }

    /// Whether it is about this resource: a record copied to another key is damage.
    #[must_use]
    pub fn is_about(&self, resource: &Resource) -> bool {
        self.kind == resource.kind().as_str() && self.resource == resource.name()
    }
}
