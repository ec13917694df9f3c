//! The probe admits stores that keep their promises and refuses each broken promise by its name.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

use bytes::Bytes;
use std::time::Duration;
use tenure::base::{Clock, Config, Id128, Status};
use tenure::drive::world::Chance;
use tenure::sim::{Fault, Match, Quirk, SimChance, SimClock, SimStore};
use tenure::store::probe::{Report, probe};
use tenure::store::{Store, Traits, admit};

const MARKER: &str = "_tenure/v1/store.json";

async fn ask(store: &Store) -> tenure::Result<Report> {
    let chance = SimChance::new(1);
    probe(store, &*SimClock::new(), &|| chance.id()).await
}

async fn let_in(
    store: &Store,
    clock: &dyn Clock,
    seed: u64,
    known: Option<Id128>,
) -> tenure::Result<Traits> {
    let chance = SimChance::new(seed);
    admit(store, clock, &|| chance.id(), known).await
}

fn rig() -> (std::sync::Arc<SimClock>, SimStore) {
    let clock = SimClock::new();
    (clock.clone(), SimStore::new(clock))
}

#[tokio::test(start_paused = true)]
async fn a_store_that_keeps_its_promises_passes_with_its_grain() {
    let (_, sim) = rig();
    let report = ask(&sim.store()).await.expect("it answers");
    report.verdict().expect("it keeps its promises");
    let names: Vec<&str> = report.checks.iter().map(|check| check.name).collect();
    let expected = [
        "create-only",
        "swap-stale",
        "swap-missing",
        "aba-nonce",
        "race-of-8",
        "list-sees-put",
        "blob-create-only",
        "last-modified",
    ];
    assert_eq!(names, expected);
    assert_eq!((report.grain, report.skew), (Duration::from_secs(1), Duration::from_millis(500)));
    assert!(sim.keys("").iter().all(|key| key.starts_with("_tenure/v1/probe/")));
}

#[tokio::test(start_paused = true)]
async fn each_broken_promise_is_refused_by_its_name() {
    let cases = [
        (Quirk::IgnoresCreateOnly, "create-only"),
        (Quirk::IgnoresIfMatch, "swap-stale"),
        (Quirk::SwapCreates, "swap-missing"),
        (Quirk::ChecksThenWrites, "race-of-8"),
        (Quirk::ListLags, "list-sees-put"),
        (Quirk::KeepsModified, "last-modified"),
        (Quirk::SkewedClocks, "last-modified"),
    ];
    for (quirk, property) in cases {
        let (clock, sim) = rig();
        let store = sim.with_quirk(quirk).store();
        let report = ask(&store).await.expect("it answers");
        let failed: Vec<_> = report.checks.iter().filter(|c| !c.ok).map(|c| c.name).collect();
        assert!(failed.contains(&property), "{quirk:?}: {failed:?}");
        let error = let_in(&store, &*clock, 2, None).await.expect_err("refused");
        assert_eq!(error.status(), Status::StoreUnsupported, "{quirk:?}");
        assert!(error.message().contains(property), "{quirk:?}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_store_is_an_error_and_not_a_failing_one() {
    for which in
        [Match::put("register"), Match::get("register"), Match::list(""), Match::put("blob")]
    {
        let (clock, sim) = rig();
        sim.always(which, Fault::Lost);
        let error = let_in(&sim.store(), &*clock, 2, None).await.expect_err("no answer");
        assert_eq!(error.status(), Status::StoreUnavailable);
        assert!(sim.peek(MARKER).is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn the_second_client_of_a_day_needs_one_request() {
    let (clock, sim) = rig();
    let first = let_in(&sim.store(), &*clock, 2, None).await.expect("admitted");
    sim.forget();
    let second = let_in(&sim.store(), &*clock, 3, None).await.expect("admitted");
    assert_eq!(first, second);
    assert_eq!(sim.count(Match::any()), 1);
    tokio::time::sleep(Duration::from_secs(90_000)).await;
    sim.forget();
    let third = let_in(&sim.store(), &*clock, 4, Some(first.identity)).await.expect("admitted");
    assert_eq!(first, third);
    assert!(sim.count(Match::put("probe/")) > 8, "probed anew");
}

#[tokio::test(start_paused = true)]
async fn clients_that_start_together_agree_on_one_identity() {
    let (clock, sim) = rig();
    let clients = (0..8).map(|seed| {
        let (clock, store) = (clock.clone(), sim.store());
        tokio::spawn(async move { let_in(&store, &*clock, seed, None).await.expect("admitted") })
    });
    let admitted: Vec<Traits> = futures::future::join_all(clients)
        .await
        .into_iter()
        .map(|client| client.expect("no panic"))
        .collect();
    assert!(admitted.iter().all(|traits| *traits == admitted[0]), "{admitted:?}");
}

#[tokio::test(start_paused = true)]
async fn a_marker_whose_answer_was_lost_is_found_and_kept() {
    let (clock, sim) = rig();
    sim.next(Match::put(MARKER), Fault::Committed);
    let traits = let_in(&sim.store(), &*clock, 2, None).await.expect("admitted");
    assert_eq!(sim.count(Match::put(MARKER)), 1);
    let again = let_in(&sim.store(), &*clock, 3, Some(traits.identity)).await.expect("admitted");
    assert_eq!(traits, again);
}

#[tokio::test(start_paused = true)]
async fn another_store_under_the_same_url_is_refused() {
    let (clock, sim) = rig();
    let traits = let_in(&sim.store(), &*clock, 2, None).await.expect("admitted");
    let (_, swapped) = rig();
    let_in(&swapped.store(), &*clock, 3, None).await.expect("it is a good store by itself");
    for store in [swapped.store(), rig().1.store()] {
        let error = let_in(&store, &*clock, 4, Some(traits.identity)).await.expect_err("another");
        assert_eq!(error.status(), Status::StoreUnsupported);
        assert!(error.message().contains("another store"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_damaged_or_newer_marker_is_told_and_left_alone() {
    let (clock, sim) = rig();
    for (body, status) in
        [("{", Status::Corrupt), ("{\"v\":1}", Status::Corrupt), ("{\"v\":2}", Status::Unsupported)]
    {
        sim.plant(MARKER, body);
        let error = let_in(&sim.store(), &*clock, 2, None).await.expect_err(body);
        assert_eq!(error.status(), status, "{error:?}");
        assert_eq!(sim.peek(MARKER), Some(Bytes::from(body)));
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_fields_of_a_marker_survive_a_new_probe() {
    let (clock, sim) = rig();
    let_in(&sim.store(), &*clock, 2, None).await.expect("admitted");
    let text = String::from_utf8(sim.peek(MARKER).expect("written").to_vec()).expect("JSON");
    sim.plant(MARKER, text.replacen('{', "{\"colour\":\"red\",", 1));
    tokio::time::sleep(Duration::from_secs(90_000)).await;
    let_in(&sim.store(), &*clock, 3, None).await.expect("admitted");
    let text = String::from_utf8(sim.peek(MARKER).expect("written").to_vec()).expect("JSON");
    assert!(text.contains("\"colour\":\"red\""), "{text}");
}

#[tokio::test]
async fn memory_and_directories_pass_with_a_fine_grain() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for url in ["memory://probe".to_owned(), format!("file://{}", dir.path().display())] {
        let store = Store::open(&url, &Config::default()).expect("it opens");
        let report = ask(&store).await.expect("it answers");
        report.verdict().expect("it keeps its promises");
        assert!(report.grain <= Duration::from_millis(10), "{url}: {report:?}");
    }
}

/// With `TENURE_TEST_URL` (and `TENURE_TEST_STORE`) as in `store_contract`;
/// `TENURE_TEST_REFUSED=property,…` if it must be refused.
#[tokio::test]
async fn a_bucket_is_judged() {
    let Ok(url) = std::env::var("TENURE_TEST_URL") else { return };
    let mut config = Config::default();
    for option in std::env::var("TENURE_TEST_STORE").unwrap_or_default().split(',') {
        if let Some((key, value)) = option.split_once('=') {
            config.set(&format!("store.{key}"), value).expect("an option");
        }
    }
    let store = Store::open(&url, &config).expect("it opens");
    let seed = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_nanos();
    let chance = SimChance::new(u64::try_from(seed & u128::from(u64::MAX)).expect("cut"));
    let report = probe(&store, &*SimClock::new(), &|| chance.id()).await.expect("it answers");
    println!("{report:#?}");
    let failed: Vec<_> = report.checks.iter().filter(|c| !c.ok).map(|c| c.name).collect();
    assert_eq!(failed.join(","), std::env::var("TENURE_TEST_REFUSED").unwrap_or_default());
}
