//! Production chance: the operating system's, through `rand`.

#![allow(clippy::disallowed_methods, reason = "the one place where production chance comes from")]

use super::world::Chance;
use crate::base::Id128;
use std::time::Duration;

/// Chance from the thread-local generator, seeded by the operating system and reseeded in a forked
/// child by `rand`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemChance;

impl Chance for SystemChance {
    fn id(&self) -> Id128 {
        // Straight from the operating system: a forked child must never repeat its parent's nonces.
        let mut bytes = [0_u8; 16];
        match rand::TryRngCore::try_fill_bytes(&mut rand::rngs::OsRng, &mut bytes) {
            Ok(()) => Id128::from_bytes(bytes),
            Err(_) => Id128(rand::random()),
        }
    }

    fn below(&self, limit: Duration) -> Duration {
        limit.mul_f64(rand::random::<f64>())
    }
}
