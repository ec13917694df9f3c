//! Pauses between repeats.
//!
//! Rule: decorrelated jitter: each pause is drawn between `FIRST` and three times the one before,
//! at most `LONGEST`. Fixed doubling makes all clients of a store that was down come back in step.
//! The caller bounds how often.

use super::world::World;
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);

/// The pauses of one request.
#[derive(Debug, Default)]
pub(crate) struct Backoff(Duration);

impl Backoff {
    /// Waits for the next pause.
    pub(crate) async fn pause(&mut self, world: &World) {
        let span = (self.0 * 3).max(FIRST * 2) - FIRST;
        self.0 = (FIRST + world.chance.below(span)).min(LONGEST);
        tokio::time::sleep(self.0).await;
    }
}
