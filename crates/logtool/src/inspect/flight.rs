//! The analysis of flights of PX4: statistics, diagnoses, spectra and step responses.

mod acceleration;
mod collect;
mod fifo;
mod rotation;
mod sample_intervals;
pub(crate) mod text;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use logtool_core::{Damage, Log as FormatLog, Manifest, MetadataKey, TopicSet, Value};
use logtool_flight::{FILTER_FAULTS, FlightData, filter_fault_flags, flight_topics};
use logtool_ulog::{
    px4_bit_names, px4_bits_of_flags, px4_value_names, px4_vibration_is_velocity,
};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::{
    error::{Context as _, Result},
    formats::{self, LogFormat},
    inspect::{flight::collect::CollectedData, value_names},
    records::log::Log,
    source::{
        losses::{Findings, Strictness},
        progress_counter::ProgressCounter,
        session::Session,
    },
    text::px4_modes,
    time::clock::{ShownClock, TimeChoice},
};

pub(crate) use self::fifo::FifoSamples;
pub use logtool_flight::{
    AnalysisScope, Correlation, Diagnosis, DiagnosisKind, Dropout, Evidence,
    Examination, FilterMark, FilterMarks, FlightAnalysis, FlightStatistics, ModeTime,
    Outcome, RepeatedDiagnosis, ResponseMetrics, SamplingRegularity, Severity,
    SignalAnalysis, Spectrogram, Spectrum, SpectrumLine, StepResponse, UnexaminedKinds,
    UnexaminedPart,
};

/// The multi information of PX4's logger with the dump of a hard fault.
const HARD_FAULT: &str = "hardfault_plain";

/// The sets of bits whose names the analysis reads: their messages and fields.
const BIT_FIELDS: [(&str, &str); 2] =
    [("esc_report", "failures"), ("vehicle_status", "failure_detector_status")];

/// A request to analyse the flight in a ULog.
///
/// ```no_run
/// use logtool::{Session, flight::FlightRequest};
///
/// let flight = FlightRequest::new("flight.ulg").run(&Session::new())?;
/// println!("{:?} s in the air", flight.analysis.statistics.airborne_s);
/// for diagnosis in &flight.analysis.diagnoses {
///     println!("{}: {}", diagnosis.kind.title(), diagnosis.summary);
/// }
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct FlightRequest {
    path: PathBuf,
    scope: AnalysisScope,
    clock: TimeChoice,
    strictness: Strictness,
}

/// The result of a [`FlightRequest`].
///
/// It serialises as the JSON object that `logtool flight --json` prints. The times are in
/// nanoseconds on the clock of the log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Flight {
    /// The name of the log.
    pub log: String,
    /// The first time of the log, in nanoseconds on its clock.
    pub start_ns: i64,
    /// The statistics and the diagnoses.
    pub analysis: FlightAnalysis,
    /// The spectra and the step responses, if the request asks for them.
    pub signals: Option<SignalAnalysis>,
    /// Remarks for users, a sentence each.
    pub remarks: Vec<String>,
    /// The clock that the request names, which writes the times of diagnoses.
    pub clock: ShownClock,
    /// The losses and the damage of the log.
    pub losses: Findings,
}

impl FlightRequest {
    /// Creates a request for the log at `path`: a path, a URL, or `-` for standard input.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            scope: AnalysisScope::Flight,
            clock: TimeChoice::Relative,
            strictness: Strictness::default(),
        }
    }

    /// Adds the spectra and the step responses.
    pub fn with_signals(mut self) -> Self {
        self.scope = AnalysisScope::Signals;
        self
    }

    /// Sets the clock of the shown times. The default counts from the start of the log.
    pub fn with_clock(mut self, clock: TimeChoice) -> Self {
        self.clock = clock;
        self
    }

    /// Sets whether damage is an error. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Reads the log and analyses it.
    ///
    /// # Errors
    /// If the input cannot be read or is not a ULog, if the log does not state its times on the
    /// chosen clock, or, of the kind `Damaged`, if something is lost in a strict request.
    pub fn run(&self, session: &Session) -> Result<Flight> {
        let log = Log::open(&self.path, session)?;
        let name = log.name().to_owned();
        log.flight(self.scope, self.clock, self.strictness, session)
            .with_context(|| name.clone())
    }
}

impl Log {
    /// Analyses the flight in a ULog.
    ///
    /// # Errors
    /// As [`FlightRequest::run`].
    pub fn flight(
        &self,
        scope: AnalysisScope,
        clock: TimeChoice,
        strictness: Strictness,
        session: &Session,
    ) -> Result<Flight> {
        let clock = ShownClock::new(self.manifest(), clock)?;
        let mut losses = self.losses();
        losses.check(strictness)?;
        let bytes = self.manifest().bytes;
        let progress = ProgressCounter::for_bytes(session, self.name(), bytes);
        let analysed = analyse(self.format_log(), scope, &|bytes| progress.add(bytes));
        drop(progress);
        let analysed = analysed?;
        losses.add(self.manifest(), &analysed.topics, &analysed.damage);
        losses.check(strictness)?;
        Ok(Flight {
            log: self.name().to_owned(),
            start_ns: self.manifest().time.map_or(0, |time| time.start.as_nanos()),
            analysis: analysed.analysis,
            signals: analysed.signals,
            remarks: analysed.remarks,
            clock,
            losses,
        })
    }
}

/// The analysis of a log, with the damage that reading found.
pub(crate) struct AnalysedLog {
    pub(crate) analysis: FlightAnalysis,
    pub(crate) signals: Option<SignalAnalysis>,
    /// The topics that were read.
    pub(crate) topics: TopicSet,
    /// Whether the log has none of the topics that are analysed.
    pub(crate) is_empty: bool,
    pub(crate) damage: Vec<Damage>,
    pub(crate) remarks: Vec<String>,
    pub(crate) fifos: Vec<FifoSamples>,
}

/// Analyses the flight in `log`.
pub(crate) fn analyse(
    log: &dyn FormatLog,
    scope: AnalysisScope,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<AnalysedLog> {
    let manifest = log.manifest();
    formats::require_ulog(LogFormat::from_manifest(manifest), "record flights of PX4")?;
    // Two passes are one task.
    let half_progress = |bytes: u64| progress(bytes / 2);
    let mut read = ReadTopics::default();
    // The signals are dropped before the other topics are read: together they take twice the
    // memory.
    let (signals, flight_progress): (_, &(dyn Fn(u64) + Sync)) = match scope {
        AnalysisScope::Signals => {
            let collected = collect::collect_signals(log, &half_progress)?;
            let data = with_metadata(read.add(collected), manifest);
            (Some(logtool_flight::signal_analysis(&data)), &half_progress)
        }
        _ => (None, progress),
    };
    let collected = collect::collect_flight(log, flight_progress)?;
    let data = with_metadata(read.add(collected), manifest);
    let remarks = read.remarks();
    let analysis = logtool_flight::analyze(&data);
    let ReadTopics { topics, is_empty, damage, fifos, .. } = read;
    Ok(AnalysedLog { analysis, signals, fifos, topics, is_empty, damage, remarks })
}

/// The topics that were read in several passes, with the damage and the remarks.
struct ReadTopics {
    topics: TopicSet,
    damage: Vec<Damage>,
    remarks: BTreeSet<String>,
    fifos: Vec<FifoSamples>,
    /// Whether the log has none of the topics.
    is_empty: bool,
}

impl Default for ReadTopics {
    fn default() -> Self {
        let topics = TopicSet::from_iter([]);
        Self {
            topics,
            damage: Vec::new(),
            remarks: BTreeSet::new(),
            fifos: Vec::new(),
            is_empty: true,
        }
    }
}

impl ReadTopics {
    /// Adds the topics of a pass, and returns their numbers.
    fn add(&mut self, collected: CollectedData) -> FlightData {
        // A topic that was read before has the same damage again.
        let is_new = |damage: &Damage| match damage.topic {
            Some(topic) => !self.topics.contains(topic),
            None => !self.damage.contains(damage),
        };
        let damage = collected.damage.into_iter().filter(is_new);
        let damage: Vec<Damage> = damage.collect();
        self.damage.extend(damage);
        self.topics.extend(&collected.topics);
        self.remarks.extend(collected.remarks);
        self.fifos.extend(collected.fifos);
        self.is_empty &= collected.is_empty;
        collected.data
    }

    /// Returns the remarks of all passes, in alphabetical order.
    fn remarks(&self) -> Vec<String> {
        let no_topics = "the log has no topics of PX4 that are analysed";
        let no_topics = self.is_empty.then(|| no_topics.to_owned());
        self.remarks.iter().cloned().chain(no_topics).collect()
    }
}

/// Returns `data` with the parameters, hard faults and names of states.
fn with_metadata(mut data: FlightData, manifest: &Manifest) -> FlightData {
    let metadata = |key: MetadataKey| match manifest.file_metadata(key) {
        Some(Value::Map(values)) => Some(values),
        _ => None,
    };
    let parameters = metadata(MetadataKey::Parameters).into_iter().flatten();
    data.parameters = parameters
        .filter_map(|(name, value)| Some((name.clone(), number(value)?)))
        .collect();
    let faults =
        metadata(MetadataKey::InfoMultiple).and_then(|values| values.get(HARD_FAULT));
    if let Some(Value::List(faults)) = faults {
        data.hard_faults = faults.len() as u64;
    }
    data.vibration_is_velocity = px4_vibration_is_velocity(manifest);
    data.mode_names = px4_modes::mode_names(manifest);
    let fields = flight_topics()
        .iter()
        .flat_map(|needed| needed.fields.iter().map(|field| (needed.name, *field)));
    data.value_names = fields
        .map(|(message, field)| {
            let names = px4_value_names(manifest, message, field);
            (format!("{message}.{field}"), value_names::without_common_words(&names))
        })
        .filter(|(_, names)| !names.is_empty())
        .collect();
    data.bit_names = BIT_FIELDS
        .iter()
        .map(|(message, field)| {
            let names = px4_bit_names(manifest, message, field);
            (format!("{message}.{field}"), names)
        })
        .collect();
    let flags: Vec<&str> = filter_fault_flags().collect();
    let faults = px4_bits_of_flags(manifest, "estimator_status_flags", &flags);
    data.bit_names.insert(FILTER_FAULTS.to_owned(), faults);
    data
}

/// Returns a parameter as a number.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::UInt(number) => Some(*number as f64),
        Value::Float(number) => Some(f64::from(*number)),
        Value::Double(number) => Some(*number),
        _ => None,
    }
}

impl Serialize for Flight {
    fn serialize<S: Serializer>(&self, out: S) -> std::result::Result<S::Ok, S::Error> {
        let FlightAnalysis {
            statistics,
            diagnoses,
            examinations,
            sampling,
            thrust_and_field,
            ..
        } = &self.analysis;
        let mut map = out.serialize_map(None)?;
        map.serialize_entry("log", &self.log)?;
        map.serialize_entry("start_ns", &self.start_ns)?;
        map.serialize_entry("statistics", statistics)?;
        map.serialize_entry("diagnoses", diagnoses)?;
        map.serialize_entry("examinations", examinations)?;
        map.serialize_entry("sampling", sampling)?;
        map.serialize_entry("thrust_and_field", thrust_and_field)?;
        if let Some(signals) = &self.signals {
            map.serialize_entry("signals", signals)?;
        }
        map.serialize_entry("remarks", &self.remarks)?;
        map.end()
    }
}
