//! The time that packets without a container tell: microseconds past the hour.

use logtool_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::packet::{DATA_BYTES, Firings};

const HOUR: u64 = 3_600_000_000;

/// How many packets are looked at to see whether they count time, and how many of their
/// steps have to be as those of a clock.
const TRIED: usize = 1_000;
const RIGHT: usize = 95;

/// Counts the hours that went by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hours {
    done: u32,
    last: u32,
}

impl Hours {
    /// A counter for the packets of `bytes`, if they count time: those of the HDL-64E S1
    /// have text there.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let (packets, _) = bytes.as_chunks::<DATA_BYTES>();
        let stamps: Vec<u64> = packets
            .iter()
            .take(TRIED)
            .filter_map(|packet| Firings::new(packet))
            .map(|firings| firings.tail().micros.into())
            .collect();
        let is_step = |pair: &&[u64]| match pair {
            [a, b] => *b < HOUR && (b + HOUR - a.min(&HOUR)) % HOUR < 1_000_000,
            _ => false,
        };
        let right = stamps.windows(2).filter(is_step).count();
        let is_clock = right * 100 >= stamps.len().saturating_sub(1) * RIGHT
            && stamps.iter().all(|stamp| *stamp < 2 * HOUR);
        is_clock.then(Self::default)
    }

    /// The time of a packet with this stamp, from the hour in which the first was sent.
    pub(crate) fn time(&mut self, micros: u32) -> Timestamp {
        let is_next = u64::from(micros) + HOUR / 2 < u64::from(self.last);
        self.done = self.done.saturating_add(u32::from(is_next));
        self.last = micros;
        Timestamp::from_micros(u64::from(self.done) * HOUR + u64::from(micros))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_when_an_hour_is_full() {
        let mut hours = Hours::default();
        let times = [3_599_999_000, 3_599_999_900, 700, 600, 1_500];
        let times = times.map(|micros| hours.time(micros).as_nanos() / 1_000);
        assert_eq!(
            times,
            [3_599_999_000, 3_599_999_900, 3_600_000_700, 3_600_000_600, 3_600_001_500]
        );
    }

    #[test]
    fn text_is_no_clock() {
        let packet = |stamp: [u8; 4]| {
            let mut packet = [0; DATA_BYTES];
            packet[1_200..1_204].copy_from_slice(&stamp);
            packet
        };
        let texts =
            [packet(*b"O De"), packet([33, 12, b'v', b'2'])].as_flattened().to_vec();
        assert_eq!(Hours::of(&texts), None);
        let stamps =
            [packet([0, 1, 0, 0]), packet([0, 2, 0, 0])].as_flattened().to_vec();
        assert_eq!(Hours::of(&stamps), Some(Hours::default()));
    }
}
