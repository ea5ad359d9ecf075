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
            motors
                .add_column(format!("control[{motor}]"), (0..100).map(value).collect());
        }
        stops.add_column(
            "motor_stop_mask",
            (0..100).map(|row| if row >= 50 { mask } else { 0.0 }).collect(),
        );
        let outputs =
            outputs(|motor, row| if motor == 1 && row >= 50 { 0.0 } else { 1500.0 });
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

/// Returns the number of diagnoses of a flight of four motors. The output with the index `output` is 0
/// from row 50 to row `until`, and the second motor has the command `command` in these rows.
fn drops(
    output: usize,
    until: usize,
    command: Option<f32>,
    functions: &[(&str, f64)],
) -> usize {
    let stopped = 50..until;
    let outputs =
        outputs(
            |own, row| {
                if own == output && stopped.contains(&row) { 0.0 } else { 1500.0 }
            },
        );
    let mut status = Series::new("vehicle_status", 0, vec![0]);
    status.add_column("arming_state", vec![2.0]);
    let mut data = FlightData::new((0, 100 * STEP)).with_series([status, outputs]);
    let functions = functions.iter().map(|(name, own)| ((*name).to_owned(), *own));
    data.parameters = functions.collect();
    if let Some(command) = command {
        let times = (0..100).map(|n| n * STEP).collect();
        let mut motors = Series::new("actuator_motors", 0, times);
        for motor in 0..4 {
            let value = |row| match motor == 1 && stopped.contains(&row) {
                true => command,
                false => 0.5,
            };
            let values = (0..100).map(value).collect();
            motors.add_column(format!("control[{motor}]"), values);
        }
        data.series.push(motors);
    }
    let phases = Phases::new(&data);
    diagnose(&data, &phases).len()
}

#[test]
fn command_excuses_only_the_output_of_its_motor() {
    assert_eq!(drops(1, 100, Some(0.0), &[]), 0);
    // One motor is to stand still, and another one does.
    assert_eq!(drops(0, 100, Some(0.0), &[]), 1);
    // The first output drives the second motor, and the second output the first one.
    let swapped = [("PWM_AUX_FUNC1", 102.0), ("PWM_AUX_FUNC2", 101.0)];
    assert_eq!(drops(0, 100, Some(0.0), &swapped), 0);
    assert_eq!(drops(1, 100, Some(0.0), &swapped), 1);
    // The third output drives a servo.
    assert_eq!(drops(2, 100, Some(0.5), &swapped), 0);
}

#[test]
fn commands_near_the_least_and_short_zeros_without_commands_are_no_failures() {
    assert_eq!(drops(1, 100, Some(0.015), &[]), 0);
    assert_eq!(drops(1, 100, Some(0.2), &[]), 1);
    assert_eq!(drops(1, 59, None, &[]), 0);
    assert_eq!(drops(1, 60, None, &[]), 1);
}

#[test]
fn injected_failures_are_known_from_the_row_before_and_after() {
    let found =
        |mask_rows: std::ops::Range<usize>| {
            // The motor stops at 5.0 s, and the masks are logged each second, at 0.5 s, 1.5 s, ...
            let times: Vec<i64> = (0..10).map(|n| (10 * n + 5) * STEP).collect();
            let mut masks = Series::new("failure_detector_status", 0, times);
            let mask = |row| if mask_rows.contains(&row) { 2.0 } else { 0.0 };
            masks.add_column("motor_stop_mask", (0..10).map(mask).collect());
            let mut escs =
                Series::new("esc_status", 0, (0..100).map(|n| n * STEP).collect());
            let online = |row| if (50..80).contains(&row) { 1.0 } else { 3.0 };
            escs.add_column("esc_online_flags", (0..100).map(online).collect());
            let failures = |row| if (50..80).contains(&row) { 1.0 } else { 0.0 };
            escs.add_column("esc[1].failures", (0..100).map(failures).collect());
            let outputs = outputs(|motor, row| {
                if motor == 1 && (50..80).contains(&row) { 0.0 } else { 1500.0 }
            });
            let mut status = Series::new("vehicle_status", 0, vec![0]);
            status.add_column("arming_state", vec![2.0]);
            let data = FlightData::new((0, 100 * STEP))
                .with_series([status, outputs, escs, masks]);
            let phases = Phases::new(&data);
            diagnose(&data, &phases).len()
        };
    assert_eq!(found(5..8), 0);
    // The output, the report and the state of the ESC.
    assert_eq!(found(0..0), 3);
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
        let names = [(5, "FAILURE_MOTOR_STUCK"), (8, "FAILURE_WARN_ESC_TEMPERATURE")];
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
    let unused = outputs(|motor, row| if motor > 3 && row > 50 { 0.0 } else { 1500.0 });
    assert_eq!(flight(unused), []);
    // After the landing, all stop before the vehicle is disarmed.
    let landed = outputs(|_, row| if row >= 85 { 0.0 } else { 1500.0 });
    assert_eq!(flight(landed), []);
    let disarmed = outputs(|_, row| if row < 90 { 1500.0 } else { 0.0 });
    assert_eq!(flight(disarmed), []);
}

#[test]
fn output_that_stays_at_its_maximum_is_reported() {
    let high =
        |last| {
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
    let mut escs = Series::new("esc_status", 0, (0..100).map(|n| n * STEP).collect());
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
    let mut escs = Series::new("esc_status", 0, (0..100).map(|n| n * STEP).collect());
    let flags = (0..100).map(|row| if row > 40 { 2.0 } else { 3.0 }).collect();
    escs.add_column("esc_online_flags", flags);
    let found = flight(escs);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].summary.contains("ESC 1 went offline"), "{found:?}");
}
