//! The topics of a capture, with statistics.

use logtool_core::{TimeRange, TopicId};

use crate::{
    capture::{
        build_manifest::position_clock::PositionClock, item::NO_TIME,
        packets::sender::Sender, reader::LidarPacket,
    },
    lidar::Probe,
};

/// The maximum number of topics. A network of lidars has fewer.
const MAX_TOPICS: usize = 256;

/// The topics, in the order of their first packets.
#[derive(Clone, Debug, Default)]
pub(super) struct TopicStatsTable {
    pub(super) stats: Vec<TopicStats>,
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
    pub(super) fn add(
        &mut self,
        packet: &LidarPacket,
        payload: &[u8],
    ) -> Option<TopicId> {
        let index = self.stats.iter().position(|stats| stats.sender == packet.sender);
        let index = match index {
            Some(index) => index,
            None if self.stats.len() >= MAX_TOPICS => return None,
            None => {
                self.stats.push(TopicStats {
                    sender: packet.sender,
                    records: 0,
                    bytes: 0,
                    time: TimeRange::EMPTY,
                    without_time: 0,
                    probe: Probe::default(),
                    clock: PositionClock::default(),
                });
                self.stats.len() - 1
            }
        };
        let stats = self.stats.get_mut(index)?;
        stats.records += 1;
        stats.bytes += payload.len() as u64;
        match packet.time {
            NO_TIME => stats.without_time += 1,
            time => stats.time = stats.time.cover(&TimeRange::from_timestamp(time)),
        }
        if packet.sender.is_position {
            stats.clock.add(payload, packet.time)
        } else {
            stats.probe.add(payload, packet.time)
        }
        Some(TopicId(index as u32))
    }
}
