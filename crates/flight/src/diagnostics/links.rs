//! The remote control and the data link.

use crate::{
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics::topic_name,
    intervals::{Run, runs},
    phases::Phases,
    series::Series,
};

/// The minimum durations of a loss of the signal and of a critical loss (flight-review-rs,
/// `diagnostics/rc_loss.rs`).
const MIN_LOSS_S: f64 = 0.5;
const CRITICAL_LOSS_S: f64 = 5.0;

/// The topics and fields that report a loss, in the order of preference. A link that was never
/// connected is not reported.
const RC: [(&str, &str); 2] = [
    ("failsafe_flags", "manual_control_signal_lost"),
    ("vehicle_status", "rc_signal_lost"),
];
const DATA_LINK: [(&str, &str); 3] = [
    ("failsafe_flags", "gcs_connection_lost"),
    ("vehicle_status", "gcs_connection_lost"),
    ("vehicle_status", "data_link_lost"),
];

pub(super) fn diagnose(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    for receiver in data.instances("input_rc") {
        let flag = |name: &str, row: usize| receiver.value(name, row).map(|v| v == 1.0);
        let has_no_signal = |row: usize| {
            // A receiver in failsafe still sends frames.
            let lost = flag("rc_lost", row).or(flag("rc_failsafe", row))?;
            Some(lost || flag("rc_failsafe", row).unwrap_or(false))
        };
        let first_signal =
            (0..receiver.times.len()).find(|row| has_no_signal(*row) == Some(false));
        let Some(first_signal) = first_signal else { continue };
        let is_lost = |row: usize| {
            let time = receiver.times.get(row)?;
            let is_later = row > first_signal;
            Some(is_later && has_no_signal(row)? && phases.is_armed(*time))
        };
        let summary = "the receiver of the remote control had no signal";
        let rc_losses = losses(receiver, runs(receiver, is_lost), data.time.1, phases);
        diagnoses.extend(rc_losses.into_iter().map(|(run, seconds)| {
            loss(DiagnosisKind::RcLoss, receiver, "rc_lost", run, seconds, summary)
        }));
    }
    if diagnoses.is_empty() {
        let summary = "PX4 lost the signal of the manual control";
        diagnoses.extend(first_loss(data, phases, DiagnosisKind::RcLoss, &RC, summary));
    }
    let summary = "PX4 lost the connection to the ground station";
    diagnoses.extend(first_loss(
        data,
        phases,
        DiagnosisKind::DataLinkLoss,
        &DATA_LINK,
        summary,
    ));
    diagnoses
}

/// Finds losses of a link in the first of `fields` that is in the log.
fn first_loss(
    data: &FlightData,
    phases: &Phases,
    kind: DiagnosisKind,
    fields: &[(&str, &'static str)],
    text: &str,
) -> Vec<Diagnosis> {
    let with_field = |(topic, field): &(&str, &'static str)| {
        let series = data.first_instance(topic)?;
        series.column(field).map(|_| (series, *field))
    };
    let Some((series, field)) = fields.iter().find_map(with_field) else {
        return Vec::new();
    };
    let first_connected_row =
        (0..series.times.len()).find(|row| series.value(field, *row) == Some(0.0));
    let Some(first_connected_row) = first_connected_row else { return Vec::new() };
    let is_lost = |row: usize| {
        let time = series.times.get(row)?;
        let lost = series.value(field, row)? == 1.0;
        Some(row > first_connected_row && lost && phases.is_armed(*time))
    };
    let link_losses = losses(series, runs(series, is_lost), data.time.1, phases);
    let diagnosis =
        |(run, seconds): (Run, f64)| loss(kind, series, field, run, seconds, text);
    link_losses.into_iter().map(diagnosis).collect()
}

/// Returns the runs that are long enough, and their lengths in seconds. A loss in the last row
/// lasts until the end of the log, or until the vehicle is disarmed.
fn losses(
    series: &Series,
    runs: Vec<Run>,
    end: i64,
    phases: &Phases,
) -> Vec<(Run, f64)> {
    let is_last = |run: &Run| run.last + 1 == series.times.len();
    let runs = runs.into_iter().map(|run| {
        let armed_interval = phases.armed.as_ref().and_then(|armed| {
            armed.list().iter().find(|(start, end)| (*start..*end).contains(&run.start))
        });
        let end =
            armed_interval.map_or(end, |(_, armed_interval)| end.min(*armed_interval));
        if is_last(&run) { Run { end: run.end.max(end), ..run } } else { run }
    });
    let runs = runs.map(|run| (run, run.seconds()));
    runs.filter(|(_, seconds)| *seconds >= MIN_LOSS_S).collect()
}

fn loss(
    kind: DiagnosisKind,
    series: &Series,
    field: &str,
    run: Run,
    seconds: f64,
    text: &str,
) -> Diagnosis {
    let is_critical = kind == DiagnosisKind::RcLoss && seconds >= CRITICAL_LOSS_S;
    let severity = if is_critical { Severity::Critical } else { Severity::Warning };
    Diagnosis::new(
        kind,
        severity,
        (run.start, run.end),
        topic_name(series),
        format!("{text} for {seconds:.1} s while armed"),
    )
    .with_evidence(series.label(field), 1.0, "", None)
    .with_evidence("duration", seconds, "s", Some(MIN_LOSS_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn diagnoses(series: Series, disarmed_ms: i64) -> Vec<Diagnosis> {
        let mut status = Series::new("vehicle_status", 0, vec![0, disarmed_ms * MS]);
        status.add_column("arming_state", vec![2.0, 1.0]);
        let data = FlightData::new((0, 20_000 * MS)).with_series([series, status]);
        let phases = Phases::new(&data);
        diagnose(&data, &phases)
    }

    fn receiver(rows: &[(i64, f32, f32)]) -> Series {
        let times = rows.iter().map(|(ms, ..)| ms * MS).collect();
        let mut series = Series::new("input_rc", 0, times);
        series.add_column("rc_lost", rows.iter().map(|row| row.1).collect());
        series.add_column("rc_failsafe", rows.iter().map(|row| row.2).collect());
        series
    }

    #[test]
    fn loss_of_half_a_second_is_a_warning_and_of_five_seconds_critical() {
        let lost = |until: i64| {
            let frames = |from: i64, to: i64, lost| {
                (from / 100..to / 100).map(move |n| (n * 100, lost, 0.0))
            };
            let rows: Vec<_> = frames(0, 3000, 0.0)
                .chain(frames(3000, until, 1.0))
                .chain(frames(until, 12_000, 0.0))
                .collect();
            diagnoses(receiver(&rows), 20_000)
        };
        assert_eq!(lost(3200), []);
        assert_eq!(lost(5000)[0].severity, Severity::Warning);
        assert_eq!(lost(5000)[0].seconds(), 2.0);
        assert_eq!(lost(8000)[0].severity, Severity::Critical);
    }

    #[test]
    fn receiver_in_failsafe_has_lost_its_signal() {
        let rows = [(0, 0.0, 0.0), (1000, 0.0, 1.0), (2000, 0.0, 0.0)];
        assert_eq!(diagnoses(receiver(&rows), 20_000).len(), 1);
    }

    #[test]
    fn loss_lasts_until_the_vehicle_is_disarmed_and_not_beyond() {
        let rows = [(0, 0.0, 0.0), (1000, 1.0, 0.0)];
        let found = diagnoses(receiver(&rows), 4000);
        assert_eq!((found.len(), found[0].end_ns), (1, 4000 * MS));
        assert_eq!(diagnoses(receiver(&rows), 500), []);
    }

    #[test]
    fn receiver_that_never_had_a_signal_has_not_lost_it() {
        let rows: Vec<_> = (0..20).map(|second| (second * 1000, 1.0, 1.0)).collect();
        assert_eq!(diagnoses(receiver(&rows), 20_000), []);
    }

    #[test]
    fn link_that_was_never_connected_is_not_lost() {
        let flags = |first: f32| {
            let times = (0..5).map(|second| second * 1000 * MS).collect();
            let mut series = Series::new("failsafe_flags", 0, times);
            series.add_column("gcs_connection_lost", vec![first, 1.0, 1.0, 1.0, 1.0]);
            diagnoses(series, 20_000)
        };
        assert_eq!(flags(1.0), []);
        let found = flags(0.0);
        assert_eq!((found.len(), found[0].kind), (1, DiagnosisKind::DataLinkLoss));
        assert_eq!(found[0].start_ns, 1000 * MS);
    }
}
