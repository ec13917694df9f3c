//! One contract for every store: what `Registers` and `Blobs` promise, asked of memory, a
//! directory, the simulator and, with `TENURE_TEST_URL=s3://… cargo test --test store_contract`, of
//! a real bucket (options: `TENURE_TEST_STORE=key=value,…`).
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

use bytes::Bytes;
use std::sync::Arc;
use tenure::base::{Config, Status, Version};
use tenure::sim::{SimClock, SimStore};
use tenure::store::{Blobs, Outcome, Payload, Read, Registers, Snapshot, Store};

/// A store and a prefix nobody else uses.
struct Rig {
    store: Store,
    root: String,
}

impl Rig {
    fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.root)
    }
}

async fn land(
    registers: &dyn Registers,
    key: &str,
    expect: Option<&Version>,
    body: &str,
) -> Version {
    match registers.swap(key, expect, Bytes::from(body.to_owned())).await {
        Outcome::Landed(version) => version,
        other => panic!("{key}: expected a landing, got {other:?}"),
    }
}

async fn refuse(registers: &dyn Registers, key: &str, expect: Option<&Version>, body: &str) {
    match registers.swap(key, expect, Bytes::from(body.to_owned())).await {
        Outcome::Refused => {}
        other => panic!("{key}: expected a refusal, got {other:?}"),
    }
}

async fn present(registers: &dyn Registers, key: &str) -> Snapshot {
    match registers.read(key, None).await {
        Ok(Read::Present(found)) => found,
        other => panic!("{key}: expected a value, got {other:?}"),
    }
}

async fn registers_keep_their_contract(rig: &Rig) {
    let registers = &*rig.store.leases;
    let key = rig.key("registers/a%20b.c");
    assert!(matches!(registers.read(&key, None).await, Ok(Read::Absent)));
    assert!(matches!(registers.modified(&key).await, Ok(None)));
    let stray = Version { e_tag: Some("\"x\"".into()), version: Some("7".into()) };
    refuse(registers, &key, Some(&stray), "nothing to swap").await;
    assert!(matches!(registers.read(&key, None).await, Ok(Read::Absent)));

    let first = land(registers, &key, None, "first").await;
    refuse(registers, &key, None, "again").await;
    let found = present(registers, &key).await;
    assert_eq!((found.body.as_ref(), &found.version), (b"first".as_ref(), &first));
    assert!(matches!(registers.read(&key, Some(&first)).await, Ok(Read::Unchanged)));

    let second = land(registers, &key, Some(&first), "second").await;
    assert_ne!(first, second);
    refuse(registers, &key, Some(&first), "stale").await;
    let Ok(Read::Present(found)) = registers.read(&key, Some(&first)).await else {
        panic!("a conditional read of a changed register tells its value");
    };
    assert_eq!(found.body.as_ref(), b"second");
    let (version, modified) =
        registers.modified(&key).await.expect("a HEAD is answered").expect("it is there");
    assert_eq!((version, modified), (second, found.modified));
}

async fn registers_are_listed_once_and_in_order(rig: &Rig) {
    let registers = &*rig.store.leases;
    let keys = ["list/a", "list/a.file", "list/b/c", "list/b/d.file", "list/z"];
    for name in keys {
        let version = land(registers, &rig.key(name), None, "one").await;
        land(registers, &rig.key(name), Some(&version), "three").await;
    }
    land(registers, &rig.key("listless"), None, "beside").await;
    let rows = registers.list(&rig.key("list/")).await.expect("a LIST is answered");
    let told: Vec<&str> = rows.iter().map(|row| row.key.as_str()).collect();
    let expected: Vec<String> = keys.iter().map(|name| rig.key(name)).collect();
    assert_eq!(told, expected);
    for row in &rows {
        assert_eq!(row.size, 5, "{}: the size of the newest value", row.key);
        assert_eq!(row.modified, present(registers, &row.key).await.modified, "{}", row.key);
    }
    assert!(registers.list(&rig.key("nothing/")).await.expect("an empty LIST").is_empty());
}

async fn one_of_many_swaps_lands(rig: &Rig, contenders: usize) {
    let registers = rig.store.leases.clone();
    let key = rig.key("race");
    let mut base: Option<Version> = None;
    for round in 0..5 {
        let swaps = (0..contenders).map(|i| {
            let (registers, key, base) = (registers.clone(), key.clone(), base.clone());
            tokio::spawn(async move {
                registers.swap(&key, base.as_ref(), format!("{round}.{i}").into()).await
            })
        });
        let answers = futures::future::join_all(swaps).await;
        let landed: Vec<Version> = answers
            .into_iter()
            .filter_map(|answer| match answer.expect("no panic") {
                Outcome::Landed(version) => Some(version),
                Outcome::Refused => None,
                Outcome::Unknown(e) => panic!("no fault, but unknown: {e:?}"),
            })
            .collect();
        assert_eq!(landed.len(), 1, "round {round}");
        assert_eq!(present(&*registers, &key).await.version, landed[0]);
        base = landed.into_iter().next();
    }
}

async fn blobs_keep_their_contract(rig: &Rig) {
    let blobs: &dyn Blobs = &*rig.store.blobs;
    let key = rig.key("data/0000000001");
    assert!(matches!(blobs.read(&key, None).await, Ok(None)));
    let pieces: Payload =
        [&b"hello, "[..], b"", b"world"].map(Bytes::from_static).into_iter().collect();
    assert!(matches!(blobs.create(&key, pieces).await, Outcome::Landed(_)));
    assert!(matches!(blobs.create(&key, "other".into()).await, Outcome::Refused));
    let read = async |range| blobs.read(&key, range).await.expect("a GET is answered");
    assert_eq!(read(None).await.as_deref(), Some(&b"hello, world"[..]));
    assert_eq!(read(Some(0..5)).await.as_deref(), Some(&b"hello"[..]));
    assert_eq!(read(Some(7..1_000)).await.as_deref(), Some(&b"world"[..]));
    let outside = blobs.read(&key, Some(12..13)).await.expect_err("it begins outside");
    assert_eq!(outside.status(), Status::InvalidArgument, "{outside:?}");
    for seq in [2, 3, 10, 11, 12, 30] {
        let key = rig.key(&format!("data/{seq:010}"));
        assert!(matches!(blobs.create(&key, "x".into()).await, Outcome::Landed(_)));
    }
    let rows = blobs.list(&rig.key("data/"), None).await.expect("a LIST is answered");
    let told: Vec<String> = rows.into_iter().map(|row| row.key).collect();
    let expected = |seqs: &[u64]| -> Vec<String> {
        seqs.iter().map(|seq| rig.key(&format!("data/{seq:010}"))).collect()
    };
    assert_eq!(told, expected(&[1, 2, 3, 10, 11, 12, 30]));
    let from = rig.key("data/0000000011");
    let rows = blobs.list(&rig.key("data/"), Some(&from)).await.expect("a LIST is answered");
    let told: Vec<String> = rows.into_iter().map(|row| row.key).collect();
    assert_eq!(told, expected(&[11, 12, 30]));
}

async fn a_store_keeps_its_contract(rig: &Rig) {
    registers_keep_their_contract(rig).await;
    registers_are_listed_once_and_in_order(rig).await;
    one_of_many_swaps_lands(rig, 8).await;
    blobs_keep_their_contract(rig).await;
}

fn open(url: &str) -> Store {
    Store::open(url, &Config::default()).expect("the URL opens")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_keeps_the_contract() {
    let rig = Rig { store: open("memory://contract"), root: "a".into() };
    a_store_keeps_its_contract(&rig).await;
}

#[tokio::test]
async fn two_clients_of_one_memory_url_share_a_store() {
    let (one, two) = (open("memory://shared"), open("memory://shared"));
    let other = open("memory://other");
    land(&*one.leases, "k", None, "v").await;
    refuse(&*two.leases, "k", None, "w").await;
    assert!(matches!(other.leases.read("k", None).await, Ok(Read::Absent)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_keeps_the_contract() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let base = dir.path().join("not yet/made");
    let url = format!("file://{}", base.display()).replace(' ', "%20");
    let store = open(&url);
    assert!(!base.exists(), "opening writes nothing");
    a_store_keeps_its_contract(&Rig { store, root: "a".into() }).await;
}

#[tokio::test(start_paused = true)]
async fn the_simulator_keeps_the_contract() {
    let store = SimStore::new(SimClock::new()).store();
    a_store_keeps_its_contract(&Rig { store, root: "a".into() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_keeps_the_contract() {
    let Ok(url) = std::env::var("TENURE_TEST_URL") else { return };
    let mut config = Config::default();
    for option in std::env::var("TENURE_TEST_STORE").unwrap_or_default().split(',') {
        if let Some((key, value)) = option.split_once('=') {
            config.set(&format!("store.{key}"), value).expect("an option");
        }
    }
    let store = Store::open(&url, &config).expect("the URL opens");
    let unique = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_nanos();
    a_store_keeps_its_contract(&Rig { store, root: format!("contract/{unique}") }).await;
}

#[test]
fn bad_urls_are_refused_with_what_was_expected() {
    let cases = [
        ("", "no scheme"),
        ("/tmp/x", "no scheme"),
        ("http://host/x", "unknown scheme \"http\": expected memory://, file:///dir, s3://"),
        ("S3://bucket", "unknown scheme"),
        ("file://relative/dir", "relative"),
        ("file://", "relative"),
        ("file:///a?b", "%3F"),
        ("file:///a/../b", "'..'"),
        ("file:///a%00b", "zero byte"),
        ("file:///a%FFb", "UTF-8"),
        ("s3:///path", "no bucket"),
        ("s3://user:hunter22@bucket/x", "carries credentials"),
        ("s3://user@bucket/x", "carries credentials"),
        ("az://container/x?sig=hunter22", "carries a query"),
        ("gs://bucket/a//b", "not a key"),
    ];
    for (url, expected) in cases {
        let error = Store::open(url, &Config::default()).expect_err(url);
        assert_eq!(error.status(), Status::InvalidArgument, "{url}");
        let told = format!("{error:?}");
        assert!(told.contains(expected), "{url}: {told:?} should tell {expected:?}");
        assert!(!told.contains("hunter22"), "{url}: {told}");
    }
}

#[test]
fn an_unknown_store_option_is_refused_by_name_without_its_value() {
    let mut config = Config::default();
    config.set("store.aws_secret_acess_key", "hunter22").expect("any store option is taken");
    let error = Store::open("s3://bucket", &config).expect_err("misspelt");
    assert_eq!(error.status(), Status::InvalidArgument);
    assert_eq!(error.message(), "store.aws_secret_acess_key: not an option of s3://");
    assert!(!format!("{error:?}").contains("hunter22"));
}

#[tokio::test]
async fn a_key_that_leaves_the_base_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = open(&format!("file://{}", dir.path().display()));
    for key in ["../x", "a//b", "/a", "a/.", ""] {
        let error = store.leases.read(key, None).await.expect_err(key);
        assert_eq!(error.status(), Status::InvalidArgument, "{key}");
        assert!(matches!(store.blobs.create(key, "x".into()).await, Outcome::Unknown(_)), "{key}");
    }
    assert!(store.leases.list("no-slash").await.is_err());
}

#[tokio::test]
async fn a_base_that_is_no_directory_is_told_as_such() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let store = open(&format!("file://{}", file.path().display()));
    let Outcome::Unknown(error) = store.leases.swap("k", None, "v".into()).await else {
        panic!("nothing can land in a file");
    };
    assert_eq!(error.status(), Status::BucketNotFound, "{error:?}");
    let Outcome::Unknown(error) = store.blobs.create("k", "v".into()).await else {
        panic!("nothing can land in a file");
    };
    assert_eq!(error.status(), Status::BucketNotFound, "{error:?}");
}

/// The traits are object-safe and shareable: `Store` can be cloned into tasks.
#[test]
fn a_store_can_be_shared() {
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    shared(&open("memory://"));
    let _: Arc<dyn Registers> = open("memory://").leases;
}
