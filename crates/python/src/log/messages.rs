//! Messages with their undecoded payloads.

use std::collections::VecDeque;

use parking_lot::Mutex;
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    arguments::times,
    damage::{self, Damage},
    error::to_python,
    runtime::{call::check_signals, process::Owner},
};

/// A message of a log, with its undecoded payload.
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
        let topic = self.log.manifest().topic(self.message.topic);
        topic.map(|topic| topic.label().into_owned()).unwrap_or_default()
    }

    /// The time of recording: a `datetime` in UTC, or a `timedelta` since the start of the
    /// vehicle, with microseconds.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        times::to_datetime(py, self.message.time, self.log.manifest().clock.zero)
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

/// The maximum number of messages that are fetched at once, without the GIL.
const FETCHED_MESSAGES: usize = 256;

/// The number of bytes of messages after which no further ones are fetched at once.
const FETCHED_BYTES: usize = 1 << 20;

/// The messages that are read, and those that Python gets next.
struct Queue {
    messages: logtool::Messages,
    fetched: VecDeque<logtool::Result<logtool::Message>>,
}

impl Queue {
    /// Fetches some messages.
    fn fetch(&mut self) {
        let mut bytes = 0;
        while self.fetched.len() < FETCHED_MESSAGES && bytes < FETCHED_BYTES {
            let Some(next) = self.messages.next() else { return };
            bytes += next.as_ref().map_or(0, |message| message.payload.len());
            self.fetched.push_back(next);
        }
    }
}

/// An iterator of messages, in the order of the file.
#[pyclass(frozen, module = "logtool")]
pub(crate) struct Messages {
    log: logtool::Log,
    owner: Owner,
    queue: Mutex<Queue>,
}

impl Messages {
    pub(crate) fn new(log: logtool::Log, messages: logtool::Messages) -> Self {
        let queue = Queue { messages, fetched: VecDeque::new() };
        Self { log, owner: Owner::new(), queue: Mutex::new(queue) }
    }
}

#[pymethods]
impl Messages {
    /// The damage that was found so far.
    #[getter]
    fn damage(&self) -> Vec<Damage> {
        Damage::from_list(self.queue.lock().messages.damage(), self.log.manifest())
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        self.owner.check(py)?;
        let fetched = self.queue.lock().fetched.pop_front();
        let next = match fetched {
            Some(next) => Some(next),
            None => py.detach(|| -> PyResult<_> {
                let mut queue = self.queue.lock();
                queue.fetch();
                check_signals()?;
                Ok(queue.fetched.pop_front())
            })?,
        };
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
