//! Tracks the rotation of the head from packet to packet.

use logtool_core::Timestamp;

use crate::{
    model::{Anchor, Sensor},
    packet::{BLOCKS, Outline},
    points::{
        arrangement::Arrangement,
        options::PointOptions,
        pace::{FASTEST, Pace, RotationMeter},
        sin_cos_table::TURN,
        timing::{Timing, turned},
    },
};

/// A gap of this duration ends a scan if the rotation rate is unknown. The slowest head
/// makes five rotations per second.
const LONG_GAP_NANOS: i64 = 200_000_000;

/// The maximum backward step of the head due to inexact azimuths: 2 degrees.
const TREMBLE: u16 = 200;

/// The maximum number of packets between a late packet and the one that it should follow,
/// including both.
const SWAPPED_PACKETS: i64 = 4;

/// The maximum azimuth of the first block of a complete scan after the scan start,
/// whatever the step between firings: 1 degree.
const NEAR_CUT: u16 = 100;

/// The maximum angle before the scan start of a block with firings after the scan start:
/// 2 degrees. At twenty rotations per second the head turns by 0.8 degrees during the
/// longest block.
pub(super) const AT_CUT: u16 = 200;

/// Tracks the rotation of the head from packet to packet.
#[derive(Clone, Debug)]
pub struct ScanTracker {
    arrangement: Arrangement,
    timing: Timing,
    /// The sensor, and the sensor with the return mode of the last packet.
    usual: Sensor,
    pub(super) sensor: Sensor,
    pub(super) options: PointOptions,
    /// The azimuth after the scan start and the time of the previous block.
    pub(super) last: Option<(u16, i64)>,
    /// The first azimuth and the time of the previous packet.
    packet: Option<(u16, i64)>,
    /// The rotation rate, in hundredths of a degree per nanosecond.
    pub(super) rate: f64,
    pub(super) scans: u32,
    /// The maximum azimuth after the scan start in the last scan of the previous packet.
    furthest: u16,
    /// The rate over the last whole rotation, if the lidar blanks a sector.
    pub(super) rotation_rate: f64,
    meter: RotationMeter,
    /// The additional delays of the blocks of the last packet, due to blanked sectors
    /// before them.
    delays: [i64; BLOCKS],
}

/// The time of a packet on the clock of the log, and on the lidar's own clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps {
    pub(super) nanos: i64,
    pub(super) micros: u32,
}

/// The blocks of a packet that start a scan, and whether it starts at the scan start
/// azimuth.
pub(super) type Begun = [Option<(u8, bool)>; BLOCKS];

impl ScanTracker {
    /// Creates a tracker of packets of `sensor` for points with these options.
    pub fn new(sensor: Sensor, options: PointOptions) -> Self {
        Self {
            arrangement: Arrangement::of(sensor),
            timing: Timing::of(sensor),
            usual: sensor,
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
    pub(super) fn is_at_end(&self) -> bool {
        TURN - self.furthest <= AT_CUT
    }

    /// Sets the sensor of the next packet.
    pub(super) fn meet(&mut self, sensor: Sensor) {
        if self.sensor != sensor {
            self.arrangement = Arrangement::of(sensor);
            self.timing = Timing::of(sensor);
            self.sensor = sensor;
        }
    }

    /// Returns the time of the first firing of `block` after the time of the last packet.
    /// For the block after the last one, returns the end of all firings.
    pub(super) fn fires(&self, block: u8) -> i64 {
        let Timing { fires, over, .. } = &self.timing;
        let delay = self.delays.get(usize::from(block)).or(self.delays.last());
        fires.get(usize::from(block)).unwrap_or(over) + delay.copied().unwrap_or(0)
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
        packet: &Outline,
        time: Timestamp,
    ) -> [Option<(u8, bool)>; BLOCKS] {
        self.meet(self.options.sensor(self.usual, packet));
        match self.arrangement.look(packet) {
            Some((_, azimuths)) => {
                self.timing.follow(&azimuths);
                let heads = self.timing.heads;
                let (nanos, micros) = (time.as_nanos(), packet.tail.micros);
                self.pass(&azimuths, &heads, Stamps { nanos, micros })
            }
            None => [None; BLOCKS],
        }
    }

    pub(super) fn pass(
        &mut self,
        azimuths: &[u16; BLOCKS],
        heads: &[f64; BLOCKS],
        stamps: Stamps,
    ) -> Begun {
        let nanos = stamps.nanos;
        let pace = Pace::of(azimuths, heads, self.options.blanked, self.rotation_rate);
        self.turn(azimuths, heads, pace.map(|pace| pace.rate), nanos);
        let heads = &match self.options.blanked {
            Some(_) => self.spread(azimuths, heads, pace, stamps),
            None => *heads,
        };
        let after_cut = azimuths.map(|azimuth| turned(self.options.cut, azimuth));
        let begins = match self.turn_on(&after_cut, heads, nanos) {
            true => [None; BLOCKS],
            false => self.steps(&after_cut, heads, nanos),
        };
        let last = begins.iter().flatten().last().map_or(0, |(block, _)| *block);
        let of_last = after_cut.iter().skip(usize::from(last));
        self.furthest = of_last.copied().max().unwrap_or(0);
        begins
    }

    /// Measures the rotation rate. Returns the times of the azimuths of all blocks after
    /// the time of the record, if the packet may cross a blanked sector.
    fn spread(
        &mut self,
        azimuths: &[u16; BLOCKS],
        heads: &[f64; BLOCKS],
        pace: Option<Pace>,
        stamps: Stamps,
    ) -> [f64; BLOCKS] {
        let model = self.sensor.model;
        let is_record_at_end =
            self.options.blanked.is_some_and(|sector| sector.is_stamped_at_end);
        let (nanos, is_at_end) = match model.tells_time() {
            true => (i64::from(stamps.micros) * 1_000, model.anchor() == Anchor::End),
            false => (stamps.nanos, is_record_at_end),
        };
        let measured = self.meter.add(azimuths, nanos, is_at_end, self.rate);
        self.rotation_rate = measured.unwrap_or(self.rotation_rate);
        self.delays = [0; BLOCKS];
        let Some(mut pace) = pace else { return *heads };
        let mut of_points = pace;
        if self.options.is_timed_at_end(model) {
            of_points.end_in_time();
        }
        self.delays = of_points.delays.map(|delay| delay.round() as i64);
        if is_record_at_end {
            pace.end_in_time();
        }
        std::array::from_fn(|block| heads[block] + pace.delays[block])
    }

    /// Processes a packet block by block.
    fn steps(
        &mut self,
        after_cut: &[u16; BLOCKS],
        heads: &[f64; BLOCKS],
        nanos: i64,
    ) -> Begun {
        let mut begins = [None; BLOCKS];
        let mut begun = begins.iter_mut();
        let near = step(after_cut).min(NEAR_CUT);
        for (block, (after_cut, head)) in (0_u8..).zip(after_cut.iter().zip(heads)) {
            let now = nanos.saturating_add(*head as i64);
            if let Some(is_at_cut) = self.step(*after_cut, now, near)
                && let Some(place) = begun.next()
            {
                *place = Some((block, is_at_cut));
                self.scans += 1;
            }
        }
        begins
    }

    /// Processes a packet in one step, which is possible for nearly all packets: its
    /// blocks are in order and after the previous block, and none is too late to belong
    /// to the current scan. Returns false if that is not possible.
    fn turn_on(
        &mut self,
        after_cut: &[u16; BLOCKS],
        heads: &[f64; BLOCKS],
        nanos: i64,
    ) -> bool {
        let Some((before, then)) = self.last else { return false };
        let [first, .., last] = *after_cut;
        let goes_on = after_cut.is_sorted();
        let at = |head: f64| nanos.saturating_add(head as i64);
        let (mut earliest, mut latest) = (heads[0], heads[0]);
        for head in heads {
            earliest = if *head < earliest { *head } else { earliest };
            latest = if *head > latest { *head } else { latest };
        }
        let longest = at(latest).saturating_sub(then.min(at(earliest)));
        let is_on = goes_on && before <= first && last - before <= TURN / 2;
        if is_on && !self.is_lost(longest) {
            self.last = Some((last, at(heads[BLOCKS - 1])));
            return true;
        }
        false
    }

    /// Returns whether the head may have turned by half a rotation in a gap of this many
    /// nanoseconds, or whether that is unknown.
    fn is_lost(&self, gap: i64) -> bool {
        self.turned(gap) > f64::from(TURN / 2) || gap > LONG_GAP_NANOS
    }

    /// Returns the maximum backward step of a block within the same rotation. Azimuths
    /// are inexact, and packets may be out of order around the scan start.
    fn backward_limit(&self) -> u16 {
        let turn = self.turned(SWAPPED_PACKETS * self.sensor.packet_nanos() as i64);
        TREMBLE.max(turn.min(f64::from(TURN / 4)) as u16)
    }

    /// Returns the angle by which the head turns in this many nanoseconds, or 0 if the
    /// rate is unknown.
    fn turned(&self, gap: i64) -> f64 {
        if self.rate > 0.0 { self.rate * gap as f64 } else { 0.0 }
    }

    /// Returns `Some` if a scan starts with the block at this angle after the scan start.
    /// The value states whether it starts at the scan start azimuth. For the first block
    /// of all, this is the case if the block before it would have been before the scan
    /// start, with a step of `near`.
    fn step(&mut self, after_cut: u16, now: i64, near: u16) -> Option<bool> {
        let Some((before, then)) = self.last.replace((after_cut, now)) else {
            return Some(after_cut < near);
        };
        let gap = now.saturating_sub(then);
        if self.crosses_sector(before, after_cut, gap) {
            return (after_cut < before).then_some(true);
        }
        if self.is_lost(gap) {
            let is_next = f64::from(before) + self.turned(gap) >= f64::from(TURN);
            return (is_next || after_cut < before).then_some(false);
        }
        if after_cut > before && after_cut - before > TURN / 2 {
            if before + (TURN - after_cut) > self.backward_limit() {
                // The backward step exceeds the limit: these packets are from another
                // rotation.
                return Some(false);
            }
            // The previous block stays the reference, and no scan starts.
            self.last = Some((before, now));
            return None;
        }
        (before > after_cut && before - after_cut > TURN / 2).then_some(true)
    }

    /// Returns whether the head passed the blanked sector, but not a whole rotation,
    /// between two azimuths after the scan start. `gap` is the time between them in
    /// nanoseconds.
    fn crosses_sector(&self, before: u16, after_cut: u16, gap: i64) -> bool {
        let Some(sector) = self.options.blanked else { return false };
        let before_cut = turned(self.options.cut, 0);
        let azimuth = |after_cut| turned(before_cut, after_cut);
        if !sector.is_crossed(azimuth(before), azimuth(after_cut)) {
            return false;
        }
        let step = f64::from(turned(before, after_cut));
        // A shorter time means that packets were swapped, a longer one that rotations are
        // lost.
        let elapsed = self.turned(gap);
        self.rate == 0.0
            || (elapsed > step / 2.0 && elapsed < step + f64::from(TURN / 2))
    }

    /// Updates the rotation rate: from one packet to the next if no packet is lost
    /// between them, otherwise within one packet.
    fn turn(
        &mut self,
        azimuths: &[u16; BLOCKS],
        heads: &[f64; BLOCKS],
        without_jumps: Option<f64>,
        nanos: i64,
    ) {
        let [first, .., last] = *azimuths;
        let before = self.packet.replace((first, nanos));
        let took = heads[BLOCKS - 1] - heads[0];
        let period = self.sensor.packet_nanos();
        let measured = if let Some(rate) = without_jumps {
            rate
        } else if took > 0.0 {
            f64::from(turned(first, last)) / took
        } else if let Some((before, then)) = before
            && (nanos.saturating_sub(then) as f64) < period * 1.5
        {
            f64::from(turned(before, first)) / period
        } else {
            return;
        };
        if measured > FASTEST {
            return;
        }
        let is_new = self.rate == 0.0;
        self.rate =
            if is_new { measured } else { self.rate + (measured - self.rate) / 8.0 };
    }
}

/// Returns the first non-zero step between azimuths of a packet.
fn step(azimuths: &[u16; BLOCKS]) -> u16 {
    let steps = azimuths.windows(2).map(|pair| match *pair {
        [from, next] => turned(from, next),
        _ => 0,
    });
    steps.into_iter().find(|step| *step > 0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Model, ReturnMode};

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
            let options = PointOptions { cut, ..PointOptions::default() };
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
                let heads = tracker.timing.heads;
                let mut slow = tracker.clone();
                let passed =
                    tracker.pass(&azimuths, &heads, Stamps { nanos, micros: 0 });
                let pace = Pace::of(&azimuths, &heads, None, 0.0);
                slow.turn(&azimuths, &heads, pace.map(|pace| pace.rate), nanos);
                let after_cut = azimuths.map(|azimuth| turned(cut, azimuth));
                at_once += u32::from(slow.clone().turn_on(&after_cut, &heads, nanos));
                all += 1;
                assert_eq!(passed, slow.steps(&after_cut, &heads, nanos));
                assert_eq!((tracker.last, tracker.scans), (slow.last, slow.scans));
            }
        }
        assert!(at_once > all / 2, "{at_once} of {all}");
    }
}
