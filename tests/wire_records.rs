//! Lease, session and notice records, and the keys they live under (PROTOCOL §2): what is kept,
//! what is refused, and vectors that must never change, because objects with these names exist.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

use proptest::prelude::*;
use serde_json::{Value, json};
use tenure::base::{Epoch, FilePath, Id128, Resource, WriterId};
use tenure::wire::key;
use tenure::wire::lease::{How, LeaseRecord, LeaseState, MAX_PAST, Past};
use tenure::wire::notice::{Entry, MAX_ENTRIES, Notice};
use tenure::wire::session::{SessionRecord, SessionState};
use tenure::{Error, Kind, Status};

const KEY: &str = "_tenure/v1/leases/lease/r";
const ID: &str = "0000000000000000000000000000002a";

fn lease() -> Value {
    json!({
        "v": 1, "kind": "lease", "resource": "r", "epoch": 7, "touch": 2, "state": "held",
        "sid": ID, "node": "n", "soft_ms": 10_000, "hard_ms": 600_000, "nonce": ID,
        "how": "handed_over"
    })
}

fn session() -> Value {
    json!({
        "v": 1, "sid": ID, "node": "n", "soft_ms": 10_000, "hard_ms": 600_000, "beat": 3,
        "nonce": ID, "state": "live", "started_at": 5
    })
}

fn notice() -> Value {
    json!({ "v": 1, "nonce": ID })
}

/// A record of each kind: its sample and a reader that writes it again.
type Rewrite = fn(&[u8]) -> Result<Vec<u8>, Error>;
fn records() -> [(Value, Rewrite); 3] {
    [
        (lease(), |b| LeaseRecord::decode(KEY, b).map(|r| r.encode().to_vec())),
        (session(), |b| SessionRecord::decode(KEY, b).map(|r| r.encode().to_vec())),
        (notice(), |b| Notice::decode(KEY, b).map(|r| r.encode().to_vec())),
    ]
}

fn why(result: Result<Vec<u8>, Error>, status: Status) -> String {
    let why = result.unwrap_err();
    assert_eq!(why.status(), status, "{why}");
    assert!(why.to_string().contains(KEY), "the object is named: {why}");
    why.to_string()
}

#[test]
fn unknown_fields_survive_a_rewrite() {
    for (mut sample, rewrite) in records() {
        sample["a_later_field"] = json!({ "deep": [1, 2.5, "three", null] });
        let again: Value =
            serde_json::from_slice(&rewrite(sample.to_string().as_bytes()).unwrap()).unwrap();
        for (field, value) in sample.as_object().unwrap() {
            assert_eq!(&again[field], value, "{field} of {sample}");
        }
    }
}

#[test]
fn a_newer_version_is_refused_with_both_versions_even_if_it_looks_different() {
    for (mut sample, rewrite) in records() {
        sample["v"] = json!(2);
        let told = why(rewrite(sample.to_string().as_bytes()), Status::Unsupported);
        assert!(told.contains("v2") && told.contains("v1"), "{told}");
        let other = json!({ "v": 9, "all": "different" }).to_string();
        why(rewrite(other.as_bytes()), Status::Unsupported);
    }
}

#[test]
fn a_record_that_does_not_parse_is_corrupt_with_its_key() {
    for (sample, rewrite) in records() {
        for bad in ["", "{", "[]", "null", "7", "\0\0\0\0", "{}", "{\"v\":\"1\"}"] {
            why(rewrite(bad.as_bytes()), Status::Corrupt);
        }
        let text = sample.to_string();
        for cut in 0..text.len() {
            why(rewrite(&text.as_bytes()[..cut]), Status::Corrupt);
        }
        for field in ["nonce", "v"] {
            let mut lacking = sample.clone();
            lacking.as_object_mut().unwrap().remove(field);
            why(rewrite(lacking.to_string().as_bytes()), Status::Corrupt);
        }
    }
}

#[test]
fn a_lease_record_out_of_its_ranges_is_corrupt() {
    for (field, value) in [
        ("epoch", json!(Epoch::MAX.0 + 1)),
        ("epoch", json!(-1)),
        ("epoch", json!(1.5)),
        ("soft_ms", json!(0)),
        ("hard_ms", json!(9_999)),
        ("state", json!("maybe")),
        ("how", json!("magic")),
        ("sid", json!("2A")),
    ] {
        let mut bad = lease();
        bad[field] = value.clone();
        let result = LeaseRecord::decode(KEY, bad.to_string().as_bytes());
        assert_eq!(result.unwrap_err().status(), Status::Corrupt, "{field} = {value}");
    }
}

#[test]
fn a_record_of_another_resource_is_told_apart() {
    let record = LeaseRecord::decode(KEY, lease().to_string().as_bytes()).unwrap();
    assert!(record.is_about(&Resource::new(Kind::Lease, "r").unwrap()));
    assert!(!record.is_about(&Resource::new(Kind::File, "r").unwrap()));
    assert!(!record.is_about(&Resource::new(Kind::Lease, "r/2").unwrap()));
    assert!(record.names(Id128(42), Epoch(7)) && !record.names(Id128(42), Epoch(8)));
}

#[test]
fn the_last_sixteen_holders_are_kept_newest_first() {
    let mut record = LeaseRecord::decode(KEY, lease().to_string().as_bytes()).unwrap();
    for n in 0..40 {
        record.past = record.past_with_this();
        record.epoch = Epoch(8 + n);
    }
    assert_eq!(record.past.len(), MAX_PAST);
    let epochs: Vec<u64> = record.past.iter().map(|p| p.epoch.0).collect();
    assert_eq!(epochs, (31..47).rev().collect::<Vec<_>>());
    let Past { ref node, how, .. } = record.past[0];
    assert_eq!((node.as_str(), how), ("n", How::HandedOver));
}

#[test]
fn words_in_records_never_change() {
    let record = LeaseRecord::decode(KEY, lease().to_string().as_bytes()).unwrap();
    assert_eq!(record.state, LeaseState::Held);
    for (how, word) in [
        (How::Fresh, "fresh"),
        (How::Reacquired, "reacquired"),
        (How::Preempted, "preempted"),
        (How::Recovered, "recovered"),
        (How::HandedOver, "handed_over"),
        (How::Forced, "forced"),
    ] {
        assert_eq!(serde_json::to_value(how).unwrap(), word);
        assert_eq!(how.as_str(), word);
    }
    assert_eq!(serde_json::to_value(LeaseState::Released).unwrap(), "released");
    assert_eq!(serde_json::to_value(SessionState::Ended).unwrap(), "ended");
}

fn resource(name: &str) -> Resource {
    Resource::new(Kind::Lease, name).unwrap()
}

#[test]
fn a_notice_keeps_what_it_finds_and_sets_all_instead_of_a_65th_entry() {
    let wanted = vec![Entry { kind: "lease".into(), resource: "w".into(), epoch: Epoch(1) }];
    let mut notice = Notice { wanted: wanted.clone(), ..Notice::default() };
    for n in 0..MAX_ENTRIES as u64 {
        notice = notice.with_eviction(&resource(&format!("r{n}")), Epoch(9), Id128(n.into()));
        assert_eq!(notice.nonce, Id128(n.into()), "a fresh nonce in every write");
    }
    assert_eq!((notice.evicted.len(), notice.all), (MAX_ENTRIES, false));
    assert!(!notice.evicts(&resource("other"), Epoch(1)));
    let full = notice.clone().with_eviction(&resource("r63"), Epoch(10), Id128(1_000));
    assert_eq!((full.evicted.len(), full.all), (MAX_ENTRIES, false), "one it knows needs no room");
    let full = full.with_eviction(&resource("r64"), Epoch(9), Id128(1_001));
    assert_eq!((full.evicted.len(), full.all), (MAX_ENTRIES, true));
    assert!(full.evicts(&resource("other"), Epoch(1)), "every lease is to be proved again");
    assert_eq!(full.wanted, wanted);
}

#[test]
fn an_eviction_concerns_older_epochs_of_that_resource_only() {
    let notice = Notice::default().with_eviction(&resource("r"), Epoch(5), Id128(1));
    assert!(notice.evicts(&resource("r"), Epoch(4)));
    assert!(!notice.evicts(&resource("r"), Epoch(5)), "held at that epoch: acquired since");
    assert!(!notice.evicts(&resource("r2"), Epoch(4)));
    assert!(!notice.evicts(&Resource::new(Kind::Cell, "r").unwrap(), Epoch(4)));
    let older = notice.with_eviction(&resource("r"), Epoch(3), Id128(2));
    assert_eq!(older.evicted[0].epoch, Epoch(5), "an epoch only grows");
}

#[test]
fn keys_of_records_never_change() {
    assert_eq!(key::session(Id128(42)), format!("_tenure/v1/sessions/{ID}"));
    assert_eq!(key::notices(Id128(42)), format!("_tenure/v1/notices/{ID}"));
    assert_eq!(key::store_report(), "_tenure/v1/store.json");
    for (kind, name, key) in [
        (Kind::Lease, "orders/0", "_tenure/v1/leases/lease/orders%2F0"),
        (Kind::File, "a b.c-d_e", "_tenure/v1/leases/file/a%20b.c-d_e"),
        (Kind::Cell, "ä%", "_tenure/v1/leases/cell/%C3%A4%25"),
    ] {
        assert_eq!(key::lease(&Resource::new(kind, name).unwrap()), key);
    }
    let writer = WriterId { epoch: Epoch(7), open: 2 };
    assert_eq!(
        key::segment_at(Id128(42), writer, 3),
        format!("data/{ID}/00000000000000000007.0002/0000000003")
    );
}

#[test]
fn a_long_name_becomes_its_first_hundred_bytes_and_a_hash() {
    let folders = format!("a/{}/{}", "ä".repeat(20), "x".repeat(100));
    assert_eq!(
        key::lease(&resource(&folders)),
        format!(
            "_tenure/v1/leases/lease/a%2F{}-sha256-{}",
            "%C3%A4".repeat(16),
            "e037bd817ac8d53f435c88671767d92dff92eca2db87f99087bb0f56039e3df6"
        )
    );
    // An escape is not cut in the middle.
    let split = format!("{}é/{}", "x".repeat(99), "y".repeat(90));
    assert_eq!(
        key::lease(&resource(&split)),
        format!(
            "_tenure/v1/leases/lease/{}-sha256-{}",
            "x".repeat(99),
            "e673d5edc0f3a3d692524d8548eac80e9db51702534c9c7c6dba1587d396ff84"
        )
    );
    let (a, b) = (format!("{folders}1"), format!("{folders}2"));
    assert_ne!(key::lease(&resource(&a)), key::lease(&resource(&b)));
}

#[test]
fn a_file_and_a_folder_of_one_name_never_meet() {
    for (path, key) in [
        ("a", "files/a.file"),
        ("a/b", "files/a/b.file"),
        ("a.file/b", "files/a%2Efile/b.file"),
        ("a.file", "files/a%2Efile.file"),
        ("logs/2026 05/ä", "files/logs/2026%2005/%C3%A4.file"),
    ] {
        let path = FilePath::new(path).unwrap();
        assert_eq!(key::manifest(&path), key);
        assert_eq!(key::manifest_path(key), Some(path));
    }
    for foreign in ["files/a", "a.file", "files/../x.file", "files/%FF.file", "files/.file"] {
        assert_eq!(key::manifest_path(foreign), None, "{foreign}");
    }
}

proptest! {
    #[test]
    fn no_two_paths_share_a_key_or_nest(
        a in "[a.%/e-il]{1,12}(\\.file)?", b in "[a.%/e-il]{1,12}(\\.file)?"
    ) {
        if let (Ok(a), Ok(b)) = (FilePath::new(&a), FilePath::new(&b)) {
            let (ka, kb) = (key::manifest(&a), key::manifest(&b));
            prop_assert_eq!(a == b, ka == kb);
            // No manifest lies where another one needs a folder.
            let folder = format!("{}/", kb);
            prop_assert!(!ka.starts_with(&folder), "{} in {}", ka, kb);
            prop_assert_eq!(key::manifest_path(&ka), Some(a));
        }
    }

    #[test]
    fn decoding_noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..200)) {
        for (_, rewrite) in records() {
            let _ = rewrite(&noise);
        }
    }
}
