//! `tenure lease`: who holds what, told to people and to programs.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

mod cli_support;

use cli_support::{Base, Running, expect_code, stderr, stdout, tenure, until};
use serde_json::Value;

fn show(base: &Base, name: &str) -> Option<Value> {
    let ask = ["lease", "show", &base.url(), name, "--output", "json"];
    let output = tenure(&ask).output().expect("it runs");
    serde_json::from_slice(&output.stdout).ok()
}

fn hold(base: &Base, name: &str) -> Running {
    let url = base.url();
    let mut command = tenure(&["run", &url, name, "--set", "node=holder", "--", "sleep", "60"]);
    let running = Running(command.spawn().expect("it starts"));
    until("the lease is held", || show(base, name).is_some_and(|l| l["held"] == true));
    running
}

#[test]
fn a_holder_is_shown_with_its_epoch_and_its_age() {
    let base = Base::new();
    let _holder = hold(&base, "jobs/nightly");
    let lease = show(&base, "jobs/nightly").expect("it is there");
    assert_eq!(lease["state"], "held");
    assert_eq!(lease["holder"], "holder");
    assert_eq!(lease["soft_ms"], 1_000);
    assert!(lease["epoch"].as_u64().is_some_and(|e| e > 0));
    let output = tenure(&["lease", "ls", &base.url()]).output().expect("it runs");
    expect_code(&output, 0);
    let table = stdout(&output);
    assert!(table.contains("HOLDER") && table.contains("jobs/nightly"), "{table}");
}

#[test]
fn a_record_that_is_not_there_is_an_error_and_an_empty_list_is_none() {
    let base = Base::new();
    expect_code(&tenure(&["lease", "show", &base.url(), "none"]).output().expect("it runs"), 1);
    let output = tenure(&["lease", "ls", &base.url(), "--output", "json"]).output();
    let output = output.expect("it runs");
    expect_code(&output, 0);
    assert_eq!(stdout(&output).trim(), "[]");
}

#[test]
fn a_living_holder_is_not_broken_while_it_is_watched() {
    let base = Base::new();
    let _holder = hold(&base, "r");
    let order = ["lease", "break", &base.url(), "r", "--observe", "1500ms"];
    let output = tenure(&order).output().expect("it runs");
    expect_code(&output, 3);
    assert!(stderr(&output).contains("holder"), "{}", stderr(&output));
    assert_eq!(show(&base, "r").expect("it is there")["state"], "held");
}

#[test]
fn a_dead_holder_is_broken_with_a_note() {
    let base = Base::new();
    let mut holder = hold(&base, "r");
    let before = show(&base, "r").expect("it is there")["epoch"].as_u64();
    holder.0.kill().expect("it runs");
    holder.ended();
    let order = ["lease", "break", &base.url(), "r", "--observe", "700ms", "--note", "disk died"];
    let output = tenure(&order).output().expect("it runs");
    expect_code(&output, 0);
    let lease = show(&base, "r").expect("it is there");
    assert_eq!(lease["held"], false);
    assert_eq!(lease["note"], "disk died");
    assert!(lease["epoch"].as_u64() > before, "an epoch is never used twice");
}
