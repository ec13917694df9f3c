//! Exit codes: the one word a script reads.
//!
//! Rule: a status has one code, the same in every command; text on stderr says what happened, to
//! which resource, and what to do about it. Why a code for an unknown outcome: a script that takes
//! it for a failure writes twice, one that takes it for success writes never.

use super::show::Show;
use std::io::ErrorKind;
use std::process::ExitCode;
use tenure::{Error, Status};

/// The call is wrong, or names something that is not there.
pub const USAGE: u8 = 1;
/// The store does not answer, or is not fit.
pub const STORE: u8 = 2;
/// Somebody else holds it.
pub const HELD: u8 = 3;
/// The lease was lost while running.
pub const LOST: u8 = 4;
/// A newer holder shut this writer out.
pub const FENCED: u8 = 5;
/// It may or may not have happened.
pub const UNKNOWN: u8 = 6;
/// Not recovered yet.
pub const RECOVERING: u8 = 7;
/// A check of the demo failed.
pub const CHECK: u8 = 8;
/// A bug of this program (EX_SOFTWARE).
pub const BUG: u8 = 70;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// The library says so.
    Library(Error),
    /// This machine says so: what was tried, and the error.
    Machine(String, std::io::Error),
    /// The answer has no reader any more (a closed pipe): nothing to say.
    Unread,
    /// This command says so, with its code.
    Own(u8, String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Library(error)
    }
}

impl Failure {
    /// A failed system call; a closed pipe is silent.
    pub fn io(what: impl Into<String>, error: std::io::Error) -> Failure {
        match error.kind() {
            ErrorKind::BrokenPipe => Failure::Unread,
            _ => Failure::Machine(what.into(), error),
        }
    }

    /// A failure of this command's own.
    pub fn own(code: u8, text: impl Into<String>) -> Failure {
        Failure::Own(code, text.into())
    }

    /// Tells people on stderr and scripts by the code.
    pub fn report(&self, show: &Show) -> ExitCode {
        match self {
            Failure::Unread => return ExitCode::SUCCESS,
            Failure::Library(error) => {
                show.error(&format!("{error:?}"));
                if let Some(hint) = hint(error) {
                    show.hint(&hint);
                }
            }
            Failure::Machine(what, error) => show.error(&format!("{what}: {error}")),
            Failure::Own(_, text) => show.error(text),
        }
        ExitCode::from(self.code())
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Library(error) => code(error),
            Failure::Machine(..) => USAGE,
            Failure::Unread => 0,
            Failure::Own(code, _) => *code,
        }
    }
}

/// The exit code of a library error.
pub fn code(error: &Error) -> u8 {
    match error.status() {
        Status::Ok => 0,
        Status::InvalidArgument
        | Status::Closed
        | Status::Forked
        | Status::Reentrant
        | Status::Unsupported
        | Status::NotFound
        | Status::AlreadyExists => USAGE,
        Status::StoreUnavailable
        | Status::StoreUnsupported
        | Status::AccessDenied
        | Status::Corrupt
        | Status::NoSpace
        | Status::BucketNotFound => STORE,
        Status::NotOwner | Status::LeaseHeld | Status::WouldBlock => HELD,
        // A wait that ended at a holder is "held"; a wait for an answer leaves its outcome open.
        Status::TimedOut | Status::Cancelled if error.holder().is_some() => HELD,
        Status::TimedOut | Status::Cancelled | Status::OutcomeUnknown => UNKNOWN,
        Status::LeaseSuspended | Status::LeaseLost => LOST,
        Status::Fenced => FENCED,
        Status::ViewUnknown | Status::Recovering => RECOVERING,
        Status::Internal => BUG,
    }
}

/// What a person can do about it.
fn hint(error: &Error) -> Option<String> {
    let text = match error.status() {
        Status::LeaseHeld => match error.retry_after_hint() {
            Some(wait) => format!(
                "a silent holder may be replaced in {}; wait with -w, or see `tenure lease show`",
                super::units::duration(wait)
            ),
            None => "wait with -w, or see who holds it with `tenure lease show`".into(),
        },
        Status::NotFound => "see what is there with `tenure file ls` and `tenure lease ls`; \
             `file append --create` makes a new file"
            .into(),
        Status::StoreUnavailable => {
            "nothing was decided; check the network and the URL, then `tenure doctor URL`".into()
        }
        Status::StoreUnsupported => "see every property with `tenure doctor URL`".into(),
        Status::AccessDenied => {
            "check the credentials (the cloud's standard variables) and the bucket's policy".into()
        }
        Status::BucketNotFound => "create the bucket, container or base directory first".into(),
        Status::Fenced | Status::LeaseLost => {
            "a newer holder writes now; acked bytes are safe, the rest was not stored".into()
        }
        Status::OutcomeUnknown | Status::TimedOut => {
            "it may or may not have happened; look (`tenure file stat`) before doing it again"
                .into()
        }
        Status::Recovering => "wait a moment and try again".into(),
        Status::Corrupt => "nothing was repaired; the damaged object is named above".into(),
        _ => return None,
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_code_and_only_ok_is_zero() {
        for status in Status::ALL {
            let code = code(&Error::new(*status, "x"));
            assert_eq!(code == 0, *status == Status::Ok, "{status}");
        }
    }

    #[test]
    fn a_wait_that_ended_at_a_holder_is_held() {
        let held = Error::new(Status::TimedOut, "waited").held_by("node-1");
        assert_eq!(code(&held), HELD);
        assert_eq!(code(&Error::new(Status::TimedOut, "waited")), UNKNOWN);
    }
}
