//! What was lost, and where.

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize};

use crate::{time::TimeRange, topic::TopicId};

/// A stretch of the file that could not be read, and was stepped over, or that is to be
/// doubted.
///
/// Damage travels in the [`Block`](crate::Block) beside the records around it, so it
/// crosses threads and machines with them and cannot be forgotten in a logger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// What was found.
    pub kind: DamageKind,
    /// The bytes of the file that it is about. Of several records at once
    /// ([`records`](Self::records)) this is the stretch in which they lie.
    pub bytes: Range<u64>,
    /// How many of these bytes are lost: all of them, but where other records lie
    /// between those that are lost, or are packed with them, which then have their share;
    /// what is too much of [surplus](DamageKind::Surplus); none, where the kind
    /// [loses](DamageKind::is_loss) nothing.
    #[serde(default)]
    pub lost_bytes: u64,
    /// How many records are known to be lost, or doubtful; 0 where they cannot be counted.
    pub records: u64,
    /// The topic of those records, where they are all of one.
    pub topic: Option<TopicId>,
    /// The time before and the time after, where both are known.
    pub time: Option<TimeRange>,
    /// Why, where the kind does not say it: a few words for people, as "the chunk is
    /// compressed with …".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The sort of a [`Damage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DamageKind {
    /// The file, or an appended section of it, ends in the middle of a record.
    Truncated,
    /// These bytes are no record; reading went on after them.
    Garbled,
    /// The record is of a topic that the file had not declared by then.
    UnknownTopic,
    /// The record is whole, and its payload is not what its topic's schema says.
    Undecodable,
    /// The record is whole and was not kept, because keeping it would take more
    /// memory than is allowed.
    OverLimit,
    /// What can be had of it was read, and a checksum says that something in that is
    /// wrong, or is lost with the rest.
    Doubtful,
    /// These bytes were an index, or are to be one: no record is lost with them.
    Index,
    /// The record was read, and has a text that is not UTF-8; it was taken for Latin-1.
    Latin1,
    /// The record was read, and its payload has bytes that are in no field, which were not.
    Surplus,
    /// The record was read, and has a value that is not what its topic's schema says, or
    /// that cannot be told, which is null.
    Misfit,
    /// The record was read, and has values that are in no column, as none of the records
    /// that were looked at before the first row had the like. Nothing is wrong with it.
    NoColumn,
    /// The definition of the topic is damaged or cannot be used: its records are whole, and
    /// are only bytes.
    Definition,
}

impl DamageKind {
    /// Whether something is lost.
    pub const fn is_loss(self) -> bool {
        !matches!(
            self,
            Self::Doubtful
                | Self::Index
                | Self::Latin1
                | Self::Surplus
                | Self::Misfit
                | Self::NoColumn
                | Self::Definition
        )
    }

    /// Whether it is of records that were there, and not of a place in the file.
    pub const fn is_of_records(self) -> bool {
        matches!(
            self,
            Self::Undecodable
                | Self::Latin1
                | Self::Surplus
                | Self::Misfit
                | Self::NoColumn
                | Self::Definition
        )
    }

    /// Returns whether it is of a record that was read and not decoded, so that only its
    /// payload can be shown.
    pub const fn keeps_payload(self) -> bool {
        matches!(self, Self::Undecodable | Self::OverLimit)
    }

    /// Whether who reads on has something else than was recorded, or less.
    pub const fn is_harm(self) -> bool {
        !matches!(self, Self::Index | Self::Latin1)
    }
}

impl Damage {
    /// Damage of `kind` to `bytes`, of which nothing more is known.
    pub fn new(kind: DamageKind, bytes: Range<u64>) -> Self {
        let damage = Self {
            kind,
            bytes: 0..0,
            lost_bytes: 0,
            records: 0,
            topic: None,
            time: None,
            why: None,
        };
        damage.at(bytes)
    }

    /// The same, being so many `records`, of `topic` if that is known.
    #[must_use]
    pub fn of_records(mut self, records: u64, topic: Option<TopicId>) -> Self {
        (self.records, self.topic) = (records, topic);
        self
    }

    /// The same, for this reason.
    #[must_use]
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    /// The same, with so many of its bytes lost.
    #[must_use]
    pub fn losing(mut self, bytes: u64) -> Self {
        self.lost_bytes = bytes;
        self
    }

    /// The same, of these `bytes`.
    #[must_use]
    pub fn at(mut self, bytes: Range<u64>) -> Self {
        let len = bytes.end.saturating_sub(bytes.start);
        self.lost_bytes = if self.kind.is_loss() { len } else { 0 };
        self.bytes = bytes;
        self
    }

    /// The same, of another kind.
    #[must_use]
    pub fn as_kind(mut self, kind: DamageKind) -> Self {
        self.kind = kind;
        let bytes = self.bytes.clone();
        self.at(bytes)
    }

    /// Adds `next` to `list`, or to the like of it there: a broken topic of a million
    /// records is one damage, not a million. Of those that are lost and lie apart, a few
    /// are told one by one.
    pub fn add_to(mut self, list: &mut Vec<Self>) {
        let is_full = list.len() >= APART;
        let like = |damage: &&mut Self, next: &Self| {
            damage.is_like(next)
                && (is_full || next.kind.is_of_records() || damage.meets(next))
        };
        let mut last = list.iter_mut().rev().take(LOOK_BACK);
        if let Some(damage) = last.find(|damage| like(damage, &self)) {
            return damage.join(self);
        }
        if is_full && self.kind.is_of_records() && self.why.take().is_some() {
            // Records that do not fit for so many reasons are only counted.
            return self.add_to(list);
        }
        list.push(self);
    }

    /// Whether `next` may be told with it: both are counted records of one topic.
    pub fn is_like(&self, next: &Self) -> bool {
        let alike =
            self.kind == next.kind && self.topic == next.topic && self.why == next.why;
        alike && self.records > 0 && next.records > 0
    }

    /// Tells of `next` too.
    pub fn join(&mut self, next: Self) {
        let more = match self.meets(&next) && !self.is_part(&next) {
            true => {
                let before = self.bytes.start.saturating_sub(next.bytes.start);
                let after = next.bytes.end.saturating_sub(self.bytes.end);
                next.lost_bytes.min(before + after)
            }
            false => next.lost_bytes,
        };
        self.lost_bytes = self.lost_bytes.saturating_add(more);
        self.bytes.start = self.bytes.start.min(next.bytes.start);
        self.bytes.end = self.bytes.end.max(next.bytes.end);
        self.records = self.records.saturating_add(next.records);
        self.time = self.time.zip(next.time).map(|(a, b)| a.cover(&b));
    }

    /// Whether both are some of the bytes where they lie, and so not the same ones.
    fn is_part(&self, next: &Self) -> bool {
        let is_part = |damage: &Self| {
            damage.lost_bytes < damage.bytes.end.saturating_sub(damage.bytes.start)
        };
        is_part(self) && is_part(next)
    }

    /// Whether `next` is of some of its bytes, or of those next to them.
    fn meets(&self, next: &Self) -> bool {
        self.bytes.start <= next.bytes.end && next.bytes.start <= self.bytes.end
    }
}

/// How many damages back a like one is looked for.
const LOOK_BACK: usize = 16;
/// So many damages are told apart in one list, if they are not next to each other.
const APART: usize = 256;

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.bytes;
        // The place of a definition is not always known.
        if self.kind != DamageKind::Definition || start < end {
            write!(f, "bytes {start}..{end}: ")?;
        }
        let one = self.records < 2;
        match self.kind {
            DamageKind::Truncated => write!(f, "ends inside a record")?,
            DamageKind::Garbled if self.records == 0 => {
                write!(f, "no record can be read")?;
            }
            DamageKind::Garbled if one => write!(f, "a record cannot be read")?,
            DamageKind::Garbled => {
                write!(f, "{} records cannot be read", self.records)?;
            }
            DamageKind::UnknownTopic if one => {
                write!(f, "a record of a topic not declared before it")?;
            }
            DamageKind::UnknownTopic => {
                write!(f, "{} records of topics not declared before", self.records)?;
            }
            DamageKind::Undecodable if one => {
                write!(f, "a record that does not fit its schema")?;
            }
            DamageKind::Undecodable => {
                write!(f, "{} records that do not fit their schema", self.records)?;
            }
            DamageKind::OverLimit => write!(f, "more than can be kept in memory")?,
            DamageKind::Doubtful if self.why.is_some() => {
                write!(f, "read, but doubtful")?;
            }
            DamageKind::Doubtful => {
                write!(f, "read, but doubtful: a checksum does not fit")?;
            }
            DamageKind::Index => write!(f, "the index is broken, and no record lost")?,
            DamageKind::Latin1 if one => {
                write!(f, "a record with a text that is not UTF-8, taken for Latin-1")?;
            }
            DamageKind::Latin1 => {
                let records = self.records;
                write!(
                    f,
                    "{records} records with texts that are not UTF-8, taken for Latin-1"
                )?;
            }
            DamageKind::Surplus => {
                let (records, bytes) = (self.records, self.lost_bytes);
                let unit = if bytes == 1 { "byte" } else { "bytes" };
                match one {
                    true => write!(
                        f,
                        "a record with {bytes} {unit} more than its schema says, left out"
                    )?,
                    false => write!(
                        f,
                        "{records} records with {bytes} {unit} more than their schema says, left out"
                    )?,
                }
            }
            DamageKind::Misfit if one => {
                write!(f, "a record with a value that does not fit, and is null")?;
            }
            DamageKind::Misfit => {
                let records = self.records;
                write!(
                    f,
                    "{records} records with values that do not fit, and are null"
                )?;
            }
            DamageKind::NoColumn if one => {
                write!(f, "a record with values that are in no column")?;
            }
            DamageKind::NoColumn => {
                let records = self.records;
                write!(f, "{records} records with values that are in no column")?;
            }
            DamageKind::Definition => {
                write!(f, "the definition of a topic cannot be used")?;
                match self.records {
                    0 => {}
                    1 => write!(f, ", 1 record is not decoded")?,
                    records => write!(f, ", {records} records are not decoded")?,
                }
            }
        }
        if let Some(why) = &self.why {
            write!(f, ": {why}")?;
        }
        if let Some(time) = self.time.filter(|_| self.kind.is_loss()) {
            let secs = time.span_nanos() as f64 / 1e9;
            let at = time.start.as_secs_f64();
            write!(f, ", {} bytes and {secs:.3} s lost at {at:.3} s", self.lost_bytes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(bytes: Range<u64>) -> Damage {
        Damage::new(DamageKind::Garbled, bytes).of_records(1, Some(TopicId(3)))
    }

    #[test]
    fn what_is_lost_is_the_sum_of_its_places() {
        let mut list = Vec::new();
        [10..20, 1_000..1_005, 20..30]
            .into_iter()
            .for_each(|at| lost(at).add_to(&mut list));
        let told = |list: &[Damage]| -> Vec<_> {
            list.iter()
                .map(|one| (one.bytes.clone(), one.lost_bytes, one.records))
                .collect()
        };
        assert_eq!(told(&list), [(10..30, 20, 2), (1_000..1_005, 5, 1)]);
        for at in 0..1_000 {
            lost(10_000 + 100 * at..10_007 + 100 * at).add_to(&mut list);
        }
        assert_eq!(list.len(), APART);
        let (bytes, records) = list
            .iter()
            .fold((0, 0), |all, one| (all.0 + one.lost_bytes, all.1 + one.records));
        assert_eq!((bytes, records), (25 + 7_000, 1_003));
    }

    #[test]
    fn records_that_do_not_fit_are_one_damage_of_their_bytes() {
        let mut list = Vec::new();
        for at in 0..1_000 {
            lost(100 * at..100 * at + 7)
                .as_kind(DamageKind::Undecodable)
                .add_to(&mut list);
        }
        assert_eq!(list.len(), 1);
        assert_eq!((list[0].lost_bytes, list[0].records), (7_000, 1_000));
    }

    #[test]
    fn records_that_each_do_not_fit_for_another_reason_are_a_list_with_an_end() {
        let mut list = Vec::new();
        for at in 0..1_000 {
            let why = format!("its field {at} is none");
            let misfit = lost(100 * at..100 * at + 7).as_kind(DamageKind::Misfit);
            misfit.because(why).add_to(&mut list);
        }
        assert_eq!(list.len(), APART + 1);
        assert_eq!(list.iter().map(|one| one.records).sum::<u64>(), 1_000);
    }

    #[test]
    fn what_is_doubtful_is_not_lost() {
        let doubtful = Damage::new(DamageKind::Doubtful, 10..20);
        assert_eq!(doubtful.lost_bytes, 0);
        assert!(doubtful.kind.is_harm() && !doubtful.kind.is_loss());
        assert!(doubtful.to_string().starts_with("bytes 10..20: read, but doubtful"));
    }
}
