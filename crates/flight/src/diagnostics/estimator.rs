//! The estimator EKF2, and the controller TECS.

use std::collections::VecDeque;

use crate::{
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics::{largest_value, topic_name},
    intervals::{Run, runs},
    phases::Phases,
    series::{Series, seconds},
};

/// The estimator rejects an innovation if its test ratio is larger than `MAX_TEST_RATIO`. The other
/// two are the minimum durations of a diagnosis and of a critical diagnosis (flight-review-rs,
/// `diagnostics/ekf_failure.rs`).
const MAX_TEST_RATIO: f64 = 1.0;
const MIN_FAILURE_S: f64 = 2.0;
const CRITICAL_FAILURE_S: f64 = 5.0;
const RATIOS: [(&str, &str); 3] = [
    ("vel_test_ratio", "velocity"),
    ("pos_test_ratio", "position"),
    ("hgt_test_ratio", "height"),
];

/// The minimum time for which a fault flag of the filter is set while the vehicle is armed.
const MIN_FAULT_S: f64 = 1.0;

/// The field with a bit for each fault of the filter, as `topic.field`.
pub const FILTER_FAULTS: &str = "estimator_status.filter_fault_flags";

/// The faults of the filter in the order of the bits, by their fields of `estimator_status_flags` (uORB,
/// `EstimatorStatusFlags.msg`). Releases since 1.15 have only some of them, so that their bits differ.
const FAULTS: [(&str, &str); 18] = [
    ("fs_bad_mag_x", "fusion of the magnetometer, x"),
    ("fs_bad_mag_y", "fusion of the magnetometer, y"),
    ("fs_bad_mag_z", "fusion of the magnetometer, z"),
    ("fs_bad_hdg", "fusion of the magnetic heading"),
    ("fs_bad_mag_decl", "fusion of the magnetic declination"),
    ("fs_bad_airspeed", "fusion of the airspeed"),
    ("fs_bad_sideslip", "fusion of the sideslip"),
    ("fs_bad_optflow_x", "fusion of the optical flow, x"),
    ("fs_bad_optflow_y", "fusion of the optical flow, y"),
    ("fs_bad_vel_n", "fusion of the velocity north"),
    ("fs_bad_vel_e", "fusion of the velocity east"),
    ("fs_bad_vel_d", "fusion of the velocity down"),
    ("fs_bad_pos_n", "fusion of the position north"),
    ("fs_bad_pos_e", "fusion of the position east"),
    ("fs_bad_pos_d", "fusion of the position down"),
    ("fs_bad_acc_bias", "bad bias of the accelerometer"),
    ("fs_bad_acc_vertical", "bad vertical acceleration"),
    ("fs_bad_acc_clipping", "clipped acceleration"),
];

/// The minimum step of a reset, in m or m/s.
const MIN_RESET_STEP: f64 = 1.0;

/// The numbers of instance changes within `SWITCH_WINDOW_NANOS` that are a warning or critical
/// (flight-review-rs, `diagnostics/ekf_selector_whipsaw.rs`).
const SWITCHES: f64 = 3.0;
const CRITICAL_SWITCHES: f64 = 8.0;
const SWITCH_WINDOW_NANOS: i64 = 10_000_000_000;
const SWITCH_JOIN_NANOS: i64 = 30_000_000_000;
const DEGRADED_RATIO: f64 = 1.0;

/// Returns the fields of `estimator_status_flags` that report faults of the filter, in the order of the
/// bits of [`FILTER_FAULTS`]. A release has bits only for the fields that it has.
pub fn filter_fault_flags() -> impl Iterator<Item = &'static str> {
    FAULTS.iter().map(|(field, _)| *field)
}

pub(super) fn diagnose(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    for status in data.instances("estimator_status") {
        diagnoses.extend(rejections(status));
        diagnoses.extend(faults(data, status, phases));
    }
    let position = data.first_instance("vehicle_local_position");
    diagnoses
        .extend(position.map(|position| resets(position, phases)).unwrap_or_default());
    let selector = data.first_instance("estimator_selector_status");
    diagnoses.extend(selector.map(whipsaw).unwrap_or_default());
    for tecs in data.instances("tecs_status") {
        diagnoses.extend(nonfinite_pitch(tecs));
    }
    diagnoses
}

fn rejections(status: &Series) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    for (field, name) in RATIOS {
        let Some(ratios) = status.column(field) else { continue };
        // A ratio that is not finite ends the rejection, as in flight-review-rs.
        let ratio = |row: usize| {
            ratios.get(row).copied().map(f64::from).filter(|ratio| ratio.is_finite())
        };
        let rejected_runs =
            runs(status, |row| Some(ratio(row)? > MAX_TEST_RATIO)).into_iter();
        for run in
            rejected_runs.filter(|run| run.observed_seconds(status) >= MIN_FAILURE_S)
        {
            let duration_s = run.observed_seconds(status);
            let highest = largest_value(run.rows().filter_map(ratio));
            let is_critical = duration_s >= CRITICAL_FAILURE_S;
            let severity =
                if is_critical { Severity::Critical } else { Severity::Warning };
            diagnoses.push(
                Diagnosis::new(
                    DiagnosisKind::EkfFailure,
                    severity,
                    (run.start, run.end),
                    topic_name(status),
                    format!(
                        "the estimator rejected the measured {name} for {duration_s:.1} s"
                    ),
                )
                .with_evidence(status.label(field), highest, "", Some(MAX_TEST_RATIO))
                .with_evidence(
                    "duration",
                    duration_s,
                    "s",
                    Some(MIN_FAILURE_S),
                ),
            );
        }
    }
    diagnoses
}

fn faults(data: &FlightData, status: &Series, phases: &Phases) -> Vec<Diagnosis> {
    let field = "filter_fault_flags";
    let has_fault = |row: usize| {
        let time = status.times.get(row)?;
        Some(phases.is_armed(*time) && status.value(field, row)? > 0.0)
    };
    let fault_runs = runs(status, has_fault).into_iter();
    let fault_runs =
        fault_runs.filter(|run| run.observed_seconds(status) >= MIN_FAULT_S);
    let diagnosis = |run: Run| {
        let flags = run.rows().filter_map(|row| status.value(field, row));
        let flags = flags.fold(0_u32, |all, flags| all | flags as u32);
        Diagnosis::new(
            DiagnosisKind::EkfFailure,
            Severity::Critical,
            (run.start, run.end),
            topic_name(status),
            format!(
                "the estimator reports faults: {}",
                fault_names(data, flags).join(", ")
            ),
        )
        .with_evidence(status.label(field), f64::from(flags), "", Some(0.0))
        .with_evidence(
            "duration",
            run.observed_seconds(status),
            "s",
            Some(MIN_FAULT_S),
        )
    };
    fault_runs.map(diagnosis).collect()
}

/// Returns the names of the faults in `flags`. A bit without a name has its number.
fn fault_names(data: &FlightData, flags: u32) -> Vec<String> {
    let fields = data.bit_names.get(FILTER_FAULTS);
    let name = |bit: u32| {
        let field = fields.and_then(|fields| fields.get(&bit));
        let fault =
            FAULTS.iter().find(|(own, _)| Some(*own) == field.map(String::as_str));
        fault.map_or_else(|| format!("bit {bit}"), |(_, name)| (*name).to_owned())
    };
    (0..u32::BITS).filter(|bit| (flags >> bit) & 1 == 1).map(name).collect()
}

/// Finds resets in the air with a noticeable step.
fn resets(position: &Series, phases: &Phases) -> Vec<Diagnosis> {
    let counters: [(&str, &[&str], &str, &str); 4] = [
        (
            "xy_reset_counter",
            &["delta_xy[0]", "delta_xy[1]"],
            "horizontal position",
            "m",
        ),
        ("z_reset_counter", &["delta_z"], "height", "m"),
        (
            "vxy_reset_counter",
            &["delta_vxy[0]", "delta_vxy[1]"],
            "horizontal velocity",
            "m/s",
        ),
        ("vz_reset_counter", &["delta_vz"], "vertical velocity", "m/s"),
    ];
    let mut diagnoses = Vec::new();
    for (counter, deltas, name, unit) in counters {
        let mut last_counter: Option<f64> = None;
        let (mut count, mut largest_step) = (0_u32, 0.0_f64);
        let mut period: Option<(i64, i64)> = None;
        for (row, time) in position.times.iter().enumerate() {
            let Some(value) = position.value(counter, row) else { continue };
            let is_reset = last_counter
                .replace(value)
                .is_some_and(|last_counter| last_counter != value);
            if !is_reset || !phases.is_underway(*time) {
                continue;
            }
            let steps = deltas.iter().filter_map(|delta| position.value(delta, row));
            let step = steps.fold(0.0, f64::hypot);
            if step >= MIN_RESET_STEP {
                count += 1;
                largest_step = largest_step.max(step);
                period = Some((period.map_or(*time, |(start, _)| start), *time));
            }
        }
        let Some(period) = period else { continue };
        let times =
            if count == 1 { "once".to_owned() } else { format!("{count} times") };
        diagnoses.push(
            Diagnosis::new(
                DiagnosisKind::EkfReset,
                Severity::Warning,
                period,
                topic_name(position),
                format!(
                    "the estimator reset the {name} {times}, by up to {largest_step:.1} {unit}"
                ),
            )
            .with_evidence(position.label(counter), f64::from(count), "", None)
            .with_evidence("step", largest_step, unit, Some(MIN_RESET_STEP)),
        );
    }
    diagnoses
}

/// Finds periods in which the selector changed often between the instances of the estimator.
fn whipsaw(selector: &Series) -> Vec<Diagnosis> {
    // The times of messages with a larger count, and the numbers of changes since the message before.
    let mut window: VecDeque<(i64, f64)> = VecDeque::new();
    let mut last_row: Option<(i64, f64)> = None;
    let mut is_multiple = false;
    let mut episodes: Vec<(i64, i64, f64, bool)> = Vec::new();
    let mut degraded_until = i64::MIN;
    for (row, time) in selector.times.iter().enumerate() {
        is_multiple |=
            selector.value("instances_available", row).is_some_and(|n| n > 1.0);
        let Some(count) = selector.value("instance_changed_count", row) else {
            continue;
        };
        let last_count = last_row.replace((*time, count));
        let Some((last_time, last_count)) = last_count.filter(|_| is_multiple) else {
            continue;
        };
        // Changes between two messages that are far apart may have been slow. A counter that
        // decreases has been reset.
        let is_near =
            (0..=SWITCH_WINDOW_NANOS).contains(&time.saturating_sub(last_time));
        if count > last_count && is_near {
            window.push_back((*time, count - last_count));
            let primary = selector.value("primary_instance", row).unwrap_or(f64::NAN);
            let field = format!("combined_test_ratio[{primary}]");
            if selector.value(&field, row).is_some_and(|ratio| ratio >= DEGRADED_RATIO)
            {
                degraded_until = time.saturating_add(SWITCH_WINDOW_NANOS);
            }
        }
        let start = time.saturating_sub(SWITCH_WINDOW_NANOS);
        while window.front().is_some_and(|(change_time, _)| *change_time < start) {
            window.pop_front();
        }
        let switches: f64 = window.iter().map(|(_, count)| count).sum();
        if switches >= SWITCHES {
            let first = window.front().map_or(*time, |(change_time, _)| *change_time);
            let is_degraded = *time <= degraded_until;
            match episodes.last_mut() {
                Some((_, end, most, degraded))
                    if first.saturating_sub(*end) <= SWITCH_JOIN_NANOS =>
                {
                    *end = *time;
                    *most = most.max(switches);
                    *degraded |= is_degraded;
                }
                _ => episodes.push((first, *time, switches, is_degraded)),
            }
        }
    }
    let diagnosis = |(start, end, switches, is_degraded): (i64, i64, f64, bool)| {
        let is_critical = switches >= CRITICAL_SWITCHES || is_degraded;
        let severity = if is_critical { Severity::Critical } else { Severity::Warning };
        let suffix = if is_degraded { ", also to a degraded one" } else { "" };
        Diagnosis::new(
            DiagnosisKind::EkfSelectorWhipsaw,
            severity,
            (start, end),
            topic_name(selector),
            format!(
                "the selector changed {switches:.0} times within ten seconds between the \
                 instances of the estimator{suffix}"
            ),
        )
        .with_evidence("changes within 10 s", switches, "", Some(SWITCHES))
    };
    episodes.into_iter().map(diagnosis).collect()
}

/// Finds a pitch of TECS that is not finite (flight-review-rs,
/// `diagnostics/tecs_nonfinite_pitch.rs`).
fn nonfinite_pitch(tecs: &Series) -> Vec<Diagnosis> {
    let fields = ["pitch_integ", "pitch_sp_rad"];
    let is_bad = |field: &str, row: usize| {
        let value = tecs.column(field).and_then(|column| column.get(row));
        value.is_some_and(|value| !value.is_finite())
    };
    let found = runs(tecs, |row| Some(fields.iter().any(|field| is_bad(field, row))));
    let diagnosis = |run: Run| {
        // A failure of the integrator causes that of the setpoint, so it is reported first.
        let field = fields.into_iter().find(|field| is_bad(field, run.first));
        let field = field.unwrap_or("pitch_integ");
        let value = tecs.column(field).and_then(|column| column.get(run.first));
        Diagnosis::new(
            DiagnosisKind::TecsNonfinitePitch,
            Severity::Critical,
            (run.start, run.end),
            topic_name(tecs),
            format!(
                "{field} of TECS was not finite for {:.1} s",
                seconds(run.end.saturating_sub(run.start))
            ),
        )
        .with_evidence(
            tecs.label(field),
            value.copied().map_or(f64::NAN, f64::from),
            "",
            None,
        )
    };
    found.into_iter().map(diagnosis).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: i64 = 100_000_000;

    fn times(count: i64) -> Vec<i64> {
        (0..count).map(|n| n * STEP).collect()
    }

    fn diagnoses(series: impl IntoIterator<Item = Series>) -> Vec<Diagnosis> {
        let mut status = Series::new("vehicle_status", 0, vec![0]);
        status.add_column("arming_state", vec![2.0]);
        let data =
            FlightData::new((0, 100 * STEP)).with_series(series).with_series([status]);
        let phases = Phases::new(&data);
        diagnose(&data, &phases)
    }

    fn status(ratios: Vec<f32>) -> Series {
        let mut series = Series::new("estimator_status", 1, times(ratios.len() as i64));
        series.add_column("vel_test_ratio", ratios);
        series
    }

    #[test]
    fn rejection_is_a_failure_after_two_seconds_and_critical_after_five() {
        let found = |rows: usize| diagnoses([status(vec![1.5; rows])]);
        // 20 rows last 1.9 seconds.
        assert_eq!(found(20), []);
        let warning = found(30);
        assert_eq!((warning.len(), warning[0].severity), (1, Severity::Warning));
        assert_eq!(warning[0].topic, "estimator_status.1");
        assert_eq!(found(60)[0].severity, Severity::Critical);
    }

    #[test]
    fn recovery_and_missing_ratios_end_a_rejection() {
        for other in [0.5, f32::NAN, f32::INFINITY] {
            let ratios =
                (0..36).map(|row| if row == 18 { other } else { 2.0 }).collect();
            assert_eq!(diagnoses([status(ratios)]), [], "{other}");
        }
    }

    #[test]
    fn rejections_on_both_sides_of_a_gap_are_not_joined() {
        let times = [0, 1, 2, 60, 61, 62].map(|step| step * STEP).to_vec();
        let mut series = Series::new("estimator_status", 0, times);
        series.add_column("vel_test_ratio", vec![2.0; 6]);
        assert_eq!(diagnoses([series]), []);
    }

    #[test]
    fn faults_have_the_names_of_the_bits_of_the_release() {
        let mut status = Series::new("estimator_status", 0, times(30));
        status.add_column("filter_fault_flags", vec![513.0; 30]);
        let mut armed = Series::new("vehicle_status", 0, vec![0]);
        armed.add_column("arming_state", vec![2.0]);
        let mut data = FlightData::new((0, 100 * STEP)).with_series([status, armed]);
        let mut summary = |names: &[(u32, &str)]| {
            let names = names.iter().map(|(bit, name)| (*bit, (*name).to_owned()));
            data.bit_names.insert(FILTER_FAULTS.to_owned(), names.collect());
            let found = diagnose(&data, &Phases::new(&data)).remove(0).summary;
            found.replace(
                "the estimator reports faults: fusion of the magnetometer, x, ",
                "",
            )
        };
        // EKF2 of 1.14, 1.15 and 1.16.
        let first = (0, "fs_bad_mag_x");
        let velocity = summary(&[first, (9, "fs_bad_vel_n")]);
        assert_eq!(velocity, "fusion of the velocity north");
        let bias = summary(&[first, (9, "fs_bad_acc_bias")]);
        assert_eq!(bias, "bad bias of the accelerometer");
        let vertical = summary(&[first, (9, "fs_bad_acc_vertical")]);
        assert_eq!(vertical, "bad vertical acceleration");
        assert_eq!(summary(&[first]), "bit 9");
    }

    #[test]
    fn reset_with_a_large_step_in_the_air_is_reported() {
        let reset = |step: f32| {
            let mut position = Series::new("vehicle_local_position", 0, times(4));
            position.add_column("xy_reset_counter", vec![1.0, 1.0, 2.0, 2.0]);
            position.add_column("delta_xy[0]", vec![0.0, 0.0, step, step]);
            position.add_column("delta_xy[1]", vec![0.0; 4]);
            diagnoses([position])
        };
        assert_eq!(reset(0.5), []);
        let found = reset(-3.0);
        assert_eq!((found.len(), found[0].start_ns), (1, 2 * STEP));
        assert_eq!(found[0].evidence[1].value, 3.0);
    }

    fn selector(rows: &[(i64, f32, f32)]) -> Series {
        let times = rows.iter().map(|(second, ..)| second * 10 * STEP).collect();
        let mut series = Series::new("estimator_selector_status", 0, times);
        let count = rows.len();
        series.add_column("instances_available", vec![2.0; count]);
        series.add_column(
            "primary_instance",
            rows.iter().map(|row| row.1 % 2.0).collect(),
        );
        series.add_column(
            "instance_changed_count",
            rows.iter().map(|row| row.1).collect(),
        );
        for instance in 0..2 {
            let ratios = rows.iter().map(|row| row.2).collect();
            series.add_column(format!("combined_test_ratio[{instance}]"), ratios);
        }
        series
    }

    #[test]
    fn fast_changes_of_the_selector_are_a_whipsaw() {
        let rows = |step: i64, ratio| -> Vec<_> {
            (0..5).map(|n| (n * step, n as f32, ratio)).collect()
        };
        let found = diagnoses([selector(&rows(1, 0.2))]);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
        assert_eq!(
            diagnoses([selector(&rows(1, 2.0))])[0].severity,
            Severity::Critical
        );
        assert_eq!(diagnoses([selector(&rows(9, 0.2))]), []);
        // Eight changes at once are critical, but not if they may have taken 20 seconds.
        let found = diagnoses([selector(&[(0, 0.0, 0.2), (8, 8.0, 0.2)])]);
        assert_eq!(found[0].severity, Severity::Critical);
        assert_eq!(diagnoses([selector(&[(0, 0.0, 0.2), (20, 8.0, 0.2)])]), []);
        // A counter that starts again counts nothing.
        assert_eq!(diagnoses([selector(&[(0, 100.0, 0.2), (1, 0.0, 0.2)])]), []);
    }

    #[test]
    fn pitch_that_is_not_a_number_is_reported_for_each_episode() {
        let mut tecs = Series::new("tecs_status", 0, times(6));
        tecs.add_column(
            "pitch_integ",
            vec![0.1, f32::NAN, f32::NAN, 0.1, f32::NAN, 0.1],
        );
        tecs.add_column("pitch_sp_rad", vec![0.1; 6]);
        let found = diagnoses([tecs]);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].start_ns, found[0].end_ns), (STEP, 3 * STEP));
        let mut without = Series::new("tecs_status", 0, times(6));
        without.add_column("pitch_integ", vec![0.1; 6]);
        assert_eq!(diagnoses([without]), []);
    }
}
