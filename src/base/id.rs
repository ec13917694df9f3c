//! 128-bit identities: sessions, nonces, file ids, operation ids.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A random 128-bit identity, written as 32 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Id128(pub u128);

impl Id128 {
    /// The big-endian bytes, as segment headers carry them.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// The inverse of [`Id128::to_bytes`].
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Id128 {
        Id128(u128::from_be_bytes(bytes))
    }
}

impl fmt::Display for Id128 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Id128 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not 32 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 32 lower-case hexadecimal digits")]
pub struct BadId;

impl FromStr for Id128 {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Id128, BadId> {
        let digits = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if text.len() != 32 || !digits {
            return Err(BadId);
        }
        u128::from_str_radix(text, 16).map(Id128).map_err(|_| BadId)
    }
}

impl Serialize for Id128 {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Id128 {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Id128, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
