//! New logs from parts of a log, damaged logs, and several logs.

use std::path::PathBuf;

use logtool::{
    filter::Filter,
    formats::LogFormat,
    merge::{ClockDrift, Merge, MergeInput},
    output::LogOutput,
    repair::Repair,
    time::typed_time::TypedTime,
};
use logtool_core::Timestamp;
use pyo3::{prelude::*, types::PyDict};

use crate::{
    arguments::{options::Options, times::TimeArgument},
    error::invalid,
    jobs::{Report, align::Alignment, damage_of, start},
    runtime::job::Job,
    split::paths,
};

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
        let damage = damage_of(&mut report.losses);
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
        let damage = damage_of(&mut report.losses);
        Ok(Report::of_log(report.output, damage).finish(report.name, meter))
    })
}

/// Returns a number of seconds, or a duration as text, as nanoseconds.
fn offset(time: TypedTime) -> PyResult<i64> {
    match time {
        TypedTime::Relative(nanos) => Ok(nanos),
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
    let mut merge_inputs: Vec<MergeInput> =
        inputs.iter().map(MergeInput::new).collect();
    let input_index = |name: PathBuf| {
        let index = inputs.iter().position(|input| *input == name);
        index.ok_or_else(|| invalid(format!("{} is not an input", name.display())))
    };
    let offsets: Option<Bound<'_, PyDict>> = options.take("offsets")?;
    for (name, value) in offsets.into_iter().flatten() {
        let index = input_index(name.extract()?)?;
        let time: TimeArgument = value.extract()?;
        merge_inputs[index] = merge_inputs[index].clone().with_offset(offset(time.0)?);
    }
    let drifts: Option<Bound<'_, PyDict>> = options.take("drifts")?;
    for (name, ppm) in drifts.into_iter().flatten() {
        let index = input_index(name.extract()?)?;
        let drift = ClockDrift { ppm: ppm.extract()?, reference: None };
        merge_inputs[index] = merge_inputs[index].clone().with_drift(drift);
    }
    let alignments: Option<Vec<Py<Alignment>>> = options.take("align")?;
    for alignment in alignments.into_iter().flatten() {
        let alignment = alignment.get();
        let index = input_index(PathBuf::from(&alignment.second))?;
        let reference = Some(Timestamp::from_nanos(alignment.reference_ns));
        let drift = ClockDrift { ppm: alignment.drift_ppm, reference };
        let drift = alignment.drift_known.then_some(drift);
        merge_inputs[index] =
            merge_inputs[index].clone().with_alignment(alignment.offset_ns, drift);
    }
    let mut merge = Merge::new(merge_inputs, log_output(&options, out)?)
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
            damage.extend(damage_of(&mut log.losses));
            names.push(log.name);
        }
        Ok(Report::of_log(report.output, damage).finish(names.join(", "), meter))
    })
}
