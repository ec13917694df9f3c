//! What a store must promise, asked before the first write (PROTOCOL §7).
//!
//! Question: does this store do what every proof above takes for granted? Rule: each property is
//! asked by requests of the kind that will depend on it, of the same client, and a store that fails
//! one is refused by the property's name. Why not believe the documentation: several S3-compatible
//! servers take `If-Match` and `If-None-Match` and ignore both; on those two holders would both be
//! told that they won, and nothing would look wrong until data is gone. A silent store is not a
//! failing one: no answer is an error of its own, and nothing is concluded.
//!
//! The probe writes only below `_tenure/v1/probe/<fresh id>/`, two small objects, and removes
//! nothing. [`crate::store::marker`] remembers the result. Invariant (`tests/store_probe.rs`): each
//! way of breaking a promise is refused by its name. What is not here: whether the answers stay
//! true (a store that lies once in a million is beyond any probe), speed.

use super::{Outcome, Payload, Read, Registers, Store};
use crate::base::{Clock, Error, Id128, Mono, Result, Status, Version, Wall};
use bytes::Bytes;
use std::time::Duration;

/// What the probe found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Which store: scheme and base, without credentials.
    pub store: String,
    /// Each property asked: its name, whether it holds, and what was seen.
    pub checks: Vec<Check>,
    /// `LastModified` truncation.
    pub grain: Duration,
    /// Skew between the store's front ends.
    pub skew: Duration,
}

/// One property of a store.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its name, e.g. `create-only`.
    pub name: &'static str,
    /// Whether it holds.
    pub ok: bool,
    /// What was expected and seen.
    pub detail: String,
}

impl Report {
    /// Nothing if every property holds, else the refusal that names those that do not.
    pub fn verdict(&self) -> Result<()> {
        let failed: Vec<String> = self
            .checks
            .iter()
            .filter(|check| !check.ok)
            .map(|check| format!("{} ({})", check.name, check.detail))
            .collect();
        if failed.is_empty() {
            return Ok(());
        }
        let what = format!("this store cannot keep leases: {}", failed.join("; "));
        Err(Error::new(Status::StoreUnsupported, what).on(&self.store))
    }
}

/// Fresh identities: `World::chance` above, so that a simulated probe repeats itself.
pub type Fresh<'a> = &'a (dyn Fn() -> Id128 + Send + Sync);

/// Contenders of the race.
const RACERS: usize = 8;
/// A race nobody won (all told 409) is run again this often.
const RACES_MAX: usize = 3;
/// Stores that stamp whole seconds.
const SECOND: Duration = Duration::from_secs(1);
/// The kernel's coarse clock stamps files: at most one tick of 100 Hz behind.
const LOCAL_GRAIN: Duration = Duration::from_millis(10);
/// One machine, one clock; read twice.
const LOCAL_SKEW: Duration = Duration::from_millis(5);
/// Front ends of a service are synchronised by NTP: 0.5 s is what PROTOCOL §8 grants them.
const REMOTE_SKEW: Duration = Duration::from_millis(500);
/// Front ends further apart than this would make the guard meaningless.
const SKEW_MAX: Duration = Duration::from_secs(5);

/// Asks every property. Errors only if the store does not answer; a broken promise is a failed
/// [`Check`].
pub async fn probe(store: &Store, clock: &dyn Clock, fresh: Fresh<'_>) -> Result<Report> {
    let root = format!("_tenure/v1/probe/{}/", fresh());
    let mut probe = Probe {
        store,
        clock,
        fresh,
        key: format!("{root}register"),
        missing: format!("{root}missing"),
        blob: format!("{root}blob"),
        root,
        checks: Vec::new(),
        stamps: Vec::new(),
    };
    let first = probe.create_only().await?;
    let (_, second) = probe.swap_stale(first).await?;
    probe.swap_missing(&second).await?;
    let third = probe.aba(second).await?;
    probe.race(third).await?;
    probe.list().await?;
    probe.blob().await?;
    let (grain, skew) = probe.last_modified();
    Ok(Report { store: store.name.clone(), checks: probe.checks, grain, skew })
}

struct Probe<'a> {
    store: &'a Store,
    clock: &'a dyn Clock,
    fresh: Fresh<'a>,
    root: String,
    key: String,
    missing: String,
    blob: String,
    checks: Vec<Check>,
    /// When a write was sent and its stamp was read, and the stamp.
    stamps: Vec<(Mono, Mono, Wall)>,
}

/// A write's answer, once "no answer" is out of the way.
enum Told {
    Landed(Version),
    Refused,
    /// The store says it has no such request.
    NotOffered(String),
}

impl Told {
    fn as_str(&self) -> &str {
        match self {
            Told::Landed(_) => "it landed",
            Told::Refused => "it was refused",
            Told::NotOffered(what) => what,
        }
    }
}

impl Probe<'_> {
    fn registers(&self) -> &dyn Registers {
        &*self.store.leases
    }

    fn note(&mut self, name: &'static str, ok: bool, detail: impl Into<String>) {
        self.checks.push(Check { name, ok, detail: detail.into() });
    }

    /// A record as ours are: with a fresh nonce in it.
    fn record(&self) -> Bytes {
        Bytes::from(format!("{{\"v\":1,\"nonce\":\"{}\"}}", (self.fresh)()))
    }

    async fn swap(&self, key: &str, expect: Option<&Version>, body: Bytes) -> Result<Told> {
        told(self.registers().swap(key, expect, body).await)
    }

    async fn value(&self, key: &str) -> Result<Option<Bytes>> {
        match self.registers().read(key, None).await? {
            Read::Present(found) => Ok(Some(found.body)),
            Read::Absent => Ok(None),
            Read::Unchanged => Err(Error::new(Status::Internal, "unchanged without a version")),
        }
    }

    /// Waits until one key may be written again and a stamp must have moved. Local stores need
    /// neither.
    async fn pause(&self) {
        if !self.is_local() {
            tokio::time::sleep(self.store.write_gap.max(SECOND) + Duration::from_millis(100)).await;
        }
    }

    fn is_local(&self) -> bool {
        self.store.name.starts_with("memory://") || self.store.name.starts_with("file://")
    }

    /// A write that has to land before the next question makes sense. Tells its version, or why
    /// there is none.
    async fn land(&mut self, expect: Option<&Version>, body: Bytes) -> Result<Told> {
        let key = self.key.clone();
        let sent = self.clock.now();
        let told = self.swap(&key, expect, body).await?;
        if let Told::Landed(_) = told
            && let Some((_, modified)) = self.registers().modified(&key).await?
        {
            self.stamps.push((sent, self.clock.now(), modified));
        }
        Ok(told)
    }

    /// A lawful write did not land. If the store does not offer it, the property fails; if it was
    /// refused, the store was busy (409) or answered for a copy of the request: nothing is proved,
    /// ask again later.
    fn must_land(&mut self, name: &'static str, told: &Told) -> Result<()> {
        // After a broken promise the record is not what we think, and refusals follow from that.
        let broken = self.checks.iter().any(|check| !check.ok);
        if broken || matches!(told, Told::NotOffered(_)) {
            let what = format!("expected a lawful write to land, {}", told.as_str());
            self.note(name, false, what);
            return Ok(());
        }
        let what = format!("the store refused a lawful write while {name} was asked");
        Err(Error::new(Status::StoreUnavailable, what).on(&self.store.name))
    }

    async fn create_only(&mut self) -> Result<Option<Version>> {
        let (mine, other) = (self.record(), self.record());
        let version = match self.land(None, mine.clone()).await? {
            Told::Landed(version) => version,
            told => {
                self.must_land("create-only", &told)?;
                return Ok(None);
            }
        };
        let again = self.swap(&self.key, None, other).await?;
        let kept = self.value(&self.key).await? == Some(mine);
        let ok = matches!(again, Told::Refused) && kept;
        let kept = if kept { "kept" } else { "replaced" };
        let what = format!(
            "a create of an existing key has to be refused: {}, the value was {kept}",
            again.as_str()
        );
        self.note("create-only", ok, what);
        Ok(Some(version))
    }

    /// Also tells the version that is now stale.
    async fn swap_stale(
        &mut self,
        first: Option<Version>,
    ) -> Result<(Option<Version>, Option<Version>)> {
        let Some(first) = first else { return Ok((None, None)) };
        self.pause().await;
        let (mine, other) = (self.record(), self.record());
        let second = match self.land(Some(&first), mine.clone()).await? {
            Told::Landed(version) => version,
            told => {
                self.must_land("swap-stale", &told)?;
                return Ok((Some(first), None));
            }
        };
        let stale = self.swap(&self.key, Some(&first), other).await?;
        let kept = self.value(&self.key).await? == Some(mine);
        let ok = matches!(stale, Told::Refused) && kept;
        let kept = if kept { "kept" } else { "replaced" };
        let what = format!(
            "a swap that names an old version has to be refused: {}, the value was {kept}",
            stale.as_str()
        );
        self.note("swap-stale", ok, what);
        Ok((Some(first), Some(second)))
    }

    async fn swap_missing(&mut self, version: &Option<Version>) -> Result<()> {
        let Some(version) = version else { return Ok(()) };
        let told = self.swap(&self.missing, Some(version), self.record()).await?;
        let absent = self.value(&self.missing).await?.is_none();
        let what = format!("a swap of a missing key has to be refused: {}", told.as_str());
        self.note("swap-missing", matches!(told, Told::Refused) && absent, what);
        Ok(())
    }

    /// Equal bytes may get an equal version (S3): records with different nonces must not.
    async fn aba(&mut self, second: Option<Version>) -> Result<Option<Version>> {
        let Some(second) = second else { return Ok(None) };
        self.pause().await;
        let third = match self.land(Some(&second), self.record()).await? {
            Told::Landed(version) => version,
            told => {
                self.must_land("aba-nonce", &told)?;
                return Ok(None);
            }
        };
        let ok = third != second;
        self.note("aba-nonce", ok, "records with different nonces need different versions");
        Ok(Some(third))
    }

    async fn race(&mut self, base: Option<Version>) -> Result<()> {
        let Some(mut base) = base else { return Ok(()) };
        for _ in 0..RACES_MAX {
            self.pause().await;
            let bodies: Vec<Bytes> = (0..RACERS).map(|_| self.record()).collect();
            let swaps = bodies
                .iter()
                .map(|body| self.registers().swap(&self.key, Some(&base), body.clone()));
            let answers = futures::future::join_all(swaps).await;
            let landed: Vec<&Bytes> = answers
                .iter()
                .zip(&bodies)
                .filter_map(|(answer, body)| matches!(answer, Outcome::Landed(_)).then_some(body))
                .collect();
            let Read::Present(found) = self.registers().read(&self.key, None).await? else {
                self.note("race-of-8", false, "the register is gone after the race");
                return Ok(());
            };
            let stands = landed.iter().all(|body| **body == found.body);
            match landed.len() {
                // All were told 409, or none got an answer: the value tells whether one landed all
                // the same.
                0 if !bodies.contains(&found.body) => base = found.version,
                n => {
                    let ok = n <= 1 && stands;
                    let what = format!("one of {RACERS} swaps may land: {n} were told so");
                    self.note("race-of-8", ok, what);
                    return Ok(());
                }
            }
        }
        let what = format!("nobody won {RACES_MAX} races of {RACERS}");
        Err(Error::new(Status::StoreUnavailable, what).on(&self.store.name))
    }

    async fn list(&mut self) -> Result<()> {
        let rows = self.registers().list(&self.root).await?;
        let ok = rows.iter().filter(|row| row.key == self.key).count() == 1;
        let what = format!("a LIST has to show what was just written: {} rows", rows.len());
        self.note("list-sees-put", ok, what);
        Ok(())
    }

    async fn blob(&mut self) -> Result<()> {
        let (mine, other) = (self.record(), self.record());
        let create = |body: Bytes| self.store.blobs.create(&self.blob, Payload::from(body));
        let first = told(create(mine.clone()).await)?;
        if !matches!(first, Told::Landed(_)) {
            return self.must_land("blob-create-only", &first);
        }
        let again = told(create(other).await)?;
        let kept = self.store.blobs.read(&self.blob, None).await? == Some(mine);
        let ok = matches!((&first, &again), (Told::Landed(_), Told::Refused)) && kept;
        let what = format!(
            "of two creates the first has to land and the second to be refused: first {}, then {}",
            first.as_str(),
            again.as_str()
        );
        self.note("blob-create-only", ok, what);
        Ok(())
    }

    /// Grain and skew from the stamps of the writes so far.
    fn last_modified(&mut self) -> (Duration, Duration) {
        let whole = self.stamps.iter().all(|(_, _, stamp)| stamp.0 % 1_000 == 0);
        let (grain, granted) = match self.is_local() {
            true => (LOCAL_GRAIN, LOCAL_SKEW),
            false if whole => (SECOND, REMOTE_SKEW),
            false => (LOCAL_GRAIN, REMOTE_SKEW),
        };
        let mut seen = Duration::ZERO;
        let mut moved = true;
        for pair in self.stamps.windows(2) {
            let ((sent, _, old), (_, read, new)) = (pair[0], pair[1]);
            let most = read.since(sent) + grain;
            seen = seen.max(old.since(new)).max(new.since(old).saturating_sub(most));
            moved &= new > old;
        }
        let skew = granted.max(seen);
        let far = skew > SKEW_MAX;
        let ok = !far && (moved || self.is_local()) && !self.stamps.is_empty();
        let what = match (far, ok) {
            (true, _) => format!("stamps of consecutive writes are {} ms apart", seen.as_millis()),
            (_, false) => "the stamp has to move with every write".into(),
            _ => format!("grain {} ms, skew {} ms", grain.as_millis(), skew.as_millis()),
        };
        self.note("last-modified", ok, what);
        (grain, skew)
    }
}

fn told(outcome: Outcome) -> Result<Told> {
    match outcome {
        Outcome::Landed(version) => Ok(Told::Landed(version)),
        Outcome::Refused => Ok(Told::Refused),
        Outcome::Unknown(e) if e.status() == Status::StoreUnsupported => {
            Ok(Told::NotOffered(e.message().to_owned()))
        }
        Outcome::Unknown(e) => Err(e),
    }
}
