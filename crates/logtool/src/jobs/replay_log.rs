//! Writes the part of a ULog that PX4 needs to replay the estimator.

mod topics;

use std::path::PathBuf;

use logtool_core::{MetadataKey, Topic, Value};
use logtool_ulog::topic_names;

use crate::{
    error::{Context as _, Error, Result},
    formats::{self, LogFormat},
    jobs::{
        filter::Filter,
        output::{LogOutput, OutputSummary, log_writer},
        replay_log::topics::{
            IMU, NOT_USED, Requirement, TIMESTAMPS, TOPICS, USED_TIMES,
        },
    },
    records::{log::Log, number_table::NumberTable},
    source::{
        input::open,
        losses::{Findings, Strictness},
        session::Session,
    },
    text::units::count_of,
};

/// The information that names the replayed log, in a log of a replay.
const REPLAY: &str = "replay";

/// A used time and the time of its record differ by at most this, because used times have steps of
/// 0.1 ms.
const STEP_NANOS: i64 = 150_000;

/// A request to copy the topics, the parameters and the changes of parameters that PX4 needs to
/// replay EKF2.
///
/// ```no_run
/// use logtool::{Session, replay_log::ReplayLog};
///
/// let report = ReplayLog::new("flight.ulg", "replay.ulg").run(&Session::new())?;
/// for problem in &report.problems {
///     println!("{problem}");
/// }
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ReplayLog {
    input: PathBuf,
    output: LogOutput,
    strictness: Strictness,
}

/// The result of a [`ReplayLog`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReplayLogReport {
    /// The name of the input.
    pub name: String,
    /// The new log.
    pub output: OutputSummary,
    /// The labels of the copied topics.
    pub topics: Vec<String>,
    /// The parts that a replay needs and the log does not have, and what makes a replay differ from
    /// the flight, a sentence each.
    pub problems: Vec<String>,
    /// The losses and the damage of the copied part.
    pub losses: Findings,
}

impl ReplayLog {
    /// Creates a request to write the part of the ULog `input` to `output`. `input` is a path, a
    /// URL, or `-` for standard input.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<LogOutput>) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            strictness: Strictness::Tolerant,
        }
    }

    /// Sets whether losses are errors. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Writes the new log.
    ///
    /// # Errors
    /// `NotFound` if the log has no records of the IMU, which drive a replay; others if the
    /// input is not a ULog, if the output cannot be written or is the input, or if something is
    /// lost in a strict request.
    pub fn run(&self, session: &Session) -> Result<ReplayLogReport> {
        self.output.check_differs_from([&*self.input])?;
        log_writer::check_ulog_name(self.output.path(), "the log for a replay")?;
        let log = Log::from_opened(open::open(&self.input, session)?);
        let name = log.name().to_owned();
        let (wanted, problems) = prepare(&log).with_context(|| name.clone())?;
        let output = self.output.clone().with_format(LogFormat::Ulog);
        let labels = wanted.iter().map(|topic| topic.label().into_owned());
        let topics: Vec<String> = labels.collect();
        let built_in = [topic_names::DROPOUTS, topic_names::PARAMETER_CHANGES];
        // A name without an instance selects all instances of a topic.
        let others = log.topics().iter().filter(|topic| {
            let is_same = |wanted: &&&Topic| wanted.name == topic.name;
            wanted.iter().any(|wanted| is_same(&wanted))
                && !topics.contains(&topic.label().into_owned())
        });
        let others = others.map(|topic| topic.label().into_owned());
        let copied = Filter::new(&self.input, output)
            .with_strictness(self.strictness)
            .with_topics(&topics)
            .with_topics(built_in)
            .with_excluded_topics(others)
            .copy(&log, session)?;
        Ok(ReplayLogReport {
            name: copied.name,
            output: copied.output,
            topics,
            problems,
            losses: copied.losses,
        })
    }
}

/// Returns the topics of `log` that are replayed, and problems.
fn prepare(log: &Log) -> Result<(Vec<&Topic>, Vec<String>)> {
    let format = LogFormat::from_manifest(log.manifest());
    formats::require_ulog(format, "can be replayed by PX4")?;
    let has_records = |topic: &&Topic| topic.records.is_none_or(|records| records > 0);
    let wanted = log.topics().iter().filter(has_records).filter(|topic| {
        let is_match = |replayed: &topics::ReplayTopic| {
            replayed.name == topic.name
                && (replayed.has_instances || topic.instance == 0)
        };
        TOPICS.iter().any(is_match)
    });
    let wanted: Vec<&Topic> = wanted.collect();
    let has = |name: &str| wanted.iter().any(|topic| topic.name == name);
    if !has(IMU) {
        let message = format!("the log has no records of {IMU}, which drive a replay");
        let hint = "PX4 logs them if bit 1 of SDLOG_PROFILE is set, and from boot on if \
                    SDLOG_MODE is 1";
        return Err(Error::not_found(message).with_hint(hint));
    }
    let mut problems = Vec::new();
    for topic in &TOPICS {
        if has(topic.name) {
            continue;
        }
        let is_missing = match topic.requirement {
            Requirement::Always => true,
            Requirement::IfPresent => false,
            Requirement::UnlessInImu(field) => {
                log.table(IMU)?.with_flat_columns().schema()?.index_of(field).is_err()
            }
        };
        match topic.name {
            TIMESTAMPS => problems.push(format!(
                "missing: {TIMESTAMPS}. PX4 then publishes records at approximate times"
            )),
            name if is_missing => problems.push(format!("missing: {name}")),
            _ => {}
        }
    }
    problems.extend(unlogged_inputs(log, &wanted)?);
    problems.extend(settings(log));
    Ok((wanted, problems))
}

/// Compares the records that EKF2 used with those in the log.
fn unlogged_inputs(log: &Log, wanted: &[&Topic]) -> Result<Vec<String>> {
    let fields = USED_TIMES.map(|(field, _)| field);
    let Some(used) = NumberTable::read(log, TIMESTAMPS, &fields)? else {
        return Ok(Vec::new());
    };
    let mut problems = Vec::new();
    let mut compare = |names: &[&str], mut times: Vec<i64>| -> Result<()> {
        times.sort_unstable();
        times.dedup();
        let mut logged = Vec::new();
        let topics = wanted.iter().filter(|topic| names.contains(&&*topic.name));
        for topic in topics {
            // The times alone are wanted, which come with any column.
            let schema = log.table(&topic.label())?.with_flat_columns().schema()?;
            let column = schema.fields().get(1).map(|field| field.name().clone());
            let column = column.unwrap_or_default();
            let table = NumberTable::read(log, &topic.label(), &[&column])?;
            logged.extend(table.into_iter().flat_map(|table| table.times));
        }
        logged.sort_unstable();
        let is_logged = |time: &&i64| {
            let index =
                logged.partition_point(|logged_time| *logged_time < *time - STEP_NANOS);
            logged
                .get(index)
                .is_some_and(|logged_time| *logged_time <= *time + STEP_NANOS)
        };
        let found = times.iter().filter(is_logged).count();
        let lost = times.len() - found;
        // The first records may be older than the log.
        if lost > 1 + times.len() / 100 {
            let name = names.first().copied().unwrap_or_default();
            let total = count_of(times.len() as u64, "record");
            problems.push(format!(
                "{name}: {lost} of {total} that EKF2 used are not in the log: it was not \
                 logged at full rate, or records are lost"
            ));
        }
        Ok(())
    };
    for (field, names) in USED_TIMES {
        let offsets = used.column(field).unwrap_or_default();
        let rows = used.times.iter().zip(offsets);
        let rows =
            rows.filter(|(_, offset)| offset.is_finite() && **offset != NOT_USED);
        let time = |(time, offset): (&i64, &f64)| {
            time.saturating_add(*offset as i64 * 100_000)
        };
        compare(names, rows.map(time).collect())?;
    }
    compare(&[IMU], used.times.clone())?;
    Ok(problems)
}

/// Returns the settings of the vehicle that make a replay differ from the flight.
fn settings(log: &Log) -> Vec<String> {
    let manifest = log.manifest();
    let map = |key: MetadataKey| match manifest.file_metadata(key) {
        Some(Value::Map(values)) => Some(values),
        _ => None,
    };
    let mut problems = Vec::new();
    let parameters = map(MetadataKey::Parameters);
    if parameters.is_none_or(|parameters| parameters.is_empty()) {
        problems.push("missing: parameters. PX4 then uses its defaults".to_owned());
    }
    // 1 logs from boot until disarming, and 2 from boot until shutdown (PX4, logger/module.yaml).
    let mode = parameters.and_then(|parameters| parameters.get("SDLOG_MODE"));
    if let Some(Value::Int(mode)) = mode
        && !matches!(mode, 1 | 2)
    {
        problems.push(format!(
            "SDLOG_MODE is {mode}, so that the log does not start at boot, and EKF2 does not start \
             as in the flight. 1 logs from boot on"
        ));
    }
    let is_second = |topic: &&Topic| {
        topic.name == "estimator_status"
            && topic.instance > 0
            && topic.records.is_some_and(|records| records > 0)
    };
    let instances = manifest.topics.iter().filter(is_second).count();
    if instances > 0 {
        problems.push(format!(
            "EKF2 ran with {} instances, and PX4 replays only one (EKF2_MULTI_IMU)",
            instances + 1
        ));
    }
    if let Some(Value::UInt(count @ 1..)) =
        map(MetadataKey::Dropouts).and_then(|dropouts| dropouts.get("count"))
    {
        problems.push(format!(
            "{}, whose records are missing",
            count_of(*count, "dropout")
        ));
    }
    if map(MetadataKey::Info).is_some_and(|info| info.contains_key(REPLAY)) {
        problems.push("the log is itself that of a replay".to_owned());
    }
    problems
}
