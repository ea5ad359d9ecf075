//! Chunks that expand extremely are read up to the limits of the file.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

#[path = "common/last_bytes.rs"]
mod last_bytes;

use std::{collections::BTreeMap, io::Cursor, sync::Arc};

use bytes::Bytes;
use last_bytes::read;
use logtool_core::{DamageKind, Log as _, OpenOptions, Timestamp};
use logtool_mcap::{Compression, McapLog, Writer, WriterOptions};

/// The length of each message: an image without any content.
const LEN: usize = 8 << 20;

/// A file of `count` chunks with one message each, which Zstandard compresses to less than 1 kB.
fn file(count: u8) -> Vec<u8> {
    let mut options = WriterOptions::default();
    (options.compression, options.chunk_bytes) = (Compression::Zstd, 1);
    let mut file = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let schema = file.schema("a/B", "ros1msg", b"uint8[] x\n").unwrap();
    let channel = file.channel("/x", schema, "ros1", BTreeMap::new()).unwrap();
    for number in 0..count {
        let time = Timestamp::from_nanos(1_000 + i64::from(number));
        let mut payload = vec![0; LEN];
        payload[LEN - 1] = number;
        file.write(channel, number.into(), time, time, &payload).unwrap();
    }
    let bytes = file.finish().unwrap().into_inner();
    assert!(bytes.len() < usize::from(count) * 2_000, "{} bytes", bytes.len());
    bytes
}

/// Returns the last byte of each message that is read, and the number of chunks over the limit.
fn read_file(bytes: &[u8], record_bytes: Option<u32>) -> (Vec<u8>, usize) {
    let mut options = OpenOptions::default();
    options.record_bytes = record_bytes.unwrap_or(options.record_bytes);
    let log = McapLog::open(Arc::new(Bytes::copy_from_slice(bytes)), options).unwrap();
    let (messages, damage) = read(&log);
    let over_limit =
        |damage: &&logtool_core::Damage| damage.kind == DamageKind::OverLimit;
    let count = damage.iter().filter(over_limit).count();
    assert_eq!(count, damage.len(), "{damage:?}");
    (messages, count)
}

/// Returns the part of the file up to the end of its last chunk.
fn without_summary(bytes: &[u8]) -> Vec<u8> {
    let source = Arc::new(Bytes::copy_from_slice(bytes));
    let log = McapLog::open(source, OpenOptions::default()).unwrap();
    let end = log.manifest().parts.last().unwrap().bytes.end;
    bytes[..end as usize].to_vec()
}

#[test]
fn a_few_images_without_content_are_read() {
    let bytes = file(7);
    let all: Vec<u8> = (0..7).collect();
    assert_eq!(read_file(&bytes, None), (all.clone(), 0));
    assert_eq!(read_file(&without_summary(&bytes), None), (all, 0));
}

#[test]
fn chunks_that_expand_too_much_in_total_are_over_the_limit() {
    // They declare 192 MiB, in less than 24 kB. The limit is 64 MiB and 2,000 times that length.
    let bytes = file(24);
    assert_eq!(read_file(&bytes, None), (vec![], 24));
    assert_eq!(read_file(&without_summary(&bytes), None), (vec![], 24));
    let all: Vec<u8> = (0..24).collect();
    assert_eq!(read_file(&bytes, Some(257 << 20)), (all, 0));
}

#[test]
fn chunk_that_declares_ten_bytes_is_not_decompressed_to_its_end() {
    let mut bytes = without_summary(&file(1));
    let source = Arc::new(Bytes::copy_from_slice(&bytes));
    let log = McapLog::open(source, OpenOptions::default()).unwrap();
    let start = log.manifest().parts[0].bytes.start as usize;
    // The size follows the opcode, the length of the record and two times.
    bytes[start + 25..start + 33].copy_from_slice(&10_u64.to_le_bytes());
    assert_eq!(read_file(&bytes, None), (vec![], 1));
}
