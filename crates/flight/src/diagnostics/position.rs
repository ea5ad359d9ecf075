//! The loss of the horizontal position.

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

/// Finds periods under way in which the horizontal position was invalid, after it was valid.
pub(super) fn diagnose(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let Some(position) = data.first_instance("vehicle_local_position") else {
        return Vec::new();
    };
    let is_valid =
        |row: usize| position.value("xy_valid", row).map(|valid| valid == 1.0);
    let mut rows = 0..position.times.len();
    let Some(first_valid) = rows.find(|row| is_valid(*row) == Some(true)) else {
        return Vec::new();
    };
    let is_lost = |row: usize| {
        let time = position.times.get(row)?;
        Some(row > first_valid && !is_valid(row)? && phases.is_underway(*time))
    };
    let flags = data.first_instance("estimator_status_flags");
    let diagnosis = |run: Run| {
        let seconds = run.seconds();
        let is_critical = seconds >= CRITICAL_LOSS_S;
        let severity = if is_critical { Severity::Critical } else { Severity::Warning };
        let diagnosis = Diagnosis::new(
            DiagnosisKind::PositionLoss,
            severity,
            (run.start, run.end),
            topic_name(position),
            format!("the horizontal position was invalid for {seconds:.1} s"),
        )
        .with_evidence(position.label("xy_valid"), 0.0, "", None)
        .with_evidence("duration", seconds, "s", Some(MIN_LOSS_S));
        let field = "cs_inertial_dead_reckoning";
        let during = |flags: &Series| {
            let rows = flags.times.iter().enumerate();
            let mut rows =
                rows.filter(|(_, time)| (run.start..=run.end).contains(time));
            rows.any(|(row, _)| flags.value(field, row) == Some(1.0))
        };
        match flags.filter(|flags| during(flags)) {
            Some(flags) => diagnosis.with_evidence(flags.label(field), 1.0, "", None),
            None => diagnosis,
        }
    };
    let lost_runs = runs(position, is_lost).into_iter();
    lost_runs.filter(|run| run.seconds() >= MIN_LOSS_S).map(diagnosis).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: i64 = 100_000_000;

    #[test]
    fn position_that_becomes_invalid_is_lost() {
        let with = |valid: [f32; 100]| {
            let mut position = Series::new(
                "vehicle_local_position",
                0,
                (0..100).map(|n| n * STEP).collect(),
            );
            position.add_column("xy_valid", valid.to_vec());
            let mut status = Series::new("vehicle_status", 0, vec![0]);
            status.add_column("arming_state", vec![2.0]);
            let data = FlightData::new((0, 100 * STEP)).with_series([position, status]);
            let phases = Phases::new(&data);
            let found = diagnose(&data, &phases);
            found.iter().map(|d| (d.kind, d.severity, d.start_ns)).collect::<Vec<_>>()
        };
        let lost = |from: usize, to: usize| {
            std::array::from_fn(|row| if (from..to).contains(&row) { 0.0 } else { 1.0 })
        };
        let kind = DiagnosisKind::PositionLoss;
        assert_eq!(with(lost(30, 45)), []);
        assert_eq!(with(lost(30, 60)), [(kind, Severity::Warning, 30 * STEP)]);
        assert_eq!(with(lost(30, 100)), [(kind, Severity::Critical, 30 * STEP)]);
        // A flight that never had a position has not lost it.
        assert_eq!(with([0.0; 100]), []);
    }
}
