//! The corners: a mailbox that fails beside a renewal, ends that come early, late or twice.

use crate::story::{ONCE, SOFT, World, is_valid, kinds, run};
use std::time::Duration;
use tenure::base::Mutant;
use tenure::sim::{Fault, Match};
use tenure::wire::lease::LeaseRecord;
use tenure::wire::notice::Notice;
use tenure::{Client, CreateOptions, EventKind, Kind, Status};
use tokio::time::{Instant, sleep, timeout};

const LONG: Duration = Duration::from_secs(3_600);

fn notices(client: &Client) -> String {
    format!("_tenure/v1/notices/{}", client.id())
}

fn record(w: &World, kind: &str, name: &str) -> LeaseRecord {
    let key = format!("_tenure/v1/leases/{kind}/{name}");
    LeaseRecord::decode(&key, &w.sim.peek(&key).unwrap()).unwrap()
}

#[test]
fn a_contender_whose_mailbox_fails_does_not_preempt_a_holder_that_renews() {
    let one = |phase| {
        run(async move {
            let w = World::new(Mutant::default());
            let (a, b) = (w.client("a", 1), w.client("b", 2));
            let warm = b.acquire("warm", None).await.unwrap();
            sleep(Duration::from_millis(phase)).await;
            let lease = a.acquire("r", None).await.unwrap();
            sleep(Duration::from_millis(15_000 - phase)).await;
            // B's renewals fail until the last moment; then one lands, and its mailbox does not
            // answer: B's stamp is new, its last complete renewal is not.
            w.sim.always(Match::any().from("b"), Fault::Lost);
            while warm.remaining() > Duration::from_millis(1_500) {
                sleep(Duration::from_millis(10)).await;
            }
            w.sim.heal();
            w.sim.always(Match::get("notices/").from("b"), Fault::Lost);
            sleep(Duration::from_millis(800)).await;
            let taken = b.acquire("r", ONCE).await;
            is_valid(&lease) && taken.is_err()
        })
    };
    let robbed: Vec<u64> = (0..50).map(|n| n * 100).filter(|phase| !one(*phase)).collect();
    assert!(robbed.is_empty(), "a holder that renewed was preempted: {robbed:?}");
}

#[test]
fn an_eviction_is_noticed_also_by_a_holder_whose_mailbox_already_says_all() {
    run(async {
        let w = World::new(Mutant::default());
        let (a, b) = (w.client("a", 1), w.client("b", 2));
        let lease = a.acquire("r", None).await.unwrap();
        let full = Notice { v: 1, all: true, ..Notice::default() };
        w.sim.plant(&notices(&a), full.encode());
        sleep(SOFT).await;
        lease.wait_valid(Some(SOFT)).await.unwrap();
        b.break_lease(Kind::Lease, "r", Duration::ZERO, "stuck").await.unwrap();
        let taken = b.acquire("r", Some(SOFT)).await.unwrap();
        sleep(SOFT).await;
        assert!(is_valid(&taken) && !is_valid(&lease), "two valid holders");
    });
}

#[test]
fn a_client_closed_before_its_first_renewal_was_answered_sends_nothing_more() {
    run(async {
        let w = World::new(Mutant::default());
        let (a, z) = (w.client("a", 1), w.client("z", 2));
        drop(z.acquire("probe", None).await.unwrap());
        w.sim.always(Match::put("sessions/").from("a"), Fault::Lost);
        assert!(a.acquire("r", Some(SOFT)).await.is_err());
        a.close(None).await.unwrap();
        sleep(SOFT).await;
        w.sim.heal();
        w.sim.forget();
        sleep(LONG).await;
        assert_eq!(w.sim.count(Match::any().from("a")), 0);
    });
}

#[test]
fn a_closed_client_does_not_go_on_asking_a_store_that_is_away() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let _lease = a.acquire("r", None).await.unwrap();
        w.sim.always(Match::any().from("a"), Fault::Lost);
        a.close(None).await.unwrap();
        sleep(SOFT).await;
        w.sim.forget();
        sleep(LONG).await;
        assert_eq!(w.sim.count(Match::any().from("a")), 0);
    });
}

#[test]
fn a_client_closed_under_an_open_writer_leaves_its_file_marked_for_recovery() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let writer = a.create("f", CreateOptions::default(), None).await.unwrap();
        a.close(None).await.unwrap();
        assert!(writer.hflush(Some(SOFT)).await.is_ok(), "nothing was written");
        let record = record(&w, "file", "f");
        assert!(record.recover.is_some(), "{record:?}");
    });
}

#[test]
fn waiting_for_a_released_lease_ends_at_once() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let lease = a.acquire("r", None).await.unwrap();
        lease.release(None).await.unwrap();
        let ended = timeout(LONG, lease.wait_valid(None)).await.expect("it hangs");
        assert_eq!(ended.unwrap_err().status(), Status::Closed);
    });
}

#[test]
fn a_waiter_is_told_when_its_lease_is_released_meanwhile() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let lease = std::sync::Arc::new(a.acquire("r", None).await.unwrap());
        w.cut("a");
        sleep(SOFT * 2).await;
        let waiter = tokio::spawn({
            let lease = lease.clone();
            async move { lease.wait_valid(None).await }
        });
        sleep(Duration::from_secs(1)).await;
        let _ = lease.release(ONCE).await;
        let ended = timeout(LONG, waiter).await.expect("it hangs").unwrap();
        assert_eq!(ended.unwrap_err().status(), Status::Closed);
    });
}

#[test]
fn a_released_handle_never_tells_the_token_of_its_successor() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let old = a.acquire("r", None).await.unwrap();
        let epoch = old.epoch();
        old.release(None).await.unwrap();
        let new = a.acquire("r", None).await.unwrap();
        assert!(new.epoch() > epoch);
        assert_eq!(old.epoch(), epoch);
    });
}

#[test]
fn a_gap_between_two_ticks_is_told() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let lease = a.acquire("r", None).await.unwrap();
        kinds(&a).await;
        // The mailbox answers only just after the term ran out.
        w.sim.always(Match::put("sessions/"), Fault::Lost);
        while lease.remaining() > Duration::from_millis(400) {
            sleep(Duration::from_millis(10)).await;
        }
        w.sim.heal();
        w.sim.always(Match::put("sessions/"), Fault::SlowAnswer(Duration::from_millis(600)));
        sleep(SOFT).await;
        assert_eq!(kinds(&a).await, [EventKind::LeaseSuspended]);
        lease.wait_valid(Some(SOFT)).await.unwrap();
        assert_eq!(kinds(&a).await, [EventKind::LeaseResumed]);
    });
}

#[test]
fn a_lost_lease_is_not_suspended_afterwards() {
    run(async {
        let w = World::new(Mutant::default());
        let (a, b) = (w.client("a", 1), w.client("b", 2));
        let _lease = a.acquire("r", None).await.unwrap();
        b.break_lease(Kind::Lease, "r", Duration::ZERO, "stuck").await.unwrap();
        sleep(SOFT).await;
        w.cut("a");
        sleep(SOFT * 3).await;
        assert_eq!(
            kinds(&a).await,
            [EventKind::LeaseGranted, EventKind::LeaseSuspended, EventKind::LeaseLost]
        );
    });
}

#[test]
fn a_create_that_finds_the_file_leaves_its_recovery_mark() {
    run(async {
        let w = World::new(Mutant::default());
        let (a, b) = (w.client("a", 1), w.client("b", 2));
        drop(a.create("f", CreateOptions::default(), None).await.unwrap());
        sleep(Duration::from_secs(1)).await;
        assert!(record(&w, "file", "f").recover.is_some());
        let refused = b.create("f", CreateOptions::default(), None).await.unwrap_err();
        assert_eq!(refused.status(), Status::AlreadyExists);
        sleep(Duration::from_secs(1)).await;
        assert!(record(&w, "file", "f").recover.is_some(), "nobody closed it");
        b.append("f", None).await.unwrap().close(None).await.unwrap();
        assert!(record(&w, "file", "f").recover.is_none());
    });
}

#[test]
fn a_store_that_conflicts_for_ever_is_asked_with_pauses() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let _warm = a.acquire("warm", None).await.unwrap();
        w.sim.always(Match::put("leases/lease/r"), Fault::Conflict);
        w.sim.forget();
        let asked = Instant::now();
        let _ = a.acquire("r", Some(SOFT)).await;
        assert!(asked.elapsed() >= SOFT);
        assert!(w.sim.count(Match::put("leases/lease/r")) < 50);
    });
}
