//! Closing, aborting and what comes after (PROTOCOL §5 W4, traps 10 and 22).
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod file;
use file::*;

#[test]
fn a_close_whose_answer_was_lost_is_done_once() {
    for fault in
        [Fault::Committed, Fault::Lost, Fault::Disowned, Fault::Conflict, Fault::HangCommitted]
    {
        run(async move {
            let scene = Scene::new();
            let lease = scene.lease.grant();
            let mode = Mode::Create { overwrite: false };
            let writer = scene.open_as(mode, &lease).await.expect("open");
            write_acked(&writer, b"all").await;
            scene.sim.next(Match::put(MANIFEST), fault);
            writer.close(LONG).await.expect("closed");
            assert_eq!(lease.released(), Some(false));
            let manifest = scene.manifest();
            assert_eq!(
                (manifest.state, manifest.blocks.len()),
                (FileState::Closed, 1),
                "{fault:?}"
            );
            assert_eq!(scene.content().await, b"all");
        });
    }
}

#[test]
fn nothing_is_accepted_once_close_was_sent() {
    holds_only_with(Protection::CloseIsFinal, |missing| async move {
        let scene = Scene::lacking(missing);
        let writer = scene.create().await;
        write_acked(&writer, b"before ").await;
        // The close lands, but much later than its answer is missed.
        scene.sim.next(Match::put(MANIFEST), Fault::Late(Duration::from_secs(30)));
        let _ = writer.close(SOON).await;
        let acked_after = match writer.write(b"after", SOON).await {
            (5, Ok(())) => writer.hflush(SOON).await.is_ok(),
            _ => false,
        };
        tokio::time::sleep(Duration::from_secs(60)).await;
        let content = scene.content().await;
        assert!(!acked_after || content == b"before after", "acked bytes behind the final block");
    });
}

#[test]
fn a_close_that_ran_out_of_time_may_be_repeated() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        write(&writer, b"slow").await;
        scene.sim.next(Match::put("data/"), Fault::Slow(Duration::from_secs(10)));
        assert_eq!(writer.close(SOON).await.unwrap_err().status(), Status::TimedOut);
        assert_eq!(writer.try_write(b"x").unwrap_err().status(), Status::Closed);
        writer.close(LONG).await.expect("closed");
        writer.close(LONG).await.expect("idempotent");
        assert_eq!(scene.content().await, b"slow");
    });
}

#[test]
fn a_close_whose_caller_gave_up_still_ends() {
    run(async {
        let scene = Scene::new();
        let lease = scene.lease.grant();
        let mode = Mode::Create { overwrite: false };
        let writer = scene.open_as(mode, &lease).await.expect("open");
        write(&writer, b"end").await;
        let _ = writer.close(Some(Duration::ZERO)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(lease.released(), Some(false));
        assert_eq!(scene.manifest().state, FileState::Closed);
    });
}

#[test]
fn a_rewrite_by_somebody_else_does_not_stop_a_close() {
    let closes = |missing: Option<Protection>| {
        run(async move {
            let scene = Scene::lacking(missing);
            let writer = scene.create().await;
            write_acked(&writer, b"mine").await;
            // A sweep or a compaction: same writer, fresh nonce, and a field of a later version.
            let mut manifest = scene.manifest();
            manifest.nonce = Id128(99);
            manifest.rest.insert("later".into(), serde_json::json!({"x": 1}));
            scene.sim.plant(MANIFEST, manifest.encode().expect("encoded"));
            let closed = writer.close(LONG).await;
            let left = scene.manifest();
            assert_eq!(left.rest["later"]["x"], 1, "fields of later versions are kept");
            closed.is_ok() && left.state == FileState::Closed
        })
    };
    assert!(closes(None));
    assert!(!closes(Some(Protection::WriterNonce)), "one nonce for both fences the live writer");
}

#[test]
fn an_empty_tail_leaves_no_block() {
    run(async {
        let scene = Scene::new();
        scene.create().await.close(LONG).await.expect("closed");
        let manifest = scene.manifest();
        assert_eq!((manifest.blocks.len(), manifest.length), (0, 0));
        assert_eq!(scene.content().await, b"");
        scene.append().await.close(LONG).await.expect("closed");
        assert_eq!(scene.manifest().blocks.len(), 0);
    });
}

#[test]
fn flush_after_close_does_nothing() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        write(&writer, b"x").await;
        writer.close(LONG).await.expect("closed");
        scene.sim.forget();
        writer.hflush(LONG).await.expect("no-op");
        writer.hsync(LONG).await.expect("no-op");
        assert_eq!(scene.sim.count(Match::any()), 0);
        assert_eq!(writer.try_write(b"y").unwrap_err().status(), Status::Closed);
        assert_eq!(writer.acked(), 1);
    });
}

#[test]
fn close_tells_the_first_error_once() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        write(&writer, b"x").await;
        let next = scene.append().await;
        assert_eq!(writer.hflush(LONG).await.unwrap_err().status(), Status::Fenced);
        assert_eq!(writer.hflush(LONG).await.unwrap_err().status(), Status::Fenced);
        assert_eq!(writer.close(LONG).await.unwrap_err().status(), Status::Fenced);
        writer.close(LONG).await.expect("told once");
        drop(next);
    });
}

#[test]
fn a_close_after_a_takeover_is_fenced_and_says_by_whom() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        write_acked(&writer, b"x").await;
        let next = scene.append().await;
        let error = writer.close(LONG).await.unwrap_err();
        assert_eq!(error.status(), Status::Fenced);
        assert_eq!(error.resource(), Some("logs/a"));
        assert_eq!(error.epoch(), Some(next.epoch()));
    });
}

#[test]
fn a_close_that_is_never_answered_is_an_unknown_outcome() {
    run(async {
        let scene = Scene::with(None, |c| c.ack_timeout = Duration::from_secs(60));
        let lease = scene.lease.grant();
        let mode = Mode::Create { overwrite: false };
        let writer = scene.open_as(mode, &lease).await.expect("open");
        write_acked(&writer, b"x").await;
        scene.sim.always(Match::any(), Fault::Lost);
        assert_eq!(writer.close(LONG).await.unwrap_err().status(), Status::OutcomeUnknown);
        assert_eq!(lease.released(), Some(true));
    });
}

#[test]
fn abort_sends_nothing_more_and_leaves_the_tail_to_the_next_writer() {
    run(async {
        let scene = Scene::new();
        let lease = scene.lease.grant();
        let mode = Mode::Create { overwrite: false };
        let writer = scene.open_as(mode, &lease).await.expect("open");
        write_acked(&writer, b"kept").await;
        write(&writer, b"dropped").await;
        scene.sim.forget();
        writer.abort();
        writer.abort();
        settle().await;
        assert_eq!(scene.sim.count(Match::any()), 0);
        assert_eq!(lease.released(), Some(true));
        assert_eq!(writer.try_write(b"x").unwrap_err().status(), Status::Closed);
        assert_eq!(writer.hflush(LONG).await.unwrap_err().status(), Status::Closed);
        assert_eq!(scene.manifest().state, FileState::Open);
        let next = scene.append().await;
        assert_eq!(next.position(), 4);
    });
}

#[test]
fn dropping_a_writer_aborts_it() {
    run(async {
        let scene = Scene::new();
        let lease = scene.lease.grant();
        let mode = Mode::Create { overwrite: false };
        drop(scene.open_as(mode, &lease).await.expect("open"));
        assert_eq!(lease.released(), Some(true));
    });
}

#[test]
fn dropping_a_closed_writer_releases_once_as_closed() {
    run(async {
        let scene = Scene::new();
        let lease = scene.lease.grant();
        let mode = Mode::Create { overwrite: false };
        let writer = scene.open_as(mode, &lease).await.expect("open");
        writer.close(LONG).await.expect("closed");
        drop(writer);
        assert_eq!(lease.released(), Some(false));
    });
}
