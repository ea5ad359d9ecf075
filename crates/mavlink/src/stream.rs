//! Makes a ULog of the packets of a stream.
//!
//! A vehicle cuts its ULog into packets, whatever the messages in it. A packet states where the
//! first message starts in it. After a loss, the rest of the message that was lost in part is
//! skipped up to there.

use std::collections::VecDeque;

use crate::{
    order::{Ordered, PacketOrder},
    packet::StreamPacket,
    ulog::{self, HEADER_BYTES, MAGIC, MessageTimes},
};

/// The longest gap that the times in a ULog may state, in microseconds. A longer one is rather a
/// wrong time.
const MAX_GAP_MICROS: u64 = 3_600_000_000;

/// The number of times before a loss that are compared. The latest is the start of the dropout,
/// because topics are some milliseconds late, and some have records without a time.
const RECENT_TIMES: usize = 16;

/// The counts of received, written and lost packets, messages and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamStatistics {
    /// Different packets of the stream.
    pub packets: u64,
    /// Packets that had arrived before, or that arrived too late.
    pub repeated_packets: u64,
    /// Packets before the header of the ULog, which are useless without it.
    pub packets_before_header: u64,
    /// Packets after the header that never arrived, or that arrived too late.
    pub lost_packets: u64,
    /// Bytes that arrived and are of no use, because the rest of their message did not arrive.
    pub skipped_bytes: u64,
    /// Bytes of the last message, which was not complete when the stream ended. A vehicle stops
    /// within a message: this is not a loss.
    pub unfinished_bytes: u64,
    /// Packets whose `first_message_offset` contradicts the lengths of the messages before.
    pub contradictions: u64,
    /// Complete messages of the vehicle that were written.
    pub messages: u64,
    /// Losses that were recorded as dropouts.
    pub dropouts: u64,
    /// The duration of these dropouts together, in milliseconds.
    pub dropout_millis: u64,
    /// Bytes of the ULog.
    pub bytes: u64,
}

impl StreamStatistics {
    /// Returns whether something was lost on the way from the vehicle.
    pub fn has_losses(&self) -> bool {
        self.lost_packets > 0 || self.skipped_bytes > 0 || self.contradictions > 0
    }
}

/// A new log started where another one was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restarted;

/// Makes a ULog of packets.
///
/// It has no clock: times of arrival are passed to it, in microseconds from any start. They only
/// serve to give up on missing packets, and for dropouts without times in the ULog around them.
#[derive(Debug, Default)]
pub struct UlogStream {
    order: PacketOrder,
    header: Option<[u8; HEADER_BYTES]>,
    /// The start of a message whose rest is in the next packet.
    partial: Vec<u8>,
    /// Whether the next packet starts after bytes that are missing or skipped.
    is_out_of_step: bool,
    /// The loss that is not recorded yet.
    loss: Option<Loss>,
    times: MessageTimes,
    /// The last times in the ULog, in microseconds.
    recent_times: VecDeque<u64>,
    last_arrival: u64,
    statistics: StreamStatistics,
}

/// The state of the stream before a loss.
#[derive(Clone, Copy, Debug)]
struct Loss {
    time: Option<u64>,
    arrival: u64,
}

impl UlogStream {
    /// Adds a packet that arrived at `now`, and appends complete messages to `ulog`.
    ///
    /// # Errors
    /// If a new log starts with the packet. It is not added: it belongs to another [`UlogStream`].
    pub fn push(
        &mut self,
        packet: StreamPacket,
        now: u64,
        ulog: &mut Vec<u8>,
    ) -> Result<(), Restarted> {
        if self.is_other_header(&packet) {
            return Err(Restarted);
        }
        let is_first = self.header.is_none() && is_header(&packet);
        if is_first && !self.order.is_near(packet.sequence) {
            // The packets before were of another stream.
            self.statistics.packets_before_header += self.order.waiting_packets();
            self.order = PacketOrder::default();
        }
        if self.order.push(packet, now) {
            self.statistics.packets += 1;
        } else {
            self.statistics.repeated_packets += 1;
        }
        self.advance(now, ulog);
        Ok(())
    }

    /// Appends complete messages to `ulog`, and counts packets as lost that were awaited until
    /// `now`.
    pub fn advance(&mut self, now: u64, ulog: &mut Vec<u8>) {
        let before = ulog.len();
        while let Some(part) = self.order.pop(now) {
            match part {
                Ordered::Packet(packet, arrival) => self.add(&packet, arrival, ulog),
                Ordered::Missing(count) => self.lose(count),
            }
        }
        self.statistics.bytes += (ulog.len() - before) as u64;
    }

    /// Appends to `ulog` the messages of packets that still wait for others, and the dropout of a
    /// loss at the end. No packet may follow.
    pub fn finish(&mut self, now: u64, ulog: &mut Vec<u8>) {
        self.order.finish();
        self.advance(now, ulog);
        let before = ulog.len();
        self.statistics.unfinished_bytes = self.partial.len() as u64;
        self.partial.clear();
        self.record_loss(None, ulog);
        self.statistics.bytes += (ulog.len() - before) as u64;
    }

    /// Returns whether the header of the ULog has arrived. Nothing is written before.
    pub fn has_header(&self) -> bool {
        self.header.is_some()
    }

    /// Returns the current counts.
    pub fn statistics(&self) -> StreamStatistics {
        self.statistics
    }

    /// Returns whether `packet` starts with the header of another log. The header has the start of
    /// the log, so that a repeated packet is not mistaken for one.
    fn is_other_header(&self, packet: &StreamPacket) -> bool {
        is_header(packet)
            && self.header.is_some_and(|header| !packet.data.starts_with(&header))
    }

    /// Notes that packets are missing. Before the header, they are of another log.
    fn lose(&mut self, count: u64) {
        if self.header.is_some() {
            self.statistics.lost_packets += count;
            self.skip_partial();
            self.start_loss();
        }
    }

    /// Notes a loss, if one is not already noted: losses without a time between them are one.
    fn start_loss(&mut self) {
        self.is_out_of_step = true;
        let time = self.recent_times.iter().max().copied();
        self.loss.get_or_insert(Loss { time, arrival: self.last_arrival });
    }

    fn skip_partial(&mut self) {
        self.statistics.skipped_bytes += self.partial.len() as u64;
        self.partial.clear();
    }

    /// Adds the packet that follows the one before.
    fn add(&mut self, packet: &StreamPacket, arrival: u64, ulog: &mut Vec<u8>) {
        let mut data = packet.data.as_slice();
        if self.header.is_none() {
            let header = data.first_chunk().filter(|header| header.starts_with(&MAGIC));
            let Some(header) = header else {
                self.statistics.packets_before_header += 1;
                return;
            };
            self.header = Some(*header);
            ulog.extend(header);
            // The offset of this packet is that of the header.
            data = data.get(HEADER_BYTES..).unwrap_or_default();
            self.is_out_of_step = false;
        } else if self.is_out_of_step {
            let start = packet.first_message.unwrap_or(data.len());
            self.statistics.skipped_bytes += start as u64;
            data = data.get(start..).unwrap_or_default();
            self.is_out_of_step = packet.first_message.is_none();
        } else if !self.agrees(packet) {
            // The offset counts, as in PX4's own receiver: after it, messages are whole.
            self.statistics.contradictions += 1;
            self.skip_partial();
            self.start_loss();
            return self.add(packet, arrival, ulog);
        }
        self.partial.extend(data);
        self.write_complete(arrival, ulog);
        self.last_arrival = arrival;
    }

    /// Returns whether the lengths of messages lead to the start of a message where `packet` states
    /// it.
    fn agrees(&self, packet: &StreamPacket) -> bool {
        let kept = self.partial.len();
        // At most two bytes of `data` belong to the size of the message.
        let mut start: Vec<u8> = self.partial.iter().take(3).copied().collect();
        start.extend(packet.data.iter().take(3_usize.saturating_sub(kept)));
        let rest = if kept == 0 {
            Some(0)
        } else {
            ulog::message_bytes(&start).map(|length| length.saturating_sub(kept))
        };
        rest.filter(|rest| *rest < packet.data.len()) == packet.first_message
    }

    /// Moves complete messages to `ulog`.
    fn write_complete(&mut self, arrival: u64, ulog: &mut Vec<u8>) {
        let mut partial = std::mem::take(&mut self.partial);
        let mut rest = partial.as_slice();
        while let Some((message, after)) =
            ulog::message_bytes(rest).and_then(|length| rest.split_at_checked(length))
        {
            if let Some(time) = self.times.read(message) {
                // Here the loss lies between two times. Before the first message with a time there
                // may be others, such as subscriptions.
                self.record_loss(Some((time, arrival)), ulog);
                if self.recent_times.len() == RECENT_TIMES {
                    self.recent_times.pop_front();
                }
                self.recent_times.push_back(time);
            }
            ulog.extend(message);
            self.statistics.messages += 1;
            rest = after;
        }
        // The rest stays where it is until a message is complete: copying it for each packet would
        // take a time that grows with the square of its length.
        let written = partial.len() - rest.len();
        partial.drain(..written);
        self.partial = partial;
    }

    /// Records the loss before the message of this time and arrival, or at the end of the stream.
    ///
    /// Its duration is the difference between the latest of the last 16 times in the ULog before it
    /// and the first one after it. Without these, or if they go back, it is the time between the
    /// packets around it.
    fn record_loss(&mut self, next: Option<(u64, u64)>, ulog: &mut Vec<u8>) {
        let Some(loss) = self.loss.take() else { return };
        let (time, arrival) = match next {
            Some((time, arrival)) => (Some(time), arrival),
            None => (None, self.last_arrival),
        };
        let by_times = loss.time.zip(time).and_then(|(before, after)| {
            after.checked_sub(before).filter(|micros| *micros <= MAX_GAP_MICROS)
        });
        let by_arrival = arrival.saturating_sub(loss.arrival).min(MAX_GAP_MICROS);
        let mut millis = (by_times.unwrap_or(by_arrival) + 500) / 1000;
        self.statistics.dropouts += 1;
        self.statistics.dropout_millis += millis;
        // The duration of one message has 16 bits: a longer loss needs several.
        loop {
            let part = u16::try_from(millis).unwrap_or(u16::MAX);
            ulog.extend(ulog::dropout(part));
            millis -= u64::from(part);
            if millis == 0 {
                return;
            }
        }
    }
}

/// Returns whether `packet` starts with the header of a ULog.
fn is_header(packet: &StreamPacket) -> bool {
    packet.first_message == Some(0) && packet.data.starts_with(&MAGIC)
}

#[cfg(test)]
mod tests;
