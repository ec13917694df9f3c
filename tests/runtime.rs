//! The library's threads: none before the first client, two kinds while there is one, none after
//! the last; every signal blocked in all of them. One process, one test: threads are counted.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]
#![cfg(target_os = "linux")]

use std::time::Duration;
use tenure::{Client, Config};

/// Name and mask of blocked signals of each thread the library started.
fn threads() -> Vec<(String, u64)> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    // A thread may end between the list and the read.
    let status = |t: std::fs::DirEntry| std::fs::read_to_string(t.path().join("status")).ok();
    let mut found: Vec<(String, u64)> = tasks
        .filter_map(|t| status(t.unwrap()))
        .filter_map(|status| {
            let field = |name| status.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
            let name = field("Name:")?.to_owned();
            let mask = u64::from_str_radix(field("SigBlk:")?, 16).ok()?;
            name.starts_with("tenure-").then_some((name, mask))
        })
        .collect();
    found.sort();
    found
}

fn count(name: &str) -> usize {
    threads().iter().filter(|(n, _)| n == name).count()
}

/// Ends by itself when the condition holds; the test's own time limit is the deadline.
fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        let pause = std::sync::Condvar::new();
        let lock = std::sync::Mutex::new(());
        drop(pause.wait_timeout(lock.lock().unwrap(), Duration::from_millis(5)).unwrap());
    }
    panic!("not within ten seconds: {what}; there are {:?}", threads());
}

/// All 64 but SIGKILL, SIGSTOP (not maskable) and the C library's own 32 to 34.
fn maskable() -> u64 {
    let bit = |n: u64| 1_u64 << (n - 1);
    !(bit(9) | bit(19) | bit(32) | bit(33) | bit(34))
}

#[test]
fn threads_begin_with_the_first_client_and_end_with_the_last() {
    assert_eq!(threads(), [], "nothing happens when the library is loaded");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut config = Config::default();
    config.set("data_workers", "3").unwrap();
    let first = Client::connect("memory://threads", config.clone()).unwrap();
    config.set("data_workers", "5").unwrap();
    let second = Client::connect("memory://threads-2", config).unwrap();
    until("one control thread", || count("tenure-control") == 1);
    until("the first client's workers, shared", || count("tenure-data") == 3);

    let lease = runtime.block_on(first.acquire("r", None)).unwrap();
    let file = runtime.block_on(second.create("f", Default::default(), None)).unwrap();
    for (name, mask) in threads() {
        assert_eq!(mask & maskable(), maskable(), "{name} would run a handler of the host's");
    }

    runtime.block_on(first.close(None)).unwrap();
    drop((lease, first));
    assert_eq!(count("tenure-control"), 1, "the second client still needs it");
    let acked = runtime.block_on(async {
        file.write(b"still here", None).await.1?;
        file.hflush(None).await.map(|()| file.acked())
    });
    assert_eq!(acked.unwrap(), 10);
    runtime.block_on(file.close(None)).unwrap();
    drop(file);
    runtime.block_on(second.close(None)).unwrap();
    drop(second);
    until("no thread is left", || threads().is_empty());

    // And again: a new client gets new threads.
    let third = Client::connect("memory://threads-3", Config::default()).unwrap();
    let lease = runtime.block_on(third.acquire("r", None)).unwrap();
    let metrics = third.metrics_text();
    for line in
        ["tenure_leases_granted_total 1", "tenure_leases_held 1", "tenure_leases_lost_total 0"]
    {
        assert!(metrics.lines().any(|l| l == line), "{line} is not in\n{metrics}");
    }
    for block in metrics.split("# HELP ").skip(1) {
        let lines: Vec<&str> = block.lines().collect();
        let name = lines[0].split(' ').next().unwrap();
        assert!(lines[1].starts_with(&format!("# TYPE {name} ")), "{block}");
        let value = lines[2].strip_prefix(&format!("{name} ")).unwrap();
        value.parse::<u64>().unwrap();
    }
    // Never closed: dropping the handles alone ends the threads as well.
    drop((lease, third));
    until("no thread is left", || threads().is_empty());
}
