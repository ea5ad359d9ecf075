//! Batteries and the 5 V rail.

use crate::{
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics::{largest_value, smallest_value, topic_name},
    intervals::{Run, join_runs, runs},
    phases::Phases,
    series::Series,
};

/// The critical and the full voltage of a cell, and the longest interruption of a brownout
/// (flight-review-rs, `diagnostics/battery_brownout.rs`).
const CRITICAL_CELL_V: f64 = 3.3;
const FULL_CELL_V: f64 = 4.2;
const JOIN_NANOS: i64 = 30_000_000_000;
const MAX_CELLS: f64 = 60.0;

/// A lower voltage per cell cannot be that of a battery in flight: cells of any chemistry are
/// destroyed at much higher voltages.
const MIN_CELL_V: f64 = 1.0;
/// The minimum time for which a vehicle is armed without a measured battery.
const MIN_UNMEASURED_S: f64 = 2.0;

/// A sag is a fall of the cell voltage by at least `SAG_CELL_V` within `SAG_NANOS` in the air, to
/// less than `SAG_BELOW_CELL_V`. PX4 regards a cell with 3.5 V under load as empty (the first
/// default of the parameter `BAT1_V_EMPTY`).
const SAG_CELL_V: f64 = 0.5;
const SAG_NANOS: i64 = 5_000_000_000;
const SAG_BELOW_CELL_V: f64 = 3.5;

/// `WARNING_CRITICAL`; higher values are more severe (uORB, `BatteryStatus.msg`).
const CRITICAL_WARNING: f64 = 2.0;
/// `STATE_CHARGING`, which is no fault (same file).
const CHARGING: f64 = 7.0;

/// PX4 refuses to arm below this voltage of the avionics (Commander, `powerCheck.cpp`).
const MIN_RAIL_V: f64 = 4.5;

pub(super) fn diagnose(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    let batteries: Vec<&Series> = data.instances("battery_status").collect();
    for battery in &batteries {
        diagnoses.extend(warnings(battery, "warning", phases));
        let Some(voltage) = battery.first_column(&["voltage_v", "voltage_filtered_v"])
        else {
            continue;
        };
        let cells = cells(data, battery, voltage);
        diagnoses.extend(brownout(data, battery, voltage, cells, phases));
        diagnoses.extend(sag(battery, voltage, cells, phases));
    }
    if batteries.is_empty()
        && let Some(flags) = data.first_instance("failsafe_flags")
    {
        diagnoses.extend(warnings(flags, "battery_warning", phases));
    }
    // With several batteries, an unused input is not a fault.
    let unmeasured: Vec<_> =
        batteries.iter().map(|b| not_measured(data, b, phases)).collect();
    if unmeasured.iter().all(|found| !found.is_empty()) {
        diagnoses.extend(unmeasured.into_iter().next().unwrap_or_default());
    }
    diagnoses.extend(
        data.first_instance("system_power")
            .map(|power| rail(power, phases))
            .unwrap_or_default(),
    );
    diagnoses
}

/// Returns the number of cells: the logged number, the number in the parameters, or an estimate
/// from the first voltage, as in flight-review-rs.
fn cells(data: &FlightData, battery: &Series, voltage: &[f32]) -> f64 {
    let logged = battery.column("cell_count").unwrap_or_default();
    let logged =
        largest_value(logged.iter().copied().map(f64::from).filter(|c| c.is_finite()));
    let parameter = format!("BAT{}_N_CELLS", battery.instance + 1);
    let parameter =
        data.parameter(&parameter).or_else(|| data.parameter("BAT_N_CELLS"));
    let first =
        voltage.iter().copied().map(f64::from).find(|v| v.is_finite() && *v > 0.0);
    let estimate = (first.unwrap_or_default() / FULL_CELL_V).round();
    let configured = Some(logged).filter(|cells| *cells > 0.0);
    let configured = configured.or(parameter.filter(|cells| *cells > 0.0));
    configured.unwrap_or(estimate).clamp(1.0, MAX_CELLS)
}

/// Returns whether `voltage` can be the voltage of a connected battery.
fn is_measured(battery: &Series, row: usize, voltage: f64, cells: f64) -> bool {
    let connected =
        battery.value("connected", row).is_none_or(|connected| connected != 0.0);
    connected && voltage > MIN_CELL_V * cells
}

/// Finds periods in which the voltage was below the critical voltage while the vehicle was armed.
fn brownout(
    data: &FlightData,
    battery: &Series,
    voltage: &[f32],
    cells: f64,
    phases: &Phases,
) -> Vec<Diagnosis> {
    // Cells of other chemistries are empty at lower voltages, which users set.
    let empty = data.parameter(&format!("BAT{}_V_EMPTY", battery.instance + 1));
    let empty =
        empty.or_else(|| data.parameter("BAT_V_EMPTY")).filter(|v| *v > MIN_CELL_V);
    let threshold = cells * empty.map_or(CRITICAL_CELL_V, |v| v.min(CRITICAL_CELL_V));
    let value =
        |row: usize| voltage.get(row).copied().map(f64::from).filter(|v| v.is_finite());
    let is_low = |row: usize| {
        let (time, voltage) = (battery.times.get(row)?, value(row)?);
        let is_low = voltage < threshold && is_measured(battery, row, voltage, cells);
        Some(is_low && phases.is_armed(*time))
    };
    let diagnosis = |run: Run| {
        let lowest = smallest_value(run.rows().filter_map(value));
        let current =
            largest_value(run.rows().filter_map(|row| battery.value("current_a", row)));
        let diagnosis = Diagnosis::new(
            DiagnosisKind::BatteryBrownout,
            Severity::Critical,
            (run.start, run.end),
            topic_name(battery),
            format!(
                "the battery fell to {lowest:.2} V while armed, below {threshold:.1} V for \
                 {cells:.0} cells"
            ),
        )
        .with_evidence(battery.label("voltage_v"), lowest, "V", Some(threshold));
        if !current.is_finite() {
            return diagnosis;
        }
        diagnosis.with_evidence(battery.label("current_a"), current, "A", None)
    };
    join_runs(runs(battery, is_low), JOIN_NANOS).into_iter().map(diagnosis).collect()
}

/// Finds periods in which the vehicle was armed, but the reading was too low for any battery. A
/// reading above zero counts as a brownout, as in flight-review-rs, because the battery may have
/// failed. A reading of zero means that no voltage is measured.
fn not_measured(
    data: &FlightData,
    battery: &Series,
    phases: &Phases,
) -> Vec<Diagnosis> {
    let Some(voltage) = battery.first_column(&["voltage_v", "voltage_filtered_v"])
    else {
        return Vec::new();
    };
    let cells = cells(data, battery, voltage);
    let value =
        |row: usize| voltage.get(row).copied().map(f64::from).filter(|v| v.is_finite());
    let is_missing = |row: usize| {
        let (time, voltage) = (battery.times.get(row)?, value(row)?);
        Some(phases.is_armed(*time) && !is_measured(battery, row, voltage, cells))
    };
    let unmeasured_runs = join_runs(runs(battery, is_missing), JOIN_NANOS).into_iter();
    let diagnosis = |run: Run| {
        let highest = largest_value(run.rows().filter_map(value));
        let seconds = run.seconds();
        let limit = MIN_CELL_V * cells;
        let reading = format!(
            "the battery read at most {highest:.2} V for {seconds:.1} s while armed"
        );
        let (kind, text) = if highest > 0.0 {
            let text =
                format!("{reading}: it has failed, or its monitor is not connected");
            (DiagnosisKind::BatteryBrownout, text)
        } else {
            let text =
                format!("{reading}: a brownout can neither be seen nor excluded");
            (DiagnosisKind::BatteryNotMeasured, text)
        };
        let (times, topic) = ((run.start, run.end), topic_name(battery));
        let diagnosis = Diagnosis::new(kind, Severity::Critical, times, topic, text)
            .with_evidence(battery.label("voltage_v"), highest, "V", Some(limit))
            .with_evidence("cells", cells, "", None);
        match battery.value("connected", run.first) {
            Some(connected) => {
                diagnosis.with_evidence(battery.label("connected"), connected, "", None)
            }
            None => diagnosis,
        }
    };
    unmeasured_runs
        .filter(|run| run.seconds() >= MIN_UNMEASURED_S)
        .map(diagnosis)
        .collect()
}

/// Finds the largest fall of the voltage within [`SAG_NANOS`].
fn sag(
    battery: &Series,
    voltage: &[f32],
    cells: f64,
    phases: &Phases,
) -> Option<Diagnosis> {
    let rows =
        battery.times.iter().copied().zip(voltage.iter().copied().map(f64::from));
    let rows: Vec<(i64, f64)> = rows
        .enumerate()
        .filter(|(row, (time, v))| {
            v.is_finite()
                && phases.is_underway(*time)
                && is_measured(battery, *row, *v, cells)
        })
        .map(|(_, row)| row)
        .collect();
    // A monotonic queue: the highest voltages of the last seconds, in descending order.
    let mut recent_peaks: std::collections::VecDeque<(i64, f64)> =
        std::collections::VecDeque::new();
    let mut deepest: Option<(f64, i64, i64, f64)> = None;
    for (time, voltage) in rows {
        while recent_peaks
            .front()
            .is_some_and(|(t, _)| time.saturating_sub(*t) > SAG_NANOS)
        {
            recent_peaks.pop_front();
        }
        while recent_peaks.back().is_some_and(|(_, v)| *v <= voltage) {
            recent_peaks.pop_back();
        }
        recent_peaks.push_back((time, voltage));
        let Some((start, highest)) = recent_peaks.front() else { continue };
        let fall = (highest - voltage) / cells;
        let is_deep = fall >= SAG_CELL_V && voltage < SAG_BELOW_CELL_V * cells;
        if is_deep && deepest.is_none_or(|(deepest_fall, ..)| fall > deepest_fall) {
            deepest = Some((fall, *start, time, voltage));
        }
    }
    let (fall, start, end, lowest) = deepest?;
    Some(
        Diagnosis::new(
            DiagnosisKind::BatterySag,
            Severity::Warning,
            (start, end),
            topic_name(battery),
            format!(
                "the voltage fell by {:.2} V to {lowest:.2} V within five seconds \
                 ({fall:.2} V per cell)",
                fall * cells
            ),
        )
        .with_evidence("fall per cell", fall, "V", Some(SAG_CELL_V))
        .with_evidence(
            battery.label("voltage_v"),
            lowest,
            "V",
            Some(SAG_BELOW_CELL_V * cells),
        ),
    )
}

/// Finds warnings of PX4 about the charge in `field`.
fn warnings(series: &Series, field: &str, phases: &Phases) -> Vec<Diagnosis> {
    let is_critical = |row: usize| {
        let time = series.times.get(row)?;
        let level = series.value(field, row)?;
        let is_critical = level >= CRITICAL_WARNING && level != CHARGING;
        Some(phases.is_armed(*time) && is_critical)
    };
    let critical_runs = join_runs(runs(series, is_critical), JOIN_NANOS).into_iter();
    let diagnosis = |run: Run| {
        let level = largest_value(
            run.rows()
                .filter_map(|row| series.value(field, row))
                .filter(|level| *level != CHARGING),
        );
        let name = match level as u8 {
            2 => "a critical charge",
            3 => "an emergency of the charge",
            4 => "a failed battery",
            _ => "a fault of the battery",
        };
        Diagnosis::new(
            DiagnosisKind::BatteryLow,
            Severity::Critical,
            (run.start, run.end),
            topic_name(series),
            format!("PX4 reports {name}"),
        )
        .with_evidence(series.label(field), level, "", Some(CRITICAL_WARNING))
    };
    critical_runs.map(diagnosis).collect()
}

/// Finds periods in which the voltage of the 5 V rail was too low while the vehicle was armed.
fn rail(power: &Series, phases: &Phases) -> Vec<Diagnosis> {
    let Some(voltage) = power.first_column(&["voltage5v_v", "voltage5V_v"]) else {
        return Vec::new();
    };
    let value =
        |row: usize| voltage.get(row).copied().map(f64::from).filter(|v| v.is_finite());
    let is_low = |row: usize| {
        let (time, voltage) = (power.times.get(row)?, value(row)?);
        // Boards without a measurement report zero.
        Some(voltage > 0.0 && voltage < MIN_RAIL_V && phases.is_armed(*time))
    };
    let diagnosis = |run: Run| {
        let lowest = smallest_value(run.rows().filter_map(value));
        Diagnosis::new(
            DiagnosisKind::PowerRail,
            Severity::Critical,
            (run.start, run.end),
            topic_name(power),
            format!("the 5 V rail fell to {lowest:.2} V while armed"),
        )
        .with_evidence(
            power.label("voltage5v_v"),
            lowest,
            "V",
            Some(MIN_RAIL_V),
        )
    };
    join_runs(runs(power, is_low), JOIN_NANOS).into_iter().map(diagnosis).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn battery(instance: u32, cells: f32, connected: f32, voltage: Vec<f32>) -> Series {
        let rows = voltage.len();
        let times = (0..rows as i64).map(|second| second * SECOND).collect();
        let mut series = Series::new("battery_status", instance, times);
        series.add_column("voltage_v", voltage);
        series.add_column("current_a", vec![15.0; rows]);
        series.add_column("cell_count", vec![cells; rows]);
        series.add_column("connected", vec![connected; rows]);
        series
    }

    fn diagnose_armed_flight(series: Vec<Series>) -> Vec<Diagnosis> {
        let mut status = Series::new("vehicle_status", 0, vec![0]);
        status.add_column("arming_state", vec![2.0]);
        let data =
            FlightData::new((0, 30 * SECOND)).with_series(series).with_series([status]);
        let phases = Phases::new(&data);
        diagnose(&data, &phases)
    }

    fn kinds(found: &[Diagnosis]) -> Vec<DiagnosisKind> {
        found.iter().map(|diagnosis| diagnosis.kind).collect()
    }

    #[test]
    fn low_voltage_while_armed_is_a_brownout() {
        // The values of the test of flight-review-rs: four cells, critical at 13.2 V.
        let voltage = (0..20).map(|row| if row < 15 { 14.0 } else { 12.5 }).collect();
        let found = diagnose_armed_flight(vec![battery(0, 4.0, 1.0, voltage)]);
        assert_eq!(kinds(&found), [DiagnosisKind::BatteryBrownout]);
        assert_eq!(found[0].evidence[0].value, 12.5);
        assert!((found[0].evidence[0].threshold.unwrap() - 13.2).abs() < 1e-9);
        assert_eq!(found[0].evidence[1].value, 15.0);
        // Without a number of cells, the first voltage decides: 24.9 V are six cells.
        let voltage = (0..20).map(|row| if row < 15 { 24.9 } else { 19.0 }).collect();
        let found = diagnose_armed_flight(vec![battery(0, 0.0, 1.0, voltage)]);
        assert_eq!(found[0].kind, DiagnosisKind::BatteryBrownout);
    }

    #[test]
    fn full_batteries_and_unused_inputs_have_no_diagnosis() {
        assert_eq!(
            diagnose_armed_flight(vec![battery(0, 4.0, 1.0, vec![15.5; 20])]),
            []
        );
        let unused = battery(1, 4.0, 0.0, vec![0.06; 20]);
        assert_eq!(
            diagnose_armed_flight(vec![battery(0, 6.0, 1.0, vec![24.0; 20]), unused]),
            []
        );
    }

    #[test]
    fn battery_without_a_measurement_is_not_a_brownout() {
        let found = diagnose_armed_flight(vec![battery(0, 4.0, 0.0, vec![0.0; 20])]);
        assert_eq!(kinds(&found), [DiagnosisKind::BatteryNotMeasured]);
        assert_eq!(found[0].seconds(), 19.0);
        let found = diagnose_armed_flight(vec![battery(0, 4.0, 0.0, vec![0.06; 20])]);
        assert_eq!(kinds(&found), [DiagnosisKind::BatteryBrownout]);
    }

    #[test]
    fn fast_fall_is_a_sag_and_slow_discharge_is_not() {
        let fast = (0..20).map(|row| if row < 10 { 16.0 } else { 13.6 }).collect();
        let found = diagnose_armed_flight(vec![battery(0, 4.0, 1.0, fast)]);
        assert_eq!(kinds(&found), [DiagnosisKind::BatterySag]);
        assert!((found[0].evidence[0].value - 0.6).abs() < 1e-6, "{found:?}");
        let slow = (0..20).map(|row| 16.0 - 0.12 * row as f32).collect();
        assert_eq!(diagnose_armed_flight(vec![battery(0, 4.0, 1.0, slow)]), []);
    }

    #[test]
    fn battery_that_is_charged_has_no_fault() {
        let with = |warnings: [f32; 3]| {
            let mut own = battery(0, 4.0, 1.0, vec![16.0; 3]);
            own.add_column("warning", warnings.to_vec());
            let found = diagnose_armed_flight(vec![own]);
            found.into_iter().map(|found| found.summary).collect::<Vec<_>>()
        };
        assert_eq!(with([0.0, 7.0, 7.0]), [""; 0]);
        assert_eq!(with([0.0, 6.0, 6.0]), ["PX4 reports a fault of the battery"]);
        assert_eq!(with([2.0, 7.0, 2.0]), ["PX4 reports a critical charge"]);
    }

    #[test]
    fn warnings_need_no_voltage_and_no_battery_status() {
        for (topic, field) in
            [("battery_status", "warning"), ("failsafe_flags", "battery_warning")]
        {
            let mut own = Series::new(topic, 0, vec![0, SECOND, 2 * SECOND]);
            own.add_column(field, vec![0.0, 3.0, 3.0]);
            let found = diagnose_armed_flight(vec![own]);
            assert_eq!(kinds(&found), [DiagnosisKind::BatteryLow], "{topic}");
            assert_eq!(found[0].summary, "PX4 reports an emergency of the charge");
        }
    }

    #[test]
    fn rail_below_its_limit_is_reported() {
        let mut power = Series::new("system_power", 0, vec![0, SECOND, 2 * SECOND]);
        power.add_column("voltage5V_v", vec![5.0, 4.2, 5.0]);
        let found = diagnose_armed_flight(vec![power]);
        assert_eq!(kinds(&found), [DiagnosisKind::PowerRail]);
    }
}
