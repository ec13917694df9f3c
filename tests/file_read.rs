//! Reading: what is visible, what is checked, what it costs (PROTOCOL §6, traps 11 and 23).
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod file;
use file::*;

fn small_segments(config: &mut Config) {
    config.segment_max = 64 << 10;
}

/// Every data object of the file, in order.
fn segments(scene: &Scene) -> Vec<String> {
    let is_data = |k: &String| scene.sim.peek(k).is_some_and(|b| b.len() > 64);
    scene.sim.keys("data/").into_iter().filter(is_data).collect()
}

fn noise(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

#[test]
fn a_missing_file_is_not_found() {
    run(async {
        let scene = Scene::new();
        let error = FileReader::open(scene.ctx.clone(), path()).await.unwrap_err();
        assert_eq!((error.status(), error.resource()), (Status::NotFound, Some("logs/a")));
    });
}

#[test]
fn reads_end_at_the_visible_end() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        write_acked(&writer, b"0123456789").await;
        let reader = scene.reader().await;
        assert_eq!(&reader.read_at(7, 100).await.expect("read")[..], b"789");
        assert_eq!(&reader.read_at(3, 2).await.expect("read")[..], b"34");
        assert!(reader.read_at(10, 5).await.expect("read").is_empty());
        assert!(reader.read_at(u64::MAX, usize::MAX).await.expect("read").is_empty());
        write_acked(&writer, b"more").await;
        assert_eq!(reader.visible_length(), 10, "memory only");
        assert_eq!(reader.refresh().await.expect("refreshed"), 14);
        assert!(!reader.is_closed());
    });
}

#[test]
fn every_range_of_a_file_of_many_pieces_reads_back() {
    run(async {
        let scene = Scene::with(None, small_segments);
        let bytes = noise(700_000);
        let writer = scene.create().await;
        write(&writer, &bytes[..300_001]).await;
        writer.close(LONG).await.expect("closed");
        let writer = scene.append().await;
        write_acked(&writer, &bytes[300_001..300_050]).await;
        drop(writer);
        let writer = scene.append().await;
        write_acked(&writer, &bytes[300_050..]).await;
        let reader = scene.reader().await;
        assert_eq!(reader.visible_length(), 700_000);
        for (i, from) in (0..700_000).step_by(7_919).enumerate() {
            let len = [1, 100, 65_536, 200_000][i % 4];
            let part = reader.read_at(from as u64, len).await.expect("read");
            let to = (from + len).min(700_000);
            assert!(part[..] == bytes[from..to], "{from}..{to}");
        }
        assert!(scene.content().await == bytes);
    });
}

#[test]
fn a_random_read_fetches_units_not_segments() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        let bytes = noise(8 << 20);
        // One packet at once, the rest as few large segments.
        let held = scene.sim.hold(Match::put("data/"));
        write(&writer, &bytes).await;
        drop(held);
        writer.close(LONG).await.expect("closed");
        let reader = scene.reader().await;
        let at = 3_000_000;
        let _warm = reader.read_at(at as u64 + 1_000_000, 1).await.expect("read");
        scene.sim.forget();
        let part = reader.read_at(at as u64, 100).await.expect("read");
        assert!(part[..] == bytes[at..at + 100]);
        assert_eq!(scene.sim.count(Match::get("data/")), 3, "header, units, checksums");
        assert_eq!(scene.sim.count(Match::list("")), 0, "the index is kept");
    });
}

#[test]
fn going_on_where_the_last_read_stopped_fetches_each_segment_once() {
    run(async {
        let scene = Scene::with(None, |c| c.segment_max = 1 << 20);
        let writer = scene.create().await;
        let bytes = noise(6 << 20);
        write(&writer, &bytes).await;
        writer.close(LONG).await.expect("closed");
        let reader = scene.reader().await;
        scene.sim.forget();
        let mut at = 0;
        while at < bytes.len() {
            let part = reader.read_at(at as u64, 10_000).await.expect("read");
            assert!(part[..] == bytes[at..at + part.len()]);
            at += part.len();
        }
        assert_eq!(scene.sim.count(Match::get("data/")), segments(&scene).len());
    });
}

#[test]
fn a_flipped_byte_in_a_segment_is_corrupt_with_its_name() {
    holds_only_with(Protection::VerifyOnRead, |missing| async move {
        let scene = Scene::lacking(missing);
        let writer = scene.create().await;
        write_acked(&writer, b"first").await;
        write_acked(&writer, b"second").await;
        writer.close(LONG).await.expect("closed");
        let key = segments(&scene)[1].clone();
        let sound = scene.sim.peek(&key).expect("stored");
        for at in 0..sound.len() {
            let mut hurt = sound.to_vec();
            hurt[at] ^= 0x40;
            scene.sim.plant(&key, hurt);
            let reader = scene.reader().await;
            let error = reader.read_at(5, 6).await.unwrap_err();
            let expected = (Status::Corrupt, Some(&key[..]));
            assert_eq!((error.status(), error.resource()), expected, "byte {at}");
            assert!(error.message().contains("of the file"), "byte {at}: {error}");
            assert_eq!(&reader.read_at(0, 5).await.expect("the rest is readable")[..], b"first");
        }
    });
}

#[test]
fn a_segment_cut_short_swapped_or_gone_is_corrupt_not_a_shorter_file() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        write_acked(&writer, b"aaaa").await;
        write_acked(&writer, b"bbbb").await;
        writer.close(LONG).await.expect("closed");
        let keys = segments(&scene);
        let sound = scene.sim.peek(&keys[1]).expect("stored");
        let other = scene.sim.peek(&keys[0]).expect("stored");
        let cut = sound.slice(..sound.len() - 1);
        for hurt in [cut, other] {
            scene.sim.plant(&keys[1], hurt);
            let error = scene.reader().await.read_at(0, 8).await.unwrap_err();
            assert_eq!((error.status(), error.resource()), (Status::Corrupt, Some(&keys[1][..])));
        }
        scene.sim.erase(&keys[1]);
        let error = scene.reader().await.read_at(0, 8).await.unwrap_err();
        assert_eq!((error.status(), error.resource()), (Status::Corrupt, Some(&keys[1][..])));
        scene.sim.plant(&keys[1], sound);
        assert_eq!(scene.content().await, b"aaaabbbb");
    });
}

#[test]
fn a_hole_in_the_tail_ends_what_is_visible() {
    run(async {
        let scene = Scene::with(None, small_segments);
        let writer = scene.create().await;
        write_acked(&writer, &[1; 64 << 10]).await;
        scene.sim.always(Match::put(&scene.segment(1, 1)), Fault::Lost);
        write(&writer, &[2; 128 << 10]).await;
        let _ = writer.hflush(SOON).await;
        assert!(scene.sim.peek(&scene.segment(1, 2)).is_some());
        assert_eq!(scene.reader().await.visible_length(), 64 << 10);
    });
}

#[test]
fn a_reader_sees_acked_bytes_through_recovery_and_collection() {
    holds_only_with(Protection::ReaderRecheck, |missing| async move {
        let scene = Scene::lacking(missing);
        let writer = scene.create().await;
        write_acked(&writer, b"acked").await;
        let tail = scene.segment(1, 0);
        // A reader has the manifest; its LIST is on the way.
        let list = scene.sim.hold(Match::list("data/").from("reader"));
        let opening = tokio::spawn(FileReader::open(scene.node("reader"), path()));
        list.arrived().await;
        // Meanwhile: recovery, compaction, collection of the segment.
        drop(writer);
        let next = scene.append().await;
        let mut manifest = scene.manifest();
        let block = &mut manifest.blocks[0];
        let object = Id128(5);
        let header = segment::Header {
            kind: segment::SegmentKind::Block,
            by: block.dir,
            seq: 0,
            offset: 0,
            len: 5,
            nonce: Id128(1),
        };
        let body: Vec<u8> =
            segment::encode(&header, &[bytes::Bytes::from_static(b"acked")]).concat();
        scene.sim.plant(&format!("data/{}/blocks/{object}", manifest.file_id), body);
        block.compacted = Some(object);
        manifest.nonce = Id128(6);
        scene.sim.plant(MANIFEST, manifest.encode().expect("encoded"));
        scene.sim.erase(&tail);
        list.release();
        let reader = opening.await.expect("ran").expect("open");
        assert_eq!(reader.visible_length(), 5, "acked bytes are visible");
        assert_eq!(&reader.read_at(0, 5).await.expect("read")[..], b"acked");
        drop(next);
    });
}

#[test]
fn a_compaction_under_a_reader_is_followed_by_a_reload() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        write(&writer, b"moved").await;
        writer.close(LONG).await.expect("closed");
        let reader = scene.reader().await;
        let mut manifest = scene.manifest();
        let object = Id128(5);
        let header = segment::Header {
            kind: segment::SegmentKind::Block,
            by: manifest.blocks[0].dir,
            seq: 0,
            offset: 0,
            len: 5,
            nonce: Id128(1),
        };
        let body: Vec<u8> =
            segment::encode(&header, &[bytes::Bytes::from_static(b"moved")]).concat();
        scene.sim.plant(&format!("data/{}/blocks/{object}", manifest.file_id), body);
        manifest.blocks[0].compacted = Some(object);
        scene.sim.plant(MANIFEST, manifest.encode().expect("encoded"));
        scene.sim.erase(&scene.segment(1, 0));
        assert_eq!(&reader.read_at(0, 5).await.expect("read")[..], b"moved");
    });
}

#[test]
fn a_block_with_an_index_needs_no_list() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        write_acked(&writer, b"one").await;
        write_acked(&writer, b"three").await;
        writer.close(LONG).await.expect("closed");
        let mut manifest = scene.manifest();
        let name = Id128(77);
        let header = segment::Header {
            kind: segment::SegmentKind::Index,
            by: manifest.blocks[0].dir,
            seq: 0,
            offset: 0,
            len: 8,
            nonce: Id128(1),
        };
        let index = key::index(manifest.file_id, name);
        scene.sim.plant(&index, segment::encode_index(&header, &[3, 5]));
        manifest.blocks[0].index = Some(name);
        scene.sim.plant(MANIFEST, manifest.encode().expect("encoded"));
        scene.sim.forget();
        assert_eq!(scene.content().await, b"onethree");
        assert_eq!(scene.sim.count(Match::list("")), 0);
        scene.sim.erase(&index);
        assert_eq!(scene.content().await, b"onethree", "a lost index is only slower");
    });
}

#[test]
fn a_reader_never_goes_on_in_another_incarnation() {
    holds_only_with(Protection::ReaderIncarnation, |missing| async move {
        let scene = Scene::lacking(missing);
        let writer = scene.create().await;
        write(&writer, b"first life").await;
        writer.close(LONG).await.expect("closed");
        let reader = scene.reader().await;
        let writer = scene.open(Mode::Create { overwrite: true }).await.expect("overwritten");
        write_acked(&writer, b"a second, longer life").await;
        assert_eq!(reader.refresh().await.unwrap_err().status(), Status::NotFound);
        let kept = reader.read_at(0, 10).await;
        assert!(kept.is_err() || kept.is_ok_and(|b| b[..] == b"first life"[..]));
        delete(scene.ctx.clone(), path(), scene.lease.grant()).await.expect("deleted");
        assert_eq!(reader.refresh().await.unwrap_err().status(), Status::NotFound);
    });
}

#[test]
fn a_reader_is_never_stopped_by_the_lease_or_a_writer() {
    run(async {
        let scene = Scene::new();
        let lease = scene.lease.grant();
        let writer = scene.open_as(Mode::Create { overwrite: false }, &lease).await.expect("open");
        write_acked(&writer, b"x").await;
        lease.set(Validity::Lost);
        assert_eq!(scene.content().await, b"x");
    });
}
