//! Reads the packets of a bag, and the records of their points.

use std::sync::Arc;

use logtool_core::{
    Block, Cursor, Damage, DamageKind, Record, Selection, Timestamp, TopicId,
};
use logtool_velodyne::lidar::Lidar;

use crate::source::input::lidar_packets::{
    LidarTopic, MAX_DELAY_NANOS, frames::ScanTopic,
};

/// Reads the bag, divides the packets between the lidars, and adds records of points for those of
/// packets.
pub(super) struct LidarCursor {
    cursor: Box<dyn Cursor>,
    block: Block,
    selection: Selection,
    scan_topics: Arc<[ScanTopic]>,
    lidars: Arc<[LidarTopic]>,
}

impl Cursor for LidarCursor {
    fn fill(&mut self, block: &mut Block) -> logtool_core::Result<bool> {
        if !self.cursor.fill(&mut self.block)? {
            return Ok(false);
        }
        reset_to(block, &self.block);
        self.block.damage().iter().for_each(|damage| block.report(damage.clone()));
        let records: Vec<Record<'_>> = self.block.iter().collect();
        // The packets of a message are the records before it.
        let ends_message = |record: &Record<'_>| self.scan_topic(record).is_some();
        for records in records.split_inclusive(ends_message) {
            self.add_message(block, records);
        }
        Ok(true)
    }
}

impl LidarCursor {
    /// Creates a cursor of the `selection` from a cursor of the bag.
    pub(super) fn new(
        cursor: Box<dyn Cursor>,
        selection: Selection,
        scan_topics: Arc<[ScanTopic]>,
        lidars: Arc<[LidarTopic]>,
    ) -> Self {
        Self { cursor, block: Block::default(), selection, scan_topics, lidars }
    }

    /// Returns the topic of scans that contains `record`, if it is a message with packets.
    fn scan_topic(&self, record: &Record<'_>) -> Option<&ScanTopic> {
        self.scan_topics.iter().find(|topic| topic.messages.topic == record.topic)
    }

    /// Adds a message, and the records before it, to `block`.
    fn add_message(&self, block: &mut Block, records: &[Record<'_>]) {
        let scan_topic = records.last().and_then(|message| self.scan_topic(message));
        let Some((scan_topic, (message, others))) =
            scan_topic.zip(records.split_last())
        else {
            return self.add_records(block, records, None);
        };
        let is_packet = |record: &Record<'_>| record.topic == scan_topic.packets;
        let packets: Vec<_> = others.iter().copied().filter(is_packet).collect();
        let frame_id = scan_topic.messages.frame_id(message, &packets);
        // A damaged message is reported by the decoder of the first lidar.
        let lidar_packets =
            frame_id.as_ref().map_or(Some(scan_topic.packets), |frame_id| {
                scan_topic.packets_of(frame_id)
            });
        self.add_records(block, records, Some((scan_topic.packets, lidar_packets)));
        let is_selected =
            |packet: &&Record<'_>| self.selection.time.contains(packet.time);
        let lost = packets.iter().filter(is_selected).count() as u64;
        if let (None, Some(frame_id), 1..) = (lidar_packets, frame_id, lost) {
            let bytes = message.offset..message.offset + message.payload.len() as u64;
            let reason = format!("none of the lidars has the frame id {frame_id:?}");
            let lost =
                Damage::new(DamageKind::UnknownTopic, bytes).with_records(lost, None);
            block.report(lost.with_reason(reason));
        }
    }

    /// Adds the selected `records`, and those of their points, to `block`. `packets` is the topic of
    /// packets in the bag and the topic that replaces it, or `None` if they belong to no lidar.
    fn add_records(
        &self,
        block: &mut Block,
        records: &[Record<'_>],
        packets: Option<(TopicId, Option<TopicId>)>,
    ) {
        let start = |record: &Record<'_>| place(&self.block, record.payload);
        let same_message = |a: &Record<'_>, b: &Record<'_>| {
            (a.topic, a.stream, a.time) == (b.topic, b.stream, b.time)
        };
        for message_records in records.chunk_by(same_message) {
            let topic = match (message_records.first(), packets) {
                (Some(first), Some((of_bag, of_lidar))) if first.topic == of_bag => {
                    of_lidar
                }
                (first, _) => first.map(|first| first.topic),
            };
            let Some(topic) = topic else { continue };
            let sender = self.lidars.iter().find(|sender| sender.packets == topic);
            let early =
                sender.map(|sender| before_last(message_records, &sender.lidar));
            for (index, record) in message_records.iter().enumerate() {
                let range = start(record)..start(record) + record.payload.len();
                let Record { stream, time, .. } = *record;
                if self.selection.contains(topic, time) {
                    block.push_from_stream(topic, stream, time, range.clone());
                }
                let Some((sender, early)) = sender.zip(early.as_ref()) else {
                    continue;
                };
                let early = early.get(index).copied().unwrap_or(0);
                let time = Timestamp::from_nanos(time.as_nanos().saturating_sub(early));
                let times = sender.lidar.time_margin().extend(self.selection.time);
                if self.selection.topics.contains(sender.points) && times.contains(time)
                {
                    block.push_from_stream(sender.points, stream, time, range);
                }
            }
        }
    }
}

/// Returns how much earlier than the last packet of `message_records` each packet arrived, in
/// nanoseconds. `message_records` are packets of one message without stamps, which was sent when the last one
/// arrived.
pub(super) fn before_last(message_records: &[Record<'_>], lidar: &Lidar) -> Vec<i64> {
    let mut early = vec![0; message_records.len()];
    let mut nanos = 0.0;
    for (early, record) in early.iter_mut().zip(message_records).rev() {
        *early = (nanos as i64).min(MAX_DELAY_NANOS);
        nanos += lidar.packet_nanos(record.payload);
    }
    early
}

/// Returns the offset of `payload`, which belongs to one of the records of `block`, in its bytes.
fn place(block: &Block, payload: &[u8]) -> usize {
    (payload.as_ptr() as usize).saturating_sub(block.bytes().as_ptr() as usize)
}

/// Resets `block` to the bytes of `other`, at the same offset of the file.
fn reset_to(block: &mut Block, other: &Block) {
    let bytes = other.bytes().clone();
    let mut origins = other
        .iter()
        .map(|record| record.offset.checked_sub(place(other, record.payload) as u64));
    let first = origins.next().flatten();
    match (first, other.get(0)) {
        // If all payloads have the same distance from their origin, the bytes are those of the
        // file.
        (Some(origin), _) if origins.all(|other| other == Some(origin)) => {
            block.reset(bytes, origin);
        }
        (_, record) => block.reset_decompressed(bytes, record.map_or(0, |r| r.offset)),
    }
}
