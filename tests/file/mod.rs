//! What the file tests share: a store with faults, a lease record, and clients of both.
#![allow(dead_code, unused_imports)]

pub use std::sync::Arc;
pub use std::time::Duration;
pub use tenure::api::file::{delete, list, stat};
pub use tenure::base::{Config, Epoch, FilePath, Id128, Mutant, Protection, Status, WriterId};
pub use tenure::decide::opening::Mode;
pub use tenure::drive::authority::{Authority, Validity};
pub use tenure::drive::budget::Budget;
pub use tenure::drive::context::FileContext;
pub use tenure::sim::{Fault, Match, SimAuthority, SimClock, SimLease, SimStore, world};
pub use tenure::wire::manifest::{FileState, Manifest};
pub use tenure::wire::{key, segment};
pub use tenure::{FileReader, FileWriter};

/// One store, one lease record, one path.
pub struct Scene {
    pub sim: SimStore,
    pub clock: Arc<SimClock>,
    pub lease: Arc<SimLease>,
    pub ctx: FileContext,
}

pub const SOON: Option<Duration> = Some(Duration::from_secs(1));
pub const LONG: Option<Duration> = Some(Duration::from_secs(3_600));

impl Scene {
    pub fn new() -> Scene {
        Scene::lacking(None)
    }

    /// With one protection missing, or none.
    pub fn lacking(missing: Option<Protection>) -> Scene {
        Scene::with(missing, |_| {})
    }

    pub fn with(missing: Option<Protection>, configure: impl FnOnce(&mut Config)) -> Scene {
        let clock = SimClock::new();
        let sim = SimStore::new(clock.clone());
        let mut world = world(&clock, 7);
        world.mutant = missing.map_or_else(Mutant::default, Mutant::without);
        let mut config = Config::default();
        configure(&mut config);
        let budget = Arc::new(Budget::new(config.memory_budget));
        let ctx = FileContext { world, store: sim.store(), config: Arc::new(config), budget };
        Scene { sim, clock, lease: SimLease::new(), ctx }
    }

    /// The same store and lease seen by another node.
    pub fn node(&self, name: &str) -> FileContext {
        FileContext { store: self.sim.store_of(name), ..self.ctx.clone() }
    }

    pub async fn open_as(&self, mode: Mode, by: &Arc<SimAuthority>) -> tenure::Result<FileWriter> {
        FileWriter::open(self.ctx.clone(), path(), mode, by.clone()).await
    }

    pub async fn open(&self, mode: Mode) -> tenure::Result<FileWriter> {
        self.open_as(mode, &self.lease.grant()).await
    }

    pub async fn create(&self) -> FileWriter {
        self.open(Mode::Create { overwrite: false }).await.expect("created")
    }

    pub async fn append(&self) -> FileWriter {
        self.open(Mode::Append).await.expect("appended")
    }

    pub async fn reader(&self) -> FileReader {
        FileReader::open(self.ctx.clone(), path()).await.expect("opened for reading")
    }

    /// Everything a new reader sees.
    pub async fn content(&self) -> Vec<u8> {
        let reader = self.reader().await;
        reader.read_at(0, 1 << 30).await.expect("read").to_vec()
    }

    pub fn manifest(&self) -> Manifest {
        let body = self.sim.peek(MANIFEST).expect("a manifest");
        Manifest::decode(&body, MANIFEST).expect("a sound manifest")
    }

    /// The key of a segment of the writer of this epoch's first open.
    pub fn segment(&self, epoch: u64, seq: u64) -> String {
        let id = WriterId { epoch: Epoch(epoch), open: 0 };
        key::segment_at(self.manifest().file_id, id, seq)
    }
}

pub const MANIFEST: &str = "files/logs/a.file";

pub fn path() -> FilePath {
    FilePath::new("logs/a").expect("a good path")
}

pub async fn write(writer: &FileWriter, bytes: &[u8]) {
    let (taken, done) = writer.write(bytes, LONG).await;
    done.expect("written");
    assert_eq!(taken, bytes.len());
}

pub async fn write_acked(writer: &FileWriter, bytes: &[u8]) {
    write(writer, bytes).await;
    writer.hflush(LONG).await.expect("acked");
}

/// Lets everything that can run, run; no time passes.
pub async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

/// Runs `check` with everything in place, where it must hold, and without `protection`, where it
/// must fail: a check that cannot fail does not count.
pub fn holds_only_with<F: Future<Output = ()>>(
    protection: Protection,
    check: impl Fn(Option<Protection>) -> F,
) {
    run(check(None));
    let lacking = std::panic::AssertUnwindSafe(|| run(check(Some(protection))));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let failed = std::panic::catch_unwind(lacking).is_err();
    std::panic::set_hook(hook);
    assert!(failed, "the check also holds without {protection:?}: it proves nothing");
}

/// Runs on a runtime with paused time, for at most a simulated day.
pub fn run<T>(check: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let day = Duration::from_secs(7 * 86_400);
        tokio::time::timeout(day, check).await.expect("it hangs")
    })
}
