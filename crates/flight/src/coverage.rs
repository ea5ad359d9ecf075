//! The parts of a log in which its topics have values.

use crate::intervals::Intervals;

/// The shortest time without values that is a pause, in nanoseconds. Dropouts of the logger are mostly
/// shorter, and are reported as such.
pub(crate) const SHORTEST_PAUSE: i64 = 5_000_000_000;

/// A time without values is a pause if it is this many times as long as the mean interval.
const PAUSE: i64 = 10;

/// A state with fewer values than this may have been logged only when it changed, as old releases of PX4
/// did, so that the last value holds until the end.
const VALUES_OF_STATE: usize = 10;

/// Returns when there are values, from their `times`, without pauses.
pub(crate) fn of(times: &[i64]) -> Intervals {
    let (Some(first), Some(last)) = (times.first(), times.last()) else {
        return Intervals::default();
    };
    let count = i64::try_from(times.len()).unwrap_or(i64::MAX);
    let mean = last.saturating_sub(*first) / count;
    let longest = mean.saturating_mul(PAUSE).max(SHORTEST_PAUSE);
    let mut found = Vec::new();
    let mut current = (*first, *first);
    for time in times {
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

/// Returns when a state of the vehicle is known, from the times of its values. `end` is the end of the
/// log.
pub(crate) fn of_state(times: &[i64], end: i64) -> Intervals {
    match times.iter().min() {
        Some(first) if times.len() < VALUES_OF_STATE => {
            Intervals::from_unsorted(vec![(*first, end)])
        }
        _ => of(times),
    }
}

#[cfg(test)]
mod tests {
    use crate::{DiagnosisKind, FlightData, analyze, series::Series};

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
    fn parts_without_values_are_unexamined() {
        let all: Vec<i64> = (0..100).collect();
        let gap = |value: f32| {
            let mut battery = series("battery_status", "warning", 0.0, &all.clone());
            let voltage =
                |second| if (40..70).contains(&second) { value } else { 16.0 };
            battery.add_column("voltage_v", (0..100).map(voltage).collect());
            FlightData::new((0, 100 * SECOND)).with_series([
                series("vehicle_status", "arming_state", 2.0, &all),
                battery,
            ])
        };
        let missing = [(39, 70, "battery_status".to_owned())];
        for value in [f32::NAN, 0.0] {
            let data = gap(value);
            assert_eq!(parts(&data, DiagnosisKind::BatterySag), missing, "{value}");
            assert_eq!(parts(&data, DiagnosisKind::BatteryLow), [], "{value}");
        }
        assert_eq!(parts(&gap(15.0), DiagnosisKind::BatterySag), []);
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
