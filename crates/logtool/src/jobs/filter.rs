//! Copies selected topics and times of a log.

mod mixed_types;

use std::path::PathBuf;

use logtool_core::{
    CopyJob, ErrorKind, LatchedRecord, Log as FormatLog, LogSlice, Manifest, Retime,
    Selection, TimeFromField, Topic, TopicSet, WriteOptions, copy, latched_records,
};

use crate::{
    error::{Context as _, Error, Result},
    formats::LogFormat,
    jobs::output::{LogOutput, OutputSummary, log_writer, provenance},
    records::log::Log,
    source::{
        input::open,
        lidar::calibration_loss,
        losses::{Findings, Strictness},
        progress_counter::ProgressCounter,
        selection,
        session::Session,
    },
    text::{suggest, units::count_of},
    time::{clock::ShownClock, typed_time::TypedTime},
};

/// A request to copy a part of a log into a new log of the same format, with the records as
/// they are.
///
/// ```no_run
/// use logtool::{Session, filter::Filter, time::typed_time::TypedTime};
///
/// let report = Filter::new("drive.bag", "minute.bag")
///     .with_topics(["/gps/fix", "/imu*"])
///     .with_start(TypedTime::Relative(0))
///     .with_end(TypedTime::Relative(60_000_000_000))
///     .run(&Session::new())?;
/// println!("{} records", report.output.records);
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Filter {
    input: PathBuf,
    output: LogOutput,
    strictness: Strictness,
    topics: Vec<String>,
    excluded_topics: Vec<String>,
    start: Option<TypedTime>,
    end: Option<TypedTime>,
    has_latched_records: bool,
    /// Old and new names.
    renames: Vec<(String, String)>,
    time_field: Option<String>,
}

/// The result of a [`Filter`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FilterReport {
    /// The name of the input.
    pub name: String,
    /// The new log.
    pub output: OutputSummary,
    /// The number of records from before the start that were written at the start, if the request
    /// asks for them.
    pub latched_records: u64,
    /// The losses and the damage of the selected part.
    pub losses: Findings,
}

impl Filter {
    /// Creates a request to copy all of the log `input` to `output`. `input` is a path, a
    /// URL, or `-` for standard input.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<LogOutput>) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            strictness: Strictness::Tolerant,
            topics: Vec::new(),
            excluded_topics: Vec::new(),
            start: None,
            end: None,
            has_latched_records: false,
            renames: Vec::new(),
            time_field: None,
        }
    }

    /// Sets whether losses are errors. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Selects the topics whose name or label matches one of `patterns`, in which `*` and
    /// `?` match anything. Without patterns, all topics are selected.
    pub fn with_topics(
        mut self,
        patterns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.topics.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Excludes the topics whose name or label matches one of `patterns`.
    pub fn with_excluded_topics(
        mut self,
        patterns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.excluded_topics.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Selects no records before `start`.
    pub fn with_start(mut self, start: TypedTime) -> Self {
        self.start = Some(start);
        self
    }

    /// Selects no records at `end` or later.
    pub fn with_end(mut self, end: TypedTime) -> Self {
        self.end = Some(end);
        self
    }

    /// Starts the new log with the last record of each latched connection before the start, e.g.
    /// of `/tf_static` and `/map`, at the time of the start.
    pub fn with_latched_records(mut self) -> Self {
        self.has_latched_records = true;
        self
    }

    /// Renames the topics with the name or the label `old` to `new`. In a ULog, the
    /// instance stays, unless `new` ends with a dot and a number.
    pub fn with_renamed_topic(
        mut self,
        old: impl Into<String>,
        new: impl Into<String>,
    ) -> Self {
        self.renames.push((old.into(), new.into()));
        self
    }

    /// Sets the time of each record to the value of its field `field`, e.g. `header.stamp`, instead
    /// of the time at which it was logged. Topics without this field keep their times, and so do
    /// records in which it is 0.
    pub fn with_times_of_field(mut self, field: impl Into<String>) -> Self {
        self.time_field = Some(field.into());
        self
    }

    /// Writes the new log.
    ///
    /// # Errors
    /// `NotFound` if a pattern matches no topic; others if the input is not a log, if the
    /// output cannot be written or is the input, or, of the kind `Damaged`, if something is
    /// lost in a strict request.
    pub fn run(&self, session: &Session) -> Result<FilterReport> {
        self.output.check_differs_from([&*self.input])?;
        self.copy(&Log::from_opened(open::open(&self.input, session)?), session)
    }

    /// Writes the new log, of the input opened as `source`.
    pub(crate) fn copy(&self, source: &Log, session: &Session) -> Result<FilterReport> {
        let (input, log) = (source.input(), source.format_log());
        let (name, manifest) = (&input.name, log.manifest());
        let mut losses = source.losses();
        losses.check(self.strictness)?;
        let format = self.output.format_for(manifest)?;
        let mut plan =
            FilterPlan::new(log, self, format).with_context(|| name.clone())?;
        plan.options.validates_parts = self.strictness.is_strict();
        session.warn_of_late_times(name, manifest, self.start, self.end);
        let new = self.output.begin(format, session)?;
        provenance::add_provenance_of(&mut plan.options, format, [input], session)?;

        let mut output = OutputSummary::new(self.output.path());
        output.input_bytes = input.source.len();
        let mut slice = LogSlice { manifest, selection: plan.selection.clone() };
        output.warn(session, name, &log_writer::remove_unsupported(format, &mut slice));
        let topics = &slice.selection.topics;
        let mixed = mixed_types::warnings(manifest, topics, &plan.options);
        output.warn(session, name, &mixed);
        let progress = ProgressCounter::for_bytes(session, name, manifest.bytes);
        let job = CopyJob {
            log,
            slice_index: 0,
            selection: slice.selection.clone(),
            verify: false,
            drops_doubtful: false,
            progress: &|bytes| progress.add(bytes),
        };
        let FilterPlan { selection, options, restamp, latched } = &mut plan;
        // A strict request must fail before the new log gets its name.
        let written = new.write(&[slice], options, |sink| {
            for latched in &*latched {
                sink.write(0, latched.record_at(selection.time.start))?;
            }
            let restamp = restamp.as_mut().map(|restamp| restamp as &mut dyn Retime);
            let copied = copy(&job, restamp, sink)?;
            let left_out = sink.dropped_records(0).to_vec();
            losses.add(manifest, &selection.topics, &copied.damage);
            losses.add(manifest, &selection.topics, &left_out);
            losses.check(self.strictness)?;
            Ok((copied, left_out))
        });
        drop(progress);
        let ((copied, left_out), written) =
            written.map_err(|error| error.with_log_name(name))?;

        let lost: u64 = left_out.iter().map(|damage| damage.records).sum();
        let latched_records = plan.latched.len() as u64;
        output.records = (copied.records + latched_records).saturating_sub(lost);
        output.bytes = written.bytes;
        output.remarks = written.remarks;
        if output.records == 0 && !losses.has_damage() {
            output.warn_of_empty_selection(session, name, &manifest.clock);
        }
        output.remarks.extend(plan.remarks(manifest, self));
        let new = (self.output.path(), written.bytes);
        output.remarks.extend(calibration_loss::warning(
            (name, manifest),
            new,
            session,
        ));
        Ok(FilterReport { name: name.clone(), output, latched_records, losses })
    }
}

/// The selection of a request in one log, and the options of the writer.
struct FilterPlan {
    selection: Selection,
    options: WriteOptions,
    restamp: Option<TimeFromField>,
    /// The records before the start that are written at the start.
    latched: Vec<LatchedRecord>,
}

impl FilterPlan {
    fn new(log: &dyn FormatLog, request: &Filter, format: LogFormat) -> Result<Self> {
        let manifest = log.manifest();
        let clock = ShownClock::from_manifest(manifest);
        let time = clock.range(request.start, request.end)?;
        let topics = selected_topics(manifest, request)?;
        let mut options = request.output.options(format)?;
        rename(manifest, &request.renames, &mut options)?;
        let field = request.time_field.as_deref();
        let restamp = field.map(|field| restamp(log, &topics, field)).transpose()?;
        let latched = if request.has_latched_records {
            latched_records(log, &topics, time.start)?
        } else {
            Vec::new()
        };
        options.changes_times = restamp.is_some();
        Ok(Self { selection: Selection { topics, time }, options, restamp, latched })
    }

    /// Returns remarks for users about the times of the new log.
    fn remarks(&self, manifest: &Manifest, request: &Filter) -> Vec<String> {
        let mut remarks = Vec::new();
        if request.has_latched_records {
            let records = count_of(self.latched.len() as u64, "record");
            remarks.push(format!(
                "{records} of latching connections from before the start"
            ));
        }
        let (Some(restamp), Some(field)) = (&self.restamp, &request.time_field) else {
            return remarks;
        };
        let topics = manifest.topics();
        let without =
            topics.filter(|(id, _)| restamp.topics_without_field().contains(*id));
        let without: Vec<_> = without.map(|(_, topic)| topic.label()).collect();
        if !without.is_empty() {
            let names = without.join(", ");
            remarks.push(format!("without a {field}, these keep their times: {names}"));
        }
        if restamp.unchanged_records() > 0 {
            let kept = count_of(restamp.unchanged_records(), "record");
            remarks.push(format!("{kept} without a value of {field} kept their times"));
        }
        remarks
    }
}

/// Returns the selected topics that have records in the file.
fn selected_topics(manifest: &Manifest, request: &Filter) -> Result<TopicSet> {
    let named = selection::topics(manifest, &request.topics)?;
    let excluded = if request.excluded_topics.is_empty() {
        TopicSet::EMPTY
    } else {
        selection::topics_with_derived(manifest, &request.excluded_topics)?
    };
    let selected = manifest.topics().map(|(id, _)| id);
    let selected = selected.filter(|id| named.contains(*id) && !excluded.contains(*id));
    selection::copyable_topics(manifest, &selected.collect())
}

/// Adds `renames` to `options`.
fn rename(
    manifest: &Manifest,
    renames: &[(String, String)],
    options: &mut WriteOptions,
) -> Result<()> {
    for (old, new) in renames {
        let is_old = |topic: &&Topic| topic.name == *old || topic.label() == *old;
        let topics: Vec<&Topic> = manifest.topics.iter().filter(is_old).collect();
        if topics.is_empty() {
            let names = manifest.topics.iter().map(|topic| topic.name.as_str());
            let hint = suggest::hint(old, names, "`logtool info` lists the topics");
            let message = format!("the log has no topic `{old}`");
            return Err(Error::not_found(message).with_hint(hint));
        }
        for topic in topics {
            let before = options.rename.insert(topic.label().into_owned(), new.clone());
            if before.is_some_and(|before| before != *new) {
                let error = Error::invalid_request(format!("`{old}` is renamed twice"));
                return Err(error.with_hint("each topic gets one name"));
            }
        }
    }
    Ok(())
}

fn restamp(
    log: &dyn FormatLog,
    topics: &TopicSet,
    field: &str,
) -> Result<TimeFromField> {
    TimeFromField::new(log, topics, field).map_err(|error| match error.kind() {
        ErrorKind::NoSuch => {
            let message = format!("no selected topic has a time called `{field}`");
            let hint =
                "fields are named as in the header of a CSV table, e.g. header.stamp";
            Error::not_found(message).with_hint(hint)
        }
        _ => error.into(),
    })
}
