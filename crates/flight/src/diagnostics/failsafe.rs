//! Failsafes, detected failures, and hard faults.

use crate::{
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics::topic_name,
    intervals::{Run, runs},
    phases::Phases,
    series::Series,
};

/// The minimum duration of a failsafe while the vehicle is armed.
const MIN_FAILSAFE_S: f64 = 0.5;

/// `NAVIGATION_STATE_TERMINATION` (uORB, `VehicleStatus.msg`).
const TERMINATION: f64 = 13.0;

/// The failures that PX4 detects (uORB): the field of the topic `failure_detector_status`, the bit
/// of the field `vehicle_status.failure_detector_status` in older logs, and the display name.
const FAILURES: [(&str, u32, &str); 8] = [
    ("fd_roll", 0, "the roll angle"),
    ("fd_pitch", 1, "the pitch angle"),
    ("fd_alt", 2, "the height"),
    ("fd_ext", 3, "an external failure"),
    ("fd_arm_escs", 4, "the ESCs when arming"),
    ("fd_battery", 5, "the battery"),
    ("fd_imbalanced_prop", 6, "an imbalanced propeller"),
    ("fd_motor", 7, "a motor"),
];

pub(super) fn diagnose(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    if let Some(status) = data.first_instance("vehicle_status") {
        diagnoses.extend(failsafes(status, phases));
    }
    diagnoses.extend(failures(data, phases));
    if data.hard_faults > 0 {
        let count = data.hard_faults;
        let dumps = if count == 1 {
            "the dump of a hard fault"
        } else {
            "dumps of hard faults"
        };
        let summary =
            format!("the log has {dumps} ({count}), of this or an earlier flight");
        let kind = DiagnosisKind::HardFault;
        diagnoses.push(
            Diagnosis::new(
                kind,
                Severity::Critical,
                data.time,
                "hardfault_plain",
                summary,
            )
            .with_evidence("dumps", count as f64, "", Some(0.0)),
        );
    }
    diagnoses
}

fn failsafes(status: &Series, phases: &Phases) -> Vec<Diagnosis> {
    let armed = |row: usize| status.times.get(row).map(|time| phases.is_armed(*time));
    let is_on = |row: usize| Some(armed(row)? && status.value("failsafe", row)? == 1.0);
    let failsafe_runs = runs(status, is_on).into_iter();
    let failsafe_runs = failsafe_runs.filter(|run| run.seconds() >= MIN_FAILSAFE_S);
    let failsafe = |run: Run| {
        let seconds = run.seconds();
        Diagnosis::new(
            DiagnosisKind::Failsafe,
            Severity::Critical,
            (run.start, run.end),
            topic_name(status),
            format!("PX4 was in a failsafe for {seconds:.1} s"),
        )
        .with_evidence(status.label("failsafe"), 1.0, "", None)
        .with_evidence("duration", seconds, "s", Some(MIN_FAILSAFE_S))
    };
    let mut diagnoses: Vec<Diagnosis> = failsafe_runs.map(failsafe).collect();
    let is_terminated = |row: usize| {
        Some(armed(row)? && status.value("nav_state", row)? == TERMINATION)
    };
    diagnoses.extend(runs(status, is_terminated).into_iter().map(|run| {
        Diagnosis::new(
            DiagnosisKind::Failsafe,
            Severity::Critical,
            (run.start, run.end),
            topic_name(status),
            "PX4 terminated the flight",
        )
        .with_evidence(status.label("nav_state"), TERMINATION, "", None)
    }));
    diagnoses
}

fn failures(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let detector = data.first_instance("failure_detector_status");
    let status = data.first_instance("vehicle_status");
    let Some(series) = detector.or(status) else { return Vec::new() };
    let mut diagnoses = Vec::new();
    for (field, bit, name) in FAILURES {
        let is_set = |row: usize| {
            if detector.is_some() {
                return Some(series.value(field, row)? == 1.0);
            }
            let flags = series.value("failure_detector_status", row)?;
            Some((flags as u32 >> bit) & 1 == 1)
        };
        let is_failed =
            |row: usize| Some(phases.is_armed(*series.times.get(row)?) && is_set(row)?);
        let failed_runs = runs(series, is_failed).into_iter();
        let Some(run) = failed_runs.max_by(|a, b| a.seconds().total_cmp(&b.seconds()))
        else {
            continue;
        };
        let kind = match field {
            "fd_motor" | "fd_imbalanced_prop" => DiagnosisKind::MotorFailure,
            "fd_arm_escs" => DiagnosisKind::EscFailure,
            _ => DiagnosisKind::Failsafe,
        };
        let field = if detector.is_some() { field } else { "failure_detector_status" };
        diagnoses.push(
            Diagnosis::new(
                kind,
                Severity::Critical,
                (run.start, run.end),
                topic_name(series),
                format!("the failure detector of PX4 reports {name}"),
            )
            .with_evidence(
                series.label(field),
                series.value(field, run.first).unwrap_or(f64::NAN),
                "",
                None,
            ),
        );
    }
    diagnoses
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn status() -> Series {
        let mut status =
            Series::new("vehicle_status", 0, (0..5).map(|s| s * SECOND).collect());
        status.add_column("arming_state", vec![1.0, 2.0, 2.0, 2.0, 2.0]);
        status
    }

    fn diagnoses(series: Vec<Series>) -> Vec<Diagnosis> {
        let data = FlightData::new((0, 5 * SECOND)).with_series(series);
        let phases = Phases::new(&data);
        diagnose(&data, &phases)
    }

    #[test]
    fn failsafe_counts_only_while_armed() {
        let with = |failsafe: [f32; 5]| {
            let mut status = status();
            status.add_column("failsafe", failsafe.to_vec());
            diagnoses(vec![status])
        };
        assert_eq!(with([1.0, 0.0, 0.0, 0.0, 0.0]), []);
        let found = with([0.0, 0.0, 1.0, 1.0, 0.0]);
        assert_eq!((found.len(), found[0].seconds()), (1, 2.0));
    }

    #[test]
    fn bit_and_field_of_the_failure_detector_are_the_same() {
        let mut old = status();
        old.add_column("failure_detector_status", vec![0.0, 0.0, 128.0, 0.0, 0.0]);
        let mut new = Series::new("failure_detector_status", 0, status().times);
        new.add_column("fd_motor", vec![0.0, 0.0, 1.0, 0.0, 0.0]);
        for found in [diagnoses(vec![old]), diagnoses(vec![status(), new])] {
            assert_eq!((found.len(), found[0].kind), (1, DiagnosisKind::MotorFailure));
            assert_eq!(found[0].start_ns, 2 * SECOND);
        }
    }

    #[test]
    fn termination_and_hard_faults_are_critical() {
        let mut status = status();
        status.add_column("nav_state", vec![3.0, 3.0, 13.0, 13.0, 13.0]);
        let mut data = FlightData::new((0, 5 * SECOND)).with_series([status]);
        data.hard_faults = 2;
        let phases = Phases::new(&data);
        let kinds: Vec<_> = diagnose(&data, &phases).iter().map(|d| d.kind).collect();
        assert_eq!(kinds, [DiagnosisKind::Failsafe, DiagnosisKind::HardFault]);
    }
}
