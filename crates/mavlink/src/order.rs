//! Sorts packets by their sequence numbers, and detects missing packets.

use std::collections::{BTreeMap, btree_map::Entry};

use crate::packet::StreamPacket;

/// The maximum number of packets that wait for a missing packet. A vehicle sends 50 to 400 packets
/// per second.
const MAX_WAITING: usize = 64;

/// The maximum time for which a packet waits for a missing packet, in microseconds.
const MAX_WAIT_MICROS: u64 = 500_000;

/// Half of the range of sequence numbers. Because the numbers wrap around, a packet that seems to
/// be at least this far ahead is an earlier packet.
const HALF_RANGE: u16 = 1 << 15;

/// The next item of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamItem {
    /// The next packet, and the time at which it arrived.
    Packet(StreamPacket, u64),
    /// The number of packets that are missing before the next packet.
    Missing(u64),
}

/// A queue of packets that arrive in any order, more than once, or not at all.
#[derive(Debug, Default)]
pub(crate) struct PacketOrder {
    /// The number of the next packet, without wrapping around. A stream starts with 0 (PX4,
    /// `log_writer_mavlink.cpp`).
    next_number: u64,
    has_started: bool,
    /// The packets that have arrived, with their times of arrival. The keys are their numbers,
    /// which are at least `next_number`.
    queued: BTreeMap<u64, (StreamPacket, u64)>,
    /// Whether the stream has ended, so that packets need not wait any longer.
    is_finished: bool,
}

impl PacketOrder {
    /// Adds a packet that arrived at the time `now_micros`. Returns whether it is new. It is not
    /// new if it has arrived before, or if it arrives too late.
    pub(crate) fn push(&mut self, packet: StreamPacket, now_micros: u64) -> bool {
        // A packet has only the lower 16 bits of its number.
        let distance = packet.sequence.wrapping_sub(self.next_number as u16);
        if !self.has_started && usize::from(distance) > MAX_WAITING {
            // The stream started before the recording.
            self.next_number = packet.sequence.into();
            self.queued.insert(self.next_number, (packet, now_micros));
            self.has_started = true;
            return true;
        }
        self.has_started = true;
        if distance >= HALF_RANGE {
            return false;
        }
        match self.queued.entry(self.next_number + u64::from(distance)) {
            Entry::Vacant(entry) => {
                entry.insert((packet, now_micros));
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    /// Returns whether `sequence` is the number of the next packet, or slightly higher.
    pub(crate) fn is_near(&self, sequence: u16) -> bool {
        usize::from(sequence.wrapping_sub(self.next_number as u16)) <= MAX_WAITING
    }

    /// Returns the number of packets that wait for others.
    pub(crate) fn waiting_packets(&self) -> u64 {
        self.queued.len() as u64
    }

    /// Declares the end of the stream, so that `pop` returns all packets in the queue.
    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Returns the next packet. If it is missing and later packets have waited for it for too long
    /// at the time `now_micros`, returns the number of missing packets.
    pub(crate) fn pop(&mut self, now_micros: u64) -> Option<StreamItem> {
        let first = self.queued.first_entry()?;
        let (number, (_, time)) = (*first.key(), first.get());
        if number == self.next_number {
            let (packet, time) = first.remove();
            self.next_number += 1;
            return Some(StreamItem::Packet(packet, time));
        }
        let missing = number - self.next_number;
        let is_expired = self.is_finished
            || missing > MAX_WAITING as u64
            || now_micros.saturating_sub(*time) > MAX_WAIT_MICROS
            || self.queued.len() > MAX_WAITING;
        is_expired.then(|| {
            self.next_number = number;
            StreamItem::Missing(missing)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u16) -> StreamPacket {
        StreamPacket::new(sequence, None, vec![1]).unwrap()
    }

    /// Returns the numbers of the packets, and negative counts of missing ones.
    fn pop_all(order: &mut PacketOrder, now_micros: u64) -> Vec<i64> {
        let next = || order.pop(now_micros);
        let numbers = std::iter::from_fn(next).map(|item| match item {
            StreamItem::Packet(packet, _) => packet.sequence.into(),
            StreamItem::Missing(count) => -i64::try_from(count).unwrap(),
        });
        numbers.collect()
    }

    #[test]
    fn reordered_and_repeated_packets_come_once_and_in_order() {
        let mut order = PacketOrder::default();
        assert!(order.push(packet(1), 0));
        assert_eq!(pop_all(&mut order, 0), [] as [i64; 0]);
        assert!(order.push(packet(0), 1));
        assert!(!order.push(packet(1), 2));
        assert_eq!(pop_all(&mut order, 2), [0, 1]);
        assert!(!order.push(packet(0), 3));
        assert_eq!(pop_all(&mut order, 3), [] as [i64; 0]);
    }

    #[test]
    fn numbers_wrap_around_after_65535() {
        let mut order = PacketOrder::default();
        order.push(packet(65534), 0);
        order.push(packet(0), 0);
        order.push(packet(65535), 0);
        order.push(packet(1), 0);
        assert!(!order.push(packet(65533), 0));
        assert_eq!(pop_all(&mut order, 0), [65534, 65535, 0, 1]);
    }

    #[test]
    fn missing_packets_are_given_up_after_half_a_second() {
        let mut order = PacketOrder::default();
        order.push(packet(0), 0);
        order.push(packet(3), 10);
        assert_eq!(pop_all(&mut order, 500_010), [0]);
        assert_eq!(pop_all(&mut order, 500_011), [-2, 3]);
        assert!(!order.push(packet(2), 500_012), "it comes too late");
    }

    #[test]
    fn missing_packets_are_given_up_if_65_others_wait() {
        let mut order = PacketOrder::default();
        (1..=64).for_each(|sequence| assert!(order.push(packet(sequence), 0)));
        assert_eq!(pop_all(&mut order, 0), [] as [i64; 0]);
        order.push(packet(65), 0);
        let all: Vec<i64> = [-1].into_iter().chain(1..=65).collect();
        assert_eq!(pop_all(&mut order, 0), all);
    }

    #[test]
    fn a_long_loss_is_one_gap_at_once() {
        let mut order = PacketOrder::default();
        order.push(packet(0), 0);
        order.push(packet(20_000), 0);
        assert_eq!(pop_all(&mut order, 0), [0, -19_999, 20_000]);
        order.push(packet(20_000 + (1 << 15)), 0);
        assert_eq!(pop_all(&mut order, 0), [-(1 << 15) + 1, 52_768]);
    }

    #[test]
    fn finished_stream_returns_what_waits() {
        let mut order = PacketOrder::default();
        order.push(packet(2), 0);
        order.push(packet(5), 0);
        order.finish();
        assert_eq!(pop_all(&mut order, 0), [-2, 2, -2, 5]);
    }
}
