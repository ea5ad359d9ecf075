//! The ranges of the values of a whole topic, which decide how the attributes of its points are
//! stored in formats with fixed fields. They are found by reading some columns before the files are
//! written.
//!
//! **Intensities** and colours as three numbers have no common unit: drivers send 0 to 1, 0 to 255,
//! or more, all as floats. The *full scale* is the value that becomes the greatest one of a format:
//!
//! | values of the topic | full scale |
//! |---|---|
//! | from 0 to 1, and some are between | 1 |
//! | at most 255 | 255 |
//! | at least half of them at most 65,535 | 65,535, and those above cannot be stored |
//! | others | the greatest of them |
//!
//! Negative values, NaN, infinities and those above 2^32 do not count.
//!
//! **Times of points** are relative to the stamp of their message, or absolute (Unix time). They are
//! relative if they start again with each message and are within 10 seconds of the stamp: integers
//! are nanoseconds, and floats have the greatest of seconds, milliseconds, microseconds and
//! nanoseconds with which they are. They are absolute if they are within a day of the stamps (within
//! 10 seconds of the stamps of a simulation, which start at 0) in one of these units. Other times are
//! not used.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use logtool_core::{Result, TableSink, TableWriter, Topic};
use parking_lot::Mutex;

use crate::points::{
    column::{self, NumberType, PointColumn, floats, point_columns, time_values},
    options::PointFormat,
};

/// The names of columns with colours as three numbers.
pub(super) const CHANNEL_NAMES: [[&str; 3]; 2] =
    [["red", "green", "blue"], ["r", "g", "b"]];

/// The units of times, in nanoseconds, from the greatest to the least.
const UNITS: [f64; 4] = [1e9, 1e6, 1e3, 1.0];

/// The maximum distance of a relative time from the stamp in nanoseconds.
const MAX_RELATIVE_NANOS: f64 = 10e9;
/// The maximum distance of an absolute time from a stamp in nanoseconds.
const MAX_ABSOLUTE_NANOS: f64 = 86_400e9;
/// The stamps from here on are Unix time, in nanoseconds: one year.
const FIRST_UNIX_NANOS: i64 = 31_536_000_000_000_000;

/// The greatest integer of 16 bits.
const MAX_INTEGER: f64 = 65_535.0;

/// The greatest value that counts for the full scale.
const MAX_FULL_SCALE: f64 = u32::MAX as f64;

/// Reads tables of points before their files are written.
#[derive(Clone, Debug)]
pub struct PointSurvey {
    format: PointFormat,
    /// The full scale of intensities that the user chose.
    intensity_max: Option<f64>,
    topics: Arc<Mutex<BTreeMap<(String, u32), TopicSurvey>>>,
}

/// The ranges of the columns of a topic, by their names.
#[derive(Clone, Debug, Default)]
pub(super) struct TopicSurvey {
    intensity_max: Option<f64>,
    ranges: BTreeMap<String, ValueRange>,
    times: BTreeMap<String, TimeValues>,
}

/// The range of the values of a column that count for its full scale.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ValueRange {
    max: f64,
    /// Whether a value is between two integers.
    has_fraction: bool,
    /// The number of values, and the number of values above 65,535.
    count: u64,
    count_above: u64,
}

/// The values of a column of times.
#[derive(Clone, Debug, Default, PartialEq)]
struct TimeValues {
    is_integer: bool,
    is_single_precision: bool,
    count: u64,
    /// The number of values that are near the stamp in each of the units.
    near_stamp: [u64; 4],
    /// The greatest distance from 0.
    max: f64,
    /// The longest range of the values of a message.
    max_span: f64,
    /// The stamp of the current message, and the range of its values.
    message: Option<(i64, f64, f64)>,
}

/// The meaning of the values of a column of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TimeUnit {
    /// Unix time in units of this number of nanoseconds.
    Absolute(f64),
    /// The time since the stamp of the message in such units.
    Relative(f64),
}

impl PointSurvey {
    /// Creates a survey for files of `format`. Intensities of `intensity_max` become the greatest
    /// one of the format, whatever the values are.
    pub fn new(format: PointFormat, intensity_max: Option<u32>) -> Self {
        let intensity_max = intensity_max.map(f64::from);
        Self { format, intensity_max, topics: Arc::default() }
    }

    /// Returns the indices of the columns of a table of `schema` that must be read. The list is
    /// empty if their types limit the values, or if the format stores any value.
    pub fn columns(&self, schema: &Schema) -> Vec<usize> {
        let columns = point_columns(schema);
        let (ranges, times) =
            (self.range_columns(&columns), self.time_columns(&columns));
        let mut indices: Vec<usize> =
            ranges.iter().chain(&times).map(|column| column.index).collect();
        if !times.is_empty() {
            indices.extend(columns.iter().find(|c| c.is_stamp()).map(|c| c.index));
        }
        indices.sort_unstable();
        indices
    }

    /// Returns the results for `topic`.
    pub(super) fn topic(&self, topic: &Topic) -> TopicSurvey {
        let topics = self.topics.lock();
        let found = topics.get(&(topic.name.clone(), topic.instance)).cloned();
        TopicSurvey { intensity_max: self.intensity_max, ..found.unwrap_or_default() }
    }

    /// Returns those of `columns` whose full scale must be found.
    fn range_columns(&self, columns: &[PointColumn]) -> Vec<PointColumn> {
        let has_intensity = matches!(
            self.format,
            PointFormat::Las | PointFormat::Laz | PointFormat::Kitti
        ) && self.intensity_max.is_none();
        let has_colors = !matches!(self.format, PointFormat::Kitti);
        let is_wanted = |column: &&PointColumn| {
            let name = column.own_name.as_str();
            let is_channel = CHANNEL_NAMES.as_flattened().contains(&name);
            column.number_type != NumberType::BYTE
                && (has_intensity && name == "intensity" || has_colors && is_channel)
        };
        match self.format {
            PointFormat::Las
            | PointFormat::Laz
            | PointFormat::Kitti
            | PointFormat::PcdAscii
            | PointFormat::PcdBinary
            | PointFormat::PcdCompressed
            | PointFormat::PlyAscii
            | PointFormat::PlyBinary => {
                columns.iter().filter(is_wanted).cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns those of `columns` whose unit must be found: the times of points of messages.
    fn time_columns(&self, columns: &[PointColumn]) -> Vec<PointColumn> {
        let is_las = matches!(self.format, PointFormat::Las | PointFormat::Laz);
        if !is_las || !columns.iter().any(PointColumn::is_stamp) {
            return Vec::new();
        }
        columns.iter().filter(|column| column.may_be_own_time()).cloned().collect()
    }
}

impl TableSink for PointSurvey {
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> Result<Box<dyn TableWriter>> {
        // A table with only some columns has no columns of points: `x` may be missing.
        let columns = column::numeric_columns(schema);
        Ok(Box::new(SurveyedTable {
            survey: self.clone(),
            key: (topic.name.clone(), topic.instance),
            ranges: self.range_columns(&columns),
            times: self.time_columns(&columns),
            columns,
            found: TopicSurvey::default(),
        }))
    }
}

/// A table that is being read.
struct SurveyedTable {
    survey: PointSurvey,
    key: (String, u32),
    columns: Vec<PointColumn>,
    ranges: Vec<PointColumn>,
    times: Vec<PointColumn>,
    found: TopicSurvey,
}

impl TableWriter for SurveyedTable {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let values = |column: &PointColumn| {
            let arrays = column::arrays(batch, std::slice::from_ref(column));
            arrays.into_iter().next()
        };
        for column in &self.ranges {
            let range = self.found.ranges.entry(column.name.clone()).or_default();
            values(column).iter().flat_map(floats).for_each(|value| range.add(value));
        }
        let stamps = self.columns.iter().find(|column| column.is_stamp());
        let stamps = stamps.and_then(values).and_then(|array| time_values(&array));
        let Some(stamps) = stamps else { return Ok(()) };
        for column in &self.times {
            let times = self.found.times.entry(column.name.clone()).or_default();
            times.is_integer = matches!(column.number_type, NumberType::Integer { .. });
            times.is_single_precision =
                column.number_type == NumberType::Float { bytes: 4 };
            let values = values(column).map(|array| floats(&array)).unwrap_or_default();
            for (value, stamp) in values.into_iter().zip(&stamps) {
                times.add(value, stamp.unwrap_or(0));
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.survey.topics.lock().insert(self.key, self.found);
        Ok(())
    }
}

impl TopicSurvey {
    /// Returns the full scale of the intensities in `column`.
    pub(super) fn intensity_full_scale(&self, column: &PointColumn) -> f64 {
        self.intensity_max.unwrap_or_else(|| self.full_scale([column]))
    }

    /// Returns the common full scale of `columns`.
    pub(super) fn full_scale<'c>(
        &self,
        columns: impl IntoIterator<Item = &'c PointColumn>,
    ) -> f64 {
        let mut range = ValueRange::default();
        for column in columns {
            let found = match column.number_type {
                NumberType::BYTE => ValueRange { max: 255.0, ..ValueRange::default() },
                _ => self.ranges.get(&column.name).copied().unwrap_or_default(),
            };
            range.max = range.max.max(found.max);
            range.has_fraction |= found.has_fraction;
            range.count += found.count;
            range.count_above += found.count_above;
        }
        range.full_scale()
    }

    /// Returns the meaning of the times in `column`, or `None` if it is not known.
    pub(super) fn time_unit(&self, column: &PointColumn) -> Option<TimeUnit> {
        self.times.get(&column.name)?.unit()
    }
}

impl ValueRange {
    fn add(&mut self, value: f64) {
        if (0.0..=MAX_FULL_SCALE).contains(&value) {
            self.max = self.max.max(value);
            self.has_fraction |= value.fract() != 0.0;
            self.count += 1;
            self.count_above += u64::from(value > MAX_INTEGER);
        }
    }

    fn full_scale(self) -> f64 {
        match self.max {
            max if max <= 1.0 && self.has_fraction => 1.0,
            max if max <= 255.0 => 255.0,
            _ if self.count_above <= self.count / 2 => MAX_INTEGER,
            max => max,
        }
    }
}

impl TimeValues {
    /// Adds the value of a point of the message with this `stamp`.
    fn add(&mut self, value: f64, stamp: i64) {
        if !value.is_finite() {
            return;
        }
        self.count += 1;
        let max_distance = if stamp < FIRST_UNIX_NANOS {
            MAX_RELATIVE_NANOS
        } else {
            MAX_ABSOLUTE_NANOS
        };
        for (count, unit) in self.near_stamp.iter_mut().zip(UNITS) {
            let is_near = (value * unit - stamp as f64).abs() <= max_distance;
            *count += u64::from(is_near);
        }
        self.max = self.max.max(value.abs());
        let (least, greatest) = match self.message {
            Some((current, least, greatest)) if current == stamp => {
                (least.min(value), greatest.max(value))
            }
            _ => (value, value),
        };
        self.message = Some((stamp, least, greatest));
        self.max_span = self.max_span.max(greatest - least);
    }

    fn unit(&self) -> Option<TimeUnit> {
        if self.count == 0 {
            return None;
        }
        let starts_again = self.max <= 3.0 * self.max_span;
        let is_near = |unit: &f64| self.max * unit <= MAX_RELATIVE_NANOS;
        let mut units =
            UNITS.into_iter().filter(|unit| !self.is_integer || *unit == 1.0);
        if let Some(unit) = units.find(is_near).filter(|_| starts_again) {
            return Some(TimeUnit::Relative(unit));
        }
        // Absolute times of 32 bits have steps of two minutes.
        let mut absolute = UNITS.into_iter().zip(self.near_stamp);
        let absolute = absolute.find(|(_, near)| *near == self.count);
        absolute
            .filter(|_| !self.is_single_precision)
            .map(|(unit, _)| TimeUnit::Absolute(unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full_scale(values: &[f64]) -> f64 {
        let mut range = ValueRange::default();
        values.iter().for_each(|value| range.add(*value));
        range.full_scale()
    }

    #[test]
    fn full_scale_is_that_of_all_values() {
        assert_eq!(full_scale(&[0.0, 0.25, 1.0]), 1.0);
        assert_eq!(full_scale(&[0.0, 1.0]), 255.0);
        assert_eq!(full_scale(&[0.0, 0.5, 40.5, 255.0]), 255.0);
        assert_eq!(full_scale(&[0.0, 0.5, 3_000.0]), 65_535.0);
        assert_eq!(full_scale(&[0.0, 1e9]), 65_535.0);
        assert_eq!(full_scale(&[0.0, 7e4, 1e5]), 1e5);
        let ignored = [-1.0, f64::NAN, f64::INFINITY, 1e30];
        assert_eq!(full_scale(&[&[0.5][..], &ignored].concat()), 1.0);
    }

    /// The unit of times of messages, each with its stamp in seconds.
    fn unit(is_integer: bool, messages: &[(i64, &[f64])]) -> Option<TimeUnit> {
        let mut times = TimeValues { is_integer, ..TimeValues::default() };
        for (stamp, values) in messages {
            values.iter().for_each(|value| times.add(*value, stamp * 1_000_000_000));
        }
        times.unit()
    }

    #[test]
    fn units_of_times_are_found_from_their_values() {
        let stamp = 1_700_000_000;
        let relative = |unit| Some(TimeUnit::Relative(unit));
        let absolute = |unit| Some(TimeUnit::Absolute(unit));
        assert_eq!(unit(true, &[(stamp, &[0.0, 1e8])]), relative(1.0));
        assert_eq!(unit(true, &[(stamp, &[0.0, 50.0])]), relative(1.0));
        assert_eq!(unit(false, &[(stamp, &[-0.1, 0.0])]), relative(1e9));
        assert_eq!(unit(false, &[(stamp, &[0.0, 1e5])]), relative(1e3));
        assert_eq!(unit(false, &[(stamp, &[0.0, 1e8])]), relative(1.0));
        let seconds = stamp as f64;
        assert_eq!(unit(false, &[(stamp, &[seconds, seconds + 0.1])]), absolute(1e9));
        assert_eq!(unit(false, &[(stamp, &[seconds * 1e9])]), absolute(1.0));
        // The stamps of a simulation.
        assert_eq!(unit(true, &[(1, &[0.0, 75e6])]), relative(1.0));
        assert_eq!(unit(false, &[(1, &[0.0, 0.1])]), relative(1e9));
        let simulated = [(100, &[100.0, 100.1][..]), (101, &[101.0, 101.1])];
        assert_eq!(unit(false, &simulated), absolute(1e9));
        // The time since the lidar was switched on.
        let uptime = [(stamp, &[90.0, 90.1][..]), (stamp + 1, &[91.0, 91.1])];
        assert_eq!(unit(false, &uptime), None);
        assert_eq!(unit(true, &[(stamp, &[0.0, 2e10])]), None);
        assert_eq!(unit(false, &[]), None);
    }
}
