//! All analyses of a flight.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::{
    correlation::{Correlation, correlate_thrust_and_field},
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics,
    examination::{Examination, Outcome, examine},
    intervals::Intervals,
    phases::Phases,
    sampling::SamplingRegularity,
    spectra::{self, FilterMarks, Spectrum},
    spectrogram::Spectrogram,
    statistics::FlightStatistics,
    step_response::{self, StepResponse},
};

/// The series whose sampling regularity is computed, besides that of the topics with the rotation of
/// the vehicle, which are not series.
const SAMPLED_TOPICS: [&str; 3] =
    ["vehicle_local_position", "vehicle_gps_position", "battery_status"];

/// The statistics and the diagnoses of a flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlightAnalysis {
    /// The statistics.
    pub statistics: FlightStatistics,
    /// Everything that may have gone wrong, sorted by start time.
    pub diagnoses: Vec<Diagnosis>,
    /// The result for each kind of diagnosis, in the order of [`DiagnosisKind::ALL`].
    pub examinations: Vec<Examination>,
    /// How regularly important topics were logged.
    pub sampling: Vec<SamplingRegularity>,
    /// The correlation of the magnetic field with the thrust.
    pub thrust_and_field: Option<Correlation>,
}

/// The diagnoses of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RepeatedDiagnosis<'a> {
    /// The most severe diagnosis, and of these the longest.
    pub worst: &'a Diagnosis,
    /// The number of diagnoses.
    pub count: usize,
    /// The start of the first, in nanoseconds on the clock of the log.
    pub start_ns: i64,
    /// The latest end, in nanoseconds on the clock of the log.
    pub end_ns: i64,
}

/// A part of a log in which some kinds of diagnoses could not be examined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnexaminedKinds<'a> {
    /// The start, in nanoseconds on the clock of the log.
    pub start_ns: i64,
    /// The end, in nanoseconds on the clock of the log.
    pub end_ns: i64,
    /// The missing topics.
    pub missing: BTreeSet<&'a str>,
    /// The kinds.
    pub kinds: BTreeSet<DiagnosisKind>,
}

/// The spectra and the step responses of a flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SignalAnalysis {
    /// The spectra of actuator controls, angular velocity and angular acceleration.
    pub spectra: Vec<Spectrum>,
    /// The spectrograms of the same signals, of the acceleration, and of FIFO samples.
    pub spectrograms: Vec<Spectrogram>,
    /// The cut-off and notch frequencies of the filters of the gyroscope.
    pub filters: FilterMarks,
    /// The step responses of the rate controller and of the attitude controller.
    pub step_responses: Vec<StepResponse>,
}

/// Computes the statistics and the diagnoses of a flight.
pub fn analyze(data: &FlightData) -> FlightAnalysis {
    let phases = Phases::new(data);
    let sampled = SAMPLED_TOPICS.iter().filter_map(|topic| data.first_instance(topic));
    let sampling = sampled.filter_map(SamplingRegularity::new);
    let mut diagnoses = diagnostics::diagnose(data, &phases);
    for evidence in diagnoses.iter_mut().flat_map(|diagnosis| &mut diagnosis.evidence) {
        evidence.value_name = data.value_name(&evidence.name, evidence.value);
        evidence.threshold_name = evidence
            .threshold
            .and_then(|threshold| data.value_name(&evidence.name, threshold));
    }
    FlightAnalysis {
        statistics: FlightStatistics::new(data, &phases),
        examinations: examine(data, &phases, &diagnoses),
        diagnoses,
        sampling: data.streamed_sampling.iter().cloned().chain(sampling).collect(),
        thrust_and_field: correlate_thrust_and_field(data),
    }
}

/// Computes the spectra and the step responses of a flight.
pub fn signal_analysis(data: &FlightData) -> SignalAnalysis {
    let phases = Phases::new(data);
    SignalAnalysis {
        spectra: spectra::flight_spectra(data),
        spectrograms: spectra::flight_spectrograms(data),
        filters: FilterMarks::new(data),
        step_responses: step_response::flight_step_responses(data, &phases),
    }
}

impl FlightAnalysis {
    /// Returns the diagnoses of the kind `kind`.
    pub fn diagnoses_of_kind(
        &self,
        kind: DiagnosisKind,
    ) -> impl Iterator<Item = &Diagnosis> {
        self.diagnoses.iter().filter(move |diagnosis| diagnosis.kind == kind)
    }

    /// Returns the diagnoses of each kind, in the order of the first of each.
    pub fn diagnoses_by_kind(&self) -> Vec<RepeatedDiagnosis<'_>> {
        let mut all: Vec<RepeatedDiagnosis<'_>> = Vec::new();
        for diagnosis in &self.diagnoses {
            match all.iter_mut().find(|own| own.worst.kind == diagnosis.kind) {
                Some(own) => {
                    own.count += 1;
                    own.end_ns = own.end_ns.max(diagnosis.end_ns);
                    let rank = |own: &Diagnosis| {
                        (own.severity, own.end_ns.saturating_sub(own.start_ns))
                    };
                    if rank(diagnosis) > rank(own.worst) {
                        own.worst = diagnosis;
                    }
                }
                None => all.push(RepeatedDiagnosis {
                    worst: diagnosis,
                    count: 1,
                    start_ns: diagnosis.start_ns,
                    end_ns: diagnosis.end_ns,
                }),
            }
        }
        all
    }

    /// Returns whether the log allows to examine any kind of diagnosis.
    pub fn is_examined(&self) -> bool {
        let mut outcomes = self.examinations.iter().map(|own| &own.outcome);
        outcomes.any(|outcome| !matches!(outcome, Outcome::NotExamined { .. }))
    }

    /// Returns the missing topics and fields, and the kinds that could not be examined without them.
    pub fn unexamined(&self) -> Vec<(&[String], Vec<DiagnosisKind>)> {
        let mut all: Vec<(&[String], Vec<DiagnosisKind>)> = Vec::new();
        for Examination { kind, outcome, .. } in &self.examinations {
            let Outcome::NotExamined { missing } = outcome else { continue };
            match all.iter_mut().find(|(own, _)| own == missing) {
                Some((_, kinds)) => kinds.push(*kind),
                None => all.push((missing, vec![*kind])),
            }
        }
        all
    }

    /// Returns the parts of the log that were not examined, with the missing topics and the kinds, in
    /// the order of time. Parts that are equal to a second are one.
    pub fn unexamined_parts(&self) -> Vec<UnexaminedKinds<'_>> {
        let whole_seconds = |nanos: i64| nanos.div_euclid(1_000_000_000);
        let mut all: BTreeMap<(i64, i64), UnexaminedKinds<'_>> = BTreeMap::new();
        for examination in &self.examinations {
            for part in &examination.unexamined_parts {
                let key = (whole_seconds(part.start_ns), whole_seconds(part.end_ns));
                let own = all.entry(key).or_insert_with(|| UnexaminedKinds {
                    start_ns: part.start_ns,
                    end_ns: part.end_ns,
                    ..UnexaminedKinds::default()
                });
                own.missing.insert(&part.missing);
                own.kinds.insert(examination.kind);
            }
        }
        all.into_values().collect()
    }

    /// Returns the numbers of the kinds of each result, e.g. "2 found, 17 not found, 4 not examined (no
    /// battery_status, esc_status)".
    pub fn examination_summary(&self) -> String {
        let count = |is_it: fn(&Outcome) -> bool| {
            self.examinations.iter().filter(|own| is_it(&own.outcome)).count()
        };
        let found = count(|outcome| *outcome == Outcome::Found);
        let sound = count(|outcome| *outcome == Outcome::NotFound);
        let unknown = self.examinations.len() - found - sound;
        let mut names: Vec<&str> = Vec::new();
        for name in self.unexamined().iter().flat_map(|(missing, _)| *missing) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let text = format!("{found} found, {sound} not found, {unknown} not examined");
        let text = match names.is_empty() {
            true => text,
            false => format!("{text} (no {})", names.join(", ")),
        };
        let is_partial = |own: &&Examination| !own.unexamined_parts.is_empty();
        match self.examinations.iter().filter(is_partial).count() {
            0 => text,
            partial => format!("{text}; {partial} only in a part of the log"),
        }
    }

    /// Returns the total duration of the diagnoses of the kind `kind` in seconds; `None` if the kind
    /// was not examined. The overlap of several diagnoses counts once.
    pub fn seconds_of_kind(&self, kind: DiagnosisKind) -> Option<f64> {
        let own = self.examinations.iter().find(|own| own.kind == kind)?;
        if matches!(own.outcome, Outcome::NotExamined { .. }) {
            return None;
        }
        let periods = self
            .diagnoses_of_kind(kind)
            .map(|diagnosis| (diagnosis.start_ns, diagnosis.end_ns));
        Some(Intervals::from_unsorted(periods.collect()).seconds())
    }

    /// Returns the highest severity of all diagnoses; `None` if there are no diagnoses.
    pub fn highest_severity(&self) -> Option<Severity> {
        self.diagnoses.iter().map(|diagnosis| diagnosis.severity).max()
    }
}
