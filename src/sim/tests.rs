//! The simulated store keeps what its documentation says.

use super::*;
use crate::base::{Clock, Wall};
use crate::store::{Outcome, Read, Registers};
use std::sync::Arc;
use std::time::Duration;

fn rig() -> (SimStore, Arc<dyn Registers>) {
    let sim = SimStore::new(SimClock::new());
    let leases = sim.store().leases;
    (sim, leases)
}

async fn land(registers: &dyn Registers, key: &str, body: &str) -> crate::base::Version {
    match registers.swap(key, None, body.to_owned().into()).await {
        Outcome::Landed(version) => version,
        other => panic!("expected a landing, got {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_write_lands() {
    let (sim, leases) = rig();
    sim.next(Match::put("k"), Fault::Slow(Duration::from_secs(5)));
    let swap = leases.swap("k", None, "v".into());
    assert!(tokio::time::timeout(Duration::from_secs(1), swap).await.is_err());
    assert_eq!(sim.peek("k"), None);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(sim.peek("k"), Some("v".into()));
}

#[tokio::test(start_paused = true)]
async fn a_late_write_meets_the_condition_of_the_moment_it_lands() {
    let (sim, leases) = rig();
    sim.next(Match::put("k"), Fault::Late(Duration::from_secs(5)));
    assert!(matches!(leases.swap("k", None, "late".into()).await, Outcome::Unknown(_)));
    land(&*leases, "k", "early").await;
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(sim.peek("k"), Some("early".into()));
}

#[tokio::test(start_paused = true)]
async fn a_late_write_carries_the_time_it_landed() {
    let (sim, leases) = rig();
    sim.next(Match::put("k"), Fault::Late(Duration::from_secs(5)));
    let _ = leases.swap("k", None, "late".into()).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let (_, modified) = leases.modified("k").await.expect("no fault").expect("landed");
    assert_eq!(modified, Wall(1_767_225_605_000));
}

#[tokio::test(start_paused = true)]
async fn equal_bodies_have_equal_tags() {
    let (_, leases) = rig();
    let one = land(&*leases, "a", "same").await;
    let two = land(&*leases, "b", "same").await;
    assert_eq!(one, two);
    assert_ne!(one, land(&*leases, "c", "other").await);
}

#[tokio::test(start_paused = true)]
async fn last_modified_is_cut_to_a_second() {
    let (_, leases) = rig();
    tokio::time::sleep(Duration::from_millis(1_999)).await;
    land(&*leases, "k", "v").await;
    let Ok(Read::Present(found)) = leases.read("k", None).await else { panic!("it landed") };
    assert_eq!(found.modified.0 % 1_000, 0);
}

#[tokio::test(start_paused = true)]
async fn a_committed_write_is_told_as_unknown_and_a_disowned_one_as_refused() {
    let (sim, leases) = rig();
    sim.next(Match::put("a"), Fault::Committed);
    sim.next(Match::put("b"), Fault::Disowned);
    sim.next(Match::put("c"), Fault::Conflict);
    assert!(matches!(leases.swap("a", None, "v".into()).await, Outcome::Unknown(_)));
    assert!(matches!(leases.swap("b", None, "v".into()).await, Outcome::Refused));
    assert!(matches!(leases.swap("c", None, "v".into()).await, Outcome::Refused));
    assert_eq!(sim.keys(""), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_hold_never_lands_and_a_stray_lands_on_command() {
    let (sim, leases) = rig();
    let hold = sim.hold(Match::put("a"));
    let other = leases.clone();
    let task = tokio::spawn(async move { other.swap("a", None, "v".into()).await });
    hold.arrived().await;
    hold.lose();
    assert!(matches!(task.await.expect("no panic"), Outcome::Unknown(_)));
    sim.next(Match::put("b"), Fault::Stray);
    let _ = leases.swap("b", None, "v".into()).await;
    assert!(sim.keys("").is_empty());
    assert_eq!(sim.land(), 1);
    assert_eq!(sim.keys(""), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn a_hung_request_is_never_answered() {
    let (sim, leases) = rig();
    sim.always(Match::any().from(""), Fault::HangCommitted);
    let swap = leases.swap("k", None, "v".into());
    assert!(tokio::time::timeout(Duration::from_secs(86_400), swap).await.is_err());
    assert!(sim.peek("k").is_some());
    sim.heal();
    assert!(leases.list("").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn one_node_can_be_cut_off() {
    let (sim, _) = rig();
    let (a, b) = (sim.store_of("a").leases, sim.store_of("b").leases);
    sim.always(Match::any().from("a"), Fault::Lost);
    assert!(a.list("").await.is_err());
    assert!(b.list("").await.is_ok());
    assert_eq!(sim.count(Match::list("").from("a")), 1);
}

async fn noisy_run(seed: u64) -> Vec<Sent> {
    let (sim, leases) = rig();
    sim.rage(Chaos::ROUGH, seed);
    let tasks = (0..4).map(|n| {
        let leases = leases.clone();
        tokio::spawn(async move {
            for i in 0..20 {
                let key = format!("k{}", (n + i) % 3);
                let look = async {
                    let found = leases.read(&key, None).await;
                    let version = match &found {
                        Ok(Read::Present(s)) => Some(&s.version),
                        _ => None,
                    };
                    leases.swap(&key, version, format!("{n}.{i}").into()).await
                };
                let _ = tokio::time::timeout(Duration::from_secs(3), look).await;
            }
        })
    });
    futures::future::join_all(tasks).await;
    sim.sent()
}

#[tokio::test(start_paused = true)]
async fn one_seed_gives_one_log() {
    let first = noisy_run(42).await;
    assert_eq!(first, noisy_run(42).await);
    assert_ne!(first, noisy_run(43).await);
}

#[tokio::test(start_paused = true)]
async fn suspend_moves_boot_time_and_calendar_but_not_the_raw_clock() {
    let clock = SimClock::new();
    let (boot, raw, wall) = (clock.now(), clock.raw(), clock.wall());
    clock.suspend(Duration::from_secs(60));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(clock.now().since(boot), Duration::from_secs(61));
    assert_eq!(clock.raw().since(raw), Duration::from_secs(1));
    assert_eq!(clock.wall().since(wall), Duration::from_secs(61));
}
