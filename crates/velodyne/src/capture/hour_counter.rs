//! The clock of packets without a container: microseconds past the hour.

use logtool_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    capture::packets::payload,
    packet::{DATA_BYTES, Firings},
};

/// Microseconds per hour.
const HOUR_MICROS: u64 = 3_600_000_000;

/// The maximum number of packets that are examined to detect a clock.
const PROBED_PACKETS: usize = 1_000;

/// The minimum percentage of steps between packets that must be plausible for a clock.
const MIN_PERCENT: usize = 95;

/// The maximum step between packets that is accepted immediately, in microseconds.
const MAX_STEP: u64 = 1_000_000;

/// Counts the hours that have passed since that of the first packet.
///
/// A timestamp that is far from the previous one is accepted only if the next one is near
/// it. Otherwise a damaged timestamp would shift all later packets by an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HourCounter {
    /// The number of hours that have passed.
    #[serde(rename = "done")]
    hours: u32,
    /// The last accepted timestamp.
    last: u32,
    /// The previous timestamp, if it has not been accepted yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending: Option<u32>,
}

impl HourCounter {
    /// Returns a counter if the packets in `bytes`, without a container, have a clock.
    /// Packets of an HDL-64E S1 have text in its place.
    pub(crate) fn detect(bytes: &[u8]) -> Option<Self> {
        let (packets, _) = bytes.as_chunks::<DATA_BYTES>();
        let stamps: Vec<u32> = packets
            .iter()
            .filter_map(|packet| Firings::new(packet))
            .filter(|firings| payload::is_data(*firings))
            .take(PROBED_PACKETS)
            .map(|firings| firings.tail().micros)
            .collect();
        let is_plausible = |pair: &&[u32]| match pair {
            [first, second] => {
                u64::from(*second) < HOUR_MICROS && is_near(*first, *second)
            }
            _ => false,
        };
        let steps = stamps.len().saturating_sub(1);
        let plausible_steps = stamps.windows(2).filter(is_plausible).count();
        let is_clock = plausible_steps * 100 >= steps * MIN_PERCENT;
        is_clock.then(Self::default)
    }

    /// Returns the time of a packet with this timestamp, relative to the hour of the
    /// first packet.
    pub(crate) fn time(&mut self, micros: u32) -> Timestamp {
        let confirmed = self.pending.filter(|pending| is_near(*pending, micros));
        let mut next = *self;
        if let Some(pending) = confirmed {
            next.advance(pending);
        }
        next.advance(micros);
        if confirmed.is_some() || is_near(self.last, micros) {
            *self = Self { pending: None, ..next }
        } else {
            self.pending = Some(micros)
        }
        Timestamp::from_micros(u64::from(next.hours) * HOUR_MICROS + u64::from(micros))
    }

    /// Advances to a timestamp. If it is more than half an hour before the last one, it is
    /// of the next hour.
    fn advance(&mut self, micros: u32) {
        let is_next_hour = u64::from(micros) + HOUR_MICROS / 2 < u64::from(self.last);
        self.hours = self.hours.saturating_add(u32::from(is_next_hour));
        self.last = micros;
    }
}

/// Returns whether the timestamps are close to each other, also across the full hour.
fn is_near(first: u32, second: u32) -> bool {
    let (first, second) =
        (u64::from(first) % HOUR_MICROS, u64::from(second) % HOUR_MICROS);
    let step = (second + HOUR_MICROS - first) % HOUR_MICROS;
    step.min(HOUR_MICROS - step) < MAX_STEP
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
        let packets_with_text = [packet(*b"O De"), packet([33, 12, b'v', b'2'])];
        assert_eq!(HourCounter::detect(packets_with_text.as_flattened()), None);
        let packets_with_clock = [packet([0, 1, 0, 0]), packet([0, 2, 0, 0])];
        assert_eq!(
            HourCounter::detect(packets_with_clock.as_flattened()),
            Some(HourCounter::default())
        );
    }
}
