//! What was lost, and where.

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize};

use crate::{time::TimeRange, topic::TopicId};

/// A stretch of the file that could not be read, and was stepped over.
///
/// Damage travels in the [`Block`](crate::Block) beside the records around it, so it
/// crosses threads and machines with them and cannot be forgotten in a logger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// What was found.
    pub kind: DamageKind,
    /// The bytes of the file that are lost. Of several records at once
    /// ([`records`](Self::records)) this is the stretch in which they lie.
    pub bytes: Range<u64>,
    /// How many records are known to be lost; 0 where they cannot be counted.
    pub records: u64,
    /// The topic of those records, where they are all of one.
    pub topic: Option<TopicId>,
    /// The time before and the time after, where both are known.
    pub time: Option<TimeRange>,
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
}

impl Damage {
    /// Damage of `kind` to `bytes`, of which nothing more is known.
    pub fn new(kind: DamageKind, bytes: Range<u64>) -> Self {
        Self { kind, bytes, records: 0, topic: None, time: None }
    }

    /// The same, being `records` records, of `topic` if that is known.
    #[must_use]
    pub fn of_records(mut self, records: u64, topic: Option<TopicId>) -> Self {
        (self.records, self.topic) = (records, topic);
        self
    }

    /// Adds `next` to `list`, or to the like of it there: a broken topic of a million
    /// records is one damage, not a million.
    pub fn add_to(self, list: &mut Vec<Self>) {
        let like = |damage: &&mut Self| damage.can_take(&self);
        match list.iter_mut().rev().take(LOOK_BACK).find(like) {
            Some(damage) => {
                damage.bytes.start = damage.bytes.start.min(self.bytes.start);
                damage.bytes.end = damage.bytes.end.max(self.bytes.end);
                damage.records = damage.records.saturating_add(self.records);
                damage.time = damage.time.zip(self.time).map(|(a, b)| a.cover(&b));
            }
            None => list.push(self),
        }
    }

    fn can_take(&self, next: &Self) -> bool {
        let alike = self.kind == next.kind && self.topic == next.topic;
        alike && self.records > 0 && next.records > 0
    }
}

/// How many damages back a like one is looked for.
const LOOK_BACK: usize = 16;

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.bytes;
        write!(f, "bytes {start}..{end}: ")?;
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
        }
        if let Some(time) = self.time {
            let secs = time.span_nanos() as f64 / 1e9;
            let at = time.start.as_secs_f64();
            write!(f, ", {} bytes and {secs:.3} s lost at {at:.3} s", end - start)?;
        }
        Ok(())
    }
}
