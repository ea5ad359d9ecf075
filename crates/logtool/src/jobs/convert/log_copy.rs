//! The conversion of a log to a log of another format.

use std::{path::Path, sync::Arc};

use logtool_core::{
    ClockFit, ClockZero, CopyJob, Damage, Log, LogSlice, RecordSink, Selection,
    TopicSet, WriteOptions, copy,
};

use logtool_rosmsg::Encoding;

use crate::{
    error::{Error, Result},
    formats::LogFormat,
    jobs::{
        convert::{
            Convert, ConvertRequest, Destination, OutputFormat, RequestConflict,
            report::{ConvertReport, OutputFile},
            ulog_tables,
        },
        output::{
            log_writer::{self, LogWriter},
            overwrite_guard, provenance,
        },
    },
    records::translate::{Frames, MessageTypes, TranslationKind},
    source::{
        input::{Input, open},
        lidar::{self, calibration_loss},
        progress_counter::ProgressCounter,
        selection,
        session::Session,
    },
    time::{
        clock::{self, ShownClock},
        offset::ClockOffset,
        repaired_times::RepairedTimes,
    },
};

/// Writes the records of the input of `convert` to a new log.
pub(super) fn run(convert: &Convert, session: &Session) -> Result<ConvertReport> {
    let Convert { input: path, destination, request, existing, strictness } = convert;
    let (input, log) = open(path, request, session)?;
    let (name, manifest) = (&input.name, log.manifest());
    let extension = request.format.log_format().map_or("log", LogFormat::extension);
    let new_path = match destination {
        Destination::File(file) => file.clone(),
        Destination::Folder(folder) => {
            let stem = open::stem_of(&input)?;
            folder.join(format!("{stem}.{extension}"))
        }
        Destination::Stdout => return Err(RequestConflict::FileOnStdout.into()),
    };
    if request.format == OutputFormat::Ulog && ulog_tables::is_needed(manifest) {
        return ulog_tables::write(convert, new_path, (&input, &log), session);
    }
    overwrite_guard::refuse(&new_path, [&**path])?;
    let mut losses = input.findings(manifest);
    losses.check(*strictness)?;

    let mut copy = LogCopy::new(&input, &log, request)?;
    request.messages.check(&[copy.translation])?;
    copy.options.validates_parts = strictness.is_strict();
    provenance::add_provenance_of(&mut copy.options, copy.format, [&input], session)?;
    session.warn_of_late_times(name, manifest, request.start, request.end);
    // The user may interrupt a long conversion after a warning.
    copy.warnings.iter().for_each(|warning| session.warn(name, warning));
    copy.remarks.iter().for_each(|remark| session.note(name, remark));
    let new = LogWriter::new(&new_path, copy.format, *existing, session)?;
    let counter = ProgressCounter::for_bytes(session, name, manifest.bytes);
    let progress = |bytes| counter.add(bytes);
    // A strict request fails before the new log has its name.
    let written = new.write(&[copy.slice()], &copy.options, |sink| {
        let (records, damage) = copy.write(sink, &progress)?;
        losses.add(manifest, &copy.topics, &damage);
        losses.check(*strictness)?;
        Ok(records)
    });
    drop(counter);
    let (records, written) = written.map_err(|err| err.with_log_name(name))?;

    let mut report = ConvertReport::new(name, input.source.len(), losses);
    report.records = records;
    if records == 0 && !report.losses.has_damage() {
        report.empty_reason = Some(clock::empty_selection(&manifest.clock));
    }
    report.remarks = written.remarks;
    let new = (&*new_path, written.bytes);
    report.remarks.extend(calibration_loss::warning((name, manifest), new, session));
    report.files = vec![OutputFile { path: new_path, bytes: written.bytes }];
    if copy.translation.is_some_and(TranslationKind::is_lidar) {
        report.lidar = lidar::warnings(manifest, &copy.topics);
    }
    report.has_ros1_messages = report.records > 0 && copy.has_ros1_messages();
    (report.warnings, report.notes) = (copy.warnings, copy.remarks);
    Ok(report)
}

/// Opens the log `input`, whose records are to be copied.
///
/// # Errors
/// If the input cannot be read.
pub(crate) fn open(
    input: &Path,
    request: &ConvertRequest,
    session: &Session,
) -> Result<(Input, Arc<dyn Log>)> {
    let mut lidar = request.lidar.clone();
    // The records of a new log have UTC times, whatever clock selects them.
    lidar.utc = true;
    let opened = match request.format {
        OutputFormat::Pcap | OutputFormat::Vel => {
            open::open_to_copy_packets(input, session, &lidar)?
        }
        _ => open::open_to_copy(input, session, &lidar)?,
    };
    Ok((opened.input, opened.log.into()))
}

/// A log that is ready to be written as another.
pub(crate) struct LogCopy {
    /// The topics of the log that are read.
    pub(crate) topics: TopicSet,
    /// The format of the new log.
    pub(crate) format: LogFormat,
    /// The options of the writer of the new log.
    pub(crate) options: WriteOptions,
    /// Remarks about the new log, one sentence each.
    pub(crate) remarks: Vec<String>,
    /// Warnings about data that the new log cannot hold, one sentence each.
    pub(crate) warnings: Vec<String>,
    /// The kind of translation of the messages, if they are translated.
    pub(crate) translation: Option<TranslationKind>,
    /// The log with the records as they will be written.
    translated: Arc<dyn Log>,
    /// The records of `translated` that will be written.
    selection: Selection,
}

impl LogCopy {
    /// Prepares the conversion of `log`, which is `input`, for `request`.
    ///
    /// # Errors
    /// `NotFound` if the log has nothing that was selected; others if the new log cannot have
    /// the format.
    pub(crate) fn new(
        input: &Input,
        log: &Arc<dyn Log>,
        request: &ConvertRequest,
    ) -> Result<Self> {
        let manifest = log.manifest();
        let clock = ShownClock::new(manifest, request.clock())?;
        let time = clock.range(request.start, request.end)?;
        let Some(format) = request.format.log_format() else {
            let message = format!("{} is not a format of logs", request.format.name());
            return Err(Error::invalid_request(message));
        };
        if format == LogFormat::Ulog && ulog_tables::is_needed(manifest) {
            return Err(ulog_tables::refuse_in_dataset(manifest));
        }
        let translation =
            TranslationKind::for_target(manifest, format, request.messages);
        let mut topics = match translation.filter(|_| request.topics.is_empty()) {
            Some(translation) => translation.all_topics(manifest),
            None => selection::topics(manifest, &request.topics)?,
        };
        // The packets in messages of ROS are topics of their own.
        let source_format = LogFormat::from_manifest(manifest);
        let is_of_ros = source_format.is_some_and(LogFormat::has_messages);
        let is_vel = request.format == OutputFormat::Vel;
        if request.format == OutputFormat::Pcap || is_vel && is_of_ros {
            topics = selection::packet_topics(manifest, &topics)?;
        } else if translation.is_none_or(TranslationKind::is_one_to_one) {
            topics = selection::copyable_topics(manifest, &topics)?;
        }
        if request.lidar.calibration.is_some() {
            lidar::check_selected(manifest, &topics)?;
        }
        let mut options = WriteOptions::default();
        options.compression = log_writer::compression(request.compression, format)?;
        options.payload_encoding =
            (request.messages == MessageTypes::Ros).then(|| "cdr".to_owned());
        let (mut remarks, mut warnings) = (Vec::new(), Vec::new());
        let (translated, selection) = match translation {
            Some(translation) => {
                let offset = ClockOffset::from_clock(&manifest.clock);
                let wanted = Selection { topics: topics.clone(), time };
                let frames = Frames::default();
                let prepared =
                    translation.prepare(log.clone(), &wanted, offset, &frames)?;
                (remarks, warnings) = (prepared.remarks, prepared.warnings);
                remarks.extend(translation.dropped_metadata(manifest, format));
                if !offset.is_unix {
                    let zero = clock::describe_zero(&manifest.clock);
                    remarks.push(format!(
                        "times count from {zero}: the log has no UTC reference"
                    ));
                }
                if manifest.clock.zero == ClockZero::Unix {
                    let fit = manifest.clock.to_unix.as_ref();
                    let source =
                        |fit: &ClockFit| format!(", as {} give UTC", fit.source);
                    let source = fit.map(source).unwrap_or_default();
                    remarks.extend(
                        offset.description().map(|change| format!("{change}{source}")),
                    );
                }
                options.metadata =
                    translation.metadata_records(manifest, input.file_name());
                let time = time.shifted_by(offset.nanos);
                (prepared.log, Selection { time, ..Selection::default() })
            }
            None => {
                let mut log = log.clone();
                if is_of_ros && source_format != Some(format) {
                    let usable = RepairedTimes::new(log)?;
                    log = usable.log;
                    warnings.extend(usable.warning);
                }
                (log, Selection { topics: topics.clone(), time })
            }
        };
        let mut slice = LogSlice { manifest: translated.manifest(), selection };
        warnings.extend(log_writer::remove_unsupported(format, &mut slice));
        let selection = slice.selection;
        Ok(Self {
            topics,
            format,
            options,
            remarks,
            warnings,
            translation,
            translated,
            selection,
        })
    }

    /// Returns whether the new log is an MCAP file with messages of ROS 1.
    fn has_ros1_messages(&self) -> bool {
        let is_translated = self.options.payload_encoding.is_some();
        let topics = self.translated.manifest().topics();
        let mut selected = topics.filter(|(id, _)| self.selection.topics.contains(*id));
        self.format == LogFormat::Mcap
            && !is_translated
            && selected.any(|(_, topic)| topic.encoding == Encoding::Ros1.name())
    }

    /// Returns the source log and the selection of records for the new log.
    pub(crate) fn slice(&self) -> LogSlice<'_> {
        let (manifest, selection) =
            (self.translated.manifest(), self.selection.clone());
        LogSlice { manifest, selection }
    }

    /// Writes the records to `sink`. Returns the number of records that it
    /// accepted, and the damage, which includes dropped records.
    ///
    /// # Errors
    /// If the log cannot be read, or the sink cannot be written.
    pub(crate) fn write(
        &self,
        sink: &mut dyn RecordSink,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<(u64, Vec<Damage>)> {
        let job = CopyJob {
            log: &*self.translated,
            slice_index: 0,
            selection: self.selection.clone(),
            verify: false,
            drops_doubtful: false,
            progress,
        };
        let copied = copy(&job, None, sink)?;
        let dropped = sink.dropped_records(0);
        let lost = dropped.iter().map(|damage| damage.records).sum();
        let damage = [&copied.damage, dropped].concat();
        Ok((copied.records.saturating_sub(lost), damage))
    }
}
