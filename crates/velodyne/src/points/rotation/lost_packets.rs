//! Counts lost packets of a lidar that blanks a sector, which sends no packets while the
//! head passes the sector.

use crate::{
    model::{Sensor, TimestampReference},
    packet::{BLOCKS, PacketHeaders},
    points::{
        firing::{
            block_layout::BlockLayout,
            sin_cos_table::TURN,
            timing::{Timing, angle_between},
        },
        rotation::{blanked_sector::BlankedSector, packet_rotation::PacketRotation},
    },
};

/// Counts the packets that are lost around a blanked sector.
#[derive(Clone, Debug)]
pub(crate) struct LossCounter {
    sector: BlankedSector,
    sensor: Sensor,
    layout: BlockLayout,
    timing: Timing,
    /// The last azimuth of the previous packet, and its additional duration in
    /// nanoseconds.
    last: Option<(u16, f64)>,
}

impl LossCounter {
    /// Creates a counter for packets of `sensor`, which blanks `sector`.
    pub(crate) fn new(sensor: Sensor, sector: BlankedSector) -> Self {
        let (layout, timing) = (BlockLayout::new(sensor), Timing::new(sensor));
        Self { sector, sensor, layout, timing, last: None }
    }

    /// Adds a packet of `sensor`, `nanos` after the previous packet by the lidar's clock.
    /// Returns the number of packets lost between them if the head passed the sector
    /// meanwhile. Otherwise returns `None`, and the number follows from the time alone.
    pub(crate) fn add(
        &mut self,
        sensor: Sensor,
        packet: &PacketHeaders,
        nanos: i64,
    ) -> Option<u64> {
        if self.sensor != sensor {
            *self = Self { last: self.last, ..Self::new(sensor, self.sector) };
        }
        let (_, azimuths) = self.layout.parse(packet)?;
        self.timing.follow(&azimuths);
        let (sector, rate) = (self.sector, self.sector.rate());
        let rotation = PacketRotation::measure(
            &azimuths,
            &self.timing.azimuth_nanos,
            Some(sector),
            rate,
        );
        let delay = rotation.map_or(0.0, |rotation| rotation.delay());
        let [first, .., last] = azimuths;
        let (before, delay_before) = self.last.replace((last, delay))?;
        let is_end = sensor.model.timestamp_reference() == TimestampReference::End;
        let inner_delay = if is_end { delay } else { delay_before };
        let is_between = sector.is_crossed(before, first);
        if !is_between && inner_delay == 0.0 {
            return None;
        }
        let packet_nanos = sensor.packet_nanos();
        let interval = packet_nanos - self.timing.azimuth_nanos[BLOCKS - 1];
        let step = f64::from(angle_between(before, first));
        // Each edge of the sector may differ by one firing.
        let expected_nanos = if is_between {
            f64::from(sector.width()) + 2.0 * rate * interval
        } else {
            rate * interval
        };
        let packet_turn = rate * packet_nanos;
        let missing = ((step - expected_nanos) / packet_turn).round().max(0.0);
        let expected = packet_nanos - interval + inner_delay + step / rate;
        let rotations = (nanos as f64 - expected) / sector.rotation_nanos as f64;
        let visible = f64::from(TURN - sector.width()) / packet_turn;
        let missing = missing + rotations.round().max(0.0) * visible.round();
        missing.is_finite().then_some(missing as u64)
    }
}
