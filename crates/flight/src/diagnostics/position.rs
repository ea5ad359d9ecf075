//! The loss of the position, the height and the velocity, and of the measurements that they need.

use crate::{
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics::topic_name,
    intervals::{Run, runs},
    phases::Phases,
    series::Series,
};

/// The minimum durations of a loss and of a critical loss.
const MIN_LOSS_S: f64 = 2.0;
const CRITICAL_LOSS_S: f64 = 5.0;

/// A loss is part of another one if it exceeds that by at most this time: the topics are logged at
/// different rates.
const TOLERANCE_NANOS: i64 = 2_000_000_000;

/// A flag of the estimator: its topic and field, its value during a loss, and what was lost.
struct Flag {
    topic: &'static str,
    field: &'static str,
    lost: f64,
    text: &'static str,
}

const fn flag(
    topic: &'static str,
    field: &'static str,
    lost: f64,
    text: &'static str,
) -> Flag {
    Flag { topic, field, lost, text }
}

const LOCAL: &str = "vehicle_local_position";
const GLOBAL: &str = "vehicle_global_position";
/// The estimator has no measurements of the position, but knows it from the inertial sensors or the wind
/// for a while.
const DEAD_RECKONING: &str = "the position was estimated by dead reckoning";

/// The flags (uORB, `VehicleLocalPosition.msg`, `VehicleGlobalPosition.msg`, `EstimatorStatusFlags.msg`).
const FLAGS: [Flag; 9] = [
    flag(LOCAL, "xy_valid", 0.0, "the horizontal position was invalid"),
    flag(LOCAL, "z_valid", 0.0, "the height was invalid"),
    flag(LOCAL, "v_xy_valid", 0.0, "the horizontal velocity was invalid"),
    flag(LOCAL, "v_z_valid", 0.0, "the vertical velocity was invalid"),
    flag(GLOBAL, "lat_lon_valid", 0.0, "the global position was invalid"),
    flag(GLOBAL, "alt_valid", 0.0, "the global altitude was invalid"),
    flag(LOCAL, "dead_reckoning", 1.0, DEAD_RECKONING),
    flag(GLOBAL, "dead_reckoning", 1.0, DEAD_RECKONING),
    flag("estimator_status_flags", "cs_inertial_dead_reckoning", 1.0, DEAD_RECKONING),
];

/// Finds periods under way in which a flag reports a loss, after it reported none. A flight that never had
/// a horizontal position, e.g. in a hall, has not lost it.
pub(super) fn diagnose(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let local = data.first_instance(LOCAL);
    let valid_from = local.and_then(|local| first_time(local, "xy_valid", 1.0));
    let has_validity = local.is_some_and(|local| local.column("xy_valid").is_some());
    let mut diagnoses: Vec<Diagnosis> = Vec::new();
    for Flag { topic, field, lost, text } in FLAGS {
        let Some(series) = data.first_instance(topic) else { continue };
        let Some(sound_from) = first_time(series, field, 1.0 - lost) else { continue };
        let from = match valid_from {
            _ if lost == 0.0 || !has_validity => sound_from,
            Some(valid_from) => sound_from.max(valid_from),
            None => continue,
        };
        let is_lost = |row: usize| {
            let time = *series.times.get(row)?;
            let is_lost = series.value(field, row)? == lost;
            Some(time > from && is_lost && phases.is_underway(time))
        };
        let lost_runs = runs(series, is_lost).into_iter();
        for run in lost_runs.filter(|run| run.seconds() >= MIN_LOSS_S) {
            let is_part = |other: &&mut Diagnosis| {
                other.start_ns.saturating_sub(run.start) <= TOLERANCE_NANOS
                    && run.end.saturating_sub(other.end_ns) <= TOLERANCE_NANOS
            };
            if let Some(other) = diagnoses.iter_mut().find(is_part) {
                let whole = other.clone();
                *other = whole.with_evidence(series.label(field), lost, "", None);
            } else {
                diagnoses.push(loss(series, field, lost, text, run));
            }
        }
    }
    diagnoses
}

/// Returns the time of the first row in which a field has a value.
fn first_time(series: &Series, field: &str, value: f64) -> Option<i64> {
    let mut rows = series.times.iter().enumerate();
    let found = rows.find(|(row, _)| series.value(field, *row) == Some(value));
    found.map(|(_, time)| *time)
}

fn loss(series: &Series, field: &str, lost: f64, text: &str, run: Run) -> Diagnosis {
    let seconds = run.seconds();
    // The position is still known during dead reckoning.
    let is_critical = seconds >= CRITICAL_LOSS_S && lost == 0.0;
    let severity = if is_critical { Severity::Critical } else { Severity::Warning };
    let kind = DiagnosisKind::PositionLoss;
    let (times, topic) = ((run.start, run.end), topic_name(series));
    Diagnosis::new(kind, severity, times, topic, format!("{text} for {seconds:.1} s"))
        .with_evidence(series.label(field), lost, "", None)
        .with_evidence("duration", seconds, "s", Some(MIN_LOSS_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: i64 = 100_000_000;

    type Found = (Severity, i64, i64, String);

    fn series(topic: &str, columns: &[(&str, [f32; 100])]) -> Series {
        let mut series = Series::new(topic, 0, (0..100).map(|n| n * STEP).collect());
        for (field, values) in columns {
            series.add_column(*field, values.to_vec());
        }
        series
    }

    fn losses(series: Vec<Series>) -> Vec<Found> {
        let mut status = Series::new("vehicle_status", 0, vec![0]);
        status.add_column("arming_state", vec![2.0]);
        let data =
            FlightData::new((0, 100 * STEP)).with_series(series).with_series([status]);
        let phases = Phases::new(&data);
        let found = diagnose(&data, &phases).into_iter();
        found.map(|d| (d.severity, d.start_ns, d.end_ns, d.summary)).collect()
    }

    /// Returns 0 from one row to before another one, and else 1.
    fn lost(from: usize, to: usize) -> [f32; 100] {
        std::array::from_fn(|row| if (from..to).contains(&row) { 0.0 } else { 1.0 })
    }

    fn set(from: usize, to: usize) -> [f32; 100] {
        lost(from, to).map(|value| 1.0 - value)
    }

    #[test]
    fn position_that_becomes_invalid_is_lost() {
        let with = |valid: [f32; 100]| {
            let found = losses(vec![series(LOCAL, &[("xy_valid", valid)])]);
            found.into_iter().map(|own| (own.0, own.1)).collect::<Vec<_>>()
        };
        assert_eq!(with(lost(30, 45)), []);
        assert_eq!(with(lost(30, 60)), [(Severity::Warning, 30 * STEP)]);
        assert_eq!(with(lost(30, 100)), [(Severity::Critical, 30 * STEP)]);
        // A flight that never had a position has not lost it.
        assert_eq!(with([0.0; 100]), []);
    }

    #[test]
    fn each_flag_of_the_estimator_is_read() {
        let always = [1.0; 100];
        for (field, text) in [
            ("z_valid", "the height was invalid for 6.0 s"),
            ("v_xy_valid", "the horizontal velocity was invalid for 6.0 s"),
            ("v_z_valid", "the vertical velocity was invalid for 6.0 s"),
        ] {
            let columns = [("xy_valid", always), (field, lost(20, 80))];
            let found = losses(vec![series(LOCAL, &columns)]);
            let times = (20 * STEP, 80 * STEP);
            let expected = (Severity::Critical, times.0, times.1, text.to_owned());
            assert_eq!(found, [expected]);
        }
        for field in ["lat_lon_valid", "alt_valid"] {
            let found = losses(vec![series(GLOBAL, &[(field, lost(20, 80))])]);
            assert_eq!((found.len(), found[0].1), (1, 20 * STEP), "{field}");
            assert_eq!(losses(vec![series(GLOBAL, &[(field, [0.0; 100])])]), []);
        }
        for (topic, field) in [
            (LOCAL, "dead_reckoning"),
            (GLOBAL, "dead_reckoning"),
            ("estimator_status_flags", "cs_inertial_dead_reckoning"),
        ] {
            let text = format!("{DEAD_RECKONING} for 6.0 s");
            let found = losses(vec![series(topic, &[(field, set(20, 80))])]);
            let times = (20 * STEP, 80 * STEP);
            assert_eq!(found, [(Severity::Warning, times.0, times.1, text)]);
        }
    }

    #[test]
    fn dead_reckoning_without_a_position_before_is_no_loss() {
        let with = |valid: [f32; 100], reckoning: [f32; 100]| {
            let flags = [("cs_inertial_dead_reckoning", reckoning)];
            let local = series(LOCAL, &[("xy_valid", valid)]);
            losses(vec![local, series("estimator_status_flags", &flags)]).len()
        };
        assert_eq!(with([1.0; 100], set(20, 80)), 1);
        // A flight in a hall, and one that waits for its first fix.
        assert_eq!(with([0.0; 100], set(20, 80)), 0);
        assert_eq!(with(lost(0, 80), set(20, 80)), 0);
    }

    #[test]
    fn flags_of_one_loss_are_one_diagnosis() {
        let local =
            series(LOCAL, &[("xy_valid", lost(30, 90)), ("v_xy_valid", lost(40, 90))]);
        let flags = [("cs_inertial_dead_reckoning", set(25, 90))];
        let found = losses(vec![local, series("estimator_status_flags", &flags)]);
        assert_eq!((found.len(), found[0].1), (1, 30 * STEP), "{found:?}");
    }
}
