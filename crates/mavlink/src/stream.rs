//! Assembles a ULog from the packets of a stream.
//!
//! A vehicle splits its ULog into packets without regard to its messages. Each packet contains the
//! offset of the first message that starts in it. After a loss, the bytes before this offset are
//! skipped, because they belong to a message whose start is lost.

use std::collections::VecDeque;

use crate::{
    order::{PacketOrder, StreamItem},
    packet::StreamPacket,
    ulog::{self, HEADER_BYTES, MAGIC, MessageTimes},
};

/// The maximum duration of a loss in microseconds. If the times in a ULog differ by more, one of
/// them is assumed to be wrong.
const MAX_GAP_MICROS: u64 = 3_600_000_000;

/// The number of times before a loss whose maximum is the start of the dropout. One time is not
/// enough, because topics are some milliseconds late, and some records have no time.
const RECENT_TIMES: usize = 16;

/// The counts of received, written and lost packets, messages and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamStatistics {
    /// The packets of the stream, without repetitions.
    pub packets: u64,
    /// The packets that had arrived before, or that arrived too late.
    pub repeated_packets: u64,
    /// The packets before the header of the ULog, which cannot be used.
    pub packets_before_header: u64,
    /// The packets after the header that never arrived, or that arrived too late.
    pub lost_packets: u64,
    /// The bytes that arrived but cannot be used, because other bytes of their message did not
    /// arrive.
    pub skipped_bytes: u64,
    /// The bytes of the last message, if it was not complete when the stream ended. They are not a
    /// loss, because a vehicle stops within a message.
    pub unfinished_bytes: u64,
    /// The packets whose `first_message_offset` contradicts the lengths of the preceding messages.
    pub contradictions: u64,
    /// The complete messages of the vehicle that were written.
    pub messages: u64,
    /// The losses that were recorded as dropouts.
    pub dropouts: u64,
    /// The total duration of these dropouts in milliseconds.
    pub dropout_millis: u64,
    /// The bytes of the ULog.
    pub bytes: u64,
}

impl StreamStatistics {
    /// Returns whether data was lost between the vehicle and the receiver.
    pub fn has_losses(&self) -> bool {
        self.lost_packets > 0 || self.skipped_bytes > 0 || self.contradictions > 0
    }
}

/// The error for a packet with which another log starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnotherLogStarted;

/// Assembles a ULog from packets.
///
/// The times of arrival are passed by the caller, in microseconds since any start. They are used
/// to decide when a missing packet is lost, and for the durations of dropouts without times in the
/// ULog around them.
#[derive(Debug, Default)]
pub struct UlogStream {
    order: PacketOrder,
    header: Option<[u8; HEADER_BYTES]>,
    /// The start of a message that continues in the next packet.
    partial: Vec<u8>,
    /// Whether the next packet starts after bytes that are missing or skipped.
    is_resyncing: bool,
    /// The current loss, which is not recorded yet.
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
    /// Adds a packet that arrived at `now_micros`, and appends complete messages to `ulog`.
    ///
    /// # Errors
    /// [`AnotherLogStarted`] if another log starts with the packet. The packet is not added; it
    /// belongs to another [`UlogStream`].
    pub fn push(
        &mut self,
        packet: StreamPacket,
        now_micros: u64,
        ulog: &mut Vec<u8>,
    ) -> Result<(), AnotherLogStarted> {
        if self.is_other_header(&packet) {
            return Err(AnotherLogStarted);
        }
        let is_first = self.header.is_none() && is_header(&packet);
        if is_first && !self.order.is_near(packet.sequence) {
            // The preceding packets belong to another stream.
            self.statistics.packets_before_header += self.order.waiting_packets();
            self.order = PacketOrder::default();
        }
        if self.order.push(packet, now_micros) {
            self.statistics.packets += 1;
        } else {
            self.statistics.repeated_packets += 1;
        }
        self.advance(now_micros, ulog);
        Ok(())
    }

    /// Appends complete messages to `ulog`. Missing packets are counted as lost if later packets
    /// have waited for them for too long at the time `now_micros`.
    pub fn advance(&mut self, now_micros: u64, ulog: &mut Vec<u8>) {
        let previous_len = ulog.len();
        while let Some(item) = self.order.pop(now_micros) {
            match item {
                StreamItem::Packet(packet, arrival) => self.add(&packet, arrival, ulog),
                StreamItem::Missing(count) => self.add_lost_packets(count),
            }
        }
        self.statistics.bytes += (ulog.len() - previous_len) as u64;
    }

    /// Appends to `ulog` the messages of packets that still wait for others, and the dropout of a
    /// loss at the end. No packet may follow.
    pub fn finish(&mut self, now_micros: u64, ulog: &mut Vec<u8>) {
        self.order.finish();
        self.advance(now_micros, ulog);
        let previous_len = ulog.len();
        self.statistics.unfinished_bytes = self.partial.len() as u64;
        self.partial.clear();
        self.record_loss(None, ulog);
        self.statistics.bytes += (ulog.len() - previous_len) as u64;
    }

    /// Returns whether the header of the ULog has arrived. Bytes are written only after it.
    pub fn has_header(&self) -> bool {
        self.header.is_some()
    }

    /// Returns the current counts.
    pub fn statistics(&self) -> StreamStatistics {
        self.statistics
    }

    /// Returns whether `packet` starts with the header of another log. The header of a repeated
    /// packet is the same, because it contains the start time of the log.
    fn is_other_header(&self, packet: &StreamPacket) -> bool {
        is_header(packet)
            && self.header.is_some_and(|header| !packet.data.starts_with(&header))
    }

    /// Records that `count` packets are missing. Missing packets before the header belong to
    /// another log and are ignored.
    fn add_lost_packets(&mut self, count: u64) {
        if self.header.is_some() {
            self.statistics.lost_packets += count;
            self.skip_partial();
            self.start_loss();
        }
    }

    /// Starts a loss, unless there is a current loss: losses without a time between them are
    /// combined.
    fn start_loss(&mut self) {
        self.is_resyncing = true;
        let time = self.recent_times.iter().max().copied();
        self.loss.get_or_insert(Loss { time, arrival: self.last_arrival });
    }

    fn skip_partial(&mut self) {
        self.statistics.skipped_bytes += self.partial.len() as u64;
        self.partial.clear();
    }

    /// Adds the next packet.
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
            // The offset of this packet refers to the header.
            data = data.get(HEADER_BYTES..).unwrap_or_default();
            self.is_resyncing = false;
        } else if self.is_resyncing {
            let start = packet.first_message.unwrap_or(data.len());
            self.statistics.skipped_bytes += start as u64;
            data = data.get(start..).unwrap_or_default();
            self.is_resyncing = packet.first_message.is_none();
        } else if !self.has_expected_offset(packet) {
            // The offset is trusted, as in PX4's own receiver: complete messages follow it.
            self.statistics.contradictions += 1;
            self.skip_partial();
            self.start_loss();
            return self.add(packet, arrival, ulog);
        }
        self.partial.extend(data);
        self.write_complete(arrival, ulog);
        self.last_arrival = arrival;
    }

    /// Returns whether the offset of the first message in `packet` agrees with the length of the
    /// current message.
    fn has_expected_offset(&self, packet: &StreamPacket) -> bool {
        let partial_len = self.partial.len();
        // At most two bytes of `data` belong to the size of the message.
        let mut size_bytes: Vec<u8> = self.partial.iter().take(3).copied().collect();
        size_bytes.extend(packet.data.iter().take(3_usize.saturating_sub(partial_len)));
        let expected_offset = if partial_len == 0 {
            Some(0)
        } else {
            ulog::message_bytes(&size_bytes)
                .map(|length| length.saturating_sub(partial_len))
        };
        expected_offset.filter(|expected_offset| *expected_offset < packet.data.len())
            == packet.first_message
    }

    /// Moves complete messages to `ulog`.
    fn write_complete(&mut self, arrival: u64, ulog: &mut Vec<u8>) {
        let mut partial = std::mem::take(&mut self.partial);
        let mut remaining = partial.as_slice();
        while let Some((message, next)) = ulog::message_bytes(remaining)
            .and_then(|length| remaining.split_at_checked(length))
        {
            if let Some(time) = self.times.read(message) {
                // The loss is recorded here, because it lies between two times. Messages without a
                // time, such as subscriptions, may precede this message.
                self.record_loss(Some((time, arrival)), ulog);
                if self.recent_times.len() == RECENT_TIMES {
                    self.recent_times.pop_front();
                }
                self.recent_times.push_back(time);
            }
            ulog.extend(message);
            self.statistics.messages += 1;
            remaining = next;
        }
        // The remaining bytes are not moved until a message is complete: moving them for each
        // packet would take quadratic time.
        let written_len = partial.len() - remaining.len();
        partial.drain(..written_len);
        self.partial = partial;
    }

    /// Records the current loss. `next` are the time and the arrival of the message after it;
    /// `None` at the end of the stream.
    ///
    /// The duration is the difference between the latest of the last 16 times in the ULog before
    /// the loss and the first time after it. If one of them is missing, or if the difference is
    /// negative, the duration is the time between the packets before and after the loss.
    fn record_loss(&mut self, next: Option<(u64, u64)>, ulog: &mut Vec<u8>) {
        let Some(loss) = self.loss.take() else { return };
        let (time, arrival) = match next {
            Some((time, arrival)) => (Some(time), arrival),
            None => (None, self.last_arrival),
        };
        let time_difference = loss.time.zip(time).and_then(|(start, end)| {
            end.checked_sub(start).filter(|micros| *micros <= MAX_GAP_MICROS)
        });
        let arrival_difference =
            arrival.saturating_sub(loss.arrival).min(MAX_GAP_MICROS);
        let mut millis = (time_difference.unwrap_or(arrival_difference) + 500) / 1000;
        self.statistics.dropouts += 1;
        self.statistics.dropout_millis += millis;
        // The duration in a dropout message has 16 bits, so a longer loss needs several messages.
        loop {
            let chunk_millis = u16::try_from(millis).unwrap_or(u16::MAX);
            ulog.extend(ulog::dropout(chunk_millis));
            millis -= u64::from(chunk_millis);
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
