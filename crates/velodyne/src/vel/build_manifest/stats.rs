//! Statistics of the messages.

use logtool_core::TopicId;

use crate::vel::{
    build_manifest::{
        payload_len, position_unit::PositionStats, quaternion_order::QuaternionStats,
    },
    classifier::MessageExtent,
    decode::{image, topics::TopicKind},
    message::{Gps, Pose},
    program_clock,
    utc::GpsTimes,
    wire::{self, VALID, VALID_DIGIT},
};

/// Statistics of a log.
#[derive(Clone, Debug, Default)]
pub(super) struct Stats {
    pub(super) topics: Vec<TopicStats>,
    pub(super) packets: u64,
    /// The maximum number of packets in a message.
    pub(super) most_packets: u64,
    /// The messages with each validity byte.
    pub(super) valid: Validity,
    pub(super) valid_digit: Validity,
    pub(super) other_values: Validity,
    pub(super) gps: GpsStats,
    /// The statistics of messages that are marked with the digit `1`.
    pub(super) gps_digit: GpsStats,
    /// Images whose encoding or size differs from their header.
    pub(super) invalid_images: u64,
    /// Messages whose length differs from the declared one.
    pub(super) wrong_lengths: u64,
    pub(super) attitudes: QuaternionStats,
}

/// Statistics of GPS messages.
#[derive(Clone, Debug, Default)]
pub(super) struct GpsStats {
    pub(super) times: GpsTimes,
    pub(super) positions: PositionStats,
    /// The number of messages with a warning that is neither 0 nor 1.
    pub(super) unknown_warnings: u64,
}

/// Statistics of a topic.
#[derive(Clone, Copy, Debug)]
pub(super) struct TopicStats {
    pub(super) records: u64,
    pub(super) bytes: u64,
    /// Records that are marked with the digit, and records with any other invalid mark.
    pub(super) digit: u64,
    pub(super) other_values: u64,
}

/// Statistics of the messages with one validity byte.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Validity {
    pub(super) messages: u64,
    pub(super) with_packets: u64,
    pub(super) bytes_with_packets: u64,
}

impl Stats {
    /// Returns the number of messages.
    pub(super) fn messages(&self) -> u64 {
        let all = [self.valid, self.valid_digit, self.other_values];
        all.iter().map(|validity| validity.messages).sum()
    }

    /// Adds a `message` of `topic`. `data` contains the first bytes of its data.
    pub(super) fn message(
        &mut self,
        topic: TopicId,
        kind: Option<TopicKind>,
        message: &MessageExtent,
        data: &[u8],
    ) {
        let time = program_clock::from_millis(message.header.millis);
        if self.topics.len() <= topic.index() {
            let none = TopicStats { records: 0, bytes: 0, digit: 0, other_values: 0 };
            self.topics.resize(topic.index() + 1, none);
        }
        if let Some(stats) = self.topics.get_mut(topic.index()) {
            stats.records += 1;
            stats.bytes += payload_len(message);
            match message.header.validity {
                VALID => {}
                VALID_DIGIT => stats.digit += 1,
                _ => stats.other_values += 1,
            }
        }
        let validity = match message.header.validity {
            VALID => &mut self.valid,
            VALID_DIGIT => &mut self.valid_digit,
            _ => &mut self.other_values,
        };
        validity.messages += 1;
        match kind {
            Some(TopicKind::Packets) => {
                validity.with_packets += 1;
                validity.bytes_with_packets += payload_len(message);
                let head = (wire::HEADER_LEN + 4) as u64;
                let packets = message.len.saturating_sub(head);
                let packets = packets / wire::PACKET_LEN as u64;
                self.packets += packets;
                self.most_packets = self.most_packets.max(packets);
            }
            Some(TopicKind::Gps) => {
                let stats = match message.header.validity {
                    VALID => Some(&mut self.gps),
                    VALID_DIGIT => Some(&mut self.gps_digit),
                    _ => None,
                };
                if let Some((stats, gps)) = stats.zip(Gps::from_data(data)) {
                    stats.times.observe(time, &gps);
                    stats.positions.observe(&gps);
                    stats.unknown_warnings += u64::from(!matches!(gps.warning, 0 | 1));
                }
            }
            Some(TopicKind::Image) => {
                self.invalid_images += u64::from(!image::is_valid_image(data));
            }
            Some(TopicKind::Pose) => {
                if let Some(pose) = Pose::from_data(data) {
                    self.attitudes.observe(&pose);
                }
            }
            _ => {}
        }
    }
}
