//! Tracks the rotation of the head from packet to packet.

use logtool_core::Timestamp;

use crate::{
    model::{Sensor, TimestampReference},
    packet::{BLOCKS, PacketHeaders},
    points::{
        firing::{
            block_layout::BlockLayout,
            sin_cos_table::TURN,
            timing::{Timing, angle_between},
        },
        options::PointOptions,
        rotation::packet_rotation::{MAX_RATE, PacketRotation, RotationMeter, steps},
    },
};

/// A longer gap ends a scan, whatever the rotation rate: the slowest head makes five
/// rotations per second.
const MAX_GAP_NANOS: i64 = 200_000_000;

/// The maximum backward step of the azimuth that is due to inexact azimuths, in hundredths
/// of a degree.
const MAX_BACKWARD_STEP: u16 = 200;

/// The maximum number of packets between a late packet and the one that it should follow,
/// including both.
const MAX_SWAPPED_PACKETS: i64 = 4;

/// The maximum angle from the scan start to the first block of a complete scan, in
/// hundredths of a degree. If the step between firings is smaller, it is the limit instead.
const MAX_FIRST_ANGLE: u16 = 100;

/// The maximum angle from a block to the scan start at which the block may have firings
/// after the scan start, in hundredths of a degree. At twenty rotations per second, the head
/// turns by 0.8 degrees during the longest block.
pub(crate) const NEAR_SCAN_START: u16 = 200;

/// Tracks the rotation of the head from packet to packet.
#[derive(Clone, Debug)]
pub struct ScanTracker {
    layout: BlockLayout,
    timing: Timing,
    sensor_of_log: Sensor,
    /// The sensor with the return mode of the last packet.
    pub(crate) sensor: Sensor,
    pub(crate) options: PointOptions,
    /// The angle of the previous block after the scan start, and its time.
    pub(crate) previous_block: Option<(u16, i64)>,
    /// The first azimuth and the time of the previous packet.
    previous_packet: Option<(u16, i64)>,
    /// The rotation rate, in hundredths of a degree per nanosecond.
    pub(crate) rate: f64,
    /// The number of scans that started.
    pub(crate) scans: u32,
    /// The maximum angle after the scan start in the last scan of the previous packet.
    max_angle: u16,
    /// The rate over the last whole rotation, if the lidar blanks a sector.
    pub(crate) rotation_rate: f64,
    rotation_meter: RotationMeter,
    /// The additional delays of the blocks of the last packet in nanoseconds, due to blanked
    /// sectors before them.
    delays: [i64; BLOCKS],
}

/// The times of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketTimestamps {
    /// The time of its record.
    pub(crate) nanos: i64,
    /// The microseconds past the hour that the packet states.
    pub(crate) micros: u32,
}

/// The blocks of a packet that start a scan, and whether that scan starts at the scan start
/// azimuth.
pub(crate) type ScanStarts = [Option<(u8, bool)>; BLOCKS];

impl ScanTracker {
    /// Creates a tracker of packets of `sensor` for points with these options.
    pub fn new(sensor: Sensor, options: PointOptions) -> Self {
        Self {
            layout: BlockLayout::new(sensor),
            timing: Timing::new(sensor),
            sensor_of_log: sensor,
            sensor,
            options,
            previous_block: None,
            previous_packet: None,
            rate: 0.0,
            scans: 0,
            max_angle: 0,
            rotation_rate: options.blanked.map_or(0.0, |sector| sector.rate()),
            rotation_meter: RotationMeter::default(),
            delays: [0; BLOCKS],
        }
    }

    /// Returns whether firings of the last packet may belong to the next scan.
    pub(crate) fn reaches_scan_end(&self) -> bool {
        TURN - self.max_angle <= NEAR_SCAN_START
    }

    /// Sets the sensor of the next packet.
    pub(crate) fn set_sensor(&mut self, sensor: Sensor) {
        if self.sensor != sensor {
            self.layout = BlockLayout::new(sensor);
            self.timing = Timing::new(sensor);
            self.sensor = sensor;
        }
    }

    /// Returns the nanoseconds from the time of the last packet to the first firing of
    /// `block`. For the block after the last one, returns those to the end of all firings.
    pub(crate) fn block_start(&self, block: u8) -> i64 {
        let Timing { block_starts, end, .. } = &self.timing;
        let start = block_starts.get(usize::from(block)).unwrap_or(end);
        let delay = self.delays.get(usize::from(block)).or(self.delays.last());
        start.saturating_add(delay.copied().unwrap_or(0))
    }

    /// Returns the number of scans that started.
    pub fn scans(&self) -> u32 {
        self.scans
    }

    /// Processes the next packet. Returns its blocks that start a scan, and whether that
    /// scan starts at the scan start azimuth. There are more than two only if the field of
    /// view is very narrow.
    pub fn follow(
        &mut self,
        packet: &PacketHeaders,
        time: Timestamp,
    ) -> [Option<(u8, bool)>; BLOCKS] {
        self.set_sensor(self.options.sensor_for(self.sensor_of_log, packet));
        let Some((_, azimuths)) = self.layout.parse(packet) else {
            return [None; BLOCKS];
        };
        self.timing.follow(&azimuths);
        let azimuth_nanos = self.timing.azimuth_nanos;
        let (nanos, micros) = (time.as_nanos(), packet.tail.micros);
        self.process(&azimuths, &azimuth_nanos, PacketTimestamps { nanos, micros })
    }

    /// Processes a packet with these azimuths, like [`follow`](Self::follow). `azimuth_nanos`
    /// are the times of the azimuths without delays.
    pub(crate) fn process(
        &mut self,
        azimuths: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        timestamps: PacketTimestamps,
    ) -> ScanStarts {
        let nanos = timestamps.nanos;
        let rotation = PacketRotation::measure(
            azimuths,
            azimuth_nanos,
            self.options.blanked,
            self.rotation_rate,
        );
        self.update_rate(
            azimuths,
            azimuth_nanos,
            rotation.map(|rotation| rotation.rate),
            nanos,
        );
        let azimuth_nanos = &match self.options.blanked {
            Some(_) => {
                self.measure_rotation(azimuths, azimuth_nanos, rotation, timestamps)
            }
            None => *azimuth_nanos,
        };
        let angles =
            azimuths.map(|azimuth| angle_between(self.options.scan_start, azimuth));
        let starts = if self.process_at_once(&angles, azimuth_nanos, nanos) {
            [None; BLOCKS]
        } else {
            self.process_blocks(&angles, azimuth_nanos, nanos)
        };
        let last_start = starts.iter().flatten().last().map_or(0, |(block, _)| *block);
        let angles_of_last_scan = angles.iter().skip(usize::from(last_start));
        self.max_angle = angles_of_last_scan.copied().max().unwrap_or(0);
        starts
    }

    /// Measures the rotation rate of a lidar that blanks a sector, and updates the delays.
    /// Returns the times of the azimuths with the delays, relative to the time of the record.
    fn measure_rotation(
        &mut self,
        azimuths: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        rotation: Option<PacketRotation>,
        timestamps: PacketTimestamps,
    ) -> [f64; BLOCKS] {
        let model = self.sensor.model;
        let is_record_at_end =
            self.options.blanked.is_some_and(|sector| sector.is_stamped_at_end);
        let (nanos, is_at_end) = if model.has_timestamps() {
            (
                i64::from(timestamps.micros) * 1_000,
                model.timestamp_reference() == TimestampReference::End,
            )
        } else {
            (timestamps.nanos, is_record_at_end)
        };
        let measured_rate =
            self.rotation_meter.add(azimuths, nanos, is_at_end, self.rate);
        self.rotation_rate = measured_rate.unwrap_or(self.rotation_rate);
        self.delays = [0; BLOCKS];
        let Some(mut rotation_of_record) = rotation else { return *azimuth_nanos };
        // Points and records may have times from different clocks.
        let mut rotation_of_points = rotation_of_record;
        if self.options.is_timed_at_end(model) {
            rotation_of_points.anchor_at_last_block();
        }
        self.delays = rotation_of_points.delays.map(|delay| delay.round() as i64);
        if is_record_at_end {
            rotation_of_record.anchor_at_last_block();
        }
        std::array::from_fn(|block| {
            azimuth_nanos[block] + rotation_of_record.delays[block]
        })
    }

    /// Processes a packet block by block. `angles` are those of its blocks after the scan
    /// start.
    fn process_blocks(
        &mut self,
        angles: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        nanos: i64,
    ) -> ScanStarts {
        let mut starts = [None; BLOCKS];
        let mut free_slots = starts.iter_mut();
        let max_first_angle = first_step(angles).min(MAX_FIRST_ANGLE);
        for (block, (angle, azimuth_nanos)) in
            (0_u8..).zip(angles.iter().zip(azimuth_nanos))
        {
            let block_nanos = nanos.saturating_add(*azimuth_nanos as i64);
            if let Some(is_at_scan_start) =
                self.process_block(*angle, block_nanos, max_first_angle)
                && let Some(slot) = free_slots.next()
            {
                *slot = Some((block, is_at_scan_start));
                self.scans += 1;
            }
        }
        starts
    }

    /// Processes a packet in one step, which is possible for nearly all packets: its
    /// blocks are in order and after the previous block, and none is too late to belong
    /// to the current scan. Returns false if that is not possible.
    fn process_at_once(
        &mut self,
        angles: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        nanos: i64,
    ) -> bool {
        let Some((previous_angle, previous_nanos)) = self.previous_block else {
            return false;
        };
        let [first, .., last] = *angles;
        let is_sorted = angles.is_sorted();
        let time_of_block = |block_nanos: f64| nanos.saturating_add(block_nanos as i64);
        // Unlike `min` and `max`, each of these comparisons is one instruction.
        let (mut earliest, mut latest) = (azimuth_nanos[0], azimuth_nanos[0]);
        for block_nanos in azimuth_nanos {
            earliest = if *block_nanos < earliest { *block_nanos } else { earliest };
            latest = if *block_nanos > latest { *block_nanos } else { latest };
        }
        // No step between two blocks takes longer than this.
        let longest_gap = time_of_block(latest)
            .saturating_sub(previous_nanos.min(time_of_block(earliest)));
        let is_same_scan =
            is_sorted && previous_angle <= first && last - previous_angle <= TURN / 2;
        if is_same_scan && !self.is_long_gap(longest_gap) {
            let last_nanos = time_of_block(azimuth_nanos[BLOCKS - 1]);
            self.previous_block = Some((last, last_nanos));
            return true;
        }
        false
    }

    /// Returns whether the head may have turned by more than half a rotation in a gap of
    /// this many nanoseconds.
    fn is_long_gap(&self, gap_nanos: i64) -> bool {
        self.rotation_angle(gap_nanos) > f64::from(TURN / 2)
            || gap_nanos > MAX_GAP_NANOS
    }

    /// Returns the maximum backward step of a block within the same rotation. Azimuths
    /// are inexact, and packets may be out of order around the scan start.
    fn backward_limit(&self) -> u16 {
        let packet_nanos = self.sensor.packet_nanos() as i64;
        let turn = self.rotation_angle(MAX_SWAPPED_PACKETS * packet_nanos);
        MAX_BACKWARD_STEP.max(turn.min(f64::from(TURN / 4)) as u16)
    }

    /// Returns the angle by which the head turns in this many nanoseconds, or 0 if the
    /// rate is unknown.
    fn rotation_angle(&self, gap_nanos: i64) -> f64 {
        if self.rate > 0.0 { self.rate * gap_nanos as f64 } else { 0.0 }
    }

    /// Processes the block at this angle after the scan start. Returns `Some` if a scan
    /// starts with it. The value states whether the scan starts at the scan start azimuth.
    /// For the first block of all, this is the case if a block before it, with the usual
    /// step, would have been before the scan start: the angle is below `max_first_angle`.
    fn process_block(
        &mut self,
        angle: u16,
        block_nanos: i64,
        max_first_angle: u16,
    ) -> Option<bool> {
        let previous_block = self.previous_block.replace((angle, block_nanos));
        let Some((previous_angle, previous_nanos)) = previous_block else {
            return Some(angle < max_first_angle);
        };
        let gap = block_nanos.saturating_sub(previous_nanos);
        if self.crosses_sector(previous_angle, angle, gap) {
            return (angle < previous_angle).then_some(true);
        }
        if self.is_long_gap(gap) {
            let is_next_rotation =
                f64::from(previous_angle) + self.rotation_angle(gap) >= f64::from(TURN);
            return (is_next_rotation || angle < previous_angle).then_some(false);
        }
        if angle > previous_angle && angle - previous_angle > TURN / 2 {
            let backward_step = previous_angle + (TURN - angle);
            if backward_step > self.backward_limit() {
                // These packets are from another rotation.
                return Some(false);
            }
            // The previous block stays the reference, and no scan starts.
            self.previous_block = Some((previous_angle, block_nanos));
            return None;
        }
        (previous_angle > angle && previous_angle - angle > TURN / 2).then_some(true)
    }

    /// Returns whether the head passed the blanked sector, but not a whole rotation,
    /// between two angles after the scan start. `gap` is the time between them in
    /// nanoseconds.
    fn crosses_sector(&self, previous_angle: u16, angle: u16, gap: i64) -> bool {
        let Some(sector) = self.options.blanked else { return false };
        let angle_of_front = angle_between(self.options.scan_start, 0);
        let azimuth = |angle| angle_between(angle_of_front, angle);
        if !sector.is_crossed(azimuth(previous_angle), azimuth(angle)) {
            return false;
        }
        let step = f64::from(angle_between(previous_angle, angle));
        // A shorter time means that packets were swapped, a longer one that rotations are
        // lost.
        let expected_angle = self.rotation_angle(gap);
        self.rate == 0.0
            || (expected_angle > step / 2.0
                && expected_angle < step + f64::from(TURN / 2))
    }

    /// Updates the rotation rate with the rate within a packet. If a packet has only one
    /// azimuth, the rate is measured from the previous packet, unless packets are lost
    /// between them. `rate_without_jumps` is the rate within a packet with jumps.
    fn update_rate(
        &mut self,
        azimuths: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        rate_without_jumps: Option<f64>,
        nanos: i64,
    ) {
        let [first, .., last] = *azimuths;
        let previous_packet = self.previous_packet.replace((first, nanos));
        let duration = azimuth_nanos[BLOCKS - 1] - azimuth_nanos[0];
        let period = self.sensor.packet_nanos();
        let measured_rate = if let Some(rate) = rate_without_jumps {
            rate
        } else if duration > 0.0 {
            f64::from(angle_between(first, last)) / duration
        } else if let Some((previous_azimuth, previous_nanos)) = previous_packet
            && (nanos.saturating_sub(previous_nanos) as f64) < period * 1.5
        {
            f64::from(angle_between(previous_azimuth, first)) / period
        } else {
            return;
        };
        if measured_rate > MAX_RATE {
            return;
        }
        // A moving average, because the azimuths of one packet are inexact.
        self.rate = if self.rate == 0.0 {
            measured_rate
        } else {
            self.rate + (measured_rate - self.rate) / 8.0
        };
    }
}

/// Returns the first non-zero step between consecutive angles.
fn first_step(angles: &[u16; BLOCKS]) -> u16 {
    steps(angles).into_iter().find(|step| *step > 0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::model::ReturnMode;

    /// Returns a pseudo-random number below `limit`.
    fn random(state: &mut u64, limit: u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % limit
    }

    #[test]
    fn longest_delay_of_a_block_does_not_overflow() {
        let sensor = Sensor { model: Model::Vlp16, returns: ReturnMode::Strongest };
        let mut tracker = ScanTracker::new(sensor, PointOptions::default());
        tracker.delays = [i64::MAX; BLOCKS];
        assert_eq!(tracker.block_start(BLOCKS as u8), i64::MAX);
    }

    #[test]
    fn processing_a_packet_at_once_equals_processing_its_blocks() {
        let state = &mut 7;
        let (mut count_at_once, mut count) = (0, 0);
        for round in 0..200 {
            let models =
                [Model::Hdl64eS2, Model::Hdl64eS1, Model::Vlp16, Model::Hdl32e];
            let returns = [ReturnMode::Strongest, ReturnMode::Dual][round % 2];
            let sensor = Sensor { model: models[round / 2 % 4], returns };
            let scan_start = random(state, 36_000) as u16;
            let options = PointOptions { scan_start, ..PointOptions::default() };
            let mut tracker = ScanTracker::new(sensor, options);
            let (mut azimuth, mut nanos) = (random(state, 36_000), 0);
            for _ in 0..400 {
                // Some packets are lost, late, or from another rotation.
                match random(state, 40) {
                    0 => azimuth += random(state, 36_000),
                    1 => nanos += random(state, 300_000_000) as i64,
                    2 => nanos -= random(state, 1_000_000) as i64,
                    3 => azimuth += 36_000 - random(state, 300),
                    _ => {}
                }
                let step = 5 + random(state, 20);
                let azimuths: [u16; BLOCKS] = std::array::from_fn(|block| {
                    let block =
                        if returns == ReturnMode::Dual { block / 2 } else { block };
                    ((azimuth + block as u64 * step) % 36_000) as u16
                });
                azimuth += BLOCKS as u64 * step;
                nanos += sensor.packet_nanos() as i64;
                tracker.timing.follow(&azimuths);
                let azimuth_nanos = tracker.timing.azimuth_nanos;
                let mut by_block = tracker.clone();
                let starts = tracker.process(
                    &azimuths,
                    &azimuth_nanos,
                    PacketTimestamps { nanos, micros: 0 },
                );
                let rotation =
                    PacketRotation::measure(&azimuths, &azimuth_nanos, None, 0.0);
                by_block.update_rate(
                    &azimuths,
                    &azimuth_nanos,
                    rotation.map(|rotation| rotation.rate),
                    nanos,
                );
                let angles = azimuths.map(|azimuth| angle_between(scan_start, azimuth));
                count_at_once += u32::from(by_block.clone().process_at_once(
                    &angles,
                    &azimuth_nanos,
                    nanos,
                ));
                count += 1;
                assert_eq!(
                    starts,
                    by_block.process_blocks(&angles, &azimuth_nanos, nanos)
                );
                assert_eq!(tracker.previous_block, by_block.previous_block);
                assert_eq!(tracker.scans, by_block.scans);
            }
        }
        assert!(count_at_once > count / 2, "{count_at_once} of {count}");
    }
}
