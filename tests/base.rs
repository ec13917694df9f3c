//! The words: names that parse or refuse, the table of configuration keys, limits, epochs, the
//! event queue. Every rule of "bad input" that needs no store, as a sentence.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

use proptest::prelude::*;
use std::time::Duration;
use tenure::base::name::{FilePath, Resource, check_node, encode};
use tenure::base::{Epoch, Event, EventKind, Id128, Limits, Protection, WriterId};
use tenure::drive::events::{CAPACITY, Events};
use tenure::{Config, Error, Kind, Status};

fn refused<T>(result: Result<T, Error>) -> String {
    let Err(why) = result else { panic!("accepted") };
    assert_eq!(why.status(), Status::InvalidArgument);
    why.message().to_owned()
}

fn set(key: &str, value: &str) -> Result<Config, Error> {
    let mut config = Config::default();
    config.set(key, value).and_then(|()| config.check()).map(|()| config)
}

#[test]
fn a_bad_path_is_refused_with_its_offending_part() {
    let wide = "w".repeat(181);
    let dear = "ö".repeat(31); // 186 bytes once encoded, 62 before
    let long = "a/".repeat(512) + "b";
    for (path, part) in [
        ("", "it is empty"),
        ("/etc/passwd", "starts with a slash"),
        ("a//b", "segment 2 is empty"),
        ("a/b/", "segment 3 is empty"),
        ("a/./b", "segment 2 is \".\""),
        ("a/b/..", "segment 3 is \"..\""),
        ("..", "segment 1 is \"..\""),
        (long.as_str(), "1025 bytes, expected at most 1024"),
        (wide.as_str(), "segment 1 \"www"),
        (wide.as_str(), "takes 181 encoded bytes; at most 180 fit"),
        (dear.as_str(), "takes 186 encoded bytes; at most 180 fit"),
    ] {
        for message in [refused(FilePath::new(path)), refused(Resource::new(Kind::Lease, path))] {
            assert!(message.contains(part), "{path:?}: {message}");
            assert!(message.len() < 400, "a long name is shortened: {message}");
        }
    }
}

#[test]
fn a_path_at_its_limits_is_taken() {
    let segment = "w".repeat(180);
    let long = "a/".repeat(511) + "bc";
    for path in ["a", "...", "a/..b", ".hidden", "ä/ö ü", "a.file/b", &segment, &long] {
        assert_eq!(FilePath::new(path).unwrap().as_str(), path);
    }
    assert_eq!(long.len(), 1_024);
}

#[test]
fn names_of_the_librarys_own_are_refused_to_users() {
    let message = refused(Resource::new(Kind::Lease, "_tenure.monitor"));
    assert!(message.contains("reserved _tenure"), "{message}");
    assert!(Resource::new(Kind::Lease, "my_tenure").is_ok());
}

#[test]
fn a_node_name_is_letters_digits_and_three_marks() {
    for good in ["a", "rack-7.host_2", &"n".repeat(180)] {
        check_node(good).unwrap();
    }
    for bad in ["", ".", "..", "a b", "a/b", "ä", &"n".repeat(181)] {
        assert!(refused(check_node(bad)).contains("letters, digits"), "{bad:?}");
    }
}

#[test]
fn every_key_refuses_a_bad_value_with_key_value_and_range() {
    let table = [
        ("limits", "slow", "default, fast or hdfs3"),
        ("soft_ms", "999", "1000 to 604800000"),
        ("soft_ms", "604800001", "1000 to 604800000"),
        ("soft_ms", "1m", "1000 to 604800000"),
        ("hard_ms", "1999", "2000 to 6048000000"),
        ("hard_ms", "6048000001", "2000 to 6048000000"),
        ("renew_ms", "99", "100 to 302400000"),
        ("node", "a b", "1 to 180 letters, digits, '_', '.' or '-'"),
        ("in_flight", "0", "1 to 64"),
        ("in_flight", "65", "1 to 64"),
        ("segment_max", "65535", "65536 to 67108864"),
        ("segment_max", "67108865", "65536 to 67108864"),
        ("max_packets", "1", "2 to 65536"),
        ("max_packets", "65537", "2 to 65536"),
        ("memory_budget", "1048575", "at least 1048576"),
        ("request_timeout_ms", "99", "100 to 600000"),
        ("request_timeout_ms", "600001", "100 to 600000"),
        ("ack_timeout_ms", "999", "1000 to 3600000"),
        ("ack_timeout_ms", "3600001", "1000 to 3600000"),
        ("data_workers", "1", "2 to 256"),
        ("data_workers", "257", "2 to 256"),
        ("fsync", "yes", "true or false"),
    ];
    for (key, value, range) in table {
        let message = refused(set(key, value));
        for part in [key, value, range] {
            assert!(message.contains(part), "{key}={value}: {message:?} lacks {part:?}");
        }
    }
    for (key, _) in Config::KEYS.iter().filter(|(k, _)| *k != "store.*") {
        assert!(table.iter().any(|(k, _, _)| k == key), "{key} is not in this table");
        for noise in ["", "\u{221e}", "-1", "18446744073709551616"] {
            // A node may be called by a number.
            if *key != "node" || !noise.is_ascii() || noise.is_empty() {
                refused(set(key, noise));
            }
        }
    }
}

#[test]
fn limits_that_cannot_work_together_are_refused_with_the_range_that_would() {
    let refused = |soft, hard, renew| {
        let ms = Duration::from_millis;
        refused(Limits { soft: ms(soft), hard: ms(hard), renew: ms(renew) }.check())
    };
    assert_eq!(refused(999, 9_000, 400), "soft_ms = 999 ms: expected 1000 to 604800000 ms");
    let hard = refused(10_000, 19_999, 5_000);
    assert!(hard.starts_with("hard_ms = 19999 ms") && hard.contains("20000 ms"), "{hard}");
    let renew = refused(10_000, 20_000, 5_001);
    assert!(renew.starts_with("renew_ms = 5001 ms") && renew.contains("5000 ms"), "{renew}");
    for preset in [Limits::DEFAULT, Limits::FAST, Limits::HDFS3] {
        preset.check().unwrap();
    }
}

#[test]
fn an_unknown_key_is_told_with_the_known_ones_and_without_its_value() {
    let message = refused(set("sofft_ms", "s3cr3t"));
    assert!(message.contains("\"sofft_ms\"") && message.contains("soft_ms"), "{message}");
    assert!(!message.contains("s3cr3t"), "it may be a secret under a mistyped key: {message}");
    assert!(refused(set("store.", "x")).contains("unknown key"));
}

#[test]
fn defaults_are_the_documented_ones() {
    let config = Config::default();
    let book = include_str!("../docs/defaults.md");
    let told = [
        ("soft_ms", config.limits.soft.as_millis().to_string()),
        ("hard_ms", config.limits.hard.as_millis().to_string()),
        ("node", format!("`{}`", config.node)),
        ("in_flight", config.in_flight.to_string()),
        ("segment_max", config.segment_max.to_string()),
        ("memory_budget", config.memory_budget.to_string()),
        ("request_timeout_ms", config.request_timeout.as_millis().to_string()),
        ("ack_timeout_ms", config.ack_timeout.as_millis().to_string()),
        ("fsync", format!("`{}`", config.fsync)),
    ];
    for (key, default) in told {
        let row = format!("| `{key}` | {default} |");
        assert!(book.contains(&row), "docs/defaults.md lacks {row:?}");
    }
    for (key, _) in Config::KEYS {
        assert!(book.contains(&format!("| `{key}` |")), "docs/defaults.md lacks {key}");
    }
    assert_eq!(config.window(), ((8 * 4) << 20) + 80 * (64 << 10), "37 MiB");
    assert_eq!(set("max_packets", "80").unwrap().window(), 80 * (64 << 10));
}

#[test]
fn soft_moves_renew_and_a_later_renew_overrides() {
    let mut config = set("soft_ms", "20000").unwrap();
    assert_eq!(config.limits.renew, Duration::from_secs(10));
    config.set("renew_ms", "4000").unwrap();
    config.check().unwrap();
    assert_eq!(config.limits.renew, Duration::from_secs(4));
}

#[test]
fn options_of_the_store_are_kept_and_never_shown() {
    let config = set("store.aws_secret_access_key", "s3cr3t").unwrap();
    assert_eq!(config.store["aws_secret_access_key"], "s3cr3t");
    let shown = format!("{config:?}");
    assert!(shown.contains("aws_secret_access_key") && !shown.contains("s3cr3t"), "{shown}");
}

#[test]
fn five_tries_fit_whatever_the_soft_limit_and_the_guard_covers_the_store() {
    for soft_ms in [1_000, 2_000, 10_000, 60_000, 604_800_000] {
        let soft = Duration::from_millis(soft_ms);
        let limits = Limits { soft, hard: soft * 2, renew: soft / 2 };
        let try_ms = limits.attempt_timeout() + limits.retry_pause();
        assert!(try_ms * 5 <= soft - limits.renew, "{soft:?}");
        assert!(limits.attempt_timeout() <= Duration::from_secs(5));
    }
    let (second, half) = (Duration::from_secs(1), Duration::from_millis(500));
    assert_eq!(Limits::guard(Duration::from_secs(10), second, half), Duration::from_secs(3));
    assert_eq!(Limits::guard(Duration::from_secs(60), second, half), Duration::from_secs(6));
}

#[test]
fn an_epoch_ends_at_its_cap_and_never_wraps() {
    assert_eq!(Epoch(7).next(), Some(Epoch(8)));
    assert_eq!(Epoch::MAX.next(), None);
    assert!(Epoch::MAX.in_range() && !Epoch(Epoch::MAX.0 + 1).in_range());
    let exact = Epoch::MAX.0 as f64;
    assert_eq!(exact as u64, Epoch::MAX.0, "exact in every language's doubles");
}

#[test]
fn an_identity_is_32_lower_case_digits_and_nothing_else() {
    let id = Id128(0xfeed);
    assert_eq!(id.to_string(), "0000000000000000000000000000feed");
    assert_eq!(id.to_string().parse(), Ok(id));
    let upper = id.to_string().to_uppercase();
    for bad in ["", "feed", &upper, &id.to_string()[1..], "+000000000000000000000000000feed"] {
        assert!(bad.parse::<Id128>().is_err(), "{bad:?}");
    }
}

fn event(n: u64) -> Event {
    let (kind, resource) = (EventKind::LeaseGranted, "lease/r".to_owned());
    Event { kind, resource, epoch: Some(Epoch(n)), holder: None, message: String::new() }
}

fn readable(events: &Events) -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    use std::os::fd::BorrowedFd;
    // SAFETY: the descriptor is the queue's and lives as long as it.
    #[allow(unsafe_code)]
    let fd = unsafe { BorrowedFd::borrow_raw(events.descriptor()) };
    let mut wanted = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    poll(&mut wanted, Some(&rustix::time::Timespec::default())).unwrap() == 1
}

#[test]
fn a_full_event_queue_drops_the_oldest_and_says_how_many() {
    let events = Events::new();
    for n in 0..(CAPACITY as u64 + 3) {
        events.push(event(n));
    }
    let told = events.pop().unwrap();
    assert_eq!(told.kind, EventKind::Log);
    assert!(told.message.contains("3 older events were dropped"), "{}", told.message);
    for n in 3..(CAPACITY as u64 + 3) {
        assert_eq!(events.pop().unwrap().epoch, Some(Epoch(n)), "in order, none twice");
    }
    assert!(events.pop().is_none());
}

#[test]
fn the_descriptor_is_readable_until_the_queue_is_drained() {
    let events = Events::new();
    assert!(!readable(&events));
    events.push(event(1));
    events.push(event(2));
    assert!(readable(&events), "level-triggered");
    events.pop().unwrap();
    assert!(readable(&events), "one more waits");
    events.pop().unwrap();
    assert!(!readable(&events));
    events.push(event(3));
    assert!(readable(&events), "again");
}

/// The text of every Rust file below a folder of this package.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut todo = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path.display().to_string(), text));
        }
    }
    found
}

#[test]
fn every_protection_is_asked_for_by_the_code_and_taken_out_by_a_test() {
    let (code, tests) = (sources("src"), sources("tests"));
    for protection in Protection::ALL {
        let name = format!("Protection::{protection:?}");
        let named = |files: &[(String, String)]| {
            let whole = |text: &str| {
                text.match_indices(&name).any(|(at, _)| {
                    !text[at + name.len()..].starts_with(|c: char| c.is_alphanumeric())
                })
            };
            files.iter().any(|(_, text)| whole(text))
        };
        assert!(named(&code), "{name} protects nothing");
        assert!(named(&tests), "no test fails without {name}");
    }
}

proptest! {
    #[test]
    fn an_encoded_name_is_a_plain_key_and_decodes_to_itself(name in "\\PC{0,40}") {
        let encoded = encode(&name);
        prop_assert!(encoded.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.%".contains(&b)));
        let back = percent_encoding::percent_decode_str(&encoded).decode_utf8().unwrap();
        prop_assert_eq!(back, name);
    }

    #[test]
    fn directories_sort_as_their_writers_do(a in any::<(u32, u16)>(), b in any::<(u32, u16)>()) {
        let writer = |(epoch, open): (u32, u16)| WriterId {
            epoch: Epoch(u64::from(epoch)),
            open: u32::from(open) % (WriterId::MAX_OPEN + 1),
        };
        let (a, b) = (writer(a), writer(b));
        prop_assert_eq!(a.to_string().cmp(&b.to_string()), a.cmp(&b));
    }

    #[test]
    fn no_text_panics_a_name_and_what_is_taken_is_kept(text in "\\PC{0,60}|[./a]{0,20}") {
        if let Ok(path) = FilePath::new(&text) {
            prop_assert_eq!(path.as_str(), text.as_str());
            prop_assert!(text.split('/').all(|s| !matches!(s, "" | "." | "..")));
        }
    }
}
