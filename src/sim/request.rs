//! A request as a value: it can be held, doubled and served after its caller has gone.

use super::fault::{Quirk, Verb};
use crate::base::{Error, Result, Status, Version, Wall};
use crate::store::{Listed, Outcome, Read, Snapshot};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ops::Range;

/// One request that was sent, for counting and for comparing runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Milliseconds since the store was made.
    pub at_ms: u64,
    /// Which node sent it.
    pub from: String,
    /// Its verb.
    pub verb: Verb,
    /// Its key or prefix.
    pub key: String,
    /// What befell it.
    pub fate: String,
}

#[derive(Clone, Debug)]
pub(super) enum Op {
    Swap { key: String, expect: Option<Version>, body: Bytes },
    Create { key: String, body: Bytes },
    Read { key: String, known: Option<Version> },
    Modified { key: String },
    Range { key: String, range: Option<Range<u64>> },
    List { prefix: String, from: Option<String> },
}

#[derive(Clone, Debug)]
pub(super) enum Answer {
    Outcome(Outcome),
    Read(Read),
    Modified(Option<(Version, Wall)>),
    Bytes(Option<Bytes>),
    Rows(Vec<Listed>),
    Failed(Error),
}

impl Op {
    pub(super) fn verb(&self) -> Verb {
        match self {
            Op::Swap { .. } | Op::Create { .. } => Verb::Put,
            Op::Read { .. } | Op::Range { .. } => Verb::Get,
            Op::Modified { .. } => Verb::Head,
            Op::List { .. } => Verb::List,
        }
    }

    pub(super) fn key(&self) -> &str {
        match self {
            Op::Swap { key, .. }
            | Op::Create { key, .. }
            | Op::Read { key, .. }
            | Op::Modified { key }
            | Op::Range { key, .. } => key,
            Op::List { prefix, .. } => prefix,
        }
    }

    pub(super) fn writes(&self) -> bool {
        self.verb() == Verb::Put
    }

    /// What the caller hears when there is no answer, or none that tells anything.
    pub(super) fn failed(&self, status: Status, what: &str) -> Answer {
        let error = Error::new(status, format!("simulated: {what}")).on(self.key());
        if self.writes() { Answer::Outcome(Outcome::Unknown(error)) } else { Answer::Failed(error) }
    }

    /// What the caller hears when the store says the condition did not hold.
    pub(super) fn refused(&self) -> Answer {
        if self.writes() {
            Answer::Outcome(Outcome::Refused)
        } else {
            self.failed(Status::StoreUnavailable, "conflict")
        }
    }
}

/// One stored object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) body: Bytes,
    /// As the store tells it: cut to its grain.
    pub(super) modified: Wall,
    /// When it really landed.
    pub(super) landed: Wall,
}

impl Object {
    /// A content hash, as S3's: equal bytes have equal tags (trap 6).
    pub(super) fn version(&self) -> Version {
        let hash = Sha256::digest(&self.body);
        let hex: String = hash.iter().take(16).map(|b| format!("{b:02x}")).collect();
        Version { e_tag: Some(format!("\"{hex}\"")), version: None }
    }
}

/// The objects and how they are kept.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) objects: BTreeMap<String, Object>,
    pub(super) grain_ms: i64,
    pub(super) quirk: Option<Quirk>,
    pub(super) puts: u64,
}

impl Shelf {
    /// Serves a request at this moment of the store's calendar.
    pub(super) fn serve(&mut self, op: &Op, wall: Wall) -> Answer {
        match op {
            Op::Swap { key, expect, body } => {
                if self.admits(key, expect.as_ref()) {
                    Answer::Outcome(Outcome::Landed(self.put(key, body.clone(), wall)))
                } else {
                    Answer::Outcome(Outcome::Refused)
                }
            }
            Op::Create { key, body } => {
                if self.admits(key, None) {
                    Answer::Outcome(Outcome::Landed(self.put(key, body.clone(), wall)))
                } else {
                    Answer::Outcome(Outcome::Refused)
                }
            }
            Op::Read { key, known } => Answer::Read(self.read(key, known.as_ref())),
            Op::Modified { key } => {
                Answer::Modified(self.objects.get(key).map(|o| (o.version(), o.modified)))
            }
            Op::Range { key, range } => match self.range(key, range.as_ref()) {
                Ok(bytes) => Answer::Bytes(bytes),
                Err(error) => Answer::Failed(error),
            },
            Op::List { prefix, from } => Answer::Rows(self.list(prefix, from.as_deref(), wall)),
        }
    }

    /// Whether a write under this condition would land now.
    pub(super) fn admits(&self, key: &str, expect: Option<&Version>) -> bool {
        let stored = self.objects.get(key).map(Object::version);
        match (expect, stored) {
            (None, None) => true,
            (None, Some(_)) => self.quirk == Some(Quirk::IgnoresCreateOnly),
            (Some(_), None) => {
                matches!(self.quirk, Some(Quirk::SwapCreates | Quirk::IgnoresIfMatch))
            }
            (Some(expected), Some(stored)) => {
                *expected == stored || self.quirk == Some(Quirk::IgnoresIfMatch)
            }
        }
    }

    /// Stores unconditionally.
    pub(super) fn put(&mut self, key: &str, body: Bytes, wall: Wall) -> Version {
        self.puts += 1;
        let mut told = wall.0;
        if self.quirk == Some(Quirk::SkewedClocks) && self.puts.is_multiple_of(2) {
            told -= 30_000;
        }
        let kept = self.objects.get(key).map(|o| o.modified);
        let modified = match kept {
            Some(first) if self.quirk == Some(Quirk::KeepsModified) => first,
            _ => Wall(told - told.rem_euclid(self.grain_ms)),
        };
        let object = Object { body, modified, landed: wall };
        let version = object.version();
        self.objects.insert(key.to_owned(), object);
        version
    }

    fn read(&self, key: &str, known: Option<&Version>) -> Read {
        match self.objects.get(key) {
            None => Read::Absent,
            Some(o) if known == Some(&o.version()) => Read::Unchanged,
            Some(o) => Read::Present(Snapshot {
                body: o.body.clone(),
                version: o.version(),
                modified: o.modified,
            }),
        }
    }

    fn range(&self, key: &str, range: Option<&Range<u64>>) -> Result<Option<Bytes>> {
        let Some(object) = self.objects.get(key) else { return Ok(None) };
        let Some(range) = range else { return Ok(Some(object.body.clone())) };
        let size = object.body.len() as u64;
        if range.start >= size || range.start >= range.end {
            let what = format!("range {}..{} of {size} bytes", range.start, range.end);
            return Err(Error::new(Status::InvalidArgument, what).on(key));
        }
        let end = range.end.min(size);
        Ok(Some(object.body.slice(range.start as usize..end as usize)))
    }

    fn list(&self, prefix: &str, from: Option<&str>, wall: Wall) -> Vec<Listed> {
        let lags = self.quirk == Some(Quirk::ListLags);
        let rows =
            self.objects.range(prefix.to_owned()..).take_while(|(k, _)| k.starts_with(prefix));
        rows.filter(|(key, _)| from.is_none_or(|from| key.as_str() >= from))
            .filter(|(_, o)| !lags || wall.since(o.landed).as_secs() >= 10)
            .map(|(key, o)| Listed {
                key: key.clone(),
                size: o.body.len() as u64,
                modified: o.modified,
            })
            .collect()
    }
}
