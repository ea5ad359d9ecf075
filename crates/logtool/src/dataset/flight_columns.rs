//! The columns of a catalog with the analysis of flights.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{ArrayRef, Float64Array, StringArray};
use logtool_flight::{
    AnalysisScope, DiagnosisKind, FlightAnalysis, FlightStatistics, Severity,
};
use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    formats::LogFormat,
    inspect::flight::{self, AnalysedLog},
    source::input::open::OpenLog,
};

/// The values of a flight in a catalog, by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FlightValues {
    numbers: BTreeMap<String, f64>,
    texts: BTreeMap<String, String>,
}

/// The columns with texts.
const TEXTS: [&str; 6] = [
    "airframe",
    "vehicle_type",
    "estimator",
    "diagnoses",
    "worst_severity",
    "partly_examined",
];

/// The column with the number of diagnoses.
const COUNT: &str = "diagnosis_count";

type Statistic = (&'static str, fn(&FlightStatistics) -> Option<f64>);

/// The columns with statistics.
const STATISTICS: [Statistic; 23] = [
    ("armed_s", |s| s.armed_s),
    ("airborne_s", |s| s.airborne_s),
    ("distance_m", |s| s.distance_m),
    ("altitude_difference_m", |s| s.altitude_difference_m),
    ("average_speed_m_s", |s| s.average_speed_m_s),
    ("max_speed_m_s", |s| s.max_speed_m_s),
    ("average_horizontal_speed_m_s", |s| s.average_horizontal_speed_m_s),
    ("max_horizontal_speed_m_s", |s| s.max_horizontal_speed_m_s),
    ("max_speed_up_m_s", |s| s.max_speed_up_m_s),
    ("max_speed_down_m_s", |s| s.max_speed_down_m_s),
    ("max_tilt_deg", |s| s.max_tilt_deg),
    ("max_rotation_deg_s", |s| s.max_rotation_deg_s),
    ("average_current_a", |s| s.average_current_a),
    ("max_current_a", |s| s.max_current_a),
    ("min_voltage_v", |s| s.min_voltage_v),
    ("discharged_mah", |s| s.discharged_mah),
    ("energy_wh", |s| s.energy_wh),
    ("average_wind_m_s", |s| s.average_wind_m_s),
    ("max_wind_m_s", |s| s.max_wind_m_s),
    ("average_vibration_m_s2", |s| s.average_vibration_m_s2),
    ("max_vibration_m_s2", |s| s.max_vibration_m_s2),
    ("airframe_id", |s| s.airframe_id.map(|id| id as f64)),
    ("vehicle_flight_s", |s| s.vehicle_flight_s),
];

impl FlightValues {
    /// Returns the values of an analysed flight. A kind of diagnosis that was not found lasts
    /// zero seconds, and one that was not examined has no value.
    pub(super) fn new(analysis: &FlightAnalysis) -> Self {
        let statistics = &analysis.statistics;
        let mut numbers: BTreeMap<String, f64> = STATISTICS
            .iter()
            .filter_map(|(name, value)| Some(((*name).to_owned(), value(statistics)?)))
            .collect();
        let count = analysis.diagnoses.len() as f64;
        numbers.extend(analysis.is_examined().then(|| (COUNT.to_owned(), count)));
        numbers.extend(DiagnosisKind::ALL.iter().filter_map(|kind| {
            Some((seconds_column(*kind), analysis.seconds_of_kind(*kind)?))
        }));
        let mut kinds: Vec<&str> =
            analysis.diagnoses.iter().map(|diagnosis| diagnosis.kind.name()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let severity = analysis.highest_severity().map(|severity| match severity {
            Severity::Critical => "critical",
            _ => "warning",
        });
        let examinations = analysis.examinations.iter();
        let partly = examinations.filter(|own| !own.unexamined_parts.is_empty());
        let partly: Vec<&str> = partly.map(|own| own.kind.name()).collect();
        let texts = [
            ("airframe", statistics.airframe.map(str::to_owned)),
            ("vehicle_type", statistics.vehicle_type.map(str::to_owned)),
            ("estimator", statistics.estimator.map(str::to_owned)),
            ("diagnoses", analysis.is_examined().then(|| kinds.join(","))),
            ("worst_severity", severity.map(str::to_owned)),
            ("partly_examined", analysis.is_examined().then(|| partly.join(","))),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(name, text)| Some((name.to_owned(), text?)))
            .collect();
        Self { numbers, texts }
    }
}

/// Analyses the flight in `opened`. Logs without flights have no analysis.
pub(super) fn analyse(opened: &OpenLog) -> Result<Option<AnalysedLog>> {
    let format = LogFormat::from_manifest(opened.log.manifest());
    if format != Some(LogFormat::Ulog) {
        return Ok(None);
    }
    flight::analyse(&*opened.log, AnalysisScope::Flight, &|_| {}).map(Some)
}

/// Returns the name of the column with the seconds of a kind of diagnosis.
fn seconds_column(kind: DiagnosisKind) -> String {
    format!("{}_s", kind.name())
}

/// Returns the columns with the values of `flights`, one row each.
pub(super) fn columns(flights: &[Option<&FlightValues>]) -> Vec<(String, ArrayRef)> {
    let values = || flights.iter().copied();
    let text = |name: &str| -> ArrayRef {
        let texts = values().map(|flight| flight?.texts.get(name).map(String::as_str));
        Arc::new(texts.collect::<StringArray>())
    };
    let number = |name: &str| -> ArrayRef {
        let numbers = values().map(|flight| flight?.numbers.get(name).copied());
        Arc::new(numbers.collect::<Float64Array>())
    };
    let texts = TEXTS.iter().map(|name| ((*name).to_owned(), text(name)));
    let statistics = STATISTICS.iter().map(|(name, _)| (*name).to_owned());
    let seconds = DiagnosisKind::ALL.iter().map(|kind| seconds_column(*kind));
    let numbers = [COUNT.to_owned()].into_iter().chain(seconds).chain(statistics);
    let numbers = numbers.map(|name| {
        let column = number(&name);
        (name, column)
    });
    texts.chain(numbers).collect()
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array as _, cast::AsArray as _, types::Float64Type};
    use logtool_flight::{FlightData, Series, analyze};

    use super::*;

    #[test]
    fn analysed_logs_have_values_and_others_have_nulls() {
        let second = 1_000_000_000;
        let mut status = Series::new("vehicle_status", 0, vec![0]);
        status.add_column("arming_state", vec![2.0]);
        let times: Vec<i64> = (0..100).map(|n| n * second).collect();
        let mut gps = Series::new("vehicle_gps_position", 0, times);
        gps.add_column("fix_type", vec![3.0; 100]);
        gps.add_column("eph", vec![1.0; 100]);
        let jamming = (0..100).map(|n| if (20..60).contains(&n) { 3.0 } else { 1.0 });
        gps.add_column("jamming_state", jamming.collect());
        let data = FlightData::new((0, 100 * second)).with_series([status, gps]);
        let flight = FlightValues::new(&analyze(&data));
        let columns = columns(&[Some(&flight), None]);
        let column =
            |name: &str| &columns.iter().find(|(own, _)| own == name).unwrap().1;
        let number = |name: &str| column(name).as_primitive::<Float64Type>();
        assert_eq!(number("gps_interference_s").value(0), 40.0);
        assert_eq!(number("gps_loss_s").value(0), 0.0);
        assert!(number("rc_loss_s").is_null(0));
        assert_eq!(number("armed_s").value(0), 100.0);
        assert!(number("gps_interference_s").is_null(1));
        let text = |name: &str| column(name).as_string::<i32>().value(0).to_owned();
        assert_eq!(text("diagnoses"), "gps_interference");
        assert_eq!(text("worst_severity"), "critical");
        assert_eq!(text("partly_examined"), "");
    }
}
