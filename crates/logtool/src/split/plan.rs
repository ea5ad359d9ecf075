//! The plan of the splits of some logs.

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
};

use logtool_core::{
    Columns, Damage, DamageKind, Manifest, Part, Selection, TimeRange, TopicId,
    TopicSet, View,
};
use logtool_velodyne::lidar::LidarOptions;
use rayon::prelude::*;

use crate::{
    dataset::inputs::{self, InputLog},
    error::{Context as _, Error, ErrorKind, Result},
    input::{
        open::{self, OpenLog},
        url,
    },
    log::PART_BYTES,
    losses::Findings,
    selection,
    session::Session,
    split::{Split, VERSION, state::SplitState, version::FileVersion},
    time::{
        clock::{ShownClock, TimeChoice},
        typed_time::TypedTime,
    },
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
    /// [`Layout::Spark`](crate::convert::Layout::Spark) describes them.
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
        lidar.utc = self.clock == TimeChoice::Utc;
        let opened = open::open_with(&log.path, session, &lidar)?;
        let file = file.with_bytes(opened.input.origin.len());
        let planned = self.plan_opened(path, file, &opened);
        let splits = planned.with_context(|| opened.input.name.clone())?;
        let losses = opened.input.findings(opened.log.manifest());
        Ok((splits, losses))
    }

    fn plan_opened(
        &self,
        path: String,
        file: FileVersion,
        opened: &OpenLog,
    ) -> Result<Vec<Split>> {
        let OpenLog { input, log } = opened;
        let manifest = log.manifest();
        let clock = ShownClock::new(manifest, self.clock)?;
        let time = clock.range(self.start, self.end)?;
        let mut topics = selection::topics(manifest, &self.topics)?;
        let all = Columns::all(self.view);
        let columns = selection::columns(&**log, &mut topics, &all, &self.columns)?;
        let planner = LogPlanner {
            path,
            file,
            opened,
            clock,
            time,
            view: self.view,
            is_for_spark: self.is_for_spark,
            damage: KnownDamage::new(&manifest.damage),
            target_bytes: match input.packing {
                // Each worker decompresses all of the file.
                Some(_) => u64::MAX,
                None => self.target_bytes,
            },
        };
        let mut splits = Vec::new();
        for (topic, parts) in planner.parts(topics) {
            let only = columns.get(&topic).and_then(|columns| columns.only.clone());
            planner.plan_topic(topic, only, &parts, &mut splits)?;
        }
        Ok(splits)
    }
}

/// Plans the splits of one log.
struct LogPlanner<'o> {
    path: String,
    file: FileVersion,
    opened: &'o OpenLog,
    clock: ShownClock,
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
    splits: &'s mut Vec<Split>,
}

impl LogPlanner<'_> {
    /// Returns the parts of the log for each of `topics`.
    fn parts(&self, topics: TopicSet) -> BTreeMap<TopicId, Vec<Part>> {
        let manifest = self.opened.log.manifest();
        let part_bytes = (self.target_bytes.min(manifest.bytes) / MAX_PARTS)
            .max(PART_BYTES)
            .min(self.target_bytes);
        manifest.plan_topics(&Selection { topics, time: self.time }, part_bytes)
    }

    fn plan_topic(
        &self,
        topic: TopicId,
        columns: Option<Vec<usize>>,
        parts: &[Part],
        splits: &mut Vec<Split>,
    ) -> Result<()> {
        let topics: TopicSet = [topic].into_iter().collect();
        let selection = Selection { topics, time: self.time };
        let bytes = parts.iter().map(size).sum();
        let mut topic = TopicSplits { topic, columns, selection, bytes, splits };
        let manifest = self.opened.log.manifest();
        let is_packed = self.opened.input.packing.is_some();
        let mut rest = parts;
        let mut start = 0;
        while !rest.is_empty() {
            let (mut sum, mut within) = (0_u64, 0);
            let fits = |part: &&Part| {
                sum = sum.saturating_add(size(part));
                within += manifest.parts_within(&part.bytes).len();
                sum <= self.target_bytes && (is_packed || within <= MAX_MANIFEST_PARTS)
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
        let is_divisible = parts.len() > 1 && self.opened.input.packing.is_none();
        if is_divisible && state.len() > MAX_PARTS_TEXT {
            let least = self.state(topic, &parts[..1], &(0..0))?.len();
            if state.len() > least + MAX_PARTS_TEXT {
                let (first, second) = parts.split_at(parts.len() / 2);
                let middle = second.first().map_or(span.end, |part| part.bytes.start);
                self.add(topic, first, span.start..middle)?;
                return self.add(topic, second, middle..span.end);
            }
        }
        let manifest = self.opened.log.manifest();
        let about = manifest.get(topic.topic)?;
        let bytes = parts.iter().map(size).sum();
        topic.splits.push(Split {
            version: VERSION,
            path: self.path.clone(),
            file: self.file.clone(),
            format: manifest.format.clone(),
            topic: about.label().into_owned(),
            bytes,
            records: about.records.map(|all| share(all, bytes, topic.bytes)),
            time: times(manifest, parts, self.time),
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
        let base = self.clock.base();
        let log = &self.opened.log;
        let excerpt = log.excerpt(&topic.selection, parts)?;
        let number = |id: TopicId| excerpt.topic(id);
        let Some(id) = number(topic.topic) else {
            return Err(Error::invalid("the format has no excerpts of the topic"));
        };
        let damage = self.damage.within(span, topic.topic);
        let damage = damage.map(|damage| Damage {
            topic: damage.topic.and_then(number),
            ..damage.clone()
        });
        let damage = damage.collect();
        let manifest = Manifest { damage, ..excerpt.manifest };
        let state = SplitState {
            topic: id,
            is_flat: self.view == View::Flat,
            columns: topic.columns.clone(),
            time: self.time,
            offset_nanos: base.offset_nanos,
            is_utc: base.is_utc,
            is_for_spark: self.is_for_spark,
            manifest,
        };
        state.encode()
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
