//! Law 9: the statements of a manifest equal the results of a full read.

use arrow_schema::Schema;

use crate::{
    log::{Columns, Log, View},
    model::{
        damage::{
            Damage,
            DamageKind::{OverLimit, Undecodable},
        },
        manifest::{LogAccess, Manifest},
        time::Timestamp,
        topic::{Topic, TopicId, TopicOrigin},
    },
    testing::conformance::OwnedRecord,
};

#[cfg(test)]
mod tests;

/// The records of one topic that were read.
#[derive(Clone, Default)]
struct TopicRecords {
    bytes: u64,
    times: Vec<Timestamp>,
}

/// Checks that the columns and the damage in the manifest of `log` are those of a full
/// read, which returned the records `full_read` and this `damage`. If the whole file was
/// scanned, the counts, sizes and times are checked too. Indexes of a file or a chunk can
/// state other values, and they can be wrong in a damaged log, which only a full read
/// detects.
pub(super) fn manifest_states_what_a_full_read_finds(
    log: &dyn Log,
    full_read: &[OwnedRecord],
    damage: &[Damage],
) {
    let manifest = log.manifest();
    for (id, topic) in manifest.topics() {
        columns_are_those_of_the_decoder(log, id, topic);
    }
    damage_is_that_of_the_read(manifest, damage);
    if manifest.access == LogAccess::Scanned {
        counts_and_times_are_those_of_the_records(manifest, full_read);
    }
}

/// Checks that the counts, sizes and times in `manifest` are those of the records `full_read`
/// of a full read. Values that are unknown (`None`) in the manifest are not checked,
/// because an index need not state them.
pub(super) fn counts_and_times_are_those_of_the_records(
    manifest: &Manifest,
    full_read: &[OwnedRecord],
) {
    let mut topics = vec![TopicRecords::default(); manifest.topics.len()];
    for (topic, time, payload) in full_read {
        let records = &mut topics[topic.index()];
        records.bytes += payload.len() as u64;
        records.times.push(*time);
    }
    for (topic, read) in manifest.topics.iter().zip(&topics) {
        let label = topic.label();
        if let Some(records) = topic.records {
            assert_eq!(records, read.times.len() as u64, "records of {label}");
        }
        if let Some(bytes) = topic.bytes {
            assert_eq!(bytes, read.bytes, "bytes of {label}");
        }
        times_are_those_of_the_records(topic, read);
    }
    time_of_the_log_is_that_of_its_topics(manifest);
}

/// The columns of a topic are those of its decoder. The decoder of a derived topic can
/// have more, because the fields of a point cloud are declared in its messages.
fn columns_are_those_of_the_decoder(log: &dyn Log, id: TopicId, topic: &Topic) {
    let decoder =
        log.decoder(id, &Columns::new(View::Nested)).expect("a topic decodes");
    let columns = |schema: &Schema| -> Vec<_> {
        let fields = schema.fields().iter();
        fields.map(|f| (f.name().clone(), f.data_type().clone())).collect()
    };
    let (declared, mut actual) = (columns(&topic.schema), columns(decoder.schema()));
    if topic.origin == TopicOrigin::Derived && !declared.is_empty() {
        actual.truncate(declared.len());
    }
    assert_eq!(declared, actual, "columns of {}", topic.label());
}

/// The time of a topic starts and ends with a record, and excludes exactly as many
/// records as the topic states.
fn times_are_those_of_the_records(topic: &Topic, records: &TopicRecords) {
    let Some(time) = topic.time else { return };
    let inside =
        records.times.iter().filter(|record_time| time.contains(**record_time));
    let outside = (records.times.len() - inside.clone().count()) as u64;
    let label = topic.label();
    let first = inside.clone().min().copied();
    assert_eq!(first, Some(time.start), "first time of {label}");
    let last = inside.max().map(|last| last.as_nanos().saturating_add(1));
    assert_eq!(last, Some(time.end.as_nanos()), "last time of {label}");
    let excluded = topic.implausible_times + topic.before_start;
    assert_eq!(outside, excluded, "times outside those of {label}");
}

/// The time of the log ends with the last record of a logged topic. It starts with the
/// first one or earlier, because some formats state the start of logging.
fn time_of_the_log_is_that_of_its_topics(manifest: &Manifest) {
    let topic_times = manifest
        .topics
        .iter()
        .filter(|topic| topic.origin != TopicOrigin::Derived)
        .filter_map(|topic| topic.time);
    let Some(range) = topic_times.reduce(|range, time| range.cover(&time)) else {
        return;
    };
    let declared = manifest.time.expect("a log with times of topics has a time");
    assert_eq!(declared.end, range.end, "last time of the log");
    assert!(
        declared.start <= range.start,
        "first time of the log: {declared:?}, {range:?}"
    );
}

/// A log that was read from its start to its end has the damage of a full read.
fn damage_is_that_of_the_read(manifest: &Manifest, damage: &[Damage]) {
    let overlaps_similar_damage = |entry: &Damage, list: &[Damage]| {
        list.iter().any(|other| {
            other.kind == entry.kind
                && entry.bytes.start <= other.bytes.end
                && other.bytes.start <= entry.bytes.end
        })
    };
    if manifest.access != LogAccess::Indexed {
        // Counted lost records are in a chunk, which is only decompressed if it has no
        // index of its content.
        let is_expected = |entry: &&Damage| {
            entry.kind.is_loss()
                && (manifest.access == LogAccess::Scanned || entry.records == 0)
        };
        for entry in damage.iter().filter(is_expected) {
            assert!(
                overlaps_similar_damage(entry, &manifest.damage),
                "the manifest lacks {entry:?}: {:?}",
                manifest.damage
            );
        }
    }
    // Without its index, a file can have fewer chunks than its header counts. A full read
    // cannot find their positions, and their records are not counted.
    let is_readable =
        |entry: &Damage| manifest.access == LogAccess::Scanned || entry.records > 0;
    // A record is delivered and its decoder reports the damage; a message about the log itself,
    // e.g. ULog information, is only decoded when the log is opened.
    let is_of_decoder = |entry: &Damage| {
        matches!(entry.kind, Undecodable | OverLimit) && entry.records > 0
    };
    for entry in &manifest.damage {
        if entry.kind.is_loss() && is_readable(entry) && !is_of_decoder(entry) {
            assert!(
                overlaps_similar_damage(entry, damage),
                "a full read lacks {entry:?}: {damage:?}"
            );
        }
    }
}
