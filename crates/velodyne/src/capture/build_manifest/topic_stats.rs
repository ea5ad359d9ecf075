//! The lidars of a capture, with statistics.

use logtool_core::{TimeRange, TopicId};

use crate::{
    capture::{
        build_manifest::position_clock::PositionClock, item::NO_TIME,
        packets::sender::Sender, reader::LidarPacket,
    },
    lidar::Probe,
};

/// The maximum number of topics, more than a network of lidars has.
const MAX_TOPICS: usize = 256;

/// The topics, in the order of their first packets.
#[derive(Clone, Debug, Default)]
pub(super) struct TopicStatsTable {
    pub(super) counted: Vec<TopicStats>,
}

/// A topic with its statistics.
#[derive(Clone, Debug)]
pub(super) struct TopicStats {
    pub(super) sender: Sender,
    pub(super) records: u64,
    pub(super) bytes: u64,
    /// The time range of the packets that have a time.
    pub(super) time: TimeRange,
    /// The number of packets without a time.
    pub(super) without_time: u64,
    /// The probe of the first packets.
    pub(super) probe: Probe,
    /// The statistics of the clock, from position packets.
    pub(super) clock: PositionClock,
}

impl TopicStatsTable {
    /// Adds a packet, and returns its topic, or `None` if there are too many topics.
    pub(super) fn packet(
        &mut self,
        packet: &LidarPacket,
        payload: &[u8],
    ) -> Option<TopicId> {
        let known = self.counted.iter().position(|c| c.sender == packet.sender);
        let index = match known {
            Some(index) => index,
            None if self.counted.len() >= MAX_TOPICS => return None,
            None => {
                self.counted.push(TopicStats {
                    sender: packet.sender,
                    records: 0,
                    bytes: 0,
                    time: TimeRange::EMPTY,
                    without_time: 0,
                    probe: Probe::default(),
                    clock: PositionClock::default(),
                });
                self.counted.len() - 1
            }
        };
        let counted = self.counted.get_mut(index)?;
        counted.records += 1;
        if packet.sender.is_position {
            counted.clock.add(payload, packet.time)
        } else {
            counted.probe.add(payload, packet.time)
        }
        counted.bytes += payload.len() as u64;
        match packet.time {
            NO_TIME => counted.without_time += 1,
            time => counted.time = counted.time.cover(&TimeRange::from_timestamp(time)),
        }
        Some(TopicId(index as u32))
    }
}
