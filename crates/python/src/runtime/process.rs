//! The threads of this process.
//!
//! A process that was forked has only the thread that forked it: the threads of a pool that its
//! parent started do not exist there. So each process has a pool of its own.

use std::{path::Path, process, sync::Arc};

use logtool::{Error, Result, input::url};
use parking_lot::Mutex;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::to_python;

/// The pool and the identifier of the process that started its threads.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Returns the pool of this process, which is created when it is first needed.
pub(crate) fn pool() -> Result<Arc<ThreadPool>> {
    let id = process::id();
    let mut pool = POOL.lock();
    match &*pool {
        Some((owner, pool)) if *owner == id => Ok(Arc::clone(pool)),
        _ => {
            let builder =
                ThreadPoolBuilder::new().thread_name(|n| format!("logtool-{n}"));
            let new = builder.build().map_err(|err| {
                Error::other(format!("the threads cannot be started: {err}"))
            })?;
            let new = Arc::new(new);
            if let Some((_, inherited)) = pool.replace((id, Arc::clone(&new))) {
                // Dropping it would notify threads that do not exist here.
                std::mem::forget(inherited);
            }
            Ok(new)
        }
    }
}

/// The process that started to read something: its threads do not exist in forked processes.
#[derive(Clone, Copy)]
pub(crate) struct Owner(u32);

impl Owner {
    /// Creates the owner that is this process.
    pub(crate) fn new() -> Self {
        Self(process::id())
    }

    /// Returns whether this process is the owner.
    pub(crate) fn is_this_process(self) -> bool {
        self.0 == process::id()
    }

    /// Fails if the log called `name` is on a server, and this process is not the owner: the
    /// threads that fetch it do not exist here.
    pub(crate) fn check_log(self, name: &str) -> Result<()> {
        if url::from_path(Path::new(name)).is_none() || self.is_this_process() {
            return Ok(());
        }
        let error =
            Error::invalid_request("another process has opened this log on a server");
        Err(error.with_hint("open it in this process"))
    }

    /// Fails if this process is not the owner.
    pub(crate) fn check(self, py: Python<'_>) -> PyResult<()> {
        if self.is_this_process() {
            Ok(())
        } else {
            Err(to_python(py, &other_process(), None))
        }
    }
}

/// Returns the error for continuing a read in a forked process that its parent has started.
pub(crate) fn other_process() -> Error {
    Error::invalid_request("another process has started to read this")
        .with_hint("start to read it in this process")
}
