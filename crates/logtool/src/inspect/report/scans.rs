//! A scan of each lidar, and a cloud of each topic of point clouds, seen from above.

use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::*};
use logtool_core::{
    Block as RecordBlock, Columns, Log, Selection, TimeRange, TopicId, View,
};
use logtool_plot::{Block, TopView, TopViewOptions};
use logtool_sinks::has_points;
use logtool_velodyne::lidar::LidarInfo;

use crate::{error::Result, records::signals};

/// The maximum number of images.
const MAX_IMAGES: usize = 4;

/// The rate is the median of up to this many intervals between scans: one interval alone
/// may contain a lost scan, or end with a fragment.
const INTERVALS: usize = 20;

/// Returns an image of the first whole scan within `time` of each topic of points.
pub(super) fn first_of_each(log: &dyn Log, time: TimeRange) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for (id, topic) in log.manifest().topics() {
        if blocks.len() == MAX_IMAGES {
            break;
        }
        // The columns of a cloud are known only after one was decoded.
        let decoder = || log.decoder(id, &Columns::new(View::Flat));
        let has_coordinates = || {
            has_points(&topic.schema)
                || decoder().is_ok_and(|decoder| has_points(decoder.schema()))
        };
        if !topic.content.is_points() || !has_coordinates() {
            continue;
        }
        let mut label = topic.label().into_owned();
        let lidar = LidarInfo::from_topic(topic);
        let mismatch = lidar.as_ref().and_then(|lidar| lidar.calibration_mismatch);
        if let Some(mismatch) = mismatch {
            blocks.push(Block::Text(format!("{label}: not shown: {mismatch}")));
            continue;
        }
        if let Some(scan) = FirstScan::read(log, id, time)? {
            if let Some(rate) = scan.rate() {
                label = format!("{label}: {rate:.1} scans per second");
            }
            if let Some(LidarInfo { name, calibration, .. }) = lidar {
                label = format!("{label}; lidar {name}; calibration {calibration}");
            }
            blocks.push(Block::Svg(label, scan.view.svg()?));
        }
    }
    Ok(blocks)
}

/// The first whole scan of a topic.
struct FirstScan {
    view: TopView,
    options: TopViewOptions,
    /// The numbers of the scans, and the times of their first points in nanoseconds.
    starts: Vec<(u32, Option<i64>)>,
    points: u64,
    /// Whether the image is complete, so that only the starts of more scans are needed.
    is_drawn: bool,
    is_done: bool,
    /// Whether the points have numbers of scans, as those of a lidar do.
    is_lidar: bool,
    clouds: u32,
}

impl FirstScan {
    /// Returns the scan, or `None` if the topic has no points within `time`.
    fn read(log: &dyn Log, id: TopicId, time: TimeRange) -> Result<Option<Self>> {
        let columns = Columns { time, ..Columns::new(View::Flat) };
        let mut decoder = log.decoder(id, &columns)?;
        let topics = [id].into_iter().collect();
        let selection = Selection { topics, time };
        let options = TopViewOptions {
            color: "height (m)".to_owned(),
            scale: 1,
            ..TopViewOptions::default()
        };
        let mut scan = Self {
            view: TopView::new(options.clone()),
            options,
            starts: Vec::new(),
            points: 0,
            is_drawn: false,
            is_done: false,
            is_lidar: false,
            clouds: 0,
        };
        let mut block = RecordBlock::default();
        'all: for part in log.manifest().plan(&selection, 1 << 20) {
            let mut cursor = log.read(&part, &selection)?;
            while cursor.fill(&mut block)? {
                // Damage is not reported: another section reads all records.
                for run in block.runs() {
                    decoder.append(run, &mut Vec::new());
                    scan.add(&decoder.take()?);
                    if scan.is_done {
                        break 'all;
                    }
                }
            }
        }
        Ok((scan.points > 0).then_some(scan))
    }

    fn add(&mut self, batch: &RecordBatch) {
        let column = |name| batch.column_by_name(name);
        let values = |name| column(name).map(signals::numbers_of);
        let (Some(x), Some(y), Some(z)) = (values("x"), values("y"), values("z"))
        else {
            return;
        };
        let (scans, indices) = (values("scan"), values("index"));
        self.is_lidar = scans.is_some();
        let times = batch.columns().first();
        let times = times.and_then(|t| t.as_primitive_opt::<TimestampNanosecondType>());
        for (row, ((x, y), z)) in x.iter().zip(&y).zip(&z).enumerate() {
            let value = |column: &Option<Vec<f64>>| {
                column.as_ref().and_then(|values| values.get(row)).copied()
            };
            if value(&indices) == Some(0.0) && scans.is_none() {
                self.clouds += 1;
            }
            let number = value(&scans).map_or(self.clouds, |scan| scan as u32);
            if self.starts.last().is_none_or(|(last, _)| number > *last) {
                let time = times.filter(|times| times.is_valid(row));
                self.starts.push((number, time.map(|times| times.value(row))));
                if self.starts.len() > INTERVALS {
                    self.is_done = true;
                    return;
                }
                // The first scan of a lidar is rarely complete. A cloud always is.
                let whole = if scans.is_some() { 2 } else { 1 };
                self.is_drawn = self.starts.len() > whole;
                if !self.is_drawn {
                    self.view = TopView::new(self.options.clone());
                    self.points = 0;
                }
            }
            if !self.is_drawn {
                self.view.add(*x, *y, *z, *z);
                self.points += 1;
            }
        }
    }

    /// Returns the scans per second.
    fn rate(&self) -> Option<f64> {
        // The first scan of a lidar rarely starts where scans start.
        let starts = self.starts.get(usize::from(self.is_lidar)..)?;
        rate(starts.iter().map(|(_, time)| *time))
    }
}

/// Returns the scans per second from their starts in nanoseconds: the median of the intervals.
fn rate(starts: impl Iterator<Item = Option<i64>> + Clone) -> Option<f64> {
    let pairs = starts.clone().zip(starts.skip(1));
    let intervals = pairs.filter_map(|(start, next)| {
        next?.checked_sub(start?).filter(|nanos| *nanos > 0)
    });
    let mut intervals: Vec<i64> = intervals.collect();
    intervals.sort_unstable();
    let median = intervals.get(intervals.len() / 2)?;
    Some(1e9 / *median as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scan that starts at each of `millis`.
    fn scans(millis: &[i64], is_lidar: bool) -> FirstScan {
        let starts = (0..).zip(millis).map(|(n, at)| (n, Some(at * 1_000_000)));
        let options = TopViewOptions::default();
        FirstScan {
            view: TopView::new(options.clone()),
            options,
            starts: starts.collect(),
            points: 0,
            is_drawn: false,
            is_done: false,
            is_lidar,
            clouds: 0,
        }
    }

    #[test]
    fn rate_excludes_the_incomplete_first_scan_of_a_lidar() {
        // A lidar at 10 Hz, whose recording starts 16 ms before a scan.
        assert_eq!(scans(&[0, 16], true).rate(), None);
        assert_eq!(scans(&[0, 16, 116], true).rate(), Some(10.0));
        // Clouds are complete.
        assert_eq!(scans(&[0, 50], false).rate(), Some(20.0));
    }
}
