//! Assembles a ULog from the packets of a stream.
//!
//! A vehicle splits its ULog into packets without regard to its messages. Each packet contains the
//! offset of the first message that starts in it. After a loss, the bytes before this offset are
//! skipped, because they belong to a message whose start is lost.

use std::collections::VecDeque;

use crate::{
    order::{PacketCounts, PacketOrder, StreamItem},
    packet::StreamPacket,
    ulog::{self, HEADER_BYTES, MAGIC, MessageTimes},
};

/// The maximum duration of a loss in microseconds. If the times in a ULog differ by more, one of
/// them is assumed to be wrong.
const MAX_GAP_MICROS: u64 = 3_600_000_000;

/// The number of times before a loss whose maximum is the start of the dropout. One time is not
/// enough, because topics are some milliseconds late, and some records have no time.
const RECENT_TIMES: usize = 16;

/// The maximum number of packets that arrive before the packet with the header although they follow
/// it. A vehicle sends the packets after the header when it was acknowledged.
const MAX_EARLY: usize = 8;

/// The counts of received, written and lost packets, messages and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamStatistics {
    /// The packets of the stream from its header on, without repetitions.
    pub packets: u64,
    /// The packets that had arrived before, with the same bytes. They are not a loss.
    pub repeated_packets: u64,
    /// The packets that arrived after they were counted as lost.
    pub late_packets: u64,
    /// The packets that were dropped because their numbers do not continue the stream: another
    /// packet has the same number and other bytes, or the numbers around it are far away. They
    /// have wrong numbers, or are of another stream whose header did not arrive.
    pub out_of_sequence_packets: u64,
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
        self.lost_packets > 0
            || self.out_of_sequence_packets > 0
            || self.skipped_bytes > 0
            || self.contradictions > 0
    }
}

/// The error for a packet with which another log starts. It contains the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnotherLogStarted(pub StreamPacket);

/// Assembles a ULog from packets.
///
/// The times of arrival are passed by the caller, in microseconds since any start. They are used
/// to decide when a missing packet is lost, and for the durations of dropouts without times in the
/// ULog around them.
#[derive(Debug, Default)]
pub struct UlogStream {
    /// The order of the packets from the header on.
    order: Option<PacketOrder>,
    /// The last packets before the header, with their times of arrival.
    early: VecDeque<(StreamPacket, u64)>,
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
        if self.starts_another_log(&packet) {
            return Err(AnotherLogStarted(packet));
        }
        if let Some(order) = &mut self.order {
            order.push(packet, now_micros);
        } else if header_of(&packet).is_some() {
            self.start(packet, now_micros);
        } else {
            if self.early.len() == MAX_EARLY {
                self.early.pop_front();
                self.statistics.packets_before_header += 1;
            }
            self.early.push_back((packet, now_micros));
        }
        self.advance(now_micros, ulog);
        Ok(())
    }

    /// Starts the stream with the packet `header`.
    fn start(&mut self, header: StreamPacket, now_micros: u64) {
        let first = header.sequence;
        let mut order = PacketOrder::starting_at(first);
        order.push(header, now_micros);
        for (packet, arrival) in self.early.drain(..) {
            let distance = packet.sequence.wrapping_sub(first);
            if (1..=MAX_EARLY).contains(&usize::from(distance)) {
                order.push(packet, arrival);
            } else {
                self.statistics.packets_before_header += 1;
            }
        }
        self.order = Some(order);
    }

    /// Appends complete messages to `ulog`. Missing packets are counted as lost if later packets
    /// have waited for them for too long at the time `now_micros`.
    pub fn advance(&mut self, now_micros: u64, ulog: &mut Vec<u8>) {
        let previous_len = ulog.len();
        while let Some(item) =
            self.order.as_mut().and_then(|order| order.pop(now_micros))
        {
            match item {
                StreamItem::Packet(packet, arrival) => self.add(&packet, arrival, ulog),
                StreamItem::Gap => {
                    self.skip_partial();
                    self.start_loss();
                }
            }
        }
        self.statistics.bytes += (ulog.len() - previous_len) as u64;
    }

    /// Appends to `ulog` the messages of packets that still wait for others, and the dropout of a
    /// loss at the end. No packet may follow.
    pub fn finish(&mut self, now_micros: u64, ulog: &mut Vec<u8>) {
        if let Some(order) = &mut self.order {
            order.finish();
        }
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

    /// Returns whether another log has begun although its header did not arrive: many packets in a
    /// row had old numbers and other bytes. No later packet is added to the ULog.
    pub fn is_over(&self) -> bool {
        self.order.as_ref().is_some_and(PacketOrder::is_over)
    }

    /// Returns the current counts.
    pub fn statistics(&self) -> StreamStatistics {
        let PacketCounts { accepted, lost, repeated, late, out_of_sequence } =
            self.order.as_ref().map_or(PacketCounts::default(), PacketOrder::counts);
        let before_header = self.statistics.packets_before_header;
        StreamStatistics {
            packets: accepted,
            lost_packets: lost,
            repeated_packets: repeated,
            late_packets: late,
            out_of_sequence_packets: out_of_sequence,
            packets_before_header: before_header + self.early.len() as u64,
            ..self.statistics
        }
    }

    /// Returns whether another log starts with `packet`. The header of a log contains its start
    /// time, so a log with the same header is the same one, which may be sent again.
    fn starts_another_log(&self, packet: &StreamPacket) -> bool {
        let (Some(header), Some(order)) = (header_of(packet), &self.order) else {
            return false;
        };
        self.header != Some(header) || !order.has_received(packet)
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
            let Some(header) = header_of(packet) else { return };
            self.header = Some(header);
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

/// Returns the header of a ULog with which `packet` starts.
fn header_of(packet: &StreamPacket) -> Option<[u8; HEADER_BYTES]> {
    let header = packet.data.first_chunk().filter(|data| data.starts_with(&MAGIC))?;
    (packet.first_message == Some(0)).then_some(*header)
}

#[cfg(test)]
mod tests;
