//! Decodes each packet of a lidar in its own return mode, which may change within a log.

use std::mem;

use crate::{
    calibration::Calibration,
    model::Sensor,
    packet::PacketHeaders,
    points::{options::PointOptions, packet_decoder::PacketDecoder},
};

/// The decoders for the return modes that occurred.
#[derive(Clone, Debug)]
pub(super) struct ModeDecoders {
    sensor: Sensor,
    calibration: Calibration,
    options: PointOptions,
    /// The decoder of the last packet.
    current: PacketDecoder,
    other_decoders: Vec<PacketDecoder>,
}

impl ModeDecoders {
    /// Creates the decoder for the return mode of `sensor`.
    pub(super) fn new(
        sensor: Sensor,
        calibration: &Calibration,
        options: PointOptions,
    ) -> Self {
        let current = PacketDecoder::new(sensor, calibration, options);
        let calibration = calibration.clone();
        Self { sensor, calibration, options, current, other_decoders: Vec::new() }
    }

    /// Returns the decoder for `packet`.
    pub(super) fn decoder_for(&mut self, packet: &PacketHeaders) -> &mut PacketDecoder {
        let sensor = self.options.sensor_for(self.sensor, packet);
        if self.current.sensor() != sensor {
            self.switch_to(sensor);
        }
        &mut self.current
    }

    #[cold]
    fn switch_to(&mut self, sensor: Sensor) {
        let existing =
            self.other_decoders.iter_mut().find(|other| other.sensor() == sensor);
        if let Some(other) = existing {
            mem::swap(&mut self.current, other);
            return;
        }
        let new = PacketDecoder::new(sensor, &self.calibration, self.options);
        self.other_decoders.push(mem::replace(&mut self.current, new));
    }
}
