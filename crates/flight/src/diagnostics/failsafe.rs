//! Failsafes, detected failures, and hard faults.

use crate::{
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics::{motor_commands::InjectedFailures, topic_name},
    intervals::{Run, runs},
    phases::Phases,
    series::Series,
};

/// The minimum duration of a failsafe while the vehicle is armed.
const MIN_FAILSAFE_S: f64 = 0.5;

/// `NAVIGATION_STATE_TERMINATION` (uORB, `VehicleStatus.msg`).
const TERMINATION: f64 = 13.0;

/// The failures that PX4 detects (uORB): the field of the topic `failure_detector_status`, the name of
/// the bit of the field `vehicle_status.failure_detector_status` in older logs, and the display name.
const FAILURES: [(&str, &str, &str); 9] = [
    ("fd_roll", "FAILURE_ROLL", "the roll angle"),
    ("fd_pitch", "FAILURE_PITCH", "the pitch angle"),
    ("fd_alt", "FAILURE_ALT", "the height"),
    ("fd_ext", "FAILURE_EXT", "an external failure"),
    ("fd_arm_escs", "FAILURE_ARM_ESC", "the ESCs when arming"),
    ("fd_battery", "FAILURE_BATTERY", "the battery"),
    ("fd_high_wind", "FAILURE_HIGH_WIND", "a strong wind"),
    ("fd_imbalanced_prop", "FAILURE_IMBALANCED_PROP", "an imbalanced propeller"),
    ("fd_motor", "FAILURE_MOTOR", "a motor"),
];

/// A flag of `failsafe_flags` that reports a fault.
struct Flag {
    field: &'static str,
    kind: DiagnosisKind,
    severity: Severity,
    /// What the flag reports.
    text: &'static str,
    /// The field of `failure_detector_status` that reports the same with more detail.
    detector: &'static str,
}

const fn flag(
    field: &'static str,
    kind: DiagnosisKind,
    severity: Severity,
    text: &'static str,
    detector: &'static str,
) -> Flag {
    Flag { field, kind, severity, text, detector }
}

/// The flags that report faults (uORB, `FailsafeFlags.msg`). The other ones report what flight modes need
/// (`*_invalid`, `mode_req_*`), or links, which have rules of their own.
const FLAGS: [Flag; 20] = {
    use DiagnosisKind as Kind;
    use Severity::{Critical, Warning};
    let height = "an uncommanded loss of height";
    let failure = "a critical failure";
    let escs = "a failure of the ESCs when arming";
    let propeller = "an imbalanced propeller";
    [
        flag("fd_alt_loss", Kind::HeightLoss, Critical, height, ""),
        flag("fd_critical_failure", Kind::Failsafe, Critical, failure, "fd_roll"),
        flag("fd_esc_arming_failure", Kind::EscFailure, Critical, escs, "fd_arm_escs"),
        flag(
            "fd_imbalanced_prop",
            Kind::MotorFailure,
            Critical,
            propeller,
            "fd_imbalanced_prop",
        ),
        flag(
            "fd_motor_failure",
            Kind::MotorFailure,
            Critical,
            "a failure of a motor",
            "fd_motor",
        ),
        flag(
            "battery_unhealthy",
            Kind::BatteryLow,
            Warning,
            "that the battery is unhealthy",
            "",
        ),
        flag(
            "geofence_breached",
            Kind::GeofenceBreach,
            Warning,
            "that the vehicle left the geofence",
            "",
        ),
        flag(
            "primary_geofence_breached",
            Kind::GeofenceBreach,
            Warning,
            "that the vehicle left the geofence",
            "",
        ),
        flag("gnss_lost", Kind::GpsLoss, Warning, "that a GNSS receiver is lost", ""),
        flag(
            "parachute_unhealthy",
            Kind::SafetyEquipment,
            Warning,
            "that the parachute is missing or does not work",
            "",
        ),
        flag(
            "remote_id_unhealthy",
            Kind::SafetyEquipment,
            Warning,
            "that the remote ID is missing or does not work",
            "",
        ),
        flag(
            "traffic_avoidance_unhealthy",
            Kind::SafetyEquipment,
            Warning,
            "that the traffic avoidance is missing or does not work",
            "",
        ),
        flag(
            "vtol_fixed_wing_system_failure",
            Kind::Failsafe,
            Warning,
            "a failure of the system for fixed-wing flight",
            "",
        ),
        flag(
            "wind_limit_exceeded",
            Kind::Failsafe,
            Warning,
            "that the wind exceeds its limit",
            "",
        ),
        flag(
            "navigator_failure",
            Kind::Failsafe,
            Warning,
            "that the navigator failed",
            "",
        ),
        flag("mission_failure", Kind::Failsafe, Warning, "that the mission failed", ""),
        flag(
            "flight_time_limit_exceeded",
            Kind::Failsafe,
            Warning,
            "that the flight time exceeds its limit",
            "",
        ),
        flag(
            "battery_low_remaining_time",
            Kind::BatteryLow,
            Warning,
            "that the charge lasts only for the return",
            "",
        ),
        flag(
            "position_accuracy_low",
            Kind::PositionLoss,
            Warning,
            "that the accuracy of the position is low",
            "",
        ),
        flag(
            "local_position_accuracy_low",
            Kind::PositionLoss,
            Warning,
            "that the accuracy of the position is low",
            "",
        ),
    ]
};

pub(super) fn diagnose(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    if let Some(status) = data.first_instance("vehicle_status") {
        diagnoses.extend(failsafes(status, phases));
    }
    diagnoses.extend(failures(data, phases));
    diagnoses.extend(flags(data, phases));
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

/// Finds flags of `failsafe_flags` that are set while the vehicle is armed. A failure of a motor that was
/// injected is not one.
fn flags(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let Some(flags) = data.first_instance("failsafe_flags") else { return Vec::new() };
    let detector = data.first_instance("failure_detector_status");
    let injected = InjectedFailures::new(data);
    let mut diagnoses = Vec::new();
    for Flag { field, kind, severity, text, detector: other } in FLAGS {
        if detector.is_some_and(|detector| detector.column(other).is_some()) {
            continue;
        }
        let is_set = |row: usize| {
            let time = flags.times.get(row)?;
            let is_set = phases.is_armed(*time) && flags.value(field, row)? == 1.0;
            let is_injected =
                || field == "fd_motor_failure" && injected.mask(*time) != 0;
            Some(is_set && !is_injected())
        };
        let set_runs = runs(flags, is_set).into_iter();
        diagnoses.extend(set_runs.filter(|run| run.seconds() >= MIN_FAILSAFE_S).map(
            |run| {
                let seconds = run.seconds();
                let summary = format!("PX4 reports {text}, for {seconds:.1} s");
                let times = (run.start, run.end);
                Diagnosis::new(kind, severity, times, topic_name(flags), summary)
                    .with_evidence(flags.label(field), 1.0, "", None)
                    .with_evidence("duration", seconds, "s", Some(MIN_FAILSAFE_S))
            },
        ));
    }
    diagnoses
}

fn failures(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let detector = data.first_instance("failure_detector_status");
    let status = data.first_instance("vehicle_status");
    let Some(series) = detector.or(status) else { return Vec::new() };
    let injected = InjectedFailures::new(data);
    // Of the motors that failed, the log may name those that are stopped by an injected failure.
    let is_injected = |row: usize, time: i64| {
        let failed = series.value("motor_failure_mask", row).unwrap_or_default();
        let injected = injected.mask(time);
        injected != 0 && failed as u32 & !injected == 0
    };
    let mut diagnoses = Vec::new();
    let bits = data.bit_names.get("vehicle_status.failure_detector_status");
    for (field, bit_name, name) in FAILURES {
        let mut bits = bits.into_iter().flatten();
        let bit = bits.find(|(_, own)| *own == bit_name).map(|(bit, _)| *bit);
        let is_set = |row: usize| {
            if detector.is_some() {
                return Some(series.value(field, row)? == 1.0);
            }
            let flags = series.value("failure_detector_status", row)?;
            Some((flags as u32 >> bit?) & 1 == 1)
        };
        let is_failed = |row: usize| {
            let time = *series.times.get(row)?;
            let is_failed = phases.is_armed(time) && is_set(row)?;
            Some(is_failed && !(field == "fd_motor" && is_injected(row, time)))
        };
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
        let mut data = FlightData::new((0, 5 * SECOND)).with_series(series);
        let bits = [(7, "FAILURE_MOTOR".to_owned())].into();
        data.bit_names
            .insert("vehicle_status.failure_detector_status".to_owned(), bits);
        let phases = Phases::new(&data);
        diagnose(&data, &phases)
    }

    #[test]
    fn flags_of_faults_are_reported_while_armed() {
        let with = |field: &str| {
            let mut flags = Series::new("failsafe_flags", 0, status().times);
            flags.add_column(field, vec![1.0, 0.0, 1.0, 1.0, 0.0]);
            let found = diagnoses(vec![status(), flags]);
            let found = found.iter().map(|d| (d.kind, d.start_ns, d.end_ns));
            found.collect::<Vec<_>>()
        };
        let times = (2 * SECOND, 4 * SECOND);
        for (field, kind) in [
            ("fd_alt_loss", DiagnosisKind::HeightLoss),
            ("geofence_breached", DiagnosisKind::GeofenceBreach),
            ("gnss_lost", DiagnosisKind::GpsLoss),
            ("parachute_unhealthy", DiagnosisKind::SafetyEquipment),
            ("remote_id_unhealthy", DiagnosisKind::SafetyEquipment),
            ("traffic_avoidance_unhealthy", DiagnosisKind::SafetyEquipment),
            ("fd_motor_failure", DiagnosisKind::MotorFailure),
            ("vtol_fixed_wing_system_failure", DiagnosisKind::Failsafe),
            ("wind_limit_exceeded", DiagnosisKind::Failsafe),
            ("navigator_failure", DiagnosisKind::Failsafe),
            ("mission_failure", DiagnosisKind::Failsafe),
            ("flight_time_limit_exceeded", DiagnosisKind::Failsafe),
            ("battery_low_remaining_time", DiagnosisKind::BatteryLow),
            ("position_accuracy_low", DiagnosisKind::PositionLoss),
            ("local_position_accuracy_low", DiagnosisKind::PositionLoss),
        ] {
            assert_eq!(with(field), [(kind, times.0, times.1)], "{field}");
        }
        assert_eq!(with("mode_req_other"), []);
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
    fn injected_failures_of_motors_are_not_reported() {
        let found = |topic: &str, field: &str, failed: Option<f32>, stopped: f32| {
            let mut series = Series::new(topic, 0, status().times);
            series.add_column(field, vec![0.0, 0.0, 1.0, 1.0, 0.0]);
            if let Some(failed) = failed {
                let masks = vec![0.0, 0.0, failed, failed, 0.0];
                series.add_column("motor_failure_mask", masks);
            }
            let mut masks = Series::new("control_allocator_status", 0, status().times);
            masks.add_column("motor_stop_mask", vec![0.0, 0.0, 0.0, stopped, 0.0]);
            diagnoses(vec![status(), series, masks]).len()
        };
        let detector = "failure_detector_status";
        assert_eq!(found(detector, "fd_motor", None, 0.0), 1);
        assert_eq!(found(detector, "fd_motor", None, 2.0), 0);
        assert_eq!(found(detector, "fd_motor", Some(2.0), 2.0), 0);
        // Another motor failed as well.
        assert_eq!(found(detector, "fd_motor", Some(3.0), 2.0), 1);
        assert_eq!(found("failsafe_flags", "fd_motor_failure", None, 0.0), 1);
        assert_eq!(found("failsafe_flags", "fd_motor_failure", None, 2.0), 0);
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
