//! Recovers the readable records of damaged logs.

mod undecodable_records;

use std::path::PathBuf;

use logtool_core::{CopyJob, LogSlice, Selection, Severity, TopicSet, copy};

use crate::{
    error::{Context as _, Error, Result},
    jobs::{
        check::{self, CheckReport},
        output::{LogOutput, OutputSummary, log_writer, provenance},
        repair::undecodable_records::UndecodableRecords,
    },
    source::{
        input::{STDIN, open},
        losses::{Findings, Strictness, topic_loss::TopicLoss},
        progress_counter::ProgressCounter,
        session::Session,
    },
    text::units::count_of,
    time::clock::ShownClock,
};

/// A request to write the readable records of a damaged log into a sound log.
///
/// Damaged bytes are skipped, and everything before and after them is kept. Parts without
/// damage are copied unchanged, and others record by record. Records that cannot be decoded
/// are kept and counted. The new log is checked.
///
/// ```no_run
/// use logtool::{Session, repair::Repair};
///
/// let report = Repair::new("drive.bag.active", "drive.bag").run(&Session::new())?;
/// println!("{} records were written", report.output.records);
/// for loss in &report.topic_losses {
///     println!("{:?} lost {} records", loss.topic, loss.records);
/// }
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Repair {
    input: PathBuf,
    output: LogOutput,
    strictness: Strictness,
    drops_doubtful: bool,
}

/// The result of a [`Repair`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RepairReport {
    /// The name of the damaged log.
    pub name: String,
    /// The name of its format.
    pub format: String,
    /// The new log.
    pub output: OutputSummary,
    /// The number of records that were read and passed to the new log, which may not be able to
    /// hold all of them.
    pub copied_records: u64,
    /// The number of these records in parts that were copied unchanged.
    pub records_in_unchanged_parts: u64,
    /// The number of these records that do not match their schemas. They are kept unchanged.
    pub undecodable_records: u64,
    /// The number of records in chunks with a wrong checksum. They are kept, unless the
    /// request excludes them.
    pub doubtful_records: u64,
    /// The losses and the damage, by position in the file.
    pub losses: Findings,
    /// The losses of each topic.
    pub topic_losses: Vec<TopicLoss>,
    /// The result of a check of the new log.
    pub check: CheckReport,
    /// The clock of the damaged log, which writes the times of losses as text.
    pub clock: ShownClock,
}

impl Repair {
    /// Creates a request to write the readable records of `input` to `output`. `input` is a path, a
    /// URL, or `-` for standard input.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<LogOutput>) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            strictness: Strictness::Tolerant,
            drops_doubtful: false,
        }
    }

    /// Sets whether losses are errors. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Drops the records of chunks with a wrong checksum.
    pub fn without_doubtful_records(mut self) -> Self {
        self.drops_doubtful = true;
        self
    }

    /// Writes the new log and checks it.
    ///
    /// # Errors
    /// If the input is not a log, if the output cannot be written or is the input, or, of
    /// the kind `Damaged`, if something is lost in a strict request.
    pub fn run(&self, session: &Session) -> Result<RepairReport> {
        self.output.check_differs_from([&*self.input])?;
        if self.output.path().as_os_str() == STDIN {
            let message = "a repaired log cannot be written to standard output: it is read \
                        again to be checked";
            return Err(
                Error::invalid_request(message).with_hint("name a file with -o")
            );
        }
        let opened = open::open(&self.input, session)?;
        let (name, manifest) = (&opened.input.name, opened.log.manifest());
        let mut losses = opened.input.findings(manifest);
        losses.check(self.strictness)?;
        let format = self.output.format_for(manifest)?;
        let mut options = self.output.options(format)?;
        options.is_repair = true;
        let new = self.output.begin(format, session)?;

        let mut output = OutputSummary::new(self.output.path());
        output.input_bytes = opened.input.source.len();
        let topics = manifest.logged_topics();
        let selection = Selection { topics, ..Selection::default() };
        let mut slice = LogSlice { manifest, selection };
        output.warn(session, name, &log_writer::remove_unsupported(format, &mut slice));
        let progress = ProgressCounter::for_bytes(session, name, manifest.bytes);
        let job = CopyJob {
            log: &*opened.log,
            slice_index: 0,
            selection: slice.selection.clone(),
            verify: true,
            drops_doubtful: self.drops_doubtful,
            progress: &|bytes| progress.add(bytes),
        };
        provenance::add_provenance_of(&mut options, format, [&opened.input], session)?;
        // A strict request must fail before the new log gets its name.
        let written = new.write(&[slice], &options, |sink| {
            let copied = copy(&job, None, sink)?;
            let left_out = sink.dropped_records(0).to_vec();
            losses.add(manifest, &TopicSet::All, &copied.damage);
            losses.add(manifest, &TopicSet::All, &left_out);
            losses.check(self.strictness)?;
            let undecodable = UndecodableRecords::new(&opened, &copied, &left_out);
            undecodable.check(self.strictness)?;
            let mut unfitting = opened.input.findings(manifest);
            unfitting.add(manifest, &TopicSet::All, &copied.unfitting);
            unfitting.check(self.strictness)?;
            Ok((copied, left_out, undecodable))
        });
        drop(progress);
        let ((copied, left_out, undecodable), written) =
            written.map_err(|error| error.with_log_name(name))?;

        let lost: u64 = left_out.iter().map(|damage| damage.records).sum();
        output.records = copied.records.saturating_sub(lost);
        output.bytes = written.bytes;
        output.remarks = written.remarks;
        if copied.verbatim_records > 0 {
            let records = count_of(copied.verbatim_records, "record");
            output
                .remarks
                .push(format!("{records} in parts that were copied unchanged"));
        }
        output.remarks.extend(undecodable.remark());
        if !losses.has_damage() && undecodable.records == 0 {
            output.remarks.push("nothing was lost".to_owned());
        }
        let check = check::check(self.output.path(), session)
            .context("the new log cannot be checked")?;
        Ok(RepairReport {
            name: name.clone(),
            format: manifest.format.clone(),
            output,
            copied_records: copied.records,
            records_in_unchanged_parts: copied.verbatim_records,
            undecodable_records: undecodable.records,
            doubtful_records: copied
                .doubtful
                .iter()
                .map(|doubtful| doubtful.records)
                .sum(),
            topic_losses: losses.topic_losses(),
            losses,
            check,
            clock: ShownClock::from_manifest(manifest),
        })
    }
}

impl RepairReport {
    /// Returns whether something was lost, or is still damaged in the new log.
    pub fn has_damage(&self) -> bool {
        self.losses.has_damage() || self.check.max_severity() == Some(Severity::Error)
    }
}
