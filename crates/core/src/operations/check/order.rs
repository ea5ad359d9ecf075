//! Finding times that run backwards.

use crate::{
    model::{
        finding::{Code, Finding, Findings},
        time::{TimeRange, Timestamp},
        topic::TopicId,
    },
    record::block::RecordHeader,
};

pub(super) static BACK: Code =
    Code::warning("time.back", "a record is older than an earlier one of its topic");
pub(super) static MIXED: Code = Code::note(
    "time.mixed",
    "a record is older than an earlier one of another topic; the file is not in time \
     order",
);

/// Follows the times of a log.
pub(super) struct TimeOrder {
    topics: Vec<BackwardSteps>,
    all_topics: BackwardSteps,
}

/// The number of backward steps in time, and the largest one.
#[derive(Clone)]
struct BackwardSteps {
    latest: Timestamp,
    count: u64,
    /// The largest backward step: its length in nanoseconds, its times, and its file
    /// offset.
    farthest: (u64, TimeRange, u64),
    first: Option<TimeRange>,
}

impl TimeOrder {
    pub(super) fn new(topics: usize) -> Self {
        let none = BackwardSteps {
            latest: Timestamp::MIN,
            count: 0,
            farthest: (0, TimeRange::EMPTY, 0),
            first: None,
        };
        Self { topics: vec![none.clone(); topics], all_topics: none }
    }

    #[inline]
    pub(super) fn record(&mut self, record: &RecordHeader) {
        let mut is_backward = false;
        if let Some(topic) = self.topics.get_mut(record.topic.index()) {
            is_backward = topic.add(record);
        }
        // A step back within a topic is reported for that topic only.
        if !is_backward {
            self.all_topics.add(record);
        }
    }

    pub(super) fn report(&self, findings: &mut Findings) {
        for (id, topic) in (0..).map(TopicId).zip(&self.topics) {
            if let Some(finding) = topic.finding(&BACK) {
                findings.add(finding.with_topic(id));
            }
        }
        self.all_topics
            .finding(&MIXED)
            .into_iter()
            .for_each(|finding| findings.add(finding));
    }
}

impl BackwardSteps {
    /// Adds the next record. Returns whether it is older than an earlier one.
    #[inline]
    fn add(&mut self, record: &RecordHeader) -> bool {
        if record.time >= self.latest {
            self.latest = record.time;
            return false;
        }
        let step = TimeRange { start: record.time, end: self.latest };
        let nanos = self.latest.as_nanos().abs_diff(record.time.as_nanos());
        self.count += 1;
        self.first.get_or_insert(step);
        if nanos > self.farthest.0 {
            self.farthest = (nanos, step, record.offset);
        }
        true
    }

    fn finding(&self, code: &'static Code) -> Option<Finding> {
        let (nanos, step, offset) = self.farthest;
        let first = self.first?;
        let text = format!(
            "{} older than an earlier one, by {} at most",
            if self.count == 1 { "a record is" } else { "records are" },
            super::period::Nanos(nanos),
        );
        let time = first.cover(&step);
        let bytes = offset..offset;
        Some(
            Finding::new(code, text)
                .with_time(time)
                .with_count(self.count)
                .with_bytes(bytes),
        )
    }
}
