//! The catalog of many logs, without their conversion.

mod builder;
mod entry_spool;
mod previous_catalog;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use logtool_sinks::ExistingFiles;
use logtool_velodyne::lidar::LidarOptions;

#[cfg(feature = "flight")]
use crate::dataset::flight_columns;
use crate::{
    dataset::{
        catalog::{self, CatalogColumns, CatalogFormat},
        entry::LogEntry,
        index::{
            builder::{CatalogBuilder, IndexedLog},
            entry_spool::EntrySpool,
            previous_catalog::{PreviousCatalog, PreviousLog},
        },
        inputs::{self, InputLog, Inputs},
        log_names, options,
        progress::{DatasetPlan, DatasetProgress, NoDatasetProgress},
        report::{DatasetReport, LogReport},
        schedule::{self, Limits},
    },
    error::{Context as _, Error, Remedy, Result},
    jobs::output::guarded_outputs,
    source::{
        input::{open, url},
        losses::Strictness,
        session::Session,
    },
};

/// A request to write a catalog of many logs: a table with a row for each log and topic.
///
/// Logs that the existing catalog describes are not opened again, unless they have changed.
///
/// ```no_run
/// use logtool::{Session, dataset::IndexRequest};
///
/// let request = IndexRequest::new(["flights"], "flights.parquet");
/// let report = request.run(&Session::new())?;
/// println!("{} new logs, {} damaged", report.new_logs, report.damaged.len());
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct IndexRequest {
    inputs: Vec<PathBuf>,
    output: PathBuf,
    format: Option<CatalogFormat>,
    lidar: LidarOptions,
    columns: CatalogColumns,
    is_forced: bool,
    strictness: Strictness,
    progress: Arc<dyn DatasetProgress>,
}

impl IndexRequest {
    /// Creates a request to describe `inputs` in the catalog `output`. Its extension selects the
    /// [format](CatalogFormat). Inputs are like those of
    /// [`BatchRequest::new`](crate::dataset::BatchRequest::new).
    pub fn new(
        inputs: impl IntoIterator<Item = impl Into<PathBuf>>,
        output: impl Into<PathBuf>,
    ) -> Self {
        Self {
            inputs: inputs.into_iter().map(Into::into).collect(),
            output: output.into(),
            format: None,
            lidar: LidarOptions::default(),
            columns: CatalogColumns::Description,
            is_forced: false,
            strictness: Strictness::Tolerant,
            progress: Arc::new(NoDatasetProgress),
        }
    }

    /// Sets the format of the catalog. By default, its extension selects the format.
    pub fn with_format(mut self, format: CatalogFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets how lidars are read.
    pub fn with_lidar(mut self, lidar: LidarOptions) -> Self {
        self.lidar = lidar;
        self
    }

    /// Analyses the flights of ULogs: statistics and diagnoses are columns of the catalog.
    #[cfg(feature = "flight")]
    pub fn with_analysis(mut self) -> Self {
        self.columns = CatalogColumns::Analysis;
        self
    }

    /// Opens all logs again, and replaces a file that is not a catalog.
    pub fn with_replacement(mut self) -> Self {
        self.is_forced = true;
        self
    }

    /// Sets what happens to a log in which something is damaged or lost.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Sets the receiver of the progress.
    pub fn with_progress(mut self, progress: Arc<dyn DatasetProgress>) -> Self {
        self.progress = progress;
        self
    }

    /// Opens the logs and writes the catalog.
    ///
    /// The report names the logs that failed. An error of the catalog is a part of the report
    /// too.
    ///
    /// # Errors
    /// `InvalidRequest` if the output is a URL or has another extension, or if an input is not
    /// a valid pattern or list; others if there are no logs, or a file that is not a catalog
    /// would be replaced.
    pub fn run(&self, session: &Session) -> Result<DatasetReport> {
        refuse_url(&self.output)?;
        let (stem, format) = stem_and_format(&self.output, self.format)?;
        let inputs = inputs::find(&self.inputs, &self.output, session)?;
        inputs.check()?;
        let options =
            options::index(&self.lidar, session, self.strictness, self.columns);
        let previous = PreviousCatalog::read(
            &self.output,
            self.is_forced,
            format,
            &options,
            self.columns,
        )?;
        if previous.logs.is_empty() && self.output.exists() && !self.is_forced {
            self.check_complete(&inputs)?;
        }
        let mut report = DatasetReport::new(&self.output, &inputs);
        let hidden = previous.possibly_hidden(&inputs);
        report.add_failed_inputs(inputs.failed);
        let entries =
            self.index_logs(&inputs.logs, &previous, &hidden, &mut report, session)?;
        let written = entries.and_then(|mut entries| {
            let outputs = guarded_outputs::for_file(
                &self.output,
                ExistingFiles::Replace,
                session,
            )?;
            let mut rows = entries.rows();
            let columns = self.columns;
            catalog::write(&outputs, &stem, format, &options, columns, &mut rows)?;
            drop(rows);
            outputs.commit()
        });
        let written = written.context(if self.output.exists() {
            "the catalog is unchanged"
        } else {
            "no catalog was written"
        });
        report.catalog_error = written.err();
        Ok(report)
    }

    /// Opens the logs, and adds them to `report`. Returns the entries of the new catalog, which
    /// include the `hidden` logs.
    fn index_logs<'p>(
        &self,
        logs: &[InputLog],
        previous: &'p PreviousCatalog,
        hidden: &[(&str, &'p PreviousLog)],
        report: &mut DatasetReport,
        session: &Session,
    ) -> Result<Result<EntrySpool<'p>>> {
        // A log that does not exist any more is left out, and its name is free.
        let may_take = |_: &InputLog, _: &str, owner: &str| {
            !inputs::may_exist(owner)
                && !hidden.iter().any(|(source, _)| *source == owner)
        };
        let names = log_names::assign(logs, &previous.names(), &may_take);
        let name = |index: usize| names.get(index).map_or("", String::as_str);
        let progress = &*self.progress;
        progress.start(&DatasetPlan {
            logs: logs.len() as u64,
            bytes: logs.iter().map(|log| log.bytes).sum(),
            raised_memory_bytes: None,
        });
        let mut builder = CatalogBuilder::new(previous);
        hidden.iter().for_each(|(_, log)| builder.keep_hidden(log));
        let session = session.for_concurrent_logs();
        let index = schedule::Schedule {
            logs,
            limits: &Limits::new(None, logs),
            progress,
            run: &|log, permit, progress| {
                if let Some(known) = previous.find_unchanged(log) {
                    progress.skip();
                    return Ok(IndexedLog::Unchanged(known));
                }
                let entry = self.index_log(log, name(permit.index()), &session)?;
                Ok(IndexedLog::New(Box::new(entry)))
            },
        };
        index.for_each(&mut |index, log, result| {
            let outcome = builder.add(log, name(index), result);
            let log = LogReport::new(name(index), log, outcome);
            progress.finish_log(&log);
            report.add(log);
        })?;
        Ok(builder.finish())
    }

    /// Returns the entry of `log`, which is called `name`.
    fn index_log(
        &self,
        log: &InputLog,
        name: &str,
        session: &Session,
    ) -> Result<LogEntry> {
        let mut entry = LogEntry::new(log, name);
        let opened = open::inspect_with(&log.path, session, Some(&self.lidar))?;
        entry.identify(&opened.input)?;
        let manifest = opened.log.manifest();
        entry.describe(&opened.input, manifest);
        let mut losses = opened.input.findings(manifest);
        losses.check(self.strictness)?;
        #[cfg(feature = "flight")]
        if self.columns == CatalogColumns::Analysis
            && let Some(read) = flight_columns::analyse(&opened)?
        {
            entry.add_analysis(&read);
            losses.add(manifest, &read.topics, &read.damage);
            losses.check(self.strictness)?;
        }
        if open::is_fully_scanned(manifest) {
            entry.add_losses(&mut losses);
        } else {
            entry.add_known_losses(&mut losses);
        }
        Ok(entry)
    }

    /// Refuses to replace the catalog by one without the inputs that failed.
    fn check_complete(&self, inputs: &Inputs) -> Result<()> {
        let Some((path, err)) = inputs.failed.first() else { return Ok(()) };
        let (path, output) = (path.display(), self.output.display());
        let message = format!("{path}: {err}; {output} is unchanged");
        Err(Error::other(message).with_remedy(Remedy::WriteWithoutFailedInputs))
    }
}

/// Refuses a URL, because an existing catalog is read at random offsets.
fn refuse_url(path: &Path) -> Result<()> {
    let Some((scheme, _)) = url::from_path(path).and_then(|url| url.split_once("://"))
    else {
        return Ok(());
    };
    let message = format!("a catalog must be a local file, not {scheme}://");
    let hint = "write it to a file and copy it; datasets can be written to URLs";
    Err(Error::invalid_request(message).with_hint(hint))
}

/// Returns the name of the catalog at `path` without its extension, and its format: `requested`,
/// or else that of the extension.
fn stem_and_format(
    path: &Path,
    requested: Option<CatalogFormat>,
) -> Result<(String, CatalogFormat)> {
    let extension = path.extension().unwrap_or_default();
    let of_name = || {
        let mut formats = CatalogFormat::ALL.iter().copied();
        formats.find(|format| extension == format.extension())
    };
    let format = requested.or_else(of_name);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.zip(format).ok_or_else(|| {
        let message = format!("{} is not the name of a catalog", path.display());
        Error::invalid_request(message)
            .with_hint("it ends with .parquet, .csv or .jsonl")
    })
}
