//! Interference with the compass.

use crate::{
    correlation::{correlate_thrust_and_field, field_strength},
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics::{largest_value, topic_name},
    intervals::{Run, join_runs, runs},
    phases::Phases,
};

/// EKF2 regards the field as disturbed if its strength differs from the expected strength by more
/// than this (parameter `EKF2_MAG_CHK_STR`). Here, the expected strength is the median on the ground,
/// or, if the log does not start on the ground, the median of the log.
const MAX_FIELD_CHANGE_GA: f64 = 0.2;
/// The minimum number of samples of which the expected strength is the median.
const REFERENCE_SAMPLES: usize = 10;

/// The test ratio of the heading. PX4 1.16 renamed it.
const TEST_RATIOS: [&str; 2] = ["hdg_test_ratio", "mag_test_ratio"];
/// The estimator rejects the measurement if the test ratio is larger (EKF2).
const MAX_TEST_RATIO: f64 = 1.0;

/// The minimum time in the air for which the field differs or is rejected.
const MIN_DISTURBANCE_S: f64 = 2.0;
/// Disturbances that are closer together are joined.
const JOIN_NANOS: i64 = 10_000_000_000;

/// The thrust disturbs the field if both are correlated at least this much, and if the field changes
/// by at least half of the change that EKF2 regards as a disturbance.
const MAX_CORRELATION: f64 = 0.6;
const MAX_THRUST_EFFECT_GA: f64 = 0.1;

pub(super) fn diagnose(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let mut diagnoses: Vec<Diagnosis> = strength(data, phases);
    diagnoses.extend(rejections(data, phases));
    diagnoses.extend(thrust(data, phases));
    diagnoses
}

/// Finds times in the air at which the strength of the field differs from its reference.
fn strength(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let Some((field, strength)) = field_strength(data) else { return Vec::new() };
    let rows = field.times.iter().zip(&strength).filter(|(_, s)| s.is_finite());
    let ground_values = rows.clone().filter(|(time, _)| !phases.is_underway(**time));
    let ground_values: Vec<f64> =
        ground_values.map(|(_, strength)| *strength).collect();
    let reference =
        median(ground_values).or_else(|| median(rows.map(|(_, s)| *s).collect()));
    let Some(reference) = reference else { return Vec::new() };
    let change = |row: usize| Some((strength.get(row)? - reference).abs());
    let is_disturbed = |row: usize| {
        let time = field.times.get(row)?;
        Some(phases.is_underway(*time) && change(row)? > MAX_FIELD_CHANGE_GA)
    };
    let disturbed_runs = runs(field, is_disturbed)
        .into_iter()
        .filter(|run| run.observed_seconds(field) >= MIN_DISTURBANCE_S);
    let disturbed_runs = join_runs(disturbed_runs.collect(), JOIN_NANOS).into_iter();
    let diagnosis = |run: Run| {
        let largest_change = largest_value(run.rows().filter_map(change));
        Diagnosis::new(
            DiagnosisKind::CompassInterference,
            Severity::Warning,
            (run.start, run.end),
            topic_name(field),
            format!("the magnetic field changed by up to {largest_change:.2} gauss from {reference:.2} gauss"),
        )
        .with_evidence("change of the field", largest_change, "gauss", Some(MAX_FIELD_CHANGE_GA))
        .with_evidence("duration", run.seconds(), "s", Some(MIN_DISTURBANCE_S))
    };
    disturbed_runs.map(diagnosis).collect()
}

/// Finds the times at which the estimator rejected the compass. If several instances of the
/// estimator did, only the instance that rejected it longest is reported, because all instances
/// read the same compasses.
fn rejections(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let mut worst: (f64, Vec<Diagnosis>) = (0.0, Vec::new());
    for status in data.instances("estimator_status") {
        let mut names = TEST_RATIOS.into_iter();
        let Some(name) = names.find(|name| status.column(name).is_some()) else {
            continue;
        };
        let is_rejected = |row: usize| {
            let time = status.times.get(row)?;
            Some(phases.is_underway(*time) && status.value(name, row)? > MAX_TEST_RATIO)
        };
        let rejected_runs = runs(status, is_rejected)
            .into_iter()
            .filter(|run| run.observed_seconds(status) >= MIN_DISTURBANCE_S);
        let mut current = (0.0, Vec::new());
        for run in join_runs(rejected_runs.collect(), JOIN_NANOS) {
            let highest =
                largest_value(run.rows().filter_map(|row| status.value(name, row)));
            let seconds = run.observed_seconds(status);
            current.0 += seconds;
            current.1.push(
                Diagnosis::new(
                    DiagnosisKind::CompassInterference,
                    Severity::Warning,
                    (run.start, run.end),
                    topic_name(status),
                    format!("the estimator rejected the compass in the air, over {seconds:.1} s"),
                )
                .with_evidence(status.label(name), highest, "", Some(MAX_TEST_RATIO))
                .with_evidence("duration", seconds, "s", Some(MIN_DISTURBANCE_S)),
            );
        }
        if current.0 > worst.0 {
            worst = current;
        }
    }
    worst.1
}

fn thrust(data: &FlightData, phases: &Phases) -> Option<Diagnosis> {
    let correlation = correlate_thrust_and_field(data)?;
    let change = correlation.field_change_ga();
    if correlation.coefficient.abs() < MAX_CORRELATION || change < MAX_THRUST_EFFECT_GA
    {
        return None;
    }
    let flight = phases.underway.as_ref()?.list();
    let flight_time = (flight.first()?.0, flight.last()?.1);
    let (field, _) = field_strength(data)?;
    let topic = topic_name(field);
    let summary =
        format!("the magnetic field changes by {change:.2} gauss with the thrust");
    let kind = DiagnosisKind::CompassInterference;
    Some(
        Diagnosis::new(kind, Severity::Warning, flight_time, topic, summary)
            .with_evidence(
                "correlation of thrust and field",
                correlation.coefficient,
                "",
                Some(MAX_CORRELATION),
            )
            .with_evidence(
                "change with the thrust",
                change,
                "gauss",
                Some(MAX_THRUST_EFFECT_GA),
            ),
    )
}

/// Returns the median of at least [`REFERENCE_SAMPLES`] values.
fn median(mut values: Vec<f64>) -> Option<f64> {
    if values.len() < REFERENCE_SAMPLES {
        return None;
    }
    let middle = values.len() / 2;
    let (_, median, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    Some(*median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Series;

    const STEP: i64 = 100_000_000;

    /// Diagnoses a log of 30 seconds that is in the air from the third second on. `thrust` and
    /// `field` return the value of a row.
    fn diagnoses(
        thrust: impl Fn(usize) -> f32,
        field: impl Fn(usize) -> f32,
    ) -> Vec<Diagnosis> {
        diagnoses_of_topic("vehicle_magnetometer", thrust, field)
    }

    fn diagnoses_of_topic(
        topic: &str,
        thrust: impl Fn(usize) -> f32,
        field: impl Fn(usize) -> f32,
    ) -> Vec<Diagnosis> {
        let times: Vec<i64> = (0..300).map(|n| n * STEP).collect();
        let column = |diagnoses: &dyn Fn(usize) -> f32| {
            (0..300).map(diagnoses).collect::<Vec<f32>>()
        };
        let mut land = Series::new("vehicle_land_detected", 0, vec![0, 30 * STEP]);
        land.add_column("landed", vec![1.0, 0.0]);
        let mut setpoint = Series::new("vehicle_thrust_setpoint", 0, times.clone());
        let mut compass = Series::new(topic, 0, times);
        for axis in 0..3 {
            let values = if axis == 2 { column(&thrust) } else { vec![0.0; 300] };
            setpoint.add_column(format!("xyz[{axis}]"), values);
            let values = if axis == 0 { column(&field) } else { vec![0.0; 300] };
            compass.add_column(format!("magnetometer_ga[{axis}]"), values);
        }
        let data =
            FlightData::new((0, 300 * STEP)).with_series([land, setpoint, compass]);
        let phases = Phases::new(&data);
        diagnose(&data, &phases)
    }

    fn hover(row: usize) -> f32 {
        if row < 30 { 0.0 } else { 0.5 + 0.2 * (row as f32 * 0.3).sin() }
    }

    #[test]
    fn field_of_old_releases_is_read_from_the_combined_sensor() {
        let disturbed = |row: usize| if (100..200).contains(&row) { 0.9 } else { 0.45 };
        let found = diagnoses_of_topic("sensor_combined", hover, disturbed);
        let [own] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((own.start_ns, own.end_ns), (100 * STEP, 200 * STEP));
        assert_eq!(own.topic, "sensor_combined");
        assert_eq!(diagnoses(hover, disturbed).len(), 1);
    }

    #[test]
    fn steady_field_has_no_diagnosis() {
        assert_eq!(diagnoses(hover, |row| 0.45 + 0.02 * (row as f32).sin()), []);
    }

    #[test]
    fn field_that_differs_for_seconds_is_disturbed() {
        let field =
            |last| move |row| if (100..=last).contains(&row) { 0.8 } else { 0.45 };
        assert_eq!(diagnoses(|_| 0.5, field(115)), []);
        let found = diagnoses(|_| 0.5, field(130));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].evidence[0].value - 0.35).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn rejections_are_those_of_the_worst_instance() {
        let times: Vec<i64> = (0..300).map(|n| n * STEP).collect();
        let status = |instance: u32, last: usize| {
            let mut series = Series::new("estimator_status", instance, times.clone());
            // An infinite ratio is a rejection too.
            let ratio = |row| {
                if (50..=last).contains(&row) { f32::INFINITY } else { 0.1 }
            };
            series.add_column("mag_test_ratio", (0..300).map(ratio).collect());
            series
        };
        let mut land = Series::new("vehicle_land_detected", 0, vec![0]);
        land.add_column("landed", vec![0.0]);
        let series = [land, status(0, 60), status(1, 90), status(2, 80)];
        let data = FlightData::new((0, 300 * STEP)).with_series(series);
        let phases = Phases::new(&data);
        let found = diagnose(&data, &phases);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].topic, "estimator_status.1");
        assert_eq!((found[0].start_ns, found[0].end_ns), (50 * STEP, 91 * STEP));
    }

    #[test]
    fn field_that_follows_the_thrust_is_disturbed() {
        let found = diagnoses(hover, |row| 0.4 + 0.25 * hover(row));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].summary.contains("with the thrust"), "{found:?}");
        assert_eq!(diagnoses(hover, |row| 0.4 + 0.1 * hover(row)), []);
    }
}
