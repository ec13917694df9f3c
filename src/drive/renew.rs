//! The renewal loop: one PUT and one conditional GET per period, whatever the number of leases.
//!
//! One task on the control runtime. It asks the machine what is due, sends it, and feeds back what
//! came; between requests it ticks at most a second apart, so that a suspended or slewed clock is
//! noticed early. A panic in a step does not end it: it is supervised and goes on.

use super::held;
use super::session::{Grain, SessionCore};
use crate::base::{Error, Event, EventKind, Mono, Result, Status, Version};
use crate::decide::session::{Do, Mail, Own, Put};
use crate::store::{self, Outcome, Read};
use crate::wire::key;
use crate::wire::notice::Notice;
use crate::wire::session::SessionRecord;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The longest sleep between two looks at the clocks.
const TICK: Duration = Duration::from_secs(1);

/// The longest one probe may take: a dozen requests, some a second apart.
const PROBE: Duration = Duration::from_secs(60);

/// Probes the store, then renews until the session is over. Survives a panic of the loop.
pub(super) async fn supervise(core: Arc<SessionCore>) {
    if let Err(why) = admit_at_last(&core).await {
        return core.start_failed(why);
    }
    loop {
        let run = core.world.control.spawn(run(Arc::clone(&core)));
        match run.await {
            Ok(()) => return,
            Err(e) if e.is_panic() => core.events.push(Event {
                kind: EventKind::Log,
                resource: String::new(),
                epoch: None,
                holder: None,
                message: "the renewal loop failed and was restarted".into(),
            }),
            Err(_) => return,
        }
    }
}

/// Asks the store until it is admitted or refused for good. While it does not answer, whoever waits
/// sees the trouble.
async fn admit_at_last(core: &Arc<SessionCore>) -> Result<()> {
    let mut pause = Duration::from_millis(200);
    loop {
        match admit(core).await {
            Ok(grain) => {
                core.set_grain(grain);
                core.set_trouble(None);
                return Ok(());
            }
            Err(why) if held::is_final(&why) || core.usable().is_err() => return Err(why),
            Err(why) => core.set_trouble(Some(why)),
        }
        sleep(pause + core.world.chance.below(pause)).await;
        pause = (pause * 2).min(Duration::from_secs(5));
    }
}

async fn admit(core: &Arc<SessionCore>) -> Result<Grain> {
    let chance = Arc::clone(&core.world.chance);
    let fresh = move || chance.id();
    let asking = store::admit(&core.store, &*core.world.clock, &fresh, None);
    let traits = timeout(PROBE, asking).await.map_err(|_| {
        let why = format!("the store could not be probed within {} s", PROBE.as_secs());
        Error::new(Status::StoreUnavailable, why).on(&core.store.name)
    })??;
    Ok(Grain { grain: traits.grain, skew: traits.skew })
}

async fn run(core: Arc<SessionCore>) {
    let mut jumps = Jumps::default();
    loop {
        core.tick(jumps.observe(&core));
        let now = core.world.clock.now();
        let nonce = core.world.chance.id();
        match core.with_session(|s| s.next(now, nonce)) {
            Do::Sleep(until) => pause(&core, now.until(until).min(TICK)).await,
            Do::Renew { expect, record, known_mail } => {
                renew(&core, expect, record, known_mail).await;
            }
            Do::ReadMail(known) => {
                let mail = read_mail(&core, known).await;
                let (now, jitter) = (core.world.clock.now(), jitter(&core));
                let told = core.with_session(|s| s.mailed(now, mail, jitter));
                core.carry_out(told);
            }
            Do::ReadOwn => {
                let own = read_own(&core).await;
                let (now, jitter) = (core.world.clock.now(), jitter(&core));
                let told = core.with_session(|s| s.resolved(now, own, jitter));
                core.carry_out(told);
            }
            Do::Stop => return,
        }
    }
}

async fn pause(core: &SessionCore, length: Duration) {
    // Woken early by nobody: `doubt` and close are noticed at the next tick, at most a second
    // later.
    let _ = core;
    sleep(length).await;
}

async fn renew(
    core: &Arc<SessionCore>,
    expect: Option<Version>,
    record: SessionRecord,
    known_mail: Option<Version>,
) {
    let clock = &core.world.clock;
    let key = key::session(core.identity.sid);
    let sent = (clock.now(), clock.raw());
    let swap = core.store.leases.swap(&key, expect.as_ref(), record.encode());
    let (put, mail) = tokio::join!(bounded(core, swap), read_mail(core, known_mail));
    let answered = (clock.now(), clock.raw());
    let put = match put.unwrap_or_else(Outcome::Unknown) {
        Outcome::Landed(version) => {
            core.counters.renewals.fetch_add(1, Ordering::Relaxed);
            core.set_trouble(None);
            core.note_clocks(sent, answered);
            Put::Landed(version)
        }
        Outcome::Refused => Put::Refused,
        Outcome::Unknown(why) => {
            core.counters.renewals_unknown.fetch_add(1, Ordering::Relaxed);
            core.set_trouble(Some(why));
            Put::Unknown
        }
    };
    let jitter = jitter(core);
    let told = core.with_session(|s| s.renewed(answered.0, sent.0, put, mail, jitter));
    core.carry_out(told);
}

async fn read_mail(core: &SessionCore, known: Option<Version>) -> Mail {
    let key = key::notices(core.identity.sid);
    match bounded(core, core.store.leases.read(&key, known.as_ref())).await {
        Ok(Ok(Read::Absent | Read::Unchanged)) => Mail::Nothing,
        Ok(Ok(Read::Present(found))) => match Notice::decode(&key, &found.body) {
            Ok(notice) => Mail::New(notice, found.version),
            // A damaged mailbox may have said anything: take it as "prove everything".
            Err(_) => Mail::New(Notice { all: true, ..Notice::default() }, found.version),
        },
        Ok(Err(_)) | Err(_) => Mail::Failed,
    }
}

async fn read_own(core: &SessionCore) -> Own {
    let key = key::session(core.identity.sid);
    match bounded(core, core.store.leases.read(&key, None)).await {
        Ok(Ok(Read::Absent)) => Own::Missing,
        Ok(Ok(Read::Present(found))) => match SessionRecord::decode(&key, &found.body) {
            Ok(record) => Own::Present(Box::new(record), found.version),
            Err(_) => Own::Corrupt,
        },
        Ok(Ok(Read::Unchanged) | Err(_)) | Err(_) => Own::Failed,
    }
}

/// One lease request, at most as long as an attempt may take. Dropping it does not undo it.
pub(super) async fn bounded<T>(core: &SessionCore, request: impl Future<Output = T>) -> Result<T> {
    let limit = core.identity.limits.attempt_timeout();
    timeout(limit, request).await.map_err(|_| {
        let why = format!("the store did not answer within {} ms", limit.as_millis());
        Error::new(Status::StoreUnavailable, why)
    })
}

fn jitter(core: &SessionCore) -> Duration {
    core.world.chance.below(core.identity.limits.retry_pause() / 4)
}

/// Notices that the calendar and the boot clock disagree: time that nobody here saw may have
/// passed.
#[derive(Debug, Default)]
struct Jumps {
    last: Option<(Mono, crate::base::Wall)>,
}

impl Jumps {
    fn observe(&mut self, core: &SessionCore) -> Duration {
        let (now, wall) = (core.world.clock.now(), core.world.clock.wall());
        let jump = match self.last {
            None => Duration::ZERO,
            Some((then, wall_then)) => {
                let boot = i128::try_from(now.since(then).as_millis()).unwrap_or(i128::MAX);
                let calendar = i128::from(wall.0) - i128::from(wall_then.0);
                let apart = (calendar - boot).unsigned_abs();
                Duration::from_millis(u64::try_from(apart).unwrap_or(u64::MAX))
            }
        };
        self.last = Some((now, wall));
        jump
    }
}
