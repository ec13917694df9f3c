//! The envelope of every JSON record: `v`, and nothing guessed.
//!
//! Rule: a record that is not JSON, lacks a field or breaks a range is `Corrupt` with its key; one
//! with a newer `v` is `Unsupported` with both versions told, so that an old program never rewrites
//! what it does not understand.

use crate::base::{Error, Result, Status};
use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

/// The version this library writes and the newest it reads.
pub const VERSION: u32 = 1;

#[derive(serde::Deserialize)]
struct Envelope {
    v: u32,
}

/// Reads a record.
pub fn decode<T: DeserializeOwned>(key: &str, body: &[u8]) -> Result<T> {
    let envelope: Envelope = serde_json::from_slice(body).map_err(|e| corrupt(key, &e))?;
    if envelope.v > VERSION {
        let message = format!(
            "written by a newer version (v{}, this library reads up to v{VERSION})",
            envelope.v
        );
        return Err(Error::new(Status::Unsupported, message).on(key));
    }
    serde_json::from_slice(body).map_err(|e| corrupt(key, &e))
}

/// Writes a record.
pub fn encode<T: Serialize>(record: &T) -> Bytes {
    // Plain structs with string keys: serialising them cannot fail.
    serde_json::to_vec(record).map(Bytes::from).unwrap_or_default()
}

/// A record that cannot be what it claims.
pub fn corrupt(key: &str, why: &dyn std::fmt::Display) -> Error {
    Error::new(Status::Corrupt, format!("damaged record: {why}")).on(key)
}
