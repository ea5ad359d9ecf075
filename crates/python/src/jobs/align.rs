//! The offset between the clocks of two logs.

use std::path::{Path, PathBuf};

use logtool::align::{Align, AlignInput};
use pyo3::{IntoPyObjectExt as _, prelude::*, types::PyDict};

use crate::{
    arguments::options::Options,
    jobs::start,
    runtime::job::{Finish, Job},
};

/// The offset between the clocks of two logs.
#[pyclass(frozen, module = "logtool", get_all)]
pub(crate) struct Alignment {
    /// The path of the log whose clock is kept.
    pub(super) first: String,
    /// The path of the other log.
    pub(super) second: String,
    /// Whether the signals fit.
    pub(super) aligned: bool,
    /// Why the result is doubtful, one sentence each.
    pub(super) doubts: Vec<String>,
    /// The nanoseconds to add to times of the second log.
    pub(super) offset_ns: i64,
    /// The time on the clock of the second log at which the offset is right, in nanoseconds.
    pub(super) reference_ns: i64,
    /// How much faster the first clock runs, in parts per million.
    pub(super) drift_ppm: f64,
    /// Whether the drift is known.
    pub(super) drift_known: bool,
    /// The correlation of the signals, at most 1.
    pub(super) correlation: f64,
    /// The estimated error of the offset in seconds.
    pub(super) offset_error_s: f64,
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
            drift_known: estimate.confidence.is_drift_known(),
            correlation: estimate.confidence.correlation,
            offset_error_s: estimate.confidence.offset_error_seconds,
        };
        Ok(Box::new(move |py: Python<'_>| result.into_py_any(py)) as Finish)
    })
}
