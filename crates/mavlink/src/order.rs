//! Sorts packets by their sequence numbers, and finds missing and repeated packets, and packets out of sequence.
//!
//! A packet whose number is far from the others is set aside until others follow it:
//!
//! ```text
//! next 35: 35 ... 99          continues the stream
//!          100 ... 32802      a long loss, if a second packet follows there; else a wrong number
//!          0 ... 34           repeated, if its bytes are the same
//!                             late, if it was given up; many of them: the numbers had jumped wrongly
//!                             of another stream, if its bytes differ
//! ```

mod counts;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    ops::Range,
};

pub(crate) use self::counts::PacketCounts;
use crate::packet::StreamPacket;

/// The maximum number of packets that wait for a missing packet. A vehicle sends 50 to 400 packets
/// per second.
const MAX_WAITING: i64 = 64;

/// The maximum time for which a packet waits for a missing packet, in microseconds.
const MAX_WAIT_MICROS: u64 = 500_000;

/// The number of sequence numbers, after which they start again.
const RANGE: i64 = 1 << 16;

/// The number of packets before the next one that are known. An older number is a number ahead.
const HISTORY: i64 = RANGE / 2;

/// The number of packets in a row after which the numbers are assumed to have jumped ahead.
const JUMP_RUN: usize = 2;

/// The number of packets in a row that prove an unlikely change: the numbers went back, they jumped
/// ahead by more than half of their range, or another stream has begun.
const LONG_RUN: usize = 8;

/// The next item of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamItem {
    /// The next packet, and the time at which it arrived.
    Packet(StreamPacket, u64),
    /// The next packet does not follow the last one.
    Gap,
}

/// A packet whose number does not continue the stream.
#[derive(Debug)]
struct AsidePacket {
    number: i64,
    packet: StreamPacket,
    arrival: u64,
}

/// A queue of packets that arrive in any order, more than once, or not at all.
#[derive(Debug)]
pub(crate) struct PacketOrder {
    /// The number of the first packet. Numbers do not wrap around here.
    first: i64,
    /// The number of the next packet.
    next: i64,
    /// Numbers that were returned or counted as lost before the numbers went back. They are not
    /// counted again.
    settled: Range<i64>,
    /// The hashes of the packets that have arrived, by their numbers.
    received: BTreeMap<i64, u64>,
    /// The hashes of packets that arrived before the numbers went back to lower ones. Other packets
    /// may have these numbers now.
    received_before: BTreeMap<i64, u64>,
    /// The packets that have arrived and were not returned, with their times of arrival. Their
    /// numbers are at least `next`.
    queued: BTreeMap<i64, (StreamPacket, u64)>,
    /// The items before those in `queued`.
    ready: VecDeque<StreamItem>,
    /// Packets whose numbers are far from the others, but near to each other.
    aside: Vec<AsidePacket>,
    /// The number of packets of another stream since the last packet of this one.
    foreign_run: usize,
    /// Whether another stream has begun.
    is_over: bool,
    /// Whether the stream has ended, so that packets need not wait any longer.
    is_finished: bool,
    counts: PacketCounts,
}

impl PacketOrder {
    /// Creates the order of a stream whose first packet has the number `sequence`.
    pub(crate) fn starting_at(sequence: u16) -> Self {
        let first = i64::from(sequence);
        Self {
            first,
            next: first,
            settled: first..first,
            received: BTreeMap::new(),
            received_before: BTreeMap::new(),
            queued: BTreeMap::new(),
            ready: VecDeque::new(),
            aside: Vec::new(),
            foreign_run: 0,
            is_over: false,
            is_finished: false,
            counts: PacketCounts::default(),
        }
    }

    /// Returns the counts of packets so far.
    pub(crate) fn counts(&self) -> PacketCounts {
        let mut counts = self.counts;
        // The numbers went back, and the stream ended before it reached the packets from which they
        // came. If these had wrong numbers, at least as many others are missing.
        let missing = u64::try_from(self.settled.start - self.next).unwrap_or(0);
        let is_finished = self.is_finished && self.queued.is_empty();
        if is_finished
            && missing > 0
            && counts.lost < self.received_before.range(self.next..).count() as u64
        {
            counts.lost += missing;
        }
        counts
    }

    /// Returns whether another stream has begun. Its packets are not returned.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns whether the same packet has arrived before.
    pub(crate) fn has_received(&self, packet: &StreamPacket) -> bool {
        self.received.get(&self.number(packet.sequence)) == Some(&hash(packet))
    }

    /// Adds a packet that arrived at the time `now_micros`.
    pub(crate) fn push(&mut self, packet: StreamPacket, now_micros: u64) {
        if self.is_over {
            self.counts.out_of_sequence += 1;
            return;
        }
        let number = self.number(packet.sequence);
        if let Some(known) = self.received.get(&number) {
            if *known == hash(&packet) {
                self.counts.repeated += 1;
            } else {
                self.add_foreign();
            }
        } else if self.received_before.get(&number) == Some(&hash(&packet)) {
            self.counts.repeated += 1;
        } else if number < self.next && self.foreign_run > 0 {
            // It follows packets of another stream.
            self.add_foreign();
        } else if number < self.next || number > self.last_queued() + MAX_WAITING {
            self.set_aside(AsidePacket { number, packet, arrival: now_micros });
        } else {
            self.drop_aside();
            self.enqueue(number, packet, now_micros);
        }
    }

    /// Declares the end of the stream, so that `pop` returns all packets in the queue.
    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
        let ahead = self.next..self.next + HISTORY;
        if self.aside.iter().all(|packet| ahead.contains(&packet.number)) {
            // Nothing contradicts their numbers.
            self.enqueue_aside();
        } else {
            self.drop_aside();
        }
    }

    /// Returns the next packet, or that it does not follow the last one: packets are missing, and
    /// later ones have waited for them for too long at the time `now_micros`.
    pub(crate) fn pop(&mut self, now_micros: u64) -> Option<StreamItem> {
        if let Some(item) = self.ready.pop_front() {
            return Some(item);
        }
        let (number, (_, arrival)) = self.queued.first_key_value()?;
        let missing = number - self.next;
        let is_expired = self.is_finished
            || missing > MAX_WAITING
            || now_micros.saturating_sub(*arrival) > MAX_WAIT_MICROS
            || self.queued.len() as i64 > MAX_WAITING;
        if missing > 0 && !is_expired { None } else { self.take_first() }
    }

    /// Returns the first packet in the queue, or that packets are missing before it.
    fn take_first(&mut self) -> Option<StreamItem> {
        let first = self.queued.first_entry()?;
        let number = *first.key();
        if number > self.next {
            self.counts.lost += self.unsettled(self.next..number);
            self.next = number;
            return Some(StreamItem::Gap);
        }
        let (packet, arrival) = first.remove();
        self.next = number + 1;
        for received in [&mut self.received, &mut self.received_before] {
            while let Some(oldest) = received.first_entry()
                && *oldest.key() < self.next - HISTORY
            {
                oldest.remove();
            }
        }
        Some(StreamItem::Packet(packet, arrival))
    }

    /// Returns how many of `numbers` were not settled before.
    fn unsettled(&self, numbers: Range<i64>) -> u64 {
        let before = numbers.start..numbers.end.min(self.settled.start);
        let after = numbers.start.max(self.settled.end)..numbers.end;
        [before, after]
            .into_iter()
            .map(|part| u64::try_from(part.end - part.start).unwrap_or(0))
            .sum()
    }

    /// Returns the number of a packet. `sequence` has its lower 16 bits.
    fn number(&self, sequence: u16) -> i64 {
        let ahead = self.next + (i64::from(sequence) - self.next).rem_euclid(RANGE);
        let behind = ahead - RANGE;
        let is_behind = ahead > self.last_queued() + MAX_WAITING
            && behind >= self.first.max(self.next - HISTORY);
        if is_behind { behind } else { ahead }
    }

    fn last_queued(&self) -> i64 {
        self.queued.last_key_value().map_or(self.next - 1, |(number, _)| *number)
    }

    fn enqueue(&mut self, number: i64, packet: StreamPacket, arrival: u64) {
        self.foreign_run = 0;
        self.counts.accepted += 1;
        self.received.insert(number, hash(&packet));
        self.queued.insert(number, (packet, arrival));
    }

    /// Drops a packet of another stream.
    fn add_foreign(&mut self) {
        self.drop_aside();
        self.counts.out_of_sequence += 1;
        self.foreign_run += 1;
        self.is_over = self.foreign_run >= LONG_RUN;
    }

    /// Keeps a packet that does not continue the stream, until later packets show the reason.
    fn set_aside(&mut self, aside: AsidePacket) {
        if let Some(same) = self.aside.iter().find(|known| known.number == aside.number)
        {
            let is_repeated = same.packet == aside.packet;
            let count = if is_repeated {
                &mut self.counts.repeated
            } else {
                &mut self.counts.out_of_sequence
            };
            *count += 1;
            return;
        }
        let number = aside.number;
        let is_ahead = number >= self.next;
        let is_related = self.aside.last().is_none_or(|last| {
            let are_ahead = is_ahead && last.number >= self.next;
            (are_ahead && number > last.number)
                || number.abs_diff(last.number) <= MAX_WAITING.unsigned_abs()
        });
        if !is_related {
            self.drop_aside();
        }
        self.aside.push(aside);
        let run = match number - self.next {
            0..HISTORY => JUMP_RUN,
            _ => LONG_RUN,
        };
        if self.aside.len() >= run {
            if !is_ahead {
                self.go_back();
            }
            self.enqueue_aside();
        }
    }

    fn enqueue_aside(&mut self) {
        for AsidePacket { number, packet, arrival } in std::mem::take(&mut self.aside) {
            self.enqueue(number, packet, arrival);
        }
    }

    /// Counts and drops the packets that were set aside.
    fn drop_aside(&mut self) {
        for aside in self.aside.drain(..) {
            let is_lost = aside.number < self.next
                && !self.received_before.contains_key(&aside.number);
            let count = if is_lost {
                &mut self.counts.late
            } else {
                &mut self.counts.out_of_sequence
            };
            *count += 1;
        }
    }

    /// Continues with the packets that were set aside, whose numbers are lower: the numbers had
    /// jumped ahead wrongly, or many packets came late.
    fn go_back(&mut self) {
        while let Some(item) = self.take_first() {
            self.ready.push_back(item);
        }
        self.ready.push_back(StreamItem::Gap);
        let end = self.next;
        let lowest = self.aside.iter().map(|aside| aside.number).min();
        self.next = lowest.unwrap_or(end);
        // The numbers from there on may be used again.
        let mut before = self.received.split_off(&self.next);
        let first_received = before.keys().next().copied().unwrap_or(end);
        self.received_before.append(&mut before);
        // No packet is taken for one with a higher number.
        self.received_before.split_off(&(self.next + RANGE));
        let lost = self.unsettled(self.next..first_received);
        self.counts.lost = self.counts.lost.saturating_sub(lost);
        self.settled = first_received..end;
    }
}

/// Returns a hash of the contents of a packet, by which it is compared with others.
fn hash(packet: &StreamPacket) -> u64 {
    let mut hasher = DefaultHasher::new();
    (packet.first_message, &packet.data).hash(&mut hasher);
    hasher.finish()
}
