//! The plan of the splits of some logs.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use logtool_core::{
    Columns, Damage, Manifest, Part, Selection, TimeRange, TopicId, TopicSet, View,
};
use logtool_velodyne::lidar::LidarOptions;
use rayon::prelude::*;

use crate::{
    dataset::inputs::{self, InputLog},
    error::{Context as _, Error, ErrorKind, Result},
    input::{
        open::{self, Opened},
        url,
    },
    log::PART_BYTES,
    losses::Findings,
    selection,
    session::Session,
    split::{Split, VERSION, state::SplitState, version::FileVersion},
    time::{
        clock::{ShownClock, TimeChoice},
        typed::TypedTime,
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
        let file = FileVersion::of(&path, session)?;
        let mut lidar = self.lidar.clone();
        lidar.utc = self.clock == TimeChoice::Utc;
        let opened = open::open_with(&log.path, session, &lidar)?;
        let file = file.with_bytes(opened.input.origin.len());
        let planned = self.plan_opened(path, file, &opened);
        let splits = planned.with_context(|| opened.input.name.clone())?;
        let losses = Findings::of(&opened.input, opened.log.manifest());
        Ok((splits, losses))
    }

    fn plan_opened(
        &self,
        path: String,
        file: FileVersion,
        opened: &Opened,
    ) -> Result<Vec<Split>> {
        let Opened { input, log } = opened;
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
            target_bytes: match input.packing {
                // Each worker decompresses all of the file.
                Some(_) => u64::MAX,
                None => self.target_bytes,
            },
        };
        let mut splits = Vec::new();
        for topic in topics.ids(manifest.topics.len()) {
            let only = columns.get(&topic).and_then(|columns| columns.only.clone());
            planner.plan_topic(topic, only, &mut splits)?;
        }
        Ok(splits)
    }
}

/// Plans the splits of one log.
struct LogPlanner<'o> {
    path: String,
    file: FileVersion,
    opened: &'o Opened,
    clock: ShownClock,
    time: TimeRange,
    view: View,
    is_for_spark: bool,
    target_bytes: u64,
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
    fn plan_topic(
        &self,
        topic: TopicId,
        columns: Option<Vec<usize>>,
        splits: &mut Vec<Split>,
    ) -> Result<()> {
        let manifest = self.opened.log.manifest();
        let topics: TopicSet = [topic].into_iter().collect();
        let selection = Selection { topics, time: self.time };
        let part_bytes = (self.target_bytes.min(manifest.bytes) / MAX_PARTS)
            .max(PART_BYTES)
            .min(self.target_bytes);
        let parts = manifest.plan(&selection, part_bytes);
        let bytes = parts.iter().map(size).sum();
        let mut topic = TopicSplits { topic, columns, selection, bytes, splits };
        let mut rest = &parts[..];
        let mut start = 0;
        while !rest.is_empty() {
            let mut sum = 0_u64;
            let fits = |part: &&Part| {
                sum = sum.saturating_add(size(part));
                sum <= self.target_bytes
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
            file: self.file,
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
        let mut manifest = log.excerpt(&topic.selection, parts)?;
        let is_reported = |damage: &&Damage| {
            span.contains(&damage.bytes.start)
                && damage.topic.is_none_or(|of| of == topic.topic)
        };
        let damage = log.manifest().damage.iter().filter(is_reported);
        manifest.damage = damage.take(MAX_DAMAGE).cloned().collect();
        let state = SplitState {
            topic: topic.topic,
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

/// Returns where workers find the log at `path`: an absolute path, or the URL.
fn location(path: &Path) -> Result<String> {
    let absolute = match url::of(path) {
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
