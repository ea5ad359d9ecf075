//! The laws of every MCAP file that opens.

use std::{collections::BTreeMap, io::Cursor, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Columns, ErrorKind, Format as _, Log, OpenOptions, Result, Selection,
    Timestamp, Value, View, conformance,
};
use logtool_mcap::{Compression, FORMAT, Writer, WriterOptions};

/// Files up to this length are also checked with all laws of the core.
const SHORT: usize = 4_096;

/// Opens `file`, reads and decodes it completely, and panics if a law is violated.
pub fn check(file: &[u8]) {
    let file = Bytes::copy_from_slice(file);
    let mut options = OpenOptions::default();
    options.block_bytes = [1 << 20, 4_099, 64, 257][file.len() % 4];
    // Long enough for everything except decompression bombs.
    options.record_bytes = 1 << 20;
    let Ok(log) = FORMAT.open(Arc::new(file.clone()), options) else { return };
    let manifest = log.manifest();
    let mut at = 0;
    for part in &manifest.parts {
        assert!(at <= part.bytes.start && part.bytes.start < part.bytes.end);
        at = part.bytes.end;
    }
    assert!(at <= file.len() as u64, "parts lie in the file");
    for lost in &manifest.damage {
        assert!(
            lost.bytes.start <= lost.bytes.end && lost.bytes.end <= file.len() as u64
        );
    }
    // If the compression of all chunks is unknown, the file is rejected when it is read.
    let all = Selection::default();
    let first = manifest.plan(&all, 0).into_iter().next();
    let refused = first.and_then(|part| log.read(&part, &all).err());
    if refused.is_some_and(|err| err.kind() == ErrorKind::Unsupported) {
        return;
    }
    let whole = read(&*log, u64::MAX);
    assert!(read(&*log, 0) == whole, "the parts have the records of the whole");
    decode(&*log);
    if manifest.metadata.get("indexed") == Some(&Value::Bool(true)) {
        return; // A consistent summary is trusted.
    }
    let mut counted = vec![0; manifest.topics.len()];
    whole.iter().for_each(|(topic, _)| counted[*topic] += 1);
    for (topic, records) in manifest.topics.iter().zip(counted) {
        assert_eq!(topic.records, Some(records), "{:?}", topic.label());
    }
    if file.len() <= SHORT {
        conformance::check_damaged(&FORMAT, file);
    }
}

/// Returns the topic and the length of each record.
fn read(log: &dyn Log, target: u64) -> Vec<(usize, usize)> {
    let (all, mut block, mut found) = (Selection::default(), Block::default(), vec![]);
    for part in log.manifest().plan(&all, target) {
        let mut cursor = log.read(&part, &all).expect("a planned part opens");
        let mut fills = 0;
        while cursor.fill(&mut block).expect("a memory source does not fail") {
            fills += 1;
            assert!(
                fills <= part.bytes.end - part.bytes.start,
                "the cursor makes progress"
            );
            found.extend(block.iter().map(|r| (r.topic.index(), r.payload.len())));
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
        assert_eq!(decoder.schema(), &topic.schema, "{:?}", topic.label());
        let mut records = 0;
        for part in log.manifest().plan(&selection, u64::MAX) {
            let mut cursor = log.read(&part, &selection).expect("a planned part opens");
            while cursor.fill(&mut block).expect("a memory source does not fail") {
                records += block.len() as u64;
                block.runs().for_each(|run| decoder.append(run, &mut damage));
            }
        }
        let rows = decoder.take().expect("rows make a table").num_rows() as u64;
        let lost = damage.drain(..).filter(|damage| damage.kind.is_loss());
        let lost: u64 = lost.map(|damage| damage.records).sum();
        assert_eq!(rows + lost, records, "{:?}", topic.label());
    }
}

/// Encodes a file of a few messages in small chunks.
pub fn sample(compression: Compression) -> Result<Vec<u8>> {
    let mut options = WriterOptions::default();
    (options.compression, options.chunk_bytes) = (compression, 150);
    let mut file = Writer::new(Cursor::new(Vec::new()), options)?;
    let text = file.schema("std_msgs/String", "ros1msg", b"string data\n")?;
    let point = b"float64 x\nfloat64 y\nfloat64 z\n";
    let point = file.schema("geometry_msgs/Point", "ros1msg", point)?;
    let words = BTreeMap::from([("latching".to_owned(), "1".to_owned())]);
    let text = file.channel("/text", text, "ros1", words)?;
    let point = file.channel("/point", point, "ros1", BTreeMap::new())?;
    let raw = file.channel("/raw", Default::default(), "odd", BTreeMap::new())?;
    for number in 0..12_u8 {
        let time = Timestamp::from_nanos(1_000_000 * i64::from(number / 2));
        let sequence = u32::from(number);
        match number % 3 {
            0 => file.write(text, sequence, time, time, &[2, 0, 0, 0, b'a', number])?,
            1 => file.write(point, sequence, time, time, &[number; 24])?,
            _ => file.write(raw, sequence, time, time, &[number; 5])?,
        }
    }
    file.metadata("words", &BTreeMap::from([("a".to_owned(), "b".to_owned())]))?;
    Ok(file.finish()?.into_inner())
}
