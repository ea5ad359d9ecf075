//! When things happened.

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
    /// The earliest time that can be told.
    pub const MIN: Self = Self(i64::MIN);
    /// The latest time that can be told; also what a file's time becomes that lies
    /// beyond it. In a column such a time is null.
    pub const MAX: Self = Self(i64::MAX);

    /// `nanos` after the clock's zero.
    #[inline]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// `micros` after the clock's zero, or [`MAX`](Self::MAX) where that is too late
    /// to be told in nanoseconds (292 years).
    #[inline]
    pub const fn from_micros(micros: u64) -> Self {
        if micros > (i64::MAX / 1_000) as u64 {
            return Self::MAX;
        }
        Self(micros as i64 * 1_000)
    }

    /// Nanoseconds after the clock's zero.
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The time so many nanoseconds later; the earliest and the latest, which stand for
    /// what cannot be told, stay what they are.
    #[must_use]
    pub const fn later(self, nanos: i64) -> Self {
        match self {
            Self::MIN | Self::MAX => self,
            Self(own) => Self(own.saturating_add(nanos)),
        }
    }

    /// Seconds after the clock's zero, for people; never to be computed with.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// What a log's timestamps count from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// The zero of the timestamps.
    pub zero: ClockZero,
    /// How to get from there to Unix time, where that is known.
    pub to_unix: Option<ClockFit>,
}

/// The moment at which a clock shows zero.
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

/// A mapping from a log's clock to Unix time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockFit {
    /// Nanoseconds to add to a timestamp.
    pub offset_nanos: i64,
    /// How far the observations scatter around that: half of them lie closer.
    pub spread_nanos: u64,
    /// How many observations there were.
    pub observations: u64,
    /// What was observed, as `vehicle_gps_position.time_utc_usec`.
    pub source: String,
}

/// The times `start..end`: `end` itself is outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeRange {
    /// The first time inside.
    pub start: Timestamp,
    /// The first time after.
    pub end: Timestamp,
}

impl TimeRange {
    /// All of time.
    pub const ALL: Self = Self { start: Timestamp::MIN, end: Timestamp::MAX };

    /// No time at all: what covering starts from.
    pub const EMPTY: Self = Self { start: Timestamp::MAX, end: Timestamp::MIN };

    /// The same times so many nanoseconds later; what has no end keeps none.
    #[must_use]
    pub const fn later(self, nanos: i64) -> Self {
        Self { start: self.start.later(nanos), end: self.end.later(nanos) }
    }

    /// The shortest range that holds `time`.
    #[inline]
    pub const fn just(time: Timestamp) -> Self {
        Self { start: time, end: Timestamp(time.0.saturating_add(1)) }
    }

    /// Whether `time` is inside. A range that ends at the end of time holds that too.
    #[inline]
    pub fn contains(&self, time: Timestamp) -> bool {
        self.start <= time && (time < self.end || self.end == Timestamp::MAX)
    }

    /// Whether some time may be inside both.
    pub fn overlaps(&self, other: &Self) -> bool {
        let before = |a: &Self, b: &Self| a.start < b.end || b.end == Timestamp::MAX;
        !self.is_empty()
            && !other.is_empty()
            && before(self, other)
            && before(other, self)
    }

    /// Whether no time is inside.
    pub fn is_empty(&self) -> bool {
        self.start >= self.end && self.end != Timestamp::MAX
    }

    /// The shortest range that covers both.
    #[inline]
    #[must_use]
    pub fn cover(&self, other: &Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// From the first time inside to the last, in nanoseconds.
    pub fn span_nanos(&self) -> u64 {
        let last = self.end.0.saturating_sub(1);
        u64::try_from(i128::from(last) - i128::from(self.start.0)).unwrap_or(0)
    }

    /// How often there was one of so many `records`, of which the first and the last are at the
    /// ends of the range; nothing where there are not two, or all are at one time.
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
