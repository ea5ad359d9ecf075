//! Calls of the library: without the GIL, on the threads of this process, with progress, and
//! ended by Ctrl-C.

use std::{
    sync::{
        OnceLock,
        mpsc::{RecvTimeoutError, sync_channel},
    },
    thread::{self, ThreadId},
    time::Duration,
};

use logtool::{Error, Result, Session, Stop};
use pyo3::prelude::*;

use crate::{error::to_python, runtime::process};

/// The time between two checks for signals during a call.
const SIGNAL_PERIOD: Duration = Duration::from_millis(50);

/// The thread that handles signals, if it imported this module.
static MAIN_THREAD: OnceLock<ThreadId> = OnceLock::new();

/// Remembers this thread if it is the one that handles signals.
pub(crate) fn remember_main_thread(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    if main.eq(threading.call_method0("get_ident")?)? {
        let _ = MAIN_THREAD.set(thread::current().id());
    }
    Ok(())
}

/// Returns whether this thread handles signals.
fn is_main_thread() -> bool {
    MAIN_THREAD.get() == Some(&thread::current().id())
}

/// Fails if Ctrl-C was pressed. It must be called without the GIL.
pub(crate) fn check_signals() -> PyResult<()> {
    if is_main_thread() { Python::attach(|py| py.check_signals()) } else { Ok(()) }
}

/// A call of the library.
pub(crate) struct Call {
    stop: Stop,
    session: Session,
    /// The path in errors.
    path: Option<String>,
}

impl Call {
    /// Creates a call with the settings `session`, about the log at `path`.
    pub(crate) fn new(session: Session, path: Option<String>) -> Self {
        let stop = Stop::new();
        let session = session.with_stop(stop.clone());
        Self { stop, session, path }
    }

    /// Returns the session of the call.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Runs `work` on the threads of this process, without the GIL. Ctrl-C ends it.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> Result<T> + Send,
    ) -> PyResult<T> {
        let result = py.detach(|| self.run_detached(work))?;
        result.map_err(|err| to_python(py, &err, self.path.as_deref()))
    }

    fn run_detached<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T> + Send,
    ) -> PyResult<Result<T>> {
        let pool = match process::pool() {
            Ok(pool) => pool,
            Err(err) => return Ok(Err(err)),
        };
        let (sender, receiver) = sync_channel(1);
        thread::scope(|scope| {
            scope.spawn(move || {
                // If this fails, the work has panicked, and so does the receiver.
                let _ = sender.send(pool.install(work));
            });
            let mut interrupt = None;
            loop {
                match receiver.recv_timeout(SIGNAL_PERIOD) {
                    Ok(result) => return interrupt.map_or(Ok(result), Err),
                    Err(RecvTimeoutError::Disconnected) => {
                        let message = "a thread of logtool ended unexpectedly";
                        return Ok(Err(Error::other(message)));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if interrupt.is_none()
                    && let Err(err) = check_signals()
                {
                    self.stop.set();
                    interrupt = Some(err);
                }
            }
        })
    }
}
