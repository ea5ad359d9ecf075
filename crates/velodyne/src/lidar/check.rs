//! Checks the packets of a lidar for errors and anomalies.

use std::collections::BTreeMap;

use logtool_core::{Finding, FindingCode, Findings, Log, Result, TimeRange, TopicId};

use crate::{
    calibration::Origin,
    hour::{HOUR, around_hour},
    lidar::{
        Lidar, ScanCache, codes,
        packet_headers::{PacketExtractor, TimedHeaders},
    },
    model::{self, ReturnMode, Sensor},
    packet::DATA_BYTES,
    points::{LossCounter, PointOptions, TURN},
};

/// The maximum number of packets that can overtake a packet.
const MAX_OVERTAKING_PACKETS: f64 = 4.0;

/// The maximum difference, in nanoseconds, between the steps of two clocks from one packet
/// to the next. Packets may wait before they are recorded.
const MAX_DIFFERENCE: i64 = 1_000_000_000;

impl Lidar {
    /// Returns the findings about the lidar itself.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        let calibration_code = match self.calibration.origin {
            Origin::Default(_) => &codes::CALIBRATION_OTHER,
            Origin::File(_) | Origin::Stream | Origin::Completed { .. } => {
                &codes::CALIBRATION_CHECK
            }
        };
        let clock = self.clock.filter(|clock| !clock.is_locked());
        let clock =
            clock.map(|state| Finding::new(&codes::CLOCK_UNSET, state.to_string()));
        with_code(&codes::OVERRULED, &self.model_warning)
            .chain(with_code(&codes::CONFLICT, &self.conflicts))
            .chain(with_code(&codes::RATE, &self.rate_warning))
            .chain(with_code(&codes::MOTOR, &self.motor_warning))
            .chain(with_code(&codes::CLOCK_UTC, &self.time_warnings))
            .chain(with_code(&codes::CALIBRATION_INCOMPLETE, &self.calibration_warning))
            .chain(with_code(calibration_code, &self.calibration.warnings))
            .chain(clock)
    }

    /// Adds the findings about the lidar and its packets to `findings`. `extract`
    /// extracts the packets from the records of `topic` of `log`. This also fills
    /// `scans`, which decoding needs, so that the log is read only once for both.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub fn check(
        &self,
        log: &dyn Log,
        topic: TopicId,
        extract: impl PacketExtractor,
        scans: &ScanCache,
        findings: &mut Findings,
    ) -> Result<()> {
        self.findings().for_each(|finding| findings.add(finding.with_topic(topic)));
        let mut check = PacketCheck::new(self.sensor, self.points);
        let has_timestamps = self.sensor.model.has_timestamps();
        scans.for_each_packet(log, topic, self, extract, &mut |packet| {
            if has_timestamps {
                check.add(packet);
            }
        })?;
        check.report(topic, findings);
        Ok(())
    }
}

/// Returns a finding with `code` for each text.
fn with_code<'a>(
    code: &'static FindingCode,
    texts: impl IntoIterator<Item = &'a String>,
) -> impl Iterator<Item = Finding> {
    texts.into_iter().map(move |text| Finding::new(code, text.clone()))
}

/// Searches packets for jumps of the lidar's clock, lost packets, and changes of the return
/// mode.
struct PacketCheck {
    sensor: Sensor,
    options: PointOptions,
    /// The number of packets with each return mode.
    returns: BTreeMap<ReturnMode, u64>,
    /// The latest run of packets with the same return mode, which `returns` does not yet
    /// include.
    current_run: (ReturnMode, u64),
    /// The time of the lidar and that of the log for the previous packet, in nanoseconds.
    previous: Option<(i64, i64)>,
    /// The number of lost packets.
    lost: u64,
    /// The number of gaps with lost packets.
    gaps: u64,
    longest_gap_nanos: i64,
    /// The time range of all gaps.
    gaps_time: TimeRange,
    last_gap: Option<Gap>,
    /// Counts the lost packets if the lidar blanks a sector.
    losses_at_sector: Option<LossCounter>,
    /// The finding for all jumps of the lidar's clock.
    jumps: Option<Finding>,
}

/// A gap that overtaken packets may fill.
struct Gap {
    /// The number of lost packets in the gap.
    lost: u64,
    /// The values of all gaps before this one.
    previous_longest_nanos: i64,
    previous_gaps_time: TimeRange,
}

impl PacketCheck {
    fn new(sensor: Sensor, options: PointOptions) -> Self {
        Self {
            sensor,
            options,
            returns: BTreeMap::new(),
            current_run: (sensor.returns, 0),
            previous: None,
            lost: 0,
            gaps: 0,
            longest_gap_nanos: 0,
            gaps_time: TimeRange::EMPTY,
            last_gap: None,
            losses_at_sector: options
                .blanked
                .map(|sector| LossCounter::new(sensor, sector)),
            jumps: None,
        }
    }

    fn add(&mut self, packet: &TimedHeaders) {
        let TimedHeaders { offset, time, headers } = packet;
        let sensor = self.options.sensor_for(self.sensor, headers);
        match &mut self.current_run {
            (returns, count) if *returns == sensor.returns => *count += 1,
            _ => self.start_run(sensor.returns),
        }
        let stamp = i64::from(headers.tail.micros) * 1_000;
        let time_nanos = time.as_nanos();
        let is_first = self.previous.is_none();
        let (previous_stamp, previous_nanos) =
            self.previous.unwrap_or((stamp, time_nanos));
        // The step of the lidar clock modulo one hour, chosen nearest to zero.
        let step = around_hour(stamp - previous_stamp);
        let log_step = time_nanos.saturating_sub(previous_nanos);
        if self.was_overtaken(sensor, step, log_step) {
            self.fill_gap();
            return;
        }
        self.previous = Some((stamp, time_nanos));
        let losses_at_sector = self
            .losses_at_sector
            .as_mut()
            .and_then(|losses| losses.add(sensor, headers, step));
        if is_first {
            return;
        }
        let difference = log_step.saturating_sub(step);
        // The number of whole hours that the step of the lidar clock does not include.
        let hours = if difference.unsigned_abs() < HOUR.unsigned_abs() / 2 {
            0
        } else {
            (difference as f64 / HOUR as f64).round() as i64
        };
        let difference = difference.saturating_sub(hours.saturating_mul(HOUR));
        let time = TimeRange::from_timestamp(*time);
        let contradicts = difference.unsigned_abs() > MAX_DIFFERENCE.unsigned_abs();
        if step < 0 && hours == 0 || contradicts {
            let seconds = step as f64 / 1e9;
            let log_seconds = log_step as f64 / 1e9;
            let text = format!(
                "its clock advances by {seconds:.6} s, and that of the log by {log_seconds:.6} s"
            );
            let bytes = *offset..offset.saturating_add(DATA_BYTES as u64);
            match &mut self.jumps {
                Some(jumps) => {
                    jumps.count += 1;
                    jumps.time = jumps.time.map(|range| range.cover(&time));
                }
                None => {
                    let jump = Finding::new(&codes::CLOCK_JUMP, text).with_bytes(bytes);
                    self.jumps = Some(jump.with_time(time));
                }
            }
            return;
        }
        let step = step.saturating_add(hours.saturating_mul(HOUR));
        let packets = step as f64 / sensor.packet_nanos();
        let lost = losses_at_sector.unwrap_or(if packets >= 1.5 {
            packets.round() as u64 - 1
        } else {
            0
        });
        if lost > 0 {
            self.last_gap = Some(Gap {
                lost,
                previous_longest_nanos: self.longest_gap_nanos,
                previous_gaps_time: self.gaps_time,
            });
            self.lost += lost;
            self.gaps += 1;
            self.longest_gap_nanos = self.longest_gap_nanos.max(step);
            self.gaps_time = self.gaps_time.cover(&time);
        }
    }

    /// Returns whether other packets overtook a packet of `sensor`. From the previous packet
    /// to this one, the clock of the lidar then goes back by a few packets at most, and the
    /// clock of the log moves by less than a second. `step` and `log_step` are the steps of
    /// the two clocks in nanoseconds.
    fn was_overtaken(&self, sensor: Sensor, step: i64, log_step: i64) -> bool {
        let blanked = self.options.blanked.filter(|sector| sector.rotation_nanos > 0);
        let blanked_nanos = blanked.map_or(0.0, |sector| {
            let share = f64::from(sector.width()) / f64::from(TURN);
            sector.rotation_nanos as f64 * share
        });
        let packets_nanos = MAX_OVERTAKING_PACKETS * sensor.packet_nanos();
        let max_step = (packets_nanos + blanked_nanos) as i64;
        let is_short = log_step.unsigned_abs() < MAX_DIFFERENCE.unsigned_abs();
        step < 0 && -step <= max_step && is_short
    }

    /// Subtracts an overtaken packet from the lost packets of the last gap.
    fn fill_gap(&mut self) {
        let Some(gap) = &mut self.last_gap else { return };
        gap.lost -= 1;
        self.lost -= 1;
        if gap.lost == 0 {
            self.gaps -= 1;
            self.longest_gap_nanos = gap.previous_longest_nanos;
            self.gaps_time = gap.previous_gaps_time;
            self.last_gap = None;
        }
    }

    /// Starts a new run of packets with the same return mode, and counts the previous
    /// one.
    fn start_run(&mut self, returns: ReturnMode) {
        let (previous, count) = std::mem::replace(&mut self.current_run, (returns, 1));
        if count > 0 {
            *self.returns.entry(previous).or_default() += count;
        }
    }

    /// Adds the findings about the packets of `topic` to `findings`.
    fn report(mut self, topic: TopicId, findings: &mut Findings) {
        // Counts the last run.
        self.start_run(self.sensor.returns);
        if let Some(jumps) = self.jumps {
            findings.add(jumps.with_topic(topic));
        }
        if let Some(text) = model::describe_mode_changes(&self.returns) {
            findings.add(Finding::new(&codes::RETURNS, text).with_topic(topic));
        }
        if self.lost > 0 {
            let Self { lost, gaps, .. } = self;
            let longest_seconds = self.longest_gap_nanos as f64 / 1e9;
            let packets = if lost == 1 { "packet is" } else { "packets are" };
            let gaps = if gaps == 1 { "1 gap".into() } else { format!("{gaps} gaps") };
            let text = format!(
                "about {lost} {packets} missing, in {gaps} of up to {longest_seconds:.6} s"
            );
            let finding = Finding::new(&codes::PACKETS_LOST, text);
            findings.add(finding.with_time(self.gaps_time).with_topic(topic));
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
        let mut check = PacketCheck::new(sensor, PointOptions::default());
        for (stamp, nanos) in packets {
            let mut packet = [0; DATA_BYTES];
            packet[1_200..1_204].copy_from_slice(&stamp.to_le_bytes());
            let time = Timestamp::from_nanos(*nanos);
            let headers = Firings::new(&packet).unwrap().headers();
            check.add(&TimedHeaders { offset: 7, time, headers });
        }
        let mut findings = Findings::default();
        check.report(TopicId(0), &mut findings);
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
                .map(|(position, number)| (number * 288, position * 288_000))
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
    fn extreme_record_times_do_not_panic() {
        for (first, second) in [(i64::MAX, i64::MIN), (i64::MIN, i64::MAX)] {
            finding_summaries(&[(1_000, first), (500, second), (1_500, 0)]);
        }
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
