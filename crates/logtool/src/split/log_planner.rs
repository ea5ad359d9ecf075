//! The splits of one log.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use logtool_core::{
    Damage, Excerpt, Log, Manifest, Part, Selection, TimeBase, TimeRange, TopicId,
    TopicSet, View,
};

use crate::{
    error::{Error, Result},
    records::log::PART_BYTES,
    split::{
        Split, VERSION, known_damage::KnownDamage, messages::PlannedMessages,
        state::SplitState, version::FileVersion,
    },
    time::offset::ClockOffset,
};

/// The number of bytes that the parts of the log may add to the state of a split. A split
/// that would be longer is divided.
const MAX_PARTS_TEXT: usize = 4 << 10;

/// The maximum number of parts of a log without an index in a split: its worker can read
/// them in parallel.
const MAX_PARTS: u64 = 32;

/// The maximum number of parts of the manifest in the first attempt at a split: more need
/// more text than a split has.
const MAX_MANIFEST_PARTS: usize = 2048;

/// Plans the splits of one log.
pub(super) struct LogPlanner<'o> {
    pub(super) path: String,
    pub(super) file: FileVersion,
    pub(super) log: &'o dyn Log,
    pub(super) is_packed: bool,
    pub(super) base: TimeBase,
    pub(super) time: TimeRange,
    pub(super) view: View,
    pub(super) has_spark_types: bool,
    pub(super) target_bytes: u64,
    pub(super) damage: KnownDamage<'o>,
}

/// The splits of one topic.
struct TopicSplits<'s> {
    topic: TopicId,
    columns: Option<Vec<usize>>,
    selection: Selection,
    /// The number of bytes of all splits.
    bytes: u64,
    /// The messages, if the records are translated.
    messages: Option<PlannedMessages<'s>>,
    splits: &'s mut Vec<Split>,
}

impl TopicSplits<'_> {
    /// Returns whether all rows are in one split.
    fn is_whole(&self, planner: &LogPlanner<'_>) -> bool {
        planner.is_packed
            || self.messages.as_ref().is_some_and(|messages| messages.is_whole)
    }
}

impl LogPlanner<'_> {
    /// Returns the parts of the log for each of `topics`.
    pub(super) fn parts(&self, topics: TopicSet) -> BTreeMap<TopicId, Vec<Part>> {
        let manifest = self.log.manifest();
        let part_bytes = (self.target_bytes.min(manifest.bytes) / MAX_PARTS)
            .max(PART_BYTES)
            .min(self.target_bytes);
        manifest.plan_topics(&Selection { topics, time: self.time }, part_bytes)
    }

    pub(super) fn plan_topic(
        &self,
        (topic, messages): (TopicId, Option<PlannedMessages<'_>>),
        columns: Option<Vec<usize>>,
        parts: &[Part],
        splits: &mut Vec<Split>,
    ) -> Result<()> {
        let topics: TopicSet = [topic].into_iter().collect();
        let selection = Selection { topics, time: self.time };
        let bytes = parts.iter().map(size).sum();
        let mut topic =
            TopicSplits { topic, columns, selection, bytes, messages, splits };
        let manifest = self.log.manifest();
        let is_whole = topic.is_whole(self);
        let mut remaining = parts;
        let mut start = 0;
        while !remaining.is_empty() {
            let (mut sum, mut part_count) = (0_u64, 0);
            let fits = |part: &&Part| {
                sum = sum.saturating_add(size(part));
                part_count += manifest.parts_within(&part.bytes).len();
                is_whole || sum <= self.target_bytes && part_count <= MAX_MANIFEST_PARTS
            };
            let count = remaining.iter().take_while(fits).count().max(1);
            let (parts, after) = remaining.split_at(count);
            let end = after.first().map_or(u64::MAX, |part| part.bytes.start);
            self.add(&mut topic, parts, start..end)?;
            (remaining, start) = (after, end);
        }
        Ok(())
    }

    /// Adds a split for `parts`, or two if its text would be too long. It also reports the
    /// known damage in the bytes `span`, which other splits do not report.
    fn add(
        &self,
        topic: &mut TopicSplits<'_>,
        parts: &[Part],
        span: Range<u64>,
    ) -> Result<()> {
        let state = self.state(topic, parts, &span)?;
        let is_divisible = parts.len() > 1 && !topic.is_whole(self);
        if is_divisible && state.len() > MAX_PARTS_TEXT {
            let min_len = self.state(topic, &parts[..1], &(0..0))?.len();
            if state.len() > min_len + MAX_PARTS_TEXT {
                let (first, second) = parts.split_at(parts.len() / 2);
                let middle = second.first().map_or(span.end, |part| part.bytes.start);
                self.add(topic, first, span.start..middle)?;
                return self.add(topic, second, middle..span.end);
            }
        }
        let manifest = self.log.manifest();
        let (topic_info, offset) = match &topic.messages {
            Some(messages) => {
                (messages.topic_info, ClockOffset::from_clock(&manifest.clock))
            }
            None => (manifest.topic(topic.topic)?, ClockOffset::default()),
        };
        let time = times(manifest, parts, self.time);
        let bytes = parts.iter().map(size).sum();
        topic.splits.push(Split {
            version: VERSION,
            path: self.path.clone(),
            file: self.file.clone(),
            format: manifest.format.clone(),
            topic: topic_info.label().into_owned(),
            bytes,
            records: topic_info
                .records
                .map(|records| share(records, bytes, topic.bytes)),
            time: time.map(|(start, end)| {
                (start.saturating_add(offset.nanos), end.saturating_add(offset.nanos))
            }),
            state,
        });
        Ok(())
    }

    /// Returns the state of the split for `parts`, with the known damage in `span`.
    fn state(
        &self,
        topic: &TopicSplits<'_>,
        parts: &[Part],
        span: &Range<u64>,
    ) -> Result<String> {
        let (excerpt, messages) = match &topic.messages {
            None => (self.log.excerpt(&topic.selection, parts)?, None),
            Some(messages) => {
                let manifest = self.log.manifest();
                let (selection, parts, messages) =
                    messages.for_split(manifest, (parts, self.time), span);
                let mut excerpt = self.log.excerpt(&selection, &parts)?;
                self.describe_rows(&mut excerpt, topic.topic)?;
                (excerpt, Some(messages))
            }
        };
        let Some(id) = excerpt.renumbered_topic(topic.topic) else {
            return Err(Error::invalid_request(
                "the format has no excerpts of the topic",
            ));
        };
        // The losses of a table are of the topic in its own log.
        let table = messages.as_ref().map_or(id, |messages| messages.topic());
        let damage = self.damage.damage_within(span, topic.topic);
        let damage = damage.map(|damage| Damage {
            topic: damage.topic.map(|_| table),
            ..damage.clone()
        });
        let damage = damage.collect();
        let manifest = Manifest { damage, ..excerpt.manifest };
        let state = SplitState {
            topic: id,
            is_flat: self.view == View::Flat,
            columns: topic.columns.clone(),
            time: self.time,
            offset_nanos: self.base.offset_nanos,
            is_utc: self.base.is_utc,
            has_spark_types: self.has_spark_types,
            messages,
            manifest,
        };
        state.encode()
    }

    /// Adds to `excerpt` the columns and the metadata of `topic`, from which the messages of
    /// topics without a layout are defined.
    fn describe_rows(&self, excerpt: &mut Excerpt, topic: TopicId) -> Result<()> {
        if self.log.payload_layout(topic).is_some() {
            return Ok(());
        }
        let topic_info = self.log.manifest().topic(topic)?;
        let index = excerpt.renumbered_topic(topic).map(TopicId::index);
        if let Some(topic) =
            index.and_then(|position| excerpt.manifest.topics.get_mut(position))
        {
            topic.schema = Arc::clone(&topic_info.schema);
            topic.metadata = topic_info.metadata.clone();
        }
        Ok(())
    }
}

fn size(part: &Part) -> u64 {
    part.bytes.end.saturating_sub(part.bytes.start)
}

/// Returns the share of `amount` that `part` has in `whole`.
fn share(amount: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(amount) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(amount)
}

/// Returns the times of `parts` in `selected`, in nanoseconds.
fn times(
    manifest: &Manifest,
    parts: &[Part],
    selected: TimeRange,
) -> Option<(i64, i64)> {
    let total =
        parts.iter().map(|part| part.time).reduce(|total, next| total.cover(&next))?;
    let known = match total {
        TimeRange::ALL => manifest.possible_times()?,
        known => known,
    };
    let start = known.start.max(selected.start);
    Some((start.as_nanos(), known.end.min(selected.end).max(start).as_nanos()))
}
