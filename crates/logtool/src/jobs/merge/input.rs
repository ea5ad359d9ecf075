//! The logs of a request to merge, and corrections of their clocks.

use std::path::{Path, PathBuf};

use logtool_core::{ClockTransform, TimeRange, Timestamp};

/// A log that is merged with others, and the corrections of its clock.
#[derive(Clone, Debug)]
#[must_use]
pub struct MergeInput {
    path: PathBuf,
    offset: Option<i64>,
    is_aligned: bool,
    drift: Option<ClockDrift>,
    lacks_drift: bool,
}

/// The drift of the clock of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockDrift {
    /// The drift in parts per million: the share of the time since the reference that is added.
    pub ppm: f64,
    /// The time on the clock of the log at which nothing is added. The default is its first
    /// record.
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

    /// Returns whether an alignment could not find the drift.
    pub(super) fn lacks_drift(&self) -> bool {
        self.lacks_drift
    }

    /// Returns the shift that corrects the drift of a log with records at `time`.
    pub(super) fn drift_correction(
        &self,
        time: Option<TimeRange>,
    ) -> Option<ClockTransform> {
        let ClockDrift { ppm, reference } = self.drift?;
        let start = time.map_or(Timestamp::default(), |time| time.start);
        Some(ClockTransform::default().with_drift(ppm, reference.unwrap_or(start)))
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
