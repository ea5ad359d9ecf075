//! The outputs that are being written, which an interrupted program removes.
//!
//! Outputs that are not complete are removed when they are dropped. A program that is ended
//! by a signal drops nothing, so it has to [remove](LiveOutputs::abandon) them itself.

use std::{fs, path::PathBuf, sync::Arc};

use logtool_sinks::Outputs;
use parking_lot::Mutex;

/// The outputs that calls of a session are writing.
#[derive(Debug, Default)]
pub struct LiveOutputs(Mutex<Vec<LiveOutput>>);

impl LiveOutputs {
    /// Removes all outputs that are not complete, and then calls `end`, which ends the
    /// program. Until it returns, no output of the session is started or completed.
    pub fn abandon<T>(&self, end: impl FnOnce() -> T) -> T {
        let live = self.0.lock();
        let _abandoned: Vec<_> =
            live.iter().map(|live| live.outputs.abandon()).collect();
        for dir in live.iter().filter_map(|live| live.staging.as_ref()) {
            // A folder that cannot be removed is left behind.
            let _ = fs::remove_dir_all(dir);
        }
        end()
    }

    /// Adds outputs that are being written, and the folder that they are written to, if that
    /// is to be removed.
    pub(crate) fn add(&self, outputs: Arc<Outputs>, staging: Option<PathBuf>) {
        self.0.lock().push(LiveOutput { outputs, staging });
    }

    /// Removes outputs that were completed or dropped. This waits while the program ends.
    pub(crate) fn remove(&self, outputs: &Arc<Outputs>) {
        self.0.lock().retain(|live| !Arc::ptr_eq(&live.outputs, outputs));
    }
}

/// Outputs and a folder to remove.
#[derive(Debug)]
struct LiveOutput {
    outputs: Arc<Outputs>,
    staging: Option<PathBuf>,
}
