//! What is wrong with a log, or odd: in words for people, and by a code for programs.

use std::{collections::HashMap, fmt, ops::Range};

use crate::{time::TimeRange, topic::TopicId};

/// A sort of finding. The name never changes, so that scripts may ask for it.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// Short, in lower case, from the general to the special: `time.back`.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it means, in one sentence without a full stop.
    pub meaning: &'static str,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It is good to know.
    Note,
    /// It is not as it should be, and nothing is lost by it.
    Warning,
    /// Something is lost, or is by a program that believes what the log says.
    Error,
}

impl Severity {
    /// As it is written: `error`.
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

/// What a reader remarks in words only.
pub(crate) static REMARK: Code = Code {
    name: "log.remark",
    severity: Severity::Note,
    meaning: "something odd that the reader of the format remarks in words",
};

/// Something that was found, once or more often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What sort of thing.
    pub code: &'static Code,
    /// What exactly: of the first, if there are several.
    pub text: String,
    /// Where in the file the first is, if that can be said.
    pub bytes: Option<Range<u64>>,
    /// The topic that it is about, if it is one.
    pub topic: Option<TopicId>,
    /// When, from the first to the last.
    pub time: Option<TimeRange>,
    /// How many there are.
    pub count: u64,
}

impl Finding {
    /// One finding.
    pub fn new(code: &'static Code, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { code, text, bytes: None, topic: None, time: None, count: 1 }
    }

    /// The same, of these bytes of the file.
    #[must_use]
    pub fn at(mut self, bytes: Range<u64>) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// The same, about `topic`.
    #[must_use]
    pub fn of(mut self, topic: impl Into<Option<TopicId>>) -> Self {
        self.topic = topic.into();
        self
    }

    /// The same, at this time.
    #[must_use]
    pub fn during(mut self, time: impl Into<Option<TimeRange>>) -> Self {
        self.time = time.into();
        self
    }

    /// The same, being so many.
    #[must_use]
    pub fn times(mut self, count: u64) -> Self {
        self.count = count;
        self
    }
}

/// Findings, in the order in which they were found. Those of one code and topic are
/// one, with a count: a million of them take no more room.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    places: HashMap<(&'static str, Option<TopicId>), usize>,
}

impl Findings {
    /// Adds `finding`, or adds it up with those of its code and topic.
    pub fn add(&mut self, finding: Finding) {
        if finding.code == &REMARK {
            return self.list.push(finding); // each says something else
        }
        let place = (finding.code.name, finding.topic);
        match self.places.get(&place).and_then(|place| self.list.get_mut(*place)) {
            None => {
                self.places.insert(place, self.list.len());
                self.list.push(finding);
            }
            Some(known) => {
                known.count = known.count.saturating_add(finding.count);
                known.time = match (known.time, finding.time) {
                    (Some(a), Some(b)) => Some(a.cover(&b)),
                    (a, b) => a.or(b),
                };
            }
        }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All findings.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.list.iter()
    }

    /// How many findings of `severity` there are, each counted.
    pub fn count(&self, severity: Severity) -> u64 {
        let alike = self.list.iter().filter(|f| f.code.severity == severity);
        alike.fold(0, |count, finding| count.saturating_add(finding.count))
    }

    /// The worst that was found.
    pub fn worst(&self) -> Option<Severity> {
        self.list.iter().map(|finding| finding.code.severity).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    static ODD: Code =
        Code { name: "test.odd", severity: Severity::Note, meaning: "it is odd" };
    static BAD: Code =
        Code { name: "test.bad", severity: Severity::Error, meaning: "it is bad" };

    #[test]
    fn a_million_alike_are_one_with_a_count() {
        let mut findings = Findings::default();
        for nanos in 0..1_000_000 {
            let time = TimeRange::just(Timestamp::from_nanos(nanos));
            findings.add(Finding::new(&ODD, format!("number {nanos}")).during(time));
        }
        findings.add(Finding::new(&ODD, "of a topic").of(TopicId(3)));
        findings.add(Finding::new(&BAD, "bad").at(7..9));
        let told: Vec<_> =
            findings.iter().map(|f| (f.code.name, f.count, &*f.text)).collect();
        let want = [
            ("test.odd", 1_000_000, "number 0"),
            ("test.odd", 1, "of a topic"),
            ("test.bad", 1, "bad"),
        ];
        assert_eq!(told, want);
        let time = findings.iter().next().and_then(|f| f.time).unwrap();
        assert_eq!(time.end.as_nanos(), 1_000_000);
        assert_eq!(findings.worst(), Some(Severity::Error));
        assert_eq!(findings.count(Severity::Note), 1_000_001);
    }
}
