//! The manifest of a log, and the plan of the parts to read.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use arrow_schema::Schema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    error::{Error, ErrorKind, Result},
    model::{
        damage::Damage,
        time::{Clock, TimeRange, Timestamp},
        topic::{Stream, Topic, TopicId, TopicOrigin, TopicSet},
        value::Value,
    },
};

/// Everything that is known about a log before its records are read.
///
/// A manifest is plain data. A planner can compute it once, store it (it serialises with
/// serde), and send it to workers that open the same bytes with
/// [`Format::open_with_manifest`](crate::Format::open_with_manifest).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// The name of the format, e.g. `ulog`.
    pub format: String,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// How the content was found: by an index, or by reading the file.
    #[serde(default)]
    pub access: LogAccess,
    /// The topics. A [`TopicId`] is an index into this list.
    pub topics: Vec<Topic>,
    /// The [streams](crate::Record::stream) of the records, if the format distinguishes
    /// them.
    #[serde(default)]
    pub streams: Vec<Stream>,
    /// The smallest parts that can be read independently, in the order of the file.
    pub parts: Vec<Part>,
    /// The topics whose records produce rows with other times, and by how much these can
    /// differ.
    #[serde(default)]
    pub time_margins: BTreeMap<TopicId, TimeMargin>,
    /// The clock of the timestamps.
    pub clock: Clock,
    /// The times from the start of logging to the last record, without implausible times.
    /// If the file does not contain the start of logging, the first record is used.
    pub time: Option<TimeRange>,
    /// The time of the oldest record from before the start of logging, if there is one. Such
    /// a record has a value that was published earlier and not updated since.
    #[serde(default)]
    pub oldest: Option<Timestamp>,
    /// The metadata of the file.
    pub metadata: BTreeMap<String, Value>,
    /// The damage found while the manifest was built.
    pub damage: Vec<Damage>,
    /// Remarks on anomalies that are no damage: one sentence each.
    pub remarks: Vec<String>,
    /// The private state of the format, which lets it open the log again without reading
    /// the file. See [`encode_state`](Self::encode_state).
    pub format_state: String,
}

/// How the content of a log was found when it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogAccess {
    /// By a sound index. The records were not read.
    Indexed,
    /// By reading the whole file, because the format has no index that replaces this.
    #[default]
    Scanned,
    /// By reading the whole file, because its index is damaged or missing, or must not be
    /// used. Compressed records were not necessarily decompressed.
    Damaged,
}

impl LogAccess {
    /// Returns whether the index of the file was used, or `None` if its format has none.
    pub fn uses_index(self) -> Option<bool> {
        match self {
            Self::Indexed => Some(true),
            Self::Scanned => None,
            Self::Damaged => Some(false),
        }
    }
}

/// A range of a log that can be read independently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The position in the file.
    pub bytes: Range<u64>,
    /// The topics that the part may contain.
    pub topics: TopicSet,
    /// The times that the part may contain.
    pub time: TimeRange,
}

/// How far the times of rows can differ from the time of their record.
///
/// A lidar packet has one time, but each of its points has another. To get the points of
/// a time range, packets outside of it must be read too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeMargin {
    /// The maximum number of nanoseconds before the time of the record.
    pub before: u64,
    /// The maximum number of nanoseconds after the time of the record.
    pub after: u64,
}

/// The selected records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// The selected topics.
    pub topics: TopicSet,
    /// The selected times.
    pub time: TimeRange,
}

impl Manifest {
    /// Returns the id of the topic with this [label](Topic::label).
    ///
    /// # Errors
    /// `NoSuch` if there is none.
    pub fn topic_id(&self, label: &str) -> Result<TopicId> {
        let topic_with_label = self.topics().find(|(_, topic)| topic.label() == label);
        topic_with_label.map(|(id, _)| id).ok_or_else(|| {
            Error::new(ErrorKind::NoSuch, format!("the log has no topic {label:?}"))
        })
    }

    /// Encodes the private state of a format as JSON, for
    /// [`format_state`](Self::format_state).
    ///
    /// # Errors
    /// `Malformed` if JSON cannot represent it.
    pub fn encode_state<S: Serialize>(state: &S) -> Result<String> {
        serde_json::to_string(state).map_err(|err| {
            Error::new(ErrorKind::Malformed, "the state of the format").with_source(err)
        })
    }

    /// Decodes the private state of the format called `format`.
    ///
    /// # Errors
    /// `Malformed` if the manifest belongs to another format, or its state is invalid.
    pub fn decode_state<S: DeserializeOwned>(&self, format: &str) -> Result<S> {
        let mismatch = || {
            let message = format!("the manifest is not from a {format} log");
            Error::new(ErrorKind::Malformed, message)
        };
        if self.format != format {
            return Err(mismatch());
        }
        serde_json::from_str(&self.format_state)
            .map_err(|err| mismatch().with_source(err))
    }

    /// Iterates over all topics and their ids.
    pub fn topics(&self) -> impl Iterator<Item = (TopicId, &Topic)> {
        (0..).map(TopicId).zip(&self.topics)
    }

    /// Returns all topics except the derived ones, so that each record is selected once.
    pub fn logged_topics(&self) -> TopicSet {
        let is_logged = |topic: &Topic| topic.origin != TopicOrigin::Derived;
        if self.topics.iter().all(is_logged) {
            return TopicSet::All;
        }
        self.topics().filter(|(_, topic)| is_logged(topic)).map(|(id, _)| id).collect()
    }

    /// Returns the number of records in all topics except the derived ones, or `None` if
    /// one of them has an unknown number.
    pub fn records(&self) -> Option<u64> {
        let mut sum: u64 = 0;
        for topic in &self.topics {
            if topic.origin != TopicOrigin::Derived {
                sum = sum.saturating_add(topic.records?);
            }
        }
        Some(sum)
    }

    /// Returns the topic with this `id`.
    ///
    /// # Errors
    /// `NoSuch` if there is none.
    pub fn topic(&self, id: TopicId) -> Result<&Topic> {
        self.topics.get(id.index()).ok_or_else(|| {
            Error::new(
                ErrorKind::NoSuch,
                format!("the log has no topic number {}", id.0),
            )
        })
    }

    /// Returns the times that records can have: those of [`time`](Self::time), and those
    /// from before the start of logging.
    pub fn possible_times(&self) -> Option<TimeRange> {
        let time = self.time?;
        let start = self.oldest.map_or(time.start, |oldest| oldest.min(time.start));
        Some(TimeRange { start, ..time })
    }

    /// Returns whether a record with this time is from before the start of logging.
    pub fn is_before_start(&self, time: Timestamp) -> bool {
        self.oldest.is_some_and(|oldest| time >= oldest)
            && self.time.is_some_and(|range| time < range.start)
    }

    /// Returns the parts to read for `selection`: those that may contain selected
    /// records. Adjacent parts are joined up to `target_bytes` bytes.
    pub fn plan(&self, selection: &Selection, target_bytes: u64) -> Vec<Part> {
        let mut plan: Vec<Part> = Vec::new();
        // A full read includes the parts without records, so that it reports all damage.
        let is_full_read = self.selects_everything(selection);
        for part in &self.parts {
            if !is_full_read && !self.may_contain_selected(part, selection) {
                continue;
            }
            match plan.last_mut() {
                Some(last) if last.can_join(part, target_bytes) => last.join(part),
                _ => plan.push(part.clone()),
            }
        }
        plan
    }

    /// Returns the manifest without columns and definitions of topics, for formats that
    /// have them in their private state.
    #[must_use]
    pub fn without_definitions(mut self) -> Self {
        for topic in &mut self.topics {
            topic.schema = Arc::new(Schema::empty());
            topic.definition = String::new();
            topic.descriptor = Vec::new();
            topic.metadata = BTreeMap::new();
        }
        self
    }

    /// Returns the indices of the parts that lie in `bytes`.
    pub fn parts_within(&self, bytes: &Range<u64>) -> Range<usize> {
        let first = self.parts.partition_point(|part| part.bytes.start < bytes.start);
        let following = self.parts.get(first..).unwrap_or_default();
        first..first + following.partition_point(|part| part.bytes.end <= bytes.end)
    }

    /// Returns the parts to read for each topic of `selection`: those that
    /// [`plan`](Self::plan) would return for the topic alone, each with this topic only.
    /// Topics without parts are omitted. This inspects each part once.
    pub fn plan_topics(
        &self,
        selection: &Selection,
        target_bytes: u64,
    ) -> BTreeMap<TopicId, Vec<Part>> {
        let topic_count = self.topics.len();
        // If only one topic is logged, reading it is a full read, which includes the parts
        // without records.
        let fully_read_topic = match self.logged_topics() {
            TopicSet::All => None,
            logged => logged.ids(topic_count).next().filter(|id| {
                let is_only_logged_topic = logged == [*id].into_iter().collect();
                is_only_logged_topic
                    && selection.time == TimeRange::ALL
                    && selection.topics.contains(*id)
            }),
        };
        let mut plan: BTreeMap<TopicId, Vec<Part>> = BTreeMap::new();
        for part in &self.parts {
            let selected_ids = part.topics.ids(topic_count).filter(|id| {
                Some(*id) != fully_read_topic
                    && selection.topics.contains(*id)
                    && self.may_contain_topic(part, *id, selection.time)
            });
            for id in selected_ids.chain(fully_read_topic) {
                let topics = [id].into_iter().collect();
                let topic_part =
                    Part { bytes: part.bytes.clone(), topics, time: part.time };
                let topic_plan = plan.entry(id).or_default();
                match topic_plan.last_mut() {
                    Some(last) if last.can_join(&topic_part, target_bytes) => {
                        last.join(&topic_part);
                    }
                    _ => topic_plan.push(topic_part),
                }
            }
        }
        plan
    }

    /// Returns whether `selection` has all logged topics and all times.
    pub(crate) fn selects_everything(&self, selection: &Selection) -> bool {
        selection.time == TimeRange::ALL
            && (selection.topics == TopicSet::All
                || selection.topics == self.logged_topics())
    }

    /// Returns whether a record of `topic` at `time` is selected, or can produce selected
    /// rows.
    pub fn needs_record(
        &self,
        selection: &Selection,
        topic: TopicId,
        time: Timestamp,
    ) -> bool {
        selection.topics.contains(topic)
            && match self.time_margins.get(&topic) {
                None => selection.time.contains(time),
                Some(margin) => margin.extend(selection.time).contains(time),
            }
    }

    /// Returns whether `part` may contain selected records.
    pub(crate) fn may_contain_selected(
        &self,
        part: &Part,
        selection: &Selection,
    ) -> bool {
        let may_produce_selected_rows = || {
            self.time_margins.keys().any(|topic| {
                part.topics.contains(*topic)
                    && selection.topics.contains(*topic)
                    && self.may_contain_topic(part, *topic, selection.time)
            })
        };
        part.topics.overlaps(&selection.topics)
            && (part.time.overlaps(&selection.time) || may_produce_selected_rows())
    }

    /// Returns whether records of `topic` in `part` may have a time in `time`, or produce
    /// rows with such a time.
    fn may_contain_topic(&self, part: &Part, topic: TopicId, time: TimeRange) -> bool {
        let margin = self.time_margins.get(&topic);
        part.time.overlaps(&time)
            || margin.is_some_and(|margin| part.time.overlaps(&margin.extend(time)))
    }
}

impl TimeMargin {
    /// Returns the times of the records that can produce rows with these `times`.
    #[must_use]
    pub fn extend(self, times: TimeRange) -> TimeRange {
        if times.is_empty() {
            return times;
        }
        let nanos = |margin: u64| i64::try_from(margin).unwrap_or(i64::MAX);
        let end = match times.end {
            Timestamp::MAX => Timestamp::MAX,
            end => end.shifted_by(nanos(self.before)),
        };
        let start = match times.start {
            Timestamp::MIN => Timestamp::MIN,
            start => start.shifted_by(nanos(self.after).saturating_neg()),
        };
        TimeRange { start, end }
    }
}

impl Part {
    /// Returns whether `next` directly follows this part, and both together have at most
    /// `target_bytes` bytes.
    pub(crate) fn can_join(&self, next: &Self, target_bytes: u64) -> bool {
        self.bytes.end == next.bytes.start
            && next.bytes.end - self.bytes.start <= target_bytes
    }

    /// Extends the part by `next`.
    pub(crate) fn join(&mut self, next: &Self) {
        self.bytes.end = next.bytes.end;
        self.topics.extend(&next.topics);
        self.time = self.time.cover(&next.time);
    }

    /// Returns the part extended by `next`.
    pub(crate) fn extended_by(mut self, next: Self) -> Self {
        self.join(&next);
        self
    }
}

impl Selection {
    /// Returns whether a record of `topic` at `time` is selected.
    pub fn contains(&self, topic: TopicId, time: Timestamp) -> bool {
        self.topics.contains(topic) && self.time.contains(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample_log::{Sample, SampleRecord};

    #[test]
    fn plan_of_all_logged_topics_includes_parts_without_records() {
        let mut manifest = Sample::new(&[&[(0, 0, 1, b"one")], &[], &[]]).manifest;
        let part_count = |manifest: &Manifest, topics: TopicSet| {
            let selection = Selection { topics, ..Selection::default() };
            manifest.plan(&selection, 0).len()
        };
        assert_eq!(manifest.logged_topics(), TopicSet::All);
        manifest.topics[1].origin = TopicOrigin::Derived;
        let logged: TopicSet = [TopicId(0)].into_iter().collect();
        assert_eq!(manifest.logged_topics(), logged);
        assert_eq!(part_count(&manifest, logged), 3);
        assert_eq!(part_count(&manifest, TopicSet::All), 3);
        let derived = [TopicId(1)].into_iter().collect();
        assert_eq!(part_count(&manifest, derived), 0);
    }

    #[test]
    fn plan_of_topics_has_the_parts_of_the_plan_of_each_topic() {
        let parts: [&[SampleRecord]; 4] = [
            &[(0, 0, 1, b"one"), (1, 0, 2, b"two")],
            &[(1, 0, 3, b"three")],
            &[],
            &[(0, 0, 9, b"nine")],
        ];
        let mut manifest = Sample::new(&parts).manifest;
        for (origin, margin) in [
            (TopicOrigin::Logged, 0),
            (TopicOrigin::Derived, 0),
            (TopicOrigin::Logged, 4),
        ] {
            manifest.topics[1].origin = origin;
            let margin = TimeMargin { before: margin, after: margin };
            manifest.time_margins = BTreeMap::from([(TopicId(1), margin)]);
            let (start, end) = (Timestamp::from_nanos(4), Timestamp::from_nanos(10));
            for time in [TimeRange::ALL, TimeRange { start, end }] {
                for target in [0, 1 << 20] {
                    let all_topics = Selection { topics: TopicSet::All, time };
                    let plan = manifest.plan_topics(&all_topics, target);
                    for (id, _) in manifest.topics() {
                        let topics = [id].into_iter().collect();
                        let expected =
                            manifest.plan(&Selection { topics, time }, target);
                        let bytes = |parts: &[Part]| -> Vec<Range<u64>> {
                            parts.iter().map(|part| part.bytes.clone()).collect()
                        };
                        let planned_bytes =
                            plan.get(&id).map_or(vec![], |parts| bytes(parts));
                        assert_eq!(
                            planned_bytes,
                            bytes(&expected),
                            "{id:?} {time:?} {target}"
                        );
                    }
                }
            }
        }
    }
}
