//! `tenure file`: what goes in comes out, and the exit code tells the rest.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod cli_support;

use cli_support::{Base, Running, expect_code, fed, stderr, stdout, tenure, until};
use serde_json::Value;
use std::io::{Read, Write};
use std::process::Stdio;

fn append(base: &Base, more: &[&str], input: &[u8]) -> std::process::Output {
    let url = base.url();
    let arguments: Vec<&str> = ["file", "append", &url].iter().chain(more).copied().collect();
    fed(tenure(&arguments), input)
}

#[test]
fn appended_bytes_come_back_in_order() {
    let base = Base::new();
    let output = append(&base, &["logs/a", "--create"], b"one\n");
    expect_code(&output, 0);
    expect_code(&append(&base, &["logs/a"], b"two\n"), 0);
    let output = tenure(&["file", "cat", &base.url(), "logs/a"]).output().expect("it runs");
    expect_code(&output, 0);
    assert_eq!(stdout(&output), "one\ntwo\n");
    let cut = ["file", "cat", &base.url(), "logs/a", "--offset", "4"];
    assert_eq!(stdout(&tenure(&cut).output().expect("it runs")), "two\n");
}

#[test]
fn append_tells_how_far_the_file_is_acked() {
    let base = Base::new();
    let output = append(&base, &["a", "--create", "--output", "json"], &[7; 300_000]);
    expect_code(&output, 0);
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["acked_bytes"], 300_000);
    assert_eq!(answer["appended_bytes"], 300_000);
    assert_eq!(answer["closed"], true);
}

#[test]
fn a_local_file_is_appended_whole() {
    let base = Base::new();
    let local = base.path().join("local");
    let bytes: Vec<u8> = (0..1_000_000u32).map(|i| (i % 251) as u8).collect();
    std::fs::write(&local, &bytes).expect("a local file");
    let path = local.display().to_string();
    expect_code(&append(&base, &["big", &path, "--create"], b""), 0);
    let output = tenure(&["file", "cat", &base.url(), "big"]).output().expect("it runs");
    assert!(output.stdout == bytes, "{} bytes of {}", output.stdout.len(), bytes.len());
}

#[test]
fn append_to_nothing_is_refused_and_says_how_to_create() {
    let base = Base::new();
    let output = append(&base, &["none"], b"x");
    expect_code(&output, 1);
    assert!(stderr(&output).contains("--create"), "{}", stderr(&output));
    // The lease that was acquired to find that out is given back before the program ends.
    expect_code(&append(&base, &["--create", "-n", "none"], b"x"), 0);
}

#[test]
fn stat_and_ls_name_their_units() {
    let base = Base::new();
    expect_code(&append(&base, &["logs/a", "--create"], b"12345"), 0);
    expect_code(&append(&base, &["other", "--create"], b"1"), 0);
    let ask = ["file", "stat", &base.url(), "logs/a", "--output", "json"];
    let output = tenure(&ask).output().expect("it runs");
    expect_code(&output, 0);
    let stat: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(stat["length_bytes"], 5);
    assert_eq!(stat["visible_bytes"], 5);
    assert_eq!(stat["state"], "closed");
    let ask = ["file", "ls", &base.url(), "logs", "--output", "jsonl"];
    let output = tenure(&ask).output().expect("it runs");
    let lines = stdout(&output);
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let table = tenure(&["file", "ls", &base.url()]).output().expect("it runs");
    let table = stdout(&table);
    assert!(table.contains("PATH") && table.contains("other"), "{table}");
    assert!(!table.contains('\x1b'), "no colours in a pipe");
}

#[test]
fn a_follower_sees_what_is_appended_and_ends_with_the_file() {
    let base = Base::new();
    expect_code(&append(&base, &["a", "--create", "--leave-open"], b"one\n"), 0);
    let mut command = tenure(&["file", "cat", &base.url(), "a", "--follow"]);
    let mut follower = Running(command.stdout(Stdio::piped()).spawn().expect("it starts"));
    let mut out = follower.0.stdout.take().expect("it was asked for");
    let mut first = [0; 4];
    out.read_exact(&mut first).expect("what is there is shown at once");
    expect_code(&append(&base, &["a"], b"two\n"), 0);
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "two\n");
    until("the follower ends", || matches!(follower.0.try_wait(), Ok(Some(_))));
    assert_eq!(follower.ended(), 0);
}

#[test]
fn a_slow_line_is_stored_while_its_producer_waits() {
    let base = Base::new();
    let mut command = tenure(&["file", "append", &base.url(), "a", "--create"]);
    let mut slow = Running(command.stdin(Stdio::piped()).spawn().expect("it starts"));
    let mut input = slow.0.stdin.take().expect("it was asked for");
    input.write_all(b"one\n").expect("it reads");
    until("the line is visible", || {
        let output = tenure(&["file", "cat", &base.url(), "a"]).output().expect("it runs");
        stdout(&output) == "one\n"
    });
    drop(input);
    until("it ends", || matches!(slow.0.try_wait(), Ok(Some(_))));
    assert_eq!(slow.ended(), 0);
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let base = Base::new();
    expect_code(&append(&base, &["a", "--create"], &vec![b'x'; 4 << 20]), 0);
    let mut command = tenure(&["file", "cat", &base.url(), "a"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut cat = command.spawn().expect("it starts");
    drop(cat.stdout.take());
    let output = cat.wait_with_output().expect("it ends");
    expect_code(&output, 0);
    assert_eq!(stderr(&output), "");
}
