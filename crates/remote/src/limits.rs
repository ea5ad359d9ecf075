//! Limits of a client: timeouts, retries, and memory.

use std::time::Duration;

/// The limits of a [`Client`](crate::Client).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum number of attempts before a request fails. No attempt starts later than eight
    /// timeouts after the first one, plus the time for the bytes of the attempts at 16 KiB/s.
    pub attempts: u32,
    /// The pause before the second attempt. It doubles for each further attempt, with a random
    /// variation.
    pub retry_pause: Duration,
    /// The maximum time to wait for a response, and for the next bytes of its body.
    pub timeout: Duration,
    /// The minimum transfer rate of the body of a response, averaged over two timeouts. A slower
    /// response fails.
    pub min_bytes_per_second: u32,
    /// The size of the cache that all sources of a client share, in bytes.
    pub cache_bytes: u64,
    /// The maximum size in bytes of an object that is downloaded completely, from a server without
    /// range requests.
    pub max_download_bytes: u64,
}

/// The expected transfer rate in bytes per second, with which the time for uploads and for further
/// attempts is limited.
const EXPECTED_BYTES_PER_SECOND: u64 = 16 << 10;

impl Default for Limits {
    /// Seven attempts within about six seconds, a timeout of thirty seconds for each attempt, at
    /// least 1,000 bytes per second over a minute, and a cache of 64 MiB.
    fn default() -> Self {
        Self {
            attempts: 7,
            retry_pause: Duration::from_millis(100),
            timeout: Duration::from_secs(30),
            min_bytes_per_second: 1_000,
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

    /// Returns the maximum time for sending `len` bytes, and for the response.
    pub(crate) fn upload_time(&self, len: u64) -> Duration {
        self.timeout.saturating_add(expected_time(len))
    }

    /// Returns the time after which no further attempt starts if `len` bytes were received.
    pub(crate) fn retry_time(&self, len: u64) -> Duration {
        self.timeout.saturating_mul(8).saturating_add(expected_time(len))
    }

    /// Returns the time over which the transfer rate is averaged.
    pub(crate) fn rate_window(&self) -> Duration {
        self.timeout.saturating_mul(2)
    }
}

/// Returns the time for `len` bytes at the expected transfer rate.
fn expected_time(len: u64) -> Duration {
    Duration::from_secs(len / EXPECTED_BYTES_PER_SECOND)
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
