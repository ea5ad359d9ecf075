//! The plan of the splits of some logs.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use logtool_core::{
    Columns, Log, Selection, TimeBase, TimeRange, TopicId, TopicSet, View,
};
use logtool_velodyne::lidar::LidarOptions;
use rayon::prelude::*;

use crate::{
    dataset::inputs::{self, InputLog},
    error::{Context as _, Error, ErrorKind, Result},
    formats::LogFormat,
    records::translate::{Frames, MessageTypes, TranslationKind},
    source::{
        input::{
            Input,
            open::{self, OpenLog},
            url,
        },
        losses::Findings,
        selection,
        session::Session,
    },
    split::{
        Split,
        known_damage::KnownDamage,
        log_planner::LogPlanner,
        messages::{self, PlannedMessages},
        version::FileVersion,
    },
    time::{
        clock::{ShownClock, TimeChoice},
        offset::ClockOffset,
        repaired_times::RepairedTimes,
        typed_time::TypedTime,
    },
};

/// The default of [`PlanRequest::with_target_bytes`]: 64 MiB.
pub const DEFAULT_TARGET_BYTES: u64 = 64 << 20;

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
    has_spark_types: bool,
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
            has_spark_types: false,
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
    /// [`TableLayout::Spark`](crate::jobs::convert::TableLayout::Spark) describes them.
    pub fn with_spark_types(mut self) -> Self {
        self.has_spark_types = true;
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
    /// log, and times are those of the new log, in UTC if the log has a UTC reference.
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
        let inputs = inputs::find(&self.inputs, Path::new(""), session)?;
        inputs.check()?;
        let mut plan = Plan::default();
        for (path, err) in inputs.failed {
            let name = path.display().to_string();
            plan.failed.push((name.clone(), err.cannot_open(name)));
        }
        let session = match inputs.logs.len() {
            0 | 1 => session.clone(),
            _ => session.for_concurrent_logs(),
        };
        let planned: Vec<_> =
            inputs.logs.par_iter().map(|log| self.plan_log(log, &session)).collect();
        let mut missing = None;
        let mut has_topic = false;
        for (log, planned) in inputs.logs.iter().zip(planned) {
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
        let all_columns = Columns::new(self.view);
        let columns =
            selection::columns(log, &mut topics, &all_columns, &self.columns)?;
        let planner = self.planner(file, input, log, (clock.base(), time));
        let mut splits = Vec::new();
        for (topic, parts) in planner.parts(topics) {
            let indices =
                columns.get(&topic).and_then(|columns| columns.indices.clone());
            planner.plan_topic((topic, None), indices, &parts, &mut splits)?;
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
            let message = format!(
                "its records are not translated for {}, so they have no splits of messages",
                format.extension()
            );
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(error.with_hint("plan splits of its own tables"));
        };
        if format == LogFormat::Mcap && types == MessageTypes::Ros {
            let message = "splits have no messages in CDR";
            let hint = "plan messages of ROS 1, as in a bag, or convert the log";
            return Err(Error::new(ErrorKind::Unsupported, message).with_hint(hint));
        }
        types.check(&[Some(kind)])?;
        let time =
            ShownClock::new(manifest, self.clock)?.range(self.start, self.end)?;
        let mut topics = match self.topics.is_empty() {
            true => kind.all_topics(manifest),
            false => selection::topics(manifest, &self.topics)?,
        };
        if kind.is_one_to_one() {
            topics = selection::copyable_topics(manifest, &topics)?;
        }
        kind.check_independence(manifest, &topics)?;
        let usable = RepairedTimes::new(Arc::clone(log))?.usable;
        let offset = ClockOffset::from_clock(&manifest.clock);
        let selection = Selection { topics: topics.clone(), time };
        let frames = Frames::default();
        let translated =
            kind.translate(Arc::clone(log), &selection, offset, &frames, None)?;
        translated.warnings.iter().for_each(|text| session.warn(&input.name, text));
        translated.remarks.iter().for_each(|text| session.note(&input.name, text));
        let mut selected = TopicSet::All;
        let all_columns = Columns::new(self.view);
        let columns = selection::columns(
            &*translated.log,
            &mut selected,
            &all_columns,
            &self.columns,
        )?;
        let new_manifest = translated.log.manifest();
        let base = ShownClock::new(new_manifest, self.clock)?.base();
        let planner = self.planner(file, input, &**log, (base, time));
        let parts = planner.parts(topics);
        let mut splits = Vec::new();
        let mut counts = BTreeMap::new();
        for ((id, topic_info), source) in new_manifest.topics().zip(translated.sources)
        {
            let index: &mut u32 = counts.entry(source.topic).or_default();
            let topic = (TopicId(*index), topic_info);
            *index += 1;
            let Some(parts) = parts.get(&source.topic) else { continue };
            if !selected.contains(id) {
                continue;
            }
            if let Some(usable) = usable {
                messages::check_times(manifest, source, usable)?;
            }
            let indices = columns.get(&id).and_then(|columns| columns.indices.clone());
            let messages = PlannedMessages::new(&**log, kind, topic, source, time)?;
            let topic = (source.topic, Some(messages));
            planner.plan_topic(topic, indices, parts, &mut splits)?;
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
        let is_packed = input.compression.is_some();
        LogPlanner {
            path,
            file,
            log,
            is_packed,
            base,
            time,
            view: self.view,
            has_spark_types: self.has_spark_types,
            damage: KnownDamage::new(&log.manifest().damage),
            // Each worker decompresses all of a packed file.
            target_bytes: if is_packed { u64::MAX } else { self.target_bytes },
        }
    }
}

/// Returns where workers find the log at `path`: an absolute path, or the URL.
fn location(path: &Path) -> Result<String> {
    let absolute = match url::from_path(path) {
        Some(_) => path.to_owned(),
        None => std::path::absolute(path)?,
    };
    absolute.to_str().map(str::to_owned).ok_or_else(|| {
        let message = format!("{}: a path in a split must be UTF-8", path.display());
        Error::new(ErrorKind::Unsupported, message)
    })
}
