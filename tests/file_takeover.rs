//! Takeover: what a former writer can still do, and what it must not (PROTOCOL §4.3, §5, traps 8,
//! 9, 18).
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod file;
use file::*;

fn small_segments(config: &mut Config) {
    config.segment_max = 64 << 10;
}

/// One whole packet of this byte, so that it goes out as one segment.
fn packet(byte: u8) -> Vec<u8> {
    vec![byte; 64 << 10]
}

async fn zombie_with_a_segment_in_flight(missing: Option<Protection>) {
    let scene = Scene::lacking(missing);
    let zombie = scene.create().await;
    write_acked(&zombie, b"acked ").await;
    let held = scene.sim.hold(Match::put(&scene.segment(1, 1)));
    write(&zombie, b"in flight").await;
    let _ = zombie.hflush(Some(Duration::ZERO)).await;
    held.arrived().await;
    let next = scene.append().await;
    assert_eq!(next.position(), 6);
    write_acked(&next, b"next").await;
    held.release();
    let late = zombie.hflush(LONG).await;
    let content = scene.content().await;
    assert_eq!(content, b"acked next", "only what was there at the takeover counts");
    assert_eq!(late.unwrap_err().status(), Status::Fenced, "its bytes are not in the file");
    assert_eq!(zombie.acked(), 6);
}

#[test]
fn a_segment_in_flight_is_refused_after_takeover() {
    holds_only_with(Protection::Seal, zombie_with_a_segment_in_flight);
}

#[test]
fn a_refusal_by_a_seal_is_the_end() {
    holds_only_with(Protection::ForeignCheck, zombie_with_a_segment_in_flight);
}

#[test]
fn a_segment_that_lands_between_list_and_seal_is_kept() {
    holds_only_with(Protection::SealPastData, |missing| async move {
        let scene = Scene::lacking(missing);
        let writer = scene.create().await;
        write_acked(&writer, b"one ").await;
        let seal = scene.sim.hold(Match::put(&scene.segment(1, 1)).from("next"));
        let (ctx, by) = (scene.node("next"), scene.lease.grant());
        let task = tokio::spawn(FileWriter::open(ctx, path(), Mode::Append, by));
        seal.arrived().await;
        write_acked(&writer, b"two ").await;
        seal.release();
        let next = task.await.expect("ran").expect("open");
        write_acked(&next, b"three").await;
        assert_eq!(scene.content().await, b"one two three", "an acked segment was cut off");
    });
}

#[test]
fn data_behind_a_seal_is_told_from_it_by_size() {
    holds_only_with(Protection::SealSize, |missing| async move {
        let scene = Scene::with(missing, small_segments);
        let zombie = scene.create().await;
        write_acked(&zombie, &packet(b'a')).await;
        // Segment 1 is lost on the way, segment 2 lands behind the hole.
        scene.sim.always(Match::put(&scene.segment(1, 1)), Fault::Lost);
        write(&zombie, &packet(b'b')).await;
        write(&zombie, &packet(b'c')).await;
        let _ = zombie.hflush(SOON).await;
        assert!(scene.sim.peek(&scene.segment(1, 2)).is_some());
        zombie.abort();
        scene.sim.heal();
        // The first recoverer seals position 1 and dies before its swap; the second finds seal and
        // data behind it.
        let swap = scene.sim.hold(Match::put(MANIFEST));
        let (ctx, by) = (scene.node("first"), scene.lease.grant());
        let first = tokio::spawn(FileWriter::open(ctx, path(), Mode::Append, by));
        swap.arrived().await;
        first.abort();
        swap.lose();
        let second = scene.open(Mode::Append).await.expect("open");
        assert_eq!(second.position(), 64 << 10, "what lies behind a seal is not the file");
        write_acked(&second, b"d").await;
        let content = scene.content().await;
        assert_eq!((content.len(), content.last()), ((64 << 10) + 1, Some(&b'd')));
    });
}

#[test]
fn two_opens_under_one_lease_do_not_mix() {
    holds_only_with(Protection::OpenId, |missing| async move {
        let scene = Scene::with(missing, small_segments);
        let lease = scene.lease.grant();
        let create = Mode::Create { overwrite: false };
        let a = scene.open_as(create, &lease).await.expect("open");
        scene.sim.always(Match::put(&scene.segment(1, 0)), Fault::Lost);
        write(&a, &packet(b'a')).await;
        write(&a, &packet(b'A')).await;
        let _ = a.hflush(SOON).await;
        scene.sim.heal();
        a.abort();
        let b = scene.open_as(Mode::Append, &lease).await.expect("open");
        write_acked(&b, &packet(b'b')).await;
        let content = scene.content().await;
        assert!(content.iter().all(|x| *x == b'b'), "a later open shows bytes of an earlier one");
        assert_eq!(scene.manifest().writer_id(), WriterId { epoch: Epoch(1), open: 1 });
    });
}

#[test]
fn the_first_of_two_handles_under_one_lease_is_fenced() {
    run(async {
        let scene = Scene::new();
        let lease = scene.lease.grant();
        let create = Mode::Create { overwrite: false };
        let a = scene.open_as(create, &lease).await.expect("open");
        write_acked(&a, b"a").await;
        let b = scene.open_as(Mode::Append, &lease).await.expect("open");
        write(&a, b"x").await;
        assert_eq!(a.hflush(LONG).await.unwrap_err().status(), Status::Fenced);
        write_acked(&b, b"b").await;
        assert_eq!(scene.content().await, b"ab");
    });
}

#[test]
fn three_writers_in_turn_lose_nothing_acked() {
    run(async {
        let scene = Scene::new();
        let first = scene.create().await;
        write_acked(&first, b"1").await;
        write(&first, b"unacked").await;
        let second = scene.append().await;
        write_acked(&second, b"2").await;
        let third = scene.append().await;
        write_acked(&third, b"3").await;
        for old in [&first, &second] {
            write(old, b"zombie").await;
            assert_eq!(old.hflush(LONG).await.unwrap_err().status(), Status::Fenced);
        }
        third.close(LONG).await.expect("closed");
        let content = scene.content().await;
        assert_eq!(content, b"123");
        assert_eq!(scene.manifest().blocks.len(), 3);
    });
}

#[test]
fn two_recoverers_at_once_make_one_length() {
    run(async {
        let scene = Scene::new();
        let dead = scene.create().await;
        write_acked(&dead, b"acked").await;
        dead.abort();
        let swap = scene.sim.hold(Match::put(MANIFEST).from("slow"));
        let (ctx, by) = (scene.node("slow"), scene.lease.grant());
        let slow = tokio::spawn(FileWriter::open(ctx, path(), Mode::Recover, by));
        swap.arrived().await;
        let quick = scene.open(Mode::Recover).await.expect("recovered");
        quick.close(LONG).await.expect("closed");
        swap.release();
        // It finds the file closed: nothing to do.
        let slow = slow.await.expect("ran").expect("nothing to do");
        assert_eq!(slow.position(), 5);
        assert_eq!(scene.content().await, b"acked");
    });
}

#[test]
fn a_recovery_that_died_after_its_seal_is_finished_by_the_next() {
    run(async {
        let scene = Scene::new();
        let dead = scene.create().await;
        write_acked(&dead, b"acked").await;
        for _ in 0..3 {
            let swap = scene.sim.hold(Match::put(MANIFEST));
            let (ctx, by) = (scene.ctx.clone(), scene.lease.grant());
            let task = tokio::spawn(FileWriter::open(ctx, path(), Mode::Append, by));
            swap.arrived().await;
            swap.lose();
            task.abort();
        }
        let seals = || {
            scene
                .sim
                .keys("data/")
                .iter()
                .filter(|k| scene.sim.peek(k).is_some_and(|b| b.len() == 64))
                .count()
        };
        let next = scene.append().await;
        assert_eq!(next.position(), 5);
        assert!(seals() >= 1);
        write_acked(&next, b"!").await;
        assert_eq!(scene.content().await, b"acked!");
    });
}

#[test]
fn a_seal_whose_answer_was_lost_is_a_seal() {
    for fault in [Fault::Committed, Fault::Lost, Fault::Disowned, Fault::Conflict, Fault::Hang] {
        run(async move {
            let scene = Scene::new();
            let old = scene.create().await;
            write_acked(&old, b"acked").await;
            scene.sim.next(Match::put("data/"), fault);
            let next = scene.append().await;
            assert_eq!(next.position(), 5, "{fault:?}");
            write_acked(&next, b"!").await;
            assert_eq!(scene.content().await, b"acked!");
        });
    }
}

#[test]
fn a_seal_that_lands_late_harms_nobody() {
    run(async {
        let scene = Scene::new();
        let old = scene.create().await;
        write_acked(&old, b"acked").await;
        scene.sim.next(Match::put("data/"), Fault::Late(Duration::from_secs(60)));
        let next = scene.append().await;
        write_acked(&next, b"!").await;
        tokio::time::sleep(Duration::from_secs(120)).await;
        write_acked(&next, b"?").await;
        assert_eq!(scene.content().await, b"acked!?");
    });
}

#[test]
fn a_damaged_segment_in_the_tail_counts_and_is_not_cut() {
    run(async {
        let scene = Scene::new();
        let dead = scene.create().await;
        write_acked(&dead, b"good").await;
        write_acked(&dead, b"hurt").await;
        write_acked(&dead, b"fine").await;
        let key = scene.segment(1, 1);
        let mut body = scene.sim.peek(&key).expect("stored").to_vec();
        body[segment::HEADER] ^= 1;
        scene.sim.plant(&key, body);
        let next = scene.append().await;
        assert_eq!(next.position(), 12, "nothing is cut at damage");
        next.close(LONG).await.expect("closed");
        let reader = scene.reader().await;
        assert_eq!(&reader.read_at(0, 4).await.expect("before")[..], b"good");
        assert_eq!(&reader.read_at(8, 4).await.expect("behind")[..], b"fine");
        let error = reader.read_at(0, 12).await.unwrap_err();
        assert_eq!((error.status(), error.resource()), (Status::Corrupt, Some(&key[..])));
    });
}

#[test]
fn an_object_of_impossible_size_in_the_tail_is_corrupt() {
    run(async {
        let scene = Scene::new();
        let dead = scene.create().await;
        write_acked(&dead, b"x").await;
        dead.abort();
        scene.sim.plant(&scene.segment(1, 1), vec![0; 66]);
        let error = scene.open(Mode::Append).await.unwrap_err();
        assert_eq!(error.status(), Status::Corrupt);
        assert!(error.message().contains("segment 1"), "{error}");
    });
}
