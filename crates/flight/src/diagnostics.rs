//! The rules that find diagnoses. Each constant is a threshold, and names its source if it is not
//! our own choice.

mod battery;
mod compass;
mod estimator;
mod failsafe;
mod gps;
mod links;
mod load;
mod motor_commands;
mod motors;
mod position;
mod vibration;

pub use self::estimator::{FILTER_FAULTS, filter_fault_flags};

use crate::{data::FlightData, diagnosis::Diagnosis, phases::Phases};

/// The maximum number of diagnoses of one kind. The most severe, and of these the longest, are kept.
const MAX_DIAGNOSES_OF_KIND: usize = 50;

/// Applies all rules, and returns the diagnoses sorted by start time.
pub(crate) fn diagnose(data: &FlightData, phases: &Phases) -> Vec<Diagnosis> {
    let rules: [fn(&FlightData, &Phases) -> Vec<Diagnosis>; 10] = [
        gps::diagnose,
        motors::diagnose,
        battery::diagnose,
        estimator::diagnose,
        links::diagnose,
        vibration::diagnose,
        compass::diagnose,
        load::diagnose,
        failsafe::diagnose,
        position::diagnose,
    ];
    let mut diagnoses: Vec<Diagnosis> = Vec::new();
    for rule in rules {
        let mut rule_diagnoses = rule(data, phases);
        rule_diagnoses.sort_by(|a, b| {
            (a.kind, b.severity)
                .cmp(&(b.kind, a.severity))
                .then(b.seconds().total_cmp(&a.seconds()))
        });
        let mut count = 0;
        let mut kind = None;
        rule_diagnoses.retain(|diagnosis| {
            count = if kind == Some(diagnosis.kind) { count + 1 } else { 1 };
            kind = Some(diagnosis.kind);
            count <= MAX_DIAGNOSES_OF_KIND
        });
        diagnoses.extend(rule_diagnoses);
    }
    diagnoses.sort_by_key(|diagnosis| (diagnosis.start_ns, diagnosis.kind));
    diagnoses
}

/// Returns the largest of `values`.
fn largest_value(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, f64::max)
}

/// Returns the smallest of `values`.
fn smallest_value(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

/// Returns the name of the topic of a series, followed by its instance unless that is 0.
fn topic_name(series: &crate::series::Series) -> String {
    series.label("").trim_end_matches('.').to_owned()
}
