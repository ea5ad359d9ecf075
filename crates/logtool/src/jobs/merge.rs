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
/// Logs of one format are merged into a log of that format, if their clocks count from the same
/// instant. Logs of several formats are merged into an MCAP file or a bag. Its times are Unix time
/// if it is known; logs whose Unix time is unknown need an [offset](MergeInput::with_offset).
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

    /// Sets how the packets of lidars are converted to points.
    pub fn with_lidar_options(mut self, lidar: LidarOptions) -> Self {
        self.lidar = lidar;
        self
    }

    /// Writes the new log.
    ///
    /// # Errors
    /// `InvalidRequest` if the format of the output cannot contain the logs; `Damaged` if data is
    /// lost in a strict request; other kinds if an input is not a log, if the offset between two
    /// clocks is unknown, or if the output cannot be written or is an input.
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
        let mut slices: Vec<LogSlice<'_>> =
            logs.iter().map(PreparedLog::slice).collect();
        let time_range = self.time_range(&sources, &offsets, session)?;
        for (source, slice) in sources.iter().zip(&mut slices) {
            slice.selection.time = time_range;
            let dropped = log_writer::remove_unsupported(format, slice);
            output.warn(session, &source.input.name, &dropped);
        }
        // Reads the first part of each log, so that a log that cannot be read at all is reported
        // before anything is written.
        for (source, (log, slice)) in sources.iter().zip(logs.iter().zip(&slices)) {
            if let Some(part) = slice.manifest.plan(&slice.selection, 0).first() {
                log.log.read(part, &slice.selection).map_err(|error| {
                    Error::from(error).with_log_name(&source.input.name)
                })?;
            }
        }
        let writer = self.output.begin(format, session)?;
        let jobs: Vec<MergeJob<'_>> = logs
            .iter()
            .zip(&slices)
            .map(|(log, slice)| MergeJob {
                log: &*log.log,
                selection: slice.selection.clone(),
            })
            .collect();
        let record_count = logs
            .iter()
            .flat_map(|log| &log.log.manifest().topics)
            .filter_map(|topic| topic.records)
            .sum();
        let name = count_of(logs.len() as u64, "log");
        let progress = ProgressCounter::for_records(session, &name, record_count);
        options.shifts = sources
            .iter()
            .zip(&offsets)
            .map(|(source, offset)| {
                source.drift.unwrap_or_default().shifted_by(offset.nanos)
            })
            .collect();
        options.changes_times =
            options.shifts.iter().any(|shift| *shift != ClockTransform::default());
        options.validates_parts = self.strictness.is_strict();
        options.metadata =
            logs.iter().flat_map(|log| log.metadata_records.clone()).collect();
        let inputs = sources.iter().map(|source| &source.input);
        provenance::add_provenance_of(&mut options, format, inputs, session)?;
        // A strict request has to fail before the new log gets its name.
        let result = writer.write(&slices, &options, |sink| {
            let read_reports =
                logtool_core::merge(&jobs, sink, &|records| progress.add(records))?;
            let mut record_counts = Vec::new();
            let merged_sources = sources.iter_mut().zip(read_reports);
            for (index, (source, read_report)) in merged_sources.enumerate() {
                let MergeSource { findings, log, .. } = source;
                let dropped = sink.dropped_records(index);
                findings.add(log.manifest(), &TopicSet::All, dropped);
                findings.add(log.manifest(), &TopicSet::All, &read_report.damage);
                findings.check(self.strictness)?;
                let dropped_count: u64 =
                    dropped.iter().map(|damage| damage.records).sum();
                record_counts.push(read_report.records.saturating_sub(dropped_count));
            }
            Ok(record_counts)
        });
        drop(progress);
        let (record_counts, written) = result?;

        output.records = record_counts.iter().sum();
        (output.bytes, output.remarks) = (written.bytes, written.remarks);
        if output.records == 0 && self.start.or(self.end).is_some() {
            output.warn_of_empty_selection(session, &name, &Clock::default());
        }
        let logs = sources
            .into_iter()
            .zip(offsets.iter().zip(record_counts))
            .map(|(source, (offset, records))| MergedLog {
                name: source.input.name,
                offset_nanos: offset.nanos,
                records,
                losses: source.findings,
            })
            .collect();
        Ok(MergeReport { output, logs })
    }

    /// Returns the selected time range on the clock of the new log.
    fn time_range(
        &self,
        sources: &[MergeSource],
        offsets: &[ClockOffset],
        session: &Session,
    ) -> Result<TimeRange> {
        let is_unix = offsets.iter().any(|offset| offset.is_unix);
        let clock = match sources.first() {
            Some(source) if !is_unix => source.log.manifest().clock.clone(),
            _ => Clock::default(),
        };
        let time = sources
            .iter()
            .zip(offsets)
            .filter_map(|(source, offset)| {
                Some(source.log.manifest().time?.shifted_by(offset.nanos))
            })
            .reduce(|total, range| total.cover(&range));
        let merged = Manifest { clock, time, ..Manifest::default() };
        let name = count_of(sources.len() as u64, "log");
        session.warn_of_late_times(&name, &merged, self.start, self.end);
        ShownClock::from_manifest(&merged).range(self.start, self.end)
    }

    /// Returns the format of the new log: MCAP or a bag if the output is one, or else that of
    /// the logs.
    fn format(&self, sources: &[MergeSource]) -> Result<LogFormat> {
        let output_format = self.output.named_format();
        if let Some(format) = output_format.filter(|format| format.has_messages()) {
            let can_contain = |source: &MergeSource| {
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
            if let Some(source) = sources.iter().find(|source| !can_contain(source)) {
                let name = &source.input.name;
                let source_format = formats::noun(source.log.manifest());
                let message = format!(
                    "{name} is {source_format}, which {} cannot hold",
                    format.plural()
                );
                return Err(Error::invalid_request(message));
            }
            return Ok(format);
        }
        for pair in sources.windows(2) {
            if let [first, second] = pair
                && first.format() != second.format()
            {
                let (first_name, second_name) = (&first.input.name, &second.input.name);
                let [first_format, second_format] =
                    [first, second].map(|source| formats::noun(source.log.manifest()));
                let message = format!(
                    "{first_name} is {first_format}, and {second_name} is {second_format}"
                );
                let hint = "logs of several formats become one MCAP file or one bag: name \
                            the output all.mcap or all.bag";
                return Err(Error::invalid_request(message).with_hint(hint));
            }
        }
        let Some(first) = sources.first() else {
            return Err(Error::invalid_request("there are no logs to merge"));
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
        let is_corrected =
            |source: &MergeSource| source.offset.is_some() || source.drift.is_some();
        if !sources.iter().any(is_corrected) && sources.iter().all(has_same_format) {
            clocks::check(sources, self.unknown_clocks)?;
            return Ok(vec![ClockOffset::default(); sources.len()]);
        }
        if !format.has_messages() {
            let noun = format.noun();
            let message = format!(
                "the times of {noun} are in its records, which are copied as they are"
            );
            let hint = "an MCAP file can have them at other times: let the name of the output end in .mcap";
            return Err(Error::invalid_request(message).with_hint(hint));
        }
        let offsets = clocks::offsets(sources, self.unknown_clocks)?;
        clocks::since_1970(sources, offsets)
    }
}
