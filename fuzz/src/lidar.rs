//! The laws of every log of a lidar that opens.

use std::sync::Arc;

use arrow_schema::{FieldRef, Schema};
use bytes::Bytes;
use logtool_core::{
    Block, Columns, Format, Log, OpenOptions, Selection, TopicOrigin, View, conformance,
};

/// Files up to this length are also checked with all laws of the core.
const SHORT: usize = 4_096;

/// Opens `file`, reads and decodes it completely, and panics if a law is violated.
pub fn check(format: &dyn Format, file: &[u8]) {
    let file = Bytes::copy_from_slice(file);
    let mut options = OpenOptions::default();
    options.block_bytes = [1 << 20, 4_099, 64, 257][file.len() % 4];
    let Ok(log) = format.open(Arc::new(file.clone()), options) else { return };
    check_manifest(&*log, &file);
    let whole = read(&*log, u64::MAX);
    assert!(read(&*log, 0) == whole, "the parts have the records of the whole");
    let mut counted = vec![(0, 0); log.manifest().topics.len()];
    for (topic, len) in &whole {
        counted[*topic].0 += 1;
        counted[*topic].1 += *len as u64;
    }
    for (topic, (records, bytes)) in log.manifest().topics.iter().zip(counted) {
        assert_eq!(topic.records, Some(records), "{:?}", topic.label());
        assert_eq!(topic.bytes, Some(bytes), "{:?}", topic.label());
    }
    decode(&*log);
    if file.len() <= SHORT {
        conformance::check_damaged(format, file);
    }
}

fn check_manifest(log: &dyn Log, file: &Bytes) {
    let manifest = log.manifest();
    assert_eq!(manifest.bytes, file.len() as u64);
    for pair in manifest.parts.windows(2) {
        assert_eq!(
            pair[0].bytes.end, pair[1].bytes.start,
            "parts follow on each other"
        );
    }
    assert!(manifest.parts.iter().all(|part| !part.bytes.is_empty()));
    let end = manifest.parts.last().map_or(manifest.bytes, |part| part.bytes.end);
    assert_eq!(end, manifest.bytes, "the parts reach to the end of the file");
    let mut at = 0;
    for lost in &manifest.damage {
        assert!(at <= lost.bytes.start && lost.bytes.start <= lost.bytes.end);
        at = lost.bytes.end;
    }
    assert!(at <= manifest.bytes, "no damage goes beyond the file");
}

/// Returns the topic and the length of each record.
fn read(log: &dyn Log, target: u64) -> Vec<(usize, usize)> {
    let (all, mut block, mut found) = (Selection::default(), Block::default(), vec![]);
    for part in log.manifest().plan(&all, target) {
        let mut cursor = log.read(&part, &all).expect("a planned part opens");
        let mut fills = 0;
        while cursor.fill(&mut block).expect("a memory source does not fail") {
            fills += 1;
            // A datagram that arrived in fragments is a block of its own.
            assert!(
                fills <= 2 * (part.bytes.end - part.bytes.start),
                "the cursor makes progress"
            );
            for record in block.iter() {
                assert!(part.topics.contains(record.topic), "{record:?} in {part:?}");
                assert!(part.time.contains(record.time), "{record:?} in {part:?}");
                found.push((record.topic.index(), record.payload.len()));
            }
        }
        assert!(!cursor.fill(&mut block).expect("the end stays the end"));
    }
    found
}

/// Checks that every record is decoded or reported as damage.
fn decode(log: &dyn Log) {
    let (mut block, mut damage) = (Block::default(), vec![]);
    for (id, topic) in log.manifest().topics() {
        let topics = [id].into_iter().collect();
        let selection = Selection { topics, ..Selection::default() };
        let decoder = log.decoder(id, &Columns::new(View::Nested));
        let mut decoder = decoder.expect("every topic has a decoder");
        // Its metadata may contain more, e.g. the partial scans.
        let columns = |schema: &Schema| -> Vec<_> {
            let fields = schema.fields().iter();
            let column = |f: &FieldRef| (f.name().clone(), f.data_type().clone());
            fields.map(column).collect()
        };
        assert_eq!(
            columns(decoder.schema()),
            columns(&topic.schema),
            "{:?}",
            topic.label()
        );
        for part in log.manifest().plan(&selection, u64::MAX) {
            let mut cursor = log.read(&part, &selection).expect("a planned part opens");
            while cursor.fill(&mut block).expect("a memory source does not fail") {
                block.runs().for_each(|run| decoder.append(run, &mut damage));
            }
        }
        let rows = decoder.take().expect("rows make a table").num_rows() as u64;
        let lost: u64 = damage.drain(..).map(|lost| lost.records).sum();
        let is_one_each =
            topic.origin == TopicOrigin::Logged && topic.name != "velodyne_packets";
        if is_one_each {
            assert_eq!(Some(rows + lost), topic.records, "{:?}", topic.label());
        }
    }
}
