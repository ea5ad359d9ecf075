//! Translates packets to `velodyne_msgs/VelodyneScan`: one message for each rotation, like
//! ROS's driver sends them if an azimuth for the end of a rotation is configured.
//!
//! The packet that passes the start azimuth of a scan is the last one of its message. Each
//! packet has its time of arrival, and the message has the time of its last packet, also in the
//! header. Packets that are not marked valid are dropped.

use std::sync::Arc;

use logtool_core::{
    Log, MessageBuffer, Run, TimeRange, Timestamp, Topic, TopicId, Translate,
    Translation,
};
use logtool_rosmsg::MessageWriter;
use logtool_velodyne::{lidar::LidarInfo, packet::Firings, vel::PacketReader};

use crate::{error::Result, formats::LogFormat, records::translate::ros::common_topic};

/// The maximum number of packets of a message, for a head that does not rotate.
const MAX_PACKETS: usize = 4096;

/// After a pause of this length, packets belong to another rotation: the slowest takes this long.
const GAP_NANOS: u64 = 200_000_000;

/// A rotation, in hundredths of a degree.
const TURN: u32 = 36_000;

/// Translates the packets `id` of `log` in the range `time` to scans in a frame, with
/// `offset_nanos` added to their times. Rotations end at the same azimuth as those of `points`,
/// if there are points.
pub(super) fn packets(
    log: &Arc<dyn Log>,
    (id, topic, frame): (TopicId, &Topic, String),
    points: Option<&Topic>,
    time: TimeRange,
    offset_nanos: i64,
) -> Result<Translation> {
    let topic_info = common_topic(topic, "", "velodyne_msgs/VelodyneScan")?;
    let manifest = log.manifest();
    let reader = match LogFormat::from_manifest(manifest) {
        Some(LogFormat::Vel) => Some(PacketReader::new(manifest)?),
        _ => None,
    };
    let cut =
        points.and_then(LidarInfo::from_topic).map_or(0.0, |info| info.scan_start_deg);
    let cut = (cut * 100.0).round() as u32 % TURN;
    let new_translator = Arc::new(move || {
        let turn = PendingRotation {
            frame: frame.clone(),
            offset_nanos,
            sequence: 0,
            packets: Vec::new(),
            count: 0,
            last: Timestamp::default(),
            after_cut: 0,
        };
        let translator: Box<dyn Translate> =
            Box::new(PacketScans { reader, time, cut, turn });
        Ok(translator)
    });
    Ok(Translation { source_topic: id, topic: topic_info, new_translator })
}

/// Combines packets to scans.
struct PacketScans {
    /// Extracts packets from messages, if records are not packets themselves.
    reader: Option<PacketReader>,
    time: TimeRange,
    cut: u32,
    turn: PendingRotation,
}

/// The rotation that is not complete.
struct PendingRotation {
    frame: String,
    offset_nanos: i64,
    sequence: u32,
    /// Its packets, each after its time.
    packets: Vec<u8>,
    count: usize,
    /// The time of the last packet, and its azimuth relative to the start azimuth.
    last: Timestamp,
    after_cut: u32,
}

impl Translate for PacketScans {
    fn translate(
        &mut self,
        run: Run<'_>,
        messages: &mut MessageBuffer,
    ) -> logtool_core::Result<()> {
        for (index, record) in run.records().enumerate() {
            match &self.reader {
                Some(reader) if !reader.is_valid(&record) => {}
                Some(reader) => {
                    for packet in reader.packets(record) {
                        self.add(packet.time, packet.payload, index, messages);
                    }
                }
                None if Firings::new(record.payload).is_none() => {
                    messages.discard(record.undecodable_damage());
                }
                None => self.add(record.time, record.payload, index, messages),
            }
        }
        Ok(())
    }

    fn finish(&mut self, messages: &mut MessageBuffer) -> logtool_core::Result<()> {
        self.turn.end(0, messages);
        Ok(())
    }
}

impl PacketScans {
    /// Adds a packet that arrived at `time`, in the record at index `index`.
    fn add(
        &mut self,
        time: Timestamp,
        packet: &[u8],
        index: usize,
        messages: &mut MessageBuffer,
    ) {
        let Some(firings) = Firings::new(packet).filter(|_| self.time.contains(time))
        else {
            return;
        };
        let azimuth = u32::from(firings.azimuths().first().copied().unwrap_or(0));
        let after_cut = (azimuth + TURN - self.cut) % TURN;
        let turn = &mut self.turn;
        if time.as_nanos().abs_diff(turn.last.as_nanos()) > GAP_NANOS {
            turn.end(index, messages);
        }
        // The azimuth never decreases by half a rotation, so this is the next rotation.
        let is_new = turn.count > 0 && after_cut + TURN / 2 < turn.after_cut;
        turn.push(time, packet);
        (turn.last, turn.after_cut) = (time, after_cut);
        if is_new || turn.count >= MAX_PACKETS {
            turn.end(index, messages);
        }
    }
}

impl PendingRotation {
    fn push(&mut self, time: Timestamp, packet: &[u8]) {
        let nanos = time.as_nanos().saturating_add(self.offset_nanos);
        MessageWriter::new(&mut self.packets).time(nanos).bytes(packet);
        self.count += 1;
    }

    /// Ends the message at the record with the index `record`, unless it is empty.
    fn end(&mut self, record: usize, messages: &mut MessageBuffer) {
        if self.count == 0 {
            return;
        }
        let nanos = self.last.as_nanos().saturating_add(self.offset_nanos);
        let mut message = MessageWriter::new(messages.buffer());
        message.header(self.sequence, nanos, &self.frame);
        message.u32(self.count as u32).bytes(&self.packets);
        messages.end_message_at(record, self.last);
        self.sequence = self.sequence.wrapping_add(1);
        self.count = 0;
        self.packets.clear();
    }
}
