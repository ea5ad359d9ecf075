//! Limits of a client: timeouts, retries, and memory.

use std::time::Duration;

/// The limits of a [`Client`](crate::Client).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The number of attempts before a request fails.
    pub attempts: u32,
    /// The pause before the second attempt. It doubles for each further attempt, with a random
    /// variation.
    pub pause: Duration,
    /// The maximum time to wait for an answer, and for more of its body. A body may take longer by
    /// the time that it takes at 16 KiB/s.
    pub wait: Duration,
    /// The size of the cache that all sources of a client share, in bytes.
    pub kept_bytes: u64,
    /// The maximum size in bytes of an object from a server without range requests.
    pub whole_bytes: u64,
}

/// The minimum transfer rate of a body, in bytes per second.
const RATE: u64 = 16 << 10;

impl Default for Limits {
    /// Seven attempts within some six seconds, a timeout of thirty seconds each, a cache of 64 MiB.
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
    /// Returns the pause after `failed` attempts. `chance` is a random number, which avoids
    /// that many clients retry at the same time.
    pub(crate) fn pause_after(&self, failed: u32, chance: u64) -> Duration {
        let longest = Duration::from_secs(10);
        let doubled = self.pause.saturating_mul(1 << failed.saturating_sub(1).min(16));
        // Between 3/4 and 5/4 of it.
        doubled.min(longest).mul_f64(0.75 + (chance % 512) as f64 / 1024.0)
    }

    /// Returns the maximum time for a body of `len` bytes.
    pub(crate) fn body_time(&self, len: u64) -> Duration {
        self.wait.saturating_add(Duration::from_secs(len / RATE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_stay_bounded() {
        let limits = Limits::default();
        for chance in [0, 255, 511, u64::MAX] {
            let millis = |failed| limits.pause_after(failed, chance).as_millis();
            assert!((75..=125).contains(&millis(1)), "{}", millis(1));
            assert!((600..=1000).contains(&millis(4)), "{}", millis(4));
            assert!(millis(u32::MAX) <= 12_500);
        }
    }
}
