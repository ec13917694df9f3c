//! The one error type: what happened, to which resource, and what the caller may conclude.
//!
//! Rule: a [`Status`] tells the caller what to do; fields carry the facts; the message is one
//! lower-case clause without its source (the source is in the chain). An unknown outcome is its own
//! status, never dressed as success or as failure. What is not here: text for people beyond one
//! clause, and codes of any other library.

use super::Epoch;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! statuses {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal;)*) => {
        /// What a call's outcome obliges the caller to do. Numbers are append-only and the same in
        /// every language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum Status { $($(#[$doc])* $variant = $code,)* }

        impl Status {
            /// Every status, in order of number.
            pub const ALL: &[Status] = &[$(Status::$variant),*];

            /// The name as the C header spells it, without the prefix.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Status::$variant => $name,)* }
            }
        }
    };
}

statuses! {
    /// Done as promised.
    Ok = 0, "OK";
    /// The call itself is wrong; the message names argument, value and what was expected.
    InvalidArgument = 1, "INVALID_ARGUMENT";
    /// The handle was closed before.
    Closed = 2, "CLOSED";
    /// The process was forked; this handle belongs to the parent.
    Forked = 3, "FORKED";
    /// Called from inside one of the library's own callbacks.
    Reentrant = 4, "REENTRANT";
    /// This library or this store does not offer it.
    Unsupported = 5, "UNSUPPORTED";
    /// There is no such file, lease or object.
    NotFound = 6, "NOT_FOUND";
    /// It exists and the call must not replace it.
    AlreadyExists = 7, "ALREADY_EXISTS";
    /// The deadline passed; nothing was undone, call again.
    TimedOut = 20, "TIMED_OUT";
    /// The wait was cancelled; nothing was undone.
    Cancelled = 21, "CANCELLED";
    /// It would have to wait.
    WouldBlock = 22, "WOULD_BLOCK";
    /// Placement gives this resource to another node.
    NotOwner = 40, "NOT_OWNER";
    /// Somebody else holds the lease; holder and retry-after are told.
    LeaseHeld = 41, "LEASE_HELD";
    /// Our session lapsed; the lease may come back.
    LeaseSuspended = 42, "LEASE_SUSPENDED";
    /// The lease is gone for good.
    LeaseLost = 43, "LEASE_LOST";
    /// A newer holder shut this writer out; it is over.
    Fenced = 44, "FENCED";
    /// The fleet's liveness is unknown: nobody may be promoted.
    ViewUnknown = 45, "VIEW_UNKNOWN";
    /// The resource is being recovered; try again soon.
    Recovering = 46, "RECOVERING";
    /// The store does not answer.
    StoreUnavailable = 60, "STORE_UNAVAILABLE";
    /// The store ignores a condition this library depends on; the property is named.
    StoreUnsupported = 61, "STORE_UNSUPPORTED";
    /// The store refuses these credentials.
    AccessDenied = 62, "ACCESS_DENIED";
    /// A stored object is damaged; its name is told; nothing was repaired.
    Corrupt = 63, "CORRUPT";
    /// It may or may not have happened.
    OutcomeUnknown = 64, "OUTCOME_UNKNOWN";
    /// The store is full.
    NoSpace = 65, "NO_SPACE";
    /// The bucket or container does not exist, or the base is not a directory.
    BucketNotFound = 66, "BUCKET_NOT_FOUND";
    /// A bug of this library.
    Internal = 99, "INTERNAL";
}

impl Status {
    /// The number of the C header.
    #[must_use]
    pub fn code(self) -> i32 {
        self as i32
    }

    /// The status with this number, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Status> {
        Self::ALL.iter().copied().find(|s| s.code() == code)
    }

    /// Whether the same call may succeed later without anything else being done.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        use Status::*;
        matches!(
            self,
            TimedOut
                | Cancelled
                | WouldBlock
                | NotOwner
                | LeaseHeld
                | LeaseSuspended
                | ViewUnknown
                | Recovering
                | StoreUnavailable
                | OutcomeUnknown
        )
    }

    /// Whether this writer is over for good because its authority went to somebody else or was
    /// taken away.
    #[must_use]
    pub fn is_fenced(self) -> bool {
        matches!(self, Status::Fenced | Status::LeaseLost)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What went wrong. Cheap to clone: the first error of a writer is kept and told again.
#[derive(Clone)]
pub struct Error(Box<Facts>);

#[derive(Clone)]
struct Facts {
    status: Status,
    message: String,
    resource: Option<String>,
    holder: Option<String>,
    epoch: Option<Epoch>,
    retry_after: Option<Duration>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error with its one clause, lower-case, naming what was expected and what came.
    pub fn new(status: Status, message: impl Into<String>) -> Error {
        let message = message.into();
        Error(Box::new(Facts {
            status,
            message,
            resource: None,
            holder: None,
            epoch: None,
            retry_after: None,
            source: None,
        }))
    }

    /// Names the resource or object concerned.
    #[must_use]
    pub fn on(mut self, resource: impl fmt::Display) -> Error {
        self.0.resource = Some(resource.to_string());
        self
    }

    /// Names who holds the resource.
    #[must_use]
    pub fn held_by(mut self, holder: impl fmt::Display) -> Error {
        self.0.holder = Some(holder.to_string());
        self
    }

    /// Tells the epoch in force.
    #[must_use]
    pub fn at(mut self, epoch: Epoch) -> Error {
        self.0.epoch = Some(epoch);
        self
    }

    /// Tells when trying again makes sense.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Error {
        self.0.retry_after = Some(wait);
        self
    }

    /// Keeps the cause. It must not contain secrets: `store/` redacts before it gets here.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// The same facts under another status.
    #[must_use]
    pub fn with_status(mut self, status: Status) -> Error {
        self.0.status = status;
        self
    }

    /// What the caller must do.
    #[must_use]
    pub fn status(&self) -> Status {
        self.0.status
    }

    /// The clause alone, without resource, holder and epoch.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The resource or object concerned.
    #[must_use]
    pub fn resource(&self) -> Option<&str> {
        self.0.resource.as_deref()
    }

    /// Who holds it, as node and session.
    #[must_use]
    pub fn holder(&self) -> Option<&str> {
        self.0.holder.as_deref()
    }

    /// The epoch in force.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        self.0.epoch
    }

    /// How long to wait before trying again.
    #[must_use]
    pub fn retry_after_hint(&self) -> Option<Duration> {
        self.0.retry_after
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let e = &self.0;
        if let Some(resource) = &e.resource {
            write!(f, "{resource}: ")?;
        }
        f.write_str(&e.message)?;
        if let Some(holder) = &e.holder {
            write!(f, " (holder {holder}")?;
            if let Some(epoch) = e.epoch {
                write!(f, ", epoch {epoch}")?;
            }
            f.write_str(")")?;
        } else if let Some(epoch) = e.epoch {
            write!(f, " (epoch {epoch})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.0.status)?;
        let mut cause = std::error::Error::source(self);
        while let Some(next) = cause {
            write!(f, ": {next}")?;
            cause = next.source();
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|s| s.as_ref() as &(dyn std::error::Error + 'static))
    }
}
