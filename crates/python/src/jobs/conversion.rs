//! Conversions of a log to tables, points, images, tracks, or another format.

use std::path::{Path, PathBuf};

use logtool::{
    Result,
    convert::{
        AsofMerge, Convert, ConvertRequest, Destination, LabelSource, OutputFormat,
    },
    input::url,
    labels,
    series::Derivation,
    translate::MessageTypes,
};
use logtool_sinks::{PointColor, PointsPerFile};
use pyo3::{prelude::*, types::PyDict};

use crate::{
    arguments::{
        OpenArguments,
        options::{Options, age, period},
    },
    error::{invalid, to_python},
    jobs::{Report, damage_of, start},
    runtime::job::Job,
};

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
            damage: damage_of(&mut report.losses),
        };
        Ok(result.finish(report.name, meter))
    })
}

/// Returns the conversion that `options` describe.
pub(super) fn conversion<'py>(
    py: Python<'py>,
    options: Options<'py>,
    format: OutputFormat,
) -> PyResult<(ConvertRequest, OpenArguments)> {
    let mut request = ConvertRequest::new(format)
        .with_topics(options.names("topics")?)
        .with_columns(options.names("columns")?);
    let derived = options.names("derive")?;
    let derived = derived.iter().map(|text| text.parse::<Derivation>());
    let derived = derived.collect::<Result<Vec<Derivation>>>();
    request.derived = derived.map_err(|err| to_python(py, &err, None))?;
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
            let labels = labels::read_folder(&folder);
            let folder = folder.display().to_string();
            let labels = labels.map_err(|err| to_python(py, &err, Some(&folder)))?;
            Some(LabelSource::Labels(labels))
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
    request.intensity_max = options.take("intensity_max")?;
    let arguments = options.finish(py)?;
    request.lidar = arguments.lidar.clone();
    Ok((request, arguments))
}

/// Returns the format that the option `format` or the extension of `out` names, or else `default`.
pub(super) fn output_format(
    options: &Options<'_>,
    out: Option<&Path>,
    default: OutputFormat,
) -> PyResult<OutputFormat> {
    let named = out.filter(|out| !url::is_folder(out));
    let by_name = || named.and_then(OutputFormat::from_file_name).unwrap_or(default);
    Ok(options.choice("format")?.unwrap_or_else(by_name))
}
