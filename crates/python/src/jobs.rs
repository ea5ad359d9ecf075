//! Conversions and copies of logs.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use logtool::{
    Error, Result, Session,
    align::{Align, AlignInput},
    convert::{
        AsofMerge, Convert, ConvertRequest, Destination, LabelSource, OutputFormat,
    },
    dataset::{BatchRequest, CatalogFormat, DatasetReport, IndexRequest, Shard},
    filter::Filter,
    formats::LogFormat,
    input::url,
    labels,
    losses::Findings,
    merge::{ClockDrift, Merge, MergeInput},
    output::{LogOutput, OutputSummary},
    repair::Repair,
    translate::MessageTypes,
};
use logtool_core::Timestamp;
use logtool_sinks::{PointColor, PointsPerFile};
use pyo3::{IntoPyObjectExt as _, prelude::*, types::PyDict};

use crate::{
    arguments::{OpenArguments, invalid},
    damage::{self, Damage},
    error::to_python,
    job::{Finish, Job, Meter},
    options::{Options, age, period},
    split::paths,
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
fn found(losses: &mut Findings) -> Vec<Damage> {
    losses.list().iter().map(Damage::from_finding).collect()
}

impl Report {
    /// Returns how Python gets the report about the log `name`, and a warning about damage.
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

/// Returns the conversion that `options` describe.
fn conversion<'py>(
    py: Python<'py>,
    options: Options<'py>,
    format: OutputFormat,
) -> PyResult<(ConvertRequest, OpenArguments)> {
    let mut request = ConvertRequest::new(format)
        .with_topics(options.names("topics")?)
        .with_columns(options.names("columns")?);
    (request.start, request.end) = (options.time("start")?, options.time("end")?);
    request.clock = options.choice("clock")?;
    request.is_flat = options.flag("flat")?;
    request.layout = options.choice("layout")?;
    let (rate, max_age) = (options.take::<f64>("rate")?, options.time("max_age")?);
    request.merge = match rate {
        Some(hz) => {
            let mut merge = AsofMerge::new(period(hz)?);
            merge.max_age = max_age.map(age).transpose()?;
            Some(merge)
        }
        None if max_age.is_some() => return Err(invalid("max_age needs a rate")),
        None => None,
    };
    let has_labels = options.flag("labels")?;
    request.labels = match options.path("msg_dir")? {
        Some(folder) => {
            let read = labels::read_folder(&folder);
            let folder = folder.display().to_string();
            let read = read.map_err(|err| to_python(py, &err, Some(&folder)))?;
            Some(LabelSource::Labels(read))
        }
        None => has_labels.then_some(LabelSource::Log),
    };
    request.is_csv_safe = options.flag("csv_safe")?;
    request.has_json_infinities = options.flag("keep_infinities")?;
    request.messages = match (options.flag("ros2")?, options.flag("foxglove")?) {
        (true, true) => return Err(invalid("ros2 and foxglove exclude each other")),
        (true, false) => MessageTypes::Ros,
        (false, true) => MessageTypes::Foxglove,
        (false, false) => MessageTypes::Any,
    };
    request.compression = options.choice("compression")?;
    request.point_encoding = options.choice("encoding")?;
    request.points_per_file = match options.take::<String>("per")?.as_deref() {
        None => None,
        Some("scan") => Some(PointsPerFile::Scan),
        Some("log") => Some(PointsPerFile::Log),
        Some(_) => return Err(invalid("per is \"scan\" or \"log\"")),
    };
    request.point_color = match options.take::<String>("color_by")?.as_deref() {
        None => None,
        Some("range") => Some(PointColor::Range),
        Some("height") => Some(PointColor::Height),
        Some("intensity") => Some(PointColor::Intensity),
        Some(_) => {
            return Err(invalid("color_by is \"range\", \"height\" or \"intensity\""));
        }
    };
    request.image_reach_metres = options.take("reach")?;
    let arguments = options.finish(py)?;
    request.lidar = arguments.lidar.clone();
    Ok((request, arguments))
}

/// Returns the format that `format` names, or else the extension of `out`.
fn output_format(
    options: &Options<'_>,
    out: Option<&Path>,
    default: OutputFormat,
) -> PyResult<OutputFormat> {
    let named = out.filter(|out| !url::is_folder(out));
    let by_name = || named.and_then(OutputFormat::from_file_name).unwrap_or(default);
    Ok(options.choice("format")?.unwrap_or_else(by_name))
}

/// Starts a conversion of the log `input`.
#[pyfunction]
pub(crate) fn start_convert<'py>(
    py: Python<'py>,
    input: PathBuf,
    out: PathBuf,
    options: &Bound<'py, PyDict>,
) -> PyResult<Job> {
    let options = Options::new(options)?;
    let format = output_format(&options, Some(&out), OutputFormat::Parquet)?;
    let is_file = !url::is_folder(&out)
        && (format.is_log() || OutputFormat::from_file_name(&out) == Some(format));
    let destination =
        if is_file { Destination::File(out) } else { Destination::Folder(out) };
    let (strictness, overwrite) = (options.strictness()?, options.flag("overwrite")?);
    let (request, arguments) = conversion(py, options, format)?;
    let mut convert =
        Convert::new(&input, destination, request).with_strictness(strictness);
    if overwrite {
        convert = convert.with_replacement();
    }
    start(py, "convert", arguments, Some(&input), move |session, meter| {
        let mut report = convert.run(session)?;
        let mut remarks = report.warnings.clone();
        remarks.extend(report.remarks.iter().chain(&report.notes).cloned());
        remarks.extend(report.empty_reason.clone());
        remarks.extend(report.lidar.warnings.iter().cloned());
        let files = report.files.iter().chain(&report.provenance_file);
        let result = Report {
            files: files.map(|file| file.path.display().to_string()).collect(),
            tables: report.tables,
            rows: report.rows,
            records: report.records,
            bytes: report.bytes(),
            remarks,
            damage: found(&mut report.losses),
        };
        Ok(result.finish(report.name, meter))
    })
}

/// Returns the new log that `options` describe.
fn log_output(options: &Options<'_>, out: PathBuf) -> PyResult<LogOutput> {
    let mut output = LogOutput::new(out);
    if let Some(format) = options.choice::<LogFormat>("format")? {
        output = output.with_format(format);
    }
    if let Some(compression) = options.choice("compression")? {
        output = output.with_compression(compression);
    }
    if options.flag("ros2")? {
        output = output.with_ros2_messages();
    }
    if options.flag("overwrite")? {
        output = output.with_replacement();
    }
    Ok(output)
}

/// Starts to copy some of the log `input`.
#[pyfunction]
pub(crate) fn start_filter<'py>(
    py: Python<'py>,
    input: PathBuf,
    out: PathBuf,
    options: &Bound<'py, PyDict>,
) -> PyResult<Job> {
    let options = Options::new(options)?;
    let mut filter = Filter::new(&input, log_output(&options, out)?)
        .with_strictness(options.strictness()?)
        .with_topics(options.names("topics")?)
        .with_excluded_topics(options.names("exclude")?);
    if let Some(start) = options.time("start")? {
        filter = filter.with_start(start);
    }
    if let Some(end) = options.time("end")? {
        filter = filter.with_end(end);
    }
    if options.flag("latch")? {
        filter = filter.with_latched_records();
    }
    let renames: Option<Bound<'_, PyDict>> = options.take("rename")?;
    for (old, new) in renames.into_iter().flatten() {
        filter = filter
            .with_renamed_topic(old.extract::<String>()?, new.extract::<String>()?);
    }
    if let Some(field) = options.take::<String>("restamp")? {
        filter = filter.with_times_of_field(field);
    }
    start(py, "filter", options.finish(py)?, Some(&input), move |session, meter| {
        let mut report = filter.run(session)?;
        let damage = found(&mut report.losses);
        Ok(Report::of_log(report.output, damage).finish(report.name, meter))
    })
}

/// Starts to recover the log `input`.
#[pyfunction]
pub(crate) fn start_repair<'py>(
    py: Python<'py>,
    input: PathBuf,
    out: PathBuf,
    options: &Bound<'py, PyDict>,
) -> PyResult<Job> {
    let options = Options::new(options)?;
    let mut repair = Repair::new(&input, log_output(&options, out)?)
        .with_strictness(options.strictness()?);
    if options.flag("drop_doubtful")? {
        repair = repair.without_doubtful_records();
    }
    start(py, "repair", options.finish(py)?, Some(&input), move |session, meter| {
        let mut report = repair.run(session)?;
        let damage = found(&mut report.losses);
        Ok(Report::of_log(report.output, damage).finish(report.name, meter))
    })
}

/// Returns a number of seconds, or a duration as text, as nanoseconds.
fn offset(time: logtool::time::typed_time::TypedTime) -> PyResult<i64> {
    match time {
        logtool::time::typed_time::TypedTime::Relative(nanos) => Ok(nanos),
        _ => Err(invalid("an offset is a duration")),
    }
}

/// Starts to merge the logs `inputs`.
#[pyfunction]
pub(crate) fn start_merge<'py>(
    py: Python<'py>,
    inputs: &Bound<'py, PyAny>,
    out: PathBuf,
    options: &Bound<'py, PyDict>,
) -> PyResult<Job> {
    let options = Options::new(options)?;
    let inputs = paths(inputs)?;
    let mut corrected: Vec<MergeInput> = inputs.iter().map(MergeInput::new).collect();
    let of = |name: PathBuf| {
        let index = inputs.iter().position(|input| *input == name);
        index.ok_or_else(|| invalid(format!("{} is not an input", name.display())))
    };
    let offsets: Option<Bound<'_, PyDict>> = options.take("offsets")?;
    for (name, value) in offsets.into_iter().flatten() {
        let index = of(name.extract()?)?;
        let time: crate::times::TimeArgument = value.extract()?;
        corrected[index] = corrected[index].clone().with_offset(offset(time.0)?);
    }
    let drifts: Option<Bound<'_, PyDict>> = options.take("drifts")?;
    for (name, ppm) in drifts.into_iter().flatten() {
        let index = of(name.extract()?)?;
        let drift = ClockDrift { ppm: ppm.extract()?, reference: None };
        corrected[index] = corrected[index].clone().with_drift(drift);
    }
    let alignments: Option<Vec<Py<Alignment>>> = options.take("align")?;
    for alignment in alignments.into_iter().flatten() {
        let alignment = alignment.get();
        let index = of(PathBuf::from(&alignment.second))?;
        let reference = Some(Timestamp::from_nanos(alignment.reference_ns));
        let drift = ClockDrift { ppm: alignment.drift_ppm, reference };
        let drift = alignment.drift_known.then_some(drift);
        corrected[index] =
            corrected[index].clone().with_alignment(alignment.offset_ns, drift);
    }
    let mut merge = Merge::new(corrected, log_output(&options, out)?)
        .with_strictness(options.strictness()?);
    if let Some(start) = options.time("start")? {
        merge = merge.with_start(start);
    }
    if let Some(end) = options.time("end")? {
        merge = merge.with_end(end);
    }
    if options.flag("same_clock")? {
        merge = merge.with_same_clock();
    }
    if options.flag("foxglove")? {
        merge = merge.with_foxglove_messages();
    }
    let arguments = options.finish(py)?;
    merge = merge.with_lidar_options(arguments.lidar.clone());
    start(py, "merge", arguments, None, move |session, meter| {
        let report = merge.run(session)?;
        let (mut damage, mut names) = (Vec::new(), Vec::new());
        for mut log in report.logs {
            damage.extend(found(&mut log.losses));
            names.push(log.name);
        }
        Ok(Report::of_log(report.output, damage).finish(names.join(", "), meter))
    })
}

/// The offset between the clocks of two logs.
#[pyclass(frozen, module = "logtool", get_all)]
pub(crate) struct Alignment {
    /// The path of the log whose clock is kept.
    first: String,
    /// The path of the other log.
    second: String,
    /// Whether the signals fit.
    aligned: bool,
    /// Why the result is doubtful, one sentence each.
    doubts: Vec<String>,
    /// The nanoseconds to add to times of the second log.
    offset_ns: i64,
    /// The time on the clock of the second log at which the offset is right, in nanoseconds.
    reference_ns: i64,
    /// How much faster the first clock runs, in parts per million.
    drift_ppm: f64,
    /// Whether the drift is known.
    drift_known: bool,
    /// The correlation of the signals, at most 1.
    correlation: f64,
    /// The estimated error of the offset in seconds.
    offset_error_s: f64,
}

#[pymethods]
impl Alignment {
    fn __repr__(&self) -> String {
        let seconds = self.offset_ns as f64 / 1e9;
        format!("<logtool.Alignment of {} by {seconds} s>", self.second)
    }
}

/// Starts to find the offset between the clocks of two logs.
#[pyfunction]
pub(crate) fn start_align<'py>(
    py: Python<'py>,
    first: PathBuf,
    second: PathBuf,
    signals: (String, String),
    options: &Bound<'py, PyDict>,
) -> PyResult<Job> {
    let options = Options::new(options)?;
    let input = |path: &Path, signal: String| AlignInput::new(path, signal);
    let align = Align::new(input(&first, signals.0), input(&second, signals.1))
        .with_strictness(options.strictness()?);
    let paths = [&first, &second].map(|path| path.display().to_string());
    start(py, "align", options.finish(py)?, None, move |session, _| {
        let report = align.run(session)?;
        let [first, second] = paths;
        let estimate = &report.estimate;
        let result = Alignment {
            first,
            second,
            aligned: report.is_aligned(),
            doubts: estimate.doubts.clone(),
            offset_ns: estimate.offset_nanos,
            reference_ns: estimate.reference,
            drift_ppm: estimate.drift_ppm,
            drift_known: estimate.confidence.knows_drift(),
            correlation: estimate.confidence.correlation,
            offset_error_s: estimate.confidence.offset_error_seconds,
        };
        Ok(Box::new(move |py: Python<'_>| result.into_py_any(py)) as Finish)
    })
}

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
    damaged: std::collections::BTreeMap<String, String>,
    /// The logs that failed, each with its exception.
    failed: std::collections::BTreeMap<String, Py<PyAny>>,
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

/// Returns how Python gets `report`. An error of the catalog is an exception.
fn finish_dataset(mut report: DatasetReport, meter: &Meter) -> Result<Finish> {
    if let Some(err) = report.catalog_error.take() {
        return Err(err);
    }
    let mut remarks = meter.take_notices();
    let with_count = |(text, summary): (&String, &logtool::dataset::RemarkSummary)| {
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

/// Fails if the job should end: a dataset is then not complete.
fn check_stopped(session: &Session) -> Result<()> {
    if session.is_stopped() { Err(Error::failed("the call was ended")) } else { Ok(()) }
}

/// Starts to convert many logs to one dataset.
#[pyfunction]
pub(crate) fn start_batch<'py>(
    py: Python<'py>,
    inputs: &Bound<'py, PyAny>,
    out: PathBuf,
    options: &Bound<'py, PyDict>,
) -> PyResult<Job> {
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
    if options.flag("json_lines_catalog")? {
        batch = batch.with_json_lines_catalog();
    }
    if options.flag("analysis")? {
        batch = batch.with_analysis();
    }
    let (request, arguments) = conversion(py, options, format)?;
    let batch = batch.with_conversion(request);
    start(py, "batch", arguments, None, move |session, meter| {
        let report = batch.with_progress(Arc::clone(meter) as _).run(session)?;
        check_stopped(session)?;
        finish_dataset(report, meter)
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
    if options.flag("overwrite")? {
        index = index.with_replacement();
    }
    if options.flag("analysis")? {
        index = index.with_analysis();
    }
    let arguments = options.finish(py)?;
    index = index.with_lidar(arguments.lidar.clone());
    start(py, "index", arguments, None, move |session, meter| {
        let report = index.with_progress(Arc::clone(meter) as _).run(session)?;
        check_stopped(session)?;
        finish_dataset(report, meter)
    })
}
