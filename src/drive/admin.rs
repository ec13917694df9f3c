//! Looking at leases, and breaking one, without holding anything.
//!
//! Rule: looking needs read permission only. Breaking is one swap of the record and then a notice
//! to the old holder (PROTOCOL §3.8): the holder may believe in itself until the notice lands plus
//! soft; what it writes to files and cells in that time is fenced all the same. Nothing here
//! deletes a record.

use super::renew::bounded;
use super::session::SessionCore;
use super::{held, mailbox};
use crate::base::{Error, Kind, Resource, Result, Status, Version, Wall};
use crate::store::{Outcome, Read};
use crate::wire::key;
use crate::wire::lease::{How, LeaseRecord, LeaseState};
use crate::wire::session::SessionRecord;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// A record and its holder's session, as read just now.
#[derive(Clone, Debug)]
pub struct Sight {
    /// The record.
    pub record: LeaseRecord,
    /// Its version.
    pub version: Version,
    /// Its `LastModified`.
    pub modified: Wall,
    /// `LastModified` of the holder's session, if that exists.
    pub session: Option<Wall>,
}

/// Reads one lease. `NotFound` if nobody ever held it.
pub async fn look(core: &SessionCore, key: &str) -> Result<Sight> {
    let (record, version, modified) =
        match bounded(core, core.store.leases.read(key, None)).await?? {
            Read::Present(found) => {
                (LeaseRecord::decode(key, &found.body)?, found.version, found.modified)
            }
            Read::Absent | Read::Unchanged => {
                return Err(Error::new(Status::NotFound, "nobody ever held this lease").on(key));
            }
        };
    let session_key = key::session(record.sid);
    let session = match bounded(core, core.store.leases.read(&session_key, None)).await?? {
        Read::Present(found) => {
            // A damaged session counts as missing, as it does for contenders.
            SessionRecord::decode(&session_key, &found.body).ok().map(|_| found.modified)
        }
        Read::Absent | Read::Unchanged => None,
    };
    Ok(Sight { record, version, modified, session })
}

/// Every lease of one kind, in order of name. A damaged record is an error naming it.
pub async fn list(core: &SessionCore, kind: Kind) -> Result<Vec<Sight>> {
    let mut found = Vec::new();
    for listed in core.store.leases.list(&key::leases(kind)).await? {
        found.push(look(core, &listed.key).await?);
    }
    Ok(found)
}

/// Takes a lease away if its record and its holder's session stand still for `observe`.
pub async fn break_lease(
    core: &Arc<SessionCore>,
    resource: &Resource,
    observe: Duration,
    note: &str,
) -> Result<()> {
    let key = key::lease(resource);
    let before = look(core, &key).await?;
    if before.record.state == LeaseState::Released {
        // Broken before, perhaps by a call that could not leave its notice.
        return match before.record.how {
            How::Forced => {
                mailbox::evicted(core, before.record.sid, resource, before.record.epoch).await
            }
            _ => Ok(()),
        };
    }
    sleep(observe).await;
    let now = look(core, &key).await?;
    if now.version != before.version || now.session != before.session {
        return Err(Error::new(Status::LeaseHeld, "its holder showed life while it was observed")
            .on(resource)
            .held_by(now.record.holder())
            .at(now.record.epoch));
    }
    let old = now.record;
    let Some(epoch) = old.epoch.next() else {
        return Err(Error::new(Status::Corrupt, "no epoch is left").on(key));
    };
    let broken = LeaseRecord {
        epoch,
        touch: 0,
        state: LeaseState::Released,
        how: How::Forced,
        nonce: core.world.chance.id(),
        offer: None,
        note: Some(note.chars().take(500).collect()),
        past: old.past_with_this(),
        ..old
    };
    swap_settled(core, &key, &now.version, &broken).await?;
    mailbox::evicted(core, broken.sid, resource, epoch).await
}

/// One swap whose outcome is found out: by reading the nonce, never by guessing.
async fn swap_settled(
    core: &SessionCore,
    key: &str,
    base: &Version,
    record: &LeaseRecord,
) -> Result<()> {
    let mut trouble =
        Error::new(Status::OutcomeUnknown, "the lease may or may not be broken").on(key);
    for _ in 0..5 {
        let swap = core.store.leases.swap(key, Some(base), record.encode());
        match bounded(core, swap).await.unwrap_or_else(Outcome::Unknown) {
            Outcome::Landed(_) => return Ok(()),
            Outcome::Refused => {}
            Outcome::Unknown(why) if held::is_final(&why) => return Err(why),
            Outcome::Unknown(why) => trouble = trouble.because(why),
        }
        match look(core, key).await {
            Ok(sight) if sight.record.nonce == record.nonce => return Ok(()),
            Ok(sight) if sight.version != *base => {
                return Err(Error::new(Status::LeaseHeld, "its record moved while it was broken")
                    .on(key)
                    .held_by(sight.record.holder())
                    .at(sight.record.epoch));
            }
            Ok(_) | Err(_) => sleep(core.identity.limits.retry_pause()).await,
        }
    }
    Err(trouble)
}
