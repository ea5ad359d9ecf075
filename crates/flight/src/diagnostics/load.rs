//! The load of the processor, the memory, and the logger.

use crate::{
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics::{largest_value, topic_name},
    intervals::{Run, runs},
    phases::Phases,
    series::{Series, seconds},
};

/// The limits of PX4 in percent, unless the parameters `COM_CPU_MAX` and `COM_RAM_MAX` set
/// others. Releases without `COM_RAM_MAX` do not check the memory, and usually use more.
const MAX_CPU_PERCENT: f64 = 90.0;
const MAX_RAM_PERCENT: f64 = 98.0;
/// The minimum time for which the load is too high, as in PX4 (`cpuResourceCheck.hpp`).
const MIN_OVERLOAD_S: f64 = 2.0;

/// Messages that the logger missed, because it was too slow, are reported from this number on.
const MISSED_MESSAGES: f64 = 10.0;

/// Dropouts are reported if their total duration exceeds `DROPOUT_S`, or `DROPOUT_SHARE` of the
/// log. They are critical if it exceeds `CRITICAL_DROPOUT_SHARE`.
const DROPOUT_S: f64 = 1.0;
const DROPOUT_SHARE: f64 = 0.01;
const CRITICAL_DROPOUT_SHARE: f64 = 0.05;

pub(super) fn diagnose(data: &FlightData, _: &Phases) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    let limit = |name: &str, default_percent: f64| {
        let percent = data.parameter(name).filter(|percent| *percent > 0.0);
        percent.unwrap_or(default_percent) / 100.0
    };
    let checks = [
        (
            DiagnosisKind::CpuLoad,
            "load",
            limit("COM_CPU_MAX", MAX_CPU_PERCENT),
            "processor load",
        ),
        (
            DiagnosisKind::RamUsage,
            "ram_usage",
            limit("COM_RAM_MAX", MAX_RAM_PERCENT),
            "memory usage",
        ),
    ];
    if let Some(load) = data.first_instance("cpuload") {
        for (kind, field, limit, name) in checks {
            let is_high = |row: usize| Some(load.value(field, row)? > limit);
            let overload_runs = runs(load, is_high).into_iter();
            let diagnosis = |run: Run| {
                let highest =
                    largest_value(run.rows().filter_map(|row| load.value(field, row)));
                let (percent, duration_s) = (highest * 100.0, run.seconds());
                Diagnosis::new(
                    kind,
                    Severity::Warning,
                    (run.start, run.end),
                    topic_name(load),
                    format!(
                        "the {name} was up to {percent:.0} % for {duration_s:.1} s"
                    ),
                )
                .with_evidence(load.label(field), highest, "", Some(limit))
                .with_evidence(
                    "duration",
                    duration_s,
                    "s",
                    Some(MIN_OVERLOAD_S),
                )
            };
            let overload_runs =
                overload_runs.filter(|run| run.seconds() >= MIN_OVERLOAD_S);
            diagnoses.extend(overload_runs.map(diagnosis));
        }
    }
    diagnoses.extend(dropouts(data));
    diagnoses.extend(data.instances("logger_status").filter_map(|s| gaps(s, data)));
    diagnoses
}

/// Returns the gaps that the logger counted itself: missed messages, and dropouts without records in the
/// log.
fn gaps(status: &Series, data: &FlightData) -> Option<Diagnosis> {
    let missed = increase(status, "message_gaps");
    let lost = increase(status, "dropouts").filter(|_| data.dropouts.is_empty());
    let missed = missed.filter(|missed| missed.count >= MISSED_MESSAGES);
    let all = [&missed, &lost].into_iter().flatten();
    let (start, end) =
        all.map(|own| own.period).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let count = |own: &Option<Increase>| own.as_ref().map_or(0.0, |own| own.count);
    let (missed, lost) = (count(&missed), count(&lost));
    Some(
        Diagnosis::new(
            DiagnosisKind::LoggingDropouts,
            Severity::Warning,
            (start, end),
            topic_name(status),
            format!(
                "the logger missed {missed:.0} messages, and lost data {lost:.0} times"
            ),
        )
        .with_evidence(status.label("message_gaps"), missed, "", Some(MISSED_MESSAGES))
        .with_evidence(status.label("dropouts"), lost, "", None),
    )
}

/// The increase of a counter, and the times between which it increased.
struct Increase {
    count: f64,
    period: (i64, i64),
}

/// Returns the increase of the counter `field`, if it increased. A counter that decreases was reset.
fn increase(series: &Series, field: &str) -> Option<Increase> {
    let mut found: Option<Increase> = None;
    let mut last: Option<(i64, f64)> = None;
    for (row, time) in series.times.iter().enumerate() {
        let Some(count) = series.value(field, row) else { continue };
        if let Some((last_time, last_count)) = last.replace((*time, count))
            && count > last_count
        {
            let own = found
                .get_or_insert(Increase { count: 0.0, period: (last_time, *time) });
            own.count += count - last_count;
            own.period.1 = *time;
        }
    }
    found
}

fn dropouts(data: &FlightData) -> Option<Diagnosis> {
    let lost_seconds: f64 = data.dropouts.iter().map(|dropout| dropout.seconds).sum();
    let log_seconds = seconds(data.time.1.saturating_sub(data.time.0));
    // Dropouts of a damaged log may last longer than the log.
    let share =
        if log_seconds > 0.0 { (lost_seconds / log_seconds).min(1.0) } else { 0.0 };
    if lost_seconds <= DROPOUT_S && share <= DROPOUT_SHARE {
        return None;
    }
    let starts = data.dropouts.iter().map(|dropout| dropout.time);
    let (start, last_start) = (starts.clone().min()?, starts.max()?);
    let count = data.dropouts.len();
    let severity = if share > CRITICAL_DROPOUT_SHARE {
        Severity::Critical
    } else {
        Severity::Warning
    };
    let longest = largest_value(data.dropouts.iter().map(|dropout| dropout.seconds));
    Some(
        Diagnosis::new(
            DiagnosisKind::LoggingDropouts,
            severity,
            (start, last_start),
            "dropouts",
            format!(
                "the logger lost data {count} times, for {lost_seconds:.1} s together"
            ),
        )
        .with_evidence("duration of all dropouts", lost_seconds, "s", Some(DROPOUT_S))
        .with_evidence("share of the log", share, "", Some(DROPOUT_SHARE))
        .with_evidence("longest dropout", longest, "s", None),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dropout;

    const SECOND: i64 = 1_000_000_000;

    fn diagnoses(data: FlightData) -> Vec<Diagnosis> {
        let phases = Phases::new(&data);
        diagnose(&data, &phases)
    }

    fn load(loads: &[f32]) -> FlightData {
        let times = (0..loads.len() as i64).map(|second| second * SECOND).collect();
        let mut series = Series::new("cpuload", 0, times);
        series.add_column("load", loads.to_vec());
        FlightData::new((0, 100 * SECOND)).with_series([series])
    }

    #[test]
    fn overload_is_reported_after_two_seconds() {
        assert_eq!(diagnoses(load(&[0.5, 0.95, 0.5, 0.95, 0.5])), []);
        let found = diagnoses(load(&[0.5, 0.95, 0.96, 0.5]));
        assert_eq!((found.len(), found[0].seconds()), (1, 2.0));
        let limit = [("COM_CPU_MAX".to_owned(), 98.0)];
        assert_eq!(diagnoses(load(&[0.5, 0.95, 0.96, 0.5]).with_parameters(limit)), []);
    }

    #[test]
    fn gaps_that_the_logger_counted_are_reported() {
        let with = |gaps: [f32; 4], dropouts: [f32; 4]| {
            let times = (0..4).map(|second| second * SECOND).collect();
            let mut status = Series::new("logger_status", 0, times);
            status.add_column("message_gaps", gaps.to_vec());
            status.add_column("dropouts", dropouts.to_vec());
            diagnoses(FlightData::new((0, 4 * SECOND)).with_series([status]))
        };
        // Counts from before the log, and single messages, are nothing.
        assert_eq!(with([500.0, 500.0, 505.0, 505.0], [3.0; 4]), []);
        let found = with([500.0, 500.0, 520.0, 520.0], [3.0; 4]);
        let [missed] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((missed.start_ns, missed.end_ns), (SECOND, 2 * SECOND));
        assert_eq!(missed.evidence[0].value, 20.0);
        let found = with([0.0; 4], [0.0, 0.0, 0.0, 2.0]);
        assert_eq!(
            (found[0].kind, found[0].start_ns),
            (DiagnosisKind::LoggingDropouts, 2 * SECOND)
        );
    }

    #[test]
    fn long_dropouts_are_reported() {
        let with = |seconds: &[f64]| {
            let mut data = FlightData::new((0, 200 * SECOND));
            data.dropouts = seconds
                .iter()
                .map(|seconds| Dropout { time: SECOND, seconds: *seconds })
                .collect();
            diagnoses(data)
        };
        assert_eq!(with(&[0.1, 0.02]), []);
        assert_eq!(with(&[0.7, 0.6])[0].severity, Severity::Warning);
        assert_eq!(with(&[12.0])[0].severity, Severity::Critical);
        // Of a log of 200 seconds, not more than all is lost.
        let broken = with(&[65.0, 65.0, 65.0, 65.0]);
        let mut evidence = broken[0].evidence.iter();
        let share = evidence.find(|own| own.name == "share of the log").unwrap();
        assert_eq!(share.value, 1.0);
    }
}
