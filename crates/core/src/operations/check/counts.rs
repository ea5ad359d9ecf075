//! Comparing the counts and times that a log declares with its records.

use crate::{
    log::Log,
    model::{
        finding::{Finding, FindingCode, Findings},
        manifest::{Manifest, Part},
        time::TimeRange,
        topic::{TopicId, TopicOrigin},
    },
    operations::check::damage::DamageSummary,
    record::block::RecordHeader,
};

pub(super) static RECORDS: FindingCode = FindingCode::error(
    "count.records",
    "the log declares another number of records of a topic than it has",
);
pub(super) static OUTSIDE: FindingCode = FindingCode::error(
    "part.outside",
    "a part contains records of topics or times that the log does not declare for it; \
     readers that select these miss them",
);
pub(super) static OVERLAP: FindingCode = FindingCode::note(
    "part.overlap",
    "a part begins before the previous one ends; reading in time order needs both at \
     once",
);

/// Counts the records of each topic.
pub(super) struct RecordCounts {
    records: Vec<u64>,
    /// The number of records in the current part that the log does not declare for it.
    undeclared: u64,
    /// A finding for each part with such records.
    part_findings: Vec<Finding>,
}

impl RecordCounts {
    pub(super) fn new(topic_count: usize) -> Self {
        Self { records: vec![0; topic_count], undeclared: 0, part_findings: Vec::new() }
    }

    /// Starts the next part.
    pub(super) fn start_part(&mut self) {
        self.undeclared = 0;
    }

    #[inline]
    pub(super) fn record(&mut self, part: &Part, record: &RecordHeader) {
        if let Some(records) = self.records.get_mut(record.topic.index()) {
            *records += 1;
        }
        if !part.topics.contains(record.topic) || !part.time.contains(record.time) {
            self.count_undeclared(part, record);
        }
    }

    #[cold]
    fn count_undeclared(&mut self, part: &Part, record: &RecordHeader) {
        let time = TimeRange::from_timestamp(record.time);
        self.undeclared += 1;
        match self.part_findings.last_mut().filter(|_| self.undeclared > 1) {
            Some(entry) => {
                entry.count += 1;
                entry.time = entry.time.map(|range| range.cover(&time));
            }
            None => {
                let text =
                    "a part contains records that the log does not declare for it";
                let finding =
                    Finding::new(&OUTSIDE, text).with_bytes(part.bytes.clone());
                self.part_findings.push(finding.with_time(time));
            }
        }
    }

    pub(super) fn report(
        self,
        manifest: &Manifest,
        damage: &DamageSummary,
        findings: &mut Findings,
    ) {
        for (id, topic) in manifest.topics() {
            let Some(declared) = topic.records else { continue };
            if topic.origin == TopicOrigin::Derived {
                continue;
            }
            let read = self.records.get(id.index()).copied().unwrap_or(0);
            if let Some(text) = count_difference(declared, read, id, damage) {
                findings.add(Finding::new(&RECORDS, text).with_topic(id));
            }
        }
        self.part_findings.into_iter().for_each(|finding| findings.add(finding));
    }
}

/// Returns a message if the declared and the actual number of records differ by more than
/// the damage explains.
fn count_difference(
    declared: u64,
    read: u64,
    id: TopicId,
    damage: &DamageSummary,
) -> Option<String> {
    let max_records = read.saturating_add(damage.lost_records(id));
    let is_explained = (read..=max_records).contains(&declared)
        || declared > max_records && damage.has_uncounted_losses();
    if is_explained {
        return None;
    }
    Some(format!("the log declares {declared} records, but has {read}"))
}

/// Adds findings for the parts that start before the end of the previous part.
pub(super) fn report_overlaps(log: &dyn Log, findings: &mut Findings) {
    let parts = log.manifest().parts.iter().zip(log.part_times());
    let part_times =
        parts.filter(|(_, time)| *time != TimeRange::ALL && !time.is_empty());
    let mut previous: Option<TimeRange> = None;
    for (part, time) in part_times {
        if let Some(previous) = previous {
            let overlap =
                TimeRange { start: time.start, end: previous.end.min(time.end) };
            // Some logs are slightly out of order everywhere, which is not reported.
            let shorter_nanos = previous.span_nanos().min(time.span_nanos());
            if overlap.start < overlap.end && overlap.span_nanos() > shorter_nanos / 4 {
                let text = "a part begins before the previous one ends";
                let finding =
                    Finding::new(&OVERLAP, text).with_bytes(part.bytes.clone());
                findings.add(finding.with_time(overlap));
            }
        }
        previous = Some(time);
    }
}
