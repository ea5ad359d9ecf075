//! What is known of one log of a data set, or of a catalog.

use std::collections::BTreeMap;

use logtool::{Error, Result, input::Input, losses::Findings, output::provenance};
use logtool_core::{
    ClockZero, Manifest, TimeRange, Timestamp, Topic, TopicId, TopicOrigin,
    TopicStatistics,
};
use serde::{Deserialize, Serialize};

use crate::commands::batch::inputs::Found;

/// This program, and its version.
const TOOL: &str = concat!("logtool ", env!("CARGO_PKG_VERSION"));

/// One log: where it is from, what it holds, and what became of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Its name in the data set.
    pub(super) log: String,
    /// The whole path.
    pub(super) source: String,
    /// The digest of the file.
    pub(super) digest: String,
    pub(super) source_bytes: u64,
    /// When the file was changed, in nanoseconds of Unix time.
    pub(super) modified_ns: Option<i64>,
    /// Whether it was changed so long before it was read that nobody was still at it: one
    /// that was changed since then has another time.
    #[serde(default)]
    pub(super) is_settled: bool,
    /// What was asked for, as a digest.
    #[serde(default)]
    pub(super) options: String,
    /// The files that were made, in the data set.
    #[serde(default)]
    pub(super) files: Vec<String>,
    pub(super) format: String,
    pub(super) packed_with: Option<String>,
    /// What times count from: `unix`, `boot`, `program_start`.
    pub(super) clock: String,
    /// What tells how the clock goes with Unix time.
    pub(super) utc_from: Option<String>,
    /// What to add to times to get Unix time.
    pub(super) to_unix_ns: Option<i64>,
    /// The first and the last moment on the log's clock, if it has records.
    pub(super) time_ns: Option<(i64, i64)>,
    /// How many records it has, without those that are made of others, where it is known.
    pub(super) records: Option<u64>,
    /// How many damages there are; nothing where none are known and not all was looked at.
    pub(super) damages: Option<u64>,
    pub(super) lost_bytes: Option<u64>,
    pub(super) lost_records: Option<u64>,
    /// What was lost, in words, if something was.
    pub(super) damage: Option<String>,
    /// What else people should know.
    #[serde(default)]
    pub(super) remarks: Vec<String>,
    /// The patterns of topics and fields that mean nothing in it, in words.
    #[serde(default)]
    pub(super) missed: Vec<String>,
    /// Why there is nothing more, if it failed.
    #[serde(default)]
    pub(super) error: Option<String>,
    pub(super) tool: String,
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
    /// How many records have a time that cannot be right, and is not in that.
    #[serde(default)]
    pub(super) odd_times: u64,
    /// The table that has its rows, if one has.
    #[serde(default)]
    pub(super) table: Option<String>,
    #[serde(default)]
    pub(super) rows: Option<u64>,
}

impl Entry {
    /// Of the file `found`, of which nothing more is known.
    pub(super) fn of(found: &Found, log: &str) -> Self {
        Self {
            log: log.to_owned(),
            source: found.source.clone(),
            source_bytes: found.bytes,
            modified_ns: found.modified,
            tool: TOOL.to_owned(),
            ..Self::default()
        }
    }

    /// Adds which file was opened: the digest is that of the bytes that are read, also where
    /// somebody wrote on since the file was found, and what came whole from afar is not
    /// fetched twice for it.
    ///
    /// # Errors
    /// Where the file has got shorter since it was found, and those of reading it.
    pub(super) fn identify(&mut self, input: &Input) -> Result<()> {
        let bytes = input.origin.len();
        if bytes < self.source_bytes {
            return Err(Error::failed("it got shorter while it was read"));
        }
        if self.digest.is_empty() || bytes > self.source_bytes {
            self.digest = provenance::digest(input)?;
        }
        self.source_bytes = bytes;
        Ok(())
    }

    /// Adds what the opened log says of itself.
    pub(super) fn describe(&mut self, input: &Input, manifest: &Manifest) {
        self.format.clone_from(&manifest.format);
        self.packed_with = input.packing.map(|packing| packing.name().to_owned());
        let zero = manifest.clock.zero;
        self.clock = match zero {
            ClockZero::Unix => "unix",
            ClockZero::Boot => "boot",
            ClockZero::ProgramStart => "program_start",
        }
        .to_owned();
        let fit = manifest.clock.to_unix.as_ref();
        self.utc_from = fit.map(|fit| fit.source.clone());
        let own = (zero == ClockZero::Unix).then_some(0);
        self.to_unix_ns = fit.map(|fit| fit.offset_nanos).or(own);
        self.time_ns = manifest.time.and_then(first_and_last);
        self.records = manifest.records();
        self.topics = manifest.topics.iter().map(TopicEntry::of).collect();
    }

    /// Adds what was `seen` of topics of which the log itself does not say it: of those of which
    /// as many records were read as it has.
    pub(super) fn complete(&mut self, seen: &BTreeMap<TopicId, TopicStatistics>) {
        for (id, seen) in seen {
            let Some(topic) = self.topics.get_mut(id.index()) else { continue };
            if topic.records == Some(seen.records) {
                let time = (seen.first.as_nanos(), seen.last.as_nanos());
                topic.bytes.get_or_insert(seen.bytes);
                if topic.odd_times == 0 {
                    topic.time_ns.get_or_insert(time);
                }
            }
        }
    }

    /// Adds what was lost, as far as the log was looked at: if not `is_whole`, that there is
    /// nothing more is not known.
    pub(super) fn lament(&mut self, findings: &mut Findings, is_whole: bool) {
        let list = findings.list();
        let harm = list.iter().filter(|finding| finding.damage.kind.is_harm());
        let damages = harm.count() as u64;
        let losses = list.iter().map(|finding| &finding.damage);
        let losses = losses.filter(|damage| damage.kind.is_loss());
        let records = losses.map(|damage| damage.records).fold(0, u64::saturating_add);
        let bytes = findings.lost_bytes();
        let is_known = is_whole || damages > 0;
        let known = |number| is_known.then_some(number);
        self.damages = known(damages);
        self.lost_records = known(records);
        self.lost_bytes = known(bytes);
        self.damage = (damages > 0).then(|| findings.summary());
    }

    /// Adds which table has how many rows of each topic.
    pub(super) fn settle(
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
    fn of(topic: &Topic) -> Self {
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
            odd_times: topic.odd_times,
            table: None,
            rows: None,
        }
    }

    /// How many records there are in a second, from the first to the last.
    pub(super) fn rate_hz(&self) -> Option<f64> {
        let (first, last) = self.time_ns?;
        let (start, last) = (Timestamp::from_nanos(first), Timestamp::from_nanos(last));
        let time = TimeRange { start, end: TimeRange::from_timestamp(last).end };
        time.rate_hz(self.records?.checked_sub(self.odd_times)?)
    }
}

/// The first and the last moment of `time`.
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
    fn what_is_read_is_what_was_found_or_longer() {
        let origin = Arc::new(Bytes::from_static(b"0123456789"));
        let (name, source) = ("x.ulg".to_owned(), origin.clone());
        let (packing, loss, is_remote) = (None, None, false);
        let input = Input { name, source, origin, packing, loss, is_remote };
        let whole = input.digest().unwrap();
        let found = |source_bytes, digest: &str| Entry {
            source_bytes,
            digest: digest.to_owned(),
            ..Entry::default()
        };
        for mut entry in [found(10, ""), found(9, "of nine bytes"), found(10, &whole)] {
            entry.identify(&input).unwrap();
            assert_eq!((entry.source_bytes, entry.digest), (10, whole.clone()));
        }
        let err = found(11, "").identify(&input).unwrap_err();
        assert!(err.to_string().contains("got shorter"), "{err}");
        let err = found(11, "of eleven bytes").identify(&input).unwrap_err();
        assert!(err.to_string().contains("got shorter"), "{err}");
    }
}
