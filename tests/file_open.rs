//! Opening: create, append, recover, overwrite, delete (PROTOCOL §4, traps 9, 18, 19, 26).
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod file;
use file::*;

const CREATE: Mode = Mode::Create { overwrite: false };
const OVERWRITE: Mode = Mode::Create { overwrite: true };

async fn closed_file(scene: &Scene, bytes: &[u8]) {
    let writer = scene.create().await;
    write(&writer, bytes).await;
    writer.close(LONG).await.expect("closed");
}

#[test]
fn append_to_a_missing_file_is_not_found() {
    run(async {
        let scene = Scene::new();
        let lease = scene.lease.grant();
        let error = scene.open_as(Mode::Append, &lease).await.unwrap_err();
        assert_eq!((error.status(), error.resource()), (Status::NotFound, Some("logs/a")));
        assert_eq!(lease.released(), Some(false), "nothing is left to recover");
    });
}

#[test]
fn create_without_overwrite_of_an_existing_file_is_refused() {
    run(async {
        let scene = Scene::new();
        closed_file(&scene, b"old").await;
        assert_eq!(scene.open(CREATE).await.unwrap_err().status(), Status::AlreadyExists);
        assert_eq!(scene.content().await, b"old");
    });
}

#[test]
fn overwrite_begins_a_new_incarnation_and_shuts_the_former_writer_out() {
    run(async {
        let scene = Scene::new();
        let old = scene.create().await;
        write_acked(&old, b"old").await;
        let new = scene.open(OVERWRITE).await.expect("overwritten");
        write_acked(&new, b"new").await;
        write(&old, b"late").await;
        assert_eq!(old.hflush(LONG).await.unwrap_err().status(), Status::Fenced);
        new.close(LONG).await.expect("closed");
        assert_eq!(scene.content().await, b"new");
        let manifest = scene.manifest();
        assert_eq!(manifest.incarnation, 2);
        assert_eq!(manifest.first, WriterId { epoch: new.epoch(), open: 0 });
    });
}

#[test]
fn a_create_whose_answer_was_lost_succeeds_once() {
    for fault in [Fault::Committed, Fault::Lost, Fault::Disowned, Fault::Conflict] {
        run(async move {
            let scene = Scene::new();
            scene.sim.next(Match::put(MANIFEST), fault);
            let writer = scene.create().await;
            write(&writer, b"x").await;
            writer.close(LONG).await.expect("closed");
            assert_eq!(scene.manifest().incarnation, 1, "{fault:?}");
            assert_eq!(scene.content().await, b"x");
        });
    }
}

#[test]
fn an_append_whose_answer_was_lost_opens_again_under_the_same_epoch() {
    run(async {
        let scene = Scene::new();
        closed_file(&scene, b"a").await;
        scene.sim.next(Match::put(MANIFEST), Fault::Committed);
        let writer = scene.append().await;
        let manifest = scene.manifest();
        assert_eq!(manifest.writer_id(), WriterId { epoch: writer.epoch(), open: 1 });
        write(&writer, b"b").await;
        writer.close(LONG).await.expect("closed");
        assert_eq!(scene.content().await, b"ab");
    });
}

#[test]
fn an_open_whose_swap_lands_late_does_not_undo_the_next_one() {
    run(async {
        let scene = Scene::new();
        closed_file(&scene, b"a").await;
        scene.sim.next(Match::put(MANIFEST), Fault::Late(Duration::from_secs(20)));
        let writer = scene.append().await;
        write_acked(&writer, b"b").await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        write_acked(&writer, b"c").await;
        writer.close(LONG).await.expect("closed");
        assert_eq!(scene.content().await, b"abc");
    });
}

#[test]
fn an_overwrite_whose_answer_was_lost_does_not_overwrite_again() {
    holds_only_with(Protection::TargetIncarnation, |missing| async move {
        let scene = Scene::lacking(missing);
        closed_file(&scene, b"old").await;
        scene.sim.next(Match::put(MANIFEST), Fault::Committed);
        let writer = scene.open(OVERWRITE).await.expect("overwritten");
        assert_eq!(scene.manifest().incarnation, 2, "one operation removes one incarnation");
        write(&writer, b"new").await;
        writer.close(LONG).await.expect("closed");
        assert_eq!(scene.content().await, b"new");
    });
}

#[test]
fn an_overwrite_that_was_overtaken_is_fenced_and_removes_nothing() {
    run(async {
        let scene = Scene::new();
        closed_file(&scene, b"old").await;
        let slow = scene.lease.grant();
        let held = scene.sim.hold(Match::put(MANIFEST));
        let (ctx, by) = (scene.ctx.clone(), slow.clone());
        let task = tokio::spawn(FileWriter::open(ctx, path(), OVERWRITE, by));
        held.arrived().await;
        let new = scene.open(OVERWRITE).await.expect("overwritten");
        write_acked(&new, b"newer").await;
        held.release();
        let error = task.await.expect("ran").unwrap_err();
        assert_eq!(error.status(), Status::Fenced);
        assert_eq!(scene.content().await, b"newer");
    });
}

#[test]
fn a_deleted_file_leaves_a_tombstone_and_is_not_found() {
    run(async {
        let scene = Scene::new();
        closed_file(&scene, b"old").await;
        delete(scene.ctx.clone(), path(), scene.lease.grant()).await.expect("deleted");
        let tombstone = scene.manifest();
        assert_eq!((tombstone.state, tombstone.incarnation), (FileState::Deleted, 1));
        assert_eq!(stat(&scene.ctx, &path()).await.unwrap_err().status(), Status::NotFound);
        assert_eq!(scene.open(Mode::Append).await.unwrap_err().status(), Status::NotFound);
        let again = delete(scene.ctx.clone(), path(), scene.lease.grant()).await;
        assert_eq!(again.unwrap_err().status(), Status::NotFound);
        let writer = scene.create().await;
        write(&writer, b"new life").await;
        writer.close(LONG).await.expect("closed");
        assert_eq!(scene.manifest().incarnation, 2);
        assert_eq!(scene.manifest().file_id, tombstone.file_id);
        assert_eq!(scene.content().await, b"new life");
    });
}

#[test]
fn a_delete_seals_so_that_a_zombie_cannot_go_on_acking() {
    holds_only_with(Protection::Seal, |missing| async move {
        let scene = Scene::lacking(missing);
        let zombie = scene.create().await;
        write_acked(&zombie, b"old").await;
        delete(scene.ctx.clone(), path(), scene.lease.grant()).await.expect("deleted");
        write(&zombie, b"into a dead file").await;
        assert_eq!(zombie.hflush(LONG).await.unwrap_err().status(), Status::Fenced);
    });
}

#[test]
fn a_delete_whose_answer_was_lost_does_not_delete_the_next_life() {
    run(async {
        let scene = Scene::new();
        closed_file(&scene, b"old").await;
        scene.sim.next(Match::put(MANIFEST), Fault::HangCommitted);
        let (ctx, by) = (scene.ctx.clone(), scene.lease.grant());
        let task = tokio::spawn(delete(ctx, path(), by));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let writer = scene.create().await;
        write_acked(&writer, b"next life").await;
        task.await.expect("ran").expect("the target was deleted");
        assert_eq!(scene.content().await, b"next life");
    });
}

#[test]
fn an_older_epoch_raises_its_lease_or_is_fenced() {
    holds_only_with(Protection::EpochComparison, |missing| async move {
        let scene = Scene::lacking(missing);
        let old = scene.lease.grant();
        let first = scene.lease.grant_at(Epoch(50));
        let writer = scene.open_as(CREATE, &first).await.expect("open");
        write_acked(&writer, b"x").await;
        // A former holder with an older epoch: its raise cannot land.
        let error = scene.open_as(Mode::Append, &old).await.unwrap_err();
        assert_eq!((error.status(), error.holder()), (Status::Fenced, Some("other")));
        write_acked(&writer, b"y").await;
        // The record was deleted and begun anew, too low: its holder may raise it.
        let lawful = scene.lease.grant_at(Epoch(3));
        let next = scene.open_as(Mode::Append, &lawful).await.expect("raised");
        assert_eq!(next.epoch(), Epoch(51));
        assert_eq!(scene.manifest().epoch, Epoch(51));
        assert_eq!(next.position(), 2);
    });
}

#[test]
fn a_former_holder_proves_its_lease_before_it_seals_a_foreign_tail() {
    holds_only_with(Protection::TouchBeforeSeal, |missing| async move {
        let scene = Scene::lacking(missing);
        closed_file(&scene, b"").await;
        // The record was deleted and seeded with an epoch no higher than the former holder's.
        let former = scene.lease.grant_at(Epoch(9));
        let lawful = scene.lease.grant_at(Epoch(9));
        let writer = scene.open_as(Mode::Append, &lawful).await.expect("open");
        write_acked(&writer, b"lawful").await;
        let stolen = scene.open_as(Mode::Append, &former).await;
        write(&writer, b" goes on").await;
        writer.hflush(LONG).await.expect("the holder is not fenced");
        assert_eq!(stolen.unwrap_err().status(), Status::LeaseLost);
    });
}

#[test]
fn an_own_clean_file_is_opened_without_a_touch() {
    run(async {
        let scene = Scene::new();
        closed_file(&scene, b"x").await;
        let lease = scene.lease.grant();
        let _writer = scene.open_as(Mode::Append, &lease).await.expect("open");
        assert_eq!(lease.touches(), 0);
    });
}

#[test]
fn recovery_of_a_file_that_is_not_open_does_nothing() {
    run(async {
        let scene = Scene::new();
        let lease = scene.lease.grant();
        let none = scene.open_as(Mode::Recover, &lease).await.expect("nothing to do");
        none.close(LONG).await.expect("closed from birth");
        assert_eq!(lease.released(), Some(false));
        closed_file(&scene, b"full").await;
        scene.sim.forget();
        let closed = scene.open(Mode::Recover).await.expect("nothing to do");
        assert_eq!((closed.position(), closed.acked()), (4, 4));
        assert_eq!(closed.try_write(b"x").unwrap_err().status(), Status::Closed);
        assert_eq!(scene.sim.count(Match::put("")), 0);
    });
}

#[test]
fn recovery_seals_and_closes_what_a_dead_writer_left() {
    run(async {
        let scene = Scene::new();
        let dead = scene.create().await;
        write_acked(&dead, b"acked").await;
        let recovery = scene.open(Mode::Recover).await.expect("recovered");
        recovery.close(LONG).await.expect("closed");
        assert_eq!(scene.manifest().state, FileState::Closed);
        assert_eq!(scene.content().await, b"acked");
        assert_eq!(scene.content().await.len() as u64, dead.acked());
    });
}

#[test]
fn recovery_costs_a_touch_and_four_requests() {
    run(async {
        let scene = Scene::new();
        let dead = scene.create().await;
        write_acked(&dead, b"acked").await;
        scene.sim.forget();
        let lease = scene.lease.grant();
        let _next = scene.open_as(Mode::Append, &lease).await.expect("open");
        assert_eq!(lease.touches(), 1);
        assert_eq!(scene.sim.count(Match::any()), 4, "GET, LIST, seal, swap");
    });
}

#[test]
fn a_manifest_that_does_not_parse_is_corrupt_with_its_key() {
    run(async {
        let scene = Scene::new();
        for (body, status) in [
            ("not json", Status::Corrupt),
            ("{\"v\":2,\"other\":true}", Status::Unsupported),
            ("{\"v\":1}", Status::Corrupt),
        ] {
            scene.sim.plant(MANIFEST, body);
            let error = scene.open(Mode::Append).await.unwrap_err();
            assert_eq!((error.status(), error.resource()), (status, Some(MANIFEST)));
            assert_eq!(scene.sim.peek(MANIFEST).as_deref(), Some(body.as_bytes()), "not repaired");
        }
    });
}

#[test]
fn an_open_whose_caller_gave_up_gives_the_lease_back() {
    run(async {
        let scene = Scene::new();
        let lease = scene.lease.grant();
        let held = scene.sim.hold(Match::put(MANIFEST));
        let (ctx, by) = (scene.ctx.clone(), lease.clone());
        let task = tokio::spawn(FileWriter::open(ctx, path(), CREATE, by));
        held.arrived().await;
        task.abort();
        settle().await;
        held.release();
        settle().await;
        assert_eq!(lease.released(), Some(true));
        assert_eq!(scene.append().await.position(), 0);
    });
}

#[test]
fn a_silent_store_ends_an_open_and_gives_the_lease_back() {
    run(async {
        let scene = Scene::with(None, |c| c.ack_timeout = Duration::from_secs(60));
        scene.sim.always(Match::any(), Fault::Lost);
        let lease = scene.lease.grant();
        let error = scene.open_as(CREATE, &lease).await.unwrap_err();
        assert_eq!(error.status(), Status::StoreUnavailable);
        assert_eq!(lease.released(), Some(false));
    });
}

#[test]
fn listing_shows_files_and_no_tombstones() {
    run(async {
        let scene = Scene::new();
        for name in ["b", "logs/a", "logs/z", "other"] {
            let path = FilePath::new(name).expect("path");
            let by = SimLease::new().grant();
            let writer = FileWriter::open(scene.ctx.clone(), path, CREATE, by).await.expect("open");
            write(&writer, b"xyz").await;
            writer.close(LONG).await.expect("closed");
        }
        let gone = FilePath::new("logs/z").expect("path");
        delete(scene.ctx.clone(), gone, SimLease::new().grant_at(Epoch(8))).await.expect("deleted");
        let names = |files: Vec<tenure::FileStat>| -> Vec<String> {
            files.into_iter().map(|f| f.path).collect()
        };
        assert_eq!(names(list(&scene.ctx, "").await.expect("list")), ["b", "logs/a", "other"]);
        assert_eq!(names(list(&scene.ctx, "lo").await.expect("list")), ["logs/a"]);
        let stat = stat(&scene.ctx, &path()).await.expect("stat");
        assert_eq!((stat.length, stat.closed, stat.blocks, stat.incarnation), (3, true, 1, 1));
    });
}
