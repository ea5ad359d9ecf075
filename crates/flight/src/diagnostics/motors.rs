//! Motors and ESCs.

use crate::{
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics::{
        largest_value,
        motor_commands::{InjectedFailures, MotorCommands, motor_of_esc},
        topic_name,
    },
    intervals::{Run, runs},
    needed_topics::MAX_ELEMENTS,
    phases::{Phases, is_rotary_wing},
    series::{Series, seconds},
};

/// A motor is locked at its maximum if at least `LOCKED_MESSAGES` successive outputs are at least
/// `LOCKED_PWM_US` (flight-review-rs, `diagnostics/motor_failure.rs`). Larger values than
/// `MAX_PWM_US` are not pulse widths.
const LOCKED_PWM_US: f64 = 1900.0;
const LOCKED_MESSAGES: usize = 50;
const MAX_PWM_US: f64 = 2200.0;

/// The minimum time for which a motor stands still in the air while another one turns.
const MIN_STOP_S: f64 = 0.5;
/// The minimum time for which an output is zero or a motor stands still if the log does not have the
/// commands: a controller may command the least output for a moment.
const MIN_UNCOMMANDED_STOP_S: f64 = 1.0;

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
        diagnoses.extend(esc_reports(data, escs, phases, &commands.injected));
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

/// Finds outputs that drop to zero after they were active, although their motors are to turn.
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
        let states = values.iter().zip(&mut was_active).zip(&mut is_reported);
        for (output, ((value, active), reported)) in states.enumerate() {
            let dropped = *value == 0.0 && *active && !*reported;
            *active |= *value != 0.0 && !value.is_nan();
            if !dropped || (all_stopped && !phases.is_underway(*time)) {
                continue;
            }
            let motors = commands.motors_of_output(output);
            let is_stopped = |motor: &usize| commands.is_stopped(*motor, *time);
            // An output that drives no motor may be that of a servo.
            if motors.is_empty() || motors.iter().any(is_stopped) {
                continue;
            }
            let column = columns.get(output).copied().unwrap_or_default();
            let end = zero_until(outputs, column, row, phases);
            let is_long = commands.are_known()
                || seconds(end.saturating_sub(*time)) >= MIN_UNCOMMANDED_STOP_S;
            if is_long {
                *reported = true;
                let name = format!("output[{output}]");
                diagnoses.push(
                    Diagnosis::new(
                        DiagnosisKind::MotorFailure,
                        Severity::Critical,
                        (*time, end),
                        topic_name(outputs),
                        format!("output {} dropped to zero while armed", output + 1),
                    )
                    .with_evidence(
                        outputs.label(&name),
                        *value,
                        "",
                        Some(0.0),
                    ),
                );
            }
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

/// Finds ESCs that report failures or go offline, unless an injected failure stops their motors.
fn esc_reports(
    data: &FlightData,
    escs: &Series,
    phases: &Phases,
    injected: &InjectedFailures<'_>,
) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    for esc in 0..MAX_ELEMENTS {
        let armed = |row: usize| {
            let time = *escs.times.get(row)?;
            let motor = motor_of_esc(escs, esc, row);
            Some(phases.is_armed(time) && !injected.contains(motor, time))
        };
        let name = format!("esc[{esc}].failures");
        let has_failure = |row| Some(escs.value(&name, row)? > 0.0 && armed(row)?);
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
                    && !is_online(row)?
                    && armed(row)?,
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
    let min_stop_s =
        if commands.are_known() { MIN_STOP_S } else { MIN_UNCOMMANDED_STOP_S };
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
            stopped_runs.filter(|run| run.seconds() >= min_stop_s).collect();
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
            .with_evidence("duration", seconds, "s", Some(min_stop_s)),
        );
    }
    diagnoses
}

/// Returns the run with the longest duration.
fn longest_run(runs: Vec<Run>) -> Option<Run> {
    runs.into_iter().max_by(|a, b| a.seconds().total_cmp(&b.seconds()))
}

#[cfg(test)]
mod tests;
