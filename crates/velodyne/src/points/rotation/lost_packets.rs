//! Counts lost packets of a lidar that blanks a sector. Such a lidar sends no packets while
//! the head passes the sector.

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
    /// The last azimuth of the previous packet, and the additional duration of that packet
    /// in nanoseconds.
    previous_packet: Option<(u16, f64)>,
}

impl LossCounter {
    /// Creates a counter for packets of `sensor`, which blanks `sector`.
    pub(crate) fn new(sensor: Sensor, sector: BlankedSector) -> Self {
        let (layout, timing) = (BlockLayout::new(sensor), Timing::new(sensor));
        Self { sector, sensor, layout, timing, previous_packet: None }
    }

    /// Adds a packet of `sensor`, `nanos` after the previous packet by the lidar's clock.
    /// Returns the number of packets lost between them if the head passed the sector in
    /// this time. Otherwise, returns `None`: the number follows from the time alone.
    pub(crate) fn add(
        &mut self,
        sensor: Sensor,
        packet: &PacketHeaders,
        nanos: i64,
    ) -> Option<u64> {
        if self.sensor != sensor {
            let previous_packet = self.previous_packet;
            *self = Self { previous_packet, ..Self::new(sensor, self.sector) };
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
        let (previous_azimuth, previous_delay) =
            self.previous_packet.replace((last, delay))?;
        let is_end = sensor.model.timestamp_reference() == TimestampReference::End;
        let delay_within_packet = if is_end { delay } else { previous_delay };
        let crosses_between = sector.is_crossed(previous_azimuth, first);
        if !crosses_between && delay_within_packet == 0.0 {
            return None;
        }
        let packet_nanos = sensor.packet_nanos();
        let interval = packet_nanos - self.timing.azimuth_nanos[BLOCKS - 1];
        let step = f64::from(angle_between(previous_azimuth, first));
        // Each edge of the sector may differ by one firing.
        let expected_step = if crosses_between {
            f64::from(sector.width()) + 2.0 * rate * interval
        } else {
            rate * interval
        };
        let packet_angle = rate * packet_nanos;
        let lost_in_rotation = ((step - expected_step) / packet_angle).round().max(0.0);
        // The time also shows whole rotations that are lost.
        let expected_nanos =
            packet_nanos - interval + delay_within_packet + step / rate;
        let lost_rotations =
            (nanos as f64 - expected_nanos) / sector.rotation_nanos as f64;
        let packets_per_rotation = f64::from(TURN - sector.width()) / packet_angle;
        let lost = lost_in_rotation
            + lost_rotations.round().max(0.0) * packets_per_rotation.round();
        lost.is_finite().then_some(lost as u64)
    }
}
