//! A session's renewal line: one object that keeps any number of leases alive.
//!
//! Rule: only its owner writes it. Contenders read its `LastModified` for its age and its `soft_ms`
//! for what age means. Why it carries no list of leases: a contender's write would make a dead
//! session look fresh, and all contenders would queue at one object (PROTOCOL trap 1).

use super::json;
use crate::base::{Id128, Result};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Whether the owner still claims anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionState {
    /// Renewed, or lapsed: its age tells.
    Live,
    /// Ended by its owner: its leases are free at once.
    Ended,
}

/// `sessions/<sid>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Format version.
    pub v: u32,
    /// The session.
    pub sid: Id128,
    /// How its process calls itself.
    pub node: String,
    /// The soft limit, fixed for the session.
    pub soft_ms: u64,
    /// The hard limit, fixed for the session.
    pub hard_ms: u64,
    /// Counts renewals.
    pub beat: u64,
    /// Fresh in every write.
    pub nonce: Id128,
    /// Live or ended.
    pub state: SessionState,
    /// The owner's wall clock at the start, in milliseconds since 1970; for people only.
    pub started_at: i64,
    /// Fields of other writers, kept.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl SessionRecord {
    /// Reads it; `key` names it in errors.
    pub fn decode(key: &str, body: &[u8]) -> Result<SessionRecord> {
        json::decode(key, body)
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        json::encode(self)
    }
}
