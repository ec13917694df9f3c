//! A client: one process's connection to one base URL, owning one session.
//!
//! Question: what does a program hold? Rule: opening sends nothing (a reader needs read permission
//! only); the session, and the probe of the store, start with the first acquire, create or append;
//! the last clone dropped closes in the background.

use super::lease::Lease;
use crate::base::{Config, Error, Event, Kind, Resource, Result, Status};
use crate::decide::session::Identity;
use crate::drive::chance::SystemChance;
use crate::drive::clock::SystemClock;
use crate::drive::runtime::Runtimes;
use crate::drive::session::SessionCore;
use crate::drive::task::run_on;
use crate::drive::world::World;
use crate::drive::{close, held};
use crate::store::Store;
use crate::store::probe::{self, Report};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// How long a call may wait: `None` for ever, zero asks once.
pub type Wait = Option<Duration>;

/// One process's connection to one base URL. Cheap to clone; all clones are one session.
///
/// ```
/// # fn main() -> Result<(), tenure::Error> {
/// # let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// # rt.block_on(async {
/// use tenure::{Client, Config};
///
/// let client = Client::open("memory://doc-client", Config::default()).await?;
/// let lease = client.acquire("orders/0", None).await?;
/// assert!(lease.remaining() > std::time::Duration::ZERO);
/// lease.release(None).await?;
/// client.close(None).await
/// # })
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) core: Arc<SessionCore>,
    pub(super) config: Arc<Config>,
    id: String,
    /// Keeps the threads alive; absent in a simulated world.
    runtimes: Option<Arc<Runtimes>>,
}

impl Client {
    /// Connects. Checks URL and configuration, sends nothing. Errors: `InvalidArgument` naming key,
    /// value and allowed range. Does not block.
    pub async fn open(url: &str, config: Config) -> Result<Client> {
        Client::connect(url, config)
    }

    /// Blocking twin of [`Client::open`], which never waits for anything.
    pub fn connect(url: &str, config: Config) -> Result<Client> {
        config.check()?;
        let store = Store::open(url, &config)?;
        let runtimes = Runtimes::shared(config.data_workers)?;
        let Some(data) = runtimes.data() else {
            return Err(Error::new(Status::Closed, "the library is shutting down"));
        };
        let world = World {
            clock: Arc::new(SystemClock),
            chance: Arc::new(SystemChance),
            control: runtimes.control(),
            data,
            mutant: mutant(),
        };
        Client::assemble(world, store, config, Some(runtimes))
    }

    /// Opens in a world of one's own: other clocks, chance and runtimes. For tests and simulators.
    pub fn open_in(world: World, store: Store, config: Config) -> Result<Client> {
        Client::assemble(world, store, config, None)
    }

    /// What a call needs to run on the control runtime; refused in a forked child, whose runtimes
    /// do not exist.
    pub(super) fn on_control(&self) -> Result<(Arc<SessionCore>, Handle)> {
        let core = Arc::clone(&self.inner.core);
        core.own_process()?;
        let control = core.world.control.clone();
        Ok((core, control))
    }

    fn assemble(
        world: World,
        store: Store,
        config: Config,
        runtimes: Option<Arc<Runtimes>>,
    ) -> Result<Client> {
        config.check()?;
        if store.write_gap >= Duration::from_secs(1) && config.limits.soft < 4 * store.write_gap {
            let why = format!(
                "soft_ms = {}: expected at least {}, as this store takes one write per key and {} ms",
                config.limits.soft.as_millis(),
                4 * store.write_gap.as_millis(),
                store.write_gap.as_millis()
            );
            return Err(Error::new(Status::InvalidArgument, why));
        }
        let sid = world.chance.id();
        let (node, limits) = (config.node.clone(), config.limits);
        let identity = Identity { sid, node, limits, started_at: world.clock.wall() };
        let core = SessionCore::new(world, store, identity);
        let config = Arc::new(config);
        Ok(Client { inner: Arc::new(Inner { core, config, id: sid.to_string(), runtimes }) })
    }

    /// The session's identity, 32 hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.inner.id
    }

    /// How this process is named to others.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.inner.core.identity.node
    }

    /// The base URL without credentials.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.inner.core.store.name
    }

    /// What a contender adds to a holder's soft limit, as the probe measured this store (a default
    /// before the first acquire).
    #[must_use]
    pub fn guard(&self) -> Duration {
        self.inner.core.guard()
    }

    /// Whether the process was forked since this client was opened.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.inner.core.forked()
    }

    /// Acquires the bare lease `name`, waiting for its holder up to `wait`.
    ///
    /// Errors: `LeaseHeld` with holder, epoch and retry-after; `TimedOut` if the store was too
    /// slow; `StoreUnsupported` naming the property; others as the store tells.
    pub async fn acquire(&self, name: &str, wait: Wait) -> Result<Lease> {
        let resource = Resource::new(Kind::Lease, name)?;
        let (core, control) = self.on_control()?;
        let work = async move { held::acquire(&core, &resource, wait, false).await };
        let held = run_on(&control, work).await?;
        Ok(Lease::new(held, control, self))
    }

    /// Asks the store for everything this library depends on, one property at a time.
    pub async fn doctor(&self) -> Result<Report> {
        let (core, control) = self.on_control()?;
        let work = async move {
            let chance = Arc::clone(&core.world.chance);
            let fresh = move || chance.id();
            probe::probe(&core.store, &*core.world.clock, &fresh).await
        };
        run_on(&control, work).await
    }

    /// The next event, or `None` after `wait`.
    pub async fn next_event(&self, wait: Wait) -> Option<Event> {
        if let Some(event) = self.inner.core.events.pop() {
            return Some(event);
        }
        let (core, control) = self.on_control().ok()?;
        let work = async move {
            Ok(match wait {
                None => Some(core.events.next().await),
                Some(limit) => tokio::time::timeout(limit, core.events.next()).await.ok(),
            })
        };
        run_on(&control, work).await.ok().flatten()
    }

    /// A descriptor that is readable while events are queued; -1 if the system had none left. Owned
    /// by the client: do not close it.
    #[must_use]
    pub fn event_fd(&self) -> std::os::fd::RawFd {
        self.inner.core.events.descriptor()
    }

    /// Releases every lease, ends the session and waits for both, at most `wait`. Idempotent.
    /// `TimedOut`: it goes on in the background; call again.
    pub async fn close(&self, wait: Wait) -> Result<()> {
        if self.is_forked() {
            return Ok(());
        }
        let inner = Arc::clone(&self.inner);
        let control = inner.core.world.control.clone();
        // Spawned by itself: a caller's timeout does not cut it short.
        let work = control.spawn(async move {
            close::close(&inner.core).await;
            drop(inner);
        });
        run_on(&control, async move {
            match wait {
                None => drop(work.await),
                Some(limit) => drop(tokio::time::timeout(limit, work).await.map_err(|_| {
                    Error::new(Status::TimedOut, "closing goes on in the background")
                })?),
            }
            Ok(())
        })
        .await
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.core.forked() || !self.core.begin_close() {
            return;
        }
        let (core, runtimes) = (Arc::clone(&self.core), self.runtimes.clone());
        let control = core.world.control.clone();
        control.spawn(async move {
            close::finish(&core).await;
            drop(runtimes);
        });
    }
}

/// The protection a test switched off by `TENURE_MUTANT`; nothing in a shipped library.
fn mutant() -> crate::base::Mutant {
    #[cfg(feature = "sim")]
    if let Ok(name) = std::env::var("TENURE_MUTANT") {
        return crate::base::Mutant::named(&name);
    }
    crate::base::Mutant::default()
}
