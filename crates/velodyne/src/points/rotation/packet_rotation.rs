//! Measures the rotation rate within a packet that crosses a blanked sector.

use crate::{
    packet::BLOCKS,
    points::{
        firing::{sin_cos_table::TURN, timing::angle_between},
        rotation::blanked_sector::BlankedSector,
    },
};

/// The maximum rotation rate in hundredths of a degree per nanosecond: 30 rotations per
/// second.
pub(crate) const MAX_RATE: f64 = 30.0 * 36_000.0 / 1e9;

/// A step that exceeds the usual one by more than half a degree is a jump. The narrowest
/// sector that can be configured is one degree wide.
const JUMP: f64 = 50.0;

/// Steps up to this length are never jumps.
const MAX_SHORT_STEP: u16 = 50;

/// The rotation of the head within a packet in which the azimuth jumps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketRotation {
    /// The rotation rate without the jumps, in hundredths of a degree per nanosecond.
    pub(crate) rate: f64,
    /// The additional delay of each block in nanoseconds, due to the blanked sectors
    /// before it in the packet.
    pub(crate) delays: [f64; BLOCKS],
    /// Whether the azimuth jumps before each block.
    pub(crate) jumps: [bool; BLOCKS],
}

impl PacketRotation {
    /// Returns the rotation in a packet whose blocks have these `azimuths`. Without
    /// jumps, the head would be at these azimuths at the times `azimuth_nanos`. Returns
    /// `None` if there are no jumps.
    ///
    /// `rotation_rate` is the rate over whole rotations, which determines the time that the
    /// head takes to pass `blanked`. It is 0 if unknown.
    pub(crate) fn measure(
        azimuths: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        blanked: Option<BlankedSector>,
        rotation_rate: f64,
    ) -> Option<Self> {
        let steps = steps(azimuths);
        if steps.iter().fold(0, |longest, step| longest.max(*step)) <= MAX_SHORT_STEP {
            return None;
        }
        let known_rate = (rotation_rate > 0.0).then_some(rotation_rate);
        let usual_rate = usual_rate(&steps, azimuth_nanos).or(known_rate)?;
        let mut rotation =
            Self { rate: usual_rate, delays: [0.0; BLOCKS], jumps: [false; BLOCKS] };
        // The angle and the duration of the steps that are not jumps.
        let (mut turned, mut duration, mut delay) = (0.0, 0.0, 0.0);
        for (block, step) in (1..).zip(steps) {
            let interval = azimuth_nanos[block] - azimuth_nanos[block - 1];
            let step = f64::from(step);
            if step - usual_rate * interval > JUMP {
                rotation.jumps[block] = true;
                let is_crossed = blanked.is_some_and(|sector| {
                    sector.is_crossed(azimuths[block - 1], azimuths[block])
                });
                if is_crossed && rotation_rate > 0.0 {
                    delay += (step / rotation_rate - interval).max(0.0);
                }
            } else {
                (turned, duration) = (turned + step, duration + interval);
            }
            rotation.delays[block] = delay;
        }
        if duration > 0.0 {
            rotation.rate = turned / duration;
        }
        rotation.jumps.contains(&true).then_some(rotation)
    }

    /// Returns the additional duration of the packet in nanoseconds.
    pub(crate) fn delay(&self) -> f64 {
        self.delays[BLOCKS - 1]
    }

    /// Shifts the delays so that the last block has no delay, and the blocks before the
    /// sector have negative ones. This applies if the time of the packet is that of its
    /// last firing.
    pub(crate) fn anchor_at_last_block(&mut self) {
        let delay = self.delay();
        self.delays.iter_mut().for_each(|block_delay| *block_delay -= delay);
    }
}

/// Returns the angle from each block to the next one.
pub(crate) fn steps(azimuths: &[u16; BLOCKS]) -> [u16; BLOCKS - 1] {
    let mut steps = [0; BLOCKS - 1];
    for (step, pair) in steps.iter_mut().zip(azimuths.windows(2)) {
        if let [azimuth, next_azimuth] = *pair {
            *step = angle_between(azimuth, next_azimuth);
        }
    }
    steps
}

/// Returns the rotation rate from the lower quartile of the steps of a packet, because
/// some of them may be jumps. Returns `None` if all blocks are from one firing, or if the
/// rate is impossible.
pub(crate) fn usual_rate(
    steps: &[u16; BLOCKS - 1],
    azimuth_nanos: &[f64; BLOCKS],
) -> Option<f64> {
    let (mut rates, mut count) = ([f64::MAX; BLOCKS - 1], 0);
    for (block, step) in (1..).zip(steps) {
        let interval = azimuth_nanos[block] - azimuth_nanos[block - 1];
        if interval > 0.0 {
            rates[count] = f64::from(*step) / interval;
            count += 1;
        }
    }
    let rates = rates.get_mut(..count)?;
    rates.sort_unstable_by(f64::total_cmp);
    rates.get(count.saturating_sub(1) / 4).copied().filter(|rate| *rate <= MAX_RATE)
}

/// Measures the rotation rate over whole rotations.
///
/// The azimuths of one packet only determine the rate to about one percent, which is an
/// error of a millisecond for a wide blanked sector.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RotationMeter {
    /// The angle since the start of the measurement, and its start time.
    measurement: Option<(u32, i64)>,
    /// The last azimuth of the previous packet, and the angle within that packet.
    previous_packet: Option<(u16, u32)>,
}

impl RotationMeter {
    /// Adds a packet with these `azimuths`. `nanos` is the time of its last firing if
    /// `is_at_end`, otherwise that of the first. Returns the rotation rate if a rotation
    /// is complete and the rate is close to `expected`.
    pub(crate) fn add(
        &mut self,
        azimuths: &[u16; BLOCKS],
        nanos: i64,
        is_at_end: bool,
        expected: f64,
    ) -> Option<f64> {
        let [first, .., last] = *azimuths;
        let angle_within = steps(azimuths).into_iter().map(u32::from).sum();
        let previous_packet = self.previous_packet.replace((last, angle_within));
        let (Some((previous_azimuth, previous_angle_within)), Some((turned, start))) =
            (previous_packet, self.measurement)
        else {
            self.measurement = Some((0, nanos));
            return None;
        };
        let angle_within = if is_at_end { angle_within } else { previous_angle_within };
        let angle_between_packets = u32::from(angle_between(previous_azimuth, first));
        let turned = turned.saturating_add(angle_between_packets + angle_within);
        if turned < u32::from(TURN) {
            self.measurement = Some((turned, start));
            return None;
        }
        self.measurement = Some((0, nanos));
        let rate = f64::from(turned) / nanos.saturating_sub(start) as f64;
        ((rate - expected).abs() < expected * 0.1).then_some(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of the azimuths of a VLP-16.
    const AZIMUTH_NANOS: [f64; BLOCKS] = {
        let mut azimuth_nanos = [0.0; BLOCKS];
        let mut block = 0;
        while block < BLOCKS {
            azimuth_nanos[block] = 110_592.0 * block as f64;
            block += 1;
        }
        azimuth_nanos
    };

    #[test]
    fn packet_across_a_blanked_sector_has_the_rate_of_its_even_steps() {
        let azimuths = [
            31_293, 31_333, 31_373, 31_413, 31_452, 31_492, 4_530, 4_570, 4_609, 4_649,
            4_689, 4_729,
        ];
        let rotation_nanos = 100_000_000;
        let sector = BlankedSector {
            from: 31_492,
            to: 4_530,
            rotation_nanos,
            is_stamped_at_end: true,
            starts_later: false,
        };
        let mut rotation = PacketRotation::measure(
            &azimuths,
            &AZIMUTH_NANOS,
            Some(sector),
            sector.rate(),
        )
        .unwrap();
        assert!((rotation.rate * 1e9 / 36_000.0 - 10.0).abs() < 0.02, "{rotation:?}");
        // 90.38 degrees take 25.106 ms.
        assert!((rotation.delay() - 24_994_964.0).abs() < 500.0, "{rotation:?}");
        assert_eq!(rotation.delays[5], 0.0);
        rotation.anchor_at_last_block();
        assert_eq!(rotation.delays[6], 0.0);
        let even_steps = std::array::from_fn(|block| 40 * block as u16);
        assert!(
            PacketRotation::measure(&even_steps, &AZIMUTH_NANOS, None, 0.0).is_none()
        );
        let fast = std::array::from_fn(|block| 80 * block as u16);
        assert!(PacketRotation::measure(&fast, &AZIMUTH_NANOS, None, 0.0).is_none());
    }

    #[test]
    fn rotation_rate_follows_from_the_times_of_packets() {
        let mut meter = RotationMeter::default();
        let mut rates = Vec::new();
        for packet in 0..100_u64 {
            let azimuths = std::array::from_fn(|block| {
                ((packet * 480 + block as u64 * 40) % 36_000) as u16
            });
            let nanos = (packet * 480) as i64 * 2_777;
            rates.extend(meter.add(&azimuths, nanos, false, 1.0 / 2_800.0));
        }
        assert_eq!(rates.len(), 1);
        assert!((rates[0] * 2_777.0 - 1.0).abs() < 1e-9, "{rates:?}");
    }
}
