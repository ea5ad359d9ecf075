//! Summarises losses in numbers and short sentences.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use logtool_core::{Damage, DamageKind, TimeRange, Timestamp, TopicId};

use crate::{
    source::losses::Findings,
    text::units::{Span, count_of},
};

/// The maximum number of topics that are named.
const MAX_NAMED_TOPICS: usize = 3;

impl Findings {
    /// Returns the number of bytes of the file that are lost.
    pub fn lost_bytes(&self) -> u64 {
        self.bytes_of(|kind| kind.is_loss(), |damage| damage.lost_bytes)
    }

    /// Returns a summary of the losses and anomalies for users.
    pub fn summary(&self) -> String {
        let texts = [
            self.lost_data(),
            self.definitions(),
            self.extra_bytes(),
            self.type_mismatches(),
            self.without_column(),
            self.unsupported(),
            self.doubtful_records(),
            self.index(),
            self.text_messages(),
            self.incomplete_texts(),
        ];
        let texts: Vec<String> = texts.into_iter().flatten().collect();
        texts.join("; ")
    }

    fn lost_data(&self) -> Option<String> {
        let places = self.places(DamageKind::is_loss)?;
        let lost = self.lost_bytes();
        // A truncated file was longer.
        let ends =
            self.damage_of_kinds(DamageKind::is_loss).map(|damage| damage.bytes.end);
        let bytes = ends.fold(self.bytes.max(1), u64::max);
        let share = lost as f64 * 100.0 / bytes as f64;
        let records =
            self.damage_of_kinds(DamageKind::is_loss).map(|damage| damage.records);
        let records = match records.fold(0, u64::saturating_add) {
            0 => String::new(),
            records => {
                let of_topics = self.topics(DamageKind::is_loss);
                let of_topics =
                    of_topics.map_or(String::new(), |topics| format!(" of {topics}"));
                format!(", {}{of_topics}", count_of(records, "record"))
            }
        };
        let seconds = match self.lost_nanos() {
            0 => String::new(),
            nanos => format!(" and {}", Span(nanos)),
        };
        let mut losses = self.damage_of_kinds(DamageKind::is_loss);
        // If nothing can be counted, the reason is more informative than numbers.
        let first = losses.next().filter(|_| lost == 0 && records.is_empty());
        let reason = first.and_then(|damage| damage.reason.as_deref());
        let suffix = reason.map_or(String::new(), |reason| format!(": {reason}"));
        let lost = count_of(lost, "byte");
        Some(format!(
            "{lost} ({share:.2} %){records}{seconds} lost{places}{suffix}; the rest is read"
        ))
    }

    fn definitions(&self) -> Option<String> {
        let is_definition = |kind| kind == DamageKind::Definition;
        let mut damage = self.damage_of_kinds(is_definition).peekable();
        damage.peek()?;
        let topics: BTreeSet<Option<TopicId>> =
            damage.map(|damage| damage.topic).collect();
        let names = self.topics(is_definition);
        Some(match topics.len() as u64 {
            1 => {
                let name = names.unwrap_or_else(|| "a topic".to_owned());
                format!(
                    "the definition of {name} cannot be used, and its records are only bytes"
                )
            }
            topics => {
                let names = names.unwrap_or_else(|| format!("{topics} topics"));
                format!(
                    "the definitions of {names} cannot be used, and their records are only \
                     bytes"
                )
            }
        })
    }

    /// Returns the topics of the damage of some kinds, if each is of a known topic.
    fn topics(&self, is_one: impl Fn(DamageKind) -> bool) -> Option<String> {
        let findings = self.list.iter().filter(|finding| is_one(finding.damage.kind));
        let names: Option<BTreeSet<&str>> =
            findings.map(|finding| finding.topic.as_deref()).collect();
        let names = names.filter(|names| !names.is_empty())?;
        let first: Vec<&str> = names.iter().take(MAX_NAMED_TOPICS).copied().collect();
        Some(match names.len().checked_sub(MAX_NAMED_TOPICS) {
            None | Some(0) => first.join(", "),
            Some(more) => format!(
                "{} and {}",
                first.join(", "),
                count_of(more as u64, "other topic")
            ),
        })
    }

    fn extra_bytes(&self) -> Option<String> {
        let is_extra_bytes = |kind| kind == DamageKind::ExtraBytes;
        self.places(is_extra_bytes)?;
        let damage_list = || self.damage_of_kinds(is_extra_bytes);
        let bytes =
            damage_list().map(|damage| damage.lost_bytes).fold(0, u64::saturating_add);
        let records =
            damage_list().map(|damage| damage.records).fold(0, u64::saturating_add);
        let (bytes, records) = (count_of(bytes, "byte"), count_of(records, "record"));
        Some(format!("{bytes} of {records} belong to no field and are dropped"))
    }

    fn type_mismatches(&self) -> Option<String> {
        let is_type_mismatch = |kind| kind == DamageKind::TypeMismatch;
        self.places(is_type_mismatch)?;
        let records =
            self.damage_of_kinds(is_type_mismatch).map(|damage| damage.records);
        let records = count_of(records.fold(0, u64::saturating_add), "record");
        Some(format!("{records} with values of the wrong type, which are null"))
    }

    fn without_column(&self) -> Option<String> {
        let is_late = |kind| kind == DamageKind::NoColumn;
        self.places(is_late)?;
        let records = self.damage_of_kinds(is_late).map(|damage| damage.records);
        let records = count_of(records.fold(0, u64::saturating_add), "record");
        Some(format!(
            "{records} with values that have no column, because none of the inspected records had \
             such values; cut out by `logtool filter` they have columns"
        ))
    }

    fn unsupported(&self) -> Option<String> {
        let is_unsupported = |kind| kind == DamageKind::Unsupported;
        self.places(is_unsupported)?;
        let records = self.damage_of_kinds(is_unsupported).map(|damage| damage.records);
        let records = count_of(records.fold(0, u64::saturating_add), "record");
        Some(format!("{records} not decoded, because the encoding is not supported"))
    }

    fn doubtful_records(&self) -> Option<String> {
        let is_doubtful = |kind| kind == DamageKind::Doubtful;
        let places = self.places(is_doubtful)?;
        let len = |damage: &Damage| damage.bytes.end.saturating_sub(damage.bytes.start);
        let bytes = count_of(self.bytes_of(is_doubtful, len), "byte");
        Some(format!("{bytes}{places} read, but doubtful"))
    }

    fn index(&self) -> Option<String> {
        let places = self.places(|kind| kind == DamageKind::Index)?;
        Some(format!("the index is broken{places}, but no record is lost by that"))
    }

    fn text_messages(&self) -> Option<String> {
        let is_text = |kind| kind == DamageKind::Latin1;
        self.places(is_text)?;
        let records = self.damage_of_kinds(is_text).map(|damage| damage.records);
        let records = count_of(records.fold(0, u64::saturating_add), "record");
        Some(format!("{records} with strings that are not UTF-8, read as Latin-1"))
    }

    fn incomplete_texts(&self) -> Option<String> {
        let is_incomplete = |kind| kind == DamageKind::IncompleteText;
        self.places(is_incomplete)?;
        let records = self.damage_of_kinds(is_incomplete).map(|damage| damage.records);
        let records = count_of(records.fold(0, u64::saturating_add), "record");
        Some(format!(
            "{records} with strings that end inside a UTF-8 character, which becomes U+FFFD"
        ))
    }

    /// Returns the damage of some kinds.
    fn damage_of_kinds(
        &self,
        is_one: impl Fn(DamageKind) -> bool,
    ) -> impl Iterator<Item = &Damage> {
        let damage_list = self.list.iter().map(|finding| &finding.damage);
        damage_list.filter(move |damage| is_one(damage.kind))
    }

    /// Returns e.g. ` in 3 places`, an empty string for one place, and `None` if there is no
    /// damage.
    fn places(&self, is_one: impl Fn(DamageKind) -> bool) -> Option<String> {
        let mut places: Vec<(u64, u64)> = self
            .damage_of_kinds(is_one)
            .map(|damage| (damage.bytes.start, damage.bytes.end))
            .collect();
        places.sort_unstable();
        places.dedup();
        match places.len() {
            0 => None,
            1 => Some(String::new()),
            places => Some(format!(" in {places} places")),
        }
    }

    /// Returns the number of bytes of all damage of some kinds, where `count` is the number of
    /// bytes of each. Bytes are counted once.
    fn bytes_of(
        &self,
        is_one: impl Fn(DamageKind) -> bool,
        count: impl Fn(&Damage) -> u64,
    ) -> u64 {
        let mut whole: Vec<Range<u64>> = Vec::new();
        let mut among: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for damage in self.damage_of_kinds(is_one) {
            let Range { start, end } = damage.bytes;
            match count(damage) {
                all if all == end.saturating_sub(start) => whole.push(start..end),
                // Several topics may have lost records in the same bytes.
                count => {
                    let max_bytes = among.entry((start, end)).or_default();
                    *max_bytes = count.max(*max_bytes);
                }
            }
        }
        whole.sort_by_key(|range| range.start);
        let (mut bytes, mut covered_end) = (0, 0);
        for range in whole {
            bytes += range.end.saturating_sub(range.start.max(covered_end));
            covered_end = covered_end.max(range.end);
        }
        among.values().fold(bytes, |bytes, count| bytes.saturating_add(*count))
    }

    /// Returns the total length of the time ranges with losses, in nanoseconds.
    fn lost_nanos(&self) -> u64 {
        let times =
            self.damage_of_kinds(DamageKind::is_loss).filter_map(|damage| damage.time);
        let mut times: Vec<TimeRange> = times.collect();
        times.sort_by_key(|time| time.start);
        let (mut lost, mut covered_until) = (0, Timestamp::MIN);
        for time in times {
            let remaining =
                TimeRange { start: time.start.max(covered_until), end: time.end };
            lost += remaining.span_nanos();
            covered_until = covered_until.max(time.end);
        }
        lost
    }
}
