//! A forked child: every old handle says so and frees without input or output; a new client works.
#![allow(missing_docs, unsafe_code, clippy::unwrap_used, clippy::disallowed_methods)]

use std::time::Duration;
use tenure::drive::authority::Validity;
use tenure::{Client, Config, Status};

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Runs `child` in a forked process and returns its exit code.
fn in_child(child: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child runs only the library's own fork-aware code and leaves by `_exit`.
    match unsafe { libc::fork() } {
        0 => {
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(99);
            // SAFETY: leaves without running the parent's destructors.
            unsafe { libc::_exit(code) }
        }
        pid => {
            let mut status = 0;
            // SAFETY: waits for the child made above.
            assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
            assert!(libc::WIFEXITED(status), "the child was killed: {status}");
            libc::WEXITSTATUS(status)
        }
    }
}

#[test]
fn a_child_is_refused_frees_quietly_and_can_open_its_own_client() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("file://{}", dir.path().display());
    let mut config = Config::default();
    config.set("limits", "fast").unwrap();
    let client = Client::connect(&url, config.clone()).unwrap();
    let lease = block_on(client.acquire("r", None)).unwrap();
    let before = lease.epoch();
    // Borrowed by the child's part, not moved into it: the parent goes on holding both.
    let (mut held, mut opened) = (Some(lease), Some(client));
    let code = in_child(|| {
        let (lease, client) = (held.take().unwrap(), opened.take().unwrap());
        if !client.is_forked() || !matches!(lease.check(), Validity::Lost) {
            return 1;
        }
        let refused = block_on(client.acquire("other", Some(Duration::ZERO))).unwrap_err();
        if refused.status() != Status::Forked {
            return 2;
        }
        drop(lease);
        drop(client);
        let own = Client::connect(&url, config.clone()).unwrap();
        match block_on(own.acquire("r", Some(Duration::ZERO))) {
            // The parent's lease is still the parent's: the child let nothing go.
            Err(held) if held.status() == Status::LeaseHeld => {}
            _ => return 3,
        }
        match block_on(own.acquire("mine", Some(Duration::from_secs(20)))) {
            Ok(lease) if matches!(lease.check(), Validity::Valid(_)) => 0,
            _ => 4,
        }
    });
    assert_eq!(code, 0);
    let again = block_on(
        Client::connect(&url, Config::default()).unwrap().inspect(tenure::Kind::Lease, "r"),
    )
    .unwrap();
    assert!(again.held && again.epoch == before);
    assert!(matches!(held.unwrap().check(), Validity::Valid(_)), "the parent is undisturbed");
}
