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
    testing::conformance::OwnedRecord,
};

/// The number of topics whose excerpts are compared.
const TOPICS: usize = 8;

/// The number of runs of parts for each topic whose excerpts are compared.
const RUNS: usize = 3;

/// Law 3, for parts: a worker that gets the serialised excerpt for some parts reads the
/// same records, damage and rows there, with any length of the parts.
pub(super) fn excerpts_read_the_same(
    format: &dyn Format,
    bytes: &Bytes,
    log: &dyn Log,
) {
    let times = log.manifest().time;
    let middle =
        times.map_or(0, |time| time.start.as_nanos() / 2 + time.end.as_nanos() / 2);
    let late = TimeRange { start: Timestamp::from_nanos(middle), end: Timestamp::MAX };
    let step = log.manifest().topics.len().div_ceil(TOPICS).max(1);
    for (id, topic) in log.manifest().topics().step_by(step) {
        for (time, target) in
            [(TimeRange::ALL, 0), (TimeRange::ALL, 1 << 14), (late, u64::MAX)]
        {
            let selection = Selection { topics: [id].into_iter().collect(), time };
            let plan = log.manifest().plan(&selection, target);
            for parts in plan.chunks(plan.len().div_ceil(RUNS).max(1)) {
                let excerpt = reopen(format, bytes, log, &selection, parts);
                // The plan may join parts otherwise, but has the same bytes.
                let again = excerpt.manifest().plan(&selection, target);
                let label = topic.label();
                assert_eq!(bytes_of(&again), bytes_of(parts), "the plan of {label}");
                let (got, want) = (
                    rows(&*excerpt, id, &again, &selection),
                    rows(log, id, parts, &selection),
                );
                assert!(got.0 == want.0, "an excerpt has other records of {label}");
                assert_eq!(got.1, want.1, "an excerpt has other damage of {label}");
                assert_eq!(got.2, want.2, "an excerpt has other rows of {label}");
            }
        }
    }
}

fn reopen(
    format: &dyn Format,
    bytes: &Bytes,
    log: &dyn Log,
    selection: &Selection,
    parts: &[Part],
) -> Box<dyn Log> {
    let excerpt = log.excerpt(selection, parts).expect("a log of a file has excerpts");
    let text = serde_json::to_string(&excerpt).expect("a manifest serialises");
    let back: Manifest = serde_json::from_str(&text).expect("and deserialises");
    let source = Arc::new(bytes.clone());
    let log = format.open_with_manifest(source, Arc::new(back), OpenOptions::default());
    log.expect("an excerpt opens")
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

/// Returns the records, the damage and the rows of `topic` in `parts`.
fn rows(
    log: &dyn Log,
    topic: TopicId,
    parts: &[Part],
    selection: &Selection,
) -> (Vec<OwnedRecord>, Vec<Damage>, Option<RecordBatch>) {
    let columns = Columns { time: selection.time, ..Columns::default() };
    let mut decoder = log.decoder(topic, &columns).ok();
    let (mut block, mut records, mut damage) = (Block::default(), vec![], vec![]);
    for part in parts {
        let mut cursor = log.read(part, selection).expect("a planned part opens");
        while cursor.fill(&mut block).expect("a memory source does not fail") {
            damage.extend_from_slice(block.damage());
            records.extend(block.iter().map(|r| (r.topic, r.time, r.payload.to_vec())));
            if let Some(decoder) = &mut decoder {
                block.runs().for_each(|run| decoder.append(run, &mut damage));
            }
        }
    }
    let rows = decoder.map(|mut decoder| decoder.take().expect("rows make a table"));
    (records, damage, rows)
}
