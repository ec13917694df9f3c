//! The child's side of `run`: bound to its parent's life before it becomes the command.
//!
//! Why a step in between: a command whose `tenure run` was killed would go on without a lease (the
//! classic wrapper bug). The kernel's parent-death signal closes that hole, must be set in the
//! child, and survives exec; setting it between fork and exec needs unsafe code, a second exec does
//! not.

use super::exit::Failure;
use rustix::process::getppid;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The shell's codes for a command that cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// Becomes the command; returns only if that fails.
pub fn become_command(parent: i32, command: &[OsString]) -> Failure {
    if let Err(error) = die_with_parent(parent) {
        return error;
    }
    let Some((program, arguments)) = command.split_first() else {
        return Failure::own(NOT_FOUND, "no command given");
    };
    let error = Command::new(program).args(arguments).exec();
    let code = match error.kind() {
        std::io::ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_EXECUTABLE,
    };
    Failure::own(code, format!("{}: {error}", program.to_string_lossy()))
}

/// Has the kernel kill this process when its parent is gone. Linux only; elsewhere only an orderly
/// end of the parent ends the child.
pub fn die_with_parent(parent: i32) -> Result<(), Failure> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|e| Failure::io("parent-death signal", e.into()))?;
    // The parent may have died before the kernel was told.
    match getppid() {
        Some(now) if now.as_raw_nonzero().get() == parent => Ok(()),
        _ => Err(Failure::own(super::exit::LOST, "the parent is gone; nothing was started")),
    }
}
