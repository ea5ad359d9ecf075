//! What a log holds, and how to share the work of reading it.

use std::{collections::BTreeMap, ops::Range};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    damage::Damage,
    error::{Error, ErrorKind, Result},
    time::{Clock, TimeRange, Timestamp},
    topic::{Stream, Topic, TopicId, TopicOrigin, TopicSet},
    value::Value,
};

/// All that is known of a log before its records are read.
///
/// Plain data: a planner may compute it once, store it (it serialises with serde), and
/// send it to workers that open the same bytes with
/// [`Format::resume`](crate::Format::resume).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// The name of the format, as `ulog`.
    pub format: String,
    /// How many bytes the file is.
    pub bytes: u64,
    /// How all this was found out: by an index, or by reading the file.
    #[serde(default)]
    pub access: LogAccess,
    /// The topics; a [`TopicId`] is an index here.
    pub topics: Vec<Topic>,
    /// The [streams](crate::Record::stream) that the records are of, where the format
    /// tells them apart.
    #[serde(default)]
    pub streams: Vec<Stream>,
    /// The finest parts that can be read one without the other, in the file's order.
    pub parts: Vec<Part>,
    /// Topics whose records make rows of other times than their own, and how far from it.
    #[serde(default)]
    pub reach: BTreeMap<TopicId, Reach>,
    /// What the timestamps count from.
    pub clock: Clock,
    /// From the start of logging to the last record, leaving out times that cannot be
    /// right. If the file does not contain the start of logging, the first record is used.
    pub time: Option<TimeRange>,
    /// The time of the oldest record from before the start of logging, if there is one:
    /// a value that was published before, and is still the last known one.
    #[serde(default)]
    pub oldest: Option<Timestamp>,
    /// What the file says of itself.
    pub metadata: BTreeMap<String, Value>,
    /// What was found damaged while finding all this.
    pub damage: Vec<Damage>,
    /// What is odd, and no damage: a sentence each, for people.
    pub remarks: Vec<String>,
    /// What the format notes for itself, so as to resume without reading anything.
    pub notes: String,
}

/// How the content of a log was found when it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogAccess {
    /// By a sound index: the records were not read.
    Indexed,
    /// By reading the file from its start to its end: its format has no index that replaces
    /// that.
    #[default]
    Scanned,
    /// By going through the file from its start to its end, without its index, which is broken
    /// or missing, or not to be used. Compressed records are not always decompressed for that.
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

/// A stretch of a log that can be read without what comes before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Where it lies in the file.
    pub bytes: Range<u64>,
    /// The topics that it may hold.
    pub topics: TopicSet,
    /// The times that it may hold.
    pub time: TimeRange,
}

/// How far the rows that are made of a record may be from its time.
///
/// A packet of a lidar has one time, and its points have another each: who wants the
/// points of some times, needs also packets of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// At most so many nanoseconds before it.
    pub before: u64,
    /// At most so many nanoseconds after it.
    pub after: u64,
}

/// Which records are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Those of these topics…
    pub topics: TopicSet,
    /// …and of these times.
    pub time: TimeRange,
}

impl Manifest {
    /// The topic with this [label](Topic::label).
    pub fn topic(&self, label: &str) -> Result<TopicId> {
        let found = self.topics().find(|(_, topic)| topic.label() == label);
        found.map(|(id, _)| id).ok_or_else(|| {
            Error::new(ErrorKind::NoSuch, format!("the log has no topic {label:?}"))
        })
    }

    /// What a format notes, as the text that [`notes`](Self::notes) is.
    ///
    /// # Errors
    /// `Malformed` if it is nothing that JSON can say.
    pub fn note<N: Serialize>(notes: &N) -> Result<String> {
        let odd = |err| Error::new(ErrorKind::Malformed, "notes").from_source(err);
        serde_json::to_string(notes).map_err(odd)
    }

    /// What the format `format` noted.
    ///
    /// # Errors
    /// `Malformed` if the manifest is of another format, or noted by none.
    pub fn noted<N: DeserializeOwned>(&self, format: &str) -> Result<N> {
        let odd = || {
            let what = format!("a manifest that is none of a {format} log");
            Error::new(ErrorKind::Malformed, what)
        };
        if self.format != format {
            return Err(odd());
        }
        serde_json::from_str(&self.notes).map_err(|err| odd().from_source(err))
    }

    /// Every topic with its id.
    pub fn topics(&self) -> impl Iterator<Item = (TopicId, &Topic)> {
        (0..).map(TopicId).zip(&self.topics)
    }

    /// The topics that are no others' records once more: all but the derived ones.
    pub fn logged(&self) -> TopicSet {
        let is_logged = |topic: &Topic| topic.origin != TopicOrigin::Derived;
        if self.topics.iter().all(is_logged) {
            return TopicSet::All;
        }
        let logged = self.topics().filter(|(_, topic)| is_logged(topic));
        logged.map(|(id, _)| id).collect()
    }

    /// Returns the number of records of all topics but the derived ones, or `None` if that of
    /// one of them is unknown.
    pub fn records(&self) -> Option<u64> {
        let logged = self.topics.iter().filter(|t| t.origin != TopicOrigin::Derived);
        logged
            .map(|topic| topic.records)
            .try_fold(0, |sum: u64, records| Some(sum.saturating_add(records?)))
    }

    /// The topic that `id` stands for.
    pub fn get(&self, id: TopicId) -> Result<&Topic> {
        self.topics.get(id.index()).ok_or_else(|| {
            Error::new(
                ErrorKind::NoSuch,
                format!("the log has no topic number {}", id.0),
            )
        })
    }

    /// The times that records can have: those of [`time`](Self::time), and those of
    /// records from before the start of logging.
    pub fn possible_times(&self) -> Option<TimeRange> {
        let time = self.time?;
        let start = self.oldest.map_or(time.start, |oldest| oldest.min(time.start));
        Some(TimeRange { start, ..time })
    }

    /// Whether a record of this time is from before the start of logging.
    pub fn is_before_start(&self, time: Timestamp) -> bool {
        self.oldest.is_some_and(|oldest| time >= oldest)
            && self.time.is_some_and(|all| time < all.start)
    }

    /// The parts to read for `selection`: those that may hold some of it, neighbours
    /// joined as long as the joint part is no longer than `target_bytes`.
    pub fn plan(&self, selection: &Selection, target_bytes: u64) -> Vec<Part> {
        let mut plan: Vec<Part> = Vec::new();
        // Who wants everything is also told of all damage, where no record is left.
        let is_everything = self.is_everything(selection);
        let is_wanted = |part: &&Part| is_everything || self.may_hold(part, selection);
        for part in self.parts.iter().filter(is_wanted) {
            match plan.last_mut() {
                Some(last) if last.joins(part, target_bytes) => last.join(part),
                _ => plan.push(part.clone()),
            }
        }
        plan
    }

    /// Returns whether `selection` is all that is logged, at all times.
    pub(crate) fn is_everything(&self, selection: &Selection) -> bool {
        selection.time == TimeRange::ALL
            && (selection.topics == TopicSet::All || selection.topics == self.logged())
    }

    /// Whether a record of `topic` at `time` is wanted, or rows that are made of it may
    /// be.
    pub fn wants(
        &self,
        selection: &Selection,
        topic: TopicId,
        time: Timestamp,
    ) -> bool {
        selection.topics.contains(topic)
            && match self.reach.get(&topic) {
                None => selection.time.contains(time),
                Some(reach) => reach.of(selection.time).contains(time),
            }
    }

    /// Whether there may be something in `part` that is wanted.
    pub(crate) fn may_hold(&self, part: &Part, selection: &Selection) -> bool {
        let wants = |topic: TopicId| {
            part.topics.contains(topic) && selection.topics.contains(topic)
        };
        let may_reach = || {
            self.reach.iter().any(|(topic, reach)| {
                wants(*topic) && part.time.overlaps(&reach.of(selection.time))
            })
        };
        part.topics.overlaps(&selection.topics)
            && (part.time.overlaps(&selection.time) || may_reach())
    }
}

impl Reach {
    /// The times of records of which rows may be of these `times`.
    #[must_use]
    pub fn of(self, times: TimeRange) -> TimeRange {
        if times.is_empty() {
            return times;
        }
        let nanos = |reach: u64| i64::try_from(reach).unwrap_or(i64::MAX);
        let end = match times.end {
            Timestamp::MAX => Timestamp::MAX,
            end => end.later(nanos(self.before)),
        };
        let start = match times.start {
            Timestamp::MIN => Timestamp::MIN,
            start => start.later(nanos(self.after).saturating_neg()),
        };
        TimeRange { start, end }
    }
}

impl Part {
    /// Whether this and the `next` are neighbours, and no longer than `target_bytes`.
    pub(crate) fn joins(&self, next: &Self, target_bytes: u64) -> bool {
        self.bytes.end == next.bytes.start
            && next.bytes.end - self.bytes.start <= target_bytes
    }

    /// Takes in the `next`.
    pub(crate) fn join(&mut self, next: &Self) {
        self.bytes.end = next.bytes.end;
        self.topics.extend(&next.topics);
        self.time = self.time.cover(&next.time);
    }

    /// This and the `next` as one.
    pub(crate) fn with(mut self, next: Self) -> Self {
        self.join(&next);
        self
    }
}

impl Selection {
    /// Whether a record of `topic` at `time` is wanted.
    pub fn wants(&self, topic: TopicId, time: Timestamp) -> bool {
        self.topics.contains(topic) && self.time.contains(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[test]
    fn who_wants_all_that_is_logged_is_told_of_parts_without_a_record() {
        let mut manifest = Sample::new(&[&[(0, 0, 1, b"one")], &[], &[]]).manifest;
        let wanted = |manifest: &Manifest, topics: TopicSet| {
            let selection = Selection { topics, ..Selection::default() };
            manifest.plan(&selection, 0).len()
        };
        assert_eq!(manifest.logged(), TopicSet::All);
        manifest.topics[1].origin = TopicOrigin::Derived;
        let logged: TopicSet = [TopicId(0)].into_iter().collect();
        assert_eq!(manifest.logged(), logged);
        assert_eq!(wanted(&manifest, logged), 3);
        assert_eq!(wanted(&manifest, TopicSet::All), 3);
        let derived = [TopicId(1)].into_iter().collect();
        assert_eq!(wanted(&manifest, derived), 0);
    }
}
