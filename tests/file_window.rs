//! The pure window and the pure machines, step by step.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

use bytes::Bytes;
use proptest::prelude::*;
use tenure::base::{Epoch, Id128, Mutant, Protection, Status, Version, WriterId};
use tenure::decide::Answer;
use tenure::decide::opening::{Ask, Heard, Mode, Opened, Opening};
use tenure::decide::tail::{self, Walk};
use tenure::decide::window::Window;
use tenure::wire::segment::object_size;

const PACKET: usize = 64 << 10;

fn packet(byte: u8, len: usize) -> Bytes {
    Bytes::from(vec![byte; len])
}

fn window(segment_max: usize, in_flight: usize) -> Window {
    Window::new(100, segment_max, in_flight, Mutant::default())
}

#[test]
fn an_idle_window_sends_what_it_has_at_once() {
    let mut w = window(4 << 20, 8);
    assert!(w.take().is_none());
    w.push(packet(1, 10));
    let sent = w.take().unwrap();
    assert_eq!((sent.seq, sent.offset, sent.len), (0, 100, 10));
}

#[test]
fn while_a_segment_is_out_small_bytes_collect_until_somebody_waits_for_them() {
    let mut w = window(4 << 20, 8);
    w.push(packet(1, 10));
    assert!(w.take().is_some());
    w.push(packet(2, 20));
    assert!(w.take().is_none(), "20 bytes are not worth a request of their own");
    w.flush_to(130);
    assert_eq!(w.take().unwrap().len, 20);
}

#[test]
fn a_backlog_doubles_the_segments_up_to_the_largest() {
    let mut w = window(16 * PACKET, 64);
    (0..200).for_each(|_| w.push(packet(0, PACKET)));
    w.flush_to(100 + 200 * PACKET as u64);
    let sizes: Vec<u64> = std::iter::from_fn(|| w.take()).map(|s| s.len).collect();
    assert!(sizes.iter().all(|s| *s <= 16 * PACKET as u64));
    assert_eq!(sizes.iter().sum::<u64>(), 200 * PACKET as u64);
    assert!(sizes.len() <= 18, "{sizes:?}");
}

#[test]
fn no_more_than_in_flight_are_unacked() {
    let mut w = window(PACKET, 3);
    (0..10).for_each(|_| w.push(packet(0, PACKET)));
    assert_eq!(std::iter::from_fn(|| w.take()).count(), 3);
    assert!(w.landed(2).is_empty());
    assert!(w.take().is_none(), "a hole holds its place");
    assert_eq!(w.landed(0).len(), 1);
    assert!(w.take().is_some());
}

#[test]
fn an_ack_waits_for_every_segment_before_it() {
    let check = |mutant: Mutant| {
        let mut w = Window::new(0, PACKET, 8, mutant);
        (0..3).for_each(|_| w.push(packet(0, PACKET)));
        while w.take().is_some() {}
        w.landed(2);
        w.landed(1);
        let behind_a_hole = w.acked();
        w.landed(0);
        (behind_a_hole, w.acked())
    };
    assert_eq!(check(Mutant::default()), (0, 3 * PACKET as u64));
    assert_ne!(check(Mutant::without(Protection::OrderedAck)).0, 0, "the mutant fails here");
}

proptest! {
    #[test]
    fn what_goes_in_comes_out_once_in_order(
        steps in prop::collection::vec((0..5_u8, 1..PACKET), 1..200),
        in_flight in 1..8_usize,
        segments in 1..8_usize,
    ) {
        let mut w = window(segments * PACKET, in_flight);
        let (mut written, mut sent) = (Vec::new(), Vec::new());
        let mut out = Vec::new();
        let mut acked = w.acked();
        for (i, (kind, n)) in steps.iter().enumerate() {
            match kind {
                0 | 1 => {
                    let bytes = packet(i as u8, *n);
                    written.extend_from_slice(&bytes);
                    w.push(bytes);
                }
                2 => w.flush_to(100 + written.len() as u64),
                3 => if let Some(s) = w.take() {
                    prop_assert_eq!(s.offset, 100 + sent.len() as u64);
                    prop_assert!(s.len as usize <= segments * PACKET);
                    s.packets.iter().for_each(|p| sent.extend_from_slice(p));
                    out.push(s.seq);
                },
                _ => if !out.is_empty() {
                    let seq = out.swap_remove(n % out.len());
                    w.landed(seq);
                },
            }
            prop_assert!(w.acked() >= acked && w.acked() <= 100 + sent.len() as u64);
            acked = w.acked();
        }
        w.flush_to(100 + written.len() as u64);
        loop {
            while let Some(s) = w.take() {
                s.packets.iter().for_each(|p| sent.extend_from_slice(p));
                out.push(s.seq);
            }
            match out.pop() {
                Some(seq) => drop(w.landed(seq)),
                None => break,
            }
        }
        prop_assert!(w.is_empty());
        prop_assert!(sent == written);
        prop_assert_eq!(w.acked(), 100 + written.len() as u64);
    }
}

fn dir() -> WriterId {
    WriterId { epoch: Epoch(1), open: 0 }
}

fn rows(of: &[(u64, u64)]) -> tail::Heard {
    tail::Heard::Rows(of.to_vec())
}

#[test]
fn an_empty_directory_is_sealed_at_its_base() {
    let mut walk = Walk::new(dir(), 4, Mutant::default());
    assert_eq!(walk.begin(), tail::Ask::List { dir: dir(), from: 4 });
    assert_eq!(walk.hear(rows(&[])).unwrap(), tail::Ask::Seal { dir: dir(), seq: 4 });
    assert_eq!(walk.hear(tail::Heard::Sealed(Answer::Landed)).unwrap(), tail::Ask::Done);
    assert_eq!((walk.count(), walk.bytes()), (0, 0));
}

#[test]
fn an_existing_seal_is_used_again() {
    let mut walk = Walk::new(dir(), 0, Mutant::default());
    let listed = rows(&[(0, object_size(9)), (1, 64), (2, object_size(5))]);
    assert_eq!(walk.hear(listed).unwrap(), tail::Ask::Done);
    assert_eq!((walk.count(), walk.bytes()), (1, 9));
}

#[test]
fn a_hole_is_sealed_whatever_lies_behind_it() {
    let mut walk = Walk::new(dir(), 0, Mutant::default());
    let listed = rows(&[(0, object_size(9)), (2, object_size(5))]);
    assert_eq!(walk.hear(listed).unwrap(), tail::Ask::Seal { dir: dir(), seq: 1 });
}

#[test]
fn a_raced_position_costs_a_put_and_a_get_and_one_list_at_the_end() {
    let mut walk = Walk::new(dir(), 0, Mutant::default());
    let ask = |seq| tail::Ask::Seal { dir: dir(), seq };
    assert_eq!(walk.hear(rows(&[])).unwrap(), ask(0));
    for seq in 0..2 {
        let look = walk.hear(tail::Heard::Sealed(Answer::Refused)).unwrap();
        assert_eq!(look, tail::Ask::Look { dir: dir(), seq });
        assert_eq!(walk.hear(tail::Heard::LookedAt { size: 69 }).unwrap(), ask(seq + 1));
    }
    assert_eq!(walk.hear(tail::Heard::Sealed(Answer::Unknown)).unwrap(), ask(2), "the same again");
    assert!(matches!(walk.hear(tail::Heard::Sealed(Answer::Refused)), Ok(tail::Ask::Look { .. })));
    let again = walk.hear(tail::Heard::LookedAt { size: 64 }).unwrap();
    assert_eq!(again, tail::Ask::List { dir: dir(), from: 0 });
    let listed = rows(&[(0, object_size(3)), (1, object_size(4)), (2, 64), (3, object_size(9))]);
    assert_eq!(walk.hear(listed).unwrap(), tail::Ask::Done);
    assert_eq!((walk.count(), walk.bytes()), (2, 7));
}

#[test]
fn a_list_that_keeps_hiding_objects_is_given_up() {
    let mut walk = Walk::new(dir(), 0, Mutant::default());
    walk.hear(rows(&[])).unwrap();
    walk.hear(tail::Heard::Sealed(Answer::Refused)).unwrap();
    walk.hear(tail::Heard::LookedAt { size: 69 }).unwrap();
    walk.hear(tail::Heard::Sealed(Answer::Landed)).unwrap();
    let end = (0..100).find_map(|_| walk.hear(rows(&[])).err()).expect("bounded");
    assert_eq!(end.status(), Status::StoreUnsupported);
}

fn opening(mode: Mode, epoch: u64) -> Opening {
    let (me, file) = (Id128(0xaa), Id128(0xf1));
    Opening::new("a", mode, Epoch(epoch), me, file, Mutant::default())
}

fn swap_of(ask: Ask) -> tenure::wire::manifest::Manifest {
    match ask {
        Ask::Swap { manifest, .. } => *manifest,
        other => panic!("expected a swap, got {other:?}"),
    }
}

#[test]
fn a_create_over_nothing_is_one_swap() {
    let mut open = opening(Mode::Create { overwrite: false }, 7);
    let ask = open.hear(Heard::Manifest(None)).unwrap();
    assert!(matches!(&ask, Ask::Swap { expect: None, begins: true, .. }));
    let manifest = swap_of(ask);
    assert_eq!(manifest.contradiction(), None);
    assert_eq!((manifest.incarnation, manifest.epoch, manifest.open), (1, Epoch(7), 0));
    let done = open.hear(Heard::Swapped(Answer::Landed)).unwrap();
    assert!(matches!(done, Ask::Done(opened) if matches!(*opened, Opened::Writing(_))));
}

#[test]
fn the_last_open_number_of_an_epoch_raises_the_epoch() {
    let mut open = opening(Mode::Create { overwrite: false }, 7);
    let mut manifest = swap_of(open.hear(Heard::Manifest(None)).unwrap());
    manifest.open = WriterId::MAX_OPEN;
    manifest.tail.as_mut().unwrap().dir.open = WriterId::MAX_OPEN;
    let mut next = opening(Mode::Append, 7);
    let found = Heard::Manifest(Some((manifest, Version::default())));
    assert_eq!(next.hear(found).unwrap(), Ask::Raise(Epoch(8)));
    assert!(matches!(next.hear(Heard::Raised(Epoch(8))).unwrap(), Ask::Tail(..)));
}

#[test]
fn an_epoch_at_the_cap_is_corrupt_not_wrapped() {
    let mut open = opening(Mode::Create { overwrite: false }, Epoch::MAX.0);
    let manifest = swap_of(open.hear(Heard::Manifest(None)).unwrap());
    let mut next = opening(Mode::Append, 7);
    let error = next.hear(Heard::Manifest(Some((manifest, Version::default())))).unwrap_err();
    assert_eq!((error.status(), error.resource()), (Status::Corrupt, Some("a")));
}
