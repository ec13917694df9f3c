//! What the demo's processes tell each other: one JSON object a line.

use serde::{Deserialize, Serialize};

/// A writer's line to the orchestrator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Message {
    /// Somebody else holds the file's lease; this writer now waits.
    Held { holder: String, epoch: u64, retry_after_ms: u64 },
    /// The writer was admitted; its first byte goes to `base`.
    Admitted { epoch: u64, base: u64 },
    /// How far it is. `acked` is in its ledger, on disk.
    Progress { acked: u64, written: u64 },
    /// It was told that it may not write any more.
    Ended { status: String, fenced: bool, text: String, acked: u64, written: u64 },
    /// It closed the file.
    Closed { acked: u64 },
}

/// What the checker found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Findings {
    /// The file's length.
    pub length_bytes: u64,
    /// Who wrote which part, in the file's order.
    pub parts: Vec<Part>,
    /// Each check.
    pub checks: Vec<Check>,
}

/// One writer's part of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Its letter.
    pub role: char,
    /// Its epoch.
    pub epoch: u64,
    /// Offset of its first byte.
    pub begin: u64,
    /// Offset after its last byte in the file.
    pub end: u64,
    /// The last acked offset in its ledger.
    pub acked: u64,
    /// How many acks its ledger holds.
    pub acks: usize,
}

/// One check and how it came out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Check {
    /// The property, as a sentence.
    pub name: String,
    /// Whether it held.
    pub ok: bool,
    /// Numbers for people.
    pub detail: String,
}

impl Check {
    /// A check's outcome.
    pub fn new(name: impl Into<String>, ok: bool, detail: impl Into<String>) -> Check {
        Check { name: name.into(), ok, detail: detail.into() }
    }
}
