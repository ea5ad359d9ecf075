//! Packets that came twice, as they do behind the mirror port of a switch.
//!
//! No lidar sends the same bytes again within a millisecond: each packet tells its time,
//! in microseconds, and where the rotor was. Packets that we write have different
//! identifications, so that none of them is taken for another.

use std::ops::RangeInclusive;

use logtool_core::Timestamp;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::capture::sender::Sender;

/// How long after a packet it may come again, in nanoseconds; a mirror takes microseconds.
const DELAY: RangeInclusive<i64> = -1_000_000..=1_000_000;

/// How many packets of one sender are remembered: others may lie between.
const REMEMBERED: usize = 4;

/// How many senders may be known at once.
const MAX_SENDERS: usize = 256;

/// Whether what came `before` may be what comes again at `time`.
pub(crate) fn is_soon(before: Timestamp, time: Timestamp) -> bool {
    DELAY.contains(&time.as_nanos().saturating_sub(before.as_nanos()))
}

/// Returns the sum by which a packet is recognised that comes again: of its payload, and of
/// the identification of the IP packet, which a mirror port copies too.
pub(crate) fn sum(payload: &[u8], identification: u32) -> u64 {
    XxHash3_64::oneshot_with_seed(identification.into(), payload)
}

/// What is remembered of the last packets of each sender.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Latest(Vec<OfSender>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OfSender {
    sender: Sender,
    /// When each was seen, and the hash of its bytes; the last is the latest.
    packets: Vec<(Timestamp, u64)>,
}

impl OfSender {
    /// Returns whether packets of `sender` can be these packets again: a mirror sends them
    /// to another interface, and from a hardware address of its own.
    fn sends_as(&self, sender: &Sender) -> bool {
        let key =
            |sender: &Sender| (sender.device.address, sender.port, sender.is_position);
        key(&self.sender) == key(sender)
    }
}

impl Latest {
    /// Takes note of a packet with this [`sum`] of its bytes, and says whether it has come
    /// before.
    pub(crate) fn has(&mut self, sender: &Sender, time: Timestamp, sum: u64) -> bool {
        let known = self.0.iter().position(|known| known.sends_as(sender));
        let index = known.unwrap_or_else(|| {
            if self.0.len() == MAX_SENDERS {
                self.0.remove(0);
            }
            self.0.push(OfSender { sender: *sender, packets: Vec::new() });
            self.0.len() - 1
        });
        let Some(OfSender { packets, .. }) = self.0.get_mut(index) else {
            return false;
        };
        let is_it = |(before, other): &(Timestamp, u64)| {
            *other == sum && is_soon(*before, time)
        };
        if packets.iter().any(is_it) {
            return true;
        }
        if packets.len() == REMEMBERED {
            packets.remove(0);
        }
        packets.push((time, sum));
        false
    }

    /// Whether nothing is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::capture::sender::Device;

    #[test]
    fn the_same_bytes_soon_after_are_a_packet_that_came_twice() {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let device = Device { address, ..Device::UNKNOWN };
        let sender = Sender { device, port: 2368, is_position: false };
        let other = Sender { port: 2369, ..sender };
        let mut latest = Latest::default();
        let mut has = |sender: &Sender, micros: i64, payload: &[u8]| {
            latest.has(sender, Timestamp::from_nanos(micros * 1_000), sum(payload, 0))
        };
        assert!(!has(&sender, 0, b"first"));
        assert!(!has(&other, 1, b"first"));
        assert!(!has(&sender, 3, b"second"));
        // A mirror has another interface.
        let mirror = Device { interface: 1, ..device };
        assert!(has(&Sender { device: mirror, ..sender }, 5, b"first"));
        assert!(has(&sender, 7, b"second"));
        assert!(!has(&sender, 2_000, b"second"));
        // So many later that it is forgotten.
        for payload in [b"a", b"b", b"c", b"d"] {
            assert!(!has(&sender, 2_010, payload));
        }
        assert!(!has(&sender, 2_020, b"second"));
    }
}
