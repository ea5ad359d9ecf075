//! The plan of the splits of some logs.

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use logtool_core::{
    Columns, Damage, DamageKind, Excerpt, Log, Manifest, Part, Selection, TimeBase,
    TimeRange, TopicId, TopicSet, View,
};
use logtool_velodyne::lidar::LidarOptions;
use rayon::prelude::*;

use crate::{
    dataset::inputs::{self, InputLog},
    error::{Context as _, Error, ErrorKind, Result},
    formats::LogFormat,
    input::{
        Input,
        open::{self, OpenLog},
        url,
    },
    log::PART_BYTES,
    losses::Findings,
    selection,
    session::Session,
    split::{
        Split, VERSION,
        messages::{self, PlannedMessages},
        state::SplitState,
        version::FileVersion,
    },
    time::{
        clock::{ShownClock, TimeChoice},
        offset::ClockOffset,
        repaired_times::RepairedTimes,
        typed_time::TypedTime,
    },
    translate::{Frames, MessageTypes, TranslationKind},
};

/// The default of [`PlanRequest::with_target_bytes`]: 64 MiB.
pub const DEFAULT_TARGET_BYTES: u64 = 64 << 20;

/// The number of bytes that the parts of the log may add to the state of a split. A split
/// that would be longer is divided.
const MAX_PARTS_TEXT: usize = 4 << 10;

/// The maximum number of parts of a log without an index in a split: its worker can read
/// them in parallel.
const MAX_PARTS: u64 = 32;

/// The maximum number of parts of the manifest in the first attempt at a split: more need
/// more text than a split has.
const MAX_MANIFEST_PARTS: usize = 2048;

/// The maximum number of places of known damage in a split. Reading may find all of them.
const MAX_DAMAGE: usize = 16;

/// A request for the splits of some logs: one or several for each selected topic.
///
/// ```no_run
/// use logtool::{PlanRequest, Session};
///
/// let request = PlanRequest::new(["drives"]).with_topics(["/imu/data"]);
/// for split in request.run(&Session::new())?.splits {
///     println!("{} {}: {} bytes", split.path(), split.topic(), split.bytes());
/// }
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct PlanRequest {
    inputs: Vec<PathBuf>,
    topics: Vec<String>,
    columns: Vec<String>,
    start: Option<TypedTime>,
    end: Option<TypedTime>,
    clock: TimeChoice,
    view: View,
    is_for_spark: bool,
    target_bytes: u64,
    lidar: LidarOptions,
    messages: Option<(LogFormat, MessageTypes)>,
}

/// The splits of some logs.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Plan {
    /// The splits, by log, topic and position in the log. The rows of all splits of a log and
    /// a topic, one after the other, are the table of the topic.
    pub splits: Vec<Split>,
    /// The logs that could not be planned, each with the reason.
    pub failed: Vec<(String, Error)>,
    /// For each log, the losses that were found when it was opened. Reading may find more.
    pub losses: Vec<Findings>,
}

impl PlanRequest {
    /// Creates a request for splits of all topics of `inputs`: logs, folders, patterns, lists
    /// and URLs, like those of [`BatchRequest::new`](crate::dataset::BatchRequest::new).
    pub fn new(inputs: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self {
            inputs: inputs.into_iter().map(Into::into).collect(),
            topics: Vec::new(),
            columns: Vec::new(),
            start: None,
            end: None,
            clock: TimeChoice::Boot,
            view: View::Nested,
            is_for_spark: false,
            target_bytes: DEFAULT_TARGET_BYTES,
            lidar: LidarOptions::default(),
            messages: None,
        }
    }

    /// Selects the topics that match one of `patterns`.
    pub fn with_topics(
        mut self,
        patterns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.topics = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Selects the columns that match one of `patterns`. The time is always selected.
    pub fn with_columns(
        mut self,
        patterns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.columns = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Selects the records from `start` to before `end`.
    pub fn with_time(
        mut self,
        start: Option<TypedTime>,
        end: Option<TypedTime>,
    ) -> Self {
        (self.start, self.end) = (start, end);
        self
    }

    /// Sets the clock of the times in the tables. The default is the clock of the log.
    pub fn with_clock(mut self, clock: TimeChoice) -> Self {
        self.clock = clock;
        self
    }

    /// Makes one column of each number: `q[0]`, `pose.x`.
    pub fn with_flat_columns(mut self) -> Self {
        self.view = View::Flat;
        self
    }

    /// Converts the columns to types that Apache Spark reads:
    /// [`TableLayout::Spark`](crate::convert::TableLayout::Spark) describes them.
    pub fn for_spark(mut self) -> Self {
        self.is_for_spark = true;
        self
    }

    /// Sets the number of bytes of a log that a split should read at most. A split has more if
    /// a chunk of its log has, and fewer where a description of its parts would be longer
    /// than a few kilobytes.
    pub fn with_target_bytes(mut self, bytes: u64) -> Self {
        self.target_bytes = bytes;
        self
    }

    /// Sets how lidars are read.
    pub fn with_lidar(mut self, lidar: LidarOptions) -> Self {
        self.lidar = lidar;
        self
    }

    /// Plans tables of the messages of these `types` that a conversion to `format` writes: their
    /// times, and their bytes in the column `payload`. Topics are selected by their names in the
    /// log, and times are those of the new log, in UTC if the log knows it.
    ///
    /// A message of `sensor_msgs/Imu` with the attitude of a PX4 vehicle can depend on any
    /// record, so these are in one split for each topic. Planning a log fails with
    /// `Unsupported` if its records are not translated for `format`, for CDR
    /// ([`MessageTypes::Ros`] in MCAP), for Velodyne packets as messages of ROS, and for topics
    /// with impossible times.
    pub fn with_messages(mut self, format: LogFormat, types: MessageTypes) -> Self {
        self.messages = Some((format, types));
        self
    }

    /// Plans the splits. Each log is opened once. A log that is compressed as a whole has one
    /// split for each topic.
    ///
    /// # Errors
    /// `InvalidRequest` if an input or a pattern is not valid; `NotFound` if a pattern of
    /// topics or columns matches nothing in any log; others if there are no logs.
    pub fn run(&self, session: &Session) -> Result<Plan> {
        let found = inputs::find(&self.inputs, Path::new(""), session)?;
        found.check()?;
        let mut plan = Plan::default();
        for (path, err) in found.failed {
            let name = path.display().to_string();
            plan.failed.push((name.clone(), err.cannot_open(name)));
        }
        let session = match found.logs.len() {
            0 | 1 => session.clone(),
            _ => session.for_concurrent_logs(),
        };
        let planned: Vec<_> =
            found.logs.par_iter().map(|log| self.plan_log(log, &session)).collect();
        let mut missing = None;
        let mut has_topic = false;
        for (log, planned) in found.logs.iter().zip(planned) {
            match planned {
                Ok((splits, losses)) => {
                    has_topic = true;
                    plan.splits.extend(splits);
                    plan.losses.push(losses);
                }
                Err(err) if err.kind() == ErrorKind::NotFound => {
                    missing.get_or_insert(err);
                }
                Err(err) => plan.failed.push((log.display_name(), err)),
            }
        }
        match missing {
            Some(err) if !has_topic => Err(err),
            _ => Ok(plan),
        }
    }

    fn plan_log(
        &self,
        log: &InputLog,
        session: &Session,
    ) -> Result<(Vec<Split>, Findings)> {
        let path = location(&log.path)?;
        let file = FileVersion::read(&path, session)?;
        let mut lidar = self.lidar.clone();
        lidar.utc = self.clock == TimeChoice::Utc || self.messages.is_some();
        let OpenLog { input, log } = open::open_with(&log.path, session, &lidar)?;
        let log: Arc<dyn Log> = log.into();
        let file = (path, file.with_bytes(input.origin.len()));
        let planned = match self.messages {
            None => self.plan_tables(file, &input, &*log),
            Some(messages) => {
                self.plan_messages(file, (&input, &log), messages, session)
            }
        };
        let splits = planned.with_context(|| input.name.clone())?;
        let losses = input.findings(log.manifest());
        Ok((splits, losses))
    }

    fn plan_tables(
        &self,
        file: (String, FileVersion),
        input: &Input,
        log: &dyn Log,
    ) -> Result<Vec<Split>> {
        let manifest = log.manifest();
        let clock = ShownClock::new(manifest, self.clock)?;
        let time = clock.range(self.start, self.end)?;
        let mut topics = selection::topics(manifest, &self.topics)?;
        let all = Columns::all(self.view);
        let columns = selection::columns(log, &mut topics, &all, &self.columns)?;
        let planner = self.planner(file, input, log, (clock.base(), time));
        let mut splits = Vec::new();
        for (topic, parts) in planner.parts(topics) {
            let only = columns.get(&topic).and_then(|columns| columns.only.clone());
            planner.plan_topic((topic, None), only, &parts, &mut splits)?;
        }
        Ok(splits)
    }

    /// Plans the splits of the messages that `log` is translated to.
    fn plan_messages(
        &self,
        file: (String, FileVersion),
        (input, log): (&Input, &Arc<dyn Log>),
        (format, types): (LogFormat, MessageTypes),
        session: &Session,
    ) -> Result<Vec<Split>> {
        let manifest = log.manifest();
        let Some(kind) = TranslationKind::for_target(manifest, format, types) else {
            let what = format!(
                "its records are not translated for {}, so they have no splits of messages",
                format.extension()
            );
            let error = Error::new(ErrorKind::Unsupported, what);
            return Err(error.with_hint("plan splits of its own tables"));
        };
        if format == LogFormat::Mcap && types == MessageTypes::Ros {
            let what = "splits have no messages in CDR";
            let hint = "plan messages of ROS 1, as in a bag, or convert the log";
            return Err(Error::new(ErrorKind::Unsupported, what).with_hint(hint));
        }
        types.check(&[Some(kind)])?;
        let time =
            ShownClock::new(manifest, self.clock)?.range(self.start, self.end)?;
        let mut topics = match self.topics.is_empty() {
            true => kind.all_topics(manifest),
            false => selection::topics(manifest, &self.topics)?,
        };
        if kind.is_one_for_one() {
            topics = selection::copyable_topics(manifest, &topics)?;
        }
        kind.check_independence(manifest, &topics)?;
        let usable = RepairedTimes::new(Arc::clone(log))?.usable;
        let moved = ClockOffset::to_unix(&manifest.clock);
        let wanted = Selection { topics: topics.clone(), time };
        let frames = Frames::default();
        let translated =
            kind.translate(Arc::clone(log), &wanted, moved, &frames, None)?;
        translated.warnings.iter().for_each(|text| session.warn(&input.name, text));
        translated.remarks.iter().for_each(|text| session.note(&input.name, text));
        let mut selected = TopicSet::All;
        let all = Columns::all(self.view);
        let columns =
            selection::columns(&*translated.log, &mut selected, &all, &self.columns)?;
        let made = translated.log.manifest();
        let base = ShownClock::new(made, self.clock)?.base();
        let planner = self.planner(file, input, &**log, (base, time));
        let parts = planner.parts(topics);
        let mut splits = Vec::new();
        let mut counts = BTreeMap::new();
        for ((id, about), source) in made.topics().zip(translated.sources) {
            let index: &mut u32 = counts.entry(source.topic).or_default();
            let topic = (TopicId(*index), about);
            *index += 1;
            let Some(parts) = parts.get(&source.topic) else { continue };
            if !selected.contains(id) {
                continue;
            }
            if let Some(usable) = usable {
                messages::check_times(manifest, source, usable)?;
            }
            let only = columns.get(&id).and_then(|columns| columns.only.clone());
            let messages = PlannedMessages::new(&**log, kind, topic, source, time)?;
            let topic = (source.topic, Some(messages));
            planner.plan_topic(topic, only, parts, &mut splits)?;
        }
        Ok(splits)
    }

    /// Returns a planner for `log`, whose tables have times of `base`, for the records of
    /// `time`.
    fn planner<'o>(
        &self,
        (path, file): (String, FileVersion),
        input: &Input,
        log: &'o dyn Log,
        (base, time): (TimeBase, TimeRange),
    ) -> LogPlanner<'o> {
        let is_packed = input.packing.is_some();
        LogPlanner {
            path,
            file,
            log,
            is_packed,
            base,
            time,
            view: self.view,
            is_for_spark: self.is_for_spark,
            damage: KnownDamage::new(&log.manifest().damage),
            // Each worker decompresses all of a packed file.
            target_bytes: if is_packed { u64::MAX } else { self.target_bytes },
        }
    }
}

/// Plans the splits of one log.
struct LogPlanner<'o> {
    path: String,
    file: FileVersion,
    log: &'o dyn Log,
    is_packed: bool,
    base: TimeBase,
    time: TimeRange,
    view: View,
    is_for_spark: bool,
    target_bytes: u64,
    damage: KnownDamage<'o>,
}

/// The damage that was found when the log was opened, by its topic, in the order of the file.
struct KnownDamage<'o> {
    of_bytes: BTreeMap<Option<TopicId>, Vec<&'o Damage>>,
    /// The definitions that cannot be used. They may lie anywhere in the file.
    of_definitions: BTreeMap<Option<TopicId>, Vec<&'o Damage>>,
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
        planner.is_packed || self.messages.as_ref().is_some_and(|of| of.is_whole)
    }
}

impl LogPlanner<'_> {
    /// Returns the parts of the log for each of `topics`.
    fn parts(&self, topics: TopicSet) -> BTreeMap<TopicId, Vec<Part>> {
        let manifest = self.log.manifest();
        let part_bytes = (self.target_bytes.min(manifest.bytes) / MAX_PARTS)
            .max(PART_BYTES)
            .min(self.target_bytes);
        manifest.plan_topics(&Selection { topics, time: self.time }, part_bytes)
    }

    fn plan_topic(
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
        let mut rest = parts;
        let mut start = 0;
        while !rest.is_empty() {
            let (mut sum, mut within) = (0_u64, 0);
            let fits = |part: &&Part| {
                sum = sum.saturating_add(size(part));
                within += manifest.parts_within(&part.bytes).len();
                is_whole || sum <= self.target_bytes && within <= MAX_MANIFEST_PARTS
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let (parts, after) = rest.split_at(count);
            let end = after.first().map_or(u64::MAX, |part| part.bytes.start);
            self.add(&mut topic, parts, start..end)?;
            (rest, start) = (after, end);
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
            let least = self.state(topic, &parts[..1], &(0..0))?.len();
            if state.len() > least + MAX_PARTS_TEXT {
                let (first, second) = parts.split_at(parts.len() / 2);
                let middle = second.first().map_or(span.end, |part| part.bytes.start);
                self.add(topic, first, span.start..middle)?;
                return self.add(topic, second, middle..span.end);
            }
        }
        let manifest = self.log.manifest();
        let (about, moved) = match &topic.messages {
            Some(messages) => (messages.about, ClockOffset::to_unix(&manifest.clock)),
            None => (manifest.get(topic.topic)?, ClockOffset::default()),
        };
        let time = times(manifest, parts, self.time);
        let bytes = parts.iter().map(size).sum();
        topic.splits.push(Split {
            version: VERSION,
            path: self.path.clone(),
            file: self.file.clone(),
            format: manifest.format.clone(),
            topic: about.label().into_owned(),
            bytes,
            records: about.records.map(|all| share(all, bytes, topic.bytes)),
            time: time.map(|(start, end)| {
                (start.saturating_add(moved.nanos), end.saturating_add(moved.nanos))
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
        let Some(id) = excerpt.topic(topic.topic) else {
            return Err(Error::invalid("the format has no excerpts of the topic"));
        };
        // The losses of a table are of the topic in its own log.
        let table = messages.as_ref().map_or(id, |messages| messages.topic());
        let damage = self.damage.within(span, topic.topic);
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
            is_for_spark: self.is_for_spark,
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
        let about = self.log.manifest().get(topic)?;
        let index = excerpt.topic(topic).map(TopicId::index);
        if let Some(kept) = index.and_then(|at| excerpt.manifest.topics.get_mut(at)) {
            kept.schema = Arc::clone(&about.schema);
            kept.metadata = about.metadata.clone();
        }
        Ok(())
    }
}

impl<'o> KnownDamage<'o> {
    fn new(damage: &'o [Damage]) -> Self {
        let (mut of_bytes, mut of_definitions) =
            (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
        for damage in damage {
            let all = match damage.kind {
                DamageKind::Definition => &mut of_definitions,
                _ => &mut of_bytes,
            };
            all.entry(damage.topic).or_default().push(damage);
        }
        for damage in of_bytes.values_mut() {
            damage.sort_by_key(|damage| damage.bytes.start);
        }
        Self { of_bytes, of_definitions }
    }

    /// Returns the first damage in the bytes `span` that is of `topic`, or of no topic. The
    /// span from the start of the file also has the damage of the definition of the topic.
    fn within(
        &self,
        span: &Range<u64>,
        topic: TopicId,
    ) -> impl Iterator<Item = &'o Damage> {
        let of_both = [None, Some(topic)].into_iter().flat_map(|of| {
            let damage = self.of_bytes.get(&of).map_or(&[][..], |damage| damage);
            let first = damage.partition_point(|one| one.bytes.start < span.start);
            let rest = damage.get(first..).unwrap_or_default().iter().copied();
            rest.take_while(|one| one.bytes.start < span.end).take(MAX_DAMAGE)
        });
        let mut found: Vec<&Damage> = of_both.collect();
        found.sort_by_key(|damage| damage.bytes.start);
        let is_first = span.start == 0 && span.end > 0;
        let definitions = self.of_definitions.get(&Some(topic)).filter(|_| is_first);
        let definitions = definitions.into_iter().flatten().copied();
        definitions.chain(found).take(MAX_DAMAGE)
    }
}

/// Returns where workers find the log at `path`: an absolute path, or the URL.
fn location(path: &Path) -> Result<String> {
    let absolute = match url::from_path(path) {
        Some(_) => path.to_owned(),
        None => std::path::absolute(path)?,
    };
    absolute.to_str().map(str::to_owned).ok_or_else(|| {
        let what = format!("{}: a path in a split must be UTF-8", path.display());
        Error::new(ErrorKind::Unsupported, what)
    })
}

fn size(part: &Part) -> u64 {
    part.bytes.end.saturating_sub(part.bytes.start)
}

/// Returns the share of `all` that `part` has in `whole`.
fn share(all: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(all) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(all)
}

/// Returns the times of `parts` in `selected`, in nanoseconds.
fn times(
    manifest: &Manifest,
    parts: &[Part],
    selected: TimeRange,
) -> Option<(i64, i64)> {
    let all =
        parts.iter().map(|part| part.time).reduce(|all, next| all.cover(&next))?;
    let known = match all {
        TimeRange::ALL => manifest.possible_times()?,
        known => known,
    };
    let start = known.start.max(selected.start);
    Some((start.as_nanos(), known.end.min(selected.end).max(start).as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_split_of_a_topic_has_the_damage_of_its_definition() {
        let topic = TopicId(3);
        let definition = |id| {
            Damage::new(DamageKind::Definition, 9_000..9_010).with_records(1, Some(id))
        };
        let garbled = |start| Damage::new(DamageKind::Garbled, start..start + 1);
        let mut damage = vec![definition(TopicId(2)), definition(topic)];
        damage.extend((0..100).map(|index| garbled(90 + index * 100)));
        let known = KnownDamage::new(&damage);
        let starts = |span: Range<u64>| -> Vec<u64> {
            known.within(&span, topic).map(|damage| damage.bytes.start).collect()
        };
        assert_eq!(starts(0..200), [9_000, 90, 190]);
        assert_eq!(starts(200..400), [290, 390]);
        assert_eq!(starts(0..u64::MAX).len(), MAX_DAMAGE);
        assert_eq!(starts(8_900..9_100), [8_990, 9_090]);
    }
}
