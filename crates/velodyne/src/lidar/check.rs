//! Checks the packets of a lidar for errors and anomalies.

use std::collections::BTreeMap;

use logtool_core::{Finding, Findings, Log, Result, TimeRange, TopicId};

use crate::{
    calibration::Origin,
    hour::{HOUR, around_hour},
    lidar::{
        Lidar, ScanCache, codes as code,
        packet_headers::{PacketExtractor, TimedHeaders},
    },
    model::{self, ReturnMode, Sensor},
    packet::DATA_BYTES,
    points::{LossCounter, PointOptions, TURN},
};

/// The maximum number of packets that can overtake another one.
const SWAPPED_PACKETS: f64 = 4.0;

/// The maximum difference between two clocks from one packet to the next, in nanoseconds.
/// Packets may wait before they are recorded.
const MAX_DIFFERENCE: i64 = 1_000_000_000;

impl Lidar {
    /// Returns the findings about the lidar itself.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        let conflicts = self.conflicts.iter();
        let conflicts =
            conflicts.map(|text| Finding::new(&code::CONFLICT, text.clone()));
        let model_warning = self.model_warning.iter();
        let model_warning =
            model_warning.map(|text| Finding::new(&code::OVERRULED, text.clone()));
        let incomplete = self.calibration_warning.iter();
        let incomplete = incomplete
            .map(|text| Finding::new(&code::CALIBRATION_INCOMPLETE, text.clone()));
        let calibration_finding = match self.calibration.origin {
            Origin::Default(_) => &code::CALIBRATION_OTHER,
            Origin::File(_) | Origin::Stream | Origin::Completed { .. } => {
                &code::CALIBRATION_CHECK
            }
        };
        let calibration = self.calibration.warnings.iter();
        let calibration =
            calibration.map(|text| Finding::new(calibration_finding, text.clone()));
        let clock = self.clock.iter().filter(|clock| !clock.is_locked());
        let clock =
            clock.map(|state| Finding::new(&code::CLOCK_UNSET, state.to_string()));
        let rate = self.rate_warning.iter();
        let rate = rate.map(|text| Finding::new(&code::RATE, text.clone()));
        let motor = self.motor_warning.iter();
        let motor = motor.map(|text| Finding::new(&code::MOTOR, text.clone()));
        let time = self.time_warnings.iter();
        let time = time.map(|text| Finding::new(&code::CLOCK_UTC, text.clone()));
        let packets = rate.chain(motor).chain(time);
        let model = model_warning.chain(conflicts).chain(packets);
        model.chain(incomplete).chain(calibration).chain(clock)
    }

    /// Adds the findings about the lidar and its packets to `findings`. `packets`
    /// extracts the packets from the records of `topic` of `log`. This also fills
    /// `scans`, because decoding needs them and the log is then read only once.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub fn check(
        &self,
        log: &dyn Log,
        topic: TopicId,
        packets: impl PacketExtractor,
        scans: &ScanCache,
        findings: &mut Findings,
    ) -> Result<()> {
        self.findings().for_each(|finding| findings.add(finding.with_topic(topic)));
        let mut clocks = Clocks::new(self.sensor, self.points);
        let has_timestamps = self.sensor.model.has_timestamps();
        scans.for_each_packet(log, topic, self, packets, &mut |packet| {
            if has_timestamps {
                clocks.packet(packet);
            }
        })?;
        clocks.report(topic, findings);
        Ok(())
    }
}

/// Compares the clock in packets with that of the log.
struct Clocks {
    sensor: Sensor,
    options: PointOptions,
    /// The number of packets with each return mode.
    returns: BTreeMap<ReturnMode, u64>,
    /// The latest run of packets with the same return mode, which `returns` does not yet
    /// include.
    current_run: (ReturnMode, u64),
    /// The time of the lidar and that of the log for the previous packet, in nanoseconds.
    last: Option<(i64, i64)>,
    /// The number of lost packets, the number of gaps, the longest gap, and their time
    /// range.
    lost: u64,
    gaps: u64,
    longest_nanos: i64,
    when: TimeRange,
    /// The last gap.
    last_gap: Option<Gap>,
    /// Counts lost packets if the lidar blanks a sector.
    around_sector: Option<LossCounter>,
    jumps: Option<Finding>,
}

/// A gap that overtaken packets may fill.
struct Gap {
    lost: u64,
    /// The longest gap and the time range of all gaps before this one.
    longest_nanos: i64,
    when: TimeRange,
}

impl Clocks {
    fn new(sensor: Sensor, options: PointOptions) -> Self {
        Self {
            sensor,
            options,
            returns: BTreeMap::new(),
            current_run: (sensor.returns, 0),
            last: None,
            lost: 0,
            gaps: 0,
            longest_nanos: 0,
            when: TimeRange::EMPTY,
            last_gap: None,
            around_sector: options
                .blanked
                .map(|sector| LossCounter::new(sensor, sector)),
            jumps: None,
        }
    }

    fn packet(&mut self, packet: &TimedHeaders) {
        let TimedHeaders { offset, time, headers } = packet;
        let sensor = self.options.sensor_for(self.sensor, headers);
        match &mut self.current_run {
            (returns, count) if *returns == sensor.returns => *count += 1,
            _ => self.start_run(sensor.returns),
        }
        let stamp = i64::from(headers.tail.micros) * 1_000;
        let time_nanos = time.as_nanos();
        let last = self.last;
        let (before, last_nanos) = last.unwrap_or((stamp, time_nanos));
        // The step of the lidar clock modulo one hour, chosen nearest to zero.
        let step = around_hour(stamp - before);
        if self.is_overtaken(sensor, step, time_nanos.saturating_sub(last_nanos)) {
            self.fill_gap();
            return;
        }
        self.last = Some((stamp, time_nanos));
        let around_sector = self.around_sector.as_mut();
        let around_sector =
            around_sector.and_then(|losses| losses.add(sensor, headers, step));
        if last.is_none() {
            return;
        }
        let difference = time_nanos.saturating_sub(last_nanos).saturating_sub(step);
        let hours = if difference.unsigned_abs() < HOUR.unsigned_abs() / 2 {
            0
        } else {
            (difference as f64 / HOUR as f64).round() as i64
        };
        let difference = difference.saturating_sub(hours.saturating_mul(HOUR));
        let time = TimeRange::from_timestamp(*time);
        if step < 0 && hours == 0 || difference.abs() > MAX_DIFFERENCE {
            let seconds = step as f64 / 1e9;
            let logged = time_nanos.saturating_sub(last_nanos) as f64 / 1e9;
            let text = format!(
                "its clock advances by {seconds:.6} s, and that of the log by {logged:.6} s"
            );
            let bytes = *offset..offset.saturating_add(DATA_BYTES as u64);
            match &mut self.jumps {
                Some(jumps) => {
                    jumps.count += 1;
                    jumps.time = jumps.time.map(|range| range.cover(&time));
                }
                none => {
                    let jump = Finding::new(&code::CLOCK_JUMP, text).with_bytes(bytes);
                    *none = Some(jump.with_time(time));
                }
            }
            return;
        }
        let step = step.saturating_add(hours.saturating_mul(HOUR));
        let packets = step as f64 / sensor.packet_nanos();
        let lost = around_sector.unwrap_or(if packets >= 1.5 {
            packets.round() as u64 - 1
        } else {
            0
        });
        if lost > 0 {
            let (longest_nanos, when) = (self.longest_nanos, self.when);
            self.last_gap = Some(Gap { lost, longest_nanos, when });
            self.lost += lost;
            self.gaps += 1;
            self.longest_nanos = self.longest_nanos.max(step);
            self.when = self.when.cover(&time);
        }
    }

    /// Returns whether other packets overtook a packet of `sensor`: its clock goes back
    /// by `step` nanoseconds, a few packets at most, and the clock of the log advances by
    /// `elapsed`.
    fn is_overtaken(&self, sensor: Sensor, step: i64, elapsed: i64) -> bool {
        let blanked = self.options.blanked.filter(|sector| sector.rotation_nanos > 0);
        let blanked = blanked.map_or(0.0, |sector| {
            let share = f64::from(sector.width()) / f64::from(TURN);
            sector.rotation_nanos as f64 * share
        });
        let max_step = (SWAPPED_PACKETS * sensor.packet_nanos() + blanked) as i64;
        step < 0 && -step <= max_step && elapsed.abs() < MAX_DIFFERENCE
    }

    /// Removes an overtaken packet from the lost ones.
    fn fill_gap(&mut self) {
        let Some(gap) = &mut self.last_gap else { return };
        gap.lost -= 1;
        self.lost -= 1;
        if gap.lost == 0 {
            self.gaps -= 1;
            (self.longest_nanos, self.when) = (gap.longest_nanos, gap.when);
            self.last_gap = None;
        }
    }

    /// Starts a new run of packets with the same return mode, and counts the previous
    /// one.
    fn start_run(&mut self, returns: ReturnMode) {
        match std::mem::replace(&mut self.current_run, (returns, 1)) {
            (_, 0) => {}
            (before, count) => *self.returns.entry(before).or_default() += count,
        }
    }

    fn report(mut self, topic: TopicId, findings: &mut Findings) {
        self.start_run(self.sensor.returns);
        if let Some(jumps) = self.jumps {
            findings.add(jumps.with_topic(topic));
        }
        if let Some(text) = model::describe_changes(&self.returns) {
            findings.add(Finding::new(&code::RETURNS, text).with_topic(topic));
        }
        if self.lost > 0 {
            let Self { lost, gaps, .. } = self;
            let longest_nanos = self.longest_nanos as f64 / 1e9;
            let packets = if lost == 1 { "packet is" } else { "packets are" };
            let gaps = if gaps == 1 { "1 gap".into() } else { format!("{gaps} gaps") };
            let text = format!(
                "about {lost} {packets} missing, in {gaps} of up to {longest_nanos:.6} s"
            );
            let finding = Finding::new(&code::PACKETS_LOST, text);
            findings.add(finding.with_time(self.when).with_topic(topic));
        }
    }
}

#[cfg(test)]
mod tests {
    use logtool_core::Timestamp;

    use super::*;
    use crate::packet::Firings;

    /// Returns the findings for packets of an HDL-64E S2 with these timestamps in
    /// microseconds and record times in nanoseconds.
    fn finding_summaries(packets: &[(u32, i64)]) -> Vec<(&'static str, u64, String)> {
        let returns = ReturnMode::Strongest;
        let sensor = Sensor { model: model::Model::Hdl64eS2, returns };
        let mut clocks = Clocks::new(sensor, PointOptions::default());
        for (stamp, nanos) in packets {
            let mut packet = [0; DATA_BYTES];
            packet[1_200..1_204].copy_from_slice(&stamp.to_le_bytes());
            let time = Timestamp::from_nanos(*nanos);
            let headers = Firings::new(&packet).unwrap().headers();
            clocks.packet(&TimedHeaders { offset: 7, time, headers });
        }
        let mut findings = Findings::default();
        clocks.report(TopicId(0), &mut findings);
        findings.iter().map(|f| (f.code.name, f.count, f.text.clone())).collect()
    }

    #[test]
    fn regular_packets_have_no_findings_across_the_hour() {
        let packets = [(3_599_999_800, 0), (88, 288_000), (376, 576_500)];
        assert_eq!(finding_summaries(&packets), []);
    }

    #[test]
    fn lost_packets_are_counted_by_the_clock_of_the_lidar() {
        let packets = [(0, 0), (288, 288_000), (1_152, 1_152_000), (2_016, 2_016_000)];
        let text = "about 4 packets are missing, in 2 gaps of up to 0.000864 s";
        assert_eq!(
            finding_summaries(&packets),
            [("lidar.packets.lost", 1, text.to_owned())]
        );
    }

    #[test]
    fn swapped_packets_are_neither_a_jump_nor_lost() {
        let orders: [&[u32]; 5] = [
            &[0, 2, 1, 3, 4],
            &[0, 1, 3, 2, 4],
            &[0, 3, 1, 2, 4],
            &[0, 3, 2, 1, 4],
            &[2, 1, 0, 3, 4],
        ];
        for order in orders {
            let packets: Vec<(u32, i64)> = (0..)
                .zip(order)
                .map(|(number, place)| (place * 288, number * 288_000))
                .collect();
            assert_eq!(finding_summaries(&packets), [], "{order:?}");
        }
        // One of two missing packets arrives late. The other one stays lost.
        let packets = [(0, 0), (864, 864_000), (288, 870_000), (1_152, 1_152_000)];
        let text = "about 1 packet is missing, in 1 gap of up to 0.000864 s";
        assert_eq!(
            finding_summaries(&packets),
            [("lidar.packets.lost", 1, text.to_owned())]
        );
    }

    #[test]
    fn setting_the_clock_is_reported_as_a_jump() {
        let packets = [(900_000_000, 0), (288, 288_000), (576, 576_000)];
        let text =
            "its clock advances by -899.999712 s, and that of the log by 0.000288 s";
        assert_eq!(
            finding_summaries(&packets),
            [("lidar.clock.jump", 1, text.to_owned())]
        );
        // A break of slightly more than an hour is not a jump.
        let packets = [(0, 0), (500_000, 3_600_500_000_000)];
        assert_eq!(finding_summaries(&packets)[0].0, "lidar.packets.lost");
    }
}
