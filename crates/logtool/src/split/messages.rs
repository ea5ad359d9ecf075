//! Splits of the messages that the records of a log are translated to.
//!
//! A split has an excerpt of the manifest of the source log. Its reader translates the records
//! again, so each message must be made from records in the excerpt.

use std::{ops::Range, sync::Arc};

use logtool_core::{
    Log, Manifest, Part, RowGroup, Selection, TimeRange, Topic, TopicContent, TopicId,
    TopicOrigin, TopicSet,
};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    records::{
        log::{PART_BYTES, ReportedDamage},
        translate::{Frames, MessageSource, TranslationKind},
    },
    time::offset::ClockOffset,
};

/// The translation of the records of a split to messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SplitMessages {
    kind: TranslationKind,
    /// The topic of the log that [`open`](Self::open) returns.
    topic: TopicId,
    /// The numbers of the scans of points that become messages; `None` for other records.
    scans: Option<Range<u32>>,
    /// The bytes whose damage the split reports.
    bytes: Range<u64>,
}

/// The messages of one topic of a translated log, while their splits are planned.
pub(super) struct PlannedMessages<'p> {
    kind: TranslationKind,
    /// The translated topic.
    pub(super) topic_info: &'p Topic,
    /// Its index among the translations of its source topic.
    topic: TopicId,
    /// The topics that are read.
    topics: TopicSet,
    is_of_points: bool,
    /// Whether all messages are in one split, because any may depend on any record.
    pub(super) is_whole: bool,
    /// The scans, if the records are points and their scans are known.
    scans: Option<Scans>,
}

/// The scans of points.
struct Scans {
    groups: Vec<RowGroup>,
    /// The parts of the log that have points.
    parts: Vec<Part>,
}

impl SplitMessages {
    /// Translates the records of `topic` of `log`, which was opened with an excerpt, at the
    /// times `time`.
    ///
    /// # Errors
    /// `InvalidRequest` if they do not become messages of the topic.
    pub(super) fn open(
        &self,
        log: Arc<dyn Log>,
        topic: TopicId,
        time: TimeRange,
    ) -> Result<Arc<dyn Log>> {
        let selection = Selection { topics: [topic].into_iter().collect(), time };
        let offset = ClockOffset::from_clock(&log.manifest().clock);
        let (frames, scans) = (Frames::default(), self.scans.clone());
        let log = self.kind.translate(log, &selection, offset, &frames, scans)?.log;
        if log.manifest().topic(self.topic).is_err() {
            let message = "the split is not valid: its records do not become messages";
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        }
        Ok(log)
    }

    /// Returns the topic of the log that [`open`](Self::open) returns.
    pub(super) fn topic(&self) -> TopicId {
        self.topic
    }

    /// Returns the damage that a table of messages from `source` reports.
    pub(super) fn reported_damage(&self, source: TopicId) -> ReportedDamage {
        ReportedDamage { topic: source, bytes: self.bytes.clone() }
    }
}

impl<'p> PlannedMessages<'p> {
    /// Creates the description of the messages of the translated topic `topic_info`. Its index
    /// among the translations of its `source` in `log` is `topic`.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(super) fn new(
        log: &dyn Log,
        kind: TranslationKind,
        (topic, topic_info): (TopicId, &'p Topic),
        source: MessageSource,
        time: TimeRange,
    ) -> Result<Self> {
        let manifest = log.manifest();
        let of_source: TopicSet = [source.topic].into_iter().collect();
        let mut topics = of_source.clone();
        topics.extend(&source.dependency.into_iter().collect());
        let is_of_points = kind.is_lidar()
            && manifest.topic(source.topic)?.content == TopicContent::LidarPoints;
        let groups =
            if is_of_points { log.row_groups(source.topic, time)? } else { None };
        let is_whole = source.dependency.is_some() || is_of_points && groups.is_none();
        let selection = Selection { topics: of_source, time };
        let scans =
            groups.map(|groups| Scans { groups, parts: manifest.plan(&selection, 0) });
        Ok(Self { kind, topic_info, topic, topics, is_of_points, is_whole, scans })
    }

    /// Returns the selection and the parts for the excerpt of a split, and how its records
    /// become messages. The messages are made from the records in `parts`, and from the scans
    /// that start in the bytes `span`.
    pub(super) fn for_split(
        &self,
        manifest: &Manifest,
        (parts, time): (&[Part], TimeRange),
        span: &Range<u64>,
    ) -> (Selection, Vec<Part>, SplitMessages) {
        let topics = self.topics.clone();
        let (selection, parts, scans, bytes) = match &self.scans {
            Some(scans) => {
                let (parts, numbers) = scans.starting_in(parts, span);
                (Selection { topics, time }, parts, Some(numbers), span.clone())
            }
            None if self.is_whole => {
                // A message at a selected time can depend on records at other times.
                let selection = Selection { topics, time: TimeRange::ALL };
                let parts = manifest.plan(&selection, PART_BYTES);
                let scans = self.is_of_points.then_some(0..u32::MAX);
                (selection, parts, scans, 0..u64::MAX)
            }
            None => (Selection { topics, time }, parts.to_vec(), None, 0..u64::MAX),
        };
        let messages =
            SplitMessages { kind: self.kind, topic: self.topic, scans, bytes };
        (selection, parts, messages)
    }
}

impl Scans {
    /// Returns the numbers of the scans that start in `span`, and the parts with their
    /// records, including those of `own_parts`.
    fn starting_in(
        &self,
        own_parts: &[Part],
        span: &Range<u64>,
    ) -> (Vec<Part>, Range<u32>) {
        let Self { groups, parts } = self;
        let before = |offset: u64| groups.partition_point(|group| group.start < offset);
        let (first_group, end_group) = (before(span.start), before(span.end));
        let next = groups.get(end_group);
        let mut start = own_parts.first().map_or(span.start, |part| part.bytes.start);
        let mut end = own_parts.last().map_or(start, |part| part.bytes.end);
        let mut numbers = 0..0;
        if let Some(group) = groups.get(first_group).filter(|_| first_group < end_group)
        {
            start = start.min(group.first_record);
            // No row of a scan is after the start of the next one.
            end = end.max(next.map_or(u64::MAX, |next| next.start.saturating_add(1)));
            // After the last scan, there may be an unknown one.
            let end_number = next.map_or(u32::MAX, |_| number(end_group));
            numbers = number(first_group)..end_number;
        }
        let needed = |part: &&Part| part.bytes.end > start && part.bytes.start < end;
        (parts.iter().filter(needed).cloned().collect(), numbers)
    }
}

/// Fails if records of `source` may have other times than the `usable` ones: their messages get
/// the times of other records, which a split does not have.
///
/// # Errors
/// `Unsupported` if they may.
pub(super) fn check_times(
    manifest: &Manifest,
    source: MessageSource,
    usable: TimeRange,
) -> Result<()> {
    for id in [Some(source.topic), source.dependency].into_iter().flatten() {
        let topic = manifest.topic(id)?;
        let is_within =
            |time: TimeRange| usable.start <= time.start && time.end <= usable.end;
        // The time of the topic excludes records from before the start of logging.
        let is_old = topic.records == Some(topic.before_start);
        let oldest = manifest.oldest.filter(|_| topic.before_start > 0);
        // The times of derived records depend on other topics.
        let is_usable = topic.origin != TopicOrigin::Derived
            && topic.implausible_times == 0
            && topic.time.map_or(is_old, is_within)
            && oldest.is_none_or(|oldest| usable.start <= oldest);
        if !is_usable && topic.records != Some(0) {
            let message = format!(
                "{} may have impossible times, and their messages the times of other \
                 records, which a split does not have",
                topic.label()
            );
            let hint = "select other topics, or convert the log and plan the new one";
            return Err(Error::new(ErrorKind::Unsupported, message).with_hint(hint));
        }
    }
    Ok(())
}

/// Returns the number of the scan at `index`.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
