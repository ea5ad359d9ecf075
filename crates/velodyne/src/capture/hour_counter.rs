//! The clock of packets without a container: microseconds past the hour.

use logtool_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    capture::packets::payload,
    packet::{DATA_BYTES, Firings},
};

const HOUR: u64 = 3_600_000_000;

/// The number of packets that are examined, and the percentage of steps that must be
/// plausible for a clock.
const PROBED_PACKETS: usize = 1_000;
const MIN_PERCENT: usize = 95;

/// The maximum step between packets that is accepted immediately, in microseconds.
const MAX_STEP: u64 = 1_000_000;

/// Counts the hours that have passed.
///
/// A timestamp that is far from the previous one is accepted only if the next one is near
/// it. Otherwise a damaged timestamp would shift all later packets by an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HourCounter {
    done: u32,
    last: u32,
    /// The previous timestamp, if it is not accepted yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending: Option<u32>,
}

impl HourCounter {
    /// Returns a counter if the packets in `bytes` have a clock. Those of an HDL-64E S1
    /// have text in its place.
    pub(crate) fn detect(bytes: &[u8]) -> Option<Self> {
        let (packets, _) = bytes.as_chunks::<DATA_BYTES>();
        let stamps: Vec<u32> = packets
            .iter()
            .filter_map(|packet| Firings::new(packet))
            .filter(|firings| payload::is_data(*firings))
            .take(PROBED_PACKETS)
            .map(|firings| firings.tail().micros)
            .collect();
        let is_step = |pair: &&[u32]| match pair {
            [a, b] => u64::from(*b) < HOUR && is_near(*a, *b),
            _ => false,
        };
        let right = stamps.windows(2).filter(is_step).count();
        let is_clock = right * 100 >= stamps.len().saturating_sub(1) * MIN_PERCENT;
        is_clock.then(Self::default)
    }

    /// Returns the time of a packet with this timestamp, relative to the hour of the
    /// first packet.
    pub(crate) fn time(&mut self, micros: u32) -> Timestamp {
        let mut next = *self;
        if let Some(pending) = self.pending.filter(|last| is_near(*last, micros)) {
            next.advance(pending);
        }
        next.advance(micros);
        let is_believed = is_near(self.last, micros)
            || self.pending.is_some_and(|last| is_near(last, micros));
        if is_believed {
            *self = Self { pending: None, ..next }
        } else {
            self.pending = Some(micros)
        }
        Timestamp::from_micros(u64::from(next.done) * HOUR + u64::from(micros))
    }

    fn advance(&mut self, micros: u32) {
        let is_next = u64::from(micros) + HOUR / 2 < u64::from(self.last);
        self.done = self.done.saturating_add(u32::from(is_next));
        self.last = micros;
    }
}

/// Returns whether the timestamps are close to each other.
fn is_near(a: u32, b: u32) -> bool {
    let (a, b) = (u64::from(a) % HOUR, u64::from(b) % HOUR);
    let step = (b + HOUR - a) % HOUR;
    step.min(HOUR - step) < MAX_STEP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_continues_after_the_full_hour() {
        let mut hours = HourCounter::default();
        let times = [3_599_999_000, 3_599_999_900, 700, 600, 1_500];
        let times = times.map(|micros| hours.time(micros).as_nanos() / 1_000);
        assert_eq!(
            times,
            [3_599_999_000, 3_599_999_900, 3_600_000_700, 3_600_000_600, 3_600_001_500]
        );
    }

    #[test]
    fn damaged_timestamp_does_not_shift_later_packets() {
        let mut hours = HourCounter::default();
        let times = [1_000, 2_000, 4_000_000_000, 3_000, 3_000_000_000, 4_000];
        let times = times.map(|micros| hours.time(micros).as_nanos() / 1_000);
        assert_eq!(times, [1_000, 2_000, 4_000_000_000, 3_000, 3_000_000_000, 4_000]);
        // Half an hour without packets, and then the next hour.
        let times = [3_000_000_000, 3_000_000_100, 10, 20];
        let times = times.map(|micros| hours.time(micros).as_nanos() / 1_000);
        assert_eq!(times, [3_000_000_000, 3_000_000_100, 3_600_000_010, 3_600_000_020]);
    }

    #[test]
    fn text_is_not_a_clock() {
        let packet = |stamp: [u8; 4]| {
            let mut packet = [0; DATA_BYTES];
            let blocks = packet.chunks_exact_mut(100);
            blocks.for_each(|block| block[..2].copy_from_slice(&[0xff, 0xee]));
            packet[1_200..1_204].copy_from_slice(&stamp);
            packet
        };
        let descriptions =
            [packet(*b"O De"), packet([33, 12, b'v', b'2'])].as_flattened().to_vec();
        assert_eq!(HourCounter::detect(&descriptions), None);
        let stamps =
            [packet([0, 1, 0, 0]), packet([0, 2, 0, 0])].as_flattened().to_vec();
        assert_eq!(HourCounter::detect(&stamps), Some(HourCounter::default()));
    }
}
