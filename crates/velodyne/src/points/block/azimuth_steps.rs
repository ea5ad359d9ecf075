//! Computes the rotation of the head between the firings of a block like ROS and
//! VeloView.
//!
//! Both programs add a fraction of the step to another block to the azimuth of a block,
//! and round the sum to hundredths of a degree. They use different blocks:
//!
//! ```text
//! ROS       VLP-16: the next block; the previous step at 360 degrees and for the last block
//!           VLS-128: the next block of the same return; none for the last block
//! VeloView  median of the steps between blocks; HDL-64E: the longest of them;
//!           VLS-128: the next firing sequence; dual return: from the previous packet
//! ```
//! (velodyne_pointcloud `rawdata.cpp`; VeloView `vtkVelodyneLegacyPacketInterpreter.cxx`.)

use crate::{
    model::{ReturnMode, Sensor},
    packet::{BLOCKS, CHANNELS},
    points::{
        firing::{
            sin_cos_table::TURN,
            timing::{angle_between, blocks_a_firing, micros},
        },
        options::Formula,
        rotation::packet_rotation::steps,
    },
};

/// A longer step, in hundredths of a degree, crosses a blanked sector. Neither program
/// handles such sectors, and would rotate points, so the previous step is used instead.
const JUMP: u16 = 500;

/// The number of blocks in a firing sequence of a VLS-128, and the duration of one of its
/// 20 cycles in microseconds.
const VLS128_BLOCKS: usize = 4;
const VLS128_CYCLE: f64 = 2.665;

/// The steps of the head in a packet, as computed by one of the programs.
#[derive(Clone, Debug)]
pub(crate) struct AzimuthSteps {
    program: StepFormula,
    is_dual: bool,
    /// The delay of each firing after the azimuth of its block, as a multiple of `whole_step`.
    parts: [[f64; CHANNELS]; BLOCKS],
    /// The value of `parts` that equals a whole step.
    whole_step: f64,
    /// The azimuth and the step of each block, in hundredths of a degree.
    blocks: [(u16, u16); BLOCKS],
    /// The first azimuth of the previous packet.
    before: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepFormula {
    RosVlp16,
    RosVls128,
    VeloView,
    VeloViewHdl64e,
    VeloViewVls128,
}

impl StepFormula {
    fn is_ros(self) -> bool {
        matches!(self, Self::RosVlp16 | Self::RosVls128)
    }
}

impl AzimuthSteps {
    /// Returns the steps of a `sensor` for a `formula`, or `None` if the formula does not
    /// use them.
    pub(crate) fn new(sensor: Sensor, formula: Formula) -> Option<Self> {
        let model = sensor.model;
        let is_dual = sensor.returns == ReturnMode::Dual;
        let program = match formula {
            Formula::VeloView if model.is_hdl64e() => StepFormula::VeloViewHdl64e,
            Formula::VeloView if model.is_vls128() => StepFormula::VeloViewVls128,
            Formula::VeloView => StepFormula::VeloView,
            Formula::Ros if model.is_vls128() => StepFormula::RosVls128,
            Formula::Ros if model.lasers() == 16 => StepFormula::RosVlp16,
            _ => return None,
        };
        let (mut parts, mut whole_step) = ([[0.0; CHANNELS]; BLOCKS], 1.0);
        for (block, row) in parts.iter_mut().enumerate() {
            for (channel, part) in row.iter_mut().enumerate() {
                *part = match program {
                    StepFormula::RosVlp16 => f64::from(ros_vlp16_micros(channel)),
                    StepFormula::RosVls128 => {
                        let bank = if is_dual { block / 2 } else { block };
                        f64::from(ros_vls128_part(bank % VLS128_BLOCKS, channel))
                    }
                    _ => veloview_part(program, sensor, block, channel),
                };
            }
        }
        if program == StepFormula::RosVlp16 {
            whole_step = f64::from(110.592_f32);
        }
        let blocks = [(0, 0); BLOCKS];
        Some(Self { program, is_dual, parts, whole_step, blocks, before: None })
    }

    /// Processes the azimuths of the next packet.
    pub(crate) fn follow(&mut self, azimuths: &[u16; BLOCKS]) {
        let before = self.before.replace(azimuths[0]);
        let steps = steps(azimuths);
        self.blocks = std::array::from_fn(|block| (azimuths[block], 0));
        match self.program {
            StepFormula::RosVlp16 => self.step_to_next(&steps),
            StepFormula::RosVls128 => self.step_to_next_return(azimuths),
            StepFormula::VeloView | StepFormula::VeloViewHdl64e => {
                let step = self.veloview_step(steps);
                self.blocks.iter_mut().for_each(|(_, by)| *by = step);
            }
            StepFormula::VeloViewVls128 => {
                let blocks_ahead = VLS128_BLOCKS;
                let to_next = |block: usize| {
                    let block = block.min(BLOCKS - 1 - blocks_ahead);
                    angle_between(azimuths[block], azimuths[block + blocks_ahead])
                };
                let first_valid = (0..BLOCKS).map(to_next).find(|by| *by <= JUMP);
                let from_last = before.map(|before| angle_between(before, azimuths[0]));
                for (block, (_, by)) in self.blocks.iter_mut().enumerate() {
                    *by = if self.is_dual {
                        from_last.filter(|by| *by <= JUMP).unwrap_or(0)
                    } else {
                        match to_next(block) {
                            by if by <= JUMP => by,
                            _ => first_valid.unwrap_or(0),
                        }
                    };
                }
            }
        }
    }

    fn step_to_next(&mut self, steps: &[u16; BLOCKS - 1]) {
        let is_plain = |block: usize, step: u16| {
            step <= JUMP && self.blocks[block].0 + step < TURN
        };
        let mut last = 0;
        let all: [u16; BLOCKS] = std::array::from_fn(|block| {
            match steps.get(block).copied() {
                Some(step) if is_plain(block, step) => last = step,
                // ROS drops such a block because the step is unknown.
                Some(step) if last == 0 && step <= JUMP => return step,
                _ => {}
            }
            last
        });
        self.blocks.iter_mut().zip(all).for_each(|((_, by), all)| *by = all);
    }

    fn step_to_next_return(&mut self, azimuths: &[u16; BLOCKS]) {
        let blocks_ahead = if self.is_dual { 2 } else { 1 };
        for block in 0..BLOCKS - blocks_ahead {
            // The azimuth that was used for the previous block.
            let previous = if block == 0 { 0 } else { block - 1 + blocks_ahead };
            let (from, to) = (azimuths[previous], azimuths[block + blocks_ahead]);
            let step = angle_between(from, to);
            self.blocks[block] = (from, if step <= JUMP { step } else { 0 });
        }
    }

    /// Returns the single step that VeloView uses for all blocks of a packet.
    fn veloview_step(&self, mut steps: [u16; BLOCKS - 1]) -> u16 {
        if self.program == StepFormula::VeloViewHdl64e {
            return steps.into_iter().filter(|step| *step <= JUMP).max().unwrap_or(0);
        }
        steps.sort_unstable();
        let moved = steps[BLOCKS / 2];
        if moved > TURN / 2 { 0 } else { moved }
    }

    /// Returns the azimuth of the head at a firing, in hundredths of a degree.
    #[inline(always)]
    pub(crate) fn azimuth(&self, block: usize, channel: usize) -> u16 {
        let ((azimuth, step), part) = (self.blocks[block], self.parts[block][channel]);
        let angle = if self.program.is_ros() {
            // ROS computes with single precision.
            let step = f32::from(step) * part as f32 / self.whole_step as f32;
            f64::from(f32::from(azimuth) + step).round()
        } else {
            // VTK rounds like this, which differs just below a half.
            f64::from(azimuth) + (f64::from(step) * part + 0.5).floor()
        };
        (angle as u32 % u32::from(TURN)) as u16
    }
}

/// Returns the microseconds between the first firing of a block of a VLP-16 and that of a
/// laser.
fn ros_vlp16_micros(channel: usize) -> f32 {
    let (firing, laser) = (channel / 16, channel % 16);
    laser as f32 * 2.304 + firing as f32 * 55.296
}

/// Returns the fraction of a firing sequence of a VLS-128 after which a laser fires.
fn ros_vls128_part(bank: usize, channel: usize) -> f32 {
    let group = (bank * CHANNELS + channel) / 8;
    2.665_f32 / 53.3 * (group + group / 8) as f32
}

/// Returns the fraction of the step to the next firings after which a laser fires. The
/// order of the additions is that of VeloView, because halves are rounded.
fn veloview_part(
    program: StepFormula,
    sensor: Sensor,
    block: usize,
    channel: usize,
) -> f64 {
    let is_dual = sensor.returns == ReturnMode::Dual;
    let at = |block, channel| match program {
        StepFormula::VeloViewHdl64e => hdl64e_micros(is_dual, block, channel),
        StepFormula::VeloViewVls128 => vls128_micros(is_dual, block, channel),
        _ => micros(sensor.model, is_dual, block, channel),
    };
    let step = blocks_a_firing(sensor.model, is_dual);
    // VeloView starts a firing sequence every fourth block even in dual return mode.
    let start =
        if program == StepFormula::VeloViewVls128 { VLS128_BLOCKS } else { step };
    let head = block / start * start;
    let (azimuth, next) = (at(head, 0), at(head + step, 0));
    (at(block, channel) - azimuth) / (next - azimuth)
}

/// Returns the time of a firing of an HDL-64E relative to the time of the packet, in
/// microseconds. The result is negative.
fn hdl64e_micros(is_dual: bool, block: usize, channel: usize) -> f64 {
    let (blocks, period, offsets) = if is_dual {
        (4, 57.6, [3.5, 4.7, 5.9, 7.2])
    } else {
        (2, 48.0, [2.34, 3.54, 4.74, 6.0])
    };
    let blocks_left = (BLOCKS as i32 - 1 - block as i32).div_euclid(blocks);
    let left = CHANNELS - 1 - channel;
    let groups = (left / 4) as f64 * offsets[3];
    -(f64::from(blocks_left) * period + offsets[left % 4] + groups)
}

/// Returns the microseconds between the first firing of a packet of a VLS-128 and that of
/// a laser. VeloView counts four blocks for the four banks even where each bank has two
/// blocks.
fn vls128_micros(is_dual: bool, block: usize, channel: usize) -> f64 {
    let laser = channel + CHANNELS * (block % VLS128_BLOCKS);
    let blocks = if is_dual { 2 * VLS128_BLOCKS } else { VLS128_BLOCKS };
    let cycles = laser / 8 + laser / 64 * 2;
    VLS128_CYCLE * 20.0 * (block / blocks) as f64 + cycles as f64 * VLS128_CYCLE
}
