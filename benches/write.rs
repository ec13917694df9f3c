//! What `write` costs: 100 bytes with packet turnover against a store that stores nothing.
//!
//! `cargo bench --bench write --features sim`. Prints nanoseconds per write, median of many rounds,
//! beside two yardsticks: the same bytes into a locked buffer that is thrown away when full, and
//! object_store's `BufWriter` on a null store. In-memory stores are no yardstick: page faults drown
//! everything.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

use bytes::Bytes;
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tenure::base::{Config, FilePath, Version, Wall};
use tenure::decide::opening::Mode;
use tenure::drive::budget::Budget;
use tenure::drive::context::FileContext;
use tenure::sim::{SimClock, SimLease, world};
use tenure::store::{Blobs, Listed, Outcome, Payload, Read, Registers, Store};

const ROUNDS: usize = 400;
const WRITES: usize = 20_000;

/// Accepts everything, keeps nothing.
#[derive(Debug)]
struct Null;

#[async_trait::async_trait]
impl Blobs for Null {
    async fn create(&self, _: &str, payload: Payload) -> Outcome {
        black_box(payload);
        Outcome::Landed(Version::default())
    }
    async fn read(
        &self,
        _: &str,
        _: Option<std::ops::Range<u64>>,
    ) -> tenure::Result<Option<Bytes>> {
        Ok(None)
    }
    async fn list(&self, _: &str, _: Option<&str>) -> tenure::Result<Vec<Listed>> {
        Ok(Vec::new())
    }
}

#[async_trait::async_trait]
impl Registers for Null {
    async fn read(&self, _: &str, _: Option<&Version>) -> tenure::Result<Read> {
        Ok(Read::Absent)
    }
    async fn modified(&self, _: &str) -> tenure::Result<Option<(Version, Wall)>> {
        Ok(None)
    }
    async fn swap(&self, _: &str, _: Option<&Version>, _: Bytes) -> Outcome {
        Outcome::Landed(Version::default())
    }
    async fn list(&self, _: &str) -> tenure::Result<Vec<Listed>> {
        Ok(Vec::new())
    }
}

fn report(name: &str, mut nanos: Vec<f64>) {
    nanos.sort_by(f64::total_cmp);
    let at = |q: f64| nanos[((nanos.len() - 1) as f64 * q) as usize];
    println!("{name:<42} median {:>6.1} ns   p10 {:>6.1}   p90 {:>6.1}", at(0.5), at(0.1), at(0.9));
}

/// Times rounds of `writes` calls; `between` lets the background catch up, untimed.
fn time(name: &str, writes: usize, mut call: impl FnMut(), mut between: impl FnMut()) {
    let mut nanos = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS + 20 {
        let begun = Instant::now();
        (0..writes).for_each(|_| call());
        let took = begun.elapsed().as_nanos() as f64 / writes as f64;
        if round >= 20 {
            nanos.push(took);
        }
        between();
    }
    report(name, nanos);
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let line = [7_u8; 100];

    let writer = runtime.block_on(async {
        let null = Arc::new(Null);
        let store = Store {
            name: "null".into(),
            leases: null.clone(),
            files: null.clone(),
            blobs: null,
            write_gap: Duration::ZERO,
        };
        let budget = Arc::new(Budget::new(1 << 30));
        let world = world(&SimClock::new(), 1);
        let ctx = FileContext { world, store, config: Arc::new(Config::default()), budget };
        let path = FilePath::new("bench").expect("a path");
        let lease = SimLease::new().grant();
        let mode = Mode::Create { overwrite: false };
        tenure::FileWriter::open(ctx, path, mode, lease).await.expect("open")
    });
    let write = || {
        while black_box(writer.try_write(black_box(&line))).is_err() {
            std::thread::yield_now();
        }
    };
    let flush = || runtime.block_on(writer.hflush(None)).expect("acked");
    time("tenure try_write, 100 B, inside a packet", 600, write, flush);
    time("tenure try_write, 100 B, with turnover", WRITES, write, flush);

    let locked = Mutex::new(Vec::<u8>::with_capacity(64 << 10));
    let copy = || {
        let mut buffer = locked.lock().expect("not poisoned");
        if buffer.len() + line.len() > 64 << 10 {
            buffer.clear();
        }
        buffer.extend_from_slice(black_box(&line));
    };
    time("a locked copy, 100 B", WRITES, copy, || {});

    buf_writer(&runtime, &line);
    drop(writer);
}

/// object_store's own buffered writer, on the crate's in-memory store (it keeps what it gets; the
/// file is replaced each round).
fn buf_writer(runtime: &tokio::runtime::Runtime, line: &[u8]) {
    use slatedb::object_store::{ObjectStore, buffered::BufWriter, memory::InMemory, path::Path};
    use tokio::io::AsyncWriteExt;
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let mut nanos = Vec::new();
    runtime.block_on(async {
        for _ in 0..40 {
            let mut writer = BufWriter::new(store.clone(), Path::from("bench"));
            let begun = Instant::now();
            for _ in 0..WRITES {
                writer.write_all(black_box(line)).await.expect("written");
            }
            nanos.push(begun.elapsed().as_nanos() as f64 / WRITES as f64);
            writer.shutdown().await.expect("closed");
        }
    });
    report("object_store BufWriter, 100 B (memory)", nanos);
}
