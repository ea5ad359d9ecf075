//! The tables of one log.

use std::sync::Arc;

use logtool_core::{Labels, Provenance, TopicSet};
use logtool_ulog::Metadata;

use crate::{
    dataset::{
        log_job::{LogJob, output_kind, selection},
        schedule::Permit,
        storage::OutputKind,
        tables::RowSchema,
    },
    error::{ErrorKind, Result},
    jobs::{
        convert::{
            ConvertRequest, Destination, export,
            job::{ExportJob, ExportSummary, TableNames},
        },
        output::guarded_outputs::GuardedOutputs,
    },
    source::input::open::OpenLog,
};

/// The export of the tables of one log to the dataset.
pub(super) struct TableExport<'e> {
    pub(super) job: &'e LogJob<'e>,
    /// The request that applies to the log; `None` if no topic or column is selected.
    pub(super) request: Option<&'e ConvertRequest>,
    pub(super) labels: Option<Arc<Labels>>,
    pub(super) header: Option<&'e Metadata>,
    pub(super) provenance: &'e Provenance,
    /// The name of the log in the dataset.
    pub(super) log: &'e str,
    /// Receives the number of bytes that were processed since the last call.
    pub(super) progress: &'e (dyn Fn(u64) + Sync),
}

/// The files of a log that are complete but not yet named.
pub(super) struct WrittenTables {
    pub(super) outputs: GuardedOutputs,
    /// The schemas of the rows; empty if the files are not tables of the dataset.
    pub(super) schemas: Vec<RowSchema>,
    /// The table of each topic.
    pub(super) tables: TableNames,
    pub(super) summary: ExportSummary,
}

impl TableExport<'_> {
    /// Writes the files of the log.
    pub(super) fn run(
        &self,
        opened: &OpenLog,
        permit: &mut Permit<'_>,
    ) -> Result<WrittenTables> {
        let (job, kind) = (self.job, output_kind(self.job.request));
        let outputs = job.dataset.outputs(self.log, kind);
        let schemas = match self.request {
            Some(request) if kind == OutputKind::Tables => {
                selection::row_schemas(opened, request, self.labels.as_ref())?
            }
            _ => Vec::new(),
        };
        let folder = outputs.dir().to_owned();
        let destination = if kind == OutputKind::OneFile {
            Destination::File(folder.join(format!("{}.mat", self.log)))
        } else {
            Destination::Folder(folder)
        };
        let names = permit.in_turn(|| job.dataset.assign_tables(&schemas))?;
        let key = |schema: &RowSchema| (schema.topic.clone(), schema.instance);
        let files: TableNames = schemas
            .iter()
            .zip(&names)
            .map(|(schema, table)| (key(schema), schema.file_stem(table)))
            .collect();
        let tables: TableNames = schemas.iter().map(key).zip(names).collect();
        let summary = match self.request {
            None => empty_summary(Vec::new()),
            Some(request) => {
                let export = ExportJob {
                    opened,
                    outputs: &outputs,
                    request,
                    destination: &destination,
                    labels: self.labels.clone(),
                    provenance: self.provenance,
                    tables: Some(&files).filter(|_| kind == OutputKind::Tables),
                    progress: self.progress,
                };
                let write = || export::write(&export, self.header);
                summary_or_remark(job.on_decode_threads(write))?
            }
        };
        Ok(WrittenTables { outputs, schemas, tables, summary })
    }
}

/// Turns the error that nothing was selected into a remark: other logs of the batch may have
/// what this one does not have.
fn summary_or_remark(summary: Result<ExportSummary>) -> Result<ExportSummary> {
    match summary {
        Err(err) if err.kind() == ErrorKind::NotFound => {
            Ok(empty_summary(vec![err.to_string()]))
        }
        summary => summary,
    }
}

/// Returns the summary of a log without files.
fn empty_summary(remarks: Vec<String>) -> ExportSummary {
    ExportSummary { topics: TopicSet::EMPTY, remarks, ..ExportSummary::default() }
}

/// Returns a remark about a column that readers confuse with a partition, if there is one.
pub(super) fn partition_remark(schema: &RowSchema) -> Option<String> {
    let field = schema.partition_column()?;
    Some(format!(
        "{}: readers that take the name of the log from folders do not see its field `{field}` \
         (hive_partitioning = false does)",
        schema.topic
    ))
}
