//! The transfer rate of the body of a response.

use std::time::Duration;

use tokio::time::Instant;

use crate::limits::Limits;

/// Measures a transfer rate, averaged over consecutive windows of time.
#[derive(Debug)]
pub(crate) struct TransferRate {
    window: Duration,
    min_bytes_per_second: u32,
    /// The start of the current window, and the bytes that were received since then.
    start: Instant,
    bytes: u64,
}

impl TransferRate {
    /// Starts the measurement.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            window: limits.rate_window(),
            min_bytes_per_second: limits.min_bytes_per_second,
            start: Instant::now(),
            bytes: 0,
        }
    }

    /// Counts received bytes. Returns whether the rate was high enough in the last window.
    pub(crate) fn add(&mut self, bytes: u64) -> bool {
        self.bytes += bytes;
        let elapsed = self.start.elapsed();
        if elapsed < self.window {
            return true;
        }
        let min_bytes = elapsed.as_secs_f64() * f64::from(self.min_bytes_per_second);
        let is_high_enough = self.bytes as f64 >= min_bytes;
        (self.start, self.bytes) = (Instant::now(), 0);
        is_high_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Receives `bytes` every ten seconds, and returns the time after which the rate is too low;
    /// `None` if it is not within an hour.
    async fn seconds_until_too_slow(bytes: impl Fn(u64) -> u64) -> Option<u64> {
        // A window of 60 s, and 1,000 bytes per second.
        let mut rate = TransferRate::new(&Limits::default());
        for step in 1..=360 {
            tokio::time::advance(Duration::from_secs(10)).await;
            if !rate.add(bytes(step)) {
                return Some(10 * step);
            }
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn rate_is_averaged_over_a_minute() {
        assert_eq!(seconds_until_too_slow(|_| 10_000).await, None);
        assert_eq!(seconds_until_too_slow(|_| 9_999).await, Some(60));
        // 60,000 bytes in each minute, all at once.
        let burst = |step: u64| if step.is_multiple_of(6) { 60_000 } else { 0 };
        assert_eq!(seconds_until_too_slow(burst).await, None);
        // It becomes slow after ten minutes.
        let slower = |step| if step <= 60 { 1_000_000 } else { 10 };
        assert_eq!(seconds_until_too_slow(slower).await, Some(660));
    }
}
