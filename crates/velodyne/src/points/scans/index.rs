//! The index of the scans in a stream of packets. A scan is a rotation of the head that starts
//! and ends at the scan start azimuth.

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

/// A block that is nearer to the scan start than this, in hundredths of a degree, may have
/// firings after the scan start.
const LAST_BLOCK_ANGLE: u16 = 10;

/// The maximum time in nanoseconds by which firings of a scan precede its first block:
/// they are in the previous block, which takes at most this time.
const MAX_LEAD_NANOS: i64 = 200_000;

/// The start of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScanStart {
    /// The [offset](logtool_core::Record::offset) of the record of the first packet of
    /// the scan.
    pub offset: u64,
    /// The offset of the record of the first packet with firings of the scan. It is less than
    /// `offset` if the last firings of an earlier packet may belong to the scan, because they
    /// are close to the scan start azimuth.
    pub earliest: u64,
    /// The time of the record at `offset`, in nanoseconds of the log's clock.
    pub nanos: i64,
    /// The first block of the scan in its packet.
    pub block: u8,
    /// The start and the exclusive end of the firings, in nanoseconds on the clock of the
    /// points.
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
    /// The scan in which the packet starts, counting from 1. It is 0 before the first scan.
    pub(crate) first: u32,
    /// Whether each block starts another scan.
    pub(crate) begins: [bool; BLOCKS],
    /// The rotation rate, in hundredths of a degree per nanosecond.
    pub(crate) rate: f64,
    /// The rate over a whole rotation, if the lidar blanks a sector.
    pub(crate) rotation_rate: f64,
}

/// The starts of the scans in a stream of packets, in the order of the stream.
///
/// With an index, the points of any part of a log get the same scan numbers as if the log
/// was read from the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScanIndex {
    /// The starts. The number of a scan is its position in this list, plus the number of
    /// earlier scans that were omitted because this is the index of a part of a log.
    pub starts: Vec<ScanStart>,
    /// The number of omitted scans before the first start.
    #[serde(default)]
    omitted: u32,
    /// The partial scans of the whole stream in the selected times, if this is the index of a
    /// part of a log.
    #[serde(default)]
    known_partial: Option<String>,
    /// Whether the last block may have firings after the scan start azimuth, which belong to
    /// one more scan.
    #[serde(default)]
    extends_past_end: bool,
    /// The offset of the first packet of the last scan with firings that may belong to the
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
        let is_at_scan_start =
            |number: u32| start(number).is_some_and(|start| start.is_at_scan_start);
        !is_at_scan_start(number) || !is_at_scan_start(number.saturating_add(1))
    }

    /// Returns the numbers of the partial scans with points in `range`, if all points
    /// outside `range` are dropped. The format is that of the metadata
    /// [`PARTIAL_SCANS`](crate::points::PARTIAL_SCANS): `0,7-9,31`.
    pub(crate) fn partial_scans(&self, range: TimeRange) -> String {
        if let Some(partial_scans) = &self.known_partial {
            return partial_scans.clone();
        }
        let mut runs: Vec<(u32, u32)> = Vec::new();
        let count = self.starts.len() + usize::from(self.extends_past_end);
        let numbers = 0..u32::try_from(count).unwrap_or(u32::MAX);
        let is_partial = |number: &u32| {
            if range == TimeRange::ALL {
                self.is_partial(*number)
            } else {
                self.is_partial_within(*number, range)
            }
        };
        for number in numbers.filter(is_partial) {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => runs.push((number, number)),
            }
        }
        let format_run = |(first, last): &(u32, u32)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        let runs: Vec<String> = runs.iter().map(format_run).collect();
        runs.join(",")
    }

    /// Returns whether some points of the scan `number` are in `range`, and some are not or
    /// are missing.
    fn is_partial_within(&self, number: u32, range: TimeRange) -> bool {
        // The scan after the last start has firings in the last block.
        let start = self.starts.get(number as usize).or(self.starts.last());
        let Some((scan_start, scan_end)) = start.map(|start| start.firing_times) else {
            return true;
        };
        let (range_start, range_end) = (range.start.as_nanos(), range.end.as_nanos());
        let overlaps = scan_end > range_start && scan_start < range_end;
        let is_inside = scan_start >= range_start && scan_end <= range_end;
        overlaps && (!is_inside || self.is_partial(number))
    }

    /// Returns the index for decoding the packets in records at the offsets `records`, with
    /// the same scan numbers. `range` are the selected times.
    pub(crate) fn excerpt(&self, records: Range<u64>, range: TimeRange) -> Self {
        let count_before =
            |offset: u64| self.starts.partition_point(|start| start.offset < offset);
        // Include the scan in which the first packet lies, because it has the rates.
        let first = count_before(records.start).saturating_sub(1);
        let starts = self.starts.get(first..count_before(records.end));
        let starts = starts.unwrap_or_default();
        Self {
            starts: starts.to_vec(),
            omitted: self.omitted.saturating_add(first as u32),
            known_partial: Some(self.partial_scans(range)),
            extends_past_end: self.extends_past_end,
            overlap_offset: None,
        }
    }

    /// Adds the packet in the record at `offset` and `time`. All packets of the stream must
    /// be added in order, with the same `tracker`.
    pub fn add(
        &mut self,
        tracker: &mut ScanTracker,
        packet: &PacketHeaders,
        offset: u64,
        time: Timestamp,
    ) {
        let starts = tracker.follow(packet, time);
        let (record_nanos, rate) = (time.as_nanos(), tracker.rate);
        let micros = packet.tail.micros;
        let time_source = tracker.options.time;
        let packet_nanos =
            time_source.nanos(tracker.sensor.model, record_nanos, micros);
        let block_start =
            |block: u8| packet_nanos.saturating_add(tracker.block_start(block));
        let mut start_nanos = block_start(0);
        for (block, is_at_scan_start) in starts.into_iter().flatten() {
            if let Some(previous) = self.starts.last_mut().filter(|_| block > 0) {
                previous.extend_firing_times(start_nanos, block_start(block));
            }
            start_nanos = block_start(block);
            self.starts.push(ScanStart {
                offset,
                earliest: self.overlap_offset.take().unwrap_or(offset),
                nanos: record_nanos,
                block,
                firing_times: (start_nanos, start_nanos),
                is_at_scan_start,
                rate,
                rotation_rate: tracker.rotation_rate,
            });
        }
        if let Some(last) = self.starts.last_mut() {
            last.extend_firing_times(start_nanos, block_start(BLOCKS as u8));
        }
        if tracker.reaches_scan_end() {
            self.overlap_offset.get_or_insert(offset);
        }
        let angle_to_start =
            tracker.previous_block.map_or(TURN, |(angle, _)| TURN - angle);
        self.extends_past_end = angle_to_start <= LAST_BLOCK_ANGLE;
    }

    /// Returns the range of packets and the range of times of each scan.
    pub fn row_groups(&self) -> Vec<RowGroup> {
        let group = |start: &ScanStart| {
            let (first, end) = start.firing_times;
            RowGroup {
                start: start.offset,
                first_record: start.earliest,
                time: TimeRange {
                    start: Timestamp::from_nanos(first.saturating_sub(MAX_LEAD_NANOS)),
                    end: Timestamp::from_nanos(end),
                },
            }
        };
        self.starts.iter().map(group).collect()
    }

    /// Returns the scans of the packet in the record at `offset` with the time `nanos`.
    fn packet_scans(&self, offset: u64, nanos: i64) -> PacketScans {
        let record = (offset, nanos);
        let count_before =
            self.starts.partition_point(|start| (start.offset, start.nanos) < record);
        let mut begins = [false; BLOCKS];
        let starts = self.starts.iter().skip(count_before);
        for start in starts.take_while(|start| (start.offset, start.nanos) == record) {
            if let Some(begins) = begins.get_mut(usize::from(start.block)) {
                *begins = true;
            }
        }
        let current = self.starts.get(count_before.saturating_sub(1));
        PacketScans {
            first: self.omitted.saturating_add(count_before as u32),
            begins,
            rate: current.map_or(0.0, |start| start.rate),
            rotation_rate: current.map_or(0.0, |start| start.rotation_rate),
        }
    }
}

impl ScanStart {
    /// Extends the time range of the firings to include `start` and end no earlier than
    /// `end`.
    fn extend_firing_times(&mut self, start: i64, end: i64) {
        self.firing_times =
            (self.firing_times.0.min(start), self.firing_times.1.max(end));
    }
}

impl ScanNumbers {
    /// Returns the scans of the next packet, which is from `sensor`, has these azimuths, and
    /// is in the record at `offset`.
    pub(crate) fn next(
        &mut self,
        sensor: Sensor,
        azimuths: &[u16; BLOCKS],
        azimuth_nanos: &[f64; BLOCKS],
        offset: u64,
        timestamps: PacketTimestamps,
    ) -> PacketScans {
        match self {
            Self::Tracked(tracker) => {
                tracker.set_sensor(sensor);
                let first = tracker.scans;
                let mut begins = [false; BLOCKS];
                let starts = tracker.process(azimuths, azimuth_nanos, timestamps);
                for (block, _) in starts.into_iter().flatten() {
                    if let Some(begins) = begins.get_mut(usize::from(block)) {
                        *begins = true;
                    }
                }
                PacketScans {
                    first,
                    begins,
                    rate: tracker.rate,
                    rotation_rate: tracker.rotation_rate,
                }
            }
            Self::Indexed(index) => index.packet_scans(offset, timestamps.nanos),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maximum_number_of_omitted_scans_does_not_overflow() {
        let start = |offset| ScanStart {
            offset,
            earliest: offset,
            nanos: 0,
            block: 0,
            firing_times: (0, 0),
            is_at_scan_start: true,
            rate: 0.0,
            rotation_rate: 0.0,
        };
        let index = ScanIndex {
            starts: vec![start(0), start(10)],
            omitted: u32::MAX,
            known_partial: Some(String::new()),
            ..ScanIndex::default()
        };
        let excerpt = index.excerpt(20..30, TimeRange::ALL);
        assert_eq!(excerpt.packet_scans(20, 0).first, u32::MAX);
    }
}
