//! Adds up the progress of a task.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::source::session::{Session, Task};

/// The progress of a task, to which several threads may add.
pub(crate) struct ProgressCounter {
    /// `None` if the progress is not visible.
    task: Option<Box<dyn Task>>,
    done: AtomicU64,
}

impl ProgressCounter {
    /// Starts a task that reads `bytes` bytes of the log called `name`.
    pub(crate) fn for_bytes(session: &Session, name: &str, bytes: u64) -> Self {
        let progress = &session.progress;
        let task = progress.is_visible().then(|| progress.start(name, bytes));
        Self { task, done: AtomicU64::new(0) }
    }

    /// Starts a task that writes `records` records of the logs called `name`.
    pub(crate) fn for_records(session: &Session, name: &str, records: u64) -> Self {
        let progress = &session.progress;
        let is_visible = progress.is_visible();
        let task = is_visible.then(|| progress.start_records(name, records));
        Self { task, done: AtomicU64::new(0) }
    }

    /// Adds `count` bytes or records to the progress.
    pub(crate) fn add(&self, count: u64) {
        if let Some(task) = &self.task {
            let before = self.done.fetch_add(count, Ordering::Relaxed);
            task.set_position(before.saturating_add(count));
        }
    }
}
