//! Looking at leases and breaking one: what operators and tools use.

use super::Client;
use super::lease::LeaseInfo;
use crate::base::{Error, Kind, Resource, Result, Status, Wall};
use crate::drive::admin::{self, Sight};
use crate::drive::session::SessionCore;
use crate::drive::task::run_on;
use crate::wire::key;
use crate::wire::lease::LeaseState;
use std::time::Duration;

impl Client {
    /// What the record of a resource says now. Needs no session and no write permission. `NotFound`
    /// if nobody ever held it; `Corrupt` if it is damaged.
    pub async fn inspect(&self, kind: Kind, name: &str) -> Result<LeaseInfo> {
        let key = key::lease(&Resource::new(kind, name)?);
        let (core, control) = self.on_control()?;
        let work = async move {
            let sight = admin::look(&core, &key).await?;
            info(&core, sight)
        };
        run_on(&control, work).await
    }

    /// Every lease record, of one kind or of all, in order of kind and name. One LIST a kind and
    /// two GETs a lease.
    pub async fn leases(&self, kind: Option<Kind>) -> Result<Vec<LeaseInfo>> {
        let (core, control) = self.on_control()?;
        let work = async move {
            let mut found = Vec::new();
            for &kind in Kind::ALL.iter().filter(|k| kind.is_none_or(|wanted| wanted == **k)) {
                for sight in admin::list(&core, kind).await? {
                    found.push(info(&core, sight)?);
                }
            }
            Ok(found)
        };
        run_on(&control, work).await
    }

    /// Takes a lease away from a holder that showed no life for `observe`: neither its record nor
    /// its session may move in that time, or the call ends with `LeaseHeld`. A released lease is
    /// left alone. The old holder is told by a notice and may believe in itself until its next
    /// renewal; what it writes meanwhile is fenced. `note` is kept in the record. Idempotent;
    /// `OutcomeUnknown` if the store would not say.
    pub async fn break_lease(
        &self,
        kind: Kind,
        name: &str,
        observe: Duration,
        note: &str,
    ) -> Result<LeaseInfo> {
        let resource = Resource::new(kind, name)?;
        let (core, control) = self.on_control()?;
        let note = note.to_owned();
        let work = async move {
            admin::break_lease(&core, &resource, observe, &note).await?;
            let sight = admin::look(&core, &key::lease(&resource)).await?;
            info(&core, sight)
        };
        run_on(&control, work).await
    }
}

fn info(core: &SessionCore, sight: Sight) -> Result<LeaseInfo> {
    let record = sight.record;
    // For people: by the store's time if this client knows it, else by this machine's calendar.
    let now: Wall = core.view().store_time.unwrap_or_else(|| core.world.clock.wall());
    let kind = Kind::parse(&record.kind).map_err(|e| e.with_status(Status::Corrupt))?;
    let name = record.resource.clone();
    if name.is_empty() {
        return Err(Error::new(Status::Corrupt, "a lease record without a name"));
    }
    Ok(LeaseInfo {
        kind,
        name,
        held: record.state == LeaseState::Held,
        epoch: record.epoch,
        node: record.node,
        session: record.sid.to_string(),
        how: record.how.as_str().to_owned(),
        soft: Duration::from_millis(record.soft_ms),
        age: sight.session.map(|modified| now.since(modified)),
        recover_attempts: record.recover.map(|r| r.attempts),
        note: record.note,
        modified: sight.modified,
    })
}
