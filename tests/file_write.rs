//! Writing: what is sent, what is acked, what happens when the store does not answer (PROTOCOL §5).
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod file;
use file::*;

fn small_segments(config: &mut Config) {
    config.segment_max = 64 << 10;
}

#[test]
fn what_is_written_and_closed_is_read_back() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        write_acked(&writer, b"one ").await;
        write(&writer, b"two").await;
        writer.close(LONG).await.expect("closed");
        assert_eq!(scene.content().await, b"one two");
        let writer = scene.append().await;
        assert_eq!(writer.position(), 7);
        write(&writer, b" three").await;
        writer.close(LONG).await.expect("closed");
        assert_eq!(scene.content().await, b"one two three");
        let reader = scene.reader().await;
        assert!(reader.is_closed());
        assert_eq!(reader.visible_length(), 13);
    });
}

#[test]
fn a_new_reader_sees_what_was_flushed() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        write(&writer, b"seen").await;
        assert_eq!((writer.position(), writer.acked()), (4, 0));
        writer.hflush(LONG).await.expect("flushed");
        assert_eq!(writer.acked(), 4);
        write(&writer, b"not yet").await;
        assert_eq!(scene.content().await, b"seen");
    });
}

#[test]
fn flushing_nothing_new_sends_nothing() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        writer.hflush(LONG).await.expect("flushed");
        write_acked(&writer, b"x").await;
        scene.sim.forget();
        writer.hflush(LONG).await.expect("flushed");
        writer.hsync(LONG).await.expect("synced");
        assert_eq!(scene.sim.count(Match::any()), 0);
    });
}

#[test]
fn a_lone_flush_costs_one_request() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        scene.sim.forget();
        write_acked(&writer, b"x").await;
        assert_eq!(scene.sim.count(Match::any()), 1);
        scene.sim.forget();
        writer.close(LONG).await.expect("closed");
        assert_eq!(scene.sim.count(Match::any()), 1, "close is one swap");
    });
}

#[test]
fn a_clean_create_and_a_clean_append_are_two_requests_each() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        assert_eq!(scene.sim.count(Match::any()), 2);
        writer.close(LONG).await.expect("closed");
        scene.sim.forget();
        let _writer = scene.append().await;
        assert_eq!(scene.sim.count(Match::any()), 2);
    });
}

#[test]
fn a_segment_whose_answer_was_lost_is_stored_once() {
    for fault in [Fault::Committed, Fault::Lost, Fault::Hang, Fault::HangCommitted, Fault::Conflict]
    {
        run(async move {
            let scene = Scene::new();
            let writer = scene.create().await;
            scene.sim.next(Match::put("data/"), fault);
            write_acked(&writer, b"once").await;
            write_acked(&writer, b"twice").await;
            writer.close(LONG).await.expect("closed");
            assert_eq!(scene.content().await, b"oncetwice", "{fault:?}");
        });
    }
}

#[test]
fn a_refusal_by_own_earlier_copy_is_an_ack() {
    for fault in [Fault::Disowned, Fault::Twice(Duration::from_secs(3))] {
        run(async move {
            let scene = Scene::new();
            let writer = scene.create().await;
            scene.sim.next(Match::put("data/"), fault);
            write_acked(&writer, b"mine").await;
            assert_eq!(scene.content().await, b"mine");
        });
    }
}

#[test]
fn a_late_copy_of_an_acked_segment_changes_nothing() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        scene.sim.next(Match::put("data/"), Fault::Late(Duration::from_secs(90)));
        write_acked(&writer, b"first").await;
        write_acked(&writer, b"second").await;
        tokio::time::sleep(Duration::from_secs(100)).await;
        write_acked(&writer, b"third").await;
        assert_eq!(scene.content().await, b"firstsecondthird");
    });
}

#[test]
fn acks_are_in_order_whatever_lands_first() {
    holds_only_with(Protection::OrderedAck, |missing| async move {
        let scene = Scene::with(missing, small_segments);
        let writer = scene.create().await;
        let first = scene.sim.hold(Match::put("/0000000000"));
        write(&writer, &[b'a'; 64 << 10]).await;
        first.arrived().await;
        write(&writer, &[b'b'; 64 << 10]).await;
        assert_eq!(writer.hflush(SOON).await.unwrap_err().status(), Status::TimedOut);
        assert!(scene.sim.peek(&scene.segment(1, 1)).is_some(), "the second one landed");
        assert_eq!(writer.acked(), 0, "nothing is acked behind a hole");
        assert_eq!(scene.reader().await.visible_length(), 0);
        first.release();
        writer.hflush(LONG).await.expect("acked");
        assert_eq!(writer.acked(), 128 << 10);
    });
}

#[test]
fn a_flush_that_ran_out_of_time_undoes_nothing_and_may_be_repeated() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        let held = scene.sim.hold(Match::put("data/"));
        write(&writer, b"slow").await;
        assert_eq!(writer.hflush(SOON).await.unwrap_err().status(), Status::TimedOut);
        assert_eq!(
            writer.hflush(Some(Duration::ZERO)).await.unwrap_err().status(),
            Status::TimedOut
        );
        held.release();
        writer.hflush(LONG).await.expect("acked");
        assert_eq!(scene.content().await, b"slow");
    });
}

#[test]
fn nothing_new_is_sent_while_suspended() {
    holds_only_with(Protection::SuspendedStops, |missing| async move {
        let scene = Scene::lacking(missing);
        let lease = scene.lease.grant();
        let writer = scene.open_as(Mode::Create { overwrite: false }, &lease).await.expect("open");
        write_acked(&writer, b"before ").await;
        lease.set(Validity::Suspended);
        write(&writer, b"after").await;
        scene.sim.forget();
        assert_eq!(writer.hflush(SOON).await.unwrap_err().status(), Status::TimedOut);
        assert_eq!(scene.sim.count(Match::put("data/")), 0);
        lease.set(Validity::Valid(Duration::from_secs(60)));
        writer.hflush(LONG).await.expect("acked under the same epoch");
        assert_eq!(scene.content().await, b"before after");
    });
}

#[test]
fn what_was_sent_before_a_suspension_is_acked_during_it() {
    run(async {
        let scene = Scene::new();
        let lease = scene.lease.grant();
        let writer = scene.open_as(Mode::Create { overwrite: false }, &lease).await.expect("open");
        let held = scene.sim.hold(Match::put("data/"));
        write(&writer, b"out").await;
        let _ = writer.hflush(Some(Duration::ZERO)).await;
        held.arrived().await;
        lease.set(Validity::Suspended);
        held.release();
        writer.hflush(SOON).await.expect("acks need no clock");
    });
}

#[test]
fn a_lost_lease_ends_the_writer_with_that_error_for_good() {
    run(async {
        let scene = Scene::new();
        let lease = scene.lease.grant();
        let writer = scene.open_as(Mode::Create { overwrite: false }, &lease).await.expect("open");
        write_acked(&writer, b"kept").await;
        lease.set(Validity::Lost);
        write(&writer, b"gone").await;
        assert_eq!(writer.hflush(LONG).await.unwrap_err().status(), Status::LeaseLost);
        assert_eq!(writer.try_write(b"x").unwrap_err().status(), Status::LeaseLost);
        assert_eq!(writer.write(b"x", SOON).await.1.unwrap_err().status(), Status::LeaseLost);
        assert_eq!((writer.acked(), writer.position()), (4, 8));
        assert_eq!(lease.released(), Some(true), "given back, to be recovered");
    });
}

#[test]
fn a_lease_lost_while_suspended_ends_the_writer() {
    run(async {
        let scene = Scene::new();
        let lease = scene.lease.grant();
        let writer = scene.open_as(Mode::Create { overwrite: false }, &lease).await.expect("open");
        lease.set(Validity::Suspended);
        write(&writer, b"waits").await;
        assert_eq!(writer.hflush(SOON).await.unwrap_err().status(), Status::TimedOut);
        lease.set(Validity::Lost);
        assert_eq!(writer.hflush(LONG).await.unwrap_err().status(), Status::LeaseLost);
    });
}

#[test]
fn a_store_that_stays_silent_ends_the_writer_with_an_unknown_outcome() {
    run(async {
        let scene = Scene::with(None, |c| c.ack_timeout = Duration::from_secs(60));
        let writer = scene.create().await;
        write_acked(&writer, b"ok").await;
        scene.sim.always(Match::put("data/"), Fault::Lost);
        write(&writer, b"lost").await;
        let error = writer.hflush(LONG).await.unwrap_err();
        assert_eq!(error.status(), Status::OutcomeUnknown);
        assert!(std::error::Error::source(&error).is_some(), "the store's error is kept");
        assert_eq!(writer.acked(), 2);
        assert!(scene.sim.count(Match::put("data/")) < 200, "resending is bounded");
    });
}

#[test]
fn an_outage_shorter_than_the_ack_timeout_is_ridden_out() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        scene.sim.always(Match::any(), Fault::Lost);
        write(&writer, b"patience").await;
        let wait = Some(Duration::from_secs(300));
        assert_eq!(writer.hflush(wait).await.unwrap_err().status(), Status::TimedOut);
        scene.sim.heal();
        writer.hflush(LONG).await.expect("acked");
        writer.close(LONG).await.expect("closed");
        assert_eq!(scene.content().await, b"patience");
    });
}

#[test]
fn a_writer_whose_store_hangs_does_not_stall_others() {
    run(async {
        let scene = Scene::new();
        let stuck = scene.create().await;
        scene.sim.always(Match::put(&scene.segment(1, 0)), Fault::Hang);
        write(&stuck, b"stuck").await;
        let other = FileWriter::open(
            scene.ctx.clone(),
            FilePath::new("logs/other").expect("path"),
            Mode::Create { overwrite: false },
            SimLease::new().grant(),
        );
        let other = other.await.expect("open");
        write(&other, b"free").await;
        other.hflush(SOON).await.expect("acked");
        other.close(SOON).await.expect("closed");
        assert_eq!(stuck.acked(), 0);
    });
}

#[test]
fn a_busy_stream_sends_few_large_segments() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        scene.sim.always(Match::put("data/"), Fault::Slow(Duration::from_millis(30)));
        let total = 64 << 20;
        let block = vec![7_u8; 1 << 20];
        for _ in 0..total / block.len() {
            write(&writer, &block).await;
        }
        writer.hflush(LONG).await.expect("acked");
        let segments = scene.sim.count(Match::put("data/"));
        assert!(segments < 48, "{segments} segments for 64 MiB");
        assert!(scene.content().await.iter().all(|b| *b == 7));
    });
}

#[test]
fn concurrent_writes_stay_contiguous() {
    run(async {
        let scene = Scene::with(None, |c| c.max_packets = Some(4));
        let writer = Arc::new(scene.create().await);
        let tasks: Vec<_> = (0..8_u8)
            .map(|who| {
                let writer = writer.clone();
                tokio::spawn(async move {
                    for _ in 0..20 {
                        write(&writer, &[who; 10_007]).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("ran");
        }
        writer.close(LONG).await.expect("closed");
        let content = scene.content().await;
        assert_eq!(content.len(), 8 * 20 * 10_007);
        for call in content.chunks(10_007) {
            assert!(call.iter().all(|b| *b == call[0]), "a call's bytes were torn apart");
        }
    });
}

#[test]
fn an_ack_a_day_later_needs_the_manifest_to_name_the_writer_again() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        write_acked(&writer, b"first").await;
        scene.clock.suspend(Duration::from_secs(90_000));
        scene.sim.forget();
        write_acked(&writer, b"second").await;
        assert_eq!(scene.sim.count(Match::get(MANIFEST)), 1);
        write_acked(&writer, b"third").await;
        assert_eq!(scene.sim.count(Match::get(MANIFEST)), 1, "once a day is enough");
    });
}
