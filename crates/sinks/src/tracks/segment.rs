//! Segments of a track.

use crate::tracks::{fix::Fix, mode::TrackMode};

/// The properties of a whole track.
#[derive(Clone, Debug)]
pub(super) struct TrackInfo {
    /// The name of the topic.
    pub(super) topic: String,
    /// The name of the log.
    pub(super) log: String,
    /// Whether its times are Unix time.
    pub(super) is_utc: bool,
    /// The provenance as JSON, if it is known.
    pub(super) provenance: Option<String>,
}

/// Consecutive fixes with the same mode; at least one.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrackSegment<'s> {
    pub(super) mode: Option<&'s TrackMode>,
    pub(super) fixes: &'s [Fix],
    /// Whether the mode differs from that of the previous segment, or the segment is the first.
    pub(super) is_new_mode: bool,
    /// Whether the first fix is also the last of the previous segment, so that the lines touch.
    pub(super) is_joined: bool,
    /// Whether the last fix is also the first of the next segment.
    pub(super) is_continued: bool,
}

impl TrackSegment<'_> {
    /// Returns whether the previous segment already contains the only fix of this one.
    pub(super) fn is_duplicate(&self) -> bool {
        self.is_joined && self.fixes.len() == 1 && !self.is_new_mode
    }

    /// Returns the earliest and the latest time of its fixes.
    pub(super) fn time_span(&self) -> Option<(i64, i64)> {
        let nanos = || self.fixes.iter().filter_map(|fix| fix.nanos);
        nanos().min().zip(nanos().max())
    }
}
