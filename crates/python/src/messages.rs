//! Messages with their undecoded payloads.

use parking_lot::Mutex;
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    call::check_signals,
    damage::{self, Damage},
    error::to_python,
    process::Owner,
    times,
};

/// A message as the file has it.
#[pyclass(frozen, module = "logtool")]
pub(crate) struct Message {
    log: logtool::Log,
    message: logtool::Message,
}

#[pymethods]
impl Message {
    /// The name of the topic.
    #[getter]
    fn topic(&self) -> String {
        let topic = self.log.manifest().get(self.message.topic);
        topic.map(|topic| topic.label().into_owned()).unwrap_or_default()
    }

    /// The time of recording: a `datetime` in UTC, or a `timedelta` since the start of the
    /// vehicle, with microseconds.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        times::shown(py, self.message.time, self.log.manifest().clock.zero)
    }

    /// The time of recording in nanoseconds on the clock of the log.
    #[getter]
    fn time_ns(&self) -> i64 {
        self.message.time.as_nanos()
    }

    /// The byte offset of the record in the file; in a compressed chunk, that of the chunk.
    #[getter]
    fn offset(&self) -> u64 {
        self.message.offset
    }

    /// The undecoded payload.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.message.payload)
    }

    fn __repr__(&self) -> String {
        let (topic, bytes) = (self.topic(), self.message.payload.len());
        format!("<logtool.Message {topic} at {} ns, {bytes} bytes>", self.time_ns())
    }
}

/// An iterator of messages, in the order of the file.
#[pyclass(frozen, module = "logtool")]
pub(crate) struct Messages {
    log: logtool::Log,
    owner: Owner,
    messages: Mutex<logtool::Messages>,
}

impl Messages {
    pub(crate) fn new(log: logtool::Log, messages: logtool::Messages) -> Self {
        Self { log, owner: Owner::new(), messages: Mutex::new(messages) }
    }
}

#[pymethods]
impl Messages {
    /// The damage that was found so far.
    #[getter]
    fn damage(&self) -> Vec<Damage> {
        Damage::all(self.messages.lock().damage(), self.log.manifest())
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        self.owner.check(py)?;
        let next = py.detach(|| -> PyResult<_> {
            let next = self.messages.lock().next();
            check_signals()?;
            Ok(next)
        })?;
        match next {
            Some(Ok(message)) => Ok(Some(Message { log: self.log.clone(), message })),
            Some(Err(err)) => Err(to_python(py, &err, Some(self.log.name()))),
            None => {
                damage::warn(py, self.log.name(), &self.damage())?;
                Ok(None)
            }
        }
    }
}
