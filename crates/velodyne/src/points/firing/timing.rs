//! The times of the firings of each laser, from the tables in the manuals.
//!
//! ```text
//! HDL-64E S2, S3 single   48.0 us per pair of blocks, 6.0 us per group of 4: 0 1.26 2.46 3.66
//! HDL-64E S3 dual         57.6 us per four blocks, 7.2 us per group of 4: 0 1.3  2.5  3.7
//! HDL-32E                 46.080 us per block, 1.152 us per laser
//! VLP-16, two per block   55.296 us per firing, 2.304 us per laser
//! VLP-32                  55.296 us per block, 2.304 us per pair of lasers
//! VLS-128                 20 cycles, one per 8 lasers, and two idle ones after each 64 lasers
//! HDL-64E S1              not published: 24.81236 us per block or twice that, depending on the azimuth
//! ```
//! (HDL-64E S2 manual, p. 38; S3 manual, p. 48; HDL-32E application note 63-9277; VLP-16
//! manual, 9.4; VLP-32C manual, 9.4. The step of the S1 was measured by velodyne_decoder.)

use crate::{
    model::{Model, ReturnMode, Sensor, TimestampReference},
    packet::{BLOCKS, CHANNELS},
    points::firing::sin_cos_table::TURN,
};

/// The shorter of the two durations of a block of an HDL-64E S1, in nanoseconds.
pub(crate) const S1_STEP_NANOS: f64 = 24_812.36;

/// The times of all firings of a packet.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    /// The nanoseconds from the first firing of the packet to each firing.
    pub(crate) firing_nanos: [[f64; CHANNELS]; BLOCKS],
    /// The nanoseconds from the time of the packet to its first firing.
    pub(crate) first_firing: f64,
    /// The nanoseconds from the time of the packet to the earliest firing of each block.
    pub(crate) block_starts: [i64; BLOCKS],
    /// The nanoseconds from the time of the packet to the end of its last firing.
    pub(crate) end: i64,
    /// The nanoseconds from the first firing of the packet to the time at which the head is
    /// at the azimuth of each block.
    pub(crate) azimuth_nanos: [f64; BLOCKS],
    /// The seconds from the azimuth of a block to each firing, as computed by
    /// velodyne_decoder.
    pub(crate) seconds_after_azimuth: [[f32; CHANNELS]; BLOCKS],
    /// For each block, the first block whose firings follow its azimuth in the same
    /// intervals.
    pub(crate) first_equal_block: [usize; BLOCKS],
    is_s1: bool,
}

impl Timing {
    pub(crate) fn new(sensor: Sensor) -> Self {
        let is_dual = sensor.returns == ReturnMode::Dual;
        let mut firing_nanos = [[0.0; CHANNELS]; BLOCKS];
        for (block, row) in firing_nanos.iter_mut().enumerate() {
            for (channel, nanos) in row.iter_mut().enumerate() {
                *nanos = firing_micros(sensor.model, is_dual, block, channel) * 1e3;
            }
        }
        let first_firing = match sensor.model.timestamp_reference() {
            // The time of a VLS-128 is that of its fourth group of lasers (manual, 9.4).
            _ if sensor.model.is_vls128() => -8_700.0,
            TimestampReference::FirstFiring => 0.0,
            TimestampReference::End => -sensor.packet_nanos(),
        };
        let mut azimuth_nanos = firing_nanos.map(|row| row[0]);
        if sensor.model.is_vls128() {
            // The four banks have the azimuth of the first one. In dual return mode there
            // is only one azimuth.
            let first_bank = |block: usize| if is_dual { 0 } else { block / 4 * 4 };
            azimuth_nanos =
                std::array::from_fn(|block| firing_nanos[first_bank(block)][0]);
        }
        let earliest =
            |row: &[f64; CHANNELS]| row.iter().copied().fold(f64::MAX, f64::min);
        let mut timing = Self {
            first_firing,
            block_starts: [0; BLOCKS],
            end: 0,
            azimuth_nanos,
            seconds_after_azimuth: seconds_after_azimuth(&firing_nanos, &azimuth_nanos),
            first_equal_block: std::array::from_fn(|block| {
                first_equal_block(block, &firing_nanos, &azimuth_nanos)
            }),
            is_s1: sensor.model == Model::Hdl64eS1,
            firing_nanos,
        };
        timing.set_block_starts(firing_nanos.each_ref().map(earliest));
        timing
    }

    /// Sets the starts of the blocks and the end of the packet. `starts` are relative to the
    /// first firing.
    fn set_block_starts(&mut self, starts: [f64; BLOCKS]) {
        let after_packet_time = |nanos: f64| (self.first_firing + nanos).round() as i64;
        self.block_starts = starts.map(after_packet_time);
        self.end = after_packet_time(end_of_firings(&self.firing_nanos));
    }

    /// Updates the times for a packet with these azimuths. Only the times of an HDL-64E S1
    /// depend on the azimuths.
    pub(crate) fn follow(&mut self, azimuths: &[u16; BLOCKS]) {
        if !self.is_s1 {
            return;
        }
        let mut start = 0.0;
        for (row, steps) in self.firing_nanos.iter_mut().zip(s1_steps(azimuths)) {
            let duration = f64::from(steps) * S1_STEP_NANOS;
            for (channel, nanos) in row.iter_mut().enumerate() {
                *nanos = start + duration * channel as f64 / CHANNELS as f64;
            }
            start += duration;
        }
        self.first_firing = -start;
        self.azimuth_nanos = self.firing_nanos.each_ref().map(|row| row[0]);
        self.set_block_starts(self.azimuth_nanos);
        self.seconds_after_azimuth =
            seconds_after_azimuth(&self.firing_nanos, &self.azimuth_nanos);
    }

    /// Returns the rotation rate in hundredths of a degree per nanosecond from the
    /// azimuths of a packet, or 0 if all blocks are from one firing.
    pub(crate) fn rate(&self, azimuths: &[u16; BLOCKS]) -> f64 {
        let turned = angle_between(azimuths[0], azimuths[BLOCKS - 1]);
        let duration = self.azimuth_nanos[BLOCKS - 1] - self.azimuth_nanos[0];
        if duration > 0.0 && turned < TURN / 2 {
            f64::from(turned) / duration
        } else {
            0.0
        }
    }
}

/// Converts nanoseconds to seconds with the rounding of velodyne_decoder.
pub(crate) fn seconds(nanos: f64) -> f32 {
    (nanos / 1e9) as f32
}

/// Returns a time just after the last of these firings, which is in one of the last four
/// blocks.
fn end_of_firings(firing_nanos: &[[f64; CHANNELS]; BLOCKS]) -> f64 {
    firing_nanos.iter().rev().take(4).flatten().copied().fold(0.0, f64::max) + 1.0
}

fn seconds_after_azimuth(
    firing_nanos: &[[f64; CHANNELS]; BLOCKS],
    azimuth_nanos: &[f64; BLOCKS],
) -> [[f32; CHANNELS]; BLOCKS] {
    std::array::from_fn(|block| {
        let azimuth_seconds = seconds(azimuth_nanos[block]);
        firing_nanos[block].map(|nanos| seconds(nanos) - azimuth_seconds)
    })
}

/// Returns the first block whose firings follow its azimuth in the same intervals as those
/// of `block`. It may be `block` itself.
fn first_equal_block(
    block: usize,
    firing_nanos: &[[f64; CHANNELS]; BLOCKS],
    azimuth_nanos: &[f64; BLOCKS],
) -> usize {
    // Rounding errors of the times are much smaller.
    const TOLERANCE_NANOS: f64 = 1e-3;
    let intervals =
        |block: usize| firing_nanos[block].map(|nanos| nanos - azimuth_nanos[block]);
    let is_equal = |earlier: &usize| {
        let mut pairs = intervals(block).into_iter().zip(intervals(*earlier));
        pairs.all(|(interval, other)| (interval - other).abs() < TOLERANCE_NANOS)
    };
    (0..block).find(is_equal).unwrap_or(block)
}

/// Returns the duration of each block of an HDL-64E S1 in steps: 1, or 2 if the azimuth
/// moves further. The azimuth after the last block is unknown. That block usually takes 2
/// steps if exactly one of the six blocks before it does.
pub(crate) fn s1_steps(azimuths: &[u16; BLOCKS]) -> [u8; BLOCKS] {
    let mut azimuth_steps = [0; BLOCKS - 1];
    for (azimuth_step, pair) in azimuth_steps.iter_mut().zip(azimuths.windows(2)) {
        if let [azimuth, next_azimuth] = *pair {
            *azimuth_step = angle_between(azimuth, next_azimuth);
        }
    }
    let shortest = azimuth_steps.iter().copied().min().unwrap_or(0);
    let mut durations = [1; BLOCKS];
    for (duration, azimuth_step) in durations.iter_mut().zip(azimuth_steps) {
        let is_long = u32::from(azimuth_step) > u32::from(shortest) * 3 / 2;
        *duration = 1 + u8::from(is_long);
    }
    let recent = &durations[5..BLOCKS - 1];
    let long_count = recent.iter().filter(|duration| **duration == 2).count();
    durations[BLOCKS - 1] = 1 + u8::from(long_count == 1);
    durations
}

/// Returns the angle from one azimuth to another, in hundredths of a degree.
pub(crate) fn angle_between(from: u16, to: u16) -> u16 {
    let (from, to) = (from % TURN, to % TURN);
    if to >= from { to - from } else { TURN - from + to }
}

/// Returns the number of consecutive blocks with one azimuth.
pub(crate) const fn blocks_per_azimuth(model: Model, is_dual: bool) -> usize {
    let returns = if is_dual { 2 } else { 1 };
    if model.is_vls128() {
        4 * returns
    } else if model.is_hdl64e() {
        2 * returns
    } else {
        returns
    }
}

/// Returns the microseconds from the first firing of the packet to that of a channel, with
/// the values at the start of this file. For an HDL-64E S1, they are computed
/// [from the azimuths](Timing::follow).
pub(crate) fn firing_micros(
    model: Model,
    is_dual: bool,
    block: usize,
    channel: usize,
) -> f64 {
    let float = |number: usize| number as f64;
    let in_group_of_four = |micros: [f64; 4]| micros[channel % 4];
    let firing = if is_dual { block / 2 } else { block };
    match model {
        Model::Hdl64eS1 => 0.0,
        Model::Hdl64eS3 if is_dual => {
            57.6 * float(block / 4)
                + 7.2 * float(channel / 4)
                + in_group_of_four([0.0, 1.3, 2.5, 3.7])
        }
        Model::Hdl64eS2 | Model::Hdl64eS3 => {
            48.0 * float(block / 2)
                + 6.0 * float(channel / 4)
                + in_group_of_four([0.0, 1.26, 2.46, 3.66])
        }
        Model::Hdl32e => 46.08 * float(firing) + 1.152 * float(channel),
        Model::Vlp16 | Model::Vlp16HiRes => {
            110.592 * float(firing)
                + 2.304 * float(channel % 16)
                + 55.296 * float(channel / 16)
        }
        Model::Vlp32a | Model::Vlp32b | Model::Vlp32c => {
            55.296 * float(firing) + 2.304 * float(channel / 2)
        }
        Model::Vls128 | Model::AlphaPrime => {
            let cycle = if model == Model::Vls128 { 8.0 / 3.0 } else { 2.89 };
            let laser = firing % 4 * CHANNELS + channel;
            cycle * float(20 * (firing / 4) + laser / 8 + laser / 64 * 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(model: Model, returns: ReturnMode) -> Timing {
        Timing::new(Sensor { model, returns })
    }

    #[test]
    fn last_firing_of_an_hdl_64e_precedes_the_timestamp_as_in_veloview() {
        for (returns, lead_micros) in
            [(ReturnMode::Strongest, 2.34), (ReturnMode::Dual, 3.5)]
        {
            let timing = timing(Model::Hdl64eS3, returns);
            let last =
                timing.first_firing + timing.firing_nanos[BLOCKS - 1][CHANNELS - 1];
            assert!((last / -1e3 - lead_micros).abs() < 1e-9, "{last}");
        }
    }

    #[test]
    fn last_firing_of_a_vlp_16_agrees_with_its_manual() {
        // VLP-16 manual, table 9-3: data block 12, second firing, channel 15.
        let timing = timing(Model::Vlp16, ReturnMode::Strongest);
        assert!((timing.firing_nanos[11][31] / 1e3 - 1306.37).abs() < 0.01);
    }

    #[test]
    fn s1_block_before_a_double_azimuth_step_takes_two_steps() {
        let azimuths = [35_990, 35_999, 17, 26, 35, 44, 53, 62, 71, 80, 89, 98];
        assert_eq!(s1_steps(&azimuths), [1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    }
}
