//! Fields of view that are limited only after the start of a log.

use logtool_core::{Log, Manifest, Result, Selection, TopicId};

use crate::{
    lidar::{
        Lidar,
        packet_timing::{self, Packets},
    },
    packet::DATA_BYTES,
    points::{BlankedSector, FIRST_PACKETS, FieldProbe},
};

/// How many places of a log are searched.
const PLACES: usize = 8;

/// How long each place is: two rotations or more.
const PLACE_NANOS: f64 = 500_000_000.0;

/// How many bytes are read at each place at least and at most.
const FEWEST_BYTES: u64 = 1 << 20;
const MOST_BYTES: u64 = 10 << 20;

impl Lidar {
    /// Searches `log` behind the first packets for a sector that the lidar blanks. The records
    /// of `topic` hold its packets, as `packets` says. Only a few places are read,
    /// whatever the length of the log.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub fn later_field(
        &self,
        log: &dyn Log,
        topic: TopicId,
        packets: impl Packets,
    ) -> Result<Option<BlankedSector>> {
        let manifest = log.manifest();
        let bytes = manifest.topics.get(topic.index()).and_then(|topic| topic.bytes);
        let is_short =
            bytes.is_some_and(|bytes| bytes / DATA_BYTES as u64 <= FIRST_PACKETS);
        if self.points.blanked.is_some() || is_short {
            return Ok(None);
        }
        let topics = [topic].into_iter().collect();
        let selection = Selection { topics, ..Selection::default() };
        let packets_in_place = (PLACE_NANOS / self.sensor.packet_nanos()) as usize;
        let place = (packets_in_place * DATA_BYTES) as u64;
        let plan = manifest.plan(&selection, place.clamp(FEWEST_BYTES, MOST_BYTES));
        let count = plan.len().min(PLACES);
        for number in 0..count {
            // From the end back: a field that was limited mostly stays so.
            let Some(part) = plan.get(plan.len() - 1 - number * plan.len() / count)
            else {
                continue;
            };
            let mut cursor = log.read(part, &selection)?;
            let seen = packet_timing::outlines(&mut *cursor, packets)?;
            drop(cursor);
            log.source().release(part.bytes.clone());
            // A part may be longer than a place, and the field change within it.
            let field = seen.rchunks(packets_in_place).find_map(|seen| {
                let mut probe = FieldProbe::default();
                seen.iter().for_each(|seen| probe.add(seen.outline, seen.time));
                probe.finish(self.sensor)
            });
            if let Some(sector) = field {
                return Ok(Some(BlankedSector { is_later: true, ..sector }));
            }
        }
        Ok(None)
    }

    /// Takes a blanked sector into account: scans are split in it, unless the user says where.
    pub fn set_blanked(&mut self, sector: BlankedSector, keeps_cut: bool) {
        self.points.blanked = Some(sector);
        if !keeps_cut {
            self.points.cut = sector.cut();
        }
    }

    /// Updates the topic of its points in `manifest` after a blanked sector was set.
    pub(crate) fn update(&self, manifest: &mut Manifest, topic: TopicId) {
        if let Some(topic) = manifest.topics.get_mut(topic.index()) {
            topic.metadata.extend(self.provenance());
        }
        let packet = self.sensor.packet_nanos();
        let delay =
            self.points.blanked.map_or(0, |sector| sector.longest_delay(packet));
        if let Some(reach) = manifest.reach.get_mut(&topic) {
            reach.before = reach.before.saturating_add(delay);
            reach.after = reach.after.saturating_add(delay);
        }
    }
}
