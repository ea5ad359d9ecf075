//! MCAP files satisfy the laws of the core, with any compression and after any damage.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::{collections::BTreeMap, io::Cursor, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, DamageKind, Log as _, LogAccess, MetadataKey, OpenOptions, Selection,
    Timestamp, Value, conformance,
};
use logtool_mcap::{Compression, FORMAT, McapLog, Writer, WriterOptions};

/// A file of `std_msgs/String` and of messages with an unknown encoding, in small
/// chunks.
fn file(compression: Compression) -> Bytes {
    let mut options = WriterOptions::default();
    (options.compression, options.chunk_bytes) = (compression, 200);
    options.profile = "ros1".to_owned();
    let mut file = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let schema = file.schema("std_msgs/String", "ros1msg", b"string data\n").unwrap();
    let latching = BTreeMap::from([("latching".to_owned(), "1".to_owned())]);
    let chatter = file.channel("/chatter", schema, "ros1", latching).unwrap();
    let other = file.channel("/chatter", schema, "ros1", BTreeMap::new()).unwrap();
    let raw = file.channel("/raw", Default::default(), "odd", BTreeMap::new()).unwrap();
    for number in 0..20_u32 {
        let time = Timestamp::from_nanos(1_000 + i64::from(number / 2) * 7);
        let text = [&[1, 0, 0, 0][..], &[b'a' + number as u8]].concat();
        let channel = if number % 3 == 0 { other } else { chatter };
        file.write(channel, number, time, time, &text).unwrap();
        if number % 4 == 0 {
            file.write(raw, number, time, time, &[7; 9]).unwrap();
        }
    }
    let metadata = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    file.metadata("words", &metadata).unwrap();
    file.finish().unwrap().into_inner().into()
}

/// Returns the contents of `file` without chunks and without a summary.
fn without_chunks() -> Bytes {
    let bytes = file(Compression::None);
    let (mut at, mut out) = (8, bytes[..8].to_vec());
    loop {
        let len =
            u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
        let record = &bytes[at..at + 9 + len];
        match record[0] {
            6 => out.extend_from_slice(&record[9 + 40..]),
            7 => {} // message indexes belong to chunks
            0x0f => break,
            _ => out.extend_from_slice(record),
        }
        at += 9 + len;
    }
    out.extend_from_slice(b"\x0f\x04\0\0\0\0\0\0\0\0\0\0\0");
    out.extend_from_slice(b"\x02\x14\0\0\0\0\0\0\0");
    out.extend_from_slice(&[0; 20]);
    out.extend_from_slice(b"\x89MCAP0\r\n");
    out.into()
}

fn open(bytes: &Bytes) -> McapLog {
    McapLog::open(Arc::new(bytes.clone()), OpenOptions::default()).unwrap()
}

/// Returns the number of records, and the damage that was reported.
fn read(log: &McapLog) -> (usize, Vec<(DamageKind, std::ops::Range<u64>)>) {
    let (selection, mut block) = (Selection::default(), Block::default());
    let (mut records, mut damage) = (0, Vec::new());
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            records += block.len();
            damage.extend(block.damage().iter().map(|d| (d.kind, d.bytes.clone())));
        }
    }
    (records, damage)
}

#[test]
fn files_of_every_compression_satisfy_laws() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        conformance::check(&FORMAT, file(compression));
    }
}

#[test]
fn file_without_chunks_satisfies_laws() {
    let bytes = without_chunks();
    conformance::check(&FORMAT, bytes.clone());
    assert_eq!(read(&open(&bytes)), (25, vec![]));
}

#[test]
fn records_with_unknown_opcodes_are_skipped() {
    // Records of an application after the header and before the end of the data.
    let custom_record = |op: u8| [&[op, 5, 0, 0, 0, 0, 0, 0, 0][..], b"hello"].concat();
    let whole = without_chunks();
    let header = 8 + 9 + u64::from_le_bytes(whole[9..17].try_into().unwrap()) as usize;
    let data_end = whole.len() - 8 - 29 - 13;
    let bytes = [
        &whole[..header],
        &custom_record(0x80),
        &custom_record(0xff),
        &whole[header..data_end],
        &custom_record(0x90),
        &whole[data_end..],
    ];
    let bytes = Bytes::from(bytes.concat());
    conformance::check(&FORMAT, bytes.clone());
    assert_eq!(read(&open(&bytes)), (25, vec![]));
}

#[test]
fn truncated_file_satisfies_laws_and_keeps_complete_chunks() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let bytes = file(compression);
        let log = open(&bytes);
        assert_eq!(log.manifest().access, LogAccess::Indexed);
        let end = log.manifest().parts.last().unwrap().bytes.end as usize;
        let cut = bytes.slice(..end);
        conformance::check_damaged(&FORMAT, cut.clone());
        assert_eq!(read(&open(&cut)), (25, vec![]));
        // Half of the last chunk is missing; the chunks before it are complete.
        let last = log.manifest().parts.last().unwrap().bytes.clone();
        let middle = (last.start + last.end) / 2;
        let cut = bytes.slice(..middle as usize);
        conformance::check_damaged(&FORMAT, cut.clone());
        let (_, damage) = read(&open(&cut));
        assert_eq!(damage, [(DamageKind::Truncated, last.start..middle)]);
    }
}

#[test]
fn damaged_chunk_is_skipped_and_reported() {
    let whole = file(Compression::Zstd);
    let parts = open(&whole).manifest().parts.clone();
    let broken_one = parts[3].bytes.clone();
    // The header of the fourth chunk and the start of its compressed data are damaged;
    // there is no summary.
    let mut broken = whole[..parts.last().unwrap().bytes.end as usize].to_vec();
    let at = broken_one.start as usize + 1;
    broken[at..at + 70].fill(0xff);
    let log = open(&broken.into());
    let (records, damage) = read(&log);
    let lost: usize = {
        let only = |log: &McapLog, part| {
            let (selection, mut block, mut records) =
                (Selection::default(), Block::default(), 0);
            let mut cursor = log.read(part, &selection).unwrap();
            while cursor.fill(&mut block).unwrap() {
                records += block.len();
            }
            records
        };
        only(&open(&whole), &parts[3])
    };
    assert_eq!(records, 25 - lost, "{damage:?} {parts:?}");
    let (kind, bytes) = &damage[0];
    assert_eq!((damage.len(), *kind), (1, DamageKind::Garbled));
    assert!(bytes.start == broken_one.start && bytes.end <= parts[4].bytes.start);
    assert_eq!(log.manifest().damage.len(), 1);
}

#[test]
fn invalid_summary_is_not_used() {
    let bytes = file(Compression::Lz4);
    // The offset of the summary is the first field of the footer.
    let footer = bytes.len() - 8 - 20;
    for start in [1_u64, 9, footer as u64, u64::MAX] {
        let mut changed = bytes.to_vec();
        changed[footer..footer + 8].copy_from_slice(&start.to_le_bytes());
        let log = open(&changed.into());
        assert_eq!(read(&log), (25, vec![]), "{start}");
        assert_eq!(log.manifest().access, LogAccess::Damaged);
    }
}

#[test]
fn channels_of_topic_are_streams_and_may_be_latched() {
    let log = open(&file(Compression::None));
    let manifest = log.manifest();
    let names: Vec<_> =
        manifest.topics.iter().map(|t| t.label().into_owned()).collect();
    assert_eq!(names, ["/chatter", "/raw"]);
    let topics: Vec<u32> =
        manifest.streams.iter().map(|stream| stream.topic.0).collect();
    assert_eq!(topics, [0, 0, 1]);
    assert_eq!(manifest.topics[0].latched, [0]);
    let counts: Vec<_> = manifest.topics.iter().map(|topic| topic.records).collect();
    assert_eq!(counts, [Some(20), Some(5)]);
    let columns = |topic: usize| -> Vec<String> {
        let fields = manifest.topics[topic].schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    };
    assert_eq!(columns(0), ["time", "data"]);
    assert_eq!(columns(1), ["time", "payload"]);
}

#[test]
fn shared_schema_is_not_stored_for_each_channel() {
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let text = format!("string data\n#{}\n", "x".repeat(1 << 19));
    let schema = file.schema("pkg/Text", "ros1msg", text.as_bytes()).unwrap();
    for number in 0..1_000 {
        let name = format!("/topic{number}");
        let channel = file.channel(&name, schema, "ros1", BTreeMap::new()).unwrap();
        let time = Timestamp::from_nanos(number);
        file.write(channel, 0, time, time, &[1, 0, 0, 0, b'a']).unwrap();
    }
    let bytes: Bytes = file.finish().unwrap().into_inner().into();
    let log = open(&bytes);
    let stored_len: usize =
        log.manifest().topics.iter().map(|t| t.definition.len()).sum();
    assert!((32 << 20..=64 << 20).contains(&stored_len), "{stored_len}");
    let columns =
        |topic: usize| log.manifest().topics[topic].schema.field(1).name().clone();
    assert_eq!((columns(0), columns(999)), ("data".to_owned(), "payload".to_owned()));
    let last = logtool_core::TopicId(999);
    let decoder = log.decoder(last, &logtool_core::Columns::default()).unwrap();
    assert_eq!(decoder.schema(), &log.manifest().topics[999].schema);
    assert_eq!(read(&log), (1_000, vec![]));
}

#[test]
fn long_metadata_record_is_read_from_file_with_summary() {
    let mut file =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let text = "x".repeat(2 << 20);
    let metadata = BTreeMap::from([("key".to_owned(), text.clone())]);
    file.metadata("long", &metadata).unwrap();
    let log = open(&file.finish().unwrap().into_inner().into());
    let manifest = log.manifest();
    assert_eq!(manifest.access, LogAccess::Indexed);
    let key: String = MetadataKey::MetadataRecords.into();
    let Value::Map(records) = &manifest.metadata[&key] else { panic!("not a map") };
    let Value::Map(record) = &records["long"] else { panic!("not a map") };
    assert!(record["key"] == Value::Text(text));
}

#[test]
fn chunk_over_size_limit_is_reported() {
    let mut options = WriterOptions::default();
    (options.compression, options.chunk_bytes) = (Compression::None, 100_000);
    let mut file = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let raw = file.channel("/raw", Default::default(), "odd", BTreeMap::new()).unwrap();
    let time = Timestamp::from_nanos(1);
    for len in [200_000, 100_001, 5] {
        file.write(raw, 0, time, time, &vec![7; len]).unwrap();
    }
    let bytes: Bytes = file.finish().unwrap().into_inner().into();
    let mut open = OpenOptions::default();
    open.record_bytes = 80_000;
    let log = McapLog::open(Arc::new(bytes), open).unwrap();
    let parts = log.manifest().parts.clone();
    assert_eq!(parts.len(), 3);
    let lost = |part: usize| (DamageKind::OverLimit, parts[part].bytes.clone());
    assert_eq!(read(&log), (1, vec![lost(0), lost(1)]));
}
