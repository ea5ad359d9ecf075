//! Analyses flights of PX4: statistics, diagnoses, spectra and step responses.
//!
//! [`analyze`] computes the statistics and the diagnoses, [`signal_analysis`] the spectra and
//! the step responses. [`flight_topics`] and [`signal_topics`] list the topics and fields of a
//! log that they read. The caller collects these as [`Series`] in a [`FlightData`]; topics that are
//! not in the log are omitted. Of topics with high rates, the caller collects only results that can
//! be computed row by row: [`RotationMaxima`] and [spectrograms](SpectrogramBuilder). This crate
//! does not read logs; it processes columns of numbers over time.
//!
//! Formulas and thresholds follow PX4's Flight Review and flight-review-rs; each constant
//! names its source.

mod airframes;
mod analysis;
mod correlation;
mod coverage;
mod data;
mod diagnosis;
mod diagnostics;
mod examination;
mod intervals;
mod needed_topics;
mod phases;
mod rotation;
mod sampling;
mod series;
mod spectra;
mod spectrogram;
mod statistics;
mod step_response;

pub use self::{
    airframes::airframe_name,
    analysis::{
        FlightAnalysis, RepeatedDiagnosis, SignalAnalysis, UnexaminedKinds, analyze,
        signal_analysis,
    },
    correlation::{Correlation, correlate_thrust_and_field},
    data::{Dropout, FlightData},
    diagnosis::{Diagnosis, DiagnosisKind, Evidence, Severity},
    diagnostics::{FILTER_FAULTS, filter_fault_flags},
    examination::{Examination, Outcome, UnexaminedPart},
    intervals::Intervals,
    needed_topics::{
        AnalysisScope, MAX_ELEMENTS, NeededTopic, flight_topics, signal_topics,
    },
    phases::{ModePeriod, Phases},
    rotation::{ROTATION_SOURCES, RotationMaxima, RotationSource},
    sampling::SamplingRegularity,
    series::{Series, mean_interval},
    spectra::{
        ACCELERATION, FilterMark, FilterMarks, MIN_SPECTRUM_RATE_HZ, SpectrogramSource,
        Spectrum, SpectrumLine, spectrum_of,
    },
    spectrogram::{
        MAX_SPECTROGRAM_COLUMNS, Spectrogram, SpectrogramBuilder, WINDOW_LENGTH,
    },
    statistics::{FlightStatistics, ModeTime},
    step_response::{ResponseMetrics, StepResponse, step_response},
};

/// The example of the README is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
