//! The law of excerpts of manifests.

use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;

use crate::{
    log::{Columns, Format, Log},
    model::{
        damage::Damage,
        manifest::{Manifest, Part, Selection},
        open_options::OpenOptions,
        time::{TimeRange, Timestamp},
        topic::TopicId,
    },
    record::block::Block,
};

/// The number of topics whose excerpts are compared.
const MAX_TOPICS: usize = 8;

/// The number of excerpts for each topic, each with some consecutive parts.
const EXCERPTS: usize = 3;

/// Law 3, for parts: a worker that gets the serialised excerpt for some parts reads the
/// same records, damage and rows of its topic there, with any length of the parts. The
/// damage of other topics is not compared.
pub(super) fn excerpts_read_the_same(
    format: &dyn Format,
    bytes: &Bytes,
    log: &dyn Log,
) {
    let times = log.manifest().time;
    let middle =
        times.map_or(0, |time| time.start.as_nanos() / 2 + time.end.as_nanos() / 2);
    let late = TimeRange { start: Timestamp::from_nanos(middle), end: Timestamp::MAX };
    let step = log.manifest().topics.len().div_ceil(MAX_TOPICS).max(1);
    for (id, topic) in log.manifest().topics().step_by(step) {
        for (time, target_bytes) in
            [(TimeRange::ALL, 0), (TimeRange::ALL, 1 << 14), (late, u64::MAX)]
        {
            let selection = Selection { topics: [id].into_iter().collect(), time };
            let plan = log.manifest().plan(&selection, target_bytes);
            for parts in plan.chunks(plan.len().div_ceil(EXCERPTS).max(1)) {
                let (excerpt, new_id) = reopen(format, bytes, log, &selection, parts);
                let topics = [new_id].into_iter().collect();
                let new_selection = Selection { topics, time };
                // The plan may join other parts, but has the same bytes.
                let plan = excerpt.manifest().plan(&new_selection, target_bytes);
                let label = topic.label();
                assert_eq!(bytes_of(&plan), bytes_of(parts), "the plan of {label}");
                assert_eq!(excerpt.manifest().topics[new_id.index()].label(), label);
                let (actual, expected) = (
                    rows(&*excerpt, new_id, &plan, &new_selection),
                    rows(log, id, parts, &selection),
                );
                assert!(
                    actual.0 == expected.0,
                    "an excerpt has other records of {label}"
                );
                assert_eq!(
                    actual.1, expected.1,
                    "an excerpt has other damage of {label}"
                );
                assert_eq!(
                    actual.2, expected.2,
                    "an excerpt has other rows of {label}"
                );
            }
        }
    }
}

/// Opens the excerpt for the one topic of `selection` in `parts`. Returns the log, and the
/// id of the topic in it.
fn reopen(
    format: &dyn Format,
    bytes: &Bytes,
    log: &dyn Log,
    selection: &Selection,
    parts: &[Part],
) -> (Box<dyn Log>, TopicId) {
    let excerpt = log.excerpt(selection, parts).expect("a log of a file has excerpts");
    let mut selected = selection.topics.ids(log.manifest().topics.len());
    let topic = selected.next().and_then(|id| excerpt.renumbered_topic(id));
    let topic = topic.expect("an excerpt has the selected topic");
    let text = serde_json::to_string(&excerpt.manifest).expect("a manifest serialises");
    let manifest: Manifest = serde_json::from_str(&text).expect("and deserialises");
    let source = Arc::new(bytes.clone());
    let log =
        format.open_with_manifest(source, Arc::new(manifest), OpenOptions::default());
    (log.expect("an excerpt opens"), topic)
}

/// Returns the bytes of `parts`, joined.
fn bytes_of(parts: &[Part]) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for part in parts {
        match ranges.last_mut() {
            Some(last) if last.1 == part.bytes.start => last.1 = part.bytes.end,
            _ => ranges.push((part.bytes.start, part.bytes.end)),
        }
    }
    ranges
}

/// The times and the payloads of records.
type Records = Vec<(Timestamp, Vec<u8>)>;

/// Returns the records, the damage and the rows of `topic` in `parts`. The topic has the id 0
/// in the damage, so that damage of the log and of an excerpt can be compared.
fn rows(
    log: &dyn Log,
    topic: TopicId,
    parts: &[Part],
    selection: &Selection,
) -> (Records, Vec<Damage>, Option<RecordBatch>) {
    let columns = Columns { time: selection.time, ..Columns::default() };
    let mut decoder = log.decoder(topic, &columns).ok();
    let (mut block, mut records, mut damage) = (Block::default(), vec![], vec![]);
    for part in parts {
        let mut cursor = log.read(part, selection).expect("a planned part opens");
        while cursor.fill(&mut block).expect("a memory source does not fail") {
            damage.extend_from_slice(block.damage());
            assert!(block.iter().all(|record| record.topic == topic));
            records.extend(block.iter().map(|r| (r.time, r.payload.to_vec())));
            if let Some(decoder) = &mut decoder {
                block.runs().for_each(|run| decoder.append(run, &mut damage));
            }
        }
    }
    damage.retain(|damage| {
        damage.topic.is_none_or(|damaged_topic| damaged_topic == topic)
    });
    for damage in &mut damage {
        damage.topic = damage.topic.map(|_| TopicId(0));
    }
    let rows = decoder.map(|mut decoder| decoder.take().expect("rows make a table"));
    (records, damage, rows)
}
