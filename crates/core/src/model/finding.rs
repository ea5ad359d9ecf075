//! Findings of a check: errors, warnings and notes about a log.

use std::{collections::HashMap, fmt, ops::Range};

use crate::model::{time::TimeRange, topic::TopicId};

/// The kind of a finding. Its name is stable, so that scripts can rely on it.
#[derive(Debug, PartialEq, Eq)]
pub struct FindingCode {
    /// A short lowercase name from the general to the specific, e.g. `time.back`.
    pub name: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The meaning, in one sentence without a full stop.
    pub meaning: &'static str,
}

impl FindingCode {
    /// Creates a code of errors.
    pub const fn error(name: &'static str, meaning: &'static str) -> Self {
        Self { name, severity: Severity::Error, meaning }
    }

    /// Creates a code of warnings.
    pub const fn warning(name: &'static str, meaning: &'static str) -> Self {
        Self { name, severity: Severity::Warning, meaning }
    }

    /// Creates a code of notes.
    pub const fn note(name: &'static str, meaning: &'static str) -> Self {
        Self { name, severity: Severity::Note, meaning }
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Useful information.
    Note,
    /// An anomaly without loss of data.
    Warning,
    /// Data is lost, or a program that trusts the declarations in the log loses data.
    Error,
}

impl Severity {
    /// Returns the lowercase name, e.g. `error`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A remark of the format that has no code of its own.
pub(crate) static REMARK: FindingCode = FindingCode::note(
    "log.remark",
    "the reader of the format reports an anomaly that has no code of its own",
);

/// An error, a warning or a note, found once or several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind.
    pub code: &'static FindingCode,
    /// A description of the finding, or of the first one if there are several.
    pub text: String,
    /// The position of the first occurrence in the file, if it is known.
    pub bytes: Option<Range<u64>>,
    /// The affected topic, if it is a single one.
    pub topic: Option<TopicId>,
    /// The times from the first occurrence to the last.
    pub time: Option<TimeRange>,
    /// The number of occurrences.
    pub count: u64,
}

impl Finding {
    /// Creates a finding with one occurrence.
    pub fn new(code: &'static FindingCode, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { code, text, bytes: None, topic: None, time: None, count: 1 }
    }

    /// Sets the affected bytes of the file.
    #[must_use]
    pub fn with_bytes(mut self, bytes: Range<u64>) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Sets the affected topic.
    #[must_use]
    pub fn with_topic(mut self, topic: impl Into<Option<TopicId>>) -> Self {
        self.topic = topic.into();
        self
    }

    /// Sets the time of the finding.
    #[must_use]
    pub fn with_time(mut self, time: impl Into<Option<TimeRange>>) -> Self {
        self.time = time.into();
        self
    }

    /// Sets the number of occurrences.
    #[must_use]
    pub fn with_count(mut self, count: u64) -> Self {
        self.count = count;
        self
    }
}

/// Findings in the order of discovery. Findings with the same code and topic are one
/// entry with a count, so that a million of them take no more memory.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    entries: Vec<Finding>,
    /// The index of the entry with each code and topic.
    indices: HashMap<(&'static str, Option<TopicId>), usize>,
}

impl Findings {
    /// Adds `finding`, or adds its count to the entry with the same code and topic.
    pub fn add(&mut self, finding: Finding) {
        if finding.code == &REMARK {
            return self.entries.push(finding); // each remark has its own text
        }
        let key = (finding.code.name, finding.topic);
        let index = self.indices.get(&key);
        match index.and_then(|index| self.entries.get_mut(*index)) {
            None => {
                self.indices.insert(key, self.entries.len());
                self.entries.push(finding);
            }
            Some(entry) => {
                entry.count = entry.count.saturating_add(finding.count);
                entry.time = match (entry.time, finding.time) {
                    (Some(a), Some(b)) => Some(a.cover(&b)),
                    (a, b) => a.or(b),
                };
            }
        }
    }

    /// Returns whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over all findings.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.entries.iter()
    }

    /// Returns the number of findings with this `severity`, counting each occurrence.
    pub fn count(&self, severity: Severity) -> u64 {
        self.entries
            .iter()
            .filter(|finding| finding.code.severity == severity)
            .fold(0, |sum, finding| sum.saturating_add(finding.count))
    }

    /// Returns the highest severity of all findings.
    pub fn max_severity(&self) -> Option<Severity> {
        self.entries.iter().map(|finding| finding.code.severity).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::time::Timestamp;

    static ANOMALY: FindingCode = FindingCode::note("test.anomaly", "an anomaly");
    static LOSS: FindingCode = FindingCode::error("test.loss", "a loss");

    #[test]
    fn equal_findings_are_one_entry_with_a_count() {
        let mut findings = Findings::default();
        for nanos in 0..1_000_000 {
            let time = TimeRange::from_timestamp(Timestamp::from_nanos(nanos));
            findings
                .add(Finding::new(&ANOMALY, format!("at {nanos} ns")).with_time(time));
        }
        findings.add(Finding::new(&ANOMALY, "of a topic").with_topic(TopicId(3)));
        findings.add(Finding::new(&LOSS, "lost").with_bytes(7..9));
        let summary: Vec<_> =
            findings.iter().map(|f| (f.code.name, f.count, &*f.text)).collect();
        let expected = [
            ("test.anomaly", 1_000_000, "at 0 ns"),
            ("test.anomaly", 1, "of a topic"),
            ("test.loss", 1, "lost"),
        ];
        assert_eq!(summary, expected);
        let time = findings.iter().next().and_then(|f| f.time).unwrap();
        assert_eq!(time.end.as_nanos(), 1_000_000);
        assert_eq!(findings.max_severity(), Some(Severity::Error));
        assert_eq!(findings.count(Severity::Note), 1_000_001);
    }
}
