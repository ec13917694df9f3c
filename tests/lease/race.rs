//! Sixteen processes, one lease, a hundred hand-overs: validity never overlaps.
//!
//! Every process tells, by the boot clock all of them share, from when to when its own check said
//! *valid*. Some die holding, some are stopped while they hold or wait and continued later. The
//! intervals must be pairwise disjoint and epochs must grow with them.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;
use tenure::base::{Clock, Mutant};
use tenure::drive::authority::Validity;
use tenure::drive::chance::SystemChance;
use tenure::drive::clock::SystemClock;
use tenure::drive::world::World;
use tenure::sim::coarse;
use tenure::store::Store;
use tenure::{Client, Config};

const PROCESSES: usize = 16;
const HANDOVERS: usize = 100;
const HOLD: Duration = Duration::from_millis(15);

#[derive(Clone, Copy, Debug)]
struct Reign {
    epoch: u64,
    from: u64,
    to: u64,
}

/// The child's part: acquire, hold, tell, release, again; until its input closes.
#[test]
fn child() {
    let Ok(url) = std::env::var("TENURE_RACE_URL") else { return };
    let mortal = std::env::var("TENURE_RACE_DIES").is_ok();
    let mut config = Config::default();
    config.set("soft_ms", "1000").unwrap();
    config.set("hard_ms", "10000").unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = open(&url, config, std::env::var("TENURE_RACE_COARSE").is_ok());
        for turn in 0.. {
            let lease = client.acquire("race", None).await.unwrap();
            let reign = hold(&lease);
            if mortal && turn == 1 {
                tell(reign);
                // Dies holding: no release, no end of session.
                rustix::process::kill_process(
                    rustix::process::getpid(),
                    rustix::process::Signal::KILL,
                )
                .unwrap();
            }
            tell(reign);
            lease.release(Some(Duration::from_secs(5))).await.ok();
        }
    });
}

fn open(url: &str, config: Config, is_coarse: bool) -> Client {
    if !is_coarse {
        return Client::connect(url, config).unwrap();
    }
    let here = tokio::runtime::Handle::current();
    let world = World {
        clock: Arc::new(SystemClock),
        chance: Arc::new(SystemChance),
        control: here.clone(),
        data: here,
        mutant: Mutant::default(),
    };
    let store = coarse(Store::open(url, &config).unwrap());
    Client::open_in(world, store, config).unwrap()
}

fn hold(lease: &tenure::Lease) -> Reign {
    let clock = SystemClock;
    let from = clock.now();
    let mut to = from;
    loop {
        let now = clock.now();
        if !matches!(lease.check(), Validity::Valid(_)) || now.since(from) > HOLD {
            return Reign { epoch: lease.epoch().0, from: from.0, to: to.0 };
        }
        // The check said valid at some moment not before `now`.
        to = now;
    }
}

fn tell(reign: Reign) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nreign {} {} {}", reign.epoch, reign.from, reign.to).unwrap();
    out.flush().unwrap();
}

struct Racer(Child);

impl Drop for Racer {
    fn drop(&mut self) {
        signal(&self.0, rustix::process::Signal::KILL);
        self.0.wait().ok();
    }
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).ok();
}

fn racer(dir: &Path, n: usize, is_coarse: bool, reigns: mpsc::Sender<Reign>) -> Racer {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["race::child", "--exact", "--nocapture"])
        .env("TENURE_RACE_URL", format!("file://{}", dir.display()))
        .stdout(Stdio::piped())
        .stdin(Stdio::null());
    if is_coarse {
        command.env("TENURE_RACE_COARSE", "1");
    }
    if n % 5 == 1 {
        command.env("TENURE_RACE_DIES", "1");
    }
    let mut child = command.spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let ["reign", epoch, from, to] = words[..] {
                let number = |t: &str| t.parse().unwrap();
                let reign = Reign { epoch: number(epoch), from: number(from), to: number(to) };
                if reigns.send(reign).is_err() {
                    return;
                }
            }
        }
    });
    Racer(child)
}

#[test]
fn sixteen_processes_hand_over_a_hundred_times_and_never_overlap() {
    race(false);
}

/// The same where versions are content hashes and stamps are whole seconds: the guard is 3 s there.
#[test]
fn sixteen_processes_never_overlap_on_a_coarse_store() {
    race(true);
}

fn race(is_coarse: bool) {
    let dir = tempfile::tempdir().unwrap();
    let (tell, told) = mpsc::channel();
    let racers: Vec<Racer> =
        (0..PROCESSES).map(|n| racer(dir.path(), n, is_coarse, tell.clone())).collect();
    let mut reigns: Vec<Reign> = Vec::new();
    let mut stopped: Option<usize> = None;
    while reigns.len() < HANDOVERS {
        reigns.push(told.recv_timeout(Duration::from_secs(120)).expect("somebody can hold it"));
        // Every seventh reign somebody is stopped, and the one stopped before goes on: it wakes
        // long past its term.
        if reigns.len().is_multiple_of(7) {
            let next = (reigns.len() * 5) % PROCESSES;
            if let Some(n) = stopped.replace(next) {
                signal(&racers[n].0, rustix::process::Signal::CONT);
            }
            signal(&racers[next].0, rustix::process::Signal::STOP);
        }
    }
    drop(racers);
    reigns.sort_by_key(|r| r.from);
    for pair in reigns.windows(2) {
        assert!(pair[0].to < pair[1].from, "two valid holders: {pair:?}");
        assert!(pair[0].epoch < pair[1].epoch, "epochs must grow: {pair:?}");
    }
}
