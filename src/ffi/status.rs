//! The numbers of the header: statuses and their names.
//!
//! Question: what does an `int32_t` from this library say? Rule: numbers are append-only and equal
//! [`Status`](crate::base::Status) in every language; a caller that meets a number it does not know
//! treats it by its decade. Written out because cbindgen expands no macros;
//! `every_status_has_its_constant` keeps the two lists equal.

use std::ffi::CStr;

/// What a call's outcome obliges the caller to do. `TENURE_OK` is zero; the numbers go by decades:
/// 1 to 19 the call itself is wrong, 20 to 39 it would have to wait longer, 40 to 59 somebody else
/// has the authority, 60 to 79 the store, 99 a bug. Numbers are only ever added.
pub type tenure_status = i32;

/// Done as promised.
pub const TENURE_OK: tenure_status = 0;
/// The call itself is wrong; the message names argument, value and what was expected.
pub const TENURE_INVALID_ARGUMENT: tenure_status = 1;
/// The handle was closed before.
pub const TENURE_CLOSED: tenure_status = 2;
/// The process was forked; this handle belongs to the parent.
pub const TENURE_FORKED: tenure_status = 3;
/// Called from inside one of the library's own callbacks.
pub const TENURE_REENTRANT: tenure_status = 4;
/// This library or this store does not offer it.
pub const TENURE_UNSUPPORTED: tenure_status = 5;
/// There is no such file, lease or object.
pub const TENURE_NOT_FOUND: tenure_status = 6;
/// It exists and the call must not replace it.
pub const TENURE_ALREADY_EXISTS: tenure_status = 7;
/// The deadline passed; nothing was undone, call again.
pub const TENURE_TIMED_OUT: tenure_status = 20;
/// The wait was cancelled; nothing was undone.
pub const TENURE_CANCELLED: tenure_status = 21;
/// It would have to wait.
pub const TENURE_WOULD_BLOCK: tenure_status = 22;
/// Placement gives this resource to another node.
pub const TENURE_NOT_OWNER: tenure_status = 40;
/// Somebody else holds the lease; holder and retry-after are told.
pub const TENURE_LEASE_HELD: tenure_status = 41;
/// Our session lapsed; the lease may come back.
pub const TENURE_LEASE_SUSPENDED: tenure_status = 42;
/// The lease is gone for good.
pub const TENURE_LEASE_LOST: tenure_status = 43;
/// A newer holder shut this writer out; it is over.
pub const TENURE_FENCED: tenure_status = 44;
/// The fleet's liveness is unknown: nobody may be promoted.
pub const TENURE_VIEW_UNKNOWN: tenure_status = 45;
/// The resource is being recovered; try again soon.
pub const TENURE_RECOVERING: tenure_status = 46;
/// The store does not answer.
pub const TENURE_STORE_UNAVAILABLE: tenure_status = 60;
/// The store ignores a condition this library depends on; the property is named.
pub const TENURE_STORE_UNSUPPORTED: tenure_status = 61;
/// The store refuses these credentials.
pub const TENURE_ACCESS_DENIED: tenure_status = 62;
/// A stored object is damaged; its name is told; nothing was repaired.
pub const TENURE_CORRUPT: tenure_status = 63;
/// It may or may not have happened.
pub const TENURE_OUTCOME_UNKNOWN: tenure_status = 64;
/// The store is full.
pub const TENURE_NO_SPACE: tenure_status = 65;
/// The bucket or container does not exist, or the base is not a directory.
pub const TENURE_BUCKET_NOT_FOUND: tenure_status = 66;
/// A bug of this library.
pub const TENURE_INTERNAL: tenure_status = 99;

/// Every status with its name. A list of C strings, because Rust's are not NUL-terminated.
pub(super) const STATUS_NAMES: &[(tenure_status, &CStr)] = &[
    (TENURE_OK, c"OK"),
    (TENURE_INVALID_ARGUMENT, c"INVALID_ARGUMENT"),
    (TENURE_CLOSED, c"CLOSED"),
    (TENURE_FORKED, c"FORKED"),
    (TENURE_REENTRANT, c"REENTRANT"),
    (TENURE_UNSUPPORTED, c"UNSUPPORTED"),
    (TENURE_NOT_FOUND, c"NOT_FOUND"),
    (TENURE_ALREADY_EXISTS, c"ALREADY_EXISTS"),
    (TENURE_TIMED_OUT, c"TIMED_OUT"),
    (TENURE_CANCELLED, c"CANCELLED"),
    (TENURE_WOULD_BLOCK, c"WOULD_BLOCK"),
    (TENURE_NOT_OWNER, c"NOT_OWNER"),
    (TENURE_LEASE_HELD, c"LEASE_HELD"),
    (TENURE_LEASE_SUSPENDED, c"LEASE_SUSPENDED"),
    (TENURE_LEASE_LOST, c"LEASE_LOST"),
    (TENURE_FENCED, c"FENCED"),
    (TENURE_VIEW_UNKNOWN, c"VIEW_UNKNOWN"),
    (TENURE_RECOVERING, c"RECOVERING"),
    (TENURE_STORE_UNAVAILABLE, c"STORE_UNAVAILABLE"),
    (TENURE_STORE_UNSUPPORTED, c"STORE_UNSUPPORTED"),
    (TENURE_ACCESS_DENIED, c"ACCESS_DENIED"),
    (TENURE_CORRUPT, c"CORRUPT"),
    (TENURE_OUTCOME_UNKNOWN, c"OUTCOME_UNKNOWN"),
    (TENURE_NO_SPACE, c"NO_SPACE"),
    (TENURE_BUCKET_NOT_FOUND, c"BUCKET_NOT_FOUND"),
    (TENURE_INTERNAL, c"INTERNAL"),
];

/// The name of a status, without prefix.
pub(super) fn name_of(status: tenure_status) -> &'static CStr {
    let known = STATUS_NAMES.iter().find(|(number, _)| *number == status);
    known.map_or(c"UNKNOWN", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Status;

    #[test]
    fn every_status_has_its_constant() {
        let ours: Vec<_> =
            STATUS_NAMES.iter().map(|(n, name)| (*n, name.to_str().unwrap())).collect();
        let theirs: Vec<_> = Status::ALL.iter().map(|s| (s.code(), s.name())).collect();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn an_unknown_number_has_a_name_too() {
        assert_eq!(name_of(-1), c"UNKNOWN");
        assert_eq!(name_of(1_000_000), c"UNKNOWN");
    }
}
