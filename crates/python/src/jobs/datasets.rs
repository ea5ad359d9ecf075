//! Datasets and catalogs of many logs.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use logtool::{
    Error, Result, Session,
    convert::OutputFormat,
    dataset::{
        BatchRequest, CatalogFormat, DatasetReport, IndexRequest, RemarkSummary, Shard,
        TableSurvey,
    },
};
use pyo3::{IntoPyObjectExt as _, prelude::*, types::PyDict};

use crate::{
    arguments::{OpenArguments, options::Options},
    error::to_python,
    jobs::{
        conversion::{conversion, output_format},
        start,
    },
    runtime::job::{Finish, Job, Meter},
    split::paths,
};

/// The result of a batch or an index.
#[pyclass(frozen, module = "logtool", get_all)]
pub(crate) struct BatchReport {
    /// The dataset, or the catalog.
    output: String,
    /// The number of logs that were read.
    new_logs: u64,
    /// The number of logs that have not changed since an earlier run.
    unchanged_logs: u64,
    /// The number of files that were written.
    files: u64,
    /// The number of rows that were written.
    rows: u64,
    /// The number of bytes that were written.
    bytes: u64,
    /// The damaged logs, each with a description of its losses.
    damaged: BTreeMap<String, String>,
    /// The logs that failed, each with its exception.
    failed: BTreeMap<String, Py<PyAny>>,
    /// Remarks for people, one sentence each.
    remarks: Vec<String>,
}

#[pymethods]
impl BatchReport {
    fn __repr__(&self) -> String {
        let Self { output, new_logs, unchanged_logs, failed, .. } = self;
        format!(
            "<logtool.BatchReport {output}: {new_logs} new logs, {unchanged_logs} unchanged, \
             {} failed>",
            failed.len()
        )
    }
}

/// Returns the function that gives Python the report.
///
/// # Errors
/// The error of the catalog, if it could not be written.
fn finish_dataset(mut report: DatasetReport, meter: &Meter) -> Result<Finish> {
    if let Some(err) = report.catalog_error.take() {
        return Err(err);
    }
    let mut remarks = meter.take_notices();
    let with_count = |(text, summary): (&String, &RemarkSummary)| {
        format!("{text} ({} logs, e.g. {})", summary.logs, summary.first)
    };
    remarks.extend(report.remarks.iter().map(with_count));
    Ok(Box::new(move |py| {
        let failed = report.failed.iter().map(|(name, err)| {
            (name.clone(), to_python(py, err, Some(name)).into_value(py).into_any())
        });
        let result = BatchReport {
            output: report.output.display().to_string(),
            new_logs: report.new_logs,
            unchanged_logs: report.unchanged_logs,
            files: report.files,
            rows: report.rows,
            bytes: report.bytes,
            failed: failed.collect(),
            damaged: report.damaged,
            remarks,
        };
        result.into_py_any(py)
    }))
}

/// Fails if the job was stopped, because the dataset is then incomplete.
fn check_stopped(session: &Session) -> Result<()> {
    if session.is_stopped() { Err(Error::other("the call was ended")) } else { Ok(()) }
}

/// Returns the conversion of many logs to one dataset that `options` describe.
fn batch_request<'py>(
    py: Python<'py>,
    inputs: &Bound<'py, PyAny>,
    out: PathBuf,
    options: &Bound<'py, PyDict>,
) -> PyResult<(BatchRequest, OpenArguments)> {
    let options = Options::new(options)?;
    let format = output_format(&options, None, OutputFormat::Parquet)?;
    let mut batch =
        BatchRequest::new(paths(inputs)?, out).with_strictness(options.strictness()?);
    if options.flag("overwrite")? {
        batch = batch.with_reconversion();
    }
    if let Some((index, count)) = options.take::<(u32, u32)>("shard")? {
        let shard = Shard::new(index, count);
        if let Some(shard) = shard.map_err(|err| to_python(py, &err, None))? {
            batch = batch.with_shard(shard);
        }
    }
    if let Some(bytes) = options.take("memory_bytes")? {
        batch = batch.with_memory_bytes(bytes);
    }
    if options.flag("analysis")? {
        batch = batch.with_analysis();
    }
    if options.flag("json_lines_catalog")? {
        batch = batch.with_json_lines_catalog();
    }
    let (request, arguments) = conversion(py, options, format)?;
    Ok((batch.with_conversion(request), arguments))
}

/// Starts to convert many logs to one dataset.
#[pyfunction]
pub(crate) fn start_batch<'py>(
    py: Python<'py>,
    inputs: &Bound<'py, PyAny>,
    out: PathBuf,
    options: &Bound<'py, PyDict>,
) -> PyResult<Job> {
    let (batch, arguments) = batch_request(py, inputs, out, options)?;
    start(py, "batch", arguments, None, move |session, meter| {
        let report = batch.with_progress(Arc::clone(meter) as _).run(session)?;
        check_stopped(session)?;
        finish_dataset(report, meter)
    })
}

/// Starts to find the tables that a batch makes of its logs. The result is JSON.
#[pyfunction]
pub(crate) fn start_table_survey<'py>(
    py: Python<'py>,
    inputs: &Bound<'py, PyAny>,
    out: PathBuf,
    options: &Bound<'py, PyDict>,
) -> PyResult<Job> {
    let (batch, arguments) = batch_request(py, inputs, out, options)?;
    start(py, "batch", arguments, None, move |session, meter| {
        let batch = batch.with_progress(Arc::clone(meter) as _);
        let survey = batch.survey_tables(session)?.to_json()?;
        check_stopped(session)?;
        Ok(Box::new(move |py| survey.into_py_any(py)))
    })
}

/// Starts to assign the topics of `surveys`, the results of [`start_table_survey`], to tables.
#[pyfunction]
pub(crate) fn start_table_assignment<'py>(
    py: Python<'py>,
    inputs: &Bound<'py, PyAny>,
    out: PathBuf,
    surveys: Vec<String>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Job> {
    let (batch, arguments) = batch_request(py, inputs, out, options)?;
    start(py, "batch", arguments, None, move |session, _| {
        let surveys: Result<Vec<TableSurvey>> =
            surveys.iter().map(|survey| TableSurvey::from_json(survey)).collect();
        batch.assign_tables(surveys?, session)?;
        Ok(Box::new(|py| Ok(py.None())))
    })
}

/// Starts to describe many logs in a catalog.
#[pyfunction]
pub(crate) fn start_index<'py>(
    py: Python<'py>,
    inputs: &Bound<'py, PyAny>,
    out: PathBuf,
    options: &Bound<'py, PyDict>,
) -> PyResult<Job> {
    let options = Options::new(options)?;
    let by_name = || match out.extension().and_then(|end| end.to_str()) {
        Some("csv") => CatalogFormat::Csv,
        Some("jsonl" | "json") => CatalogFormat::JsonLines,
        _ => CatalogFormat::Parquet,
    };
    let format = options.choice("format")?.unwrap_or_else(by_name);
    let mut index = IndexRequest::new(paths(inputs)?, &out)
        .with_format(format)
        .with_strictness(options.strictness()?);
    if options.flag("analysis")? {
        index = index.with_analysis();
    }
    if options.flag("overwrite")? {
        index = index.with_replacement();
    }
    let arguments = options.finish(py)?;
    index = index.with_lidar(arguments.lidar.clone());
    start(py, "index", arguments, None, move |session, meter| {
        let report = index.with_progress(Arc::clone(meter) as _).run(session)?;
        check_stopped(session)?;
        finish_dataset(report, meter)
    })
}
