//! Damaged and doubtful data.

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize};

use crate::model::{time::TimeRange, topic::TopicId};

/// A range of the file that could not be read and was skipped, or whose content is
/// doubtful.
///
/// Damage is stored in the [`Block`](crate::Block) with the records around it. It is sent
/// to other threads and machines together with them and cannot be overlooked like a log
/// message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// The kind of damage.
    pub kind: DamageKind,
    /// The affected bytes of the file. For several [`records`](Self::records), the range
    /// that contains all of them.
    pub bytes: Range<u64>,
    /// The number of lost bytes. Usually that is the length of `bytes`. It is less if the
    /// range also contains sound records, or if compressed data is shared with them. For
    /// [extra bytes](DamageKind::ExtraBytes), it is their number. For other kinds that are
    /// not a [loss](DamageKind::is_loss), it is 0.
    #[serde(default)]
    pub lost_bytes: u64,
    /// The number of records known to be lost or doubtful, or 0 if they cannot be
    /// counted.
    pub records: u64,
    /// The topic of the records, if all have the same topic.
    pub topic: Option<TopicId>,
    /// The times before and after the damage, if both are known.
    pub time: Option<TimeRange>,
    /// The reason, if the kind does not explain it: a short phrase, e.g. "the chunk is
    /// compressed with …".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The kind of a [`Damage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DamageKind {
    /// The file, or a section appended to it, ends in the middle of a record.
    Truncated,
    /// These bytes are not a record. Reading continued after them.
    Garbled,
    /// The topic of the record had not been declared before it.
    UnknownTopic,
    /// The record is complete, but its payload does not match the schema of its topic.
    Undecodable,
    /// The record is complete but was dropped, because it would exceed the memory limit.
    OverLimit,
    /// The records were read, but a checksum does not match or is lost, so that they may
    /// be wrong.
    Doubtful,
    /// These bytes belong to a damaged index. No record is lost.
    Index,
    /// The record was read, and contains a string that is not UTF-8. It was decoded as
    /// Latin-1.
    Latin1,
    /// The record was read, and contains a string that ends inside a character of UTF-8.
    /// The character was decoded as U+FFFD.
    IncompleteText,
    /// The record was read, and its payload has trailing bytes that belong to no field.
    /// They are dropped.
    ExtraBytes,
    /// The record was read, and contains a value that does not match the schema of its
    /// topic or cannot be represented. The value is null.
    TypeMismatch,
    /// The record was read, and contains values that are in no column, because no record
    /// that was inspected before the first row had such values. Nothing is wrong with the
    /// record.
    NoColumn,
    /// The record is complete, but in an encoding that is not supported. It is not decoded, so
    /// that only its payload is available.
    Unsupported,
    /// The definition of the topic is damaged or unusable. Its records are complete, but
    /// are only available as bytes.
    Definition,
}

impl DamageKind {
    /// Returns whether data is lost.
    pub const fn is_loss(self) -> bool {
        !matches!(
            self,
            Self::Doubtful
                | Self::Index
                | Self::Latin1
                | Self::IncompleteText
                | Self::ExtraBytes
                | Self::TypeMismatch
                | Self::NoColumn
                | Self::Unsupported
                | Self::Definition
        )
    }

    /// Returns whether the kind describes records that were found in the file, rather than
    /// a range of bytes.
    pub const fn affects_found_records(self) -> bool {
        matches!(
            self,
            Self::Undecodable
                | Self::Latin1
                | Self::IncompleteText
                | Self::ExtraBytes
                | Self::TypeMismatch
                | Self::NoColumn
                | Self::Unsupported
                | Self::Definition
        )
    }

    /// Returns whether the kind describes a record that was read but not decoded, so that
    /// only its payload is available.
    pub const fn keeps_payload(self) -> bool {
        matches!(self, Self::Undecodable | Self::OverLimit | Self::Unsupported)
    }

    /// Returns whether a reader gets other or less data than was recorded.
    pub const fn is_harmful(self) -> bool {
        !matches!(self, Self::Index | Self::Latin1 | Self::IncompleteText)
    }
}

impl Damage {
    /// Creates damage of `kind` in the range `bytes`.
    pub fn new(kind: DamageKind, bytes: Range<u64>) -> Self {
        let damage = Self {
            kind,
            bytes: 0..0,
            lost_bytes: 0,
            records: 0,
            topic: None,
            time: None,
            reason: None,
        };
        damage.with_bytes(bytes)
    }

    /// Sets the number of affected records, and their topic if it is known.
    #[must_use]
    pub fn with_records(mut self, records: u64, topic: Option<TopicId>) -> Self {
        (self.records, self.topic) = (records, topic);
        self
    }

    /// Sets the reason.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Sets the number of lost bytes.
    #[must_use]
    pub fn with_lost_bytes(mut self, bytes: u64) -> Self {
        self.lost_bytes = bytes;
        self
    }

    /// Sets the affected bytes of the file, and the number of lost bytes accordingly.
    #[must_use]
    pub fn with_bytes(mut self, bytes: Range<u64>) -> Self {
        let len = bytes.end.saturating_sub(bytes.start);
        self.lost_bytes = if self.kind.is_loss() { len } else { 0 };
        self.bytes = bytes;
        self
    }

    /// Sets the kind, and the number of lost bytes accordingly.
    #[must_use]
    pub fn with_kind(mut self, kind: DamageKind) -> Self {
        self.kind = kind;
        let bytes = self.bytes.clone();
        self.with_bytes(bytes)
    }

    /// Adds the damage to `list`, or joins it with a similar entry: a topic with a
    /// million undecodable records is one damage, not a million. Separate ranges of lost
    /// records are listed individually up to a limit.
    pub fn add_to(mut self, list: &mut Vec<Self>) {
        let is_full = list.len() >= MAX_SEPARATE_ENTRIES;
        let joins_distant_ranges = is_full || self.kind.affects_found_records();
        let mut recent_entries = list.iter_mut().rev().take(LOOK_BACK);
        let similar_entry = recent_entries.find(|entry| {
            entry.can_join(&self) && (joins_distant_ranges || entry.is_adjacent(&self))
        });
        if let Some(entry) = similar_entry {
            return entry.join(self);
        }
        if is_full && self.kind.affects_found_records() && self.reason.take().is_some()
        {
            // Too many different reasons: only count the records.
            return self.add_to(list);
        }
        list.push(self);
    }

    /// Returns whether `next` can be joined with this damage: both are counted records of
    /// one topic, with the same kind and reason.
    pub fn can_join(&self, next: &Self) -> bool {
        let are_similar = self.kind == next.kind
            && self.topic == next.topic
            && self.reason == next.reason;
        are_similar && self.records > 0 && next.records > 0
    }

    /// Joins `next` with this damage.
    pub fn join(&mut self, next: Self) {
        // Bytes that are lost in both ranges are counted once.
        let added_bytes = if self.is_adjacent(&next) && !self.are_partial(&next) {
            let before = self.bytes.start.saturating_sub(next.bytes.start);
            let after = next.bytes.end.saturating_sub(self.bytes.end);
            next.lost_bytes.min(before + after)
        } else {
            next.lost_bytes
        };
        self.lost_bytes = self.lost_bytes.saturating_add(added_bytes);
        self.bytes.start = self.bytes.start.min(next.bytes.start);
        self.bytes.end = self.bytes.end.max(next.bytes.end);
        self.records = self.records.saturating_add(next.records);
        self.time = self.time.zip(next.time).map(|(a, b)| a.cover(&b));
    }

    /// Returns whether in each of the two ranges only some bytes are lost. Then those are
    /// not the same bytes.
    fn are_partial(&self, next: &Self) -> bool {
        let is_partial = |damage: &Self| {
            damage.lost_bytes < damage.bytes.end.saturating_sub(damage.bytes.start)
        };
        is_partial(self) && is_partial(next)
    }

    /// Returns whether the ranges overlap or touch.
    fn is_adjacent(&self, next: &Self) -> bool {
        self.bytes.start <= next.bytes.end && next.bytes.start <= self.bytes.end
    }
}

/// The number of recent entries that are searched for a similar damage.
const LOOK_BACK: usize = 16;
/// The number of entries of a list from which on separate ranges are joined.
const MAX_SEPARATE_ENTRIES: usize = 256;

impl Damage {
    /// Returns a description without the range of bytes and the amount of lost data.
    pub(crate) fn description(&self) -> String {
        let records = self.records;
        let is_one = records < 2;
        let text = match self.kind {
            DamageKind::Truncated => {
                "the file or a section ends inside a record".into()
            }
            DamageKind::Garbled if records == 0 => "no record can be read".into(),
            DamageKind::Garbled if is_one => "a record cannot be read".into(),
            DamageKind::Garbled => format!("{records} records cannot be read"),
            DamageKind::UnknownTopic if is_one => {
                "a record of a topic that is not declared before it".into()
            }
            DamageKind::UnknownTopic => {
                format!("{records} records of topics that are not declared before them")
            }
            DamageKind::Undecodable if is_one => {
                "a record that does not match its schema".into()
            }
            DamageKind::Undecodable => {
                format!("{records} records that do not match their schema")
            }
            DamageKind::OverLimit => "more data than the memory limit allows".into(),
            DamageKind::Doubtful if self.reason.is_some() => {
                "read, but doubtful".into()
            }
            DamageKind::Doubtful => {
                "read, but doubtful: a checksum does not match".into()
            }
            DamageKind::Index => "the index is damaged, but no record is lost".into(),
            DamageKind::Latin1 if is_one => {
                "a record with a string that is not UTF-8, decoded as Latin-1".into()
            }
            DamageKind::Latin1 => {
                format!(
                    "{records} records with strings that are not UTF-8, decoded as Latin-1"
                )
            }
            DamageKind::IncompleteText if is_one => {
                "a record with a string that ends inside a UTF-8 character".into()
            }
            DamageKind::IncompleteText => {
                format!(
                    "{records} records with strings that end inside a UTF-8 character"
                )
            }
            DamageKind::ExtraBytes => {
                let bytes = match self.lost_bytes {
                    1 => "1 extra byte that is dropped".to_owned(),
                    bytes => format!("{bytes} extra bytes that are dropped"),
                };
                if is_one {
                    format!("a record with {bytes}")
                } else {
                    format!("{records} records with {bytes}")
                }
            }
            DamageKind::TypeMismatch if is_one => {
                "a record with a value that does not match its schema and is null"
                    .into()
            }
            DamageKind::TypeMismatch => format!(
                "{records} records with values that do not match their schema and are null"
            ),
            DamageKind::NoColumn if is_one => {
                "a record with values that are in no column".into()
            }
            DamageKind::NoColumn => {
                format!("{records} records with values that are in no column")
            }
            DamageKind::Unsupported if is_one => {
                "a record in an encoding that is not supported".into()
            }
            DamageKind::Unsupported => {
                format!("{records} records in an encoding that is not supported")
            }
            DamageKind::Definition => {
                let message = "the definition of a topic cannot be used";
                match records {
                    0 => message.into(),
                    1 => format!("{message}, 1 record is not decoded"),
                    records => format!("{message}, {records} records are not decoded"),
                }
            }
        };
        match &self.reason {
            Some(reason) => format!("{text}: {reason}"),
            None => text,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.bytes;
        // The position of a definition is not always known.
        if self.kind != DamageKind::Definition || start < end {
            write!(f, "bytes {start}..{end}: ")?;
        }
        f.write_str(&self.description())?;
        if let Some(time) = self.time.filter(|_| self.kind.is_loss()) {
            let secs = time.span_nanos() as f64 / 1e9;
            let start = time.start.as_secs_f64();
            let bytes = self.lost_bytes;
            write!(f, ", {bytes} bytes and {secs:.3} s lost at {start:.3} s")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn garbled_record(bytes: Range<u64>) -> Damage {
        Damage::new(DamageKind::Garbled, bytes).with_records(1, Some(TopicId(3)))
    }

    #[test]
    fn joined_damage_sums_the_lost_bytes() {
        let mut list = Vec::new();
        for bytes in [10..20, 1_000..1_005, 20..30] {
            garbled_record(bytes).add_to(&mut list);
        }
        let summary = |list: &[Damage]| -> Vec<_> {
            list.iter()
                .map(|damage| (damage.bytes.clone(), damage.lost_bytes, damage.records))
                .collect()
        };
        assert_eq!(summary(&list), [(10..30, 20, 2), (1_000..1_005, 5, 1)]);
        for index in 0..1_000 {
            let start = 10_000 + 100 * index;
            garbled_record(start..start + 7).add_to(&mut list);
        }
        assert_eq!(list.len(), MAX_SEPARATE_ENTRIES);
        let (bytes, records) = list.iter().fold((0, 0), |sums, damage| {
            (sums.0 + damage.lost_bytes, sums.1 + damage.records)
        });
        assert_eq!((bytes, records), (25 + 7_000, 1_003));
    }

    #[test]
    fn undecodable_records_are_joined_into_one_damage() {
        let mut list = Vec::new();
        for index in 0..1_000 {
            garbled_record(100 * index..100 * index + 7)
                .with_kind(DamageKind::Undecodable)
                .add_to(&mut list);
        }
        assert_eq!(list.len(), 1);
        assert_eq!((list[0].lost_bytes, list[0].records), (7_000, 1_000));
    }

    #[test]
    fn damage_list_with_many_reasons_is_bounded() {
        let mut list = Vec::new();
        for index in 0..1_000 {
            garbled_record(100 * index..100 * index + 7)
                .with_kind(DamageKind::TypeMismatch)
                .with_reason(format!("the field {index} is missing"))
                .add_to(&mut list);
        }
        assert_eq!(list.len(), MAX_SEPARATE_ENTRIES + 1);
        assert_eq!(list.iter().map(|damage| damage.records).sum::<u64>(), 1_000);
    }

    #[test]
    fn doubtful_damage_is_not_a_loss() {
        let doubtful = Damage::new(DamageKind::Doubtful, 10..20);
        assert_eq!(doubtful.lost_bytes, 0);
        assert!(doubtful.kind.is_harmful() && !doubtful.kind.is_loss());
        assert!(doubtful.to_string().starts_with("bytes 10..20: read, but doubtful"));
    }
}
