//! `tenure_config`: what a client is told before it opens.
//!
//! Rule: string keys and string values, the same in every language; what is allowed is decided in
//! [`crate::base::config`] alone.

use super::args::{self, Out};
use super::error::tenure_error;
use super::handle::{self, Handle};
use super::status::tenure_status;
use super::wall::{fact, wall};
use crate::base::Config;
use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

/// Settings for a client to be opened. A client copies them: a config may be changed, reused and
/// freed at any time afterwards.
#[derive(Debug)]
pub struct tenure_config(());

impl Handle for tenure_config {
    type Inside = Mutex<Config>;
    const MAGIC: u32 = u32::from_be_bytes(*b"tCFG");
    const NAME: &'static str = "config";
}

/// A copy of the settings; the defaults for NULL.
pub(super) fn copy(config: *const tenure_config) -> crate::base::Result<Config> {
    if config.is_null() {
        return Ok(Config::default());
    }
    handle::with(config, |c| Ok(c.lock().unwrap_or_else(PoisonError::into_inner).clone()))
}

/// Makes settings with every key at its default. Returns `TENURE_OK`. Never blocks; any thread. The
/// caller frees `*config`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_config_new(
    config: *mut *mut tenure_config,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        let out = Out::new("config", config)?;
        let made = handle::give::<tenure_config>(Mutex::new(Config::default()))?;
        // SAFETY: the header asks for a place for one pointer.
        unsafe { out.write(made.as_ptr()) };
        Ok(())
    })
}

/// Sets one key. Keys, with their ranges and defaults:
///
/// - `limits`: preset of soft, hard and renew: `default`, `fast` or `hdfs3`
/// - `soft_ms`: a holder silent this long may be replaced; 1000 or more (60000); moves `renew_ms`
///   to its half
/// - `hard_ms`: a holder silent this long is recovered unasked; 2 x soft or more (3600000)
/// - `renew_ms`: renewal period; 100 to soft / 2 (soft / 2)
/// - `node`: how others see this process; letters, digits, `_ . -` (`client`)
/// - `in_flight`: segment PUTs in flight per writer; 1 to 64 (8)
/// - `segment_max`: largest segment in bytes; 65536 to 67108864 (4194304)
/// - `max_packets`: un-acked 64 KiB packets per writer; 2 to 65536 (in_flight x segment_max + 80
///   packets)
/// - `memory_budget`: un-acked bytes of all writers of the process; 1048576 or more (1073741824)
/// - `request_timeout_ms`: one data request; 100 to 600000 (30000)
/// - `ack_timeout_ms`: how long a segment is resent before the writer gives up; 1000 to 3600000
///   (480000)
/// - `data_workers`: threads of the data runtime; 2 to 256 (cores, 2 to 4)
/// - `fsync`: `file://`: flush to disk before acknowledging; `true` or `false` (`true`)
/// - `store.*`: option of the store's own client, e.g. `store.aws_endpoint`; never printed
///
/// Returns `TENURE_OK`, or `TENURE_INVALID_ARGUMENT` with key, value and range in the message;
/// nothing is changed then. Never blocks; any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_config_set(
    config: *mut tenure_config,
    key: *const c_char,
    value: *const c_char,
    err: *mut *mut tenure_error,
) -> tenure_status {
    wall(err, || {
        // SAFETY: the header asks for NULL or NUL-terminated strings.
        let (key, value) = unsafe { (args::text("key", key)?, args::text("value", value)?) };
        handle::with(config, |c| c.lock().unwrap_or_else(PoisonError::into_inner).set(key, value))
    })
}

/// Frees settings. NULL is fine. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_config_free(config: *mut tenure_config) {
    fact((), || {
        handle::free(config);
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use crate::base::Config;

    #[test]
    fn the_header_lists_every_key() {
        let ours = include_str!("config.rs");
        for (key, _) in Config::KEYS {
            assert!(
                ours.contains(&format!("/// - `{key}`:")),
                "{key} is not in the header's table"
            );
        }
    }
}
