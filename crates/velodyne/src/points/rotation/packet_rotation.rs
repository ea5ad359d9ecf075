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

/// Steps up to this one are never jumps.
const SHORT: u16 = 50;

/// The rotation of the head within a packet that has jumps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketRotation {
    /// The rotation rate without the jumps, in hundredths of a degree per nanosecond.
    pub(crate) rate: f64,
    /// The additional delay of each block in nanoseconds, due to the blanked sectors
    /// before it.
    pub(crate) delays: [f64; BLOCKS],
    /// The blocks that follow a jump.
    pub(crate) jumps: [bool; BLOCKS],
}

impl PacketRotation {
    /// Returns the rotation in a packet whose blocks have these `azimuths`. Without
    /// jumps, they would be fired at the times `azimuth_nanos`. Returns `None` if the head turns
    /// evenly.
    ///
    /// `rotation_rate` is the usual rate, which determines the time that the head spends
    /// in `blanked`.
    pub(crate) fn measure(
        azimuths: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        blanked: Option<BlankedSector>,
        rotation_rate: f64,
    ) -> Option<Self> {
        let steps = steps(azimuths);
        if steps.iter().fold(0, |longest, step| step.max(&longest).to_owned()) <= SHORT
        {
            return None;
        }
        let previous_rate = (rotation_rate > 0.0).then_some(rotation_rate);
        let typical_rate = usual_rate(&steps, azimuth_nanos).or(previous_rate)?;
        let mut rotation =
            Self { rate: typical_rate, delays: [0.0; BLOCKS], jumps: [false; BLOCKS] };
        let (mut turned, mut took, mut delay) = (0.0, 0.0, 0.0);
        for (block, step) in (1..).zip(steps) {
            let interval = azimuth_nanos[block] - azimuth_nanos[block - 1];
            let step = f64::from(step);
            if step - typical_rate * interval > JUMP {
                rotation.jumps[block] = true;
                let is_crossed = blanked.is_some_and(|sector| {
                    sector.is_crossed(azimuths[block - 1], azimuths[block])
                });
                if is_crossed && rotation_rate > 0.0 {
                    delay += (step / rotation_rate - interval).max(0.0);
                }
            } else {
                (turned, took) = (turned + step, took + interval);
            }
            rotation.delays[block] = delay;
        }
        if took > 0.0 {
            rotation.rate = turned / took;
        }
        rotation.jumps.contains(&true).then_some(rotation)
    }

    /// Returns the additional duration of the packet in nanoseconds.
    pub(crate) fn delay(&self) -> f64 {
        self.delays[BLOCKS - 1]
    }

    /// Shifts the delays so that the last block has its usual time, and the blocks before
    /// the sector are fired earlier.
    pub(crate) fn end_in_time(&mut self) {
        let delay = self.delay();
        self.delays.iter_mut().for_each(|block_delay| *block_delay -= delay);
    }
}

/// Returns the angle from each block to the next one.
pub(crate) fn steps(azimuths: &[u16; BLOCKS]) -> [u16; BLOCKS - 1] {
    let mut steps = [0; BLOCKS - 1];
    for (to, pair) in steps.iter_mut().zip(azimuths.windows(2)) {
        *to = if let [from, next] = *pair { angle_between(from, next) } else { 0 };
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
/// The azimuths of one packet only give the rate to about one percent, which is a
/// millisecond in a wide blanked sector.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RotationMeter {
    /// The angle since the measurement started, and its start time.
    begun: Option<(u32, i64)>,
    /// The last azimuth of the previous packet, and the angle within that packet.
    last: Option<(u16, u32)>,
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
        let inside = steps(azimuths).into_iter().map(u32::from).sum();
        let before = self.last.replace((last, inside));
        let (Some((before, inside_before)), Some((travel, then))) =
            (before, self.begun)
        else {
            self.begun = Some((0, nanos));
            return None;
        };
        let inside = if is_at_end { inside } else { inside_before };
        let travel =
            travel.saturating_add(u32::from(angle_between(before, first)) + inside);
        if travel < u32::from(TURN) {
            self.begun = Some((travel, then));
            return None;
        }
        self.begun = Some((0, nanos));
        let rate = f64::from(travel) / nanos.saturating_sub(then) as f64;
        ((rate - expected).abs() < expected * 0.1).then_some(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADS: [f64; BLOCKS] = {
        let mut azimuth_nanos = [0.0; BLOCKS];
        let mut block = 0;
        while block < BLOCKS {
            azimuth_nanos[block] = 110_592.0 * block as f64;
            block += 1;
        }
        azimuth_nanos
    };

    #[test]
    fn packet_over_a_blanked_sector_has_the_rate_of_its_even_steps() {
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
        let mut rotation =
            PacketRotation::measure(&azimuths, &HEADS, Some(sector), sector.rate())
                .unwrap();
        assert!((rotation.rate * 1e9 / 36_000.0 - 10.0).abs() < 0.02, "{rotation:?}");
        // 90.38 degrees take 25.106 ms.
        assert!((rotation.delay() - 24_994_964.0).abs() < 500.0, "{rotation:?}");
        assert_eq!(rotation.delays[5], 0.0);
        rotation.end_in_time();
        assert_eq!(rotation.delays[6], 0.0);
        let even_steps = std::array::from_fn(|block| 40 * block as u16);
        assert!(PacketRotation::measure(&even_steps, &HEADS, None, 0.0).is_none());
        let fast = std::array::from_fn(|block| 80 * block as u16);
        assert!(PacketRotation::measure(&fast, &HEADS, None, 0.0).is_none());
    }

    #[test]
    fn rotation_rate_follows_from_the_times_of_packets() {
        let mut meter = RotationMeter::default();
        let mut rates = Vec::new();
        for packet in 0..100_u64 {
            let azimuths = std::array::from_fn(|b| {
                ((packet * 480 + b as u64 * 40) % 36_000) as u16
            });
            let nanos = (packet * 480) as i64 * 2_777;
            rates.extend(meter.add(&azimuths, nanos, false, 1.0 / 2_800.0));
        }
        assert_eq!(rates.len(), 1);
        assert!((rates[0] * 2_777.0 - 1.0).abs() < 1e-9, "{rates:?}");
    }
}
