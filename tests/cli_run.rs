//! `tenure run`: the command runs only while its lease is valid.

// How long a real process takes is what one test here measures.
#![allow(clippy::disallowed_methods, missing_docs, clippy::unwrap_used)]

mod cli_support;

use cli_support::{Base, Running, code, expect_code, signal, stderr, stdout, tenure, until};
use std::path::Path;
use std::time::{Duration, Instant};

/// A holder that writes its process id to a file and waits.
fn hold(base: &Base, mark: &Path) -> Running {
    let script = format!("echo $$ > {}; exec sleep 60", mark.display());
    let url = base.url();
    let mut command = tenure(&["run", &url, "r", "--", "sh", "-c", &script]);
    let running = Running(command.spawn().expect("it starts"));
    until("the command runs", || std::fs::read_to_string(mark).is_ok_and(|t| t.ends_with('\n')));
    running
}

fn is_alive(mark: &Path) -> bool {
    let pid = std::fs::read_to_string(mark).expect("it was written");
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn the_exit_code_is_the_commands() {
    let base = Base::new();
    for expected in [0, 7] {
        let script = format!("exit {expected}");
        let output = tenure(&["run", &base.url(), "r", "--", "sh", "-c", &script]).output();
        expect_code(&output.expect("it runs"), expected);
    }
    let output = tenure(&["run", &base.url(), "r", "--", "no-such-program"]).output();
    let output = output.expect("it runs");
    expect_code(&output, 127);
    assert!(stderr(&output).contains("no-such-program"));
}

#[test]
fn the_command_finds_a_growing_token_in_its_environment() {
    let base = Base::new();
    let script = "echo $TENURE_RESOURCE $TENURE_EPOCH $TENURE_DEADLINE_MS";
    let mut last = 0;
    for _ in 0..2 {
        let output = tenure(&["run", &base.url(), "a/b", "--", "sh", "-c", script]).output();
        let output = output.expect("it runs");
        expect_code(&output, 0);
        let text = stdout(&output);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!((words.len(), words[0]), (3, "a/b"), "{text}");
        let epoch: u64 = words[1].parse().expect("a number");
        assert!(epoch > last, "{epoch} after {last}");
        assert!(words[2].parse::<u64>().is_ok_and(|ms| ms > 1_600_000_000_000), "{text}");
        last = epoch;
    }
}

#[test]
fn stdin_reaches_the_command() {
    let base = Base::new();
    let output = cli_support::fed(tenure(&["run", &base.url(), "r", "--", "cat"]), b"hello");
    expect_code(&output, 0);
    assert_eq!(stdout(&output), "hello");
}

#[test]
fn a_held_lease_is_exit_3_with_holder_and_epoch() {
    let base = Base::new();
    let _holder = hold(&base, &base.path().join("mark"));
    for how in [vec!["-n"], vec!["-w", "200ms"]] {
        let url = base.url();
        let arguments = [vec!["run", &url, "r"], how, vec!["--", "true"]].concat();
        let output = tenure(&arguments).output().expect("it runs");
        expect_code(&output, 3);
        let text = stderr(&output);
        assert!(text.contains("holder") && text.contains("epoch"), "{text}");
    }
}

#[test]
fn a_signal_is_passed_on_and_the_lease_is_given_back_at_once() {
    let base = Base::new();
    let mut holder = hold(&base, &base.path().join("mark"));
    signal("TERM", &holder.pid());
    assert_eq!(holder.ended(), 128 + 15);
    let output = tenure(&["run", &base.url(), "r", "-n", "--", "true"]).output();
    expect_code(&output.expect("it runs"), 0);
}

#[test]
fn the_command_is_stopped_when_its_lease_is_taken_away() {
    let base = Base::new();
    let mark = base.path().join("mark");
    let mut holder = hold(&base, &mark);
    let order = ["lease", "break", &base.url(), "r", "--observe", "0"];
    expect_code(&tenure(&order).output().expect("it runs"), 0);
    assert_eq!(holder.ended(), 4);
    assert!(!is_alive(&mark), "nothing of it is left");
}

#[test]
fn the_command_is_gone_before_the_deadline_when_the_store_is() {
    let base = Base::new();
    let marks = Base::new();
    let mark = marks.path().join("mark");
    let mut holder = hold(&base, &mark);
    let gone = Instant::now();
    std::fs::rename(base.path(), marks.path().join("away")).expect("the store goes away");
    let ended = holder.ended();
    let took = gone.elapsed();
    assert_eq!(ended, 4);
    // Soft is 1 s and counts from the last renewal, which was before the store went away.
    assert!(took < Duration::from_millis(1_300), "stopped after {took:?}");
    assert!(!is_alive(&mark), "nothing of it is left");
}

#[cfg(target_os = "linux")]
#[test]
fn the_command_does_not_outlive_its_guardian() {
    let base = Base::new();
    let mark = base.path().join("mark");
    let mut holder = hold(&base, &mark);
    holder.0.kill().expect("it runs");
    holder.ended();
    until("the command is gone", || !is_alive(&mark));
}

#[test]
fn a_grace_that_cannot_be_kept_is_refused() {
    let base = Base::new();
    let output = tenure(&["run", &base.url(), "r", "--grace", "10s", "--", "true"]).output();
    let output = output.expect("it runs");
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("--grace"));
}
