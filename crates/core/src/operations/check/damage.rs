//! Converting damage to findings. Damage that is found twice is reported once.

mod tally;

use std::{collections::HashMap, ops::Range};

use crate::{
    model::{
        damage::{Damage, DamageKind},
        finding::{FindingCode, Findings},
        manifest::Manifest,
        topic::TopicId,
    },
    operations::check::damage::tally::DamageTally,
};

pub(super) static TRUNCATED: FindingCode = FindingCode::error(
    "damage.truncated",
    "the file, or a section of it, ends in the middle of a record",
);
pub(super) static GARBLED: FindingCode =
    FindingCode::error("damage.garbled", "bytes that are not a record were skipped");
pub(super) static UNKNOWN_TOPIC: FindingCode = FindingCode::error(
    "damage.unknown_topic",
    "records have a topic that is not declared before them",
);
pub(super) static UNDECODABLE: FindingCode = FindingCode::error(
    "damage.undecodable",
    "complete records do not match the definition of their topic",
);
pub(super) static OVER_LIMIT: FindingCode = FindingCode::error(
    "damage.over_limit",
    "records were dropped because they need more memory than the limit allows",
);
pub(super) static DOUBTFUL: FindingCode = FindingCode::error(
    "damage.doubtful",
    "records were read but may be wrong, because a checksum does not match or is lost",
);
pub(super) static INDEX: FindingCode = FindingCode::error(
    "damage.index",
    "bytes of an index cannot be read; no record is lost",
);
pub(super) static LATIN1: FindingCode = FindingCode::warning(
    "text.latin1",
    "records contain strings that are not UTF-8; they are decoded as Latin-1",
);
pub(super) static INCOMPLETE_TEXT: FindingCode = FindingCode::warning(
    "text.incomplete",
    "records contain strings that end inside a UTF-8 character, which becomes U+FFFD; the writer \
     cut them to a number of bytes",
);
pub(super) static EXTRA_BYTES: FindingCode = FindingCode::error(
    "damage.extra_bytes",
    "records are longer than the definition of their topic; the extra bytes are dropped",
);
pub(super) static TYPE_MISMATCH: FindingCode = FindingCode::error(
    "damage.type_mismatch",
    "records contain values that do not match the schema of their topic or cannot be \
     represented; these are null",
);
pub(super) static NO_COLUMN: FindingCode = FindingCode::note(
    "values.no_column",
    "records contain values that have no column, because none of the inspected records \
     had such values",
);

pub(super) static UNSUPPORTED: FindingCode = FindingCode::warning(
    "encoding.unsupported",
    "complete records are in an encoding that is not supported; they are not decoded",
);

/// All damage found in a pass.
#[derive(Debug, Default)]
pub(super) struct DamageSummary {
    /// The total damage of each kind and topic.
    tallies: HashMap<(DamageKind, Option<TopicId>), DamageTally>,
    /// The damaged bytes of each kind. Adjacent ranges are joined.
    byte_ranges: HashMap<DamageKind, Vec<Range<u64>>>,
    /// The number of lost records of each topic.
    lost_records: HashMap<TopicId, u64>,
    /// Whether an unknown number of records is lost.
    has_uncounted_losses: bool,
}

impl DamageSummary {
    pub(super) fn extend(&mut self, damage: &[Damage]) {
        for damage in damage {
            let byte_ranges = self.byte_ranges.entry(damage.kind).or_default();
            match byte_ranges.last_mut() {
                Some(last)
                    if last.start <= damage.bytes.start
                        && damage.bytes.start <= last.end =>
                {
                    last.end = last.end.max(damage.bytes.end);
                }
                _ => byte_ranges.push(damage.bytes.clone()),
            }
            self.count_lost_records(damage);
            self.add_to_tally(damage);
        }
    }

    fn add_to_tally(&mut self, damage: &Damage) {
        let tally = self.tallies.entry((damage.kind, damage.topic));
        tally.or_insert_with(|| DamageTally::new(damage.clone())).add(damage);
    }

    /// Counts records that were not read. Undecodable records were read.
    fn count_lost_records(&mut self, damage: &Damage) {
        match damage.topic {
            _ if damage.kind == DamageKind::Undecodable || !damage.kind.is_loss() => {}
            Some(topic) if damage.records > 0 => {
                *self.lost_records.entry(topic).or_default() += damage.records;
            }
            _ => self.has_uncounted_losses = true,
        }
    }

    /// Returns the number of lost records of `topic`.
    pub(super) fn lost_records(&self, topic: TopicId) -> u64 {
        self.lost_records.get(&topic).copied().unwrap_or(0)
    }

    /// Returns whether more records may be lost than were counted.
    pub(super) fn has_uncounted_losses(&self) -> bool {
        self.has_uncounted_losses
    }

    /// Adds findings for all damage, including that of `manifest` which the pass did not
    /// find again.
    pub(super) fn report(mut self, manifest: &Manifest, findings: &mut Findings) {
        for ranges in self.byte_ranges.values_mut() {
            ranges.sort_by_key(|range| range.start);
        }
        let is_reported = |damage: &Damage| {
            let ranges =
                self.byte_ranges.get(&damage.kind).map_or(&[][..], Vec::as_slice);
            let count = ranges.partition_point(|range| range.start < damage.bytes.end);
            let last = count.checked_sub(1).and_then(|index| ranges.get(index));
            last.is_some_and(|range| range.end > damage.bytes.start)
        };
        // Each format has its own code for unusable definitions.
        let unreported: Vec<&Damage> = manifest
            .damage
            .iter()
            .filter(|damage| {
                damage.kind != DamageKind::Definition && !is_reported(damage)
            })
            .collect();
        unreported.into_iter().for_each(|damage| self.add_to_tally(damage));
        let mut tallies: Vec<DamageTally> = self.tallies.into_values().collect();
        tallies.sort_by_key(|tally| {
            let first = &tally.first;
            (first.bytes.start, first.topic, code(first.kind).name)
        });
        tallies.into_iter().for_each(|tally| findings.add(tally.finding()));
    }
}

/// Returns the code of findings for damage of this `kind`.
fn code(kind: DamageKind) -> &'static FindingCode {
    match kind {
        DamageKind::Truncated => &TRUNCATED,
        DamageKind::Garbled => &GARBLED,
        DamageKind::UnknownTopic => &UNKNOWN_TOPIC,
        DamageKind::Undecodable | DamageKind::Definition => &UNDECODABLE,
        DamageKind::OverLimit => &OVER_LIMIT,
        DamageKind::Doubtful => &DOUBTFUL,
        DamageKind::Index => &INDEX,
        DamageKind::Latin1 => &LATIN1,
        DamageKind::IncompleteText => &INCOMPLETE_TEXT,
        DamageKind::ExtraBytes => &EXTRA_BYTES,
        DamageKind::TypeMismatch => &TYPE_MISMATCH,
        DamageKind::NoColumn => &NO_COLUMN,
        DamageKind::Unsupported => &UNSUPPORTED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_at_the_same_byte_have_a_stable_order() {
        let kinds = [DamageKind::Truncated, DamageKind::Garbled, DamageKind::Doubtful];
        for _ in 0..30 {
            let mut summary = DamageSummary::default();
            summary.extend(&kinds.map(|kind| Damage::new(kind, 7..9)));
            let mut findings = Findings::default();
            summary.report(&Manifest::default(), &mut findings);
            let names: Vec<_> = findings.iter().map(|f| f.code.name).collect();
            let expected = ["damage.doubtful", "damage.garbled", "damage.truncated"];
            assert_eq!(names, expected);
        }
    }
}
