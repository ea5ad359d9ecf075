//! All analyses of a flight.

use serde::Serialize;

use crate::{
    correlation::{Correlation, correlate_thrust_and_field},
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics,
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
    /// How regularly important topics were logged.
    pub sampling: Vec<SamplingRegularity>,
    /// The correlation of the magnetic field with the thrust.
    pub thrust_and_field: Option<Correlation>,
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
    FlightAnalysis {
        statistics: FlightStatistics::new(data, &phases),
        diagnoses: diagnostics::diagnose(data, &phases),
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

    /// Returns the total duration of the diagnoses of the kind `kind` in seconds. The overlap of
    /// several diagnoses counts once.
    pub fn seconds_of_kind(&self, kind: DiagnosisKind) -> f64 {
        let periods = self
            .diagnoses_of_kind(kind)
            .map(|diagnosis| (diagnosis.start_ns, diagnosis.end_ns));
        Intervals::from_unsorted(periods.collect()).seconds()
    }

    /// Returns the highest severity of all diagnoses; `None` if there are no diagnoses.
    pub fn highest_severity(&self) -> Option<Severity> {
        self.diagnoses.iter().map(|diagnosis| diagnosis.severity).max()
    }
}
