//! Detects duplicate packets, which the mirror port of a switch sends.
//!
//! A lidar never sends the same bytes twice within a millisecond, because each packet
//! contains its time in microseconds and the azimuth. The packets that this crate writes
//! have different identifications, so they are never taken for duplicates.

use std::ops::RangeInclusive;

use logtool_core::Timestamp;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::capture::packets::sender::Sender;

/// The possible time between duplicates, in nanoseconds. A mirror port takes microseconds.
const DELAY: RangeInclusive<i64> = -1_000_000..=1_000_000;

/// The maximum number of packets that are stored for each sender. Other packets may come
/// between duplicates.
const MAX_PACKETS: usize = 4;

/// The maximum number of senders whose packets are stored.
const MAX_SENDERS: usize = 256;

/// Returns whether packets with these times may be duplicates.
pub(crate) fn may_be_duplicates(first: Timestamp, second: Timestamp) -> bool {
    DELAY.contains(&second.as_nanos().saturating_sub(first.as_nanos()))
}

/// Returns the hash that identifies duplicates. It covers the payload and the
/// identification of the IP packet, because a mirror port copies both.
pub(crate) fn packet_hash(payload: &[u8], identification: u32) -> u64 {
    XxHash3_64::oneshot_with_seed(identification.into(), payload)
}

/// The last packets of each sender.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DuplicateFilter(Vec<SenderHistory>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SenderHistory {
    sender: Sender,
    /// The time and the hash of each packet, latest last.
    packets: Vec<(Timestamp, u64)>,
}

impl SenderHistory {
    /// Returns whether packets of `sender` may be duplicates of these packets. Duplicates
    /// may have another interface and another hardware address, that of the mirror port.
    fn may_include(&self, sender: &Sender) -> bool {
        let key =
            |sender: &Sender| (sender.device.address, sender.port, sender.is_position);
        key(&self.sender) == key(sender)
    }
}

impl DuplicateFilter {
    /// Adds a packet with this [`packet_hash`], and returns whether it is a duplicate.
    pub(crate) fn is_duplicate(
        &mut self,
        sender: &Sender,
        time: Timestamp,
        hash: u64,
    ) -> bool {
        let index = self.0.iter().position(|history| history.may_include(sender));
        let index = index.unwrap_or_else(|| {
            if self.0.len() == MAX_SENDERS {
                self.0.remove(0);
            }
            self.0.push(SenderHistory { sender: *sender, packets: Vec::new() });
            self.0.len() - 1
        });
        let Some(SenderHistory { packets, .. }) = self.0.get_mut(index) else {
            return false;
        };
        let is_equal = |(previous_time, previous_hash): &(Timestamp, u64)| {
            *previous_hash == hash && may_be_duplicates(*previous_time, time)
        };
        if packets.iter().any(is_equal) {
            return true;
        }
        if packets.len() == MAX_PACKETS {
            packets.remove(0);
        }
        packets.push((time, hash));
        false
    }

    /// Returns whether no packets are stored.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::capture::packets::sender::Device;

    #[test]
    fn equal_bytes_within_a_millisecond_are_duplicates() {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let device = Device { address, ..Device::UNKNOWN };
        let sender = Sender { device, port: 2368, is_position: false };
        let other = Sender { port: 2369, ..sender };
        let mut duplicate_filter = DuplicateFilter::default();
        let mut is_duplicate = |sender: &Sender, micros: i64, payload: &[u8]| {
            duplicate_filter.is_duplicate(
                sender,
                Timestamp::from_nanos(micros * 1_000),
                packet_hash(payload, 0),
            )
        };
        assert!(!is_duplicate(&sender, 0, b"first"));
        assert!(!is_duplicate(&other, 1, b"first"));
        assert!(!is_duplicate(&sender, 3, b"second"));
        // The mirror port is captured at another interface.
        let mirror = Device { interface: 1, ..device };
        assert!(is_duplicate(&Sender { device: mirror, ..sender }, 5, b"first"));
        assert!(is_duplicate(&sender, 7, b"second"));
        assert!(!is_duplicate(&sender, 2_000, b"second"));
        // The packet is forgotten after four others.
        for payload in [b"a", b"b", b"c", b"d"] {
            assert!(!is_duplicate(&sender, 2_010, payload));
        }
        assert!(!is_duplicate(&sender, 2_020, b"second"));
    }
}
