//! Checks the packet rate of a lidar, and whether its head turns.

use logtool_core::Timestamp;

use crate::model::Sensor;

/// The factor by which packets may come more often than the model sends them. If there are
/// more packets, they are from several lidars or from another model. The clock of a
/// computer deviates by much less.
const MAX_RATE_FACTOR: f64 = 1.25;

/// The minimum number of packets for judging the rate.
const MIN_PACKETS_FOR_RATE: u64 = 40;

/// The minimum step of the azimuth between packets of a head that turns, in hundredths of a
/// degree. The slowest head turns by 9 of these in the shortest packet.
const MIN_STEP: u16 = 2;

/// If the azimuth stays the same for this number of consecutive packets, the motor is
/// considered stopped.
const STANDSTILL_PACKETS: u64 = 50;

/// The minimum number of packets for judging the motor by the share of packets with
/// unchanged azimuths.
const MIN_PACKETS_FOR_MOTOR: u64 = 8;

/// Counts packets by the times of their records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateProbe {
    /// The earliest and the latest time.
    times: Option<(Timestamp, Timestamp)>,
    packets: u64,
    /// The number of packets with the earliest time. They may have arrived before it.
    first_packets: u64,
}

impl RateProbe {
    /// Adds a packet.
    pub(super) fn add(&mut self, time: Timestamp) {
        if time == Timestamp::MAX {
            return;
        }
        self.packets += 1;
        let (first, last) = self.times.unwrap_or((time, time));
        self.first_packets = match time.cmp(&first) {
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Equal => self.first_packets + 1,
            std::cmp::Ordering::Greater => self.first_packets,
        };
        self.times = Some((first.min(time), last.max(time)));
    }

    /// Returns a warning if the packets come more often than `sensor` sends them.
    pub(super) fn warning(&self, sensor: Sensor) -> Option<String> {
        let (first, last) = self.times?;
        let nanos = last.as_nanos().saturating_sub(first.as_nanos());
        if self.packets < MIN_PACKETS_FOR_RATE || nanos <= 0 {
            return None;
        }
        let rate = (self.packets - self.first_packets) as f64 / nanos as f64 * 1e9;
        let max_rate = 1e9 / sensor.packet_nanos();
        (rate > max_rate * MAX_RATE_FACTOR).then(|| {
            format!(
                "{rate:.0} packets a second come from one sender, but a {sensor} sends \
                 {max_rate:.0}: they are from several lidars or another model, or were replayed \
                 too fast"
            )
        })
    }
}

/// Tracks the azimuth of packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MotorProbe {
    previous: Option<u16>,
    packets: u64,
    /// The number of packets with the azimuth of the previous packet.
    unchanged: u64,
    /// The length of the current run of such packets.
    run: u64,
    /// The length of the longest run.
    longest_run: u64,
    /// The azimuth of the longest run.
    longest_run_azimuth: u16,
}

impl MotorProbe {
    /// Adds a packet whose first azimuth is `azimuth`, in hundredths of a degree.
    pub(super) fn add(&mut self, azimuth: u16) {
        self.packets += 1;
        let is_unchanged = self.previous.replace(azimuth).is_some_and(|previous| {
            let step = previous.abs_diff(azimuth);
            step.min(36_000_u16.saturating_sub(step)) < MIN_STEP
        });
        self.run = if is_unchanged { self.run + 1 } else { 0 };
        self.unchanged += u64::from(is_unchanged);
        if self.run > self.longest_run {
            self.longest_run = self.run;
            self.longest_run_azimuth = azimuth;
        }
    }

    /// Returns a warning if the head does not turn.
    pub(super) fn warning(&self) -> Option<String> {
        let never_turns =
            self.packets >= MIN_PACKETS_FOR_MOTOR && self.unchanged * 2 > self.packets;
        (never_turns || self.longest_run >= STANDSTILL_PACKETS).then(|| {
            format!(
                "the motor does not turn: {} of {} packets have the azimuth of the previous \
                 packet, {:.2} deg in the longest run, of {} packets",
                self.unchanged,
                self.packets,
                f64::from(self.longest_run_azimuth) / 100.0,
                self.longest_run + 1
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::model::ReturnMode;

    const VLP16: Sensor =
        Sensor { model: Model::Vlp16, returns: ReturnMode::Strongest };

    fn rate(times: impl Iterator<Item = i64>) -> Option<String> {
        let mut probe = RateProbe::default();
        times.for_each(|nanos| probe.add(Timestamp::from_nanos(nanos)));
        probe.warning(VLP16)
    }

    #[test]
    fn packet_rate_of_several_lidars_is_reported() {
        // A VLP-16 sends a packet every 1327.104 us.
        assert_eq!(rate((0..200).map(|n| n * 1_327_104)), None);
        let warning = rate((0..200).map(|n| n * 663_552)).unwrap();
        assert!(warning.contains("1507 packets a second"), "{warning}");
        assert!(warning.contains("sends 754"), "{warning}");
        // Messages of 75 packets that share a time, and a capture whose first packets share
        // a time.
        assert_eq!(rate((0..300).map(|n| n / 75 * 75 * 1_327_104)), None);
        assert_eq!(rate((0..60).map(|n| (n - 20).max(0) * 1_327_104)), None);
        // Lost packets, and too few packets for judging.
        assert_eq!(rate((0..200).map(|n| n * 2_000_000)), None);
        assert_eq!(rate((0..30).map(|n| n * 100)), None);
    }

    fn motor(azimuths: impl Iterator<Item = u16>) -> Option<String> {
        let mut probe = MotorProbe::default();
        azimuths.for_each(|azimuth| probe.add(azimuth));
        probe.warning()
    }

    #[test]
    fn stopped_motor_is_reported() {
        let turning = (0..400_u32).map(|n| (n * 239 % 36_000) as u16);
        assert_eq!(motor(turning.clone()), None);
        let warning = motor(std::iter::repeat_n(9_000, 160)).unwrap();
        assert!(warning.contains("159 of 160 packets"), "{warning}");
        assert!(warning.contains("90.00 deg"), "{warning}");
        // A noisy encoder at zero, and a motor that stops during the recording.
        assert!(motor((0..60).map(|n| (n % 2) * 35_999)).is_some());
        assert!(motor(turning.clone().chain(std::iter::repeat_n(77, 60))).is_some());
        // Some duplicate packets.
        assert_eq!(motor(turning.flat_map(|n| [n, n, n + 200, n + 400])), None);
        assert_eq!(motor(std::iter::repeat_n(9_000, 5)), None);
    }
}
