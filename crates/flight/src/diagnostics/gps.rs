//! GPS interference and loss.

use crate::{
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics::{largest_value, smallest_value, topic_name},
    intervals::{Run, join_runs, runs},
    phases::Phases,
    series::{Series, seconds},
};

/// The thresholds of flight-review-rs (`diagnostics/gps_interference.rs`). The baseline is the mean
/// of the first samples with a fix; its horizontal error must be good. Errors are standard
/// deviations in m (uORB, `SensorGps.msg`: `eph`, `epv`).
const BASELINE_SAMPLES: usize = 10;
const GOOD_BASELINE_EPH_M: f64 = 2.0;
const MAX_EPH_M: f64 = 5.0;
const CRITICAL_EPH_M: f64 = 10.0;
const MAX_EPV_M: f64 = 10.0;
const MIN_SATELLITE_SHARE: f64 = 0.5;
const CRITICAL_SATELLITES: f64 = 4.0;
/// Detections that are closer together are joined (flight-review-rs).
const JOIN_NANOS: i64 = 5_000_000_000;

/// A fix in three dimensions (uORB, `SensorGps.msg`).
const FIX_3D: f64 = 3.0;
/// The states of jamming and spoofing that are suspect and critical: `JAMMING_STATE_WARNING` and
/// `SPOOFING_STATE_INDICATED` are 2, and higher values are more severe (uORB, `SensorGps.msg`).
const SUSPECT_STATE: f64 = 2.0;
const CRITICAL_STATE: f64 = 3.0;
/// The jamming indicator should stay below this value (PX4 user guide, "Log Analysis using Flight
/// Review").
const MAX_JAMMING_INDICATOR: f64 = 80.0;
/// The minimum time for which the indicator is too high.
const MIN_JAMMING_S: f64 = 5.0;

/// The minimum durations of a loss of the fix and of a critical loss.
const MIN_LOSS_S: f64 = 1.0;
const CRITICAL_LOSS_S: f64 = 5.0;
/// A receiver is silent if no message arrives for this time and for ten median intervals.
const MIN_SILENCE_S: f64 = 5.0;
const SILENT_INTERVALS: f64 = 10.0;

/// The quality of the reception at the start of a log.
struct Baseline {
    /// The mean horizontal error in m.
    eph: f64,
    /// The mean number of satellites.
    satellites: f64,
    /// The first row after the baseline.
    end_row: usize,
}

pub(super) fn diagnose(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    // `vehicle_gps_position` is the position of the receiver that PX4 selected. Older logs have no
    // `sensor_gps`.
    let mut receivers: Vec<&Series> = data.instances("vehicle_gps_position").collect();
    if receivers.is_empty() {
        receivers = data.instances("sensor_gps").collect();
    }
    let mut diagnoses = Vec::new();
    for gps in receivers {
        diagnoses.extend(interference(gps, phases));
        diagnoses.extend(jamming_indicator(gps, phases));
        diagnoses.extend(loss(gps, phases, data.time.1));
    }
    diagnoses
}

/// Returns the means of the first samples with a fix.
fn baseline(gps: &Series) -> Option<Baseline> {
    let is_good = |row: &usize| {
        // Logs without the field may have a fix.
        let fix = gps.value("fix_type", *row).unwrap_or(FIX_3D);
        let eph = gps.value("eph", *row).unwrap_or(f64::NAN);
        fix >= FIX_3D && eph.is_finite()
    };
    let rows: Vec<usize> =
        (0..gps.times.len()).filter(is_good).take(BASELINE_SAMPLES).collect();
    if rows.len() < BASELINE_SAMPLES {
        return None;
    }
    let mean = |name: &str| {
        let values = rows.iter().filter_map(|row| gps.value(name, *row));
        values.sum::<f64>() / BASELINE_SAMPLES as f64
    };
    let end_row = rows.last()? + 1;
    Some(Baseline { eph: mean("eph"), satellites: mean("satellites_used"), end_row })
}

fn interference(gps: &Series, phases: &Phases) -> Vec<Diagnosis> {
    let baseline = baseline(gps);
    let finite =
        |name: &str, row: usize| gps.value(name, row).filter(|v| v.is_finite());
    let eph_is_bad = |row: usize| {
        baseline.as_ref().is_some_and(|baseline| {
            row >= baseline.end_row
                && baseline.eph < GOOD_BASELINE_EPH_M
                && finite("eph", row).is_some_and(|eph| eph > MAX_EPH_M)
        })
    };
    let epv_is_bad = |row: usize| {
        baseline.as_ref().is_some_and(|baseline| row >= baseline.end_row)
            && finite("epv", row).is_some_and(|epv| epv > MAX_EPV_M)
    };
    let satellites_are_few = |row: usize| {
        baseline.as_ref().is_some_and(|baseline| {
            row >= baseline.end_row
                && finite("satellites_used", row).is_some_and(|satellites| {
                    satellites < baseline.satellites * MIN_SATELLITE_SHARE
                })
        })
    };
    let state = |name: &str, row: usize| gps.value(name, row).unwrap_or_default();
    let is_suspect = |row: usize| {
        state("jamming_state", row) >= SUSPECT_STATE
            || state("spoofing_state", row) >= SUSPECT_STATE
    };
    let is_bad = |row: usize| {
        let time = gps.times.get(row)?;
        Some(
            phases.may_be_armed(*time)
                && (eph_is_bad(row)
                    || epv_is_bad(row)
                    || satellites_are_few(row)
                    || is_suspect(row)),
        )
    };
    let bad_runs = join_runs(runs(gps, is_bad), JOIN_NANOS);
    let diagnosis = |run: Run| {
        let highest =
            |name: &str| largest_value(run.rows().filter_map(|row| finite(name, row)));
        let fewest_satellites =
            smallest_value(run.rows().filter_map(|row| finite("satellites_used", row)));
        let (eph, epv) = (highest("eph"), highest("epv"));
        let (jamming, spoofing) = (highest("jamming_state"), highest("spoofing_state"));
        let is_critical = eph > CRITICAL_EPH_M
            || fewest_satellites < CRITICAL_SATELLITES
            || jamming.max(spoofing) >= CRITICAL_STATE;
        let severity = if is_critical { Severity::Critical } else { Severity::Warning };
        let mut reasons = Vec::new();
        if run.rows().any(eph_is_bad) {
            reasons.push(format!("a horizontal error of {eph:.1} m"));
        }
        if run.rows().any(epv_is_bad) {
            reasons.push(format!("a vertical error of {epv:.1} m"));
        }
        if run.rows().any(satellites_are_few) {
            let initial_satellites =
                baseline.as_ref().map_or(0.0, |baseline| baseline.satellites);
            reasons.push(format!(
                "{fewest_satellites:.0} satellites, after {initial_satellites:.0} at the \
                 start"
            ));
        }
        if jamming >= SUSPECT_STATE {
            reasons.push("reported jamming".to_owned());
        }
        if spoofing >= SUSPECT_STATE {
            reasons.push("reported spoofing".to_owned());
        }
        let summary = format!("GPS reception was bad: {}", reasons.join(", "));
        let satellite_limit =
            baseline.as_ref().map(|b| b.satellites * MIN_SATELLITE_SHARE);
        let mut diagnosis = Diagnosis::new(
            DiagnosisKind::GpsInterference,
            severity,
            (run.start, run.end),
            topic_name(gps),
            summary,
        );
        let evidence = [
            ("eph", eph, "m", Some(MAX_EPH_M)),
            ("epv", epv, "m", Some(MAX_EPV_M)),
            ("satellites_used", fewest_satellites, "", satellite_limit),
            ("jamming_state", jamming, "", Some(SUSPECT_STATE)),
            ("spoofing_state", spoofing, "", Some(SUSPECT_STATE)),
        ];
        for (name, value, unit, threshold) in evidence {
            if value.is_finite() {
                diagnosis =
                    diagnosis.with_evidence(gps.label(name), value, unit, threshold);
            }
        }
        diagnosis
    };
    bad_runs.into_iter().map(diagnosis).collect()
}

fn jamming_indicator(gps: &Series, phases: &Phases) -> Vec<Diagnosis> {
    let is_high = |row: usize| {
        let indicator = gps.value("jamming_indicator", row)?;
        let time = gps.times.get(row)?;
        Some(phases.may_be_armed(*time) && indicator >= MAX_JAMMING_INDICATOR)
    };
    let jammed_runs =
        runs(gps, is_high).into_iter().filter(|run| run.seconds() >= MIN_JAMMING_S);
    let diagnosis = |run: Run| {
        let values = run.rows().filter_map(|row| gps.value("jamming_indicator", row));
        let highest = largest_value(values);
        Diagnosis::new(
            DiagnosisKind::GpsInterference,
            Severity::Warning,
            (run.start, run.end),
            topic_name(gps),
            format!(
                "the jamming indicator of the GPS receiver was {highest:.0} of 255"
            ),
        )
        .with_evidence(
            gps.label("jamming_indicator"),
            highest,
            "",
            Some(MAX_JAMMING_INDICATOR),
        )
    };
    jammed_runs.map(diagnosis).collect()
}

fn loss(gps: &Series, phases: &Phases, end: i64) -> Vec<Diagnosis> {
    let Some(fixes) = gps.column("fix_type") else { return Vec::new() };
    let Some(first_fix_row) = fixes.iter().position(|fix| f64::from(*fix) >= FIX_3D)
    else {
        return Vec::new();
    };
    let is_lost = |row: usize| {
        let time = gps.times.get(row)?;
        let fix = gps.value("fix_type", row)?;
        Some(row > first_fix_row && fix < FIX_3D && phases.is_armed(*time))
    };
    let severity = |lost_seconds: f64| {
        if lost_seconds >= CRITICAL_LOSS_S {
            Severity::Critical
        } else {
            Severity::Warning
        }
    };
    let mut diagnoses = Vec::new();
    for run in runs(gps, is_lost).into_iter().filter(|run| run.seconds() >= MIN_LOSS_S)
    {
        let lost_seconds = run.seconds();
        let values = run.rows().filter_map(|row| gps.value("fix_type", row));
        diagnoses.push(
            Diagnosis::new(
                DiagnosisKind::GpsLoss,
                severity(lost_seconds),
                (run.start, run.end),
                topic_name(gps),
                format!(
                    "the GPS receiver had no fix in three dimensions for {lost_seconds:.1} s"
                ),
            )
            .with_evidence(gps.label("fix_type"), smallest_value(values), "", Some(FIX_3D))
            .with_evidence("duration", lost_seconds, "s", Some(MIN_LOSS_S)),
        );
    }
    let usual_interval = gps.median_interval().map_or(0.0, seconds);
    let longest_silence = MIN_SILENCE_S.max(SILENT_INTERVALS * usual_interval);
    let ends = gps.times.iter().copied().skip(1).chain([end]);
    for (start, end) in gps.times.iter().copied().zip(ends).skip(first_fix_row) {
        let silent_seconds = seconds(end.saturating_sub(start));
        let is_flying = phases
            .armed
            .as_ref()
            .is_some_and(|a| a.contains_all(start, end.saturating_sub(1)));
        if silent_seconds > longest_silence && is_flying {
            diagnoses.push(
                Diagnosis::new(
                    DiagnosisKind::GpsLoss,
                    severity(silent_seconds),
                    (start, end),
                    topic_name(gps),
                    format!("the GPS receiver was silent for {silent_seconds:.1} s"),
                )
                .with_evidence(
                    "time without a message",
                    silent_seconds,
                    "s",
                    Some(longest_silence),
                ),
            );
        }
    }
    diagnoses
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// A flight of a minute with one GPS message per second.
    fn flight(change: impl Fn(usize, &mut [f32; 5])) -> (FlightData, Phases) {
        let times: Vec<i64> = (0..60).map(|second| second * SECOND).collect();
        let mut rows: Vec<[f32; 5]> = vec![[3.0, 0.8, 1.2, 12.0, 1.0]; 60];
        for (row, values) in rows.iter_mut().enumerate() {
            change(row, values);
        }
        let mut gps = Series::new("vehicle_gps_position", 0, times);
        let names = ["fix_type", "eph", "epv", "satellites_used", "jamming_state"];
        for (at, name) in names.into_iter().enumerate() {
            gps.add_column(name, rows.iter().map(|row| row[at]).collect());
        }
        let mut status = Series::new("vehicle_status", 0, vec![0]);
        status.add_column("arming_state", vec![2.0]);
        let data = FlightData::new((0, 60 * SECOND)).with_series([gps, status]);
        let phases = Phases::new(&data);
        (data, phases)
    }

    fn diagnoses(change: impl Fn(usize, &mut [f32; 5])) -> Vec<Diagnosis> {
        let (data, phases) = flight(change);
        diagnose(&data, &phases)
    }

    #[test]
    fn good_reception_has_no_diagnosis() {
        assert_eq!(diagnoses(|_, _| {}), []);
        // The time before the first fix is not interference.
        let startup = |row: usize, values: &mut [f32; 5]| {
            if row < 10 {
                *values = [0.0, 4e6, 4e6, 0.0, 0.0];
            }
        };
        assert_eq!(diagnoses(startup), []);
    }

    #[test]
    fn evidence_has_the_names_of_states() {
        let (mut data, _) = flight(|row, values| {
            if row >= 20 {
                values[4] = 3.0;
            }
        });
        // SensorGps.msg of PX4 1.16.
        let names = [(2, "WARNING"), (3, "CRITICAL")];
        let names = names.map(|(value, name)| (value, name.to_owned()));
        let field = "vehicle_gps_position.jamming_state";
        data.value_names.insert(field.to_owned(), names.into());
        let analysis = crate::analyze(&data);
        let mut found = analysis.diagnoses_of_kind(DiagnosisKind::GpsInterference);
        let evidence = &found.next().unwrap().evidence;
        let named = |name: &str| {
            let own = evidence.iter().find(|own| own.name == name).unwrap();
            (own.value_name.as_deref(), own.threshold_name.as_deref())
        };
        assert_eq!(named(field), (Some("CRITICAL"), Some("WARNING")));
        assert_eq!(named("vehicle_gps_position.eph"), (None, None));
        let second = "vehicle_gps_position.1.jamming_state";
        assert_eq!(data.value_name(second, 2.0).as_deref(), Some("WARNING"));
        assert_eq!(data.value_name(second, 2.5), None);
        assert_eq!(data.value_name(second, f64::NAN), None);
        assert_eq!(data.value_name("duration", 2.0), None);
    }

    #[test]
    fn large_errors_and_few_satellites_are_interference() {
        let found = diagnoses(|row, values| {
            if (20..30).contains(&row) {
                values[1] = 8.0;
            }
        });
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!((found[0].start_ns, found[0].end_ns), (20 * SECOND, 30 * SECOND));
        assert_eq!(found[0].evidence[0].value, 8.0);

        let found = diagnoses(|row, values| {
            if row >= 40 {
                values[3] = 3.0;
            }
        });
        assert_eq!(found[0].severity, Severity::Critical);
        assert!(found[0].summary.contains("3 satellites, after 12"), "{found:?}");
    }

    #[test]
    fn reported_jamming_is_interference() {
        let found = diagnoses(|row, values| {
            if (50..52).contains(&row) {
                values[4] = 3.0;
            }
        });
        assert_eq!((found.len(), found[0].severity), (1, Severity::Critical));
        assert_eq!(found[0].seconds(), 2.0);
    }

    #[test]
    fn fix_that_is_lost_in_flight_is_a_loss() {
        let found = diagnoses(|row, values| {
            if (20..27).contains(&row) {
                values[0] = 1.0;
            }
        });
        let loss: Vec<_> =
            found.iter().filter(|d| d.kind == DiagnosisKind::GpsLoss).collect();
        assert_eq!((loss.len(), loss[0].severity), (1, Severity::Critical));
        assert_eq!(loss[0].seconds(), 7.0);
    }

    #[test]
    fn receiver_that_falls_silent_is_a_loss() {
        let (mut data, phases) = flight(|_, _| {});
        let gps = Series::new(
            "vehicle_gps_position",
            0,
            (0..40).map(|s| s * SECOND).collect(),
        );
        data.series[0] = gps;
        data.series[0].add_column("fix_type", vec![3.0; 40]);
        let found = diagnose(&data, &phases);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].start_ns, found[0].end_ns), (39 * SECOND, 60 * SECOND));
    }
}
