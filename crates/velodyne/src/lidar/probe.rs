//! Identifies the lidar that sent the packets of a log.

use logtool_core::Timestamp;

use crate::{
    calibration::{Calibration, StatusStream},
    lidar::{
        Lidar, LidarOptions,
        clock_state::ClockState,
        lidar_clock::ClockProbe,
        program_defaults,
        rate_and_motor::{MotorProbe, RateProbe},
        utc_check::StatusTime,
    },
    model::{Evidence, Model, ReturnMode, Sensor},
    packet::{Firings, PacketTail},
    points::FieldOfViewProbe,
};

/// The maximum number of packets that are examined. Six rounds of 4160 packets contain a
/// whole calibration even if one packet in ten is lost.
const MAX_PACKETS: usize = 6 * 4_160;

/// Examines the first packets of a lidar.
#[derive(Clone, Debug, Default)]
pub struct Probe {
    evidence: Evidence,
    tails: Vec<PacketTail>,
    /// The record time of the last packet.
    last_time: Option<Timestamp>,
    clock: ClockProbe,
    rate: RateProbe,
    motor: MotorProbe,
    field: FieldOfViewProbe,
}

impl Probe {
    /// Adds a packet with its record time, unless enough packets have been examined.
    pub fn add(&mut self, packet: &[u8], time: Timestamp) {
        if self.is_enough() {
            return;
        }
        self.evidence.add(packet);
        if let Some(firings) = Firings::new(packet) {
            self.clock.add(firings.tail().micros, time);
            self.rate.add(time);
            self.motor.add(firings.azimuths()[0]);
            self.tails.push(firings.tail());
            self.last_time = Some(time);
            self.field.add(firings.headers(), time);
        }
    }

    /// Returns whether further packets would be ignored.
    pub fn is_enough(&self) -> bool {
        self.tails.len() >= MAX_PACKETS
    }

    /// Returns the product ID of most packets, if they are of a model that sends one.
    pub fn product_id(&self) -> Option<u8> {
        self.evidence.product_id()
    }

    /// Returns whether the last bytes of all packets are missing.
    pub fn is_incomplete(&self) -> bool {
        let packets = self.evidence.packets;
        packets > 0 && packets == self.evidence.incomplete_packets
    }

    /// Returns the lidar, or `None` if neither its packets nor `options` determine the
    /// model.
    pub fn finish(self, options: &LidarOptions) -> Option<Lidar> {
        let detection = self.evidence.detect();
        let detected = detection.sensor;
        let model = options.model.or(detected.map(|sensor| sensor.model))?;
        let returns = options.returns.or(detected.map(|sensor| sensor.returns));
        let sensor =
            Sensor { model, returns: returns.unwrap_or(ReturnMode::Strongest) };
        let contradicts = detection.contradicts(sensor);
        let mut reasons = detection.reasons;
        let model_warning = detected.filter(|_| contradicts).map(|detected| {
            let reason = reasons.join("; ");
            format!(
                "decoded as {sensor}, as set by the user; the packets indicate {detected}: {reason}"
            )
        });
        if detected != Some(sensor) {
            reasons = vec!["set by the user".to_owned()];
        }
        let mut lidar = Lidar {
            sensor,
            calibration: program_defaults::calibration(model, options.points.formula),
            calibration_warning: None,
            points: options.points,
            clock: None,
            is_utc: false,
            hour_nanos: self.clock.hour(),
            clock_warning: None,
            reasons,
            model_warning,
            conflicts: detection.conflicts,
            rate_warning: self.rate.warning(sensor),
            motor_warning: self.motor.warning(),
            time_warnings: Vec::new(),
            status_time: None,
            returns_change: detection
                .returns_change
                .filter(|_| options.returns.is_none()),
        };
        lidar.points.fixed_returns |= options.returns.is_some();
        if let Some(sector) = self.field.finish(sensor) {
            lidar.set_blanked(sector, options.keep_scan_start);
        }
        if matches!(model, Model::Hdl64eS2 | Model::Hdl64eS3) {
            lidar.read_status(&self.tails, self.last_time);
        }
        if let Some(calibration) = &options.calibration {
            // Files do not state whether the lidar corrects intensities, only its status
            // bytes do.
            let sends_corrected_intensity = lidar.calibration.sends_corrected_intensity;
            let mut calibration = Calibration::clone(calibration);
            calibration.adapt_to(model);
            lidar.calibration =
                Calibration { sends_corrected_intensity, ..calibration };
            lidar.calibration_warning = None;
        }
        Some(lidar)
    }
}

impl Lidar {
    /// Reads the status of an HDL-64E from the last bytes of its packets. `last_time` is
    /// the record time of the last packet.
    fn read_status(&mut self, tails: &[PacketTail], last_time: Option<Timestamp>) {
        let mut stream = StatusStream::new(self.sensor.packet_nanos() / 1e3);
        for tail in tails {
            stream.add(tail.micros, tail.status_type, tail.status_value);
        }
        let report = stream.report();
        self.status_time = last_time.zip(tails.last()).and_then(|(time, tail)| {
            StatusTime::from_report(&report, tail.micros, time)
        });
        let sends_corrected_intensity = report.sends_corrected_intensity();
        let incomplete = report.incomplete_lasers().unwrap_or_default();
        let completed = report.complete_with(&self.calibration);
        match (report.calibration, completed) {
            (Some(calibration), _) => self.calibration = calibration,
            (None, Some(completed)) => {
                let origin = &self.calibration.origin;
                self.calibration_warning = Some(format!(
                    "{incomplete} ({} packets were examined, a whole calibration takes 4160): \
                     their missing values are those of another lidar ({origin}), and their \
                     points may be off by decimetres",
                    tails.len()
                ));
                self.calibration = completed;
            }
            (None, None) => {
                self.calibration_warning = Some(format!(
                    "{incomplete} ({} packets were examined, a whole calibration takes 4160)",
                    tails.len()
                ));
            }
        }
        self.calibration.sends_corrected_intensity = sends_corrected_intensity;
        self.is_utc = matches!(report.gps, Some(b'A' | b'V'));
        self.clock = report.gps.map(|gps| match gps {
            b'A' => ClockState::Locked,
            b'V' => ClockState::NmeaOnly,
            b'P' => ClockState::PulseOnly,
            _ => ClockState::Unset,
        });
    }
}
