//! The demo is a test: it passes on the library as it is, and fails on one without the seal.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod cli_support;

use cli_support::{expect_code, stderr, stdout, tenure};
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
    // Whether the frozen writer's requests outrun the news of its lost lease is a race it usually
    // wins: one play in three is enough to show what the seal is for.
    let (output, story) = (0..3)
        .map(|_| play(Some("seal")))
        .find(|(_, story)| story["result"]["verdict"] == "fail")
        .expect("the checker notices that the seal is missing");
    expect_code(&output, 8);
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
