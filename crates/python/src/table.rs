//! Tables and their batches.

pub(crate) mod numpy;
pub(crate) mod schema;
pub(crate) mod series;
pub(crate) mod stream;

use std::sync::Arc;

use arrow_array::{
    Array as _, RecordBatch, StructArray, ffi::FFI_ArrowArray,
    ffi_stream::FFI_ArrowArrayStream,
};
use logtool::{Error, Session, time::clock::TimeChoice};
use logtool_core::{ClockZero, TimeRange};
use parking_lot::Mutex;
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyCapsule, PyDict, PySlice},
};

use crate::{
    arguments::{
        Names,
        times::{self, TimeArgument},
    },
    damage::Damage,
    error::{invalid, to_python},
    runtime::{call::Call, process::Owner},
    table::{
        numpy::NumpyColumns,
        schema::Schema,
        stream::{ReadState, TableReader},
    },
};

/// The records of a topic as a table, which is read when another library takes it.
///
/// It is an Arrow stream that can be opened again: `pyarrow.table(imu)`,
/// `polars.DataFrame(imu)`, `pandas.DataFrame.from_arrow(imu)`, and `FROM imu` in DuckDB.
/// The first column is the time: a timestamp in UTC, or a duration since the start of the
/// vehicle.
#[pyclass(frozen, module = "logtool")]
pub(crate) struct Table {
    base: logtool::Table,
    owner: Owner,
    selection: TableSelection,
    state: Arc<Mutex<ReadState>>,
}

/// The selected columns and times of a table, and their types.
#[derive(Clone)]
struct TableSelection {
    columns: Vec<String>,
    time: TimeRange,
    is_flat: bool,
    clock: Option<TableClock>,
    has_spark_types: bool,
    has_payloads: bool,
}

/// The clock of the times of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableClock {
    /// That of the log.
    Log,
    /// The time since the start of the vehicle.
    Boot,
    /// UTC.
    Utc,
    /// The time since the start of the log.
    Relative,
}

impl<'py> FromPyObject<'_, 'py> for TableClock {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<String>()?.as_str() {
            "log" => Ok(Self::Log),
            "boot" => Ok(Self::Boot),
            "utc" => Ok(Self::Utc),
            "relative" => Ok(Self::Relative),
            _ => Err(invalid("a clock is \"log\", \"boot\", \"utc\" or \"relative\"")),
        }
    }
}

impl TableClock {
    /// Returns the choice of the library.
    pub(crate) fn choice(self) -> TimeChoice {
        match self {
            Self::Log | Self::Boot => TimeChoice::Boot,
            Self::Utc => TimeChoice::Utc,
            Self::Relative => TimeChoice::Relative,
        }
    }
}

impl Table {
    /// Creates the table of all columns and times of `base`, whose log `owner` has opened.
    pub(crate) fn new(base: logtool::Table, owner: Owner) -> Self {
        let selection = TableSelection {
            columns: Vec::new(),
            time: TimeRange::ALL,
            is_flat: false,
            clock: None,
            has_spark_types: false,
            has_payloads: false,
        };
        Self { base, owner, selection, state: Arc::default() }
    }

    /// Returns a call about the log.
    fn call(&self) -> Call {
        Call::new(Session::new(), Some(self.base.log().name().to_owned()))
    }

    /// Returns the table of the library.
    fn table(&self) -> logtool::Result<logtool::Table> {
        let TableSelection {
            columns,
            time,
            is_flat,
            clock,
            has_spark_types,
            has_payloads,
        } = &self.selection;
        let mut table = self.base.clone().with_time(*time).with_typed_times();
        if *has_payloads {
            table = table.with_payloads();
        }
        if *is_flat {
            table = table.with_flat_columns();
        }
        if !columns.is_empty() {
            table = table.with_columns(columns)?;
        }
        if let Some(clock) = clock {
            let zero = table.log().manifest().clock.zero;
            if *clock == TableClock::Boot && zero == ClockZero::Unix {
                let message = "the clock of the log does not start with the vehicle";
                return Err(
                    Error::invalid_request(message).with_hint("its clock is \"log\"")
                );
            }
            table = table.with_clock(clock.choice())?;
        }
        Ok(if *has_spark_types { table.with_spark_types() } else { table })
    }

    /// Returns this table with the selection that `change` has modified.
    fn with_selection(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut TableSelection),
    ) -> PyResult<Self> {
        let mut selection = self.selection.clone();
        change(&mut selection);
        let table = Self {
            base: self.base.clone(),
            owner: self.owner,
            selection,
            state: Arc::default(),
        };
        let _ = self.call().run(py, || table.table())?;
        Ok(table)
    }

    /// Starts to read the table.
    fn reader(&self, py: Python<'_>) -> PyResult<TableReader> {
        self.call().run(py, || {
            let table = self.table()?;
            self.owner.check_log(table.log().name())?;
            let topics = [table.topic()].into_iter().collect();
            let state = Arc::clone(&self.state);
            Ok(TableReader::new(table.log(), topics, table.batches()?, state))
        })
    }
}

#[pymethods]
impl Table {
    /// The name of the topic.
    #[getter]
    fn topic(&self) -> String {
        let manifest = self.base.log().manifest();
        let topic = manifest.topic(self.base.topic());
        topic.map(|topic| topic.label().into_owned()).unwrap_or_default()
    }

    /// The columns.
    #[getter]
    fn schema(&self, py: Python<'_>) -> PyResult<Schema> {
        self.call().run(py, || self.table()?.schema()).map(Schema)
    }

    /// The damage that the last read of the table found.
    #[getter]
    fn damage(&self) -> Vec<Damage> {
        self.state.lock().damage.clone()
    }

    /// Selects the columns that match `columns`, where `*` matches any text, and `?` any character.
    /// The time is always selected.
    fn select(&self, py: Python<'_>, columns: Names) -> PyResult<Self> {
        self.with_selection(py, |selection| selection.columns = columns.0)
    }

    /// Selects the records from `start` to before `end`.
    #[pyo3(signature = (start=None, end=None))]
    fn time(
        &self,
        py: Python<'_>,
        start: Option<TimeArgument>,
        end: Option<TimeArgument>,
    ) -> PyResult<Self> {
        let log = self.base.log();
        let range = self.call().run(py, || times::range(log, start, end))?;
        self.with_selection(py, |selection| {
            let time = &mut selection.time;
            time.start = time.start.max(range.start);
            time.end = time.end.min(range.end).max(time.start);
        })
    }

    /// Makes a column of each number: `q[0]`, `pose.x`.
    fn flat(&self, py: Python<'_>) -> PyResult<Self> {
        self.with_selection(py, |selection| selection.is_flat = true)
    }

    /// Sets the clock of the times: `"log"` is that of the log, `"boot"` the time since the
    /// start of the vehicle, `"utc"` UTC, and `"relative"` the time since the start of the log.
    fn clock(&self, py: Python<'_>, clock: TableClock) -> PyResult<Self> {
        self.with_selection(py, |selection| selection.clock = Some(clock))
    }

    /// Converts the columns to types that Apache Spark reads.
    fn spark(&self, py: Python<'_>) -> PyResult<Self> {
        self.with_selection(py, |selection| selection.has_spark_types = true)
    }

    /// Adds the column `payload` with the bytes of records that cannot be decoded, each a row
    /// with no other value than the time. Without this method, such records have no rows.
    fn payloads(&self, py: Python<'_>) -> PyResult<Self> {
        self.with_selection(py, |selection| selection.has_payloads = true)
    }

    /// Selects times with a slice, or columns with names.
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        if key.is_instance_of::<PySlice>() {
            if !key.getattr("step")?.is_none() {
                return Err(PyTypeError::new_err("a slice of times has no step"));
            }
            let start = key.getattr("start")?.extract()?;
            return self.time(py, start, key.getattr("stop")?.extract()?);
        }
        self.select(py, key.extract()?)
    }

    fn __arrow_c_schema__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        schema::capsule(py, &self.schema(py)?.0)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface permits producers to ignore the requested schema.
        let _ = requested_schema;
        stream(py, self.reader(py)?)
    }

    /// Starts to read the table, and returns an iterator of its batches.
    fn batches(&self, py: Python<'_>) -> PyResult<Batches> {
        Ok(Batches::new(self.reader(py)?))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Batches> {
        self.batches(py)
    }

    /// Reads the table as a dictionary of NumPy arrays, by the name of the column. A field of a
    /// struct has a name such as `header.stamp`. A list of fixed length adds a dimension.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let reader = self.reader(py)?;
        to_numpy(py, reader)
    }

    /// Reads the table as [`read_parts`] does.
    fn _read_parts<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyDict>, Vec<Batch>)> {
        let reader = self.reader(py)?;
        read_parts(py, reader)
    }

    /// Takes the error that ended the last read.
    fn _take_error(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let error = self.state.lock().error.take();
        error.map(|error| error.into_value(py).into_any())
    }

    fn __repr__(&self) -> String {
        format!("<logtool.Table {} of {}>", self.topic(), self.base.log().name())
    }
}

/// Returns the capsule of the Arrow PyCapsule interface for the batches of `reader`.
pub(crate) fn stream(
    py: Python<'_>,
    reader: TableReader,
) -> PyResult<Bound<'_, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// Reads all batches as a dictionary of NumPy arrays. A single batch is not copied.
pub(crate) fn to_numpy(
    py: Python<'_>,
    mut reader: TableReader,
) -> PyResult<Bound<'_, PyDict>> {
    let path = reader.path();
    let (single_batch, columns) = py.detach(|| -> PyResult<_> {
        let mut columns = NumpyColumns::new(reader.schema());
        let mut first = reader.next_batch()?;
        let mut is_single = true;
        while let Some(batch) = reader.next_batch()? {
            for batch in first.take().iter().chain([&batch]) {
                columns.add(batch).map_err(|err| {
                    Python::attach(|py| to_python(py, &err, Some(&path)))
                })?;
            }
            is_single = false;
        }
        Ok((first.filter(|_| is_single), columns))
    })?;
    match single_batch {
        Some(batch) => numpy::of_batch(py, &batch),
        None => columns.into_python(py),
    }
}

/// Reads all batches. Returns the columns of numbers and times as NumPy arrays, and batches of the
/// other columns. The first batch is empty.
pub(crate) fn read_parts(
    py: Python<'_>,
    mut reader: TableReader,
) -> PyResult<(Bound<'_, PyDict>, Vec<Batch>)> {
    let path = reader.path();
    let schema = reader.schema().clone();
    let is_number =
        |index: &usize| numpy::is_number_or_time(schema.field(*index).data_type());
    let (number_columns, other_columns): (Vec<usize>, Vec<usize>) =
        (0..schema.fields().len()).partition(is_number);
    let project = |batch: &RecordBatch, columns: &[usize]| {
        batch.project(columns).map_err(|err| invalid(err.to_string()))
    };
    let empty = RecordBatch::new_empty(schema.clone());
    let (columns, batches) = py.detach(|| -> PyResult<_> {
        let mut columns =
            NumpyColumns::new(&project(&empty, &number_columns)?.schema());
        let mut batches = vec![Batch(project(&empty, &other_columns)?)];
        while let Some(batch) = reader.next_batch()? {
            columns
                .add(&project(&batch, &number_columns)?)
                .map_err(|err| Python::attach(|py| to_python(py, &err, Some(&path))))?;
            if !other_columns.is_empty() {
                batches.push(Batch(project(&batch, &other_columns)?));
            }
        }
        Ok((columns, batches))
    })?;
    Ok((columns.into_python(py)?, batches))
}

/// An iterator of the batches of a table.
#[pyclass(frozen, module = "logtool")]
pub(crate) struct Batches(Mutex<TableReader>);

impl Batches {
    pub(crate) fn new(reader: TableReader) -> Self {
        Self(Mutex::new(reader))
    }
}

#[pymethods]
impl Batches {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let next = py.detach(|| self.0.lock().next_batch())?;
        Ok(next.map(Batch))
    }

    /// The columns.
    #[getter]
    fn schema(&self) -> Schema {
        Schema(self.0.lock().schema().clone())
    }
}

/// Some rows of a table, which other libraries take as an Arrow record batch.
#[pyclass(frozen, module = "logtool")]
pub(crate) struct Batch(RecordBatch);

#[pymethods]
impl Batch {
    /// The columns.
    #[getter]
    fn schema(&self) -> Schema {
        Schema(self.0.schema())
    }

    /// Returns the columns as a dictionary of NumPy arrays, without a copy of numbers.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        numpy::of_batch(py, &self.0)
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __arrow_c_schema__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        schema::capsule(py, &self.0.schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let array = FFI_ArrowArray::new(&StructArray::from(self.0.clone()).to_data());
        Ok((
            self.__arrow_c_schema__(py)?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }

    fn __repr__(&self) -> String {
        format!("<logtool.Batch of {} rows>", self.0.num_rows())
    }
}
