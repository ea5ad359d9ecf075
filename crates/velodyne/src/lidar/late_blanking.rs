//! Searches logs for a sector that the lidar blanks only after the start of the log.

use logtool_core::{Log, Manifest, Result, Selection, TopicId};

use crate::{
    lidar::{
        Lidar,
        packet_headers::{self, PacketExtractor},
    },
    packet::DATA_BYTES,
    points::{BlankedSector, EXAMINED_PACKETS, FieldOfViewProbe},
};

/// The maximum number of positions of a log that are searched.
const MAX_POSITIONS: usize = 8;

/// The duration that is searched at each position: at least two rotations.
const POSITION_NANOS: f64 = 500_000_000.0;

/// The minimum and the maximum number of bytes that are read at each position.
const MIN_POSITION_BYTES: u64 = 1 << 20;
const MAX_POSITION_BYTES: u64 = 10 << 20;

impl Lidar {
    /// Searches `log` after its first packets for a sector that the lidar blanks.
    /// `extract` extracts the packets from the records of `topic`. Only a few positions
    /// are read, whatever the length of the log.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub fn late_blanking(
        &self,
        log: &dyn Log,
        topic: TopicId,
        extract: impl PacketExtractor,
    ) -> Result<Option<BlankedSector>> {
        let manifest = log.manifest();
        let bytes = manifest.topics.get(topic.index()).and_then(|topic| topic.bytes);
        let is_short =
            bytes.is_some_and(|bytes| bytes / DATA_BYTES as u64 <= EXAMINED_PACKETS);
        if self.points.blanked.is_some() || is_short {
            return Ok(None);
        }
        let topics = [topic].into_iter().collect();
        let selection = Selection { topics, ..Selection::default() };
        let packets_per_position =
            (POSITION_NANOS / self.sensor.packet_nanos()) as usize;
        let position_bytes = (packets_per_position * DATA_BYTES) as u64;
        let plan = manifest.plan(
            &selection,
            position_bytes.clamp(MIN_POSITION_BYTES, MAX_POSITION_BYTES),
        );
        let positions = plan.len().min(MAX_POSITIONS);
        for position in 0..positions {
            // Start at the end, because a sector usually stays blanked.
            let part = &plan[plan.len() - 1 - position * plan.len() / positions];
            let mut cursor = log.read(part, &selection)?;
            let packets = packet_headers::packet_headers(&mut *cursor, extract)?;
            drop(cursor);
            log.source().release(part.bytes.clone());
            // A part may be longer than the duration, and the sector may change within
            // it.
            let sector = packets.rchunks(packets_per_position).find_map(|packets| {
                let mut probe = FieldOfViewProbe::default();
                packets
                    .iter()
                    .for_each(|packet| probe.add(packet.headers, packet.time));
                probe.finish(self.sensor)
            });
            if let Some(sector) = sector {
                return Ok(Some(BlankedSector { starts_later: true, ..sector }));
            }
        }
        Ok(None)
    }

    /// Sets the blanked sector. Scans then start in it, unless `keep_scan_start` is true.
    pub fn set_blanked(&mut self, sector: BlankedSector, keep_scan_start: bool) {
        self.points.blanked = Some(sector);
        if !keep_scan_start {
            self.points.scan_start = sector.scan_start();
        }
    }

    /// Updates `points`, the topic of the points, in `manifest` after a blanked sector was
    /// set.
    pub(crate) fn update_topic(&self, manifest: &mut Manifest, points: TopicId) {
        if let Some(topic) = manifest.topics.get_mut(points.index()) {
            topic.metadata.extend(self.provenance());
        }
        let packet_nanos = self.sensor.packet_nanos();
        let delay =
            self.points.blanked.map_or(0, |sector| sector.longest_delay(packet_nanos));
        if let Some(margin) = manifest.time_margins.get_mut(&points) {
            margin.before = margin.before.saturating_add(delay);
            margin.after = margin.after.saturating_add(delay);
        }
    }
}
