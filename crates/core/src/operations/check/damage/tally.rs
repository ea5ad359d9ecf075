//! The total damage of one kind and topic.

use std::{fmt::Write as _, ops::Range};

use crate::{
    model::{
        damage::{Damage, DamageKind},
        finding::Finding,
        time::{TimeRange, Timestamp},
    },
    operations::check::damage::code,
};

/// The maximum number of separate byte ranges and times. Further ones are summed up.
const MAX_RANGES: usize = 1 << 16;

/// All damage of one kind and topic.
#[derive(Debug)]
pub(super) struct DamageTally {
    /// The first damage in the file.
    pub(super) first: Damage,
    records: u64,
    /// The number of lost bytes outside of `byte_ranges`.
    lost_bytes: u64,
    byte_ranges: Vec<Range<u64>>,
    /// The known times of the damage.
    times: Vec<TimeRange>,
}

impl DamageTally {
    /// Creates an empty total. `first` is one of the damages, but is not yet added.
    pub(super) fn new(first: Damage) -> Self {
        Self { first, records: 0, lost_bytes: 0, byte_ranges: vec![], times: vec![] }
    }

    pub(super) fn add(&mut self, damage: &Damage) {
        let Range { start, end } = damage.bytes;
        if start < self.first.bytes.start {
            self.first = damage.clone();
        }
        self.records = self.records.saturating_add(damage.records);
        let is_range_lost = damage.lost_bytes == end.saturating_sub(start);
        let range_count = self.byte_ranges.len();
        match self.byte_ranges.last_mut() {
            Some(last) if is_range_lost && last.start <= start && start <= last.end => {
                last.end = last.end.max(end);
            }
            _ if is_range_lost && range_count < MAX_RANGES => {
                self.byte_ranges.push(start..end)
            }
            _ => self.lost_bytes = self.lost_bytes.saturating_add(damage.lost_bytes),
        }
        let time_count = self.times.len();
        match (damage.time, self.times.last_mut()) {
            (Some(time), Some(last)) if time_count >= MAX_RANGES => {
                *last = last.cover(&time)
            }
            (Some(time), _) => self.times.push(time),
            (None, _) => {}
        }
    }

    /// Describes the total as a finding.
    pub(super) fn finding(mut self) -> Finding {
        self.byte_ranges.sort_by_key(|range| range.start);
        self.times.sort_by_key(|time| time.start);
        // Bytes and times in several ranges are counted once.
        let (mut lost_bytes, mut counted_end) = (self.lost_bytes, 0);
        for Range { start, end } in &self.byte_ranges {
            lost_bytes += end.saturating_sub(counted_end.max(*start));
            counted_end = counted_end.max(*end);
        }
        let (mut lost_nanos, mut counted_end) = (0, Timestamp::MIN);
        for time in &self.times {
            let start = time.start.max(counted_end);
            lost_nanos += TimeRange { start, end: time.end }.span_nanos();
            counted_end = counted_end.max(time.end);
        }
        let time = self.times.iter().copied().reduce(|range, time| range.cover(&time));
        let kind = self.first.kind;
        let damage = Damage {
            records: self.records,
            lost_bytes,
            time: None,
            ..self.first.clone()
        };
        let mut text = damage.description();
        if kind.is_loss() && kind != DamageKind::Undecodable && lost_bytes > 0 {
            let seconds = match lost_nanos {
                0 => String::new(),
                nanos => format!(" and {:.3} s", nanos as f64 / 1e9),
            };
            let unit = if lost_bytes == 1 { "byte" } else { "bytes" };
            // Writing to a string does not fail.
            let _ = write!(text, ", {lost_bytes} {unit}{seconds} lost");
        }
        let count = self.records.max(self.byte_ranges.len() as u64).max(1);
        Finding::new(code(kind), text)
            .with_bytes(self.first.bytes)
            .with_topic(self.first.topic)
            .with_time(time)
            .with_count(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::topic::TopicId;

    #[test]
    fn overlapping_losses_are_counted_once() {
        let garbled = |bytes: Range<u64>, millis: Range<i64>| {
            let nanos = |millis: i64| Timestamp::from_nanos(millis * 1_000_000);
            let time = TimeRange { start: nanos(millis.start), end: nanos(millis.end) };
            let damage = Damage::new(DamageKind::Garbled, bytes);
            Damage { time: Some(time), ..damage.with_records(5, Some(TopicId(1))) }
        };
        let damage = [
            garbled(100..300, 0..1_000),
            garbled(9_000..9_050, 50_000..50_250),
            garbled(9_000..9_050, 50_100..50_350),
        ];
        let mut tally = DamageTally::new(damage[0].clone());
        damage.iter().for_each(|entry| tally.add(entry));
        let finding = tally.finding();
        assert_eq!(
            finding.text,
            "15 records cannot be read, 250 bytes and 1.350 s lost"
        );
        assert_eq!((finding.count, finding.bytes), (15, Some(100..300)));
    }
}
