//! The journal entry of a log: its origin, its content, and its files in the dataset.

use std::collections::BTreeMap;

use logtool_core::{
    ClockZero, Manifest, TimeRange, Timestamp, Topic, TopicId, TopicOrigin,
    TopicStatistics,
};
use serde::{Deserialize, Serialize};

#[cfg(feature = "flight")]
use crate::{dataset::flight_columns::FlightValues, inspect::flight::AnalysedLog};
use crate::{
    dataset::inputs::InputLog,
    error::{Error, Result},
    source::{input::Input, losses::Findings},
};

/// The name and the version of this program.
const TOOL: &str = concat!("logtool ", env!("CARGO_PKG_VERSION"));

/// One log of a dataset or a catalog.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LogEntry {
    /// The name of the log in the dataset.
    pub(super) log: String,
    /// The absolute path, or the URL without secrets.
    pub(super) source: String,
    /// The digest of the file; empty if it was not computed.
    pub(super) digest: String,
    pub(super) source_bytes: u64,
    /// When the file was changed, in nanoseconds of Unix time.
    pub(super) modified_ns: Option<i64>,
    /// Whether the file was changed so long before it was read that a later change has another
    /// time.
    #[serde(default)]
    pub(super) is_settled: bool,
    /// The [digest](crate::dataset::options) of the options of the conversion.
    #[serde(default)]
    pub(super) options: String,
    /// The files in the dataset that were made of the log.
    #[serde(default)]
    pub(super) files: Vec<String>,
    /// The name of the format.
    pub(super) format: String,
    /// The name of the compression of the file.
    pub(super) packed_with: Option<String>,
    /// The zero of the clock: `unix`, `boot` or `program_start`.
    pub(super) clock: String,
    /// The source of the offset to Unix time.
    pub(super) utc_from: Option<String>,
    /// The offset from the clock of the log to Unix time.
    pub(super) to_unix_ns: Option<i64>,
    /// The first and the last time on the clock of the log, if it has records.
    pub(super) time_ns: Option<(i64, i64)>,
    /// The number of records, without derived ones, if it is known.
    pub(super) records: Option<u64>,
    /// The number of damages; `None` if none are known and a part of the log was not read.
    pub(super) damages: Option<u64>,
    pub(super) lost_bytes: Option<u64>,
    pub(super) lost_records: Option<u64>,
    /// A summary of the damage, if there is some.
    pub(super) damage: Option<String>,
    /// Remarks for users, a sentence each.
    #[serde(default)]
    pub(super) remarks: Vec<String>,
    /// The [patterns](crate::dataset::patterns) of the request that match nothing in the log.
    #[serde(default)]
    pub(super) missed: Vec<String>,
    /// Why the log could not be read, if it could not.
    #[serde(default)]
    pub(super) error: Option<String>,
    /// The program that read the log, with its version.
    pub(super) tool: String,
    /// The values of the flight, if it was analysed.
    #[cfg(feature = "flight")]
    #[serde(default)]
    pub(super) flight: Option<FlightValues>,
    pub(super) topics: Vec<TopicEntry>,
}

/// One topic of a log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct TopicEntry {
    pub(super) name: String,
    pub(super) instance: u32,
    pub(super) type_name: String,
    /// `logged`, `built_in` or `derived`.
    pub(super) origin: String,
    pub(super) records: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) time_ns: Option<(i64, i64)>,
    /// The number of records with an impossible time, which `time_ns` does not include.
    #[serde(default)]
    pub(super) implausible_times: u64,
    /// The table with the rows of the topic.
    #[serde(default)]
    pub(super) table: Option<String>,
    /// The number of rows in the table.
    #[serde(default)]
    pub(super) rows: Option<u64>,
}

impl LogEntry {
    /// Creates the entry of a log that has not been read.
    pub(super) fn new(log: &InputLog, name: &str) -> Self {
        Self {
            log: name.to_owned(),
            source: log.source.clone(),
            source_bytes: log.bytes,
            modified_ns: log.modified_ns,
            tool: TOOL.to_owned(),
            ..Self::default()
        }
    }

    /// Sets the length and the digest to those of the bytes that are read. They differ from
    /// those of the search if another program has appended to the file since. A remote file
    /// that was downloaded is not downloaded again for its digest.
    ///
    /// # Errors
    /// If the file is shorter than it was, or cannot be read.
    pub(super) fn identify(&mut self, input: &Input) -> Result<()> {
        let bytes = input.origin.len();
        if bytes < self.source_bytes {
            return Err(Error::other("it got shorter while it was read"));
        }
        if self.digest.is_empty() || bytes > self.source_bytes {
            self.digest = input.digest_if_read_completely()?;
        }
        self.source_bytes = bytes;
        Ok(())
    }

    /// Adds what the manifest of the opened log states.
    pub(super) fn describe(&mut self, input: &Input, manifest: &Manifest) {
        self.format.clone_from(&manifest.format);
        self.packed_with =
            input.compression.map(|compression| compression.name().to_owned());
        let zero = manifest.clock.zero;
        self.clock = match zero {
            ClockZero::Unix => "unix",
            ClockZero::Boot => "boot",
            ClockZero::ProgramStart => "program_start",
        }
        .to_owned();
        let fit = manifest.clock.to_unix.as_ref();
        self.utc_from = fit.map(|fit| fit.source.clone());
        let unix_offset = (zero == ClockZero::Unix).then_some(0);
        self.to_unix_ns = fit.map(|fit| fit.offset_nanos).or(unix_offset);
        self.time_ns = manifest.time.and_then(first_and_last);
        self.records = manifest.records();
        self.topics = manifest.topics.iter().map(TopicEntry::new).collect();
    }

    /// Adds the sizes and times of topics that the manifest does not state, if all records of
    /// the topic were read.
    pub(super) fn add_statistics(
        &mut self,
        statistics: &BTreeMap<TopicId, TopicStatistics>,
    ) {
        for (id, topic_statistics) in statistics {
            let Some(topic) = self.topics.get_mut(id.index()) else { continue };
            if topic.records == Some(topic_statistics.records) {
                let time = (
                    topic_statistics.first.as_nanos(),
                    topic_statistics.last.as_nanos(),
                );
                topic.bytes.get_or_insert(topic_statistics.bytes);
                if topic.implausible_times == 0 {
                    topic.time_ns.get_or_insert(time);
                }
            }
        }
    }

    /// Adds the analysis of the flight in the log.
    #[cfg(feature = "flight")]
    pub(super) fn add_analysis(&mut self, analysed: &AnalysedLog) {
        self.flight = Some(FlightValues::new(&analysed.analysis));
        self.remarks.extend(analysed.remarks.iter().cloned());
    }

    /// Adds the losses of a log of which every byte was read.
    pub(super) fn add_losses(&mut self, findings: &mut Findings) {
        let list = findings.sorted_findings();
        let harm = list.iter().filter(|finding| finding.damage.kind.is_harmful());
        let damages = harm.count() as u64;
        let losses = list.iter().map(|finding| &finding.damage);
        let losses = losses.filter(|damage| damage.kind.is_loss());
        let records = losses.map(|damage| damage.records).fold(0, u64::saturating_add);
        self.damages = Some(damages);
        self.lost_records = Some(records);
        self.lost_bytes = Some(findings.lost_bytes());
        self.damage = (damages > 0).then(|| findings.summary());
    }

    /// Adds the losses of a log of which only a part was read. Without losses in that part,
    /// the counts stay unknown.
    pub(super) fn add_known_losses(&mut self, findings: &mut Findings) {
        if findings
            .sorted_findings()
            .iter()
            .any(|finding| finding.damage.kind.is_harmful())
        {
            self.add_losses(findings);
        }
    }

    /// Adds the table and the number of rows of each topic.
    pub(super) fn add_tables(
        &mut self,
        tables: &BTreeMap<(String, u32), String>,
        rows: &BTreeMap<(String, u32), u64>,
    ) {
        for topic in &mut self.topics {
            let key = (topic.name.clone(), topic.instance);
            topic.rows = rows.get(&key).copied();
            topic.table = topic.rows.and_then(|_| tables.get(&key).cloned());
        }
    }
}

impl TopicEntry {
    fn new(topic: &Topic) -> Self {
        Self {
            name: topic.name.clone(),
            instance: topic.instance,
            type_name: topic.type_name.clone(),
            origin: match topic.origin {
                TopicOrigin::Logged => "logged",
                TopicOrigin::BuiltIn => "built_in",
                TopicOrigin::Derived => "derived",
            }
            .to_owned(),
            records: topic.records,
            bytes: topic.bytes,
            time_ns: topic.time.and_then(first_and_last),
            implausible_times: topic.implausible_times,
            table: None,
            rows: None,
        }
    }

    /// Returns the mean number of records per second, from the first to the last.
    pub(super) fn rate_hz(&self) -> Option<f64> {
        let (first, last) = self.time_ns?;
        let (start, last) = (Timestamp::from_nanos(first), Timestamp::from_nanos(last));
        let time = TimeRange { start, end: TimeRange::from_timestamp(last).end };
        time.rate_hz(self.records?.checked_sub(self.implausible_times)?)
    }
}

/// Returns the first and the last time in `time`, in nanoseconds.
fn first_and_last(time: TimeRange) -> Option<(i64, i64)> {
    let last = time.end.as_nanos().saturating_sub(1);
    (!time.is_empty()).then(|| (time.start.as_nanos(), last.max(time.start.as_nanos())))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;

    #[test]
    fn identify_accepts_longer_files_and_refuses_shorter_ones() {
        let origin = Arc::new(Bytes::from_static(b"0123456789"));
        let (name, source) = ("x.ulg".to_owned(), origin.clone());
        let input = Input {
            name,
            source,
            origin,
            compression: None,
            loss: None,
            is_decrypted: false,
            is_remote: false,
        };
        let whole = input.digest().unwrap();
        let log_entry = |source_bytes, digest: &str| LogEntry {
            source_bytes,
            digest: digest.to_owned(),
            ..LogEntry::default()
        };
        for mut entry in
            [log_entry(10, ""), log_entry(9, "of nine bytes"), log_entry(10, &whole)]
        {
            entry.identify(&input).unwrap();
            assert_eq!((entry.source_bytes, entry.digest), (10, whole.clone()));
        }
        let err = log_entry(11, "").identify(&input).unwrap_err();
        assert!(err.to_string().contains("got shorter"), "{err}");
        let err = log_entry(11, "of eleven bytes").identify(&input).unwrap_err();
        assert!(err.to_string().contains("got shorter"), "{err}");
    }
}
