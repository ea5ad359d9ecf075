//! The report of a batch or an index.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    dataset::inputs::{self, InputLog, Inputs},
    error::Error,
};

/// The result of a [`BatchRequest`](crate::dataset::BatchRequest) or an
/// [`IndexRequest`](crate::dataset::IndexRequest). Logs are named by their paths or URLs.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct DatasetReport {
    /// The folder of the dataset, or the file of the catalog; of a URL without its secrets.
    pub output: PathBuf,
    /// The number of logs that were converted or indexed by this run.
    pub new_logs: u64,
    /// The number of logs that an earlier run converted or indexed.
    pub unchanged_logs: u64,
    /// The number of files that were written for the new logs.
    pub files: u64,
    /// The number of rows in these files.
    pub rows: u64,
    /// The length of the new logs together.
    pub bytes: u64,
    /// The number of files in the input folders that are not logs.
    pub other_files: u64,
    /// The datasets in the input folders, which are not read.
    pub nested_datasets: Vec<String>,
    /// The patterns of topics and fields that match nothing in any log, such as
    /// ``topic `gps_*` ``.
    pub unmatched_patterns: Vec<String>,
    /// Whether the selection is empty in every log.
    pub is_selection_empty: bool,
    /// The logs in which something is damaged or lost, with a summary of the damage.
    pub damaged: BTreeMap<String, String>,
    /// The inputs that failed.
    pub failed: BTreeMap<String, Error>,
    /// The remarks about logs, with the logs that they are about.
    pub remarks: BTreeMap<String, RemarkSummary>,
    /// The tables that are separate from others of the same topic, with the reason: a sentence
    /// each.
    pub separate_tables: Vec<String>,
    /// Why the catalog was not written, if it was not.
    pub catalog_error: Option<Error>,
}

/// The logs that a remark is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemarkSummary {
    /// The number of logs.
    pub logs: u64,
    /// The first of them.
    pub first: String,
}

/// The report about one log.
#[derive(Debug)]
#[non_exhaustive]
pub struct LogReport {
    /// The name of the log in the dataset or the catalog.
    pub name: String,
    /// The path or the URL of the log.
    pub source: String,
    /// The length of the log.
    pub bytes: u64,
    /// The result of the log.
    pub outcome: LogOutcome,
}

/// The result of a log.
#[derive(Debug)]
#[non_exhaustive]
pub enum LogOutcome {
    /// The log was converted.
    #[non_exhaustive]
    Converted {
        /// The number of files.
        files: u64,
        /// The number of rows in the files.
        rows: u64,
        /// A summary of the damage, if there is some.
        damage: Option<String>,
        /// Remarks for users, a sentence each.
        remarks: Vec<String>,
    },
    /// The log was indexed.
    #[non_exhaustive]
    Indexed {
        /// A summary of the damage, if there is some.
        damage: Option<String>,
    },
    /// An earlier run converted or indexed the log, and nothing has changed since.
    #[non_exhaustive]
    Unchanged {
        /// A summary of the damage, if there is some.
        damage: Option<String>,
    },
    /// The log could not be converted or indexed.
    Failed(Error),
}

impl LogReport {
    /// Creates the report of the log `log`, which is called `name`.
    pub(super) fn new(name: &str, log: &InputLog, outcome: LogOutcome) -> Self {
        let (name, source) = (name.to_owned(), log.display_name());
        Self { name, source, bytes: log.bytes, outcome }
    }
}

impl DatasetReport {
    /// Creates the report about `output` before the first log is finished.
    pub(super) fn new(output: &Path, inputs: &Inputs) -> Self {
        let datasets = inputs.datasets.iter();
        Self {
            output: output.to_owned(),
            other_files: inputs.other_files,
            nested_datasets: datasets.map(|path| inputs::path_text(path)).collect(),
            ..Self::default()
        }
    }

    /// Adds the inputs that could not be inspected.
    pub(super) fn add_failed_inputs(&mut self, failed: Vec<(PathBuf, Error)>) {
        let failed = failed.into_iter();
        self.failed.extend(failed.map(|(path, err)| (inputs::path_text(&path), err)));
    }

    /// Adds the result of a log.
    pub(super) fn add(&mut self, log: LogReport) {
        let LogReport { source, bytes, outcome, .. } = log;
        let damage = match outcome {
            LogOutcome::Converted { files, rows, damage, remarks } => {
                self.new_logs += 1;
                self.bytes += bytes;
                self.files += files;
                self.rows += rows;
                remarks.into_iter().for_each(|remark| self.add_remark(&source, remark));
                damage
            }
            LogOutcome::Indexed { damage } => {
                self.new_logs += 1;
                self.bytes += bytes;
                damage
            }
            LogOutcome::Unchanged { damage } => {
                self.unchanged_logs += 1;
                damage
            }
            LogOutcome::Failed(err) => {
                self.failed.insert(source, err);
                return;
            }
        };
        self.damaged.extend(damage.map(|damage| (source, damage)));
    }

    fn add_remark(&mut self, source: &str, remark: String) {
        let summary = self.remarks.entry(remark).or_default();
        summary.logs += 1;
        if summary.first.is_empty() || *source < *summary.first {
            source.clone_into(&mut summary.first);
        }
    }
}
