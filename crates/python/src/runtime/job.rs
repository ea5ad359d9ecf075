//! Jobs: long calls that run in the background, while Python waits for them.
//!
//! Python waits in a loop, so that it handles signals and calls the receiver of progress itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    thread,
    time::Duration,
};

use logtool::{
    Error, NoticeLevel, Progress, Result, Session, Stop, Task,
    dataset::{DatasetPlan, DatasetProgress},
};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::{error::to_python, runtime::process};

/// Converts the result of a job to an object of Python.
pub(crate) type Finish = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// A call that runs in the background.
#[pyclass(frozen, module = "logtool")]
pub(crate) struct Job {
    stop: Stop,
    meter: Arc<Meter>,
    path: Option<String>,
    receiver: Mutex<Receiver<Result<Finish>>>,
    result: Mutex<Option<Result<Finish>>>,
}

impl Job {
    /// Starts `work` about the log at `path`.
    pub(crate) fn start(
        py: Python<'_>,
        session: Session,
        path: Option<String>,
        work: impl FnOnce(&Session, &Arc<Meter>) -> Result<Finish> + Send + 'static,
    ) -> PyResult<Self> {
        let (stop, meter) = (Stop::new(), Arc::new(Meter::default()));
        let session = session
            .with_stop(stop.clone())
            .with_progress(Arc::new(MeterProgress(Arc::clone(&meter))));
        let (sender, receiver) = sync_channel(1);
        let job_meter = Arc::clone(&meter);
        let pool = process::pool().map_err(|err| to_python(py, &err, None))?;
        let started = thread::Builder::new().spawn(move || {
            let result = pool.install(|| work(&session, &job_meter));
            // If this fails, the job was dropped.
            let _ = sender.send(result);
        });
        started?;
        let (receiver, result) = (Mutex::new(receiver), Mutex::default());
        Ok(Self { stop, meter, path, receiver, result })
    }
}

#[pymethods]
impl Job {
    /// Waits up to `seconds` for the end. Returns whether the job has ended.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let period = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| {
            let mut result = self.result.lock();
            if result.is_some() {
                return true;
            }
            *result = match self.receiver.lock().recv_timeout(period) {
                Ok(result) => Some(result),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    let message = "a thread of logtool ended unexpectedly";
                    Some(Err(Error::other(message)))
                }
            };
            result.is_some()
        })
    }

    /// Returns the amount that is done, the total and the unit; `None` if they are not known yet.
    fn progress(&self) -> Option<(u64, u64, String)> {
        let task = self.meter.task.lock().clone()?;
        let done = task.done.load(Ordering::Relaxed).min(task.total);
        Some((done, task.total, task.unit.to_owned()))
    }

    /// Ends the job. Its outputs are removed.
    fn stop(&self) {
        self.stop.set();
    }

    /// Returns the result, or raises the error, of a job that has ended.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let result = self.result.lock().take();
        let result = result
            .unwrap_or_else(|| Err(Error::invalid_request("the job has no result")));
        match result {
            Ok(finish) => finish(py),
            Err(err) => Err(to_python(py, &err, self.path.as_deref())),
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.stop.set();
    }
}

/// Receives the progress and the notices of a job.
#[derive(Default)]
pub(crate) struct Meter {
    task: Mutex<Option<TaskProgress>>,
    notices: Mutex<Vec<String>>,
}

/// The progress of the current task.
#[derive(Clone)]
struct TaskProgress {
    done: Arc<AtomicU64>,
    total: u64,
    unit: &'static str,
}

impl Meter {
    /// Returns the warnings and notes so far.
    pub(crate) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.notices.lock())
    }

    fn start(&self, total: u64, unit: &'static str) -> Arc<AtomicU64> {
        let done = Arc::new(AtomicU64::new(0));
        *self.task.lock() = Some(TaskProgress { done: Arc::clone(&done), total, unit });
        done
    }
}

/// Shows the progress of one log.
struct MeterProgress(Arc<Meter>);

struct MeterTask(Arc<AtomicU64>);

impl Task for MeterTask {
    fn set_position(&self, done: u64) {
        self.0.fetch_max(done, Ordering::Relaxed);
    }
}

impl Progress for MeterProgress {
    fn is_visible(&self) -> bool {
        true
    }

    fn start(&self, _: &str, bytes: u64) -> Box<dyn Task> {
        Box::new(MeterTask(self.0.start(bytes, "bytes")))
    }

    fn start_records(&self, _: &str, records: u64) -> Box<dyn Task> {
        Box::new(MeterTask(self.0.start(records, "records")))
    }

    fn notice(&self, _: NoticeLevel, name: &str, text: &str) {
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        self.0.notices.lock().push(format!("{name}{text}"));
    }
}

impl DatasetProgress for Meter {
    fn start(&self, plan: &DatasetPlan) {
        Self::start(self, plan.bytes, "bytes");
    }

    fn add_bytes(&self, bytes: u64) {
        if let Some(task) = &*self.task.lock() {
            task.done.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    fn skip_bytes(&self, bytes: u64) {
        self.add_bytes(bytes);
    }
}
