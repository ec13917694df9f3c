//! A real store seen through the eyes of a coarse one: content-hash ETags, stamps in whole seconds.
//!
//! Question: does what several real processes do hold on a store that tells as little as S3 does?
//! Rule: versions lose everything but the hash of their content, so equal bytes look equal (trap
//! 6), and every `LastModified` is cut to its second (the guard's reason). Why not the simulated
//! store: it lives in one process. What is not here: faults.

use crate::base::{Result, Version, Wall};
use crate::store::{Listed, Outcome, Read, Registers, Snapshot, Store};
use async_trait::async_trait;
use bytes::Bytes;
use std::sync::Arc;

/// The same store, told coarsely. Its name changes, so that the probe measures it.
#[must_use]
pub fn coarse(store: Store) -> Store {
    let name = format!("coarse+{}", store.name);
    let (leases, files) = (Arc::new(Coarse(store.leases)), Arc::new(Coarse(store.files)));
    Store { name, leases, files, ..store }
}

#[derive(Debug)]
struct Coarse(Arc<dyn Registers>);

fn hash_only(version: &Version) -> Version {
    Version { version: None, ..version.clone() }
}

fn second(stamp: Wall) -> Wall {
    Wall(stamp.0 - stamp.0.rem_euclid(1_000))
}

#[async_trait]
impl Registers for Coarse {
    async fn read(&self, key: &str, known: Option<&Version>) -> Result<Read> {
        Ok(match self.0.read(key, None).await? {
            Read::Present(found) => {
                let version = hash_only(&found.version);
                if known == Some(&version) {
                    return Ok(Read::Unchanged);
                }
                Read::Present(Snapshot { version, modified: second(found.modified), ..found })
            }
            other => other,
        })
    }

    async fn modified(&self, key: &str) -> Result<Option<(Version, Wall)>> {
        let found = self.0.modified(key).await?;
        Ok(found.map(|(version, stamp)| (hash_only(&version), second(stamp))))
    }

    async fn swap(&self, key: &str, expect: Option<&Version>, body: Bytes) -> Outcome {
        let Some(expect) = expect else { return self.told(self.0.swap(key, None, body).await) };
        match self.0.read(key, None).await {
            Ok(Read::Present(found)) if hash_only(&found.version) == *expect => {
                self.told(self.0.swap(key, Some(&found.version), body).await)
            }
            Ok(_) => Outcome::Refused,
            Err(why) => Outcome::Unknown(why),
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        let mut rows = self.0.list(prefix).await?;
        for row in &mut rows {
            row.modified = second(row.modified);
        }
        Ok(rows)
    }
}

impl Coarse {
    fn told(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Landed(version) => Outcome::Landed(hash_only(&version)),
            other => other,
        }
    }
}
