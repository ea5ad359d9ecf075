//! Jobs for each function of Python: conversions and copies of logs.

mod align;
mod conversion;
mod copies;
mod datasets;

use std::{path::Path, sync::Arc};

use logtool::{Result, Session, losses::Findings, output::OutputSummary};
use pyo3::{IntoPyObjectExt as _, prelude::*};

use crate::{
    arguments::OpenArguments,
    damage::{self, Damage},
    runtime::job::{Finish, Job, Meter},
};

pub(crate) use self::{
    align::{Alignment, start_align},
    conversion::start_convert,
    copies::{start_filter, start_merge, start_repair},
    datasets::{
        BatchReport, start_batch, start_index, start_table_assignment,
        start_table_survey,
    },
};

/// The result of a conversion or a copy of logs.
#[pyclass(frozen, module = "logtool", get_all)]
pub(crate) struct Report {
    /// The paths of the files that were written.
    files: Vec<String>,
    /// The number of tables.
    tables: u64,
    /// The number of rows of all tables.
    rows: u64,
    /// The number of records in a new log.
    records: u64,
    /// The number of bytes that were written.
    bytes: u64,
    /// Remarks for people, one sentence each.
    remarks: Vec<String>,
    /// The damage that was found.
    damage: Vec<Damage>,
}

#[pymethods]
impl Report {
    fn __repr__(&self) -> String {
        let Self { files, tables, rows, records, bytes, damage, .. } = self;
        format!(
            "<logtool.Report: {} files, {tables} tables, {rows} rows, {records} records, \
             {bytes} bytes, {} damages>",
            files.len(),
            damage.len()
        )
    }
}

/// Returns the damage in `losses`.
fn damage_of(losses: &mut Findings) -> Vec<Damage> {
    losses.sorted_findings().iter().map(Damage::from_finding).collect()
}

impl Report {
    /// Returns the function that gives Python the report about the log `name`, and warns about
    /// harmful damage.
    fn finish(mut self, name: String, meter: &Meter) -> Finish {
        self.remarks.extend(meter.take_notices());
        Box::new(move |py| {
            damage::warn(py, &name, &self.damage)?;
            self.into_py_any(py)
        })
    }

    /// Describes a new log.
    fn of_log(output: OutputSummary, damage: Vec<Damage>) -> Self {
        let mut remarks = output.warnings;
        remarks.extend(output.remarks);
        Self {
            files: vec![output.path.display().to_string()],
            tables: 0,
            rows: 0,
            records: output.records,
            bytes: output.bytes,
            remarks,
            damage,
        }
    }
}

/// Starts `work`, the function `name` of Python.
fn start(
    py: Python<'_>,
    name: &str,
    arguments: OpenArguments,
    input: Option<&Path>,
    work: impl FnOnce(&Session, &Arc<Meter>) -> Result<Finish> + Send + 'static,
) -> PyResult<Job> {
    let path = input.map(|path| path.display().to_string());
    let command = format!("python: {name}");
    Job::start(py, arguments.session().with_command(command), path, work)
}
