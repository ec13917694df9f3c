//! Leases end to end: real clients, the real tasks, a store with faults, paused time.

use crate::guarded;
use std::sync::Arc;
use std::time::Duration;
use tenure::base::{Clock, Mutant, Protection};
use tenure::drive::authority::Validity;
use tenure::sim::{Chaos, Fault, Match, Quirk, SimClock, SimStore, Verb, world};
use tenure::{Client, Config, EventKind, Kind, Lease, Status};
use tokio::time::{Instant, sleep};

pub const SOFT: Duration = Duration::from_secs(10);
/// soft + guard + grain of the simulated store (1 s grain).
const BOUND: Duration = Duration::from_secs(10 + 2 + 1);
pub const ONCE: Option<Duration> = Some(Duration::ZERO);

pub struct World {
    pub sim: SimStore,
    clock: Arc<SimClock>,
    mutant: Mutant,
}

impl World {
    pub fn new(mutant: Mutant) -> World {
        let clock = SimClock::new();
        World { sim: SimStore::new(clock.clone()), clock, mutant }
    }

    pub fn client(&self, node: &str, seed: u64) -> Client {
        let mut config = Config::default();
        config.set("limits", "fast").unwrap();
        config.set("node", node).unwrap();
        let mut world = world(&self.clock, seed);
        world.mutant = self.mutant;
        Client::open_in(world, self.sim.store_of(node), config).unwrap()
    }

    /// A node loses its store: every request hangs from now on.
    pub fn cut(&self, node: &str) {
        self.sim.always(Match::any().from(node), Fault::Hang);
    }
}

pub fn run<T>(story: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(story)
}

pub fn is_valid(lease: &Lease) -> bool {
    matches!(lease.check(), Validity::Valid(_))
}

pub async fn kinds(client: &Client) -> Vec<EventKind> {
    let mut seen = Vec::new();
    while let Some(event) = client.next_event(ONCE).await {
        seen.push(event.kind);
    }
    seen
}

#[test]
fn opening_sends_nothing_and_a_free_lease_costs_three_requests() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        assert_eq!(w.sim.count(Match::any()), 0);
        let first = a.acquire("warm", None).await.unwrap();
        w.sim.forget();
        let lease = a.acquire("r", None).await.unwrap();
        assert!(is_valid(&lease) && is_valid(&first));
        // GET and create; the HEAD for the seed only if the store's time was not known yet.
        assert_eq!(w.sim.count(Match::get("leases/")), 1);
        assert_eq!(w.sim.count(Match::put("leases/")), 1);
        assert!(w.sim.count(Match::any()) <= 3);
    });
}

#[test]
fn a_second_holder_is_refused_with_holder_epoch_and_retry_after() {
    run(async {
        let w = World::new(Mutant::default());
        let (a, b) = (w.client("a", 1), w.client("b", 2));
        let lease = a.acquire("r", None).await.unwrap();
        let refused = b.acquire("r", ONCE).await.unwrap_err();
        assert_eq!(refused.status(), Status::LeaseHeld);
        assert!(refused.holder().unwrap().starts_with("a/"));
        assert_eq!(refused.epoch(), Some(lease.epoch()));
        let wait = refused.retry_after_hint().unwrap();
        assert!(wait > Duration::ZERO && wait <= BOUND + Duration::from_secs(2), "{wait:?}");
    });
}

#[test]
fn a_second_acquire_in_one_client_names_itself() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let _lease = a.acquire("r", None).await.unwrap();
        let refused = a.acquire("r", None).await.unwrap_err();
        assert_eq!(refused.status(), Status::LeaseHeld);
        assert!(refused.holder().unwrap().contains(a.id()));
    });
}

#[test]
fn a_holder_that_renews_is_never_preempted() {
    run(async {
        let w = World::new(Mutant::default());
        let (a, b) = (w.client("a", 1), w.client("b", 2));
        let lease = a.acquire("r", None).await.unwrap();
        let refused = b.acquire("r", Some(Duration::from_secs(600))).await.unwrap_err();
        assert_eq!(refused.status(), Status::LeaseHeld);
        assert!(is_valid(&lease));
    });
}

#[test]
fn a_dead_holder_is_replaced_within_soft_guard_and_grain_and_never_while_valid() {
    // The contender's jitter is drawn from its seed: one early draw of twenty is enough to do harm.
    let one = |mutant, seed| {
        run(async move {
            let w = World::new(mutant);
            let (a, b) = (w.client("a", 1), w.client("b", seed));
            // Somebody else pays for the probe. Then the contender renews on whole seconds, where
            // its own stamp is exact, and the holder late in a second, where the store cuts off
            // most of it: the worst case the guard is there for.
            drop(w.client("z", 3).acquire("probe", None).await.unwrap());
            let past = w.clock.wall().0 % 1_000;
            sleep(Duration::from_millis(u64::try_from(1_000 - past).unwrap())).await;
            let warm = b.acquire("warm", None).await.unwrap();
            sleep(Duration::from_millis(900)).await;
            let lease = a.acquire("r", None).await.unwrap();
            let epoch = lease.epoch();
            w.cut("a");
            let cut_at = Instant::now();
            let taken = b.acquire("r", None).await.unwrap();
            let overlap = is_valid(&lease);
            assert!(taken.epoch() > epoch && is_valid(&warm));
            let took = cut_at.elapsed();
            assert!(took <= BOUND + Duration::from_secs(3), "took {took:?}");
            !overlap
        })
    };
    guarded(Protection::Guard, |mutant| (20..40).all(|seed| one(mutant, seed)));
}

#[test]
fn a_release_lets_a_waiter_in_within_a_poll() {
    run(async {
        let w = World::new(Mutant::default());
        let (a, b) = (w.client("a", 1), w.client("b", 2));
        let lease = a.acquire("r", None).await.unwrap();
        let waiter = tokio::spawn(async move { (b.acquire("r", None).await, b) });
        sleep(Duration::from_secs(60)).await;
        lease.release(None).await.unwrap();
        let freed = Instant::now();
        let (taken, _b) = waiter.await.unwrap();
        assert!(freed.elapsed() <= Duration::from_millis(2_500), "{:?}", freed.elapsed());
        assert!(taken.unwrap().epoch() > lease.epoch());
        assert_eq!(lease.check(), Validity::Lost, "a released lease is never valid again");
    });
}

#[test]
fn a_dropped_lease_is_released_in_the_background() {
    run(async {
        let w = World::new(Mutant::default());
        let (a, b) = (w.client("a", 1), w.client("b", 2));
        drop(a.acquire("r", None).await.unwrap());
        sleep(Duration::from_secs(1)).await;
        assert!(b.acquire("r", ONCE).await.is_ok());
    });
}

#[test]
fn a_closed_client_frees_its_leases_at_once() {
    run(async {
        let w = World::new(Mutant::default());
        let (a, b) = (w.client("a", 1), w.client("b", 2));
        let lease = a.acquire("r", None).await.unwrap();
        a.close(None).await.unwrap();
        assert!(!is_valid(&lease));
        assert_eq!(a.acquire("r", ONCE).await.unwrap_err().status(), Status::Closed);
        assert!(b.acquire("r", ONCE).await.is_ok());
    });
}

#[test]
fn a_store_outage_suspends_and_the_same_epoch_comes_back() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let lease = a.acquire("r", None).await.unwrap();
        kinds(&a).await;
        w.sim.always(Match::any(), Fault::Lost);
        sleep(Duration::from_secs(30)).await;
        assert_eq!(lease.check(), Validity::Suspended);
        assert_eq!(kinds(&a).await, [EventKind::LeaseSuspended]);
        w.sim.heal();
        let epoch = lease.epoch();
        lease.wait_valid(Some(Duration::from_secs(10))).await.unwrap();
        assert_eq!(lease.epoch(), epoch);
        assert_eq!(kinds(&a).await, [EventKind::LeaseResumed]);
    });
}

#[test]
fn a_lapsed_holder_whose_lease_was_taken_is_told_so_once() {
    run(async {
        let w = World::new(Mutant::default());
        let (a, b) = (w.client("a", 1), w.client("b", 2));
        let lease = a.acquire("r", None).await.unwrap();
        kinds(&a).await;
        w.cut("a");
        let taken = b.acquire("r", None).await.unwrap();
        w.sim.heal();
        let why = lease.wait_valid(Some(Duration::from_secs(30))).await.unwrap_err();
        assert_eq!(why.status(), Status::LeaseLost);
        assert_eq!(why.epoch(), Some(taken.epoch()));
        assert_eq!(lease.check(), Validity::Lost);
        assert_eq!(kinds(&a).await, [EventKind::LeaseSuspended, EventKind::LeaseLost]);
        assert!(is_valid(&taken));
    });
}

#[test]
fn without_the_gap_rule_a_stolen_lease_is_revived() {
    guarded(Protection::GapRule, |mutant| {
        run(async move {
            let w = World::new(mutant);
            let (a, b) = (w.client("a", 1), w.client("b", 2));
            let lease = a.acquire("r", None).await.unwrap();
            w.cut("a");
            let taken = b.acquire("r", None).await.unwrap();
            w.sim.heal();
            let mut both = false;
            for _ in 0..200 {
                sleep(Duration::from_millis(100)).await;
                both |= is_valid(&lease) && is_valid(&taken);
            }
            !both
        })
    });
}

#[test]
fn a_slow_answer_does_not_age_a_session_that_was_renewed_meanwhile() {
    guarded(Protection::JudgeBeforeRead, |mutant| {
        run(async move {
            let w = World::new(mutant);
            let (a, b) = (w.client("a", 1), w.client("b", 2));
            let _warm = b.acquire("warm", None).await.unwrap();
            let lease = a.acquire("r", None).await.unwrap();
            // The holder's renewals fail until half a second before its term ends.
            w.sim.always(Match::put("sessions/").from("a"), Fault::Lost);
            sleep(Duration::from_millis(9_300)).await;
            // The contender looks, the holder renews, and the answer is processed seconds later: a
            // thread that did not run, a stopped process. To the store that session was alive.
            let slow = Fault::SlowAnswer(Duration::from_millis(600));
            w.sim.next(Match::get("sessions/").from("b"), slow);
            let contender = tokio::spawn(async move { (b.acquire("r", Some(SOFT)).await, b) });
            sleep(Duration::from_millis(50)).await;
            assert_eq!(w.sim.count(Match::get("sessions/").from("b")), 1, "it has looked");
            w.sim.heal();
            sleep(Duration::from_millis(450)).await;
            assert!(is_valid(&lease), "renewed in time");
            tokio::time::advance(Duration::from_secs(4)).await;
            sleep(Duration::from_secs(1)).await;
            let preempted = contender.is_finished();
            assert!(is_valid(&lease));
            !preempted
        })
    });
}

#[test]
fn a_missing_session_object_does_not_free_its_leases() {
    guarded(Protection::MissingWait, |mutant| {
        run(async move {
            let w = World::new(mutant);
            let (a, b) = (w.client("a", 1), w.client("b", 2));
            let _warm = b.acquire("warm", None).await.unwrap();
            let lease = a.acquire("r", None).await.unwrap();
            assert!(w.sim.erase(&format!("_tenure/v1/sessions/{}", a.id())));
            let taken = b.acquire("r", Some(Duration::from_secs(4))).await;
            !(taken.is_ok() && is_valid(&lease))
        })
    });
}

#[test]
fn an_acquire_that_committed_without_an_answer_is_found_again() {
    for fault in [Fault::Committed, Fault::Disowned, Fault::HangCommitted, Fault::Conflict] {
        run(async {
            let w = World::new(Mutant::default());
            let a = w.client("a", 1);
            let _warm = a.acquire("warm", None).await.unwrap();
            w.sim.next(Match::put("leases/lease/r"), fault);
            let lease = a.acquire("r", Some(SOFT)).await.unwrap();
            assert!(is_valid(&lease), "{fault:?}");
        });
    }
}

#[test]
fn an_acquire_nobody_waits_for_any_more_is_released_even_if_it_lands_late() {
    guarded(Protection::Settle, |mutant| {
        run(async move {
            let w = World::new(mutant);
            let (a, b) = (w.client("a", 1), w.client("b", 2));
            let _warm = a.acquire("warm", None).await.unwrap();
            w.sim.next(Match::put("leases/lease/r"), Fault::Late(Duration::from_millis(400)));
            let short = Some(Duration::from_millis(50));
            assert!(a.acquire("r", short).await.is_err());
            sleep(Duration::from_secs(20)).await;
            b.acquire("r", ONCE).await.is_ok()
        })
    });
}

#[test]
fn a_broken_lease_suspends_its_renewing_holder_within_a_renewal() {
    guarded(Protection::Notices, |mutant| {
        run(async move {
            let w = World::new(mutant);
            let (a, b) = (w.client("a", 1), w.client("b", 2));
            let lease = a.acquire("r", None).await.unwrap();
            // Its holder renews: observing it would show life.
            let observed = Duration::from_secs(30);
            let refused = b.break_lease(Kind::Lease, "r", observed, "test").await.unwrap_err();
            assert_eq!(refused.status(), Status::LeaseHeld);
            b.break_lease(Kind::Lease, "r", Duration::ZERO, "stuck job").await.unwrap();
            let info = b.inspect(Kind::Lease, "r").await.unwrap();
            assert_eq!((info.held, info.how.as_str()), (false, "forced"));
            assert_eq!(info.note.as_deref(), Some("stuck job"));
            let taken = b.acquire("r", Some(SOFT)).await.unwrap();
            sleep(SOFT).await;
            is_valid(&taken) && !is_valid(&lease)
        })
    });
}

#[test]
fn breaking_again_leaves_the_notice_that_the_first_call_could_not() {
    run(async {
        let w = World::new(Mutant::default());
        let (a, b) = (w.client("a", 1), w.client("b", 2));
        let lease = a.acquire("r", None).await.unwrap();
        w.sim.always(Match::put("notices/"), Fault::Lost);
        let broken = b.break_lease(Kind::Lease, "r", Duration::ZERO, "stuck").await;
        assert!(broken.is_err(), "the notice is part of the promise");
        w.sim.heal();
        assert_eq!(w.sim.keys("_tenure/v1/notices/"), [""; 0]);
        b.break_lease(Kind::Lease, "r", Duration::ZERO, "stuck").await.unwrap();
        assert_eq!(w.sim.keys("_tenure/v1/notices/").len(), 1, "left this time");
        sleep(SOFT).await;
        assert!(!is_valid(&lease), "told with its next renewal, before anybody acquires");
    });
}

#[test]
fn renewals_cost_one_put_and_one_get_whatever_the_number_of_leases() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let mut held = Vec::new();
        for n in 0..100 {
            held.push(a.acquire(&format!("r/{n}"), None).await.unwrap());
        }
        sleep(Duration::from_millis(4_900)).await;
        w.sim.forget();
        sleep(Duration::from_secs(50)).await;
        let (puts, gets) = (w.sim.count(Match::put("")), w.sim.count(Match::get("")));
        assert!((9..=11).contains(&puts) && gets == puts, "{puts} PUTs, {gets} GETs in 10 periods");
        assert!(held.iter().all(is_valid));
    });
}

#[test]
fn ten_thousand_renewals_under_five_percent_errors_lose_nothing() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let lease = a.acquire("r", None).await.unwrap();
        let chaos = Chaos { lost: 25, committed: 25, ..Chaos::NONE };
        w.sim.rage(chaos, 11);
        let epoch = lease.epoch();
        for _ in 0..10_000 {
            sleep(Duration::from_secs(5)).await;
            assert_ne!(lease.check(), Validity::Lost);
        }
        assert_eq!(lease.epoch(), epoch);
    });
}

#[test]
fn a_suspended_machine_knows_it_before_its_first_request() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let lease = a.acquire("r", None).await.unwrap();
        w.clock.suspend(Duration::from_secs(11));
        assert_eq!(lease.check(), Validity::Suspended);
        lease.wait_valid(Some(SOFT)).await.unwrap();
    });
}

#[test]
fn contenders_in_turn_never_overlap_under_chaos() {
    run(async {
        let w = World::new(Mutant::default());
        let chaos = Chaos { lost: 30, committed: 30, conflict: 20, ..Chaos::NONE };
        w.sim.rage(chaos, 5);
        let mut last = None;
        let clients: Vec<Client> = (0..5).map(|n| w.client(&format!("n{n}"), 50 + n)).collect();
        for round in 0..40 {
            let client = &clients[round % clients.len()];
            let lease = client.acquire("r", Some(Duration::from_secs(300))).await.unwrap();
            assert!(Some(lease.epoch()) > last, "epochs only grow");
            last = Some(lease.epoch());
            drop(lease);
        }
    });
}

#[test]
fn a_store_that_ignores_conditions_is_refused_at_the_first_acquire() {
    for quirk in [Quirk::IgnoresCreateOnly, Quirk::IgnoresIfMatch, Quirk::SwapCreates] {
        run(async {
            let mut w = World::new(Mutant::default());
            w.sim = w.sim.with_quirk(quirk);
            let a = w.client("a", 1);
            for _ in 0..2 {
                let refused = a.acquire("r", Some(SOFT)).await.unwrap_err();
                assert_eq!(refused.status(), Status::StoreUnsupported, "{quirk:?}: {refused}");
            }
            assert_eq!(w.sim.count(Match::put("leases/")), 0, "nothing was written first");
        });
    }
}

#[test]
fn a_reader_needs_no_permission_to_write() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let file = a.create("f", Default::default(), None).await.unwrap();
        file.write(b"seen", None).await.1.unwrap();
        file.hflush(None).await.unwrap();
        w.sim.always(Match::put("").from("b"), Fault::Denied);
        let b = w.client("b", 2);
        let reader = b.open_file("f").await.unwrap();
        assert_eq!(reader.read_at(0, 9).await.unwrap(), "seen");
        assert_eq!(w.sim.count(Match::put("").from("b")), 0);
        let refused = b.acquire("r", Some(SOFT)).await.unwrap_err();
        assert_eq!(refused.status(), Status::AccessDenied);
    });
}

#[test]
fn a_lease_costs_the_requests_that_the_operators_page_lists() {
    run(async {
        let w = World::new(Mutant::default());
        let (a, b) = (w.client("a", 1), w.client("b", 2));
        let (_warm_a, _warm_b) =
            (a.acquire("a", None).await.unwrap(), b.acquire("b", None).await.unwrap());
        // GET, HEAD, PUT of leases and of the holder's session; renewals are counted elsewhere.
        let cost = |from: &str| {
            let of = |which: Match| w.sim.count(which.from(from));
            let gets = of(Match::get("leases/")) + of(Match::get("sessions/"));
            let counted = (gets, of(Match::head("")), of(Match::put("leases/")));
            w.sim.forget();
            counted
        };
        w.sim.forget();
        let lease = a.acquire("r", ONCE).await.unwrap();
        let never_held = cost("a");
        assert_eq!((never_held.0, never_held.2), (1, 1), "GET and create");
        assert!(never_held.1 <= 1, "the store's time, once per renewal");
        assert!(b.acquire("r", ONCE).await.is_err());
        let refused = cost("b");
        assert_eq!((refused.0, refused.2), (2, 0), "record and session");
        assert!(refused.1 <= 1);
        lease.release(None).await.unwrap();
        assert_eq!(cost("a"), (0, 0, 1), "releasing");
        drop(lease);
        let lease = a.acquire("r", ONCE).await.unwrap();
        assert_eq!(cost("a"), (0, 0, 1), "the own release is remembered");
        lease.release(None).await.unwrap();
        w.sim.forget();
        let taken = b.acquire("r", ONCE).await.unwrap();
        assert_eq!(cost("b"), (1, 0, 1), "a released one");
        drop(taken);
        sleep(Duration::from_secs(1)).await;

        let _lease = a.acquire("dead", None).await.unwrap();
        w.cut("a");
        sleep(Duration::from_secs(30)).await;
        w.sim.forget();
        b.acquire("dead", ONCE).await.unwrap();
        let over = cost("b");
        assert_eq!((over.0, over.2), (2, 1), "record, session, swap");
        assert!(over.1 <= 1);
    });
}

#[test]
fn expired_credentials_lapse_like_an_outage_and_come_back() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let lease = a.acquire("r", None).await.unwrap();
        w.sim.always(Match::any(), Fault::Denied);
        sleep(SOFT).await;
        assert_eq!(lease.check(), Validity::Suspended);
        assert_eq!(a.acquire("s", ONCE).await.unwrap_err().status(), Status::AccessDenied);
        w.sim.heal();
        let epoch = lease.epoch();
        lease.wait_valid(Some(SOFT)).await.unwrap();
        assert_eq!(lease.epoch(), epoch);
    });
}

#[test]
fn a_store_of_one_write_a_second_refuses_a_shorter_soft_limit_than_four() {
    run(async {
        let w = World::new(Mutant::default());
        let mut store = w.sim.store_of("a");
        store.write_gap = Duration::from_secs(1);
        let open = |soft: &str| {
            let mut config = Config::default();
            config.set("soft_ms", soft).unwrap();
            Client::open_in(world(&w.clock, 1), store.clone(), config)
        };
        let refused = open("3999").unwrap_err();
        assert_eq!(refused.status(), Status::InvalidArgument);
        for part in ["soft_ms = 3999", "at least 4000"] {
            assert!(refused.message().contains(part), "{refused}");
        }
        // Then no record is written twice within the second.
        let a = open("4000").unwrap();
        let lease = a.acquire("r", None).await.unwrap();
        lease.release(None).await.unwrap();
        drop(lease);
        a.acquire("r", None).await.unwrap();
        let mut writes = w.sim.sent();
        writes.retain(|s| s.verb == Verb::Put && s.key.ends_with("lease/r"));
        assert_eq!(writes.len(), 3, "acquire, release, acquire: {writes:?}");
        assert!(writes.windows(2).all(|w| w[1].at_ms - w[0].at_ms >= 1_000), "{writes:?}");
    });
}

#[test]
fn a_jump_of_the_calendar_is_a_gap_within_a_second_and_decides_nothing() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let lease = a.acquire("r", None).await.unwrap();
        for by in [3_600_000, -7_200_000] {
            kinds(&a).await;
            w.clock.step_wall(by);
            sleep(Duration::from_millis(1_500)).await;
            lease.wait_valid(Some(SOFT)).await.unwrap();
            assert!(kinds(&a).await.contains(&EventKind::LeaseResumed), "proved again");
        }
    });
}

#[test]
fn a_lease_and_a_writer_keep_their_client_alive() {
    run(async {
        let w = World::new(Mutant::default());
        let a = w.client("a", 1);
        let lease = a.acquire("r", None).await.unwrap();
        let file = a.create("log", tenure::CreateOptions::default(), None).await.unwrap();
        drop(a);
        sleep(Duration::from_secs(60)).await;
        assert!(is_valid(&lease));
        assert!(file.write(b"still here", None).await.1.is_ok());
        file.close(None).await.unwrap();
        drop((lease, file));
        sleep(Duration::from_secs(1)).await;
        let b = w.client("b", 2);
        assert!(b.acquire("r", ONCE).await.is_ok(), "the last handle ended the session");
        assert_eq!(b.stat("log").await.unwrap().length, 10);
    });
}

#[test]
fn a_closed_file_is_free_for_the_next_writer_at_once() {
    run(async {
        let w = World::new(Mutant::default());
        let (a, b) = (w.client("a", 1), w.client("b", 2));
        let file = a.create("log", tenure::CreateOptions::default(), None).await.unwrap();
        file.close(None).await.unwrap();
        let again = a.append("log", ONCE).await.unwrap();
        again.close(None).await.unwrap();
        b.append("log", ONCE).await.unwrap().close(None).await.unwrap();
        let refused = b.create("log", tenure::CreateOptions::default(), ONCE).await.unwrap_err();
        assert_eq!(refused.status(), Status::AlreadyExists);
        b.append("log", ONCE).await.unwrap().abort();
    });
}
