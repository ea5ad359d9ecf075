//! How often the packets of a lidar come, and whether its head turns.

use logtool_core::Timestamp;

use crate::model::Sensor;

/// Packets that come more often than the model sends them by this factor are of several
/// lidars, or of another model. A clock of a computer is off by much less.
const TOO_OFTEN: f64 = 1.25;

/// How many packets are needed to judge how often they come.
const FEWEST_FOR_RATE: u64 = 40;

/// How far the head turns at least from packet to packet, in hundredths of a degree: the
/// slowest head turns by 9 in the shortest packet.
const LEAST_TURN: u16 = 2;

/// How many packets in a row with one azimuth mean that the motor does not turn, and how
/// many packets are needed if all have it.
const STANDSTILL: u64 = 50;
const FEWEST_FOR_MOTOR: u64 = 8;

/// Counts packets by the times of their records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateProbe {
    /// The earliest and the latest time.
    times: Option<(Timestamp, Timestamp)>,
    packets: u64,
    /// How many packets have the earliest time: they can have come before it.
    at_start: u64,
}

impl RateProbe {
    /// Takes note of a packet of `time`.
    pub(super) fn add(&mut self, time: Timestamp) {
        if time == Timestamp::MAX {
            return;
        }
        self.packets += 1;
        let (first, last) = self.times.unwrap_or((time, time));
        self.at_start = match time.cmp(&first) {
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Equal => self.at_start + 1,
            std::cmp::Ordering::Greater => self.at_start,
        };
        self.times = Some((first.min(time), last.max(time)));
    }

    /// Returns a warning if the packets come more often than `sensor` sends them.
    pub(super) fn warning(&self, sensor: Sensor) -> Option<String> {
        let (first, last) = self.times?;
        let nanos = last.as_nanos().saturating_sub(first.as_nanos());
        if self.packets < FEWEST_FOR_RATE || nanos <= 0 {
            return None;
        }
        let rate = (self.packets - self.at_start) as f64 / nanos as f64 * 1e9;
        let most = 1e9 / sensor.packet_nanos();
        (rate > most * TOO_OFTEN).then(|| {
            format!(
                "{rate:.0} packets a second come from one sender, and a {sensor} sends \
                 {most:.0}: they are of several lidars, or of another model, or were played \
                 back too fast"
            )
        })
    }
}

/// Follows the azimuth of packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MotorProbe {
    last: Option<u16>,
    packets: u64,
    /// How many packets have the azimuth of the one before, and how many of these follow on
    /// each other, now and at most.
    still: u64,
    run: u64,
    longest: u64,
    /// The azimuth of the longest run.
    azimuth: u16,
}

impl MotorProbe {
    /// Takes note of a packet that begins at `azimuth`, in hundredths of a degree.
    pub(super) fn add(&mut self, azimuth: u16) {
        self.packets += 1;
        let before = self.last.replace(azimuth);
        let is_still = before.is_some_and(|before| {
            let step = before.abs_diff(azimuth);
            step.min(36_000_u16.saturating_sub(step)) < LEAST_TURN
        });
        self.run = if is_still { self.run + 1 } else { 0 };
        self.still += u64::from(is_still);
        if self.run > self.longest {
            (self.longest, self.azimuth) = (self.run, azimuth);
        }
    }

    /// Returns a warning if the head does not turn.
    pub(super) fn warning(&self) -> Option<String> {
        let never_turns =
            self.packets >= FEWEST_FOR_MOTOR && self.still * 2 > self.packets;
        (never_turns || self.longest >= STANDSTILL).then(|| {
            format!(
                "the motor does not turn: {} of {} packets have the azimuth of the packet \
                 before, {:.2} deg in the longest run, of {} packets",
                self.still,
                self.packets,
                f64::from(self.azimuth) / 100.0,
                self.longest + 1
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Model, ReturnMode};

    const VLP16: Sensor =
        Sensor { model: Model::Vlp16, returns: ReturnMode::Strongest };

    fn rate(times: impl Iterator<Item = i64>) -> Option<String> {
        let mut probe = RateProbe::default();
        times.for_each(|nanos| probe.add(Timestamp::from_nanos(nanos)));
        probe.warning(VLP16)
    }

    #[test]
    fn packets_that_come_too_often_are_of_several_lidars() {
        // A VLP-16 sends a packet every 1327.104 us.
        assert_eq!(rate((0..200).map(|n| n * 1_327_104)), None);
        let warning = rate((0..200).map(|n| n * 663_552)).unwrap();
        assert!(warning.contains("1507 packets a second"), "{warning}");
        assert!(warning.contains("sends 754"), "{warning}");
        // Messages of 75 packets with one time each, and the first ones of a capture at once.
        assert_eq!(rate((0..300).map(|n| n / 75 * 75 * 1_327_104)), None);
        assert_eq!(rate((0..60).map(|n| (n - 20).max(0) * 1_327_104)), None);
        // Lost packets, and too few to judge.
        assert_eq!(rate((0..200).map(|n| n * 2_000_000)), None);
        assert_eq!(rate((0..30).map(|n| n * 100)), None);
    }

    fn motor(azimuths: impl Iterator<Item = u16>) -> Option<String> {
        let mut probe = MotorProbe::default();
        azimuths.for_each(|azimuth| probe.add(azimuth));
        probe.warning()
    }

    #[test]
    fn a_head_that_stands_still_is_reported() {
        let turning = (0..400_u32).map(|n| (n * 239 % 36_000) as u16);
        assert_eq!(motor(turning.clone()), None);
        let warning = motor(std::iter::repeat_n(9_000, 160)).unwrap();
        assert!(warning.contains("159 of 160 packets"), "{warning}");
        assert!(warning.contains("90.00 deg"), "{warning}");
        // A noisy encoder at zero, and a motor that stops during the recording.
        assert!(motor((0..60).map(|n| (n % 2) * 35_999)).is_some());
        assert!(motor(turning.clone().chain(std::iter::repeat_n(77, 60))).is_some());
        // Some packets that are sent twice.
        assert_eq!(motor(turning.flat_map(|n| [n, n, n + 200, n + 400])), None);
        assert_eq!(motor(std::iter::repeat_n(9_000, 5)), None);
    }
}
