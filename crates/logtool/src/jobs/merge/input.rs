//! The logs of a request to merge, and corrections of their clocks.

use std::path::{Path, PathBuf};

use logtool_core::{ClockTransform, TimeRange, Timestamp};

/// A log that is merged with others, and the corrections of its clock.
#[derive(Clone, Debug)]
#[must_use]
pub struct MergeInput {
    path: PathBuf,
    /// The nanoseconds to add to the times of the log.
    offset: Option<i64>,
    /// Whether `offset` is the result of an alignment.
    is_aligned: bool,
    drift: Option<ClockDrift>,
    /// Whether an alignment could not determine the drift.
    lacks_drift: bool,
}

/// The drift of the clock of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockDrift {
    /// The correction in parts per million: this fraction of the time since `reference` is added to
    /// each time.
    pub ppm: f64,
    /// The time on the clock of the log to which nothing is added. The default is the time of its
    /// first record.
    pub reference: Option<Timestamp>,
}

impl MergeInput {
    /// Creates an input without corrections: a path, a URL, or `-` for standard input.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { path, offset: None, is_aligned: false, drift: None, lacks_drift: false }
    }

    /// Adds `nanos` nanoseconds to the times of the log. The result is on the clock of the
    /// first input without an offset.
    pub fn with_offset(mut self, nanos: i64) -> Self {
        self.offset = Some(nanos);
        self
    }

    /// Corrects the drift of the clock of the log.
    pub fn with_drift(mut self, drift: ClockDrift) -> Self {
        self.drift = Some(drift);
        self
    }

    /// Applies the result of an alignment with the first input without an offset: an offset
    /// in nanoseconds, and the drift if it is known well enough.
    pub fn with_alignment(mut self, offset: i64, drift: Option<ClockDrift>) -> Self {
        self.offset = Some(offset);
        self.is_aligned = true;
        self.drift = drift.or(self.drift);
        self.lacks_drift = drift.is_none();
        self
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn offset(&self) -> Option<i64> {
        self.offset
    }

    /// Returns whether the offset is the result of an alignment.
    pub(super) fn is_aligned(&self) -> bool {
        self.is_aligned
    }

    /// Returns whether an alignment could not determine the drift.
    pub(super) fn lacks_drift(&self) -> bool {
        self.lacks_drift
    }

    /// Returns the transform that corrects the drift of a log with records in `time_range`.
    pub(super) fn drift_correction(
        &self,
        time_range: Option<TimeRange>,
    ) -> Option<ClockTransform> {
        let ClockDrift { ppm, reference } = self.drift?;
        let log_start = time_range.map_or(Timestamp::default(), |range| range.start);
        Some(ClockTransform::default().with_drift(ppm, reference.unwrap_or(log_start)))
    }
}

impl From<&str> for MergeInput {
    fn from(path: &str) -> Self {
        Self::new(path)
    }
}

impl From<&Path> for MergeInput {
    fn from(path: &Path) -> Self {
        Self::new(path)
    }
}

impl From<PathBuf> for MergeInput {
    fn from(path: PathBuf) -> Self {
        Self::new(path)
    }
}
