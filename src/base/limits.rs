//! The lease's limits and the times derived from them.
//!
//! Sources: soft 60 s and hard 1 h are HDFS's defaults; renewal at half of soft as there. `guard`
//! covers what a contender cannot see: timestamp truncation, skew between a store's front ends and
//! clock-rate drift (PROTOCOL §8).

use super::{Error, Result, Status};
use std::time::Duration;

/// How long a lease lasts without renewal, and who may end it when. Fixed for the life of a session
/// and told to others in its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// After this long without renewal the holder stops believing in itself, and (plus guard)
    /// others may take over. At least 1 s.
    pub soft: Duration,
    /// After this long without renewal the monitor recovers the resource without being asked. At
    /// least twice soft.
    pub hard: Duration,
    /// How often the session is renewed. At most half of soft.
    pub renew: Duration,
}

impl Limits {
    /// The defaults: 60 s, 1 h.
    pub const DEFAULT: Limits = Limits {
        soft: Duration::from_secs(60),
        hard: Duration::from_secs(3_600),
        renew: Duration::from_secs(30),
    };
    /// `limits=fast`: 10 s, 10 min.
    pub const FAST: Limits = Limits {
        soft: Duration::from_secs(10),
        hard: Duration::from_secs(600),
        renew: Duration::from_secs(5),
    };
    /// `limits=hdfs3`: 60 s, 20 min, as Hadoop 3.
    pub const HDFS3: Limits = Limits {
        soft: Duration::from_secs(60),
        hard: Duration::from_secs(1_200),
        renew: Duration::from_secs(30),
    };

    /// Refuses limits that cannot work, naming key, value and allowed range.
    pub fn check(&self) -> Result<()> {
        let refuse = |key: &str, value: Duration, range: String| {
            Err(Error::new(
                Status::InvalidArgument,
                format!("{key} = {} ms: expected {range}", value.as_millis()),
            ))
        };
        let longest = Duration::from_secs(7 * 86_400);
        if self.soft < Duration::from_secs(1) || self.soft > longest {
            return refuse("soft_ms", self.soft, "1000 to 604800000 ms".into());
        }
        if self.hard < self.soft * 2 || self.hard > longest * 10 {
            return refuse(
                "hard_ms",
                self.hard,
                format!(
                    "at least 2 x soft ({} ms) and at most 6048000000 ms",
                    self.soft.as_millis() * 2
                ),
            );
        }
        if self.renew > self.soft / 2 || self.renew < Duration::from_millis(100) {
            return refuse(
                "renew_ms",
                self.renew,
                format!("100 ms to soft / 2 ({} ms)", self.soft.as_millis() / 2),
            );
        }
        Ok(())
    }

    /// The longest one lease request may take before its outcome counts as unknown: soft/15, at
    /// most 5 s, so that at least five tries fit.
    #[must_use]
    pub fn attempt_timeout(&self) -> Duration {
        (self.soft / 15).min(Duration::from_secs(5))
    }

    /// The pause before the same renewal is sent again.
    #[must_use]
    pub fn retry_pause(&self) -> Duration {
        self.soft / 30
    }

    /// What a contender adds to soft before it believes a holder dead. `grain` and `skew` are the
    /// store's, as probed.
    #[must_use]
    pub fn guard(soft: Duration, grain: Duration, skew: Duration) -> Duration {
        (grain * 2 + skew * 2).max(soft / 10)
    }
}
