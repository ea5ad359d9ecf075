//! Describes a log: its format, times, clock, topics, metadata and damage.

mod damage_info;
mod frequency;
mod health;
mod information;
mod not_inspected;
mod rate_estimates;
mod text;
mod topic_info;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use logtool_core::{ClockZero, Json, Manifest, TimeRange, Value};
use logtool_velodyne::lidar::LidarOptions;
use serde::{Serialize, Serializer};

use crate::{
    error::{Context as _, Result},
    inspect::info::rate_estimates::RateEstimates,
    records::log::Log,
    source::{
        input::{FileCompression, open},
        lidar,
        losses::{Findings, Strictness},
        session::Session,
    },
    time::clock::{Iso, Seconds, unix_offset},
};

pub use self::{
    damage_info::DamageInfo,
    frequency::Frequency,
    health::{Health, PartStatistics},
    information::Information,
    not_inspected::NotInspected,
    text::TextOptions,
    topic_info::TopicInfo,
};

/// A request to describe a log. It also describes logs whose records cannot be read because
/// they are encrypted.
///
/// ```no_run
/// use logtool::{Session, info::InfoRequest};
///
/// let info = InfoRequest::new("drive.bag").with_frequencies().run(&Session::new())?;
/// for topic in &info.topics {
///     println!("{} {:?} Hz", topic.topic, topic.rate_hz);
/// }
/// println!("{}", serde_json::to_string(&info)?);
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct InfoRequest {
    path: PathBuf,
    lidar: LidarOptions,
    strictness: Strictness,
    contents: Contents,
}

/// The measurements that a description contains in addition to the manifest.
#[derive(Clone, Copy, Debug, Default)]
struct Contents {
    has_frequencies: bool,
    has_health: bool,
    has_digest: bool,
}

impl InfoRequest {
    /// Creates a request for the log at `path`: a path, a URL, or `-` for standard input.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            lidar: LidarOptions::default(),
            strictness: Strictness::default(),
            contents: Contents::default(),
        }
    }

    /// Sets how lidars are read. The default detects their models and calibrations.
    pub fn with_lidar(mut self, lidar: LidarOptions) -> Self {
        self.lidar = lidar;
        self
    }

    /// Sets whether damage is an error. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Also measures the periods and gaps of each topic. This reads the index of the log, or
    /// the whole log if it has no index.
    pub fn with_frequencies(mut self) -> Self {
        self.contents.has_frequencies = true;
        self
    }

    /// Also inspects the layout of the file: its parts, their order and their compression.
    /// This reads a few bytes of each chunk of a bag.
    pub fn with_health(mut self) -> Self {
        self.contents.has_health = true;
        self
    }

    /// Also computes the BLAKE3 hash of the file. This reads the whole file.
    pub fn with_digest(mut self) -> Self {
        self.contents.has_digest = true;
        self
    }

    /// Opens the log and describes it.
    ///
    /// # Errors
    /// If the input cannot be read or is not a log, if a given calibration matches none of its
    /// lidars, or, of the kind `Damaged`, if something is lost in a strict request.
    pub fn run(&self, session: &Session) -> Result<LogInfo> {
        let opened = open::inspect_with(&self.path, session, Some(&self.lidar))?;
        let log = Log::from_opened(opened);
        if self.lidar.calibration.is_some() {
            let result = lidar::check_calibration(log.manifest());
            result.with_context(|| log.name().to_owned())?;
        }
        let mut losses = log.losses();
        losses.check(self.strictness)?;
        LogInfo::new(&log, losses, self.contents).with_context(|| log.name().to_owned())
    }
}

/// The description of a log.
///
/// It serialises as the JSON object that `logtool info --json` prints. Times are on the clock
/// of the log unless their names say otherwise.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LogInfo {
    /// The name of the log.
    pub file: String,
    /// The name of the format, for example `rosbag`.
    pub format: String,
    /// The length in bytes, after decompression.
    pub bytes: u64,
    /// The compression of the whole file, if it is compressed.
    #[serde(rename = "packed_with", skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "compression_name")]
    pub compression: Option<FileCompression>,
    /// The BLAKE3 hash of the file, if the request asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The time from the start of logging to the last record.
    pub duration_s: Option<Seconds>,
    /// The time of the start of logging, or of the first record.
    pub start_s: Option<Seconds>,
    /// The time of the last record.
    pub end_s: Option<Seconds>,
    /// The time of the start in UTC, in ISO 8601, if the log states it.
    pub start_utc: Option<String>,
    /// The clock of the log.
    pub clock: ClockInfo,
    /// The number of records of all topics that the file has itself, if it is known.
    pub records: Option<u64>,
    /// The topics, in the order of the file.
    pub topics: Vec<TopicInfo>,
    /// The metadata of the connections of a bag, or of the channels of an MCAP file.
    #[serde(serialize_with = "streams_as_json")]
    pub streams: Vec<BTreeMap<String, Value>>,
    /// The layout of the file, if the request asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// The metadata of the file. `indexed` is whether its index was used, if it has one.
    #[serde(serialize_with = "as_json")]
    pub metadata: BTreeMap<String, Value>,
    /// Anomalies that are not damage, one sentence each.
    pub remarks: Vec<String>,
    /// The number of bytes that cannot be read.
    pub lost_bytes: u64,
    /// The damage, in the order of the file.
    pub damage: Vec<DamageInfo>,
    /// The contents that were not inspected. Damage in them is not known.
    pub not_inspected: NotInspected,
    /// The number of records that do not match their schemas: not known, because no record is
    /// decoded.
    pub undecodable_records: Option<u64>,
    #[serde(skip)]
    losses: Findings,
    #[serde(skip)]
    log: Log,
}

/// The clock of a log.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ClockInfo {
    /// The event from which the times count.
    pub zero: ClockZero,
    /// The relation of the clock to Unix time, if the log states it.
    pub to_unix: Option<ClockFitInfo>,
}

/// The relation of the clock of a log to Unix time.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ClockFitInfo {
    /// The number of nanoseconds to add to the times of the log.
    pub offset_ns: i64,
    /// The median absolute deviation of the observations from the offset, in nanoseconds.
    pub spread_ns: u64,
    /// The number of observations.
    pub observations: u64,
    /// A description of the source of the observations.
    pub source: String,
}

impl LogInfo {
    /// Describes `log`, whose losses are `losses`.
    fn new(log: &Log, losses: Findings, contents: Contents) -> Result<Self> {
        let Contents { has_frequencies, has_health, has_digest } = contents;
        let (format_log, input) = (log.format_log(), log.input());
        let frequencies = has_frequencies.then(|| frequency::measure(format_log));
        let frequencies = frequencies.transpose()?.unwrap_or_default();
        let health = has_health.then(|| Health::new(format_log)).transpose()?;
        let digest = has_digest.then(|| input.digest()).transpose()?;
        Ok(Self { health, digest, ..Self::describe(log, losses, &frequencies) })
    }

    /// Describes `log`, whose losses are `losses`, with the frequencies of its topics.
    fn describe(
        log: &Log,
        mut losses: Findings,
        frequencies: &[Option<Frequency>],
    ) -> Self {
        let (manifest, input) = (log.manifest(), log.input());
        let time = manifest.time;
        let start_utc =
            time.zip(unix_offset(&manifest.clock)).and_then(|(time, offset)| {
                let nanos = time.start.as_nanos().checked_add(offset)?;
                Some(Iso(nanos).to_string())
            });
        let damage = losses.sorted_findings().iter();
        let damage = damage.map(|finding| DamageInfo::new(finding, manifest)).collect();
        let estimates = RateEstimates::new(log.format_log());
        let topics = manifest.topics().map(|(id, topic)| {
            let frequency = frequencies.get(id.index()).copied().flatten();
            TopicInfo::new(topic, frequency, estimates.hz(id, topic))
        });
        Self {
            file: input.name.clone(),
            format: manifest.format.clone(),
            bytes: manifest.bytes,
            compression: input.compression,
            digest: None,
            duration_s: time.as_ref().map(duration),
            start_s: time.as_ref().map(start_seconds),
            end_s: time.as_ref().map(last_seconds),
            start_utc,
            clock: ClockInfo::new(manifest),
            records: manifest.records(),
            topics: topics.collect(),
            streams: manifest.streams.iter().map(|s| s.metadata.clone()).collect(),
            health: None,
            metadata: metadata(manifest),
            remarks: manifest.remarks.clone(),
            lost_bytes: losses.lost_bytes(),
            damage,
            not_inspected: NotInspected::by_access(manifest.access),
            undecodable_records: None,
            losses,
            log: log.clone(),
        }
    }

    /// Returns the log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the losses and the damage.
    pub fn losses(&self) -> &Findings {
        &self.losses
    }

    /// Returns the description as text of several lines, for people.
    ///
    /// ```no_run
    /// use logtool::info::TextOptions;
    ///
    /// let info = logtool::open("flight.ulg")?.info();
    /// print!("{}", info.to_text(&TextOptions::new()));
    /// # Ok::<(), logtool::Error>(())
    /// ```
    pub fn to_text(&self, options: &TextOptions) -> String {
        text::write(self, options)
    }
}

impl Log {
    /// Returns a description of the log, without reading its records. See [`InfoRequest`] for
    /// more.
    pub fn info(&self) -> LogInfo {
        LogInfo::describe(self, self.losses(), &[])
    }

    /// Returns the periods and gaps of the topics.
    ///
    /// # Errors
    /// If reading fails.
    #[cfg(feature = "plot")]
    pub(crate) fn frequencies(&self) -> Result<Vec<Option<Frequency>>> {
        frequency::measure(self.format_log())
    }

    /// Returns a description of the log with the losses `losses`, and with the
    /// [frequencies](Self::frequencies) of its topics.
    #[cfg(feature = "plot")]
    pub(crate) fn info_with_frequencies(
        &self,
        losses: Findings,
        frequencies: &[Option<Frequency>],
    ) -> LogInfo {
        LogInfo::describe(self, losses, frequencies)
    }
}

impl ClockInfo {
    fn new(manifest: &Manifest) -> Self {
        let fit = manifest.clock.to_unix.as_ref().map(|fit| ClockFitInfo {
            offset_ns: fit.offset_nanos,
            spread_ns: fit.spread_nanos,
            observations: fit.observations,
            source: fit.source.clone(),
        });
        Self { zero: manifest.clock.zero, to_unix: fit }
    }
}

/// Returns the metadata of the file, and whether its index was used, if it has one.
fn metadata(manifest: &Manifest) -> BTreeMap<String, Value> {
    let mut metadata = manifest.metadata.clone();
    if let Some(uses_index) = manifest.access.uses_index() {
        metadata.insert("indexed".to_owned(), Value::Bool(uses_index));
    }
    metadata
}

/// Returns the start of `time`.
fn start_seconds(time: &TimeRange) -> Seconds {
    Seconds(time.start.as_nanos())
}

/// Returns the last nanosecond of `time`.
fn last_seconds(time: &TimeRange) -> Seconds {
    Seconds(time.end.as_nanos().saturating_sub(1))
}

/// Returns the length of `time`.
fn duration(time: &TimeRange) -> Seconds {
    Seconds(i64::try_from(time.span_nanos()).unwrap_or(i64::MAX))
}

fn compression_name<S: Serializer>(
    compression: &Option<FileCompression>,
    out: S,
) -> Result<S::Ok, S::Error> {
    compression.map(FileCompression::name).serialize(out)
}

fn json_values(values: &BTreeMap<String, Value>) -> BTreeMap<&str, Json<'_>> {
    values.iter().map(|(key, value)| (key.as_str(), value.json())).collect()
}

fn as_json<S: Serializer>(
    values: &BTreeMap<String, Value>,
    out: S,
) -> Result<S::Ok, S::Error> {
    json_values(values).serialize(out)
}

fn streams_as_json<S: Serializer>(
    streams: &[BTreeMap<String, Value>],
    out: S,
) -> Result<S::Ok, S::Error> {
    out.collect_seq(streams.iter().map(json_values))
}
