//! Logs.

pub(crate) mod messages;
pub(crate) mod plot;
pub(crate) mod source;
pub(crate) mod topic;

use logtool::{
    Strictness,
    flight::AnalysisScope,
    plot::{AxisLimits, PlotRequest},
    time::clock::{ShownClock, TimeChoice},
};
use logtool_core::{TimeRange, TopicOrigin};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

use crate::{
    arguments::{
        Names, OpenArguments, names,
        times::{self, TimeArgument},
    },
    damage::Damage,
    error::to_python,
    log::{messages::Messages, plot::Plot, source::LogInput, topic::Topic},
    runtime::{call::Call, process::Owner},
    table::{Table, TableClock, series},
};

/// Opens a log: a path, a URL, bytes, or a binary file object.
///
/// The keywords are `key` for encrypted logs (the private key of a ULog in PEM format; 16 bytes or
/// 32 hexadecimal digits for a bag), `utc_start`, `input_format`, `time_column` of CSV and Parquet
/// files (`"name"` or `"name:ms"`), `record_limit` in bytes, `strict_index`, `read_anyway`,
/// `remote_timeout` in seconds, `remote_min_rate` in bytes per second; for lidars `calibration` (a
/// path), `model`, `formula`, `axes`, `cut`, `lidar_clock`. They have the meaning of the options of the command with the same names.
#[pyfunction]
#[pyo3(signature = (input, **options))]
pub(crate) fn open(
    py: Python<'_>,
    input: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Log> {
    let arguments = OpenArguments::new(py, options)?;
    let input = LogInput::new(input)?;
    let call = Call::new(arguments.session(), Some(input.name()));
    let log = call.run(py, || {
        let (session, lidar) = (call.session(), &arguments.lidar);
        match input {
            LogInput::Path(path) => logtool::Log::open_with(path, session, lidar),
            LogInput::Source(name, source) => {
                logtool::Log::from_source_with(&name, source, session, lidar)
            }
        }
    })?;
    Ok(Log { log, arguments, owner: Owner::new() })
}

/// The lower and the upper limit of an axis, if they are given.
type LimitPair = (Option<f64>, Option<f64>);

/// An open log: a mapping from the names of topics to their tables.
#[pyclass(frozen, mapping, module = "logtool")]
pub(crate) struct Log {
    log: logtool::Log,
    arguments: OpenArguments,
    owner: Owner,
}

impl Log {
    /// Returns the process that opened the log.
    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    /// Returns the log of the library.
    pub(crate) fn inner(&self) -> &logtool::Log {
        &self.log
    }

    /// Returns a call about this log.
    pub(crate) fn call(&self) -> Call {
        Call::new(self.arguments.session(), Some(self.log.name().to_owned()))
    }

    fn topic_labels(&self) -> Vec<String> {
        self.log.topics().iter().map(|topic| topic.label().into_owned()).collect()
    }
}

#[pymethods]
impl Log {
    /// The path or the URL.
    #[getter]
    fn path(&self) -> &str {
        self.log.name()
    }

    /// The name of the format, e.g. `"ulog"` or `"rosbag"`.
    #[getter]
    fn format(&self) -> &str {
        &self.log.manifest().format
    }

    /// The description of the log, as `logtool info --json` prints it.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let json =
            self.call().run(py, || Ok(serde_json::to_string(&self.log.info())?))?;
        py.import("json")?.call_method1("loads", (json,))
    }

    /// Analyses the flight in a ULog, and returns what `logtool flight --json` prints. With
    /// `signals`, also spectra and step responses.
    #[pyo3(signature = (*, signals=false))]
    fn analysis<'py>(
        &self,
        py: Python<'py>,
        signals: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let scope =
            if signals { AnalysisScope::Signals } else { AnalysisScope::Flight };
        let call = self.call();
        let json = call.run(py, || {
            let (clock, strictness) = (TimeChoice::Relative, Strictness::Tolerant);
            let flight = self.log.flight(scope, clock, strictness, call.session())?;
            Ok(serde_json::to_string(&flight)?)
        })?;
        py.import("json")?.call_method1("loads", (json,))
    }

    /// The topics, in the order of the file.
    #[getter]
    fn topics(&self) -> Vec<Topic> {
        let ids = self.log.manifest().topics().map(|(id, _)| id);
        ids.map(|id| Topic::new(self.log.clone(), id)).collect()
    }

    /// The metadata of the file.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.info(py)?.get_item("metadata")
    }

    /// The damage that was found when the log was opened. Reading may find more.
    #[getter]
    fn damage(&self) -> Vec<Damage> {
        Damage::from_list(self.log.damage(), self.log.manifest())
    }

    /// Returns the messages of the topics that match `topics`, with undecoded payloads, in the
    /// order of the file. Without `topics`, they are those of all topics that the file has.
    #[pyo3(signature = (topics=None, start=None, end=None))]
    fn messages(
        &self,
        py: Python<'_>,
        topics: Option<Names>,
        start: Option<TimeArgument>,
        end: Option<TimeArgument>,
    ) -> PyResult<Messages> {
        let topics = names(topics);
        self.call().run(py, || {
            self.owner.check_log(self.log.name())?;
            let messages = self.log.messages(&topics, self.range(start, end)?)?;
            Ok(Messages::new(self.log.clone(), messages))
        })
    }

    /// Plots fields, for example `battery_status.voltage_v`, or expressions over time.
    ///
    /// Each item of `panels` is a list of fields that share a panel. Fields with a second unit use
    /// an axis on the right. Each item of `xy` is a list of an expression for x, and of one or more
    /// for y, which are plotted against x. `limits` has a pair of a lower and an upper limit for
    /// each value axis, in the order of the axes, with `None` for no limit. `clock` is
    /// `"relative"`, `"boot"` or `"utc"`, `size` the width and the height in pixels. PX4's flight
    /// modes are in the background, unless `flight_modes` is false. Damage, dropouts and changes of
    /// parameters are marked, unless `marks` is false.
    #[pyo3(signature = (
        *fields, start=None, end=None, clock=None, size=None, flight_modes=true, marks=true,
        panels=None, xy=None, title=None, limits=None
    ))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn plot(
        &self,
        py: Python<'_>,
        fields: Vec<String>,
        start: Option<TimeArgument>,
        end: Option<TimeArgument>,
        clock: Option<TableClock>,
        size: Option<(u32, u32)>,
        flight_modes: bool,
        marks: bool,
        panels: Option<Vec<Vec<String>>>,
        xy: Option<Vec<Vec<String>>>,
        title: Option<String>,
        limits: Option<Vec<Option<LimitPair>>>,
    ) -> PyResult<Plot> {
        let call = self.call();
        let mut request = PlotRequest::new(self.log.name(), fields)
            .with_title(title.unwrap_or_default());
        for panel in panels.unwrap_or_default() {
            request = request.with_panel(panel);
        }
        for plot in xy.unwrap_or_default() {
            let mut expressions = plot.into_iter();
            let x = expressions.next().unwrap_or_default();
            request = request.with_xy(x, expressions);
        }
        let limits = limits.unwrap_or_default().into_iter().map(|limits| {
            let (low, high) = limits.unwrap_or_default();
            AxisLimits::new(low, high)
        });
        let limits: logtool::Result<Vec<AxisLimits>> = limits.collect();
        request = request.with_limits(call.run(py, || limits)?);
        if let Some(start) = start {
            request = request.with_start(start.0);
        }
        if let Some(end) = end {
            request = request.with_end(end.0);
        }
        if let Some(clock) = clock {
            request = request.with_clock(clock.choice());
        }
        if let Some((width, height)) = size {
            request = request.with_size(width, height);
        }
        if !flight_modes {
            request = request.without_flight_modes();
        }
        if !marks {
            request = request.without_marks();
        }
        let session = call.session().clone().with_command("python: plot");
        let plot = call.run(py, || {
            self.owner.check_log(self.log.name())?;
            request.run_on(&self.log, &session)
        })?;
        Plot::new(py, plot)
    }

    /// Computes an expression of fields, for example `deg(yaw(vehicle_attitude.q))`.
    ///
    /// Returns the times, the values and the unit. The values of a vector have a column for each
    /// component. `clock` is that of the times, as in tables.
    #[pyo3(signature = (expression, start=None, end=None, clock=None))]
    fn series<'py>(
        &self,
        py: Python<'py>,
        expression: &str,
        start: Option<TimeArgument>,
        end: Option<TimeArgument>,
        clock: Option<TableClock>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let call = self.call();
        let computed = call.run(py, || {
            self.owner.check_log(self.log.name())?;
            let clock = clock.unwrap_or(TableClock::Log).choice();
            let shown = ShownClock::new(self.log.manifest(), clock)?;
            let time = self.range(start, end)?;
            let computed = self.log.series(expression, time, call.session())?;
            series::batch(&computed.series, &shown)
        })?;
        series::to_python(py, computed)
    }

    /// The last values of the parameters of a ULog, by name; empty for other logs.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let parameters = self.log.manifest().metadata.get("parameters");
        let json =
            parameters.map(|parameters| serde_json::to_string(&parameters.json()));
        let json =
            json.transpose().map_err(|err| PyValueError::new_err(err.to_string()))?;
        let json = json.unwrap_or_else(|| "{}".to_owned());
        py.import("json")?.call_method1("loads", (json,))
    }

    fn __getitem__(&self, py: Python<'_>, topic: &str) -> PyResult<Table> {
        let table = self.log.table(topic);
        let table = table.map_err(|err| to_python(py, &err, Some(self.log.name())))?;
        Ok(Table::new(table, self.owner))
    }

    fn __contains__(&self, topic: &Bound<'_, PyAny>) -> bool {
        let topic: PyResult<String> = topic.extract();
        topic.is_ok_and(|topic| self.log.table(&topic).is_ok())
    }

    fn __len__(&self) -> usize {
        self.log.topics().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.topic_labels().into_pyobject(py)?.call_method0("__iter__")
    }

    /// Returns the names of the topics.
    fn keys(&self) -> Vec<String> {
        self.topic_labels()
    }

    /// Returns the tables of all topics.
    fn values(&self, py: Python<'_>) -> PyResult<Vec<Table>> {
        self.topic_labels().iter().map(|topic| self.__getitem__(py, topic)).collect()
    }

    /// Returns pairs of the name of a topic and its table.
    fn items(&self, py: Python<'_>) -> PyResult<Vec<(String, Table)>> {
        self.topic_labels().into_iter().zip(self.values(py)?).map(Ok).collect()
    }

    fn __repr__(&self) -> String {
        let manifest = self.log.manifest();
        let is_derived =
            |topic: &&logtool_core::Topic| topic.origin == TopicOrigin::Derived;
        let derived = manifest.topics.iter().filter(is_derived).count();
        let topics = manifest.topics.len() - derived;
        format!(
            "<logtool.Log {} ({}), {topics} topics>",
            self.log.name(),
            manifest.format
        )
    }
}

impl Log {
    /// Returns the range of times on the clock of the log.
    pub(crate) fn range(
        &self,
        start: Option<TimeArgument>,
        end: Option<TimeArgument>,
    ) -> logtool::Result<TimeRange> {
        times::range(&self.log, start, end)
    }
}
