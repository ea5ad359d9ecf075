//! The conversion of many logs to one dataset.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use crate::{
    dataset::{
        catalog::{CatalogColumns, DatasetCatalogs},
        inputs::{self, InputLog},
        log_job::{ConvertedLog, LogJob},
        log_names, options,
        patterns::PatternMatches,
        progress::{DatasetPlan, DatasetProgress, NoDatasetProgress},
        report::{DatasetReport, LogOutcome, LogReport},
        schedule::{self, Limits},
        shard::{Division, Shard},
        storage::Dataset,
    },
    error::{Context as _, Error, Result},
    jobs::convert::{ConvertRequest, Destination, OutputFormat, RequestConflict},
    source::{input::url, losses::Strictness, session::Session},
};

/// A request to convert many logs to one dataset.
///
/// Logs that an earlier run converted with the same request are not converted again, unless
/// they have changed. A log that cannot be converted does not stop the others.
///
/// ```no_run
/// use logtool::{Session, dataset::BatchRequest};
///
/// let request = BatchRequest::new(["flights"], "dataset");
/// let report = request.run(&Session::new())?;
/// println!("{} new logs, {} failed", report.new_logs, report.failed.len());
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct BatchRequest {
    pub(super) inputs: Vec<PathBuf>,
    pub(super) output: PathBuf,
    pub(super) conversion: ConvertRequest,
    pub(super) shard: Option<Shard>,
    pub(super) memory_bytes: Option<u64>,
    is_forced: bool,
    has_json_lines: bool,
    columns: CatalogColumns,
    pub(super) strictness: Strictness,
    pub(super) host_name: Option<String>,
    pub(super) progress: Arc<dyn DatasetProgress>,
}

impl BatchRequest {
    /// Creates a request to convert `inputs` to Parquet files in the dataset `output`.
    ///
    /// An input is a log, a folder of logs, a pattern (`disk/**/*.bag`), a file with a list of
    /// these (`@list.txt`), or `-` for such a list on standard input. Inputs and the output may
    /// be URLs. The output is a new folder, or one that an earlier run has made.
    pub fn new(
        inputs: impl IntoIterator<Item = impl Into<PathBuf>>,
        output: impl Into<PathBuf>,
    ) -> Self {
        Self {
            inputs: inputs.into_iter().map(Into::into).collect(),
            output: output.into(),
            conversion: ConvertRequest::new(OutputFormat::Parquet),
            shard: None,
            memory_bytes: None,
            is_forced: false,
            has_json_lines: false,
            columns: CatalogColumns::Description,
            strictness: Strictness::Tolerant,
            host_name: None,
            progress: Arc::new(NoDatasetProgress),
        }
    }

    /// Sets the output format, and the selected records and columns of each log.
    pub fn with_conversion(mut self, conversion: ConvertRequest) -> Self {
        self.conversion = conversion;
        self
    }

    /// Converts only one part of the logs, so that several runs can share the work.
    pub fn with_shard(mut self, shard: Shard) -> Self {
        self.shard = Some(shard);
        self
    }

    /// Sets about how many bytes of memory may be used: fewer logs are read at the same time
    /// if it is short. The default is a quarter of the memory of the machine.
    pub fn with_memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Converts logs again that were converted before.
    pub fn with_reconversion(mut self) -> Self {
        self.is_forced = true;
        self
    }

    /// Writes the catalog as JSON Lines, in addition to Parquet.
    pub fn with_json_lines_catalog(mut self) -> Self {
        self.has_json_lines = true;
        self
    }

    /// Analyses the flights of ULogs: statistics and diagnoses are columns of the catalog.
    #[cfg(feature = "flight")]
    pub fn with_analysis(mut self) -> Self {
        self.columns = CatalogColumns::Analysis;
        self
    }

    /// Sets what happens to a log in which something is damaged or lost.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Sets the name of this machine in the locks of object stores, for systems other than
    /// Linux, whose own name is used.
    pub fn with_host_name(mut self, name: impl Into<String>) -> Self {
        self.host_name = Some(name.into());
        self
    }

    /// Sets the receiver of the progress.
    pub fn with_progress(mut self, progress: Arc<dyn DatasetProgress>) -> Self {
        self.progress = progress;
        self
    }

    /// Converts the logs. Several logs are converted at the same time.
    ///
    /// The report names the logs that failed. An error of the catalog is a part of the report
    /// too, because the logs are converted then.
    ///
    /// # Errors
    /// `InvalidRequest` if the request contradicts itself, if an input is not a valid pattern
    /// or list, or if the output has files of other programs; others if there are no logs,
    /// another run is writing the dataset, or the output cannot be written.
    pub fn run(&self, session: &Session) -> Result<DatasetReport> {
        self.check()?;
        let inputs = inputs::find(&self.inputs, &self.output, session)?;
        inputs.check()?;
        let host = self.host_name.as_deref();
        let dataset = Dataset::open(&self.output, self.shard, host, session)?;
        let mut report = DatasetReport::new(dataset.name(), &inputs);
        let names = log_names_of(&dataset, &inputs.logs);
        let division = Division::new(self.shard, &inputs.logs, &names);
        let own_logs = inputs.logs.into_iter().zip(names);
        let (logs, names) = own_logs.filter(|(_, name)| division.is_own(name)).unzip();
        // Only the first shard reports inputs of unknown size, which belong to no shard.
        if self.shard.is_none_or(|shard| shard.index() == 0) {
            report.add_failed_inputs(inputs.failed);
        }
        remove_unfinished(&dataset, &division)?;
        if self.shard.is_none() {
            dataset.forget_unused_topics()?;
        }
        let batch = PreparedBatch { request: self, dataset: &dataset, logs, names };
        batch.run(&division, report, session)
    }

    /// Refuses conversions whose results are not a dataset.
    pub(super) fn check(&self) -> Result<()> {
        let request = &self.conversion;
        let destination = Destination::Folder(self.output.clone());
        if let Some(conflict) = RequestConflict::find(request, &destination) {
            return Err(conflict.into());
        }
        if request.merge.is_some() {
            return Err(Error::invalid_request("a dataset has no merged tables"));
        }
        if !request.derived.is_empty() {
            return Err(Error::invalid_request("a dataset has no derived tables"));
        }
        Ok(())
    }
}

/// A batch whose logs and dataset are known.
struct PreparedBatch<'b> {
    request: &'b BatchRequest,
    dataset: &'b Dataset,
    /// The logs that this run converts.
    logs: Vec<InputLog>,
    /// Their names in the dataset.
    names: Vec<String>,
}

impl PreparedBatch<'_> {
    /// Converts the logs, writes the catalogs, and completes `report`.
    fn run(
        &self,
        division: &Division,
        mut report: DatasetReport,
        session: &Session,
    ) -> Result<DatasetReport> {
        let Self { request, dataset, logs, .. } = self;
        let requested = request.memory_bytes;
        let limits = Limits::new(requested, logs);
        let raised = limits.raised_memory_bytes().filter(|_| requested.is_some());
        let is_remote = url::from_path(dataset.name()).is_some();
        let limits = if is_remote { limits.for_waiting_logs() } else { limits };
        let options = options::conversion(
            &request.conversion,
            session,
            request.strictness,
            request.columns,
        );
        let job = LogJob {
            request: &request.conversion,
            is_forced: request.is_forced,
            strictness: request.strictness,
            session: &session.for_concurrent_logs(),
            dataset,
            pool: limits.pool()?,
            columns: request.columns,
            options,
        };
        let progress = &*request.progress;
        progress.start(&DatasetPlan {
            logs: logs.len() as u64,
            bytes: logs.iter().map(|log| log.bytes).sum(),
            raised_memory_bytes: raised,
        });
        let mut patterns = PatternMatches::new(&request.conversion);
        let mut errors = BTreeMap::new();
        let convert = schedule::Schedule {
            logs,
            limits: &limits,
            progress,
            run: &|log, permit, progress| {
                job.run(log, self.name(permit.index()), permit, progress)
            },
        };
        convert.for_each(&mut |index, log, result| {
            let name = self.name(index);
            match &result {
                Ok(ConvertedLog { entry, .. }) => patterns.add_log(&entry.missed),
                Err(err) => {
                    errors.insert(name.to_owned(), (log.clone(), err.to_string()));
                }
            }
            let log = LogReport::new(name, log, outcome(result));
            progress.finish_log(&log);
            report.add(log);
        })?;
        let catalogs = DatasetCatalogs {
            dataset,
            division,
            has_json_lines: request.has_json_lines,
            options: &job.options,
            columns: request.columns,
            errors: &errors,
        };
        let catalog = catalogs.write().context("the catalog is incomplete");
        report.catalog_error = catalog.err();
        report.separate_tables = dataset.journal().separate_tables()?;
        report.unmatched_patterns =
            patterns.unmatched_patterns().map(str::to_owned).collect();
        // The logs of other shards may match the patterns.
        report.is_selection_empty =
            request.shard.is_none() && patterns.is_selection_empty();
        Ok(report)
    }

    fn name(&self, index: usize) -> &str {
        self.names.get(index).map_or("", String::as_str)
    }
}

/// Returns the outcome of a log whose conversion gave `result`.
fn outcome(result: Result<ConvertedLog>) -> LogOutcome {
    match result {
        Ok(ConvertedLog { entry, totals: None }) => {
            LogOutcome::Unchanged { damage: entry.damage }
        }
        Ok(ConvertedLog { entry, totals: Some(totals) }) => LogOutcome::Converted {
            files: totals.files,
            rows: totals.rows,
            damage: entry.damage,
            remarks: entry.remarks,
        },
        Err(err) => LogOutcome::Failed(err),
    }
}

/// Returns the names of `logs` in `dataset`. Logs that are already in the dataset keep their names.
fn log_names_of(dataset: &Dataset, logs: &[InputLog]) -> Vec<String> {
    let known: BTreeMap<String, String> = {
        let journal = dataset.journal();
        let logs = journal.logs();
        logs.map(|(name, state)| (name.clone(), state.source.clone())).collect()
    };
    // The name of a log that was not found stays reserved, because its disk may only be
    // unmounted. Another path may have it only if its file has the same bytes.
    let was_moved = |log: &InputLog, name: &str, owner: &str| {
        let entry = || dataset.journal().entry(name).ok().flatten();
        !inputs::may_exist(owner)
            && entry().is_some_and(|entry| {
                entry.source_bytes == log.bytes
                    && inputs::file_digest(&log.path)
                        .is_ok_and(|digest| digest == entry.digest)
            })
    };
    log_names::assign(logs, &known, &was_moved)
}

/// Removes the files that were being renamed when the last run was killed. Their logs are
/// converted again.
fn remove_unfinished(dataset: &Dataset, division: &Division) -> Result<()> {
    let unfinished: Vec<(String, Vec<String>)> = {
        let journal = dataset.journal();
        let logs = journal.logs().filter(|(name, state)| {
            !state.pending_files.is_empty()
                && journal.finished_log(name).is_none()
                && division.is_own(name)
        });
        logs.map(|(name, state)| (name.clone(), state.pending_files.clone())).collect()
    };
    unfinished.iter().try_for_each(|(name, files)| dataset.remove_log(name, files))
}
