//! Statistics of the messages.

use logtool_core::TopicId;

use crate::vel::{
    build_manifest::{
        packets_in, position_unit::PositionStats, quaternion_order::QuaternionStats,
    },
    classifier::MessageExtent,
    decode::{
        image,
        topics::{TopicKind, payload_len},
    },
    message::{Gps, Pose},
    program_clock,
    utc::GpsTimes,
    wire::{VALID, VALID_DIGIT},
};

/// Statistics of a log.
#[derive(Clone, Debug, Default)]
pub(super) struct Stats {
    pub(super) topics: Vec<TopicStats>,
    pub(super) packets: u64,
    /// The maximum number of packets in a message.
    pub(super) max_packets: u64,
    /// The messages that are marked with the letter `I`.
    pub(super) marked_valid: ValidityStats,
    /// The messages that are marked with the digit `1`.
    pub(super) marked_digit: ValidityStats,
    /// The messages with another validity byte.
    pub(super) marked_other: ValidityStats,
    /// The GPS messages that are marked with the letter `I`.
    pub(super) gps: GpsStats,
    /// The GPS messages that are marked with the digit `1`.
    pub(super) gps_digit: GpsStats,
    /// The number of images whose encoding or size differs from their header.
    pub(super) invalid_images: u64,
    /// The number of messages whose length differs from the declared one.
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
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TopicStats {
    pub(super) records: u64,
    pub(super) bytes: u64,
    /// The number of records that are marked with the digit `1`.
    pub(super) marked_digit: u64,
    /// The number of records that are marked neither with the letter `I` nor the digit.
    pub(super) marked_other: u64,
}

/// Statistics of the messages with one mark of validity.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ValidityStats {
    pub(super) messages: u64,
    pub(super) with_packets: u64,
    pub(super) bytes_with_packets: u64,
}

impl Stats {
    /// Returns the number of messages.
    pub(super) fn messages(&self) -> u64 {
        let all = [self.marked_valid, self.marked_digit, self.marked_other];
        all.iter().map(|stats| stats.messages).sum()
    }

    /// Adds a `message` of `topic`. `data` contains the first bytes of its data.
    pub(super) fn add_message(
        &mut self,
        topic: TopicId,
        kind: Option<TopicKind>,
        message: &MessageExtent,
        data: &[u8],
    ) {
        let time = program_clock::from_millis(message.header.millis);
        if self.topics.len() <= topic.index() {
            self.topics.resize(topic.index() + 1, TopicStats::default());
        }
        if let Some(stats) = self.topics.get_mut(topic.index()) {
            stats.records += 1;
            stats.bytes += payload_len(message);
            match message.header.validity {
                VALID => {}
                VALID_DIGIT => stats.marked_digit += 1,
                _ => stats.marked_other += 1,
            }
        }
        let stats_of_mark = match message.header.validity {
            VALID => &mut self.marked_valid,
            VALID_DIGIT => &mut self.marked_digit,
            _ => &mut self.marked_other,
        };
        stats_of_mark.messages += 1;
        match kind {
            Some(TopicKind::Packets) => {
                stats_of_mark.with_packets += 1;
                stats_of_mark.bytes_with_packets += payload_len(message);
                let packets = packets_in(message.len);
                self.packets += packets;
                self.max_packets = self.max_packets.max(packets);
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
