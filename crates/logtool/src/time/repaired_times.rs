//! Finds out which times of a log are possible, and replaces the others if the records are written
//! with their times to another format.

use std::{collections::BTreeMap, sync::Arc};

use logtool_core::{
    Log, Manifest, Selection, TimeRange, Timestamp, TopicOrigin, UsableTimesLog,
};

use crate::{error::Result, formats::LogFormat, time::part_times::PartTimes};

/// A log whose records all have usable times, and a warning.
pub struct RepairedTimes {
    /// The log.
    pub log: Arc<dyn Log>,
    /// A sentence about times that were replaced.
    pub warning: Option<String>,
    /// The usable times, if others are replaced.
    pub usable: Option<TimeRange>,
}

const SECOND: i64 = 1_000_000_000;

/// The known times of a log do not include text messages, which may be this far from the other
/// records: 5 minutes.
const MAX_TEXT_DISTANCE: i64 = 5 * 60 * 1_000_000_000;

/// If the records of a log span at most a year, all times are possible.
const YEAR: i64 = 366 * 86_400 * 1_000_000_000;

impl RepairedTimes {
    /// Replaces unusable times in `log` by the time of a neighbour.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn new(log: Arc<dyn Log>) -> Result<Self> {
        let manifest = log.manifest();
        let outliers: u64 =
            manifest.topics.iter().map(|topic| topic.implausible_times).sum();
        let is_long = |time: TimeRange| time.span_nanos() > YEAR.unsigned_abs();
        let (usable, outliers) = match manifest.time.is_some_and(is_long) {
            // The reader of the format has excluded impossible times already.
            _ if outliers > 0
                || LogFormat::from_manifest(manifest) == Some(LogFormat::Ulog) =>
            {
                (record_times(manifest), outliers)
            }
            true => message_times(&*log)?,
            false => (None, 0),
        };
        match usable.filter(|usable| UsableTimesLog::is_needed(&*log, *usable)) {
            Some(usable) => {
                let log = Arc::new(UsableTimesLog::new(log, usable));
                Ok(Self { log, warning: Some(warning(outliers)), usable: Some(usable) })
            }
            None => Ok(Self { log, warning: None, usable: None }),
        }
    }
}

/// Returns the warning about `outliers` records without a usable time. The count is 0 if only
/// text messages are affected.
fn warning(outliers: u64) -> String {
    let (records, they_are) = match outliers {
        0 => ("text messages have".to_owned(), "they are"),
        1 => ("1 record has".to_owned(), "it is"),
        outliers => (format!("{outliers} records have"), "they are"),
    };
    format!(
        "{records} an impossible time: {they_are} written at the time of the \
         nearest record before"
    )
}

/// Returns the possible times of a log whose format rejects impossible ones. In such a
/// format, 0 means that a record has no timestamp, unless the clock of the log starts there.
fn record_times(manifest: &Manifest) -> Option<TimeRange> {
    let times = manifest.possible_times()?;
    let starts_at_zero = times.start <= Timestamp::from_nanos(SECOND);
    let first = Timestamp::from_nanos(if starts_at_zero { 0 } else { 1 });
    let start = times.start.shifted_by(-MAX_TEXT_DISTANCE).max(first.min(times.start));
    Some(TimeRange { start, end: times.end.shifted_by(MAX_TEXT_DISTANCE) })
}

/// Returns the possible times of a log of messages or packets, and the number of records with
/// impossible times: 0, and those more than a year away from the majority.
fn message_times(log: &dyn Log) -> Result<(Option<TimeRange>, u64)> {
    let manifest = log.manifest();
    let mut years = Years::default();
    let selection =
        Selection { topics: manifest.logged_topics(), ..Selection::default() };
    let is_logged = |topic: logtool_core::TopicId| {
        manifest.topic(topic).is_ok_and(|topic| topic.origin != TopicOrigin::Derived)
    };
    let mut times = PartTimes::new(log, selection);
    while times.read_part(&mut |topic, time| {
        if is_logged(topic) {
            years.add(time);
        }
    })? {}
    Ok(years.majority())
}

/// The times of records, grouped by year.
#[derive(Default)]
struct Years {
    found: BTreeMap<i64, (TimeRange, u64)>,
    /// The number of records, and the number of records at time 0, which is impossible unless
    /// others are near it.
    records: u64,
    zeros: u64,
}

impl Years {
    fn add(&mut self, time: Timestamp) {
        self.records += 1;
        match time.as_nanos() {
            0 => self.zeros += 1,
            _ => self.count(time, 1),
        }
    }

    fn count(&mut self, time: Timestamp, records: u64) {
        let year = time.as_nanos().div_euclid(YEAR);
        let (times, count) = self.found.entry(year).or_insert((TimeRange::EMPTY, 0));
        *times = times.cover(&TimeRange::from_timestamp(time));
        *count += records;
    }

    /// Returns the time range of more than half of the records, which contains no year without
    /// records, and the number of records outside; `None` if there is no such range.
    fn majority(mut self) -> (Option<TimeRange>, u64) {
        let mut candidates = self.records - self.zeros;
        if self.zeros > 0
            && (self.found.contains_key(&0) || self.found.contains_key(&-1))
        {
            self.count(Timestamp::default(), self.zeros);
            candidates = self.records;
        }
        let mut joined: Vec<(i64, TimeRange, u64)> = Vec::new();
        for (year, (times, records)) in self.found {
            match joined.last_mut() {
                Some((last, all, count)) if *last + 1 == year => {
                    (*last, *all, *count) = (year, all.cover(&times), *count + records);
                }
                _ => joined.push((year, times, records)),
            }
        }
        let largest = joined.into_iter().max_by_key(|(.., records)| *records);
        let largest = largest.filter(|(.., records)| *records > candidates / 2);
        match largest {
            Some((_, times, records)) => (Some(times), self.records - records),
            None => (None, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_a_year_from_the_majority_are_impossible() {
        let second = 1_000_000_000;
        let (now, most) = (1_700_000_000 * second, |times: &[i64]| {
            let mut years = Years::default();
            times.iter().for_each(|time| years.add(Timestamp::from_nanos(*time)));
            let (times, outliers) = years.majority();
            (times.map(|t| (t.start.as_nanos(), t.end.as_nanos() - 1)), outliers)
        });
        assert_eq!(most(&[0, now, now + 5]), (Some((now, now + 5)), 1));
        let late = now + 40 * YEAR;
        assert_eq!(most(&[now, late, now + 1, now + 9]), (Some((now, now + 9)), 1));
        assert_eq!(most(&[now, 0, 0]), (Some((now, now)), 2));
        // Two equal groups, and a clock that starts at 0.
        assert_eq!(most(&[late, now]), (None, 0));
        assert_eq!(most(&[0, 0, second]), (Some((0, second)), 0));
        let next = now + YEAR;
        assert_eq!(most(&[now, now, next]), (Some((now, next)), 0));
    }
}
