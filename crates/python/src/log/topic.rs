//! The topics of a log.

use logtool_core::{TimeRange, Timestamp, TopicId, TopicOrigin};
use pyo3::prelude::*;

use crate::{arguments::times, table::schema::Schema};

/// A topic of a log, as the log describes it.
#[pyclass(frozen, module = "logtool")]
pub(crate) struct Topic {
    log: logtool::Log,
    id: TopicId,
}

impl Topic {
    pub(crate) fn new(log: logtool::Log, id: TopicId) -> Self {
        Self { log, id }
    }

    fn topic(&self) -> &logtool_core::Topic {
        &self.log.topics()[self.id.index()]
    }
}

/// Returns the last nanosecond of `time`.
fn last(time: TimeRange) -> Timestamp {
    Timestamp::from_nanos(time.end.as_nanos().saturating_sub(1))
}

#[pymethods]
impl Topic {
    /// The name, with the number of the instance if it is not 0: `sensor_gps.1`.
    #[getter]
    fn name(&self) -> String {
        self.topic().label().into_owned()
    }

    /// The number of the instance among topics of the same name.
    #[getter]
    fn instance(&self) -> u32 {
        self.topic().instance
    }

    /// The name of the type of the records; empty if types have no names.
    #[getter]
    fn r#type(&self) -> &str {
        &self.topic().type_name
    }

    /// The definition of the type in the log.
    #[getter]
    fn definition(&self) -> &str {
        &self.topic().definition
    }

    /// The encoding of the payloads, e.g. `"ulog"`, `"ros1"` or `"cdr"`.
    #[getter]
    fn encoding(&self) -> &str {
        &self.topic().encoding
    }

    /// Whether the records are computed from those of other topics.
    #[getter]
    fn is_derived(&self) -> bool {
        self.topic().origin == TopicOrigin::Derived
    }

    /// The number of records, if it is known.
    #[getter]
    fn records(&self) -> Option<u64> {
        self.topic().records
    }

    /// The number of bytes of the payloads, if it is known.
    #[getter]
    fn bytes(&self) -> Option<u64> {
        self.topic().bytes
    }

    /// The time of the first record: a `datetime` in UTC, or a `timedelta` since the start of
    /// the vehicle; `None` if it is not known.
    #[getter]
    fn start<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let zero = self.log.manifest().clock.zero;
        self.topic()
            .time
            .map(|time| times::to_datetime(py, time.start, zero))
            .transpose()
    }

    /// The time of the last record, like `start`.
    #[getter]
    fn end<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let zero = self.log.manifest().clock.zero;
        self.topic()
            .time
            .map(|time| times::to_datetime(py, last(time), zero))
            .transpose()
    }

    /// The time of the first record in nanoseconds on the clock of the log.
    #[getter]
    fn start_ns(&self) -> Option<i64> {
        self.topic().time.map(|time| time.start.as_nanos())
    }

    /// The time of the last record in nanoseconds on the clock of the log.
    #[getter]
    fn end_ns(&self) -> Option<i64> {
        self.topic().time.map(|time| last(time).as_nanos())
    }

    /// The columns of the table, as the log describes them.
    #[getter]
    fn schema(&self) -> Schema {
        Schema(self.topic().schema.clone())
    }

    fn __repr__(&self) -> String {
        let topic = self.topic();
        let records = topic.records.map_or("?".to_owned(), |count| count.to_string());
        format!(
            "<logtool.Topic {} {}, {records} records>",
            topic.label(),
            topic.type_name
        )
    }
}
