//! Motors and ESCs.

use crate::{
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics::{
        largest_value,
        motor_commands::{MotorCommands, motor_of_esc},
        topic_name,
    },
    intervals::{Run, runs},
    needed_topics::MAX_ELEMENTS,
    phases::{Phases, is_rotary_wing},
    series::Series,
};

/// A motor is locked at its maximum if at least `LOCKED_MESSAGES` successive outputs are at least
/// `LOCKED_PWM_US` (flight-review-rs, `diagnostics/motor_failure.rs`). Larger values than
/// `MAX_PWM_US` are not pulse widths.
const LOCKED_PWM_US: f64 = 1900.0;
const LOCKED_MESSAGES: usize = 50;
const MAX_PWM_US: f64 = 2200.0;

/// The minimum time for which a motor stands still in the air while another one turns.
const MIN_STOP_S: f64 = 0.5;

pub(super) fn diagnose(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    let commands = MotorCommands::new(data);
    if is_rotary_wing(data) {
        for outputs in data.instances("actuator_outputs") {
            diagnoses.extend(drops_to_zero(outputs, phases, &commands));
            diagnoses.extend(locked_outputs(outputs, phases));
        }
    }
    for escs in data.instances("esc_status") {
        diagnoses.extend(esc_reports(data, escs, phases));
        if is_rotary_wing(data) {
            diagnoses.extend(stopped_motors(escs, phases, &commands));
        }
    }
    diagnoses
}

/// Returns the number of outputs that are in use in `row`.
fn used_output_count(outputs: &Series, row: usize) -> usize {
    let count = outputs.value("noutputs", row).unwrap_or(MAX_ELEMENTS as f64);
    (count as usize).min(MAX_ELEMENTS)
}

/// Finds outputs that drop to zero after they were active, although fewer motors are to stand still.
fn drops_to_zero(
    outputs: &Series,
    phases: &Phases,
    commands: &MotorCommands<'_>,
) -> Vec<Diagnosis> {
    let names: Vec<String> =
        (0..MAX_ELEMENTS).map(|n| format!("output[{n}]")).collect();
    let columns: Vec<&[f32]> =
        names.iter().map(|name| outputs.column(name).unwrap_or_default()).collect();
    let mut was_active = [false; MAX_ELEMENTS];
    let mut is_reported = [false; MAX_ELEMENTS];
    let mut diagnoses = Vec::new();
    let mut latest_time = i64::MIN;
    for (row, time) in outputs.times.iter().enumerate() {
        if !phases.is_armed(*time) {
            // Outputs are inactive again until the next flight.
            was_active = [false; MAX_ELEMENTS];
            continue;
        }
        if *time <= latest_time {
            continue;
        }
        latest_time = *time;
        let used_outputs = used_output_count(outputs, row);
        let values =
            columns.iter().take(used_outputs).map(|column| column.get(row).copied());
        let values: Vec<f64> =
            values.map(|value| value.map_or(f64::NAN, f64::from)).collect();
        // If all motors stop on the ground, the vehicle is about to be disarmed.
        let all_stopped = values.iter().all(|value| *value == 0.0 || value.is_nan());
        let zeros = values.iter().zip(&was_active).filter(|(v, a)| **v == 0.0 && **a);
        let zeros = zeros.count();
        if zeros > 0 && zeros <= commands.stopped_count(*time) {
            continue;
        }
        let states = values.iter().zip(&mut was_active).zip(&mut is_reported);
        for (motor, ((value, active), reported)) in states.enumerate() {
            let dropped = *value == 0.0 && *active && !*reported;
            if dropped && (!all_stopped || phases.is_underway(*time)) {
                *reported = true;
                let name = format!("output[{motor}]");
                let column = columns.get(motor).copied().unwrap_or_default();
                let end = zero_until(outputs, column, row, phases);
                diagnoses.push(
                    Diagnosis::new(
                        DiagnosisKind::MotorFailure,
                        Severity::Critical,
                        (*time, end),
                        topic_name(outputs),
                        format!("output {} dropped to zero while armed", motor + 1),
                    )
                    .with_evidence(
                        outputs.label(&name),
                        *value,
                        "",
                        Some(0.0),
                    ),
                );
            }
            *active |= *value != 0.0 && !value.is_nan();
        }
    }
    diagnoses
}

/// Returns the time until which an output that is 0 in `row` stays so while armed.
fn zero_until(outputs: &Series, column: &[f32], row: usize, phases: &Phases) -> i64 {
    let mut later = outputs.times.iter().zip(column).skip(row);
    let is_zero =
        |(time, value): &(&i64, &f32)| **value == 0.0 && phases.is_armed(**time);
    let last = later.clone().take_while(is_zero).last();
    let next = later.find(|output| !is_zero(output));
    next.or(last).map_or(i64::MIN, |(time, _)| *time)
}

/// Diagnoses outputs that are locked at their maximum.
fn locked_outputs(outputs: &Series, phases: &Phases) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    for motor in 0..MAX_ELEMENTS {
        let name = format!("output[{motor}]");
        let is_pulse = |value: f64| (LOCKED_PWM_US..=MAX_PWM_US).contains(&value);
        let column = outputs.column(&name).unwrap_or_default();
        // Skips the search for most outputs, which are never that high.
        if !column.iter().any(|value| is_pulse(f64::from(*value))) {
            continue;
        }
        let is_high = |row: usize| {
            let time = outputs.times.get(row)?;
            let value = outputs.value(&name, row)?;
            Some(
                is_pulse(value)
                    && motor < used_output_count(outputs, row)
                    && phases.is_underway(*time),
            )
        };
        let high_runs = runs(outputs, is_high).into_iter();
        let longest = high_runs
            .filter(|run| run.rows().count() >= LOCKED_MESSAGES)
            .max_by(|a, b| a.seconds().total_cmp(&b.seconds()));
        let Some(run) = longest else { continue };
        let highest =
            largest_value(run.rows().filter_map(|row| outputs.value(&name, row)));
        let seconds = run.seconds();
        diagnoses.push(
            Diagnosis::new(
                DiagnosisKind::MotorFailure,
                Severity::Warning,
                (run.start, run.end),
                topic_name(outputs),
                format!(
                    "output {} stayed at its maximum for {seconds:.1} s",
                    motor + 1
                ),
            )
            .with_evidence(
                outputs.label(&name),
                highest,
                "µs",
                Some(LOCKED_PWM_US),
            ),
        );
    }
    diagnoses
}

/// Finds ESCs that report failures or go offline.
fn esc_reports(data: &FlightData, escs: &Series, phases: &Phases) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    let armed = |row: usize| escs.times.get(row).map(|time| phases.is_armed(*time));
    for esc in 0..MAX_ELEMENTS {
        let name = format!("esc[{esc}].failures");
        let has_failure = |row| Some(armed(row)? && escs.value(&name, row)? > 0.0);
        if let Some(run) = longest_run(runs(escs, has_failure)) {
            let rows = run.rows().filter_map(|row| escs.value(&name, row));
            let flags = rows.fold(0_u32, |all, flags| all | flags as u32);
            let failures = data.bits("esc_report.failures", "FAILURE_", flags);
            let is_warning = failures.iter().all(|failure| failure.contains("warn"));
            let severity =
                if is_warning { Severity::Warning } else { Severity::Critical };
            diagnoses.push(
                Diagnosis::new(
                    DiagnosisKind::EscFailure,
                    severity,
                    (run.start, run.end),
                    topic_name(escs),
                    format!("ESC {} reports: {}", esc + 1, failures.join(", ")),
                )
                .with_evidence(
                    escs.label(&name),
                    f64::from(flags),
                    "",
                    Some(0.0),
                ),
            );
        }
        let is_online = |row: usize| {
            let flags = escs.value("esc_online_flags", row)?;
            Some((flags as u32 >> esc) & 1 == 1)
        };
        let first_online_row = (0..escs.times.len())
            .find(|row| is_online(*row) == Some(true) && armed(*row) == Some(true));
        let is_offline = |row| {
            Some(
                first_online_row.is_some_and(|f| row > f)
                    && armed(row)?
                    && !is_online(row)?,
            )
        };
        if let Some(run) = longest_run(runs(escs, is_offline)) {
            let name = "esc_online_flags";
            diagnoses.push(
                Diagnosis::new(
                    DiagnosisKind::EscFailure,
                    Severity::Critical,
                    (run.start, run.end),
                    topic_name(escs),
                    format!("ESC {} went offline while armed", esc + 1),
                )
                .with_evidence(
                    escs.label(name),
                    escs.value(name, run.first).unwrap_or(f64::NAN),
                    "",
                    None,
                ),
            );
        }
    }
    diagnoses
}

/// Finds motors that stand still in the air while others turn, although they are to turn.
fn stopped_motors(
    escs: &Series,
    phases: &Phases,
    commands: &MotorCommands<'_>,
) -> Vec<Diagnosis> {
    let names: Vec<String> =
        (0..MAX_ELEMENTS).map(|esc| format!("esc[{esc}].esc_rpm")).collect();
    let speed = |esc: usize, row: usize| escs.value(names.get(esc)?, row).map(f64::abs);
    let turning = (0..MAX_ELEMENTS)
        .filter(|esc| (0..escs.times.len()).any(|row| speed(*esc, row) > Some(0.0)));
    let turning: Vec<usize> = turning.collect();
    let mut diagnoses = Vec::new();
    for (esc, name) in names.iter().enumerate() {
        let first_turning =
            (0..escs.times.len()).find(|row| speed(esc, *row) > Some(0.0));
        let Some(first_turning_row) = first_turning else { continue };
        let is_stopped = |row: usize| {
            let time = *escs.times.get(row)?;
            let is_to_turn = !commands.is_stopped(motor_of_esc(escs, esc, row), time);
            let others_turn =
                turning.iter().any(|other| speed(*other, row) > Some(0.0));
            Some(
                row > first_turning_row
                    && phases.is_underway(time)
                    && speed(esc, row)? == 0.0
                    && others_turn
                    && is_to_turn,
            )
        };
        let stopped_runs = runs(escs, is_stopped).into_iter();
        let stopped_runs =
            stopped_runs.filter(|run| run.seconds() >= MIN_STOP_S).collect();
        let Some(run) = longest_run(stopped_runs) else { continue };
        let seconds = run.seconds();
        diagnoses.push(
            Diagnosis::new(
                DiagnosisKind::EscFailure,
                Severity::Critical,
                (run.start, run.end),
                topic_name(escs),
                format!("motor {} stood still for {seconds:.1} s in the air", esc + 1),
            )
            .with_evidence(escs.label(name), 0.0, "1/min", Some(0.0))
            .with_evidence("duration", seconds, "s", Some(MIN_STOP_S)),
        );
    }
    diagnoses
}

/// Returns the run with the longest duration.
fn longest_run(runs: Vec<Run>) -> Option<Run> {
    runs.into_iter().max_by(|a, b| a.seconds().total_cmp(&b.seconds()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: i64 = 100_000_000;

    /// Diagnoses a log of ten seconds: the vehicle is armed from 1 s to 9 s, and in the air from 2 s
    /// to 8 s.
    fn flight(series: Series) -> Vec<Diagnosis> {
        let times = vec![0, 10 * STEP, 90 * STEP];
        let mut status = Series::new("vehicle_status", 0, times);
        status.add_column("arming_state", vec![1.0, 2.0, 1.0]);
        status.add_column("vehicle_type", vec![1.0; 3]);
        let mut land =
            Series::new("vehicle_land_detected", 0, vec![0, 20 * STEP, 80 * STEP]);
        land.add_column("landed", vec![1.0, 0.0, 1.0]);
        let data = FlightData::new((0, 100 * STEP)).with_series([status, land, series]);
        let phases = Phases::new(&data);
        diagnose(&data, &phases)
    }

    fn outputs(of: impl Fn(usize, usize) -> f32) -> Series {
        let mut series =
            Series::new("actuator_outputs", 0, (0..100).map(|n| n * STEP).collect());
        series.add_column("noutputs", vec![4.0; 100]);
        for motor in 0..6 {
            let values = (0..100).map(|row| of(motor, row)).collect();
            series.add_column(format!("output[{motor}]"), values);
        }
        series
    }

    #[test]
    fn output_that_drops_to_zero_in_flight_is_a_failure() {
        let found = flight(outputs(
            |motor, row| {
                if motor == 1 && row >= 50 { 0.0 } else { 1500.0 }
            },
        ));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].kind, DiagnosisKind::MotorFailure);
        assert_eq!(found[0].start_ns, 50 * STEP);
        assert!(found[0].summary.contains("output 2"), "{found:?}");
    }

    #[test]
    fn output_that_is_commanded_to_be_the_least_is_no_failure() {
        let stops = |command: f32, mask: f32| {
            let times = vec![0, 10 * STEP, 90 * STEP];
            let mut status = Series::new("vehicle_status", 0, times);
            status.add_column("arming_state", vec![1.0, 2.0, 1.0]);
            let times: Vec<i64> = (0..100).map(|n| n * STEP).collect();
            let mut motors = Series::new("actuator_motors", 0, times.clone());
            let mut stops = Series::new("control_allocator_status", 0, times);
            for motor in 0..4 {
                let value = |row| if motor == 1 && row >= 50 { command } else { 0.5 };
                motors.add_column(
                    format!("control[{motor}]"),
                    (0..100).map(value).collect(),
                );
            }
            stops.add_column(
                "motor_stop_mask",
                (0..100).map(|row| if row >= 50 { mask } else { 0.0 }).collect(),
            );
            let outputs = outputs(
                |motor, row| {
                    if motor == 1 && row >= 50 { 0.0 } else { 1500.0 }
                },
            );
            let data = FlightData::new((0, 100 * STEP))
                .with_series([status, outputs, motors, stops]);
            let phases = Phases::new(&data);
            diagnose(&data, &phases).len()
        };
        assert_eq!(stops(0.0, 0.0), 0);
        assert_eq!(stops(0.4, 0.0), 1);
        // An injected failure of the second motor.
        assert_eq!(stops(0.4, 2.0), 0);
    }

    #[test]
    fn failures_of_escs_have_names_and_warnings_are_warnings() {
        let reports = |flags: f32| {
            let times = (0..100).map(|n| n * STEP).collect();
            let mut escs = Series::new("esc_status", 0, times);
            let failures = |row| if (30..60).contains(&row) { flags } else { 0.0 };
            escs.add_column("esc[0].failures", (0..100).map(failures).collect());
            let mut status = Series::new("vehicle_status", 0, vec![0]);
            status.add_column("arming_state", vec![2.0]);
            let mut data = FlightData::new((0, 100 * STEP)).with_series([status, escs]);
            let names =
                [(5, "FAILURE_MOTOR_STUCK"), (8, "FAILURE_WARN_ESC_TEMPERATURE")];
            let names = names.map(|(bit, name)| (bit, name.to_owned()));
            data.bit_names.insert("esc_report.failures".to_owned(), names.into());
            let phases = Phases::new(&data);
            let found = diagnose(&data, &phases);
            (found[0].summary.clone(), found[0].severity)
        };
        let warning = "ESC 1 reports: warn esc temperature".to_owned();
        assert_eq!(reports(256.0), (warning, Severity::Warning));
        let failure = "ESC 1 reports: motor stuck, warn esc temperature".to_owned();
        assert_eq!(reports(288.0), (failure, Severity::Critical));
        assert_eq!(reports(1.0).0, "ESC 1 reports: bit 0");
    }

    #[test]
    fn unused_outputs_and_outputs_that_stop_together_have_no_diagnosis() {
        // Outputs 5 and 6 are beyond the number of outputs.
        let unused =
            outputs(|motor, row| if motor > 3 && row > 50 { 0.0 } else { 1500.0 });
        assert_eq!(flight(unused), []);
        // After the landing, all stop before the vehicle is disarmed.
        let landed = outputs(|_, row| if row >= 85 { 0.0 } else { 1500.0 });
        assert_eq!(flight(landed), []);
        let disarmed = outputs(|_, row| if row < 90 { 1500.0 } else { 0.0 });
        assert_eq!(flight(disarmed), []);
    }

    #[test]
    fn output_that_stays_at_its_maximum_is_reported() {
        let high = |last| {
            outputs(move |motor, row| {
                if motor == 2 && (25..last).contains(&row) { 1950.0 } else { 1500.0 }
            })
        };
        let found = flight(high(75));
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
        assert_eq!(found[0].seconds(), 5.0);
        assert_eq!(flight(high(74)), []);
        // Values of other protocols are no pulse widths.
        assert_eq!(flight(outputs(|_, _| 4095.0)), []);
    }

    #[test]
    fn motor_that_stops_in_the_air_is_an_esc_failure() {
        let mut escs =
            Series::new("esc_status", 0, (0..100).map(|n| n * STEP).collect());
        escs.add_column("esc[0].esc_rpm", vec![5000.0; 100]);
        let stop = (0..100).map(|row| if row > 60 { 0.0 } else { 5000.0 }).collect();
        escs.add_column("esc[1].esc_rpm", stop);
        escs.add_column("esc_online_flags", vec![3.0; 100]);
        let found = flight(escs);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].kind, DiagnosisKind::EscFailure);
        assert_eq!((found[0].start_ns, found[0].end_ns), (61 * STEP, 80 * STEP));
    }

    #[test]
    fn esc_that_goes_offline_is_an_esc_failure() {
        let mut escs =
            Series::new("esc_status", 0, (0..100).map(|n| n * STEP).collect());
        let flags = (0..100).map(|row| if row > 40 { 2.0 } else { 3.0 }).collect();
        escs.add_column("esc_online_flags", flags);
        let found = flight(escs);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].summary.contains("ESC 1 went offline"), "{found:?}");
    }
}
