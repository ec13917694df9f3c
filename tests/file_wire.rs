//! Segments and manifests as bytes (PROTOCOL §2).
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

use bytes::Bytes;
use proptest::prelude::*;
use tenure::base::{Epoch, Id128, Status, WriterId};
use tenure::wire::manifest::{Block, FileState, Manifest, Tail};
use tenure::wire::segment::{self, HEADER, Header, SegmentKind, SizeTells, UNIT};

const KEY: &str = "data/f/w/0000000003";

fn header(len: u64) -> Header {
    Header {
        kind: SegmentKind::Data,
        by: WriterId { epoch: Epoch(7), open: 2 },
        seq: 3,
        offset: 1_000,
        len,
        nonce: Id128(0xfeed),
    }
}

fn object(packets: &[Bytes]) -> Bytes {
    let len = packets.iter().map(|p| p.len() as u64).sum();
    Bytes::from(segment::encode(&header(len), packets).concat())
}

fn noise(len: usize) -> Bytes {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

#[test]
fn encoding_hands_the_packets_through_untouched() {
    let packets = [noise(UNIT as usize), noise(17)];
    let pieces = segment::encode(&header(UNIT + 17), &packets);
    assert_eq!(pieces.len(), 4, "header, two packets, checksums");
    for (piece, packet) in pieces[1..3].iter().zip(&packets) {
        assert_eq!(piece.as_ptr(), packet.as_ptr(), "a packet was copied");
    }
    assert_eq!((pieces[0].len(), pieces[3].len()), (HEADER, 8));
}

#[test]
fn every_flipped_byte_of_a_segment_is_noticed() {
    let sound = object(&[noise(1_000)]);
    for at in 0..sound.len() {
        let mut hurt = sound.to_vec();
        hurt[at] ^= 1;
        let error = segment::decode(&Bytes::from(hurt), KEY, true).unwrap_err();
        assert_eq!((error.status(), error.resource()), (Status::Corrupt, Some(KEY)), "byte {at}");
    }
}

#[test]
fn a_segment_cut_anywhere_is_noticed() {
    let sound = object(&[noise(300)]);
    for at in 0..sound.len() {
        let error = segment::decode(&sound.slice(..at), KEY, true).unwrap_err();
        assert_eq!(error.status(), Status::Corrupt, "cut at {at}");
    }
}

#[test]
fn a_newer_segment_version_is_refused_by_name() {
    let mut newer = header(1).encode();
    newer[4] = 2;
    let crc = segment::crc32c(&newer[..60]).to_le_bytes();
    newer[60..].copy_from_slice(&crc);
    let error = Header::decode(&newer, KEY).unwrap_err();
    assert_eq!((error.status(), error.resource()), (Status::Unsupported, Some(KEY)));
    assert!(error.message().contains('2'), "{error}");
}

#[test]
fn numbers_beyond_the_cap_are_corrupt() {
    let id = |epoch, open| WriterId { epoch: Epoch(epoch), open };
    for hurt in [
        Header { by: id(1 << 53, 0), ..header(1) },
        Header { by: id(1, 10_000), ..header(1) },
        Header { offset: 1 << 53, ..header(1) },
        Header { len: u64::MAX, ..header(1) },
    ] {
        assert_eq!(Header::decode(&hurt.encode(), KEY).unwrap_err().status(), Status::Corrupt);
    }
}

#[test]
fn the_checksum_is_castagnoli() {
    // RFC 3720, B.4.
    assert_eq!(segment::crc32c(&[0; 32]), 0x8a91_36aa);
    assert_eq!(segment::crc32c(b"123456789"), 0xe306_9283);
}

#[test]
fn a_seal_is_exactly_a_header_and_no_data_is_that_small() {
    let seal = segment::seal(WriterId::default(), Id128(1), 5, 0);
    assert_eq!(seal.len(), 64);
    assert_eq!(Header::decode(&seal, KEY).unwrap().kind, SegmentKind::Seal);
    assert_eq!(segment::told_by_size(64), Some(SizeTells::Seal));
    assert_eq!(object(&[noise(1)]).len(), 69);
    for impossible in (0..64).chain(65..69) {
        assert_eq!(segment::told_by_size(impossible), None, "{impossible}");
    }
    let full = segment::object_size(UNIT);
    assert_eq!(segment::told_by_size(full), Some(SizeTells::Data(UNIT)));
    for between in full + 1..full + 5 {
        assert_eq!(segment::told_by_size(between), None, "{between}");
    }
    assert_eq!(segment::told_by_size(full + 5), Some(SizeTells::Data(UNIT + 1)));
}

#[test]
fn an_index_of_another_length_or_damaged_is_corrupt() {
    let header = Header { kind: SegmentKind::Index, ..header(8) };
    let index = segment::encode_index(&header, &[3, 5]);
    assert_eq!(segment::decode_index(&index, 2, KEY).unwrap(), [3, 5]);
    assert_eq!(segment::decode_index(&index, 3, KEY).unwrap_err().status(), Status::Corrupt);
    assert_eq!(segment::decode_index(&index, u64::MAX, KEY).unwrap_err().status(), Status::Corrupt);
    for at in 0..index.len() {
        let mut hurt = index.to_vec();
        hurt[at] ^= 0x80;
        assert!(segment::decode_index(&hurt, 2, KEY).is_err(), "byte {at}");
    }
}

proptest! {
    #[test]
    fn every_length_is_told_by_its_size(len in 1..=u64::from(u32::MAX)) {
        let told = segment::told_by_size(segment::object_size(len));
        prop_assert_eq!(told, Some(SizeTells::Data(len)));
    }

    #[test]
    fn the_bytes_do_not_depend_on_how_they_were_packed(
        len in 1..300_000_usize,
        cuts in prop::collection::vec(0..300_000_usize, 0..8),
    ) {
        let payload = noise(len);
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|c| *c < len).collect();
        cuts.extend([0, len]);
        cuts.sort_unstable();
        let packets: Vec<Bytes> = cuts.windows(2).map(|w| payload.slice(w[0]..w[1])).collect();
        let whole = object(std::slice::from_ref(&payload));
        prop_assert!(object(&packets) == whole);
        let (header, decoded) = segment::decode(&whole, KEY, true).unwrap();
        prop_assert_eq!(header.len, len as u64);
        prop_assert!(decoded == payload);
    }

    #[test]
    fn any_part_is_verified_by_its_units_alone(
        len in 1..300_000_u64,
        a in 0..300_000_u64,
        b in 1..9_000_u64,
    ) {
        let from = a % len;
        let part = from..(from + b).min(len);
        let whole = object(&[noise(len as usize)]);
        let units = segment::covering_units(&part, len);
        let (payload, table) = segment::unit_ranges(&units, len);
        prop_assert!(payload.start <= 64 + part.start && payload.end >= 64 + part.end);
        let of = |r: std::ops::Range<u64>| whole.slice(r.start as usize..r.end as usize);
        prop_assert!(segment::verify(&of(payload), &of(table), KEY, 0).is_ok());
    }

    #[test]
    fn decoding_noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let bytes = Bytes::from(bytes);
        prop_assert!(segment::decode(&bytes, KEY, true).is_err());
        prop_assert!(segment::decode_index(&bytes, 3, KEY).is_err());
        prop_assert!(Manifest::decode(&bytes, KEY).is_err());
    }

    #[test]
    fn headers_come_back_as_they_went(
        epoch in 0..=Epoch::MAX.0,
        open in 0..=WriterId::MAX_OPEN,
        seq: u64,
        offset in 0..=Epoch::MAX.0,
        len in 0..=Epoch::MAX.0, nonce: u128,
    ) {
        let by = WriterId { epoch: Epoch(epoch), open };
        let header = Header { kind: SegmentKind::Data, by, seq, offset, len, nonce: Id128(nonce) };
        prop_assert_eq!(Header::decode(&header.encode(), KEY).unwrap(), header);
    }
}

fn manifest() -> Manifest {
    let dir = |epoch| WriterId { epoch: Epoch(epoch), open: 0 };
    let block = |epoch, n, len, offset| Block {
        dir: dir(epoch),
        first: 0,
        n,
        len,
        offset,
        index: None,
        compacted: None,
        rest: Default::default(),
    };
    Manifest {
        v: 1,
        file_id: Id128(1),
        incarnation: 1,
        maker: Id128(2),
        first: dir(3),
        first_at: 1_767_225_600_000,
        epoch: Epoch(5),
        open: 0,
        writer: Id128(3),
        nonce: Id128(4),
        state: FileState::Open,
        blocks: vec![block(3, 2, 10, 0), block(4, 1, 5, 10)],
        tail: Some(Tail { dir: dir(5), base_seq: 0, offset: 15, rest: Default::default() }),
        length: 15,
        rest: Default::default(),
    }
}

#[test]
fn a_manifest_comes_back_as_it_went() {
    let sound = manifest();
    let body = sound.encode().unwrap();
    assert_eq!(Manifest::decode(&body, KEY).unwrap(), sound);
    let json: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(json["v"], 1);
    assert_eq!(json["state"], "open");
    assert_eq!(json["first"], serde_json::json!({"epoch": 3, "open": 0}));
    assert_eq!(json["blocks"][0]["compacted"], serde_json::Value::Null);
    assert_eq!(json["writer"], "00000000000000000000000000000003");
}

#[test]
fn a_manifest_keeps_fields_it_does_not_know() {
    let mut json: serde_json::Value =
        serde_json::from_slice(&manifest().encode().unwrap()).unwrap();
    json["new"] = serde_json::json!({"deep": [1, 2]});
    json["blocks"][1]["heat"] = serde_json::json!(0.5);
    json["tail"]["hint"] = serde_json::json!("x");
    let read = Manifest::decode(json.to_string().as_bytes(), KEY).unwrap();
    let again: serde_json::Value = serde_json::from_slice(&read.encode().unwrap()).unwrap();
    assert_eq!(again, json);
}

#[test]
fn a_manifest_that_contradicts_itself_is_corrupt() {
    type Hurt = fn(&mut Manifest);
    let hurts: &[(&str, Hurt)] = &[
        ("length", |m| m.length = 14),
        ("a gap between blocks", |m| m.blocks[1].offset = 11),
        ("an empty block", |m| m.blocks[0].n = 0),
        ("more segments than bytes", |m| m.blocks[1].n = 6),
        ("a tail at the wrong place", |m| m.tail.as_mut().unwrap().offset = 16),
        ("a tail of another writer", |m| m.tail.as_mut().unwrap().dir.open = 1),
        ("open without a tail", |m| m.tail = None),
        ("closed with a tail", |m| m.state = FileState::Closed),
        ("deleted with blocks", |m| {
            m.state = FileState::Deleted;
            m.tail = None;
        }),
        ("incarnation 0", |m| m.incarnation = 0),
        ("an epoch beyond the cap", |m| {
            m.epoch = Epoch(1 << 53);
            m.tail.as_mut().unwrap().dir.epoch = m.epoch;
        }),
        ("an open beyond the cap", |m| {
            m.open = 20_000;
            m.tail.as_mut().unwrap().dir.open = m.open;
        }),
        ("a huge base", |m| m.tail.as_mut().unwrap().base_seq = u64::MAX),
        ("a huge block", |m| m.blocks[0].len = u64::MAX),
    ];
    for (what, hurt) in hurts {
        let mut manifest = manifest();
        hurt(&mut manifest);
        let body = serde_json::to_vec(&manifest).unwrap();
        let error = Manifest::decode(&body, KEY).unwrap_err();
        assert_eq!((error.status(), error.resource()), (Status::Corrupt, Some(KEY)), "{what}");
    }
}
