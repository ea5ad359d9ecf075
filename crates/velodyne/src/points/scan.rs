//! Scans: turns of the head from one cut to the next.

use logtool_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    model::Sensor,
    packet::{BLOCKS, Firings},
    points::{
        arrangement::Arrangement,
        circle::TURN,
        timing::{Timing, turned},
    },
};

/// A gap as long as this ends a scan where nothing is known of how fast the head turns:
/// the slowest turns five times a second.
const LONG_GAP_NANOS: i64 = 200_000_000;

/// How far the head turns at most while a block is fired: a tenth of a degree, at over
/// twenty turns a second.
const BLOCK_TURN: u16 = 10;

/// How near to the cut a scan that is whole begins: 2 degrees.
const NEAR_CUT: u16 = 200;

/// Where a scan begins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScanStart {
    /// The [offset](logtool_core::Record::offset) of the record of its first packet.
    pub offset: u64,
    /// The time of that record, in nanoseconds of the log's clock.
    pub nanos: i64,
    /// The block of the packet that is its first.
    pub block: u8,
    /// Whether it begins at the cut: the head was seen passing it.
    pub is_at_cut: bool,
    /// How fast the head turns then, in hundredths of a degree a nanosecond.
    pub rate: f64,
}

/// Where the scans of a stream of packets begin, in its order.
///
/// With it, the points of every part of a log get the same scan numbers as if the log
/// was read from its beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScanIndex {
    /// A scan's number is its index here.
    pub starts: Vec<ScanStart>,
    /// Whether the last block may have firings behind the cut, and so in one scan more.
    #[serde(default)]
    runs_over: bool,
}

/// Follows the head from packet to packet.
#[derive(Clone, Debug)]
pub struct ScanTracker {
    arrangement: Arrangement,
    timing: Timing,
    period: f64,
    cut: u16,
    /// The azimuth after the cut and the time of the block before.
    last: Option<(u16, i64)>,
    /// The first azimuth and the time of the packet before.
    packet: Option<(u16, i64)>,
    rate: f64,
    scans: u32,
}

/// Where the numbers of scans are from.
#[derive(Clone, Debug)]
pub enum Scans {
    /// From the packets as they come: for who reads a stream from its beginning.
    Tracked(Box<ScanTracker>),
    /// From an index: for who reads any part of it.
    Indexed(std::sync::Arc<ScanIndex>),
}

impl ScanIndex {
    /// Whether some of the scan `number` is missing: what was before the recording, or
    /// after it, or was lost.
    pub fn is_partial(&self, number: u32) -> bool {
        let at = |number: usize| self.starts.get(number).is_some_and(|s| s.is_at_cut);
        let number = number as usize;
        !at(number) || !at(number + 1)
    }

    /// The numbers of the scans that are partial, as they are told beside a column of
    /// numbers of scans: `0,7-9,31`.
    pub(crate) fn partial(&self) -> String {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let count = self.starts.len() + usize::from(self.runs_over);
        let numbers = 0..u32::try_from(count).unwrap_or(u32::MAX);
        for number in numbers.filter(|number| self.is_partial(*number)) {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => runs.push((number, number)),
            }
        }
        let text = |(first, last): &(u32, u32)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        let runs: Vec<String> = runs.iter().map(text).collect();
        runs.join(",")
    }

    /// Adds the packet in the record at `offset` and `time`, seen by `tracker`.
    pub fn add(
        &mut self,
        tracker: &mut ScanTracker,
        packet: Firings<'_>,
        offset: u64,
        time: Timestamp,
    ) {
        for (block, is_at_cut) in tracker.follow(packet, time).into_iter().flatten() {
            let (nanos, rate) = (time.as_nanos(), tracker.rate);
            self.starts.push(ScanStart { offset, nanos, block, is_at_cut, rate });
        }
        let left = tracker.last.map_or(TURN, |(after_cut, _)| TURN - after_cut);
        self.runs_over = left <= BLOCK_TURN;
    }

    /// The scan in which the packet of this record begins, the blocks of it that begin
    /// another, and how fast the head turns.
    fn look(&self, offset: u64, nanos: i64) -> (u32, [bool; BLOCKS], f64) {
        let before =
            self.starts.partition_point(|s| (s.offset, s.nanos) < (offset, nanos));
        let mut begins = [false; BLOCKS];
        let here = self.starts.iter().skip(before);
        for start in here.take_while(|s| (s.offset, s.nanos) == (offset, nanos)) {
            if let Some(begins) = begins.get_mut(usize::from(start.block)) {
                *begins = true;
            }
        }
        let known = self.starts.get(before.saturating_sub(1));
        (before as u32, begins, known.map_or(0.0, |start| start.rate))
    }
}

impl ScanTracker {
    /// A tracker of the packets of `sensor`; scans begin at `cut` hundredths of a degree.
    pub fn new(sensor: Sensor, cut: u16) -> Self {
        Self {
            arrangement: Arrangement::of(sensor),
            timing: Timing::of(sensor),
            period: sensor.packet_nanos(),
            cut: cut % TURN,
            last: None,
            packet: None,
            rate: 0.0,
            scans: 0,
        }
    }

    /// How many scans began.
    pub fn scans(&self) -> u32 {
        self.scans
    }

    /// Follows the next packet. Says which blocks of it begin a scan, and whether at the
    /// cut; at most two can.
    pub fn follow(
        &mut self,
        packet: Firings<'_>,
        time: Timestamp,
    ) -> [Option<(u8, bool)>; 2] {
        match self.arrangement.look(packet) {
            Some((_, azimuths)) => {
                self.timing.follow(&azimuths);
                let heads = self.timing.heads;
                self.pass(&azimuths, &heads, time.as_nanos())
            }
            None => [None; 2],
        }
    }

    pub(super) fn pass(
        &mut self,
        azimuths: &[u16; BLOCKS],
        heads: &[f64; BLOCKS],
        nanos: i64,
    ) -> [Option<(u8, bool)>; 2] {
        self.turn(azimuths, heads, nanos);
        let mut begins = [None; 2];
        let mut begun = begins.iter_mut();
        for (block, (azimuth, head)) in (0_u8..).zip(azimuths.iter().zip(heads)) {
            let now = nanos.saturating_add(*head as i64);
            let after_cut = turned(self.cut, *azimuth);
            if let Some(is_at_cut) = self.step(after_cut, now)
                && let Some(place) = begun.next()
            {
                *place = Some((block, is_at_cut));
                self.scans += 1;
            }
        }
        begins
    }

    /// Whether a scan begins with a block so far after the cut, and whether at the cut.
    fn step(&mut self, after_cut: u16, now: i64) -> Option<bool> {
        let Some((before, then)) = self.last.replace((after_cut, now)) else {
            return Some(after_cut < NEAR_CUT);
        };
        let gap = now.saturating_sub(then);
        let turned = if self.rate > 0.0 { self.rate * gap as f64 } else { 0.0 };
        let is_lost = turned > f64::from(TURN / 2) || gap > LONG_GAP_NANOS;
        if is_lost {
            let is_next = f64::from(before) + turned >= f64::from(TURN);
            return (is_next || after_cut < before).then_some(false);
        }
        if after_cut > before && after_cut - before > TURN / 2 {
            // It trembles at the cut: still the block before that counts.
            self.last = Some((before, now));
            return None;
        }
        (before > after_cut && before - after_cut > TURN / 2).then_some(true)
    }

    /// Learns how fast the head turns, from one packet to the next if none is lost
    /// between them, else within one.
    fn turn(&mut self, azimuths: &[u16; BLOCKS], heads: &[f64; BLOCKS], nanos: i64) {
        let [first, .., last] = *azimuths;
        let before = self.packet.replace((first, nanos));
        let took = heads[BLOCKS - 1] - heads[0];
        let measured = if took > 0.0 {
            f64::from(turned(first, last)) / took
        } else if let Some((before, then)) = before
            && (nanos.saturating_sub(then) as f64) < self.period * 1.5
        {
            f64::from(turned(before, first)) / self.period
        } else {
            return;
        };
        if measured * self.period > f64::from(TURN / 4) {
            return;
        }
        let is_new = self.rate == 0.0;
        self.rate =
            if is_new { measured } else { self.rate + (measured - self.rate) / 8.0 };
    }
}

impl Scans {
    /// The scan in which this packet begins (counting from 1: 0 is before the first),
    /// the blocks of it that begin another, and how fast the head turns.
    pub(super) fn next(
        &mut self,
        azimuths: &[u16; BLOCKS],
        heads: &[f64; BLOCKS],
        offset: u64,
        nanos: i64,
    ) -> (u32, [bool; BLOCKS], f64) {
        match self {
            Self::Tracked(tracker) => {
                let before = tracker.scans;
                let mut begins = [false; BLOCKS];
                for (block, _) in
                    tracker.pass(azimuths, heads, nanos).into_iter().flatten()
                {
                    if let Some(begins) = begins.get_mut(usize::from(block)) {
                        *begins = true;
                    }
                }
                (before, begins, tracker.rate)
            }
            Self::Indexed(index) => index.look(offset, nanos),
        }
    }
}
