//! The protocol's models: every reachable state of small worlds, searched.
//!
//! The protocol was searched by machine before it was written as code; `docs/protocol.md` says it
//! in words. Here each model is a state, the steps it can take, and the properties no state may
//! break. Requests are sent, land and are answered in separate steps; a pause is a client that
//! takes no step; a PUT that was given up may land at any later time.
//!
//! `cargo test --test model` searches the small set (a few million states). `TENURE_MODEL=full`
//! adds the large configurations. `TENURE_MODEL_TRACE=1` prints the steps to each violation. An
//! argument selects the runs whose name contains it.

#![allow(clippy::unwrap_used, reason = "a model that meets an impossible state must stop")]

mod file_data;
mod file_life;
mod lease;
mod run;
mod seed;
mod settle_notice_handover;

use run::{Outcome, Run};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let full = std::env::var("TENURE_MODEL").is_ok_and(|v| v == "full");
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let chosen = |run: &Run| {
        (full || !run.large) && (wanted.is_empty() || wanted.iter().any(|w| run.name.contains(w)))
    };
    let models = [
        lease::runs(),
        settle_notice_handover::runs(),
        file_data::runs(),
        file_life::runs(),
        seed::runs(),
    ];
    let runs: Vec<Run> = models.into_iter().flatten().filter(chosen).collect();
    let failed = search_all(&runs);
    println!("{} passed, {failed} failed", runs.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Searches on every core, prints each row as it comes, and counts the failures.
fn search_all(runs: &[Run]) -> usize {
    let next = AtomicUsize::new(0);
    let failed = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores.min(runs.len()) {
            scope.spawn(|| {
                while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (outcome, took) = timed(run);
                    print_row(run, &outcome, took);
                    failed.fetch_add(usize::from(!outcome.passed), Ordering::Relaxed);
                }
            });
        }
    });
    failed.into_inner()
}

#[allow(clippy::disallowed_methods, reason = "the table tells how long a search took")]
fn timed(run: &Run) -> (Outcome, Duration) {
    let started = Instant::now();
    let outcome = run.go();
    (outcome, started.elapsed())
}

fn print_row(run: &Run, outcome: &Outcome, took: Duration) {
    let verdict = if outcome.passed { "ok" } else { "FAILED" };
    let (name, states, note) = (run.name, outcome.states, &outcome.note);
    println!("{verdict:6} {name:62} {states:9} states {:>8}  {note}", run::seconds(took));
}
