//! Interference with the compass.

use crate::{
    correlation::{field_strength, thrust_and_field},
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics::{largest, topic_of},
    intervals::{Run, join_runs, runs},
    phases::Phases,
};

/// EKF2 takes the field for disturbed if its strength differs by more than this (parameter
/// `EKF2_MAG_CHK_STR`). Here it is compared with the median on the ground, or of the log.
const MAX_FIELD_CHANGE_GA: f64 = 0.2;
/// The minimum number of samples of a reference, which is their median.
const REFERENCE_SAMPLES: usize = 10;

/// The estimator rejects the measurement if the test ratio is larger (EKF2).
const MAX_TEST_RATIO: f64 = 1.0;

/// How long the field must differ, or be rejected, in the air.
const LEAST_DISTURBANCE_S: f64 = 2.0;
/// Disturbances that are closer together are one.
const JOIN_NANOS: i64 = 10_000_000_000;

/// The field follows the thrust if they are correlated this much, and if it changes by half of
/// what EKF2 takes for a disturbance.
const MAX_CORRELATION: f64 = 0.6;
const MAX_THRUST_EFFECT_GA: f64 = 0.1;

pub(super) fn diagnose(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let mut all: Vec<Diagnosis> = strength(data, phases);
    all.extend(rejections(data, phases));
    all.extend(thrust(data, phases));
    all
}

fn strength(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let Some((field, strength)) = field_strength(data) else { return Vec::new() };
    let rows = field.times.iter().zip(&strength).filter(|(_, s)| s.is_finite());
    let grounded = rows.clone().filter(|(time, _)| !phases.is_airborne(**time));
    let grounded: Vec<f64> = grounded.map(|(_, strength)| *strength).collect();
    let reference =
        median(grounded).or_else(|| median(rows.map(|(_, s)| *s).collect()));
    let Some(reference) = reference else { return Vec::new() };
    let change = |row: usize| Some((strength.get(row)? - reference).abs());
    let is_disturbed = |row: usize| {
        let time = field.times.get(row)?;
        Some(phases.is_airborne(*time) && change(row)? > MAX_FIELD_CHANGE_GA)
    };
    let found = runs(field, is_disturbed).into_iter();
    let found = found.filter(|run| run.observed_seconds(field) >= LEAST_DISTURBANCE_S);
    let found = join_runs(found.collect(), JOIN_NANOS).into_iter();
    let diagnosis = |run: Run| {
        let most = largest(run.rows().filter_map(change));
        Diagnosis::new(
            DiagnosisKind::CompassInterference,
            Severity::Warning,
            (run.start, run.end),
            topic_of(field),
            format!("the magnetic field changed by up to {most:.2} gauss from {reference:.2} gauss"),
        )
        .with_evidence("change of the field", most, "gauss", Some(MAX_FIELD_CHANGE_GA))
        .with_evidence("duration", run.seconds(), "s", Some(LEAST_DISTURBANCE_S))
    };
    found.map(diagnosis).collect()
}

/// Finds rejections of the compass by the instance of the estimator that rejected it longest.
/// All instances have the same compasses.
fn rejections(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let name = "mag_test_ratio";
    let mut worst: (f64, Vec<Diagnosis>) = (0.0, Vec::new());
    for status in data.all("estimator_status") {
        let is_rejected = |row: usize| {
            let time = status.times.get(row)?;
            Some(phases.is_airborne(*time) && status.value(name, row)? > MAX_TEST_RATIO)
        };
        let found = runs(status, is_rejected).into_iter();
        let found =
            found.filter(|run| run.observed_seconds(status) >= LEAST_DISTURBANCE_S);
        let mut own = (0.0, Vec::new());
        for run in join_runs(found.collect(), JOIN_NANOS) {
            let highest = largest(run.rows().filter_map(|row| status.value(name, row)));
            let seconds = run.observed_seconds(status);
            own.0 += seconds;
            own.1.push(
                Diagnosis::new(
                    DiagnosisKind::CompassInterference,
                    Severity::Warning,
                    (run.start, run.end),
                    topic_of(status),
                    format!("the estimator rejected the compass in the air, over {seconds:.1} s"),
                )
                .with_evidence(status.label(name), highest, "", Some(MAX_TEST_RATIO))
                .with_evidence("duration", seconds, "s", Some(LEAST_DISTURBANCE_S)),
            );
        }
        if own.0 > worst.0 {
            worst = own;
        }
    }
    worst.1
}

fn thrust(data: &FlightData, phases: &Phases) -> Option<Diagnosis> {
    let found = thrust_and_field(data)?;
    let change = found.field_change_ga();
    if found.coefficient.abs() < MAX_CORRELATION || change < MAX_THRUST_EFFECT_GA {
        return None;
    }
    let flight = phases.airborne.as_ref()?.list();
    let span = (flight.first()?.0, flight.last()?.1);
    let (field, _) = field_strength(data)?;
    let topic = topic_of(field);
    let text =
        format!("the magnetic field changes by {change:.2} gauss with the thrust");
    let kind = DiagnosisKind::CompassInterference;
    Some(
        Diagnosis::new(kind, Severity::Warning, span, topic, text)
            .with_evidence(
                "correlation of thrust and field",
                found.coefficient,
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
    use crate::data::Series;

    const STEP: i64 = 100_000_000;

    /// 30 seconds, in the air from the third on; `thrust` and `field` by the row.
    fn of(
        thrust: impl Fn(usize) -> f32,
        field: impl Fn(usize) -> f32,
    ) -> Vec<Diagnosis> {
        of_topic("vehicle_magnetometer", thrust, field)
    }

    fn of_topic(
        topic: &str,
        thrust: impl Fn(usize) -> f32,
        field: impl Fn(usize) -> f32,
    ) -> Vec<Diagnosis> {
        let times: Vec<i64> = (0..300).map(|n| n * STEP).collect();
        let column = |of: &dyn Fn(usize) -> f32| (0..300).map(of).collect::<Vec<f32>>();
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
    fn field_of_old_releases_is_that_of_new_ones() {
        let disturbed = |row: usize| if (100..200).contains(&row) { 0.9 } else { 0.45 };
        let found = of_topic("sensor_combined", hover, disturbed);
        let [own] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((own.start_ns, own.end_ns), (100 * STEP, 200 * STEP));
        assert_eq!(own.topic, "sensor_combined");
        assert_eq!(of(hover, disturbed).len(), 1);
    }

    #[test]
    fn steady_field_is_sound() {
        assert_eq!(of(hover, |row| 0.45 + 0.02 * (row as f32).sin()), []);
    }

    #[test]
    fn field_that_differs_for_seconds_is_disturbed() {
        let field =
            |last| move |row| if (100..=last).contains(&row) { 0.8 } else { 0.45 };
        assert_eq!(of(|_| 0.5, field(115)), []);
        let found = of(|_| 0.5, field(130));
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
        let found = of(hover, |row| 0.4 + 0.25 * hover(row));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].summary.contains("with the thrust"), "{found:?}");
        assert_eq!(of(hover, |row| 0.4 + 0.1 * hover(row)), []);
    }
}
