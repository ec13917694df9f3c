//! What every test of the command line needs: the program, a base of its own, and its answers.

// Each test file uses its part. Real processes take real time, and have process ids.
#![allow(dead_code, clippy::disallowed_methods)]

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The program with arguments, blind to this machine's configuration.
pub fn tenure(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TENURE_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).stdin(Stdio::null()).env("TENURE_SOFT_MS", "1000");
    command
}

/// A base of its own, removed at the end.
pub struct Base(tempfile::TempDir);

impl Base {
    /// An empty one.
    pub fn new() -> Base {
        Base(tempfile::tempdir().expect("a temporary directory"))
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("file://{}", self.path().display())
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Runs to the end, with something on stdin.
pub fn fed(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("it was asked for");
    stdin.write_all(input).expect("it reads its input");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

/// Its exit code.
pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

/// Its stdout as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Its stderr as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Fails with everything the program said unless it ended with this code.
#[track_caller]
pub fn expect_code(output: &Output, expected: i32) {
    let (out, err) = (stdout(output), stderr(output));
    assert_eq!(code(output), expected, "\nstdout:\n{out}\nstderr:\n{err}");
}

/// Waits until something is so, looking often; fails after ten seconds.
#[track_caller]
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{what}: not within 10 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A process that is ended with the test, whatever happens.
pub struct Running(pub Child);

impl Running {
    /// Its process id, for `kill`.
    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> i32 {
        let status = self.0.wait().expect("it ends");
        status.code().unwrap_or(-1)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal by name.
pub fn signal(name: &str, pid: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), pid]).status();
    assert!(sent.expect("kill is there").success(), "kill -{name} {pid}");
}
