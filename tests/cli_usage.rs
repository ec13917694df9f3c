//! What the command line answers to a call that is wrong, before any store is asked.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod cli_support;

use cli_support::{Base, code, expect_code, stderr, stdout, tenure};

#[test]
fn a_wrong_word_is_usage_and_not_the_store() {
    let output = tenure(&["leese", "ls"]).output().expect("it runs");
    expect_code(&output, 1);
    assert!(stderr(&output).contains("leese"), "the word is quoted");
    assert!(stdout(&output).is_empty(), "stdout is for answers");
}

#[test]
fn help_is_an_answer() {
    for arguments in [vec!["--help"], vec!["run", "--help"], vec!["file", "append", "--help"]] {
        let output = tenure(&arguments).output().expect("it runs");
        expect_code(&output, 0);
        assert!(stdout(&output).contains("Usage:"));
    }
    let output = tenure(&["run", "--help"]).output().expect("it runs");
    for word in ["TENURE_EPOCH", "TENURE_DEADLINE_MS", "SIGTERM"] {
        assert!(stdout(&output).contains(word), "{word} is documented where it is used");
    }
}

#[test]
fn an_unknown_key_is_refused_with_the_known_ones() {
    let base = Base::new();
    let output = tenure(&["lease", "ls", &base.url(), "--set", "softt_ms=5"]).output();
    let output = output.expect("it runs");
    expect_code(&output, 1);
    let text = stderr(&output);
    assert!(text.contains("softt_ms") && text.contains("soft_ms"), "{text}");
}

#[test]
fn set_wins_over_the_environment_and_impossible_limits_are_refused() {
    let base = Base::new();
    let mut command = tenure(&["lease", "ls", &base.url(), "--set", "soft_ms=2000"]);
    let output = command.env("TENURE_RENEW_MS", "1500").output().expect("it runs");
    // soft_ms moves renew_ms, so the environment's renew_ms is gone and this is possible.
    assert_ne!(code(&output), 1, "{}", stderr(&output));
    let mut command = tenure(&["lease", "ls", &base.url(), "--set", "renew_ms=900"]);
    let output = command.env("TENURE_SOFT_MS", "1000").output().expect("it runs");
    expect_code(&output, 1);
    assert!(stderr(&output).contains("renew_ms"));
}

#[test]
fn an_unknown_scheme_says_which_ones_there_are() {
    let output = tenure(&["doctor", "ftp://host/base"]).output().expect("it runs");
    expect_code(&output, 1);
    assert!(stderr(&output).contains("s3"), "{}", stderr(&output));
}

#[test]
fn durations_need_their_unit() {
    let output = tenure(&["run", "memory://", "r", "-w", "5", "--", "true"]).output();
    let output = output.expect("it runs");
    expect_code(&output, 1);
    assert!(stderr(&output).contains("5s"), "an example is given: {}", stderr(&output));
}

#[test]
fn doctor_names_every_property_of_a_fit_store() {
    let base = Base::new();
    let output = tenure(&["doctor", &base.url()]).output().expect("it runs");
    expect_code(&output, 0);
    let text = stdout(&output);
    for property in ["create-only", "swap-stale", "race-of-8", "list-sees-put", "last-modified"] {
        assert!(text.contains(property), "{property}: {text}");
    }
}
