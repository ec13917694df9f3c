//! What the probe found, remembered in the store itself: `_tenure/v1/store.json`.
//!
//! Question: may this client write here at all? Rule: the first acquire, create or join asks
//! [`admit`]. A fresh marker answers in one GET; without one, or once a day, the store is probed
//! and the marker written. The marker carries a random identity: a client that has seen it and
//! meets another one, or none, is talking to another store under the same URL (an endpoint swapped,
//! a prefix wiped) and must not go on. Why in the store and not in a file of the client: all
//! clients have to agree on grain and skew, because the guard time follows from them. What is not
//! here: repair of a damaged marker (it is `Corrupt`).

use super::probe::{Fresh, Report, probe};
use super::{Outcome, Read, Store};
use crate::base::{Clock, Error, Id128, Result, Status, Version, Wall};
use crate::wire::key::store_report;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// A probe older than this is repeated. The age is told by this machine's calendar against the
/// store's stamp: a wrong calendar costs a probe too many or one too late, nothing else.
const DAY: Duration = Duration::from_secs(86_400);
/// Reads of the marker while others write it.
const TRIES: usize = 4;
/// The newest form of the marker.
const VERSION: u64 = 1;

/// What everybody above has to know of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// `LastModified` truncation.
    pub grain: Duration,
    /// Skew between the store's front ends.
    pub skew: Duration,
    /// The identity in the marker: hand it to the next [`admit`].
    pub identity: Id128,
}

#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    v: u64,
    store: Id128,
    grain_ms: u64,
    skew_ms: u64,
    checks: Vec<String>,
    nonce: Id128,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// Admits the store or refuses it: `StoreUnsupported` names the property that fails. `known` is the
/// identity seen before, if any.
pub async fn admit(
    store: &Store,
    clock: &dyn Clock,
    fresh: Fresh<'_>,
    known: Option<Id128>,
) -> Result<Traits> {
    let mut report = None;
    for _ in 0..TRIES {
        let found = marker(store).await?;
        compare(store, known, found.as_ref().map(|(marker, ..)| marker.store))?;
        if let Some((marker, _, modified)) = &found {
            // Our own write below, or anybody's of today.
            if report.is_some() || clock.wall().since(*modified) < DAY {
                return Ok(marker.traits());
            }
        }
        let report = match &mut report {
            Some(report) => report,
            none => none.insert(probe(store, clock, fresh).await?),
        };
        report.verdict()?;
        let (old, version) = found.map_or((None, None), |(m, v, _)| (Some(m), Some(v)));
        let marker = Marker::of(report, old, fresh);
        match store.leases.swap(&store_report(), version.as_ref(), marker.to_bytes()?).await {
            Outcome::Landed(_) => return Ok(marker.traits()),
            // Somebody else's marker, or our own: the next look tells.
            Outcome::Refused => {}
            Outcome::Unknown(e) if e.status() == Status::AccessDenied => return Err(e),
            Outcome::Unknown(_) => {}
        }
    }
    let what = format!("could not write the marker in {TRIES} tries");
    Err(Error::new(Status::StoreUnavailable, what).on(store_report()))
}

async fn marker(store: &Store) -> Result<Option<(Marker, Version, Wall)>> {
    let found = match store.leases.read(&store_report(), None).await? {
        Read::Present(found) => found,
        Read::Absent | Read::Unchanged => return Ok(None),
    };
    let damaged = |e: serde_json::Error| {
        Error::new(Status::Corrupt, "the store's marker does not parse")
            .on(store_report())
            .because(e)
    };
    let raw: Value = serde_json::from_slice(&found.body).map_err(damaged)?;
    match raw.get("v").and_then(Value::as_u64) {
        Some(v) if v > VERSION => {
            let what = format!("the marker has version {v}, this library knows {VERSION}");
            Err(Error::new(Status::Unsupported, what).on(store_report()))
        }
        _ => {
            let marker = serde_json::from_value(raw).map_err(damaged)?;
            Ok(Some((marker, found.version, found.modified)))
        }
    }
}

fn compare(store: &Store, known: Option<Id128>, found: Option<Id128>) -> Result<()> {
    match (known, found) {
        (None, _) => Ok(()),
        (Some(known), Some(found)) if known == found => Ok(()),
        (Some(known), found) => {
            let found = found.map_or("none".into(), |id| id.to_string());
            let what =
                format!("another store answers under this URL: identity {found}, was {known}");
            Err(Error::new(Status::StoreUnsupported, what).on(&store.name))
        }
    }
}

impl Marker {
    fn of(report: &Report, old: Option<Marker>, fresh: Fresh<'_>) -> Marker {
        let ms = |d: Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
        let (store, unknown) = old.map_or_else(|| (fresh(), Map::new()), |m| (m.store, m.unknown));
        Marker {
            v: VERSION,
            store,
            grain_ms: ms(report.grain),
            skew_ms: ms(report.skew),
            checks: report.checks.iter().map(|check| check.name.to_owned()).collect(),
            nonce: fresh(),
            unknown,
        }
    }

    fn traits(&self) -> Traits {
        Traits {
            grain: Duration::from_millis(self.grain_ms),
            skew: Duration::from_millis(self.skew_ms),
            identity: self.store,
        }
    }

    fn to_bytes(&self) -> Result<Bytes> {
        serde_json::to_vec(self).map(Bytes::from).map_err(|e| {
            Error::new(Status::Internal, "the marker could not be written as JSON").because(e)
        })
    }
}
