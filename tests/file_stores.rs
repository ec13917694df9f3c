//! The same path on real stores and a runtime of several threads: memory and a local directory.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod file;
use file::*;

fn noise(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Twenty MiB from a thread outside the runtime, a takeover in the middle, and all of it back.
fn write_take_over_read(url: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let _inside = runtime.enter();
    let config = Config { fsync: false, ..Config::default() };
    let budget = Arc::new(Budget::new(config.memory_budget));
    let store = tenure::store::Store::open(url, &config).expect("opened");
    let world = world(&SimClock::new(), 3);
    let ctx = FileContext { world, store, config: Arc::new(config), budget };
    let lease = SimLease::new();
    let open = |mode| {
        let opening = FileWriter::open(ctx.clone(), path(), mode, lease.grant());
        runtime.block_on(opening).expect("opened")
    };
    let bytes = noise(20 << 20);
    let (first, rest) = bytes.split_at(11 << 20);
    let old = open(Mode::Create { overwrite: false });
    let on_a_thread = |writer: &FileWriter, bytes: &[u8]| {
        std::thread::scope(|s| {
            let written =
                s.spawn(|| bytes.chunks(99_991).all(|c| writer.write_blocking(c, LONG).1.is_ok()));
            assert!(written.join().expect("ran"));
        });
    };
    on_a_thread(&old, first);
    runtime.block_on(old.hflush(LONG)).expect("acked");
    let new = open(Mode::Append);
    assert_eq!(new.position(), first.len() as u64);
    assert!(old.try_write(b"zombie").is_ok());
    assert_eq!(runtime.block_on(old.hflush(LONG)).unwrap_err().status(), Status::Fenced);
    on_a_thread(&new, rest);
    runtime.block_on(new.close(LONG)).expect("closed");
    runtime.block_on(async {
        let reader = FileReader::open(ctx.clone(), path()).await.expect("opened");
        let read = reader.read_at(0, usize::MAX).await.expect("read");
        assert!(reader.is_closed() && read[..] == bytes[..]);
    });
}

#[test]
fn a_file_in_memory_survives_a_takeover() {
    write_take_over_read("memory://file-stores-test");
}

#[test]
fn a_file_in_a_directory_survives_a_takeover() {
    let dir = tempfile::tempdir().expect("a directory");
    write_take_over_read(&format!("file://{}", dir.path().display()));
}
