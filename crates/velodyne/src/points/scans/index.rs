//! Scans: rotations of the head between two passes of the scan start azimuth.

use std::ops::Range;

use logtool_core::{RowGroup, TimeRange, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    model::Sensor,
    packet::{BLOCKS, PacketHeaders},
    points::{
        firing::sin_cos_table::TURN,
        scans::tracker::{PacketTimestamps, ScanTracker},
    },
};

/// The maximum rotation of the head during a block, in hundredths of a degree: a tenth of
/// a degree, at over twenty rotations per second.
const BLOCK_TURN: u16 = 10;

/// The maximum time in nanoseconds by which firings of a scan precede its first block.
/// They are in the previous block, whose duration is at most this long.
const OVERRUN: i64 = 200_000;

/// The start of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScanStart {
    /// The [offset](logtool_core::Record::offset) of the record of the first packet of
    /// the scan.
    pub offset: u64,
    /// The offset of the record of the first packet whose last firings may belong to the
    /// scan, because they are close to the scan start azimuth. It equals `offset` if
    /// there is no earlier one.
    pub earliest: u64,
    /// The time of the record at `offset`, in nanoseconds of the log's clock.
    pub nanos: i64,
    /// The first block of the scan in its packet.
    pub block: u8,
    /// The time range of the firings in nanoseconds, on the clock of the points: start
    /// inclusive, end exclusive.
    pub firing_times: (i64, i64),
    /// Whether the scan starts at the scan start azimuth, i.e. the head was observed
    /// passing it.
    pub is_at_scan_start: bool,
    /// The rotation rate at the start, in hundredths of a degree per nanosecond.
    pub rate: f64,
    /// The rate over the last whole rotation, if the lidar blanks a sector.
    #[serde(default)]
    pub rotation_rate: f64,
}

/// The scans of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketScans {
    /// The scan in which the packet starts, counting from 1. Scan 0 is before the first
    /// one.
    pub(crate) first: u32,
    /// The blocks that start another scan.
    pub(crate) begins: [bool; BLOCKS],
    /// The rotation rate, in hundredths of a degree per nanosecond.
    pub(crate) rate: f64,
    /// The rate over a whole rotation, if the lidar blanks a sector.
    pub(crate) rotation_rate: f64,
}

/// The starts of the scans in a stream of packets, in the order of the stream.
///
/// With it, the points of any part of a log get the same scan numbers as if the log was
/// read from the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScanIndex {
    /// The starts. The number of a scan is its index, plus the number of earlier scans that
    /// the index of a part of a log leaves out.
    pub starts: Vec<ScanStart>,
    /// The number of scans before the first start.
    #[serde(default)]
    omitted: u32,
    /// The partial scans of the whole stream in the selected times, if these are only some
    /// of its scans.
    #[serde(default)]
    known_partial: Option<String>,
    /// Whether the last block may have firings after the scan start azimuth, i.e. in one
    /// more scan.
    #[serde(default)]
    extends_past_end: bool,
    /// The offset of the first packet of the last scan whose firings may belong to the
    /// next scan.
    #[serde(skip)]
    overlap_offset: Option<u64>,
}

/// The source of scan numbers.
#[derive(Clone, Debug)]
pub enum ScanNumbers {
    /// The packets in order, for reading a stream from its start.
    Tracked(Box<ScanTracker>),
    /// An index, for reading any part of a stream.
    Indexed(std::sync::Arc<ScanIndex>),
}

impl ScanIndex {
    /// Returns whether a part of the scan `number` is missing: because it is before the
    /// start or after the end of the recording, or because packets were lost.
    pub fn is_partial(&self, number: u32) -> bool {
        let start =
            |number: u32| self.starts.get(number.checked_sub(self.omitted)? as usize);
        let at = |number: u32| start(number).is_some_and(|s| s.is_at_scan_start);
        !at(number) || !at(number.saturating_add(1))
    }

    /// Returns the numbers of the partial scans with points in `range`, if all points
    /// outside `range` are dropped. The format is that of the metadata
    /// [`PARTIAL`](crate::points::PARTIAL): `0,7-9,31`.
    pub(crate) fn partial_scans(&self, range: TimeRange) -> String {
        if let Some(partial_scans) = &self.known_partial {
            return partial_scans.clone();
        }
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let count = self.starts.len() + usize::from(self.extends_past_end);
        let numbers = 0..u32::try_from(count).unwrap_or(u32::MAX);
        let is_everything = range == TimeRange::ALL;
        let is_selected = |number: &u32| {
            if is_everything {
                self.is_partial(*number)
            } else {
                self.is_partial_within(*number, range)
            }
        };
        for number in numbers.filter(is_selected) {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => runs.push((number, number)),
            }
        }
        let text = |(first, last): &(u32, u32)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        let runs: Vec<String> = runs.iter().map(text).collect();
        runs.join(",")
    }

    /// Returns whether some points of the scan `number` are in `range`, and some are
    /// missing.
    fn is_partial_within(&self, number: u32, range: TimeRange) -> bool {
        let start = self.starts.get(number as usize).or(self.starts.last());
        let Some((first, after)) = start.map(|start| start.firing_times) else {
            return true;
        };
        let (from, to) = (range.start.as_nanos(), range.end.as_nanos());
        let is_selected = after > from && first < to;
        is_selected && (first < from || after > to || self.is_partial(number))
    }

    /// Returns the scans for decoding the packets in records at offsets in `records`, with
    /// the same numbers. The selected times are `range`.
    pub(crate) fn excerpt(&self, records: Range<u64>, range: TimeRange) -> Self {
        let before = |offset: u64| self.starts.partition_point(|s| s.offset < offset);
        // The rates are those of the scan in which the first packet lies.
        let first = before(records.start).saturating_sub(1);
        let starts = self.starts.get(first..before(records.end)).unwrap_or_default();
        Self {
            starts: starts.to_vec(),
            omitted: self.omitted + first as u32,
            known_partial: Some(self.partial_scans(range)),
            extends_past_end: self.extends_past_end,
            overlap_offset: None,
        }
    }

    /// Adds the packet in the record at `offset` and `time`. `tracker` must see all
    /// packets in order.
    pub fn add(
        &mut self,
        tracker: &mut ScanTracker,
        packet: &PacketHeaders,
        offset: u64,
        time: Timestamp,
    ) {
        let starts = tracker.follow(packet, time);
        let (nanos, rate) = (time.as_nanos(), tracker.rate);
        let micros = packet.tail.micros;
        let time = tracker.options.time;
        let stands_for = time.nanos(tracker.sensor.model, nanos, micros);
        let firing_times =
            |block: u8| stands_for.saturating_add(tracker.firing_times(block));
        let after = firing_times(BLOCKS as u8);
        let mut first = firing_times(0);
        for (block, is_at_scan_start) in starts.into_iter().flatten() {
            if let Some(before) = self.starts.last_mut().filter(|_| block > 0) {
                before.extend_firing_times(first, firing_times(block));
            }
            first = firing_times(block);
            self.starts.push(ScanStart {
                offset,
                earliest: self.overlap_offset.take().unwrap_or(offset),
                nanos,
                block,
                firing_times: (first, first),
                is_at_scan_start,
                rate,
                rotation_rate: tracker.rotation_rate,
            });
        }
        if let Some(last) = self.starts.last_mut() {
            last.extend_firing_times(first, after);
        }
        if tracker.reaches_scan_end() {
            self.overlap_offset.get_or_insert(offset);
        }
        let left = tracker.last.map_or(TURN, |(after_start, _)| TURN - after_start);
        self.extends_past_end = left <= BLOCK_TURN;
    }

    /// Returns the range of packets and the range of times of each scan.
    pub fn row_groups(&self) -> Vec<RowGroup> {
        let group = |start: &ScanStart| {
            let (first, after) = start.firing_times;
            RowGroup {
                start: start.offset,
                first_record: start.earliest,
                time: TimeRange {
                    start: Timestamp::from_nanos(first.saturating_sub(OVERRUN)),
                    end: Timestamp::from_nanos(after),
                },
            }
        };
        self.starts.iter().map(group).collect()
    }

    /// Returns the scans of the packet in this record.
    fn packet_scans(&self, offset: u64, nanos: i64) -> PacketScans {
        let before =
            self.starts.partition_point(|s| (s.offset, s.nanos) < (offset, nanos));
        let mut begins = [false; BLOCKS];
        let starts = self.starts.iter().skip(before);
        for start in starts.take_while(|s| (s.offset, s.nanos) == (offset, nanos)) {
            if let Some(begins) = begins.get_mut(usize::from(start.block)) {
                *begins = true;
            }
        }
        let known = self.starts.get(before.saturating_sub(1));
        PacketScans {
            first: self.omitted + before as u32,
            begins,
            rate: known.map_or(0.0, |start| start.rate),
            rotation_rate: known.map_or(0.0, |start| start.rotation_rate),
        }
    }
}

impl ScanStart {
    /// Extends the time range of the firings.
    fn extend_firing_times(&mut self, first: i64, after: i64) {
        self.firing_times =
            (self.firing_times.0.min(first), self.firing_times.1.max(after));
    }
}

impl ScanNumbers {
    /// Returns the scans of this packet of `sensor`.
    pub(crate) fn next(
        &mut self,
        sensor: Sensor,
        azimuths: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        offset: u64,
        stamps: PacketTimestamps,
    ) -> PacketScans {
        match self {
            Self::Tracked(tracker) => {
                tracker.set_sensor(sensor);
                let before = tracker.scans;
                let mut begins = [false; BLOCKS];
                for (block, _) in tracker
                    .process(azimuths, azimuth_nanos, stamps)
                    .into_iter()
                    .flatten()
                {
                    if let Some(begins) = begins.get_mut(usize::from(block)) {
                        *begins = true;
                    }
                }
                PacketScans {
                    first: before,
                    begins,
                    rate: tracker.rate,
                    rotation_rate: tracker.rotation_rate,
                }
            }
            Self::Indexed(index) => index.packet_scans(offset, stamps.nanos),
        }
    }
}
