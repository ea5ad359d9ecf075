//! Patterns of topics and fields, and whether any log has a match.

use std::collections::BTreeSet;

use crate::jobs::convert::ConvertRequest;

/// The patterns of a request, and which of them match nothing. A pattern is described as
/// ``topic `gps_*` `` or ``field `lat` ``.
pub(super) struct PatternMatches {
    topics: BTreeSet<String>,
    fields: BTreeSet<String>,
    /// The patterns without a match so far.
    unmatched: BTreeSet<String>,
    has_logs: bool,
}

/// Returns the description of the topic pattern `glob`.
pub(super) fn topic(glob: &str) -> String {
    format!("topic `{glob}`")
}

/// Returns the description of the field pattern `glob`.
pub(super) fn field(glob: &str) -> String {
    format!("field `{glob}`")
}

impl PatternMatches {
    /// Creates the patterns of `request`, without a match.
    pub(super) fn new(request: &ConvertRequest) -> Self {
        let topics = request.topics.iter().map(|glob| topic(glob)).collect();
        let fields = request.columns.iter().map(|glob| field(glob)).collect();
        let unmatched = BTreeSet::union(&topics, &fields).cloned().collect();
        Self { topics, fields, unmatched, has_logs: false }
    }

    /// Adds a log in which all patterns except those in `missed` match something.
    pub(super) fn add_log(&mut self, missed: &[String]) {
        self.has_logs = true;
        self.unmatched.retain(|pattern| missed.contains(pattern));
    }

    /// Returns the patterns that match nothing in any log. Without logs there are none.
    pub(super) fn unmatched_patterns(&self) -> impl Iterator<Item = &str> {
        let unmatched = self.unmatched.iter().filter(|_| self.has_logs);
        unmatched.map(String::as_str)
    }

    /// Returns whether the patterns select nothing in any log.
    pub(super) fn is_selection_empty(&self) -> bool {
        let is_unmatched = |patterns: &BTreeSet<String>| {
            !patterns.is_empty() && patterns.is_subset(&self.unmatched)
        };
        self.has_logs && (is_unmatched(&self.topics) || is_unmatched(&self.fields))
    }
}
