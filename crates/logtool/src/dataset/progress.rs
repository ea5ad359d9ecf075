//! The progress of a batch or an index.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::dataset::report::LogReport;

/// Receives the progress of a [`BatchRequest`](crate::dataset::BatchRequest) or an
/// [`IndexRequest`](crate::dataset::IndexRequest).
///
/// The methods do nothing by default. Several threads call [`add_bytes`](Self::add_bytes) and
/// [`skip_bytes`](Self::skip_bytes); the thread of the caller calls the others.
pub trait DatasetProgress: Send + Sync {
    /// Receives the size of the work, once, before the first log is read.
    fn start(&self, plan: &DatasetPlan) {
        let _ = plan;
    }

    /// Receives the number of bytes of logs that were processed since the last call.
    fn add_bytes(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Receives the length of a log that does not have to be read again. It is a part of
    /// [`DatasetPlan::bytes`].
    fn skip_bytes(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Receives the result of a log, as soon as it is finished.
    fn finish_log(&self, log: &LogReport) {
        let _ = log;
    }
}

/// Shows no progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoDatasetProgress;

impl DatasetProgress for NoDatasetProgress {}

/// The size of the work of a batch or an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatasetPlan {
    /// The number of logs.
    pub logs: u64,
    /// The length of all logs together.
    pub bytes: u64,
    /// The limit of memory in bytes, if the requested limit was raised to it because the
    /// longest log needs that much.
    pub raised_memory_bytes: Option<u64>,
}

/// The progress of one log.
pub(super) struct LogProgress<'p> {
    progress: &'p dyn DatasetProgress,
    bytes: u64,
    reported: AtomicU64,
}

impl<'p> LogProgress<'p> {
    /// Creates the progress of a log of `bytes` bytes.
    pub(super) fn new(progress: &'p dyn DatasetProgress, bytes: u64) -> Self {
        Self { progress, bytes, reported: AtomicU64::new(0) }
    }

    /// Adds bytes that were processed. At most the length of the log is reported.
    pub(super) fn add(&self, bytes: u64) {
        let before = self.reported.fetch_add(bytes, Ordering::Relaxed);
        let after = before.saturating_add(bytes).min(self.bytes);
        self.progress.add_bytes(after - before.min(self.bytes));
    }

    /// Reports that the log does not have to be read.
    pub(super) fn skip(&self) {
        self.progress.skip_bytes(self.bytes);
        self.reported.store(self.bytes, Ordering::Relaxed);
    }
}

impl Drop for LogProgress<'_> {
    fn drop(&mut self) {
        self.add(self.bytes);
    }
}
