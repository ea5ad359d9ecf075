//! Records that are there twice.

use std::collections::HashMap;

use crate::{
    block::Record,
    finding::{Code, Finding, Findings, Severity},
    time::{TimeRange, Timestamp},
    topic::TopicId,
};

pub(super) static TWIN: Code = Code {
    name: "record.twin",
    severity: Severity::Warning,
    meaning: "a record that is there twice: of the same topic, time and bytes",
};

/// So many records of a topic and a time are remembered.
const KEPT: usize = 64;

/// Remembers the last records of each stream of each topic.
#[derive(Default)]
pub(super) struct Twins {
    last: HashMap<(TopicId, u32), Last>,
    found: Vec<Finding>,
}

struct Last {
    time: Timestamp,
    sums: Vec<u64>,
}

impl Twins {
    #[inline]
    pub(super) fn record(&mut self, record: &Record<'_>) {
        let sum = sum(record.payload);
        let last = self
            .last
            .entry((record.topic, record.stream))
            .or_insert_with(|| Last { time: record.time, sums: Vec::new() });
        if last.time != record.time {
            last.time = record.time;
            last.sums.clear();
        } else if last.sums.contains(&sum) {
            return self.twin(record);
        }
        if last.sums.len() < KEPT {
            last.sums.push(sum);
        }
    }

    #[cold]
    fn twin(&mut self, record: &Record<'_>) {
        let alike = self.found.iter_mut().find(|f| f.topic == Some(record.topic));
        let time = TimeRange::just(record.time);
        match alike {
            Some(found) => {
                found.count += 1;
                found.time = found.time.map(|all| all.cover(&time));
            }
            None => {
                let bytes = record.offset..record.offset + record.payload.len() as u64;
                let text = "a record is there twice, of the same time and bytes";
                let finding = Finding::new(&TWIN, text).of(record.topic);
                self.found.push(finding.during(time).at(bytes));
            }
        }
    }

    pub(super) fn tell(self, findings: &mut Findings) {
        self.found.into_iter().for_each(|finding| findings.add(finding));
    }
}

/// A number that other bytes hardly have too. (Nobody chooses bytes to fool this: who
/// could has nothing to win.)
fn sum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words
        .iter()
        .fold(bytes.len() as u64, |sum, word| mix(sum, u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)))
}
