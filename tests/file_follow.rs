//! Following a file while it is written (PROTOCOL §6).
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod file;
use file::*;

#[test]
fn a_follower_sees_bytes_soon_after_they_land() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        let reader = scene.reader().await;
        let waits = tokio::spawn(async move {
            let length = reader.wait(5, None).await.expect("appeared");
            (length, reader.read_at(0, 100).await.expect("read"))
        });
        settle().await;
        write_acked(&writer, b"hello").await;
        let (length, bytes) = waits.await.expect("ran");
        assert_eq!((length, &bytes[..]), (5, &b"hello"[..]));
    });
}

#[test]
fn following_lists_once_and_then_gets_the_next_segment() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        let reader = scene.reader().await;
        scene.sim.forget();
        for i in 1..=20 {
            write_acked(&writer, b"x").await;
            assert_eq!(reader.wait(i, LONG).await.expect("appeared"), i);
        }
        let lists = scene.sim.count(Match::list(""));
        assert!(lists <= 20, "{lists} LISTs");
        scene.sim.forget();
        let idle = reader.wait(1_000, Some(Duration::from_secs(60))).await;
        assert_eq!(idle.unwrap_err().status(), Status::TimedOut);
        assert!(scene.sim.count(Match::list("")) <= 1);
        let gets = scene.sim.count(Match::get(""));
        assert!((40..200).contains(&gets), "{gets} GETs in an idle minute");
    });
}

#[test]
fn a_follower_learns_of_a_close() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        let reader = Arc::new(scene.reader().await);
        let follower = reader.clone();
        let waits = tokio::spawn(async move { follower.wait(1_000, None).await });
        write_acked(&writer, b"short").await;
        settle().await;
        writer.close(LONG).await.expect("closed");
        assert_eq!(waits.await.expect("ran").expect("closed"), 5);
        assert!(reader.is_closed());
    });
}

#[test]
fn a_follower_goes_on_with_the_next_writer() {
    run(async {
        let scene = Scene::new();
        let first = scene.create().await;
        write_acked(&first, b"one ").await;
        let reader = Arc::new(scene.reader().await);
        let follower = reader.clone();
        let waits = tokio::spawn(async move { follower.wait(8, None).await });
        tokio::time::sleep(Duration::from_secs(5)).await;
        let second = scene.append().await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        write_acked(&second, b"two ").await;
        assert_eq!(waits.await.expect("ran").expect("appeared"), 8);
        assert_eq!(&reader.read_at(0, 8).await.expect("read")[..], b"one two ");
    });
}

#[test]
fn a_follower_rides_out_a_silent_store() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        let reader = scene.reader().await;
        scene.sim.always(Match::get(""), Fault::Lost);
        let waits = tokio::spawn(async move { reader.wait(1, None).await });
        write_acked(&writer, b"x").await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        scene.sim.heal();
        assert_eq!(waits.await.expect("ran").expect("appeared"), 1);
    });
}

#[test]
fn a_wait_of_zero_polls() {
    run(async {
        let scene = Scene::new();
        let writer = scene.create().await;
        write_acked(&writer, b"x").await;
        let reader = scene.reader().await;
        assert_eq!(reader.wait(1, Some(Duration::ZERO)).await.expect("there"), 1);
        let none = reader.wait(2, Some(Duration::ZERO)).await;
        assert_eq!(none.unwrap_err().status(), Status::TimedOut);
    });
}
