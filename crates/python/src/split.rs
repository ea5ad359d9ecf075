//! Splits: pieces of tables that other processes and machines read.

use std::path::PathBuf;

use logtool::{PlanRequest, translate::MessageTypes};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyTuple, PyType},
};

use crate::{
    arguments::{Names, OpenArguments, names, options, times::TimeArgument},
    error::{invalid, to_python},
    runtime::{call::Call, process::Owner},
    table::{Table, TableClock},
};

/// A piece of the table of one topic of one log, as plain data.
///
/// It can be pickled, and takes a few kilobytes. `read` reads it on any machine that can read the
/// log.
#[pyclass(frozen, module = "logtool", eq)]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Split(logtool::Split);

#[pymethods]
impl Split {
    /// The path or the URL of the log.
    #[getter]
    fn path(&self) -> &str {
        self.0.path()
    }

    /// The name of the format of the log.
    #[getter]
    fn format(&self) -> &str {
        self.0.format()
    }

    /// The name of the topic.
    #[getter]
    fn topic(&self) -> &str {
        self.0.topic()
    }

    /// The number of bytes of the log that are read.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// An estimate of the number of records, if the log states the number of records of its topic.
    #[getter]
    fn records(&self) -> Option<u64> {
        self.0.records()
    }

    /// The range of the times of the records, if it is known: the start and the exclusive end in
    /// nanoseconds on the clock of the log.
    #[getter]
    fn time(&self) -> Option<(i64, i64)> {
        self.0.time().map(|time| (time.start.as_nanos(), time.end.as_nanos()))
    }

    /// Returns the split as JSON, as `logtool plan --json` prints it.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0)
            .map_err(|err| PyValueError::new_err(err.to_string()))
    }

    /// Returns the split that `to_json` or `logtool plan --json` wrote.
    #[classmethod]
    fn from_json(_: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
        let split = serde_json::from_str(text);
        split.map(Self).map_err(|err| PyValueError::new_err(err.to_string()))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let text = slf.get().to_json()?;
        let class = slf.get_type();
        Ok((class.getattr("from_json")?, PyTuple::new(slf.py(), [text])?))
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        (self.0.path(), self.0.topic(), self.0.bytes(), self.time()).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!(
            "<logtool.Split {} of {}, {} bytes>",
            self.topic(),
            self.path(),
            self.bytes()
        )
    }
}

/// Plans splits of the topics of logs: `inputs` are logs, folders, patterns, lists and URLs.
///
/// `topics` and `columns` are patterns, `time` is a pair of a start and an end, `target_bytes` the
/// bytes of a log for each split. `flat`, `clock` and `spark` are as for tables. With `messages`,
/// `"mcap"` or `"bag"`, the tables are those of the messages that `convert` writes to this format:
/// their times, and their bytes in the column `payload`. With `foxglove`, the messages of lidars in
/// MCAP have the types of Foxglove. A log that cannot be opened is an error, unless `failed` is a
/// list, which then gets its exception. Other keywords are those of `open`.
#[pyfunction]
#[pyo3(signature = (
    inputs, topics=None, columns=None, time=None, target_bytes=None, *, flat=false, clock=None,
    spark=false, messages=None, foxglove=false, failed=None, **options
))]
#[allow(clippy::too_many_arguments)] // keywords of Python
pub(crate) fn plan(
    py: Python<'_>,
    inputs: &Bound<'_, PyAny>,
    topics: Option<Names>,
    columns: Option<Names>,
    time: Option<(Option<TimeArgument>, Option<TimeArgument>)>,
    target_bytes: Option<u64>,
    flat: bool,
    clock: Option<TableClock>,
    spark: bool,
    messages: Option<String>,
    foxglove: bool,
    failed: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Split>> {
    let arguments = OpenArguments::new(py, options)?;
    let (start, end) = time.unwrap_or_default();
    let mut request = PlanRequest::new(paths(inputs)?)
        .with_topics(names(topics))
        .with_columns(names(columns))
        .with_time(start.map(|time| time.0), end.map(|time| time.0))
        .with_clock(clock.map_or_else(Default::default, TableClock::choice))
        .with_lidar(arguments.lidar.clone());
    if let Some(bytes) = target_bytes {
        request = request.with_target_bytes(bytes);
    }
    if flat {
        request = request.with_flat_columns();
    }
    if spark {
        request = request.with_spark_types();
    }
    if let Some(format) = options::choice("messages", messages.as_deref())? {
        let types = if foxglove { MessageTypes::Foxglove } else { MessageTypes::Any };
        request = request.with_messages(format, types);
    } else if foxglove {
        return Err(invalid("foxglove needs messages"));
    }
    let call = Call::new(arguments.session(), None);
    let plan = call.run(py, || request.run(call.session()))?;
    for (name, err) in &plan.failed {
        let error = to_python(py, err, Some(name));
        match failed {
            Some(list) => {
                list.call_method1("append", (error.into_value(py),))?;
            }
            None => return Err(error),
        }
    }
    Ok(plan.splits.into_iter().map(Split).collect())
}

/// Returns the table with the rows of `split`.
///
/// The keywords are those of `open`. For example, a key must be given again.
#[pyfunction]
#[pyo3(signature = (split, **options))]
pub(crate) fn read(
    py: Python<'_>,
    split: &Bound<'_, Split>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Table> {
    let arguments = OpenArguments::new(py, options)?;
    let split = &split.get().0;
    let call = Call::new(arguments.session(), Some(split.path().to_owned()));
    call.run(py, || split.table(call.session()))
        .map(|table| Table::new(table, Owner::new()))
}

/// Returns the paths in `inputs`, which is one path or a sequence of paths.
pub(crate) fn paths(inputs: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    if let Ok(path) = inputs.extract::<PathBuf>() {
        return Ok(vec![path]);
    }
    inputs.try_iter()?.map(|path| path?.extract()).collect()
}
