//! Merges several logs into one, in the order of time.

mod clock_gaps;
mod clocks;
mod input;
mod names;
mod prepared_log;
mod renames;
mod source;

use logtool_core::{
    Clock, ClockTransform, LogSlice, Manifest, MergeJob, TimeRange, TopicSet,
};
use logtool_velodyne::lidar::LidarOptions;

use crate::{
    error::{Error, Result},
    formats::{self, LogFormat},
    jobs::{
        merge::{
            clocks::UnknownClocks,
            prepared_log::{PreparedLog, prepare},
            source::MergeSource,
        },
        output::{LogOutput, OutputSummary, log_writer, provenance},
    },
    records::translate::{MessageTypes, TranslationKind},
    source::{
        losses::{Findings, Strictness},
        progress_counter::ProgressCounter,
        session::Session,
    },
    text::units::count_of,
    time::{clock::ShownClock, offset::ClockOffset, typed_time::TypedTime},
};

pub use self::input::{ClockDrift, MergeInput};

/// A request to merge several logs into one, in the order of time.
///
/// Logs of the same format become a log of it, if their clocks have the same zero.
/// Logs of several formats become an MCAP file or a bag, on Unix time if it is known:
/// logs that do not know it need an [offset](MergeInput::with_offset).
///
/// ```no_run
/// use logtool::{Session, merge::{Merge, MergeInput}};
///
/// let lidar = MergeInput::new("lidar.vel").with_offset(-2_345_000_000);
/// let report = Merge::new(["flight.ulg".into(), lidar], "all.mcap").run(&Session::new())?;
/// println!("{} records", report.output.records);
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Merge {
    inputs: Vec<MergeInput>,
    output: LogOutput,
    strictness: Strictness,
    start: Option<TypedTime>,
    end: Option<TypedTime>,
    unknown_clocks: UnknownClocks,
    has_foxglove_messages: bool,
    lidar: LidarOptions,
}

/// The result of a [`Merge`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MergeReport {
    /// The new log.
    pub output: OutputSummary,
    /// The logs that were merged, in the order of the request.
    pub logs: Vec<MergedLog>,
}

/// A log that was merged with others.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MergedLog {
    /// The name of the log.
    pub name: String,
    /// The nanoseconds that were added to its times.
    pub offset_nanos: i64,
    /// The number of its records in the new log.
    pub records: u64,
    /// Its losses and its damage.
    pub losses: Findings,
}

impl Merge {
    /// Creates a request to merge `inputs` into `output`. An input is a path or a URL, or a
    /// [`MergeInput`].
    pub fn new(
        inputs: impl IntoIterator<Item = impl Into<MergeInput>>,
        output: impl Into<LogOutput>,
    ) -> Self {
        Self {
            inputs: inputs.into_iter().map(Into::into).collect(),
            output: output.into(),
            strictness: Strictness::Tolerant,
            start: None,
            end: None,
            unknown_clocks: UnknownClocks::Refused,
            has_foxglove_messages: false,
            lidar: LidarOptions::default(),
        }
    }

    /// Sets whether losses are errors. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
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

    /// Treats the clocks of logs as equal if it is unknown whether they count from the same
    /// instant. By default, that is an error.
    pub fn with_same_clock(mut self) -> Self {
        self.unknown_clocks = UnknownClocks::Same;
        self
    }

    /// Writes the data of lidars as protocol buffers of Foxglove's types. The new log must be
    /// an MCAP file.
    pub fn with_foxglove_messages(mut self) -> Self {
        self.has_foxglove_messages = true;
        self
    }

    /// Sets how points are made of the packets of lidars.
    pub fn with_lidar_options(mut self, lidar: LidarOptions) -> Self {
        self.lidar = lidar;
        self
    }

    /// Writes the new log.
    ///
    /// # Errors
    /// `InvalidRequest` if the logs cannot be in one log of the format that the output has;
    /// others if an input is not a log, if the offset between two clocks is unknown, if the
    /// output cannot be written or is an input, or, of the kind `Damaged`, if something is
    /// lost in a strict request.
    pub fn run(&self, session: &Session) -> Result<MergeReport> {
        self.output.check_differs_from(self.inputs.iter().map(MergeInput::path))?;
        let mut sources = source::open(self, session)?;
        let format = self.format(&sources)?;
        let mut options = self.output.options(format)?;
        let offsets = self.offsets(&sources, format)?;
        clock_gaps::check(&sources, &offsets)?;
        clock_gaps::note(&sources, &offsets, session);
        let mut output = OutputSummary::new(self.output.path());
        output.input_bytes =
            sources.iter().map(|source| source.input.source.len()).sum();
        let messages = if self.has_foxglove_messages {
            MessageTypes::Foxglove
        } else if self.output.has_ros2_messages() {
            MessageTypes::Ros
        } else {
            MessageTypes::Any
        };
        let target = (format, messages);
        let mut logs = prepare(&sources, &offsets, target, &mut output, session)?;
        renames::rename(&mut logs, &sources, &offsets, self.unknown_clocks, session)?;
        let mut extracts: Vec<LogSlice<'_>> =
            logs.iter().map(PreparedLog::extract).collect();
        let time = self.time(&sources, &offsets, session)?;
        extracts.iter_mut().for_each(|extract| extract.selection.time = time);
        for (source, extract) in sources.iter().zip(&mut extracts) {
            let left_out = log_writer::remove_unsupported(format, extract);
            output.warn(session, &source.input.name, &left_out);
        }
        // A log that cannot be read at all fails before anything is written.
        for (source, (log, extract)) in sources.iter().zip(logs.iter().zip(&extracts)) {
            let parts = extract.manifest.plan(&extract.selection, 0);
            let first = parts.first();
            let readable = first.map(|part| log.log.read(part, &extract.selection));
            let readable = readable.transpose();
            readable.map_err(|error| {
                Error::from(error).with_log_name(&source.input.name)
            })?;
        }
        let new = self.output.begin(format, session)?;
        let jobs = logs.iter().zip(&extracts).map(|(log, extract)| {
            let selection = extract.selection.clone();
            MergeJob { log: &*log.log, selection }
        });
        let jobs: Vec<MergeJob<'_>> = jobs.collect();
        let topics = logs.iter().flat_map(|log| &log.log.manifest().topics);
        let records = topics.filter_map(|topic| topic.records).sum();
        let name = count_of(logs.len() as u64, "log");
        let progress = ProgressCounter::for_records(session, &name, records);
        let shifts = sources.iter().zip(&offsets);
        let shift = |(source, offset): (&MergeSource, &ClockOffset)| {
            source.drift.unwrap_or_default().shifted_by(offset.nanos)
        };
        options.shifts = shifts.map(shift).collect();
        options.changes_times = options
            .shifts
            .iter()
            .any(|shift_of_log| *shift_of_log != ClockTransform::default());
        options.validates_parts = self.strictness.is_strict();
        options.metadata =
            logs.iter().flat_map(|log| log.metadata_records.clone()).collect();
        let inputs = sources.iter().map(|source| &source.input);
        provenance::add_provenance_of(&mut options, format, inputs, session)?;
        // A strict request has to fail before the new log gets its name.
        let written = new.write(&extracts, &options, |sink| {
            let copied =
                logtool_core::merge(&jobs, sink, &|records| progress.add(records))?;
            let mut counts = Vec::new();
            for (index, (source, copied)) in sources.iter_mut().zip(copied).enumerate()
            {
                let MergeSource { findings, log, .. } = source;
                let left_out = sink.dropped_records(index);
                findings.add(log.manifest(), &TopicSet::All, left_out);
                findings.add(log.manifest(), &TopicSet::All, &copied.damage);
                findings.check(self.strictness)?;
                let lost: u64 = left_out.iter().map(|damage| damage.records).sum();
                counts.push(copied.records.saturating_sub(lost));
            }
            Ok(counts)
        });
        drop(progress);
        let (counts, written) = written?;

        output.records = counts.iter().sum();
        (output.bytes, output.remarks) = (written.bytes, written.remarks);
        if output.records == 0 && self.start.or(self.end).is_some() {
            output.warn_of_empty_selection(session, &name, &Clock::default());
        }
        let log = |(source, (offset, records)): (MergeSource, (&ClockOffset, u64))| {
            MergedLog {
                name: source.input.name,
                offset_nanos: offset.nanos,
                records,
                losses: source.findings,
            }
        };
        let logs =
            sources.into_iter().zip(offsets.iter().zip(counts)).map(log).collect();
        Ok(MergeReport { output, logs })
    }

    /// Returns the selected times on the clock of the new log.
    fn time(
        &self,
        sources: &[MergeSource],
        offsets: &[ClockOffset],
        session: &Session,
    ) -> Result<TimeRange> {
        let logs = || sources.iter().map(|source| source.log.manifest()).zip(offsets);
        let times =
            logs().filter_map(|(log, offset)| Some(log.time?.shifted_by(offset.nanos)));
        let is_unix = offsets.iter().any(|offset| offset.is_unix);
        let first = logs().next().filter(|_| !is_unix);
        let clock = first.map(|(log, _)| log.clock.clone()).unwrap_or_default();
        let time = times.reduce(|total, next| total.cover(&next));
        let merged = Manifest { clock, time, ..Manifest::default() };
        let name = count_of(sources.len() as u64, "log");
        session.warn_of_late_times(&name, &merged, self.start, self.end);
        ShownClock::from_manifest(&merged).range(self.start, self.end)
    }

    /// Returns the format of the new log: MCAP or a bag if the output is one, or else that of
    /// the logs.
    fn format(&self, sources: &[MergeSource]) -> Result<LogFormat> {
        let named = self.output.named_format();
        if let Some(format) = named.filter(|format| format.has_messages()) {
            let can_be_held = |source: &&MergeSource| {
                source
                    .format()
                    .is_some_and(|source_format| format.can_hold(source_format))
                    || TranslationKind::for_target(
                        source.log.manifest(),
                        format,
                        MessageTypes::Any,
                    )
                    .is_some()
            };
            if let Some(other) = sources.iter().find(|source| !can_be_held(source)) {
                let (name, own) =
                    (&other.input.name, formats::noun(other.log.manifest()));
                let message =
                    format!("{name} is {own}, which {} cannot hold", format.plural());
                return Err(Error::invalid(message));
            }
            return Ok(format);
        }
        for pair in sources.windows(2) {
            if let [one, other] = pair
                && one.format() != other.format()
            {
                let (a, b) = (&one.input.name, &other.input.name);
                let [first, second] =
                    [one, other].map(|source| formats::noun(source.log.manifest()));
                let message = format!("{a} is {first}, and {b} is {second}");
                let hint = "logs of several formats become one MCAP file or one bag: name \
                            the output all.mcap or all.bag";
                return Err(Error::invalid(message).with_hint(hint));
            }
        }
        let Some(first) = sources.first() else {
            return Err(Error::invalid("there are no logs to merge"));
        };
        self.output.format_for(first.log.manifest())
    }

    /// Returns the offset of each log to the clock of the new one.
    fn offsets(
        &self,
        sources: &[MergeSource],
        format: LogFormat,
    ) -> Result<Vec<ClockOffset>> {
        let has_same_format = |source: &MergeSource| source.format() == Some(format);
        let is_shifted =
            |source: &MergeSource| source.offset.is_some() || source.drift.is_some();
        if !sources.iter().any(is_shifted) && sources.iter().all(has_same_format) {
            clocks::check(sources, self.unknown_clocks)?;
            return Ok(vec![ClockOffset::default(); sources.len()]);
        }
        if !format.has_messages() {
            let noun = format.noun();
            let message = format!(
                "the times of {noun} are in its records, which are copied as they are"
            );
            let hint = "an MCAP file can have them at other times: let the name of the output end in .mcap";
            return Err(Error::invalid(message).with_hint(hint));
        }
        let offsets = clocks::offsets(sources, self.unknown_clocks)?;
        clocks::since_1970(sources, offsets)
    }
}
