//! Writing: what is sent, what is acked, what happens when the store does not answer (PROTOCOL §5).

mod file;
use file::*;

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
