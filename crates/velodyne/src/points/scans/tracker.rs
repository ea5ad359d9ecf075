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
        rotation::packet_rotation::{MAX_RATE, PacketRotation, RotationMeter},
    },
};

/// A gap of this duration ends a scan if the rotation rate is unknown. The slowest head
/// makes five rotations per second.
const LONG_GAP_NANOS: i64 = 200_000_000;

/// The maximum backward step of the head due to inexact azimuths: 2 degrees.
const MAX_BACKWARD_STEP: u16 = 200;

/// The maximum number of packets between a late packet and the one that it should follow,
/// including both.
const SWAPPED_PACKETS: i64 = 4;

/// The maximum azimuth of the first block of a complete scan after the scan start,
/// whatever the step between firings: 1 degree.
const MAX_FIRST_AZIMUTH: u16 = 100;

/// The maximum angle before the scan start of a block with firings after the scan start:
/// 2 degrees. At twenty rotations per second the head turns by 0.8 degrees during the
/// longest block.
pub(crate) const NEAR_SCAN_START: u16 = 200;

/// Tracks the rotation of the head from packet to packet.
#[derive(Clone, Debug)]
pub struct ScanTracker {
    layout: BlockLayout,
    timing: Timing,
    /// The sensor, and the sensor with the return mode of the last packet.
    sensor_of_log: Sensor,
    pub(crate) sensor: Sensor,
    pub(crate) options: PointOptions,
    /// The azimuth after the scan start and the time of the previous block.
    pub(crate) last: Option<(u16, i64)>,
    /// The first azimuth and the time of the previous packet.
    packet: Option<(u16, i64)>,
    /// The rotation rate, in hundredths of a degree per nanosecond.
    pub(crate) rate: f64,
    pub(crate) scans: u32,
    /// The maximum azimuth after the scan start in the last scan of the previous packet.
    furthest: u16,
    /// The rate over the last whole rotation, if the lidar blanks a sector.
    pub(crate) rotation_rate: f64,
    meter: RotationMeter,
    /// The additional delays of the blocks of the last packet, due to blanked sectors
    /// before them.
    delays: [i64; BLOCKS],
}

/// The time of a packet on the clock of the log, and on the lidar's own clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketTimestamps {
    pub(crate) nanos: i64,
    pub(crate) micros: u32,
}

/// The blocks of a packet that start a scan, and whether it starts at the scan start
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
            last: None,
            packet: None,
            rate: 0.0,
            scans: 0,
            furthest: 0,
            rotation_rate: options.blanked.map_or(0.0, |sector| sector.rate()),
            meter: RotationMeter::default(),
            delays: [0; BLOCKS],
        }
    }

    /// Returns whether firings of the last packet may belong to the next scan.
    pub(crate) fn reaches_scan_end(&self) -> bool {
        TURN - self.furthest <= NEAR_SCAN_START
    }

    /// Sets the sensor of the next packet.
    pub(crate) fn set_sensor(&mut self, sensor: Sensor) {
        if self.sensor != sensor {
            self.layout = BlockLayout::new(sensor);
            self.timing = Timing::new(sensor);
            self.sensor = sensor;
        }
    }

    /// Returns the time of the first firing of `block` after the time of the last packet.
    /// For the block after the last one, returns the end of all firings.
    pub(crate) fn firing_times(&self, block: u8) -> i64 {
        let Timing { firing_times, end, .. } = &self.timing;
        let delay = self.delays.get(usize::from(block)).or(self.delays.last());
        firing_times.get(usize::from(block)).unwrap_or(end)
            + delay.copied().unwrap_or(0)
    }

    /// Returns the number of scans that started.
    pub fn scans(&self) -> u32 {
        self.scans
    }

    /// Processes the next packet. Returns its blocks that start a scan, and whether it
    /// starts at the scan start azimuth. There are more than two only if the field of
    /// view is very narrow.
    pub fn follow(
        &mut self,
        packet: &PacketHeaders,
        time: Timestamp,
    ) -> [Option<(u8, bool)>; BLOCKS] {
        self.set_sensor(self.options.sensor(self.sensor_of_log, packet));
        match self.layout.parse(packet) {
            Some((_, azimuths)) => {
                self.timing.follow(&azimuths);
                let azimuth_nanos = self.timing.azimuth_nanos;
                let (nanos, micros) = (time.as_nanos(), packet.tail.micros);
                self.process(
                    &azimuths,
                    &azimuth_nanos,
                    PacketTimestamps { nanos, micros },
                )
            }
            None => [None; BLOCKS],
        }
    }

    pub(crate) fn process(
        &mut self,
        azimuths: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        stamps: PacketTimestamps,
    ) -> ScanStarts {
        let nanos = stamps.nanos;
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
            Some(_) => self.measure_rotation(azimuths, azimuth_nanos, rotation, stamps),
            None => *azimuth_nanos,
        };
        let after_start =
            azimuths.map(|azimuth| angle_between(self.options.scan_start, azimuth));
        let begins = if self.process_at_once(&after_start, azimuth_nanos, nanos) {
            [None; BLOCKS]
        } else {
            self.process_blocks(&after_start, azimuth_nanos, nanos)
        };
        let last = begins.iter().flatten().last().map_or(0, |(block, _)| *block);
        let azimuths_of_last_scan = after_start.iter().skip(usize::from(last));
        self.furthest = azimuths_of_last_scan.copied().max().unwrap_or(0);
        begins
    }

    /// Measures the rotation rate. Returns the times of the azimuths of all blocks after
    /// the time of the record, if the packet may cross a blanked sector.
    fn measure_rotation(
        &mut self,
        azimuths: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        rotation: Option<PacketRotation>,
        stamps: PacketTimestamps,
    ) -> [f64; BLOCKS] {
        let model = self.sensor.model;
        let is_record_at_end =
            self.options.blanked.is_some_and(|sector| sector.is_stamped_at_end);
        let (nanos, is_at_end) = if model.has_timestamps() {
            (
                i64::from(stamps.micros) * 1_000,
                model.timestamp_reference() == TimestampReference::End,
            )
        } else {
            (stamps.nanos, is_record_at_end)
        };
        let measured = self.meter.add(azimuths, nanos, is_at_end, self.rate);
        self.rotation_rate = measured.unwrap_or(self.rotation_rate);
        self.delays = [0; BLOCKS];
        let Some(mut rotation) = rotation else { return *azimuth_nanos };
        let mut point_rotation = rotation;
        if self.options.is_timed_at_end(model) {
            point_rotation.end_in_time();
        }
        self.delays = point_rotation.delays.map(|delay| delay.round() as i64);
        if is_record_at_end {
            rotation.end_in_time();
        }
        std::array::from_fn(|block| azimuth_nanos[block] + rotation.delays[block])
    }

    /// Processes a packet block by block.
    fn process_blocks(
        &mut self,
        after_start: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        nanos: i64,
    ) -> ScanStarts {
        let mut begins = [None; BLOCKS];
        let mut free = begins.iter_mut();
        let max_first_azimuth = first_step(after_start).min(MAX_FIRST_AZIMUTH);
        for (block, (after_start, head)) in
            (0_u8..).zip(after_start.iter().zip(azimuth_nanos))
        {
            let block_nanos = nanos.saturating_add(*head as i64);
            if let Some(is_at_scan_start) =
                self.process_block(*after_start, block_nanos, max_first_azimuth)
                && let Some(begin_slot) = free.next()
            {
                *begin_slot = Some((block, is_at_scan_start));
                self.scans += 1;
            }
        }
        begins
    }

    /// Processes a packet in one step, which is possible for nearly all packets: its
    /// blocks are in order and after the previous block, and none is too late to belong
    /// to the current scan. Returns false if that is not possible.
    fn process_at_once(
        &mut self,
        after_start: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        nanos: i64,
    ) -> bool {
        let Some((before, then)) = self.last else { return false };
        let [first, .., last] = *after_start;
        let is_sorted = after_start.is_sorted();
        let time_at = |head: f64| nanos.saturating_add(head as i64);
        let (mut earliest, mut latest) = (azimuth_nanos[0], azimuth_nanos[0]);
        for head in azimuth_nanos {
            earliest = if *head < earliest { *head } else { earliest };
            latest = if *head > latest { *head } else { latest };
        }
        let longest_step = time_at(latest).saturating_sub(then.min(time_at(earliest)));
        let is_same_scan = is_sorted && before <= first && last - before <= TURN / 2;
        if is_same_scan && !self.is_lost(longest_step) {
            self.last = Some((last, time_at(azimuth_nanos[BLOCKS - 1])));
            return true;
        }
        false
    }

    /// Returns whether the head may have turned by half a rotation in a gap of this many
    /// nanoseconds, or whether that is unknown.
    fn is_lost(&self, gap: i64) -> bool {
        self.rotation_angle(gap) > f64::from(TURN / 2) || gap > LONG_GAP_NANOS
    }

    /// Returns the maximum backward step of a block within the same rotation. Azimuths
    /// are inexact, and packets may be out of order around the scan start.
    fn backward_limit(&self) -> u16 {
        let turn =
            self.rotation_angle(SWAPPED_PACKETS * self.sensor.packet_nanos() as i64);
        MAX_BACKWARD_STEP.max(turn.min(f64::from(TURN / 4)) as u16)
    }

    /// Returns the angle by which the head turns in this many nanoseconds, or 0 if the
    /// rate is unknown.
    fn rotation_angle(&self, gap: i64) -> f64 {
        if self.rate > 0.0 { self.rate * gap as f64 } else { 0.0 }
    }

    /// Returns `Some` if a scan starts with the block at this angle after the scan start.
    /// The value states whether it starts at the scan start azimuth. For the first block
    /// of all, this is the case if the block before it would have been before the scan
    /// start, with a step of `max_first_azimuth`.
    fn process_block(
        &mut self,
        after_start: u16,
        block_nanos: i64,
        max_first_azimuth: u16,
    ) -> Option<bool> {
        let Some((before, then)) = self.last.replace((after_start, block_nanos)) else {
            return Some(after_start < max_first_azimuth);
        };
        let gap = block_nanos.saturating_sub(then);
        if self.crosses_sector(before, after_start, gap) {
            return (after_start < before).then_some(true);
        }
        if self.is_lost(gap) {
            let is_next =
                f64::from(before) + self.rotation_angle(gap) >= f64::from(TURN);
            return (is_next || after_start < before).then_some(false);
        }
        if after_start > before && after_start - before > TURN / 2 {
            if before + (TURN - after_start) > self.backward_limit() {
                // The backward step exceeds the limit: these packets are from another
                // rotation.
                return Some(false);
            }
            // The previous block stays the reference, and no scan starts.
            self.last = Some((before, block_nanos));
            return None;
        }
        (before > after_start && before - after_start > TURN / 2).then_some(true)
    }

    /// Returns whether the head passed the blanked sector, but not a whole rotation,
    /// between two azimuths after the scan start. `gap` is the time between them in
    /// nanoseconds.
    fn crosses_sector(&self, before: u16, after_start: u16, gap: i64) -> bool {
        let Some(sector) = self.options.blanked else { return false };
        let before_start = angle_between(self.options.scan_start, 0);
        let azimuth = |after_start| angle_between(before_start, after_start);
        if !sector.is_crossed(azimuth(before), azimuth(after_start)) {
            return false;
        }
        let step = f64::from(angle_between(before, after_start));
        // A shorter time means that packets were swapped, a longer one that rotations are
        // lost.
        let elapsed = self.rotation_angle(gap);
        self.rate == 0.0
            || (elapsed > step / 2.0 && elapsed < step + f64::from(TURN / 2))
    }

    /// Updates the rotation rate: from one packet to the next if no packet is lost
    /// between them, otherwise within one packet.
    fn update_rate(
        &mut self,
        azimuths: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        without_jumps: Option<f64>,
        nanos: i64,
    ) {
        let [first, .., last] = *azimuths;
        let before = self.packet.replace((first, nanos));
        let duration = azimuth_nanos[BLOCKS - 1] - azimuth_nanos[0];
        let period = self.sensor.packet_nanos();
        let measured = if let Some(rate) = without_jumps {
            rate
        } else if duration > 0.0 {
            f64::from(angle_between(first, last)) / duration
        } else if let Some((before, then)) = before
            && (nanos.saturating_sub(then) as f64) < period * 1.5
        {
            f64::from(angle_between(before, first)) / period
        } else {
            return;
        };
        if measured > MAX_RATE {
            return;
        }
        let is_new = self.rate == 0.0;
        self.rate =
            if is_new { measured } else { self.rate + (measured - self.rate) / 8.0 };
    }
}

/// Returns the first non-zero step between azimuths of a packet.
fn first_step(azimuths: &[u16; BLOCKS]) -> u16 {
    let steps = azimuths.windows(2).map(|pair| match *pair {
        [from, next] => angle_between(from, next),
        _ => 0,
    });
    steps.into_iter().find(|step| *step > 0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::model::ReturnMode;

    /// Returns a pseudo-random number below `below`.
    fn any(state: &mut u64, below: u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % below
    }

    #[test]
    fn processing_a_packet_at_once_equals_processing_its_blocks() {
        let state = &mut 7;
        let (mut at_once, mut all) = (0, 0);
        for round in 0..200 {
            let models =
                [Model::Hdl64eS2, Model::Hdl64eS1, Model::Vlp16, Model::Hdl32e];
            let returns = [ReturnMode::Strongest, ReturnMode::Dual][round % 2];
            let sensor = Sensor { model: models[round / 2 % 4], returns };
            let cut = any(state, 36_000) as u16;
            let options = PointOptions { scan_start: cut, ..PointOptions::default() };
            let mut tracker = ScanTracker::new(sensor, options);
            let (mut azimuth, mut nanos) = (any(state, 36_000), 0);
            for _ in 0..400 {
                // Some packets are lost, late, or from another rotation.
                match any(state, 40) {
                    0 => azimuth += any(state, 36_000),
                    1 => nanos += any(state, 300_000_000) as i64,
                    2 => nanos -= any(state, 1_000_000) as i64,
                    3 => azimuth += 36_000 - any(state, 300),
                    _ => {}
                }
                let step = 5 + any(state, 20);
                let azimuths: [u16; BLOCKS] = std::array::from_fn(|block| {
                    let block =
                        if returns == ReturnMode::Dual { block / 2 } else { block };
                    ((azimuth + block as u64 * step) % 36_000) as u16
                });
                azimuth += BLOCKS as u64 * step;
                nanos += sensor.packet_nanos() as i64;
                tracker.timing.follow(&azimuths);
                let azimuth_nanos = tracker.timing.azimuth_nanos;
                let mut slow = tracker.clone();
                let passed = tracker.process(
                    &azimuths,
                    &azimuth_nanos,
                    PacketTimestamps { nanos, micros: 0 },
                );
                let rotation =
                    PacketRotation::measure(&azimuths, &azimuth_nanos, None, 0.0);
                slow.update_rate(
                    &azimuths,
                    &azimuth_nanos,
                    rotation.map(|rotation| rotation.rate),
                    nanos,
                );
                let after_start = azimuths.map(|azimuth| angle_between(cut, azimuth));
                at_once += u32::from(slow.clone().process_at_once(
                    &after_start,
                    &azimuth_nanos,
                    nanos,
                ));
                all += 1;
                assert_eq!(
                    passed,
                    slow.process_blocks(&after_start, &azimuth_nanos, nanos)
                );
                assert_eq!((tracker.last, tracker.scans), (slow.last, slow.scans));
            }
        }
        assert!(at_once > all / 2, "{at_once} of {all}");
    }
}
