//! Finding times that run backwards.

use crate::{
    model::{
        finding::{Finding, FindingCode, Findings},
        time::{TimeRange, Timestamp},
        topic::TopicId,
    },
    record::block::RecordHeader,
};

pub(super) static BACK: FindingCode = FindingCode::warning(
    "time.back",
    "a record is older than the one before it, of the same topic",
);
pub(super) static MIXED: FindingCode = FindingCode::note(
    "time.mixed",
    "a record is older than the one before it, of another topic; the file is not in \
     time order",
);

/// Follows the times of a log.
pub(super) struct TimeOrder {
    by_topic: Vec<BackwardSteps>,
    all_topics: BackwardSteps,
}

/// The number of backward steps in time, and the largest one. Each record is compared with the one
/// before it, so that one wrong time in the future does not blame all records after it.
#[derive(Clone)]
struct BackwardSteps {
    /// The time of the record before.
    previous: Timestamp,
    count: u64,
    /// The largest backward step: its length in nanoseconds, its times, and its file
    /// offset.
    largest: (u64, TimeRange, u64),
    /// The times of the first backward step.
    first: Option<TimeRange>,
}

impl TimeOrder {
    pub(super) fn new(topic_count: usize) -> Self {
        let no_steps = BackwardSteps {
            previous: Timestamp::MIN,
            count: 0,
            largest: (0, TimeRange::EMPTY, 0),
            first: None,
        };
        Self { by_topic: vec![no_steps.clone(); topic_count], all_topics: no_steps }
    }

    #[inline]
    pub(super) fn record(&mut self, record: &RecordHeader) {
        let mut is_backward = false;
        if let Some(steps) = self.by_topic.get_mut(record.topic.index()) {
            is_backward = steps.add(record);
        }
        // A step back within a topic is reported for that topic only.
        if is_backward {
            self.all_topics.previous = record.time;
        } else {
            self.all_topics.add(record);
        }
    }

    pub(super) fn report(&self, findings: &mut Findings) {
        for (id, steps) in (0..).map(TopicId).zip(&self.by_topic) {
            if let Some(finding) = steps.finding(&BACK) {
                findings.add(finding.with_topic(id));
            }
        }
        if let Some(finding) = self.all_topics.finding(&MIXED) {
            findings.add(finding);
        }
    }
}

impl BackwardSteps {
    /// Adds the next record. Returns whether it is older than the one before it.
    #[inline]
    fn add(&mut self, record: &RecordHeader) -> bool {
        let previous = std::mem::replace(&mut self.previous, record.time);
        if record.time >= previous {
            return false;
        }
        let step = TimeRange { start: record.time, end: previous };
        let nanos = previous.as_nanos().abs_diff(record.time.as_nanos());
        self.count += 1;
        self.first.get_or_insert(step);
        if nanos > self.largest.0 {
            self.largest = (nanos, step, record.offset);
        }
        true
    }

    fn finding(&self, code: &'static FindingCode) -> Option<Finding> {
        let (nanos, step, offset) = self.largest;
        let first = self.first?;
        let text = format!(
            "{} older than the one before, by {} at most",
            if self.count == 1 { "a record is" } else { "records are" },
            super::period::Nanos(nanos),
        );
        let finding = Finding::new(code, text)
            .with_time(first.cover(&step))
            .with_count(self.count)
            .with_bytes(offset..offset);
        Some(finding)
    }
}
