//! Timestamps, time ranges and clocks.

use serde::{Deserialize, Serialize};

/// A point in time: nanoseconds on the log's [`Clock`].
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The earliest time that can be represented.
    pub const MIN: Self = Self(i64::MIN);
    /// The latest time that can be represented. A later time in a file is clamped to this
    /// value, and becomes null in a column.
    pub const MAX: Self = Self(i64::MAX);

    /// Returns the timestamp `nanos` nanoseconds after the clock's zero.
    #[inline]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Returns the timestamp `micros` microseconds after the clock's zero, or
    /// [`MAX`](Self::MAX) if it is too late for nanoseconds in 64 bits (292 years).
    #[inline]
    pub const fn from_micros(micros: u64) -> Self {
        if micros > (i64::MAX / 1_000) as u64 {
            return Self::MAX;
        }
        Self(micros as i64 * 1_000)
    }

    /// Returns the nanoseconds since the clock's zero.
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Returns the timestamp `nanos` nanoseconds later, clamped to the representable
    /// range. [`MIN`](Self::MIN) and [`MAX`](Self::MAX) stand for unknown times and are
    /// returned unchanged.
    #[must_use]
    pub const fn shifted_by(self, nanos: i64) -> Self {
        match self {
            Self::MIN | Self::MAX => self,
            Self(own_nanos) => Self(own_nanos.saturating_add(nanos)),
        }
    }

    /// Returns the seconds since the clock's zero. The result is rounded, so use it for
    /// display only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// The clock of a log's timestamps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// The instant of timestamp 0.
    pub zero: ClockZero,
    /// The mapping to Unix time, if it is known.
    pub to_unix: Option<ClockFit>,
}

/// The instant at which a clock shows zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockZero {
    /// The Unix epoch.
    #[default]
    Unix,
    /// The start of the device.
    Boot,
    /// The start of the recording program.
    ProgramStart,
}

/// An estimated mapping from a log's clock to Unix time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockFit {
    /// Nanoseconds to add to a timestamp.
    pub offset_nanos: i64,
    /// The median absolute deviation of the observations from the offset, in nanoseconds.
    pub spread_nanos: u64,
    /// The number of observations.
    pub observations: u64,
    /// The observed field, e.g. `vehicle_gps_position.time_utc_usec`.
    pub source: String,
}

/// The half-open range of times `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeRange {
    /// The first time inside the range.
    pub start: Timestamp,
    /// The first time after the range.
    pub end: Timestamp,
}

impl TimeRange {
    /// The range that contains every time.
    pub const ALL: Self = Self { start: Timestamp::MIN, end: Timestamp::MAX };

    /// The empty range: the neutral element of [`cover`](Self::cover).
    pub const EMPTY: Self = Self { start: Timestamp::MAX, end: Timestamp::MIN };

    /// Returns the range `nanos` nanoseconds later. Unbounded ends stay unbounded.
    #[must_use]
    pub const fn shifted_by(self, nanos: i64) -> Self {
        Self { start: self.start.shifted_by(nanos), end: self.end.shifted_by(nanos) }
    }

    /// Returns the shortest range that contains `time`.
    #[inline]
    pub const fn from_timestamp(time: Timestamp) -> Self {
        Self { start: time, end: Timestamp(time.0.saturating_add(1)) }
    }

    /// Returns whether `time` is inside the range. A range that ends at
    /// [`Timestamp::MAX`] includes that time.
    #[inline]
    pub fn contains(&self, time: Timestamp) -> bool {
        self.start <= time && (time < self.end || self.end == Timestamp::MAX)
    }

    /// Returns whether the ranges have a time in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        let starts_before_end =
            |a: &Self, b: &Self| a.start < b.end || b.end == Timestamp::MAX;
        !self.is_empty()
            && !other.is_empty()
            && starts_before_end(self, other)
            && starts_before_end(other, self)
    }

    /// Returns whether the range contains no time.
    pub fn is_empty(&self) -> bool {
        self.start >= self.end && self.end != Timestamp::MAX
    }

    /// Returns the shortest range that covers both ranges.
    #[inline]
    #[must_use]
    pub fn cover(&self, other: &Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Returns the nanoseconds from the first time inside the range to the last.
    pub fn span_nanos(&self) -> u64 {
        let last = self.end.0.saturating_sub(1);
        u64::try_from(i128::from(last) - i128::from(self.start.0)).unwrap_or(0)
    }

    /// Returns the mean rate of `records` records in hertz, if the first and the last of
    /// them are at the ends of the range. Returns `None` for fewer than two records, or
    /// if all have the same time.
    pub fn rate_hz(&self, records: u64) -> Option<f64> {
        let nanos = self.span_nanos();
        (records > 1 && nanos > 0).then(|| (records - 1) as f64 * 1e9 / nanos as f64)
    }
}

impl Default for TimeRange {
    fn default() -> Self {
        Self::ALL
    }
}
