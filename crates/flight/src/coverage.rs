//! The parts of a log in which its topics have records.

use std::collections::BTreeMap;

use crate::{data::FlightData, intervals::Intervals, series::Series};

/// The shortest time without records that is a pause, in nanoseconds. Dropouts of the logger are mostly
/// shorter, and are reported as such.
pub(crate) const SHORTEST_PAUSE: i64 = 5_000_000_000;

/// A time without records is a pause if it is this many times as long as the mean interval.
const PAUSE: i64 = 10;

/// A topic with a state and fewer records than this may have been logged only when the state changed, as
/// old releases of PX4 did, so that the last record holds until the end.
const RECORDS_OF_STATE: usize = 10;

/// When each topic has records.
pub(crate) struct Coverage<'d> {
    topics: BTreeMap<&'d str, TopicCoverage>,
}

/// When a topic has records, all instances together.
#[derive(Default)]
struct TopicCoverage {
    records: usize,
    intervals: Intervals,
    /// The same, if the last record before a pause holds until the next one.
    held: Intervals,
}

impl<'d> Coverage<'d> {
    pub(crate) fn new(data: &'d FlightData) -> Self {
        let mut topics: BTreeMap<&str, TopicCoverage> = BTreeMap::new();
        for series in &data.series {
            let own = topics.entry(&series.topic).or_default();
            own.records += series.times.len();
            own.intervals = own.intervals.union(&intervals(series));
            if let Some(first) = series.times.iter().min() {
                let held = Intervals::from_unsorted(vec![(*first, data.time.1)]);
                own.held = own.held.union(&held);
            }
        }
        Self { topics }
    }

    /// Returns when one of `topics` has records.
    pub(crate) fn of(&self, topics: &[&str]) -> Intervals {
        self.union(topics, |own| &own.intervals)
    }

    /// Returns when one of `topics`, which have the state of the vehicle, states it.
    pub(crate) fn of_states(&self, topics: &[&str]) -> Intervals {
        self.union(topics, |own| match own.records < RECORDS_OF_STATE {
            true => &own.held,
            false => &own.intervals,
        })
    }

    fn union(
        &self,
        topics: &[&str],
        intervals: impl Fn(&TopicCoverage) -> &Intervals,
    ) -> Intervals {
        let found = topics.iter().filter_map(|topic| self.topics.get(topic));
        found.fold(Intervals::default(), |all, own| all.union(intervals(own)))
    }
}

/// Returns when `series` has records, without pauses.
fn intervals(series: &Series) -> Intervals {
    let (Some(first), Some(last)) = (series.times.first(), series.times.last()) else {
        return Intervals::default();
    };
    let count = i64::try_from(series.times.len()).unwrap_or(i64::MAX);
    let mean = last.saturating_sub(*first) / count;
    let longest = mean.saturating_mul(PAUSE).max(SHORTEST_PAUSE);
    let mut found = Vec::new();
    let mut current = (*first, *first);
    for time in &series.times {
        if (0..=longest).contains(&time.saturating_sub(current.1)) {
            current.1 = *time;
        } else {
            found.push(current);
            current = (*time, *time);
        }
    }
    found.push(current);
    Intervals::from_unsorted(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DiagnosisKind, analyze};

    const SECOND: i64 = 1_000_000_000;

    fn series(topic: &str, field: &str, value: f32, seconds: &[i64]) -> Series {
        let times: Vec<i64> = seconds.iter().map(|second| second * SECOND).collect();
        let count = times.len();
        let mut series = Series::new(topic, 0, times);
        series.add_column(field, vec![value; count]);
        series
    }

    /// Returns the parts, in seconds, in which `kind` was not examined.
    fn parts(data: &FlightData, kind: DiagnosisKind) -> Vec<(i64, i64, String)> {
        let mut examinations = analyze(data).examinations.into_iter();
        let own = examinations.find(|examination| examination.kind == kind).unwrap();
        let parts = own.unexamined_parts.into_iter();
        parts
            .map(|part| (part.start_ns / SECOND, part.end_ns / SECOND, part.missing))
            .collect()
    }

    #[test]
    fn topic_that_starts_late_pauses_or_stops_leaves_parts_unexamined() {
        let all: Vec<i64> = (0..100).collect();
        let some: Vec<i64> =
            (20..80).filter(|second| !(40..55).contains(second)).collect();
        let data = FlightData::new((0, 100 * SECOND)).with_series([
            series("vehicle_status", "arming_state", 2.0, &all),
            series("battery_status", "voltage_v", 16.0, &some),
        ]);
        let missing = |start, end| (start, end, "battery_status".to_owned());
        assert_eq!(
            parts(&data, DiagnosisKind::BatteryBrownout),
            [missing(0, 20), missing(39, 55), missing(79, 100)]
        );
        assert_eq!(parts(&data, DiagnosisKind::HardFault), []);
        let analysis = analyze(&data);
        assert!(analysis.examination_summary().contains("only in a part of the log"));
        let first = &analysis.unexamined_parts()[0];
        assert_eq!((first.start_ns, first.end_ns), (0, 20 * SECOND));
        assert!(first.kinds.contains(&DiagnosisKind::BatteryBrownout));
    }

    #[test]
    fn parts_on_the_ground_and_states_that_hold_do_not_matter() {
        let mut status =
            Series::new("vehicle_status", 0, [0, 30, 60].map(|s| s * SECOND).to_vec());
        status.add_column("arming_state", vec![1.0, 2.0, 1.0]);
        let while_armed: Vec<i64> = (29..62).collect();
        let data = FlightData::new((0, 100 * SECOND)).with_series([
            status,
            series("battery_status", "voltage_v", 16.0, &while_armed),
        ]);
        assert_eq!(parts(&data, DiagnosisKind::BatteryBrownout), []);
    }

    #[test]
    fn state_that_starts_late_is_unknown_before() {
        let late: Vec<i64> = (50..100).collect();
        let all: Vec<i64> = (0..100).collect();
        let data = FlightData::new((0, 100 * SECOND)).with_series([
            series("vehicle_status", "arming_state", 2.0, &late),
            series("battery_status", "voltage_v", 16.0, &all),
        ]);
        let unknown = [(0, 50, "vehicle_status".to_owned())];
        assert_eq!(parts(&data, DiagnosisKind::BatteryBrownout), unknown);
    }
}
