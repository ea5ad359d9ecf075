//! The conversion of one log of a batch.

mod selection;
pub(super) mod survey;
mod tables;

use std::{
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use logtool_core::{Manifest, RecordSink};
use rayon::ThreadPool;

use crate::{
    dataset::{
        catalog::CatalogColumns,
        entry::LogEntry,
        inputs::{self, InputLog},
        log_job::tables::{TableExport, WrittenTables},
        progress::LogProgress,
        schedule::Permit,
        storage::{Dataset, OutputKind},
    },
    error::{ErrorKind, Result},
    jobs::{
        convert::{
            ConvertRequest, OutputFormat, TableLayout, export,
            job::ExportSummary,
            log_copy::{self, LogCopy},
            payloads,
        },
        output::{log_writer::LogFile, provenance},
    },
    records::translate::TranslationKind,
    source::{
        input::{
            open::{self, OpenLog},
            url,
        },
        lidar,
        losses::{Findings, Strictness},
        session::Session,
    },
};

/// The conversion that a batch applies to each log.
pub(super) struct LogJob<'j> {
    pub(super) request: &'j ConvertRequest,
    /// Whether logs that were converted before are converted again.
    pub(super) is_forced: bool,
    /// Whether damage and losses are errors.
    pub(super) strictness: Strictness,
    pub(super) session: &'j Session,
    pub(super) dataset: &'j Dataset,
    /// The threads that decode; `None` for the default pool.
    pub(super) pool: Option<ThreadPool>,
    /// The columns of the catalog.
    pub(super) columns: CatalogColumns,
    /// The digest of the options that change the result.
    pub(super) options: String,
}

/// A log that is in the dataset.
pub(super) struct ConvertedLog {
    pub(super) entry: Box<LogEntry>,
    /// The size of the result; `None` if an earlier run converted the log.
    pub(super) totals: Option<LogTotals>,
}

/// The number of files and rows that were made of a log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LogTotals {
    pub(super) files: u64,
    pub(super) rows: u64,
}

/// Returns the kind of the files that `request` makes of a log.
fn output_kind(request: &ConvertRequest) -> OutputKind {
    match (request.format, request.layout) {
        (OutputFormat::Mat, _) => OutputKind::OneFile,
        (format, _) if format.is_log() => OutputKind::OneFile,
        (_, Some(TableLayout::Px4)) => OutputKind::LogFolder,
        _ => OutputKind::Tables,
    }
}

/// A file that was changed less long ago than this may change again without another time.
const SETTLED_NANOS: i64 = 2_000_000_000;

impl LogJob<'_> {
    /// Converts `log`, which is called `name` in the dataset, unless an earlier run has.
    pub(super) fn run(
        &self,
        log: &InputLog,
        name: &str,
        permit: &mut Permit<'_>,
        progress: &LogProgress<'_>,
    ) -> Result<ConvertedLog> {
        self.dataset.check_writable()?;
        let mut entry = LogEntry::new(log, name);
        if let Some(known) = self.unchanged_file(&entry)? {
            progress.skip();
            return Ok(ConvertedLog { entry: Box::new(known), totals: None });
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
        let age = log.modified_ns.map_or(0, |modified| now.saturating_sub(modified));
        entry.is_settled = age > SETTLED_NANOS;
        if url::from_path(&log.path).is_none() {
            entry.digest = inputs::file_digest(&log.path)?;
        }
        entry.options.clone_from(&self.options);
        if let Some(known) = self.unchanged_bytes(&entry)? {
            self.dataset.finish(&known)?;
            progress.skip();
            return Ok(ConvertedLog { entry: Box::new(known), totals: None });
        }
        let totals = if self.request.format.is_log() {
            self.copy_log(&log.path, &mut entry, progress)?
        } else {
            self.export(&log.path, &mut entry, permit, progress)?
        };
        Ok(ConvertedLog { entry: Box::new(entry), totals: Some(totals) })
    }

    /// Runs `work` on the threads that decode.
    fn on_decode_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Returns the known entry of a file with the path, the length and the time of `entry`, if
    /// it was converted with the same options.
    fn unchanged_file(&self, entry: &LogEntry) -> Result<Option<LogEntry>> {
        let known = {
            let journal = self.dataset.journal();
            let is_unchanged = journal.finished_log(&entry.log).is_some_and(|known| {
                known.source == entry.source
                    && known.source_bytes == entry.source_bytes
                    && known.modified_ns.is_some()
                    && known.modified_ns == entry.modified_ns
                    && known.options == self.options
            });
            if self.is_forced || !is_unchanged {
                return Ok(None);
            }
            journal.entry(&entry.log)?
        };
        Ok(known.filter(|known| self.dataset.has_files(&known.files)))
    }

    /// Returns the known entry of a file with the same bytes as `entry`, if it was converted
    /// with the same options, with the path and the time of `entry`.
    fn unchanged_bytes(&self, entry: &LogEntry) -> Result<Option<LogEntry>> {
        if self.is_forced || entry.digest.is_empty() {
            return Ok(None);
        }
        let known = self.dataset.journal().entry(&entry.log)?.filter(|known| {
            known.digest == entry.digest
                && known.options == entry.options
                && self.dataset.has_files(&known.files)
        });
        Ok(known.map(|known| LogEntry {
            source: entry.source.clone(),
            modified_ns: entry.modified_ns,
            is_settled: entry.is_settled,
            ..known
        }))
    }

    /// Adds the losses to `entry`.
    fn add_losses(
        &self,
        entry: &mut LogEntry,
        losses: &mut Findings,
        manifest: &Manifest,
    ) {
        let reads_all =
            self.request.topics.is_empty() && !self.request.has_time_range();
        if reads_all || open::is_fully_scanned(manifest) {
            entry.add_losses(losses);
        } else {
            entry.add_known_losses(losses);
        }
    }

    /// Adds the analysis of the flight to `entry`, if it is wanted.
    #[cfg_attr(
        not(feature = "flight"),
        allow(unused_variables, reason = "there is no analysis")
    )]
    fn analyse(
        &self,
        opened: &OpenLog,
        entry: &mut LogEntry,
        losses: &mut Findings,
    ) -> Result<()> {
        match self.columns {
            CatalogColumns::Description => {}
            #[cfg(feature = "flight")]
            CatalogColumns::Analysis => {
                let read = self.on_decode_threads(|| {
                    crate::dataset::flight_columns::analyse(opened)
                })?;
                if let Some(read) = read {
                    entry.add_analysis(&read);
                    losses.add(opened.log.manifest(), &read.topics, &read.damage);
                    losses.check(self.strictness)?;
                }
            }
        }
        Ok(())
    }

    /// Converts the log at `path` to tables or other files.
    fn export(
        &self,
        path: &Path,
        entry: &mut LogEntry,
        permit: &mut Permit<'_>,
        progress: &LogProgress<'_>,
    ) -> Result<LogTotals> {
        let (mut opened, header) = export::open(path, self.request, self.session)?;
        entry.identify(&opened.input)?;
        let manifest = opened.log.manifest();
        entry.describe(&opened.input, manifest);
        let mut losses = opened.input.findings(manifest);
        losses.check(self.strictness)?;

        let labels = self.request.labels(manifest);
        let request = selection::applicable_request(
            self.request,
            &*opened.log,
            labels.as_ref(),
            &mut entry.missed,
        )?;
        let provenance =
            provenance::from_digest(&opened.input, &entry.digest, self.session);
        let export = TableExport {
            job: self,
            request: request.as_ref(),
            labels,
            header: header.as_ref(),
            provenance: &provenance,
            log: &entry.log,
            progress: &|bytes| progress.add(bytes),
        };
        let mut written = export.run(&opened, permit)?;
        let topics = request.as_ref().map(|request| {
            payloads::topics(request, opened.log.manifest(), &written.summary)
        });
        let topics = topics.unwrap_or_default();
        if !topics.is_empty() {
            drop(written.outputs);
            opened = payloads::with_payloads(opened, topics);
            // The bytes of the log are counted once.
            let export = TableExport { progress: &|_| {}, ..export };
            written = export.run(&opened, permit)?;
        }
        let manifest = opened.log.manifest();
        let WrittenTables { outputs, schemas, tables, summary } = written;
        losses.add(manifest, &summary.topics, &summary.damage);
        losses.check(self.strictness)?;
        self.analyse(&opened, entry, &mut losses)?;
        self.add_losses(entry, &mut losses, manifest);
        entry.add_tables(&tables, &summary.topic_rows);
        if !self.request.has_time_range() {
            entry.add_statistics(&summary.seen);
        }
        let ExportSummary { topics, tables: files, rows, remarks, .. } = summary;
        entry.remarks.extend(remarks);
        entry.remarks.extend(lidar::remarks(manifest, &topics));
        entry.remarks.extend(schemas.iter().filter_map(tables::partition_remark));
        self.dataset.commit(&outputs, entry)?;
        Ok(LogTotals { files, rows })
    }

    /// Converts the log at `path` to a log of another format.
    fn copy_log(
        &self,
        path: &Path,
        entry: &mut LogEntry,
        progress: &LogProgress<'_>,
    ) -> Result<LogTotals> {
        let (input, log) = log_copy::open(path, self.request, self.session)?;
        entry.identify(&input)?;
        let manifest = log.manifest();
        entry.describe(&input, manifest);
        let mut losses = input.findings(manifest);
        losses.check(self.strictness)?;
        let outputs = self.dataset.outputs(&entry.log, OutputKind::OneFile);
        let mut totals = LogTotals::default();
        let request = selection::applicable_request(
            self.request,
            &*log,
            None,
            &mut entry.missed,
        )?;
        let copy = match request.map(|request| LogCopy::new(&input, &log, &request)) {
            Some(Err(err)) if err.kind() == ErrorKind::NotFound => {
                entry.remarks.push(err.to_string());
                None
            }
            copy => copy.transpose()?,
        };
        if let Some(mut copy) = copy {
            copy.options.validates_parts = self.strictness.is_strict();
            let provenance =
                provenance::from_digest(&input, &entry.digest, self.session);
            provenance::add_to_options(&mut copy.options, copy.format, &provenance);
            let name = format!("{}.{}", entry.log, self.request.format.name());
            let file = LogFile::new(&outputs, &name, copy.format)?;
            let progress = |bytes| progress.add(bytes);
            let written = file.write(
                &[copy.slice()],
                &copy.options,
                |sink: &mut dyn RecordSink| {
                    self.on_decode_threads(|| copy.write(sink, &progress))
                },
            );
            let ((rows, damage), written) = written?;
            losses.add(manifest, &copy.topics, &damage);
            losses.check(self.strictness)?;
            entry.remarks = [copy.warnings, copy.remarks, written.remarks].concat();
            if copy.translation.is_some_and(TranslationKind::is_lidar) {
                entry.remarks.extend(lidar::remarks(manifest, &copy.topics));
            }
            totals = LogTotals { files: 1, rows };
        }
        self.add_losses(entry, &mut losses, manifest);
        self.dataset.commit(&outputs, entry)?;
        Ok(totals)
    }
}
