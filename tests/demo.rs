//! The demo is a test: it passes on the library as it is, and fails on one without the seal.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod cli_support;

use cli_support::{Base, Running, expect_code, signal, stderr, stdout, tenure, until};
use serde_json::Value;
use std::process::Output;

fn play(mutant: Option<&str>) -> (Output, Value) {
    let mut command = tenure(&["demo", "--size", "6MiB", "--output", "json"]);
    command.env_remove("TENURE_SOFT_MS");
    if let Some(lacking) = mutant {
        command.env("TENURE_MUTANT", lacking);
    }
    let output = command.output().expect("it runs");
    let story = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}\n{}\n{}", stdout(&output), stderr(&output)));
    (output, story)
}

#[test]
fn a_killed_and_a_frozen_writer_lose_nothing_and_add_nothing() {
    let (output, story) = play(None);
    expect_code(&output, 0);
    assert_eq!(story["result"]["verdict"], "pass");
    let checks = story["result"]["checks"].as_array().expect("checks");
    assert!(checks.len() >= 12, "{checks:#?}");
    let words: Vec<&str> = story["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter_map(|e| e["event"].as_str())
        .collect();
    for word in ["HELD", "SIGKILL", "SIGSTOP", "SIGCONT", "FENCED", "CLOSED"] {
        assert!(words.contains(&word), "{word} is part of the story: {words:?}");
    }
}

#[test]
fn without_the_seal_the_checker_finds_acked_bytes_missing() {
    // No luck needed: the writer is frozen while every slot waits for an answer (`demo::slots`).
    let (output, story) = play(Some("seal"));
    expect_code(&output, 8);
    assert_eq!(story["result"]["verdict"], "fail");
    let failed = story["result"]["failed"].as_array().expect("failed checks");
    let named = |f: &Value| f.as_str().is_some_and(|s| s.contains("every acked byte"));
    assert!(failed.iter().any(named), "{failed:#?}");
}

#[test]
fn people_see_a_timeline_and_a_verdict() {
    let output = tenure(&["demo", "--size", "1MiB"]).env_remove("TENURE_SOFT_MS").output();
    let output = output.expect("it runs");
    expect_code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("ADMITTED") && text.contains("PASS"), "{text}");
    assert!(!text.contains('\x1b'), "no colours in a pipe");
}

/// Processes that have this path on their command line.
#[cfg(target_os = "linux")]
fn processes_of(base: &Base) -> usize {
    let path = base.path().display().to_string();
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    all.filter(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&path)
    })
    .count()
}

/// A demo that has its three writers running, in a temporary directory of its own.
#[cfg(target_os = "linux")]
fn begun() -> (Base, Running) {
    let base = Base::new();
    let mut command = tenure(&["demo", "--size", "1MiB"]);
    command.env_remove("TENURE_SOFT_MS").env("TMPDIR", base.path());
    let running = Running(command.stdout(std::process::Stdio::null()).spawn().expect("it starts"));
    until("three writers run", || processes_of(&base) == 3);
    (base, running)
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_demo_leaves_no_process_and_no_file() {
    let (base, mut demo) = begun();
    signal("INT", &demo.pid());
    assert_eq!(demo.ended(), 130);
    assert_eq!(processes_of(&base), 0);
    assert_eq!(std::fs::read_dir(base.path()).expect("it is there").count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_demo_leaves_no_process() {
    let (base, mut demo) = begun();
    demo.0.kill().expect("it runs");
    demo.ended();
    until("its writers are gone", || processes_of(&base) == 0);
}
