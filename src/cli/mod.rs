//! The command line: the same nouns and verbs as the library, for people and for scripts.
//!
//! Question: what does an operator type, and what may a script conclude from the answer? Rule: the
//! answer goes to stdout (a table, or JSON with units in its names), everything else to stderr, and
//! the exit code alone tells a script what to do next (`exit`). Why not print from the library: a
//! library that prints cannot be embedded. What is not here: any protocol; a command is a few calls
//! of `tenure::Client` and a table.

// A program, not the library: it may ask for the time of day, sleep in a thread of its own, and
// know its process id.
#![allow(clippy::disallowed_methods)]

mod append;
mod args;
mod demo;
mod doctor;
mod exec;
mod exit;
mod file;
mod lease;
mod run;
mod settings;
mod show;
mod units;

use args::{Args, Command, FileCommand, LeaseCommand};
use clap::Parser;
use exit::Failure;
use show::Show;
use std::process::ExitCode;

/// Parses the arguments, runs one command, and turns its outcome into an exit code.
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(refusal) => {
            let wrong = refusal.use_stderr();
            let _ = refusal.print();
            return if wrong { ExitCode::from(exit::USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let show = Show::new(args.output, args.color);
    match dispatch(args, &show) {
        Ok(code) => code,
        Err(failure) => failure.report(&show),
    }
}

/// Runs the command on this thread; the library works on runtimes of its own.
fn dispatch(args: Args, show: &Show) -> Result<ExitCode, Failure> {
    if let Command::Exec { parent, command } = &args.command {
        return Err(exec::become_command(*parent, command));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::io("a runtime for this command", e))?;
    let config = settings::config(&args.set)?;
    runtime.block_on(async {
        match args.command {
            Command::Doctor { url } => doctor::doctor(&url, config, show).await,
            Command::Run(run) => run::run(run, config).await,
            Command::Lease { command } => match command {
                LeaseCommand::Ls { url, kind } => lease::ls(&url, kind, config, show).await,
                LeaseCommand::Show { url, name, kind } => {
                    lease::show(&url, &name, kind, config, show).await
                }
                LeaseCommand::Break(order) => lease::break_lease(order, config, show).await,
            },
            Command::File { command } => match command {
                FileCommand::Append(order) => append::append(order, config, show).await,
                FileCommand::Cat(order) => file::cat(order, config, show).await,
                FileCommand::Ls { url, prefix } => file::ls(&url, &prefix, config, show).await,
                FileCommand::Stat { url, path } => file::stat(&url, &path, config, show).await,
            },
            Command::Demo(order) => demo::demo(&order, config, &args.set, show).await,
            Command::DemoWriter(order) => demo::writer::write(order, config).await,
            Command::DemoCheck(order) => demo::check::check(order, config).await,
            Command::Exec { .. } => Ok(ExitCode::SUCCESS),
        }
    })
}
