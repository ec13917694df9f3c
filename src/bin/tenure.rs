//! The operator's tool. Everything is in `src/cli`; it uses the library's public surface only.
#![deny(unsafe_code)]

#[path = "../cli/mod.rs"]
mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
