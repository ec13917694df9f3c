//! Backpressure: who waits, what wakes it, and where the memory goes.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod file;
use file::*;

const PACKET: usize = 64 << 10;

fn two_packets(config: &mut Config) {
    config.max_packets = Some(2);
}

/// A writer whose window is full, and the task that waits for room.
async fn blocked(
    scene: &Scene,
) -> (Arc<FileWriter>, tokio::task::JoinHandle<(usize, tenure::Result<()>)>) {
    scene.sim.always(Match::put("data/"), Fault::Lost);
    let writer = Arc::new(scene.create().await);
    write(&writer, &[1; 2 * PACKET]).await;
    assert_eq!(writer.try_write(b"x").unwrap_err().status(), Status::WouldBlock);
    let waits = writer.clone();
    let task = tokio::spawn(async move { waits.write(b"waits", None).await });
    settle().await;
    assert!(!task.is_finished());
    (writer, task)
}

#[test]
fn a_blocked_writer_wakes_on_ack_close_error_and_abort() {
    run(async {
        let scene = Scene::with(None, two_packets);
        let (writer, task) = blocked(&scene).await;
        scene.sim.heal();
        assert!(matches!(task.await.expect("ran"), (5, Ok(()))), "an ack makes room");
        writer.close(LONG).await.expect("closed");

        let scene = Scene::with(None, two_packets);
        let (writer, task) = blocked(&scene).await;
        assert_eq!(writer.close(SOON).await.unwrap_err().status(), Status::TimedOut);
        let (taken, error) = task.await.expect("ran");
        assert_eq!((taken, error.unwrap_err().status()), (0, Status::Closed));

        let scene = Scene::with(None, |c| {
            two_packets(c);
            c.ack_timeout = Duration::from_secs(5);
        });
        let (_writer, task) = blocked(&scene).await;
        assert_eq!(task.await.expect("ran").1.unwrap_err().status(), Status::OutcomeUnknown);

        let scene = Scene::with(None, two_packets);
        let (writer, task) = blocked(&scene).await;
        writer.abort();
        assert_eq!(task.await.expect("ran").1.unwrap_err().status(), Status::Closed);
    });
}

#[test]
fn a_flush_wakes_on_error_and_abort() {
    run(async {
        let scene = Scene::new();
        scene.sim.always(Match::put("data/"), Fault::Lost);
        let writer = Arc::new(scene.create().await);
        write(&writer, b"x").await;
        let waits = writer.clone();
        let task = tokio::spawn(async move { waits.hflush(None).await });
        settle().await;
        writer.abort();
        assert_eq!(task.await.expect("ran").unwrap_err().status(), Status::Closed);
    });
}

#[test]
fn a_flush_does_not_block_other_writes() {
    run(async {
        let scene = Scene::new();
        let held = scene.sim.hold(Match::put("data/"));
        let writer = Arc::new(scene.create().await);
        write(&writer, b"a").await;
        let waits = writer.clone();
        let flush = tokio::spawn(async move { waits.hflush(None).await });
        held.arrived().await;
        writer.try_write(b"b").expect("room");
        assert!(!flush.is_finished());
        held.release();
        flush.await.expect("ran").expect("acked");
        assert_eq!((writer.acked(), writer.position()), (1, 2));
    });
}

#[test]
fn a_write_that_fits_the_window_is_all_or_nothing() {
    run(async {
        let scene = Scene::with(None, two_packets);
        let (writer, task) = blocked(&scene).await;
        task.abort();
        let (taken, late) = writer.write(&[2; PACKET], SOON).await;
        assert_eq!((taken, late.unwrap_err().status()), (0, Status::TimedOut));
        assert_eq!(writer.position(), 2 * PACKET as u64);
        scene.sim.heal();
        write(&writer, &[2; PACKET]).await;
        writer.close(LONG).await.expect("closed");
        assert_eq!(scene.content().await.len(), 3 * PACKET);
    });
}

#[test]
fn a_write_larger_than_the_window_is_taken_in_parts_and_says_how_many() {
    run(async {
        let scene = Scene::with(None, two_packets);
        let writer = scene.create().await;
        let large: Vec<u8> = (0..10 * PACKET).map(|i| (i / 1_000) as u8).collect();
        write(&writer, &large).await;
        writer.hflush(LONG).await.expect("acked");
        assert_eq!(scene.content().await, large);
        assert_eq!(writer.try_write(&large).unwrap_err().status(), Status::InvalidArgument);
        scene.sim.always(Match::put("data/"), Fault::Lost);
        let (taken, late) = writer.write(&large, SOON).await;
        assert_eq!(late.unwrap_err().status(), Status::TimedOut);
        assert_eq!(taken, 2 * PACKET, "a window of it was taken");
        scene.sim.heal();
        write(&writer, &large[taken..]).await;
        writer.close(LONG).await.expect("closed");
        let content = scene.content().await;
        assert_eq!(content[large.len()..], large[..]);
    });
}

#[test]
fn a_partly_filled_packet_never_wedges_a_large_write() {
    run(async {
        let scene = Scene::with(None, two_packets);
        let writer = scene.create().await;
        write(&writer, &[1; PACKET - 1]).await;
        write(&writer, &[2; PACKET + 2]).await;
        writer.close(LONG).await.expect("closed");
        assert_eq!(scene.content().await.len(), 2 * PACKET + 1);
    });
}

#[test]
fn polling_with_try_write_alone_gets_on() {
    run(async {
        let scene = Scene::with(None, two_packets);
        let writer = scene.create().await;
        for _ in 0..50 {
            while let Err(e) = writer.try_write(&[3; 50_000]) {
                assert_eq!(e.status(), Status::WouldBlock);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        writer.close(LONG).await.expect("closed");
        assert_eq!(scene.content().await.len(), 50 * 50_000);
    });
}

async fn other(scene: &Scene, name: &str) -> FileWriter {
    let path = FilePath::new(name).expect("path");
    let mode = Mode::Create { overwrite: true };
    FileWriter::open(scene.ctx.clone(), path, mode, SimLease::new().grant()).await.expect("open")
}

#[test]
fn a_writer_always_gets_two_packets() {
    run(async {
        let scene = Scene::with(None, |c| c.memory_budget = 1 << 20);
        let greedy = other(&scene, "greedy").await;
        scene.sim.always(Match::put("/0000000000"), Fault::Lost);
        let (taken, _) = greedy.write(&vec![0; 4 << 20], SOON).await;
        assert!((1 << 20..=(1 << 20) + 2 * PACKET).contains(&taken), "{taken}");
        scene.sim.heal();
        // Still un-acked: the budget is used up. Others get on with what is theirs.
        let held = scene.sim.hold(Match::put("data/"));
        let modest = other(&scene, "modest").await;
        modest.try_write(&[1; 2 * PACKET]).expect("two packets are guaranteed");
        assert_eq!(modest.try_write(&[1; 1]).unwrap_err().status(), Status::WouldBlock);
        drop(held);
        modest.close(LONG).await.expect("closed");
    });
}

#[test]
fn a_writer_that_waits_for_the_budget_wakes_when_another_gives_some_back() {
    run(async {
        let scene = Scene::with(None, |c| c.memory_budget = 1 << 20);
        let greedy = other(&scene, "greedy").await;
        let silent = scene.sim.hold(Match::put("data/"));
        let (taken, _) = greedy.write(&vec![0; 4 << 20], Some(Duration::ZERO)).await;
        assert!(taken > 0);
        let modest = Arc::new(other(&scene, "modest").await);
        let waits = modest.clone();
        let task = tokio::spawn(async move { waits.write(&[1; 8 * PACKET], None).await });
        settle().await;
        assert!(!task.is_finished());
        greedy.abort();
        drop(silent);
        assert!(matches!(task.await.expect("ran"), (_, Ok(()))));
    });
}

#[test]
fn the_budget_comes_back_after_ack_error_and_abort() {
    run(async {
        let scene = Scene::with(None, |c| c.ack_timeout = Duration::from_secs(5));
        let budget = scene.ctx.budget.clone();
        let acked = other(&scene, "acked").await;
        write(&acked, &[0; 20 * PACKET]).await;
        assert!(budget.used() > 0);
        acked.hflush(LONG).await.expect("acked");
        assert_eq!(budget.used(), 0);
        scene.sim.always(Match::put("data/"), Fault::Lost);
        let failed = other(&scene, "failed").await;
        write(&failed, &[0; 20 * PACKET]).await;
        assert!(budget.used() > 0);
        assert!(failed.hflush(LONG).await.is_err());
        assert_eq!(budget.used(), 0);
        let aborted = other(&scene, "aborted").await;
        write(&aborted, &[0; 20 * PACKET]).await;
        assert!(budget.used() > 0);
        aborted.abort();
        assert_eq!(budget.used(), 0);
    });
}

#[test]
fn a_cancelled_write_takes_nothing_and_leaves_the_turn_to_others() {
    run(async {
        let scene = Scene::with(None, two_packets);
        let (writer, task) = blocked(&scene).await;
        task.abort();
        settle().await;
        scene.sim.heal();
        write_acked(&writer, b"next").await;
        assert_eq!(writer.acked(), 2 * PACKET as u64 + 4);
        assert!(scene.content().await.ends_with(b"\x01next"));
    });
}
