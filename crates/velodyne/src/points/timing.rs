//! When each laser fires: the firing tables of the manuals.
//!
//! ```text
//! HDL-64E S2, S3 single   48.0 us a pair of blocks, 6.0 us a group of 4: 0 1.26 2.46 3.66
//! HDL-64E S3 dual         57.6 us four blocks,      7.2 us a group of 4: 0 1.3  2.5  3.7
//! HDL-32E                 46.080 us a block,        1.152 us a laser
//! VLP-16, two a block     55.296 us a firing,       2.304 us a laser
//! VLP-32                  55.296 us a block,        2.304 us a pair of lasers
//! VLS-128                 20 steps, of which 8 lasers take one; two pause after 64
//! HDL-64E S1              not published: 24.81236 or twice that a block, by the azimuth
//! ```
//! (HDL-64E S2 manual, p. 38; S3 manual, p. 48; HDL-32E application note 63-9277; VLP-16
//! manual, 9.4; VLP-32C manual, 9.4. The step of the S1 was measured by velodyne_decoder.)

use crate::{
    model::{Anchor, Model, ReturnMode, Sensor},
    packet::{BLOCKS, CHANNELS},
    points::sin_cos_table::TURN,
};

/// The shorter of the two times that a block of an HDL-64E S1 takes, in nanoseconds.
const S1_STEP: f64 = 24_812.36;

/// When each firing of a packet happens.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    /// Nanoseconds of each firing of each block after the first one of the packet.
    pub(super) nanos: [[f64; CHANNELS]; BLOCKS],
    /// The first firing of the packet after the time of the packet, in nanoseconds.
    pub(super) first: f64,
    /// The earliest firing of each block after the time of the packet, and when the last of
    /// all is over, in whole nanoseconds.
    pub(super) fires: [i64; BLOCKS],
    pub(super) over: i64,
    /// When the head is at the azimuth of each block, likewise.
    pub(super) heads: [f64; BLOCKS],
    /// Seconds of each firing after the head is there, as velodyne_decoder has them.
    pub(super) after: [[f32; CHANNELS]; BLOCKS],
    is_s1: bool,
}

impl Timing {
    pub(super) fn of(sensor: Sensor) -> Self {
        let is_dual = sensor.returns == ReturnMode::Dual;
        let mut nanos = [[0.0; CHANNELS]; BLOCKS];
        for (block, row) in nanos.iter_mut().enumerate() {
            for (channel, place) in row.iter_mut().enumerate() {
                *place = micros(sensor.model, is_dual, block, channel) * 1e3;
            }
        }
        let first = match sensor.model.anchor() {
            // The VLS-128 counts from its fourth group of lasers (its manual, 9.4).
            _ if sensor.model.is_vls128() => -8_700.0,
            Anchor::First => 0.0,
            Anchor::End => -sensor.packet_nanos(),
        };
        let mut heads = nanos.map(|row| row[0]);
        if sensor.model.is_vls128() {
            // Its four banks have the azimuth of the first one, and two returns too.
            let first = |block: usize| if is_dual { 0 } else { block / 4 * 4 };
            heads = std::array::from_fn(|block| nanos[first(block)][0]);
        }
        let is_s1 = sensor.model == Model::Hdl64eS1;
        let after = after(&nanos, &heads);
        let earliest =
            |row: &[f64; CHANNELS]| row.iter().copied().fold(f64::MAX, f64::min);
        let mut timing =
            Self { first, fires: [0; BLOCKS], over: 0, heads, after, is_s1, nanos };
        timing.fire(nanos.each_ref().map(earliest));
        timing
    }

    /// Takes note of when blocks are fired, so many nanoseconds after the first firing.
    fn fire(&mut self, starts: [f64; BLOCKS]) {
        let whole = |nanos: f64| (self.first + nanos).round() as i64;
        (self.fires, self.over) = (starts.map(whole), whole(over(&self.nanos)));
    }

    /// The times of a packet whose blocks have these azimuths, if they depend on them.
    pub(super) fn follow(&mut self, azimuths: &[u16; BLOCKS]) {
        if !self.is_s1 {
            return;
        }
        let mut start = 0.0;
        for (row, steps) in self.nanos.iter_mut().zip(s1_steps(azimuths)) {
            let duration = f64::from(steps) * S1_STEP;
            for (channel, place) in row.iter_mut().enumerate() {
                *place = start + duration * channel as f64 / CHANNELS as f64;
            }
            start += duration;
        }
        self.first = -start;
        self.heads = self.nanos.each_ref().map(|row| row[0]);
        self.fire(self.heads);
        self.after = after(&self.nanos, &self.heads);
    }

    /// How many hundredths of a degree the head turns in a nanosecond, by the azimuths
    /// of a packet; 0 if they all are of one firing.
    pub(super) fn rate(&self, azimuths: &[u16; BLOCKS]) -> f64 {
        let turned = turned(azimuths[0], azimuths[BLOCKS - 1]);
        let took = self.heads[BLOCKS - 1] - self.heads[0];
        if took > 0.0 && turned < TURN / 2 { f64::from(turned) / took } else { 0.0 }
    }
}

/// Nanoseconds in seconds, as velodyne_decoder has them.
pub(super) fn seconds(nanos: f64) -> f32 {
    (nanos / 1e9) as f32
}

/// When the last of these firings is over; those of all but the last blocks are before.
fn over(nanos: &[[f64; CHANNELS]; BLOCKS]) -> f64 {
    nanos.iter().rev().take(4).flatten().copied().fold(0.0, f64::max) + 1.0
}

fn after(
    nanos: &[[f64; CHANNELS]; BLOCKS],
    heads: &[f64; BLOCKS],
) -> [[f32; CHANNELS]; BLOCKS] {
    let mut after = [[0.0; CHANNELS]; BLOCKS];
    for (row, (nanos, head)) in after.iter_mut().zip(nanos.iter().zip(heads)) {
        *row = nanos.map(|nanos| seconds(nanos) - seconds(*head));
    }
    after
}

/// How many steps each block of an HDL-64E S1 takes: 1, or 2 where the azimuth moves by
/// more. After the last one no azimuth is known; it is mostly long if only one of the six
/// before it is.
pub(super) fn s1_steps(azimuths: &[u16; BLOCKS]) -> [u8; BLOCKS] {
    let mut moves = [0; BLOCKS - 1];
    for (to, pair) in moves.iter_mut().zip(azimuths.windows(2)) {
        if let [from, next] = *pair {
            *to = turned(from, next);
        }
    }
    let least = moves.iter().copied().min().unwrap_or(0);
    let mut steps = [1; BLOCKS];
    for (steps, moved) in steps.iter_mut().zip(moves) {
        *steps = 1 + u8::from(u32::from(moved) > u32::from(least) * 3 / 2);
    }
    let long = steps[5..BLOCKS - 1].iter().filter(|steps| **steps == 2).count();
    steps[BLOCKS - 1] = 1 + u8::from(long == 1);
    steps
}

/// How far the head turns from one azimuth to another, in hundredths of a degree.
pub(super) fn turned(from: u16, to: u16) -> u16 {
    let (from, to) = (from % TURN, to % TURN);
    if to >= from { to - from } else { TURN - from + to }
}

/// How many blocks have the azimuth of the first of them.
pub(super) const fn blocks_a_firing(model: Model, is_dual: bool) -> usize {
    let returns = if is_dual { 2 } else { 1 };
    if model.is_vls128() {
        4 * returns
    } else if model.is_hdl64e() {
        2 * returns
    } else {
        returns
    }
}

/// When a laser fires after the first one of the packet, in microseconds.
pub(super) fn micros(model: Model, is_dual: bool, block: usize, channel: usize) -> f64 {
    let f = |n: usize| n as f64;
    let pick = |four: [f64; 4]| four[channel % 4];
    let firing = if is_dual { block / 2 } else { block };
    match model {
        Model::Hdl64eS1 => 0.0,
        Model::Hdl64eS3 if is_dual => {
            57.6 * f(block / 4) + 7.2 * f(channel / 4) + pick([0.0, 1.3, 2.5, 3.7])
        }
        Model::Hdl64eS2 | Model::Hdl64eS3 => {
            48.0 * f(block / 2) + 6.0 * f(channel / 4) + pick([0.0, 1.26, 2.46, 3.66])
        }
        Model::Hdl32e => 46.08 * f(firing) + 1.152 * f(channel),
        Model::Vlp16 | Model::Vlp16HiRes => {
            110.592 * f(firing) + 2.304 * f(channel % 16) + 55.296 * f(channel / 16)
        }
        Model::Vlp32a | Model::Vlp32b | Model::Vlp32c => {
            55.296 * f(firing) + 2.304 * f(channel / 2)
        }
        Model::Vls128 | Model::AlphaPrime => {
            let step = if model == Model::Vls128 { 8.0 / 3.0 } else { 2.89 };
            let laser = firing % 4 * CHANNELS + channel;
            step * f(20 * (firing / 4) + laser / 8 + laser / 64 * 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(model: Model, returns: ReturnMode) -> Timing {
        Timing::of(Sensor { model, returns })
    }

    #[test]
    fn the_last_firings_of_an_hdl_64e_lie_as_long_before_the_stamp_as_veloview_says() {
        for (returns, before) in
            [(ReturnMode::Strongest, 2.34), (ReturnMode::Dual, 3.5)]
        {
            let timing = timing(Model::Hdl64eS3, returns);
            let last = timing.first + timing.nanos[BLOCKS - 1][CHANNELS - 1];
            assert!((last / -1e3 - before).abs() < 1e-9, "{last}");
        }
    }

    #[test]
    fn the_last_firing_of_a_vlp_16_is_where_its_manual_says() {
        // VLP-16 manual, table 9-3: data block 12, second firing, channel 15.
        let timing = timing(Model::Vlp16, ReturnMode::Strongest);
        assert!((timing.nanos[11][31] / 1e3 - 1306.37).abs() < 0.01);
    }

    #[test]
    fn a_block_of_an_s1_after_which_the_azimuth_moves_twice_as_far_is_long() {
        let azimuths = [35_990, 35_999, 17, 26, 35, 44, 53, 62, 71, 80, 89, 98];
        assert_eq!(s1_steps(&azimuths), [1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    }
}
