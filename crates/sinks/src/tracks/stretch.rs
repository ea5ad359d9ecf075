//! Pieces of a track.

use crate::tracks::{fix::Fix, mode::TrackMode};

/// What all of a track has in common.
#[derive(Clone, Debug)]
pub(super) struct About {
    /// The name of the topic.
    pub(super) topic: String,
    /// The name of the log.
    pub(super) log: String,
    /// Whether its times are Unix time.
    pub(super) is_utc: bool,
    /// Where it is from, as JSON; nothing where nobody says.
    pub(super) provenance: Option<String>,
}

/// Fixes that follow on each other, of one mode: at least one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch<'s> {
    pub(super) mode: Option<&'s TrackMode>,
    pub(super) fixes: &'s [Fix],
    /// Whether the mode is another than that of the stretch before, or the first.
    pub(super) is_new_mode: bool,
    /// Whether the first fix is also the last of the stretch before, so that lines touch.
    pub(super) is_joined: bool,
    /// Whether the last fix will also be the first of the next stretch.
    pub(super) is_continued: bool,
}

impl Stretch<'_> {
    /// Whether the stretch before, which has its only fix too, says it all.
    pub(super) fn is_told_already(&self) -> bool {
        self.is_joined && self.fixes.len() == 1 && !self.is_new_mode
    }

    /// When it began and ended, as far as its fixes have times.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        let nanos = || self.fixes.iter().filter_map(|fix| fix.nanos);
        nanos().min().zip(nanos().max())
    }
}
