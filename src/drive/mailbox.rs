//! Leaving a notice in somebody's mailbox.
//!
//! Rule: a swap that keeps every entry found, retried while others write too. It is a hint: if it
//! never lands, the evicted holder learns at its next touch.

use super::renew::bounded;
use super::session::SessionCore;
use crate::base::{Epoch, Error, Id128, Resource, Result, Status};
use crate::store::{Outcome, Read};
use crate::wire::key;
use crate::wire::notice::Notice;

/// Swaps tried against other writers before giving up.
const TRIES: usize = 8;

/// Tells `sid` that its lease on `resource` was taken away at `epoch`. Idempotent.
pub(crate) async fn evicted(
    core: &SessionCore,
    sid: Id128,
    resource: &Resource,
    epoch: Epoch,
) -> Result<()> {
    let key = key::notices(sid);
    // The entry's epoch must be above the evicted holding: the record's own epoch is that of the
    // eviction.
    let mut trouble = Error::new(Status::StoreUnavailable, "the notice could not be left").on(&key);
    for _ in 0..TRIES {
        let read = match bounded(core, core.store.leases.read(&key, None)).await {
            Ok(Ok(read)) => read,
            Ok(Err(why)) | Err(why) => {
                trouble = why;
                continue;
            }
        };
        let (old, version) = match read {
            Read::Present(found) => {
                let old = match Notice::decode(&key, &found.body) {
                    Ok(notice) => notice,
                    // A newer program's: never written over by what does not understand it.
                    Err(newer) if newer.status() == Status::Unsupported => return Err(newer),
                    // Damaged: it may have said anything, so it says everything from now on.
                    Err(_) => Notice { all: true, ..Notice::default() },
                };
                (old, Some(found.version))
            }
            Read::Absent | Read::Unchanged => (Notice::default(), None),
        };
        // "All" is no answer: the holder may have read it long before this eviction, and only a
        // new version is read again.
        if old.names(resource, Epoch(epoch.0.saturating_sub(1))) {
            return Ok(());
        }
        let new = old.with_eviction(resource, epoch, core.world.chance.id());
        let swap = core.store.leases.swap(&key, version.as_ref(), new.encode());
        match bounded(core, swap).await.unwrap_or_else(Outcome::Unknown) {
            Outcome::Landed(_) => return Ok(()),
            Outcome::Refused => {}
            Outcome::Unknown(why) => trouble = why,
        }
    }
    Err(trouble)
}
