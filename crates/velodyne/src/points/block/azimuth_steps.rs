//! Computes the azimuths of the firings of a block in the same way as ROS and VeloView.
//!
//! Both programs add a fraction of an azimuth step to the azimuth of a block, and round the
//! sum to hundredths of a degree. They determine the step differently:
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
            timing::{angle_between, blocks_per_azimuth, firing_micros},
        },
        options::Formula,
        rotation::packet_rotation::steps,
    },
};

/// A longer step, in hundredths of a degree, crosses a blanked sector. Neither program
/// handles such sectors: points would be rotated. Another step is used instead.
const MAX_STEP: u16 = 500;

/// The number of blocks in a firing sequence of a VLS-128.
const VLS128_BLOCKS: usize = 4;

/// The duration of one of the 20 cycles in a firing sequence of a VLS-128, in microseconds.
const VLS128_CYCLE_MICROS: f64 = 2.665;

/// The steps of the azimuth in a packet, as computed by one of the programs.
#[derive(Clone, Debug)]
pub(crate) struct AzimuthSteps {
    step_formula: StepFormula,
    is_dual: bool,
    /// The delay of each firing after the azimuth of its block. A delay of `whole_step`
    /// corresponds to one step.
    delays: [[f64; CHANNELS]; BLOCKS],
    /// The delay of a firing that is one step after the azimuth of its block.
    whole_step: f64,
    /// The azimuth and the step of each block, in hundredths of a degree.
    blocks: [(u16, u16); BLOCKS],
    /// The first azimuth of the previous packet.
    previous_azimuth: Option<u16>,
}

/// The program and the models for which steps are computed.
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
    /// use steps.
    pub(crate) fn new(sensor: Sensor, formula: Formula) -> Option<Self> {
        let model = sensor.model;
        let is_dual = sensor.returns == ReturnMode::Dual;
        let step_formula = match formula {
            Formula::VeloView if model.is_hdl64e() => StepFormula::VeloViewHdl64e,
            Formula::VeloView if model.is_vls128() => StepFormula::VeloViewVls128,
            Formula::VeloView => StepFormula::VeloView,
            Formula::Ros if model.is_vls128() => StepFormula::RosVls128,
            Formula::Ros if model.lasers() == 16 => StepFormula::RosVlp16,
            _ => return None,
        };
        let (mut delays, mut whole_step) = ([[0.0; CHANNELS]; BLOCKS], 1.0);
        for (block, row) in delays.iter_mut().enumerate() {
            for (channel, delay) in row.iter_mut().enumerate() {
                *delay = match step_formula {
                    StepFormula::RosVlp16 => f64::from(ros_vlp16_micros(channel)),
                    StepFormula::RosVls128 => {
                        let bank = if is_dual { block / 2 } else { block };
                        f64::from(ros_vls128_fraction(bank % VLS128_BLOCKS, channel))
                    }
                    _ => veloview_fraction(step_formula, sensor, block, channel),
                };
            }
        }
        if step_formula == StepFormula::RosVlp16 {
            whole_step = f64::from(110.592_f32);
        }
        let blocks = [(0, 0); BLOCKS];
        let previous_azimuth = None;
        Some(Self {
            step_formula,
            is_dual,
            delays,
            whole_step,
            blocks,
            previous_azimuth,
        })
    }

    /// Computes the steps of the next packet from its azimuths.
    pub(crate) fn follow(&mut self, azimuths: &[u16; BLOCKS]) {
        let previous_azimuth = self.previous_azimuth.replace(azimuths[0]);
        let steps = steps(azimuths);
        self.blocks = azimuths.map(|azimuth| (azimuth, 0));
        match self.step_formula {
            StepFormula::RosVlp16 => self.set_steps_of_ros_vlp16(&steps),
            StepFormula::RosVls128 => self.set_steps_of_ros_vls128(azimuths),
            StepFormula::VeloView | StepFormula::VeloViewHdl64e => {
                let common_step = self.step_of_veloview(steps);
                self.blocks.iter_mut().for_each(|(_, step)| *step = common_step);
            }
            StepFormula::VeloViewVls128 if self.is_dual => {
                let common_step = previous_azimuth
                    .map(|previous| angle_between(previous, azimuths[0]))
                    .filter(|step| *step <= MAX_STEP)
                    .unwrap_or(0);
                self.blocks.iter_mut().for_each(|(_, step)| *step = common_step);
            }
            StepFormula::VeloViewVls128 => {
                let step_to_next_sequence = |block: usize| {
                    let block = block.min(BLOCKS - 1 - VLS128_BLOCKS);
                    angle_between(azimuths[block], azimuths[block + VLS128_BLOCKS])
                };
                let first_valid_step = (0..BLOCKS)
                    .map(step_to_next_sequence)
                    .find(|step| *step <= MAX_STEP)
                    .unwrap_or(0);
                for (block, (_, step)) in self.blocks.iter_mut().enumerate() {
                    *step = match step_to_next_sequence(block) {
                        valid_step if valid_step <= MAX_STEP => valid_step,
                        _ => first_valid_step,
                    };
                }
            }
        }
    }

    fn set_steps_of_ros_vlp16(&mut self, steps: &[u16; BLOCKS - 1]) {
        // The last step that crosses neither the front nor a blanked sector.
        let mut last_step = 0;
        for (block, (azimuth, block_step)) in self.blocks.iter_mut().enumerate() {
            *block_step = match steps.get(block).copied() {
                Some(step) if step <= MAX_STEP && *azimuth + step < TURN => {
                    last_step = step;
                    step
                }
                // ROS drops such a block because it does not know the step.
                Some(step) if step <= MAX_STEP && last_step == 0 => step,
                _ => last_step,
            };
        }
    }

    fn set_steps_of_ros_vls128(&mut self, azimuths: &[u16; BLOCKS]) {
        let blocks_ahead = if self.is_dual { 2 } else { 1 };
        for block in 0..BLOCKS - blocks_ahead {
            // ROS starts a block at the azimuth at which the previous block ended.
            let start = if block == 0 { 0 } else { block - 1 + blocks_ahead };
            let azimuth = azimuths[start];
            let step = angle_between(azimuth, azimuths[block + blocks_ahead]);
            self.blocks[block] = (azimuth, if step <= MAX_STEP { step } else { 0 });
        }
    }

    /// Returns the step that VeloView uses for all blocks of a packet.
    fn step_of_veloview(&self, mut steps: [u16; BLOCKS - 1]) -> u16 {
        if self.step_formula == StepFormula::VeloViewHdl64e {
            let valid_steps = steps.into_iter().filter(|step| *step <= MAX_STEP);
            return valid_steps.max().unwrap_or(0);
        }
        steps.sort_unstable();
        let median = steps[BLOCKS / 2];
        if median > TURN / 2 { 0 } else { median }
    }

    /// Returns the azimuth of the head at a firing, in hundredths of a degree.
    #[inline(always)]
    pub(crate) fn azimuth(&self, block: usize, channel: usize) -> u16 {
        let (azimuth, step) = self.blocks[block];
        let delay = self.delays[block][channel];
        let angle = if self.step_formula.is_ros() {
            // ROS computes with single precision.
            let fraction = f32::from(step) * delay as f32 / self.whole_step as f32;
            f64::from(f32::from(azimuth) + fraction).round()
        } else {
            // VTK rounds like this. `round` differs for values just below a half.
            f64::from(azimuth) + (f64::from(step) * delay + 0.5).floor()
        };
        (angle as u32 % u32::from(TURN)) as u16
    }
}

/// Returns the microseconds from the first firing of a block of a VLP-16 to that of a channel.
fn ros_vlp16_micros(channel: usize) -> f32 {
    let (firing, laser) = (channel / 16, channel % 16);
    laser as f32 * 2.304 + firing as f32 * 55.296
}

/// Returns the fraction of a firing sequence of a VLS-128 after which a laser fires.
fn ros_vls128_fraction(bank: usize, channel: usize) -> f32 {
    let group = (bank * CHANNELS + channel) / 8;
    2.665_f32 / 53.3 * (group + group / 8) as f32
}

/// Returns the fraction of the step to the next azimuth after which a laser fires. The
/// order of the additions is that of VeloView, because sums close to a half are rounded.
fn veloview_fraction(
    step_formula: StepFormula,
    sensor: Sensor,
    block: usize,
    channel: usize,
) -> f64 {
    let is_dual = sensor.returns == ReturnMode::Dual;
    let micros = |block, channel| match step_formula {
        StepFormula::VeloViewHdl64e => hdl64e_micros(is_dual, block, channel),
        StepFormula::VeloViewVls128 => vls128_micros(is_dual, block, channel),
        _ => firing_micros(sensor.model, is_dual, block, channel),
    };
    let blocks_to_next = blocks_per_azimuth(sensor.model, is_dual);
    // VeloView starts a firing sequence every fourth block even in dual return mode.
    let sequence_blocks = if step_formula == StepFormula::VeloViewVls128 {
        VLS128_BLOCKS
    } else {
        blocks_to_next
    };
    let first_block = block / sequence_blocks * sequence_blocks;
    let start = micros(first_block, 0);
    let end = micros(first_block + blocks_to_next, 0);
    (micros(block, channel) - start) / (end - start)
}

/// Returns the time of a firing of an HDL-64E relative to the time of the packet, in
/// microseconds. The result is negative.
fn hdl64e_micros(is_dual: bool, block: usize, channel: usize) -> f64 {
    let (blocks, period, offsets) = if is_dual {
        (4, 57.6, [3.5, 4.7, 5.9, 7.2])
    } else {
        (2, 48.0, [2.34, 3.54, 4.74, 6.0])
    };
    // It is negative for the block after the last one.
    let periods_left = (BLOCKS as i32 - 1 - block as i32).div_euclid(blocks);
    let channels_left = CHANNELS - 1 - channel;
    let groups_micros = (channels_left / 4) as f64 * offsets[3];
    -(f64::from(periods_left) * period + offsets[channels_left % 4] + groups_micros)
}

/// Returns the microseconds from the first firing of a packet of a VLS-128 to that of a
/// channel. VeloView counts four blocks for the four banks even where each bank has two
/// blocks.
fn vls128_micros(is_dual: bool, block: usize, channel: usize) -> f64 {
    let laser = channel + CHANNELS * (block % VLS128_BLOCKS);
    let blocks = if is_dual { 2 * VLS128_BLOCKS } else { VLS128_BLOCKS };
    let cycles = laser / 8 + laser / 64 * 2;
    VLS128_CYCLE_MICROS * 20.0 * (block / blocks) as f64
        + cycles as f64 * VLS128_CYCLE_MICROS
}
