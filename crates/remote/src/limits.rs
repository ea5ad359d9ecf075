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
    pub retry_pause: Duration,
    /// The maximum time to wait for a response, and for the next bytes of its body. The maximum
    /// time for the whole body is this time plus the time for its length at 16 KiB/s.
    pub timeout: Duration,
    /// The size of the cache that all sources of a client share, in bytes.
    pub cache_bytes: u64,
    /// The maximum size in bytes of an object that is downloaded completely, from a server without
    /// range requests.
    pub max_download_bytes: u64,
}

/// The minimum transfer rate of a body, in bytes per second.
const MIN_BYTES_PER_SECOND: u64 = 16 << 10;

impl Default for Limits {
    /// Seven attempts within about six seconds, a timeout of thirty seconds for each attempt, and a
    /// cache of 64 MiB.
    fn default() -> Self {
        Self {
            attempts: 7,
            retry_pause: Duration::from_millis(100),
            timeout: Duration::from_secs(30),
            cache_bytes: 64 << 20,
            max_download_bytes: 8 << 30,
        }
    }
}

impl Limits {
    /// Returns the pause after `failed` attempts. `random` is a random number, which prevents many
    /// clients from retrying at the same time.
    pub(crate) fn pause_after(&self, failed: u32, random: u64) -> Duration {
        let max_pause = Duration::from_secs(10);
        let doubled =
            self.retry_pause.saturating_mul(1 << failed.saturating_sub(1).min(16));
        // The factor is between 3/4 and 5/4.
        doubled.min(max_pause).mul_f64(0.75 + (random % 512) as f64 / 1024.0)
    }

    /// Returns the maximum time for a body of `len` bytes.
    pub(crate) fn body_time(&self, len: u64) -> Duration {
        self.timeout.saturating_add(Duration::from_secs(len / MIN_BYTES_PER_SECOND))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_stay_bounded() {
        let limits = Limits::default();
        for random in [0, 255, 511, u64::MAX] {
            let millis = |failed| limits.pause_after(failed, random).as_millis();
            assert!((75..=125).contains(&millis(1)), "{}", millis(1));
            assert!((600..=1000).contains(&millis(4)), "{}", millis(4));
            assert!(millis(u32::MAX) <= 12_500);
        }
    }
}
