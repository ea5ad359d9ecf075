//! How long is waited, how often is tried, and how much is kept.

use std::time::Duration;

/// What a [`Client`](crate::Client) allows itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// How often something is tried before it is an error.
    pub attempts: u32,
    /// How long to pause before the second attempt; before each further one twice as
    /// long, and all of them a little more or less.
    pub pause: Duration,
    /// How long to wait for an answer, and for more of its body. A body may take as much
    /// longer as it would at 16 KiB a second.
    pub wait: Duration,
    /// How many bytes all sources of a client keep together.
    pub kept_bytes: u64,
    /// How long an object may be that a server only gives whole.
    pub whole_bytes: u64,
}

/// A body that comes slower than this is a failure, in bytes a second.
const RATE: u64 = 16 << 10;

impl Default for Limits {
    /// Seven attempts over some six seconds, thirty seconds for each, 64 MiB kept.
    fn default() -> Self {
        Self {
            attempts: 7,
            pause: Duration::from_millis(100),
            wait: Duration::from_secs(30),
            kept_bytes: 64 << 20,
            whole_bytes: 8 << 30,
        }
    }
}

impl Limits {
    /// How long to pause after `failed` attempts. `chance` is any number: so that many
    /// who failed at once do not all come back at once.
    pub(crate) fn pause_after(&self, failed: u32, chance: u64) -> Duration {
        let longest = Duration::from_secs(10);
        let doubled = self.pause.saturating_mul(1 << failed.saturating_sub(1).min(16));
        // Between three quarters and five quarters.
        doubled.min(longest).mul_f64(0.75 + (chance % 512) as f64 / 1024.0)
    }

    /// How long a body of `len` bytes may take.
    pub(crate) fn body_time(&self, len: u64) -> Duration {
        self.wait.saturating_add(Duration::from_secs(len / RATE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_stay_bounded_whatever_the_chance() {
        let limits = Limits::default();
        for chance in [0, 255, 511, u64::MAX] {
            let millis = |failed| limits.pause_after(failed, chance).as_millis();
            assert!((75..=125).contains(&millis(1)), "{}", millis(1));
            assert!((600..=1000).contains(&millis(4)), "{}", millis(4));
            assert!(millis(u32::MAX) <= 12_500);
        }
    }
}
