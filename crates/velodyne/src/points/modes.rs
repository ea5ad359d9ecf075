//! Decodes each packet of a lidar in its own return mode, which may change within a log.

use std::mem;

use crate::{
    calibration::Calibration,
    model::Sensor,
    packet::Outline,
    points::{options::PointOptions, unpack::Unpacker},
};

/// Decoders for all return modes that occurred.
#[derive(Clone, Debug)]
pub(super) struct Modes {
    sensor: Sensor,
    calibration: Calibration,
    options: PointOptions,
    /// The decoder of the last packet.
    now: Unpacker,
    others: Vec<Unpacker>,
}

impl Modes {
    pub(super) fn new(
        sensor: Sensor,
        calibration: &Calibration,
        options: PointOptions,
    ) -> Self {
        let now = Unpacker::new(sensor, calibration, options);
        let calibration = calibration.clone();
        Self { sensor, calibration, options, now, others: Vec::new() }
    }

    /// Returns the decoder for `packet`.
    pub(super) fn of(&mut self, packet: &Outline) -> &mut Unpacker {
        let sensor = self.options.sensor(self.sensor, packet);
        if self.now.sensor() != sensor {
            self.change(sensor);
        }
        &mut self.now
    }

    #[cold]
    fn change(&mut self, sensor: Sensor) {
        let known = self.others.iter_mut().find(|other| other.sensor() == sensor);
        if let Some(other) = known {
            mem::swap(&mut self.now, other);
            return;
        }
        let new = Unpacker::new(sensor, &self.calibration, self.options);
        self.others.push(mem::replace(&mut self.now, new));
    }
}
