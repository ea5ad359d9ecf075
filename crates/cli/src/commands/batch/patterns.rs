//! The patterns of topics and fields that were typed, and whether some log has them.

use std::collections::BTreeSet;

use logtool::convert::ConvertRequest;

/// See the module. Each in words, with its kind before it.
pub(super) struct Patterns {
    topics: BTreeSet<String>,
    fields: BTreeSet<String>,
    /// Those that no log has had so far.
    unused: BTreeSet<String>,
    has_logs: bool,
}

/// The pattern `glob` of topics.
pub(super) fn topic(glob: &str) -> String {
    format!("topic `{glob}`")
}

/// The pattern `glob` of fields.
pub(super) fn field(glob: &str) -> String {
    format!("field `{glob}`")
}

impl Patterns {
    /// Those of `request`, and no logs yet.
    pub(super) fn new(request: &ConvertRequest) -> Self {
        let topics = request.topics.iter().map(|glob| topic(glob)).collect();
        let fields = request.columns.iter().map(|glob| field(glob)).collect();
        let unused = BTreeSet::union(&topics, &fields).cloned().collect();
        Self { topics, fields, unused, has_logs: false }
    }

    /// There is a log that has nothing of `missed`, and something of all others.
    pub(super) fn log(&mut self, missed: &[String]) {
        self.has_logs = true;
        self.unused.retain(|pattern| missed.contains(pattern));
    }

    /// Those that no log has, if there are logs.
    pub(super) fn unused(&self) -> impl Iterator<Item = &str> {
        let unused = self.unused.iter().filter(|_| self.has_logs);
        unused.map(String::as_str)
    }

    /// Whether they leave nothing of any log.
    pub(super) fn are_in_vain(&self) -> bool {
        let is_in_vain = |patterns: &BTreeSet<String>| {
            !patterns.is_empty() && patterns.is_subset(&self.unused)
        };
        self.has_logs && (is_in_vain(&self.topics) || is_in_vain(&self.fields))
    }
}
