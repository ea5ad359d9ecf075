//! Detects duplicate packets, which occur behind the mirror port of a switch.
//!
//! A lidar never sends the same bytes twice within a millisecond, because each packet
//! contains its time in microseconds and the azimuth. The packets that this crate writes
//! have different identifications, so they are never taken for duplicates.

use std::ops::RangeInclusive;

use logtool_core::Timestamp;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::capture::packets::sender::Sender;

/// The maximum time between duplicates, in nanoseconds. A mirror port takes microseconds.
const DELAY: RangeInclusive<i64> = -1_000_000..=1_000_000;

/// The number of remembered packets per sender. Other packets may come between
/// duplicates.
const REMEMBERED: usize = 4;

/// The maximum number of senders.
const MAX_SENDERS: usize = 256;

/// Returns whether packets with these times may be duplicates.
pub(crate) fn is_soon(before: Timestamp, time: Timestamp) -> bool {
    DELAY.contains(&time.as_nanos().saturating_sub(before.as_nanos()))
}

/// Returns the hash that identifies duplicates. It covers the payload and the
/// identification of the IP packet, because a mirror port copies both.
pub(crate) fn sum(payload: &[u8], identification: u32) -> u64 {
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
    /// Returns whether packets of `sender` may be duplicates of these packets. A mirror
    /// port sends them to another interface, and from its own hardware address.
    fn sends_as(&self, sender: &Sender) -> bool {
        let key =
            |sender: &Sender| (sender.device.address, sender.port, sender.is_position);
        key(&self.sender) == key(sender)
    }
}

impl DuplicateFilter {
    /// Adds a packet with this [`sum`], and returns whether it is a duplicate.
    pub(crate) fn is_duplicate(
        &mut self,
        sender: &Sender,
        time: Timestamp,
        sum: u64,
    ) -> bool {
        let index_of_sender =
            self.0.iter().position(|index_of_sender| index_of_sender.sends_as(sender));
        let index = index_of_sender.unwrap_or_else(|| {
            if self.0.len() == MAX_SENDERS {
                self.0.remove(0);
            }
            self.0.push(SenderHistory { sender: *sender, packets: Vec::new() });
            self.0.len() - 1
        });
        let Some(SenderHistory { packets, .. }) = self.0.get_mut(index) else {
            return false;
        };
        let is_equal = |(before, other): &(Timestamp, u64)| {
            *other == sum && is_soon(*before, time)
        };
        if packets.iter().any(is_equal) {
            return true;
        }
        if packets.len() == REMEMBERED {
            packets.remove(0);
        }
        packets.push((time, sum));
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
                sum(payload, 0),
            )
        };
        assert!(!is_duplicate(&sender, 0, b"first"));
        assert!(!is_duplicate(&other, 1, b"first"));
        assert!(!is_duplicate(&sender, 3, b"second"));
        // A mirror port has another interface.
        let mirror = Device { interface: 1, ..device };
        assert!(is_duplicate(&Sender { device: mirror, ..sender }, 5, b"first"));
        assert!(is_duplicate(&sender, 7, b"second"));
        assert!(!is_duplicate(&sender, 2_000, b"second"));
        // The packet is forgotten after this number of others.
        for payload in [b"a", b"b", b"c", b"d"] {
            assert!(!is_duplicate(&sender, 2_010, payload));
        }
        assert!(!is_duplicate(&sender, 2_020, b"second"));
    }
}
