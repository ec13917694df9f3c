//! The chain between real processes: sixteen of them count on one register of a directory while
//! some are stopped wherever they happen to be.
//!
//! The test binary starts itself again as a child (`counter_child` with `TENURE_CHAIN_DIR`).
//! Children tell each attempt on their standard output, and the parent is driven by these lines: no
//! test here sleeps. The history stays whole, because nothing is collected within 60 s.
#![allow(missing_docs, unsafe_code, clippy::unwrap_used, clippy::disallowed_methods)]

use bytes::Bytes;
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use tenure::base::Config;
use tenure::store::{Outcome, Read, Store};

const CHILDREN: usize = 16;
const LANDINGS: usize = 25;
const KEY: &str = "_tenure/v1/registers/counter";

fn open(dir: &str) -> Store {
    let mut config = Config::default();
    // Thousands of attempts: the order of landings is under test, not the disk.
    config.set("fsync", "false").expect("a known key");
    Store::open(&format!("file://{dir}"), &config).expect("it opens")
}

/// `count writer.attempt`.
fn parse(body: &[u8]) -> (u64, String) {
    let text = std::str::from_utf8(body).expect("text");
    let (count, op) = text.split_once(' ').expect("count and operation");
    (count.parse().expect("a number"), op.to_owned())
}

async fn count(dir: &str, name: &str) {
    let leases = open(dir).leases;
    let (mut landed, mut attempt) = (0, 0);
    while landed < LANDINGS {
        attempt += 1;
        let op = format!("{name}.{attempt}");
        let (expect, next) = match leases.read(KEY, None).await.expect("a read is answered") {
            Read::Present(found) => (Some(found.version), parse(&found.body).0 + 1),
            _ => (None, 0),
        };
        let told =
            match leases.swap(KEY, expect.as_ref(), Bytes::from(format!("{next} {op}"))).await {
                Outcome::Landed(_) => "landed",
                Outcome::Refused => "refused",
                Outcome::Unknown(_) => "unknown",
            };
        landed += usize::from(told == "landed");
        println!("@{told} {op}");
    }
}

/// Not a test by itself: what a child of the test below does.
#[test]
fn counter_child() {
    let Ok(dir) = std::env::var("TENURE_CHAIN_DIR") else { return };
    let name = std::env::var("TENURE_CHAIN_NAME").expect("set beside the directory");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(count(&dir, &name));
}

fn start(dir: &str, name: usize, lines: mpsc::Sender<(usize, Option<String>)>) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "counter_child", "--nocapture", "--quiet"])
        .env("TENURE_CHAIN_DIR", dir)
        .env("TENURE_CHAIN_NAME", name.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let told = BufReader::new(child.stdout.take().expect("piped"));
    std::thread::spawn(move || {
        for line in told.lines().map_while(Result::ok) {
            if let Some(at) = line.find('@') {
                // The parent may have seen enough.
                let _ = lines.send((name, Some(line[at + 1..].to_owned())));
            }
        }
        let _ = lines.send((name, None));
    });
    child
}

fn signal(child: &Child, signal: i32) {
    let pid = i32::try_from(child.id()).expect("a process number");
    // SAFETY: kill(2) takes two integers; the child is ours and not yet waited for.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
}

/// Ends children that are still there when an assertion fails: a stopped one would stay for ever.
struct Children(Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Those that have ended refuse; that is all right.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Lets them count; every third line stops somebody else. Returns what was told of each operation,
/// and how often somebody was stopped.
fn run(dir: &str) -> (HashMap<String, String>, usize) {
    let (lines, told) = mpsc::channel();
    let children: Vec<Child> = (0..CHILDREN).map(|name| start(dir, name, lines.clone())).collect();
    drop(lines);
    let children = Children(children);
    let mut fates = HashMap::new();
    let mut running = [true; CHILDREN];
    let mut stopped: Option<usize> = None;
    let (mut seen, mut stops) = (0_usize, 0);
    for (name, line) in told {
        let Some(line) = line else {
            running[name] = false;
            // The last one standing may be the stopped one: nobody else's lines would wake it.
            if let Some(asleep) = stopped
                .filter(|asleep| running.iter().enumerate().all(|(i, up)| !up || i == *asleep))
            {
                signal(&children.0[asleep], libc::SIGCONT);
                stopped = None;
            }
            continue;
        };
        let (fate, op) = line.split_once(' ').expect("fate and operation");
        assert!(fates.insert(op.to_owned(), fate.to_owned()).is_none(), "{op} told twice");
        seen += 1;
        if seen % 3 != 0 {
            continue;
        }
        if let Some(asleep) = stopped.take() {
            signal(&children.0[asleep], libc::SIGCONT);
        }
        let victim = (name + 1 + seen % (CHILDREN - 1)) % CHILDREN;
        if running[victim] && running.iter().filter(|up| **up).count() > 1 {
            signal(&children.0[victim], libc::SIGSTOP);
            stopped = Some(victim);
            stops += 1;
        }
    }
    (fates, stops)
}

/// Every value the register ever had, by number.
fn history(dir: &Path) -> Vec<(u64, String)> {
    let names = std::fs::read_dir(dir.join(KEY)).expect("the register");
    let mut found: Vec<(u64, String)> = names
        .filter_map(|entry| entry.expect("an entry").path().file_name()?.to_str()?.parse().ok())
        .map(|n: u64| {
            let path = dir.join(KEY).join(format!("{n:020}"));
            let (count, op) = parse(&std::fs::read(path).expect("a value"));
            assert_eq!(count, n, "the value at {n} was computed from its predecessor");
            (n, op)
        })
        .collect();
    found.sort();
    found
}

#[test]
fn sixteen_processes_count_and_each_landing_counts_once() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().to_str().expect("text");
    let (fates, stops) = run(path);
    let history = history(dir.path());
    assert!(stops > 20, "only {stops} stops");
    let numbers: Vec<u64> = history.iter().map(|(n, _)| *n).collect();
    let whole: Vec<u64> = (0..history.len() as u64).collect();
    assert_eq!(numbers, whole, "the history has no gaps");
    let mut stored: HashMap<&str, usize> = HashMap::new();
    for (_, op) in &history {
        *stored.entry(op).or_default() += 1;
    }
    for (op, fate) in &fates {
        let times = stored.get(op.as_str()).copied().unwrap_or(0);
        match fate.as_str() {
            "landed" => assert_eq!(times, 1, "{op} was told as landed"),
            "refused" => assert_eq!(times, 0, "{op} was told as refused"),
            _ => assert!(times <= 1, "{op} is unknown"),
        }
    }
    let landed = fates.values().filter(|fate| *fate == "landed").count();
    let unknown = fates.values().filter(|fate| *fate == "unknown").count();
    assert_eq!(landed, CHILDREN * LANDINGS);
    assert!(history.len() >= landed && history.len() <= landed + unknown);
    let temps = std::fs::read_dir(dir.path().join(KEY)).expect("the register").count();
    assert_eq!(temps, history.len(), "no temporary file stays");
}
