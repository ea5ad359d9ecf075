//! All analyses of a flight.

use serde::Serialize;

use crate::{
    correlation::{Correlation, thrust_and_field},
    data::FlightData,
    diagnosis::{Diagnosis, DiagnosisKind, Severity},
    diagnostics,
    phases::Phases,
    sampling::SamplingRegularity,
    spectra::{self, FilterMarks, Spectrum},
    spectrogram::Spectrogram,
    statistics::FlightStatistics,
    step_response::{self, StepResponse},
};

/// The topics whose sampling is described: those of the controllers and the estimator.
const SAMPLED: [&str; 5] = [
    "vehicle_angular_velocity",
    "vehicle_attitude",
    "vehicle_local_position",
    "vehicle_gps_position",
    "battery_status",
];

/// The statistics and the diagnoses of a flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlightAnalysis {
    /// The statistics.
    pub statistics: FlightStatistics,
    /// What may have gone wrong, in the order of time.
    pub diagnoses: Vec<Diagnosis>,
    /// How regularly important topics were logged.
    pub sampling: Vec<SamplingRegularity>,
    /// How far the magnetic field follows the thrust.
    pub thrust_and_field: Option<Correlation>,
}

/// The spectra and the step responses of a flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SignalAnalysis {
    /// The spectra of actuator controls, angular velocity and angular acceleration.
    pub spectra: Vec<Spectrum>,
    /// The spectrograms of the same signals, and of the samples of FIFOs.
    pub spectrograms: Vec<Spectrogram>,
    /// The cut-off and notch frequencies of the filters of the gyroscope.
    pub filters: FilterMarks,
    /// The responses of the controllers of rates and attitude.
    pub step_responses: Vec<StepResponse>,
}

/// Computes the statistics and the diagnoses of a flight.
pub fn analyze(data: &FlightData) -> FlightAnalysis {
    let phases = Phases::new(data);
    let sampled = SAMPLED.iter().filter_map(|topic| data.first(topic));
    FlightAnalysis {
        statistics: FlightStatistics::new(data, &phases),
        diagnoses: diagnostics::diagnose(data, &phases),
        sampling: sampled.filter_map(SamplingRegularity::new).collect(),
        thrust_and_field: thrust_and_field(data),
    }
}

/// Computes the spectra and the step responses of a flight.
pub fn signal_analysis(data: &FlightData) -> SignalAnalysis {
    let phases = Phases::new(data);
    SignalAnalysis {
        spectra: spectra::of_flight(data),
        spectrograms: spectra::spectrograms_of_flight(data),
        filters: FilterMarks::new(data),
        step_responses: step_response::of_flight(data, &phases),
    }
}

impl FlightAnalysis {
    /// Returns the diagnoses of this kind.
    pub fn of_kind(&self, kind: DiagnosisKind) -> impl Iterator<Item = &Diagnosis> {
        self.diagnoses.iter().filter(move |diagnosis| diagnosis.kind == kind)
    }

    /// Returns for how many seconds a diagnosis of this kind holds. Times that several
    /// diagnoses share count once.
    pub fn seconds_of(&self, kind: DiagnosisKind) -> f64 {
        let spans = self.of_kind(kind).map(|found| (found.start_ns, found.end_ns));
        crate::intervals::Intervals::from_unsorted(spans.collect()).seconds()
    }

    /// Returns the highest severity of a diagnosis.
    pub fn worst(&self) -> Option<Severity> {
        self.diagnoses.iter().map(|diagnosis| diagnosis.severity).max()
    }
}
