//! The times of points.

use arrow_array::{ArrayRef, cast::AsArray as _, types::TimestampNanosecondType};

use crate::points::{
    column::{NumberType, PointColumn, TIME_NAMES, floats, time_values},
    file::{Points, array_at},
    survey::{TimeUnit, TopicSurvey},
};

/// The columns of the times of points.
///
/// A point of a message has its own time, if there is one. Otherwise it has the stamp of the
/// message, or the time of the record if the stamp is not set, or if times are not Unix time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TimeColumns {
    /// The index of the time of the record, or of the point.
    pub(super) record: Option<usize>,
    stamp: Option<usize>,
    /// The index of the own times of points, and their meaning.
    own: Option<(usize, TimeUnit)>,
    /// The names of columns whose meaning is not known.
    pub(super) unknown: Vec<String>,
}

impl TimeColumns {
    /// Finds the times in `columns` of a topic with the values of `survey`.
    pub(super) fn find(columns: &[PointColumn], survey: &TopicSurvey) -> Self {
        let is_time = |column: &PointColumn| column.number_type == NumberType::Time;
        let mut times = Self {
            record: columns.iter().position(is_time),
            stamp: columns.iter().position(PointColumn::is_stamp),
            ..Self::default()
        };
        if times.stamp.is_none() {
            return times;
        }
        // The times of the beams of a scan.
        let is_beam_time =
            |column: &PointColumn| is_time(column) && column.own_name == "beam_time";
        if let Some(index) = columns.iter().position(is_beam_time) {
            times.own = Some((index, TimeUnit::Absolute(1.0)));
            return times;
        }
        let rank = |index: &usize| {
            let name = columns.get(*index).map(|column| column.own_name.as_str());
            TIME_NAMES.iter().position(|known| name == Some(known))
        };
        let may_be_own = |index: &usize| {
            columns.get(*index).is_some_and(PointColumn::may_be_own_time)
        };
        let mut candidates: Vec<usize> =
            (0..columns.len()).filter(may_be_own).collect();
        candidates.sort_by_key(rank);
        for index in candidates {
            let Some(column) = columns.get(index) else { continue };
            match survey.time_unit(column) {
                Some(unit) => drop(times.own.get_or_insert((index, unit))),
                None => times.unknown.push(column.own_name.clone()),
            }
        }
        times
    }

    /// Returns whether the times of points are those of the column at `index`.
    pub(super) fn are_those_of(&self, index: usize) -> bool {
        self.stamp.is_none() && self.record == Some(index)
    }

    /// Returns the time of each of `points` in nanoseconds, and the number of points whose own time
    /// is not a number. `is_unix` states whether the times of records are Unix time.
    pub(super) fn nanos(
        &self,
        points: &Points,
        is_unix: bool,
    ) -> (Vec<Option<i64>>, u64) {
        let column = |index| {
            let times = array_at(points, index).and_then(time_values);
            times.unwrap_or_else(|| vec![None; points.count])
        };
        let mut times = column(self.record);
        if self.stamp.is_none() {
            return (times, 0);
        }
        let stamps = column(self.stamp);
        let records = times.clone();
        if is_unix {
            // A stamp that is not set is 0.
            for (time, stamp) in times.iter_mut().zip(&stamps) {
                *time = stamp.filter(|stamp| *stamp > 0).or(*time);
            }
        }
        let own_times = self.own.and_then(|(index, unit)| {
            Some(own_times(array_at(points, Some(index))?, unit))
        });
        let (mut missing, own_times) = (0, own_times.unwrap_or_default());
        let messages = times.iter_mut().zip(records).zip(&stamps);
        for (((time, record), stamp), own) in messages.zip(own_times) {
            *time = match own {
                None => {
                    missing += 1;
                    *time
                }
                Some(OwnTime::Relative(nanos)) => time.map(|t| t.saturating_add(nanos)),
                Some(OwnTime::Absolute(nanos)) if is_unix => Some(nanos),
                Some(OwnTime::Absolute(nanos)) => {
                    let distance = nanos.saturating_sub(stamp.unwrap_or(nanos));
                    record.map(|record| record.saturating_add(distance))
                }
            };
        }
        (times, missing)
    }
}

/// The time of a point in nanoseconds.
#[derive(Clone, Copy, Debug)]
enum OwnTime {
    /// Unix time.
    Absolute(i64),
    /// The time since the stamp of the message.
    Relative(i64),
}

/// Returns the times that the values of `array` mean; `None` where there is no number.
fn own_times(array: &ArrayRef, unit: TimeUnit) -> Vec<Option<OwnTime>> {
    if let Some(times) = array.as_primitive_opt::<TimestampNanosecondType>() {
        return times.iter().map(|time| time.map(OwnTime::Absolute)).collect();
    }
    let own_time = |value: f64| match unit {
        TimeUnit::Absolute(unit) => {
            // The product of a float and a unit has less precision than its parts.
            let whole = (value.trunc() as i64).saturating_mul(unit as i64);
            let rest = (value.fract() * unit).round() as i64;
            OwnTime::Absolute(whole.saturating_add(rest))
        }
        // `as` saturates.
        TimeUnit::Relative(unit) => OwnTime::Relative((value * unit).round() as i64),
    };
    let values = floats(array).into_iter();
    values.map(|value| value.is_finite().then(|| own_time(value))).collect()
}
