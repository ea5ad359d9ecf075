//! One table of several topics.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, sync_channel},
    },
    thread,
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool::{
    Error, Session,
    convert::{AsofMerge, ConvertRequest, LabelSource, OutputFormat},
};
use logtool_core::Damage as LogDamage;
use parking_lot::Mutex;
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyDict},
};
use rayon::ThreadPoolBuilder;

use crate::{
    arguments::{
        Names, names,
        options::{age, period},
        times::TimeArgument,
    },
    damage::Damage,
    log::Log,
    runtime::{call::Call, process::Owner},
    table::{
        Batch, Batches, TableClock, read_parts,
        schema::{self, Schema},
        stream,
        stream::{PullBatches, ReadState, TableReader},
        to_numpy,
    },
};

/// Returns one table of several topics of `log`, with `rate` rows per second. A row has the last
/// value of each column at its time or before it.
///
/// Values that are older than `max_age` are missing. `labels` adds columns with the names of
/// values.
#[pyfunction]
#[pyo3(signature = (
    log, topics=None, columns=None, *, rate, max_age=None, start=None, end=None, clock=None,
    labels=false, spark=false
))]
#[allow(clippy::too_many_arguments)] // keywords of Python
pub(crate) fn merge_asof(
    py: Python<'_>,
    log: &Bound<'_, Log>,
    topics: Option<Names>,
    columns: Option<Names>,
    rate: f64,
    max_age: Option<TimeArgument>,
    start: Option<TimeArgument>,
    end: Option<TimeArgument>,
    clock: Option<TableClock>,
    labels: bool,
    spark: bool,
) -> PyResult<MergedTable> {
    let mut merge = AsofMerge::new(period(rate)?);
    merge.max_age = max_age.map(|time| age(time.0)).transpose()?;
    let mut request = ConvertRequest::new(OutputFormat::Arrow)
        .with_topics(names(topics))
        .with_columns(names(columns))
        .with_merge(merge);
    request.start = start.map(|time| time.0);
    request.end = end.map(|time| time.0);
    request.clock = clock.map(TableClock::choice);
    request.labels = labels.then_some(LabelSource::Log);
    let log = log.get();
    let table = log.call().run(py, || {
        log.owner().check_log(log.inner().name())?;
        log.inner().merged_table(&request)
    })?;
    let table = if spark { table.with_spark_types() } else { table };
    Ok(MergedTable {
        table: Arc::new(table),
        owner: log.owner(),
        state: Arc::default(),
    })
}

/// One table of several topics, which is read when another library takes it, like a `Table`.
#[pyclass(frozen, module = "logtool")]
pub(crate) struct MergedTable {
    table: Arc<logtool::convert::MergedTable>,
    owner: Owner,
    state: Arc<Mutex<ReadState>>,
}

impl MergedTable {
    /// Starts to read the table.
    fn reader(&self, py: Python<'_>) -> PyResult<TableReader> {
        let log = self.table.log();
        let call = Call::new(Session::new(), Some(log.name().to_owned()));
        call.run(py, || {
            self.owner.check_log(log.name())?;
            let batches = MergedBatches::start(Arc::clone(&self.table))?;
            let (topics, state) =
                (self.table.topics().clone(), Arc::clone(&self.state));
            Ok(TableReader::new(log, topics, batches, state))
        })
    }
}

#[pymethods]
impl MergedTable {
    /// The columns.
    #[getter]
    fn schema(&self, py: Python<'_>) -> PyResult<Schema> {
        let call = Call::new(Session::new(), Some(self.table.log().name().to_owned()));
        call.run(py, || self.table.schema()).map(Schema)
    }

    /// The damage that the last read of the table found.
    #[getter]
    fn damage(&self) -> Vec<Damage> {
        self.state.lock().damage.clone()
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

    /// Reads the table as a dictionary of NumPy arrays, by the name of the column.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_numpy(py, self.reader(py)?)
    }

    /// Reads the table as [`read_parts`] does.
    fn _read_parts<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyDict>, Vec<Batch>)> {
        read_parts(py, self.reader(py)?)
    }

    /// Takes the error that ended the last read.
    fn _take_error(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let error = self.state.lock().error.take();
        error.map(|error| error.into_value(py).into_any())
    }

    fn __repr__(&self) -> String {
        format!("<logtool.MergedTable of {}>", self.table.log().name())
    }
}

/// The batches of a merged table, which a separate thread reads.
struct MergedBatches {
    schema: SchemaRef,
    receiver: Receiver<RecordBatch>,
    outcome: Arc<Mutex<Option<logtool::Result<Vec<LogDamage>>>>>,
    damage: Vec<LogDamage>,
}

impl MergedBatches {
    fn start(table: Arc<logtool::convert::MergedTable>) -> logtool::Result<Self> {
        let schema = table.schema()?;
        let (sender, receiver) = sync_channel(1);
        let outcome = Arc::new(Mutex::new(None));
        let thread_outcome = Arc::clone(&outcome);
        // It has its own pool, because its thread waits while the channel is full.
        let pool = ThreadPoolBuilder::new().build().map_err(|err| {
            Error::other(format!("the threads cannot be started: {err}"))
        })?;
        thread::Builder::new().spawn(move || {
            let read =
                pool.install(|| table.read(&mut |batch| sender.send(batch).is_ok()));
            *thread_outcome.lock() = Some(read);
            // The sender is dropped here, after the outcome is known.
            drop(sender);
        })?;
        Ok(Self { schema, receiver, outcome, damage: Vec::new() })
    }
}

impl PullBatches for MergedBatches {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next_batch(&mut self) -> Option<logtool::Result<RecordBatch>> {
        if let Ok(batch) = self.receiver.recv() {
            return Some(Ok(batch));
        }
        match self.outcome.lock().take() {
            Some(Ok(damage)) => {
                self.damage = damage;
                None
            }
            Some(Err(err)) => Some(Err(err)),
            None => Some(Err(Error::other("a thread of logtool ended unexpectedly"))),
        }
    }

    fn damage(&self) -> Vec<LogDamage> {
        self.damage.clone()
    }
}
