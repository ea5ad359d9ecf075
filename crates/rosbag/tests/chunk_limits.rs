//! Chunks that expand extremely are read up to the limits of the file.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::{io::Cursor, sync::Arc};

use bytes::Bytes;
use logtool_core::{Block, Damage, DamageKind, Log as _, Selection, Timestamp};
use logtool_rosbag::{
    Compression, ConnectionHeader, OpenMode, RosbagLog, RosbagOptions, Writer,
    WriterOptions,
};

/// The length of each message: an image without any content.
const LEN: usize = 8 << 20;

/// The offset of the first chunk: after the first line and the bag header.
const FIRST_CHUNK: usize = 13 + 4096;

/// A bag of `count` chunks with one message each, which bzip2 compresses to less than 1 kB.
fn bag(count: i64) -> Vec<u8> {
    let options = WriterOptions::default()
        .with_compression(Compression::Bz2)
        .with_chunk_bytes(1_000);
    let mut bag = Writer::new(Cursor::new(vec![]), options).unwrap();
    let header = ConnectionHeader::new("/x", "a/B", "uint8[] x\n");
    let connection = bag.connect(&header).unwrap();
    for number in 0..count {
        let time = Timestamp::from_nanos((1 + number) * 1_000_000_000);
        bag.write(connection, time, &[0; LEN]).unwrap();
    }
    let bytes = bag.finish().unwrap().into_inner();
    assert!(bytes.len() < 5_000 + count as usize * 1_000, "{} bytes", bytes.len());
    bytes
}

/// Returns the number of messages, and the damage.
fn read(
    bytes: &[u8],
    mode: OpenMode,
    record_bytes: Option<u32>,
) -> (usize, Vec<Damage>) {
    let mut options = RosbagOptions::default().with_mode(mode);
    options.open.record_bytes = record_bytes.unwrap_or(options.open.record_bytes);
    let source = Arc::new(Bytes::copy_from_slice(bytes));
    let log = RosbagLog::open(source, options).unwrap();
    let (selection, mut block) = (Selection::default(), Block::default());
    let (mut count, mut damage) = (0, Vec::new());
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            count += block.iter().count();
            damage.extend_from_slice(block.damage());
        }
    }
    (count, damage)
}

#[test]
fn a_few_images_without_content_are_read() {
    let bytes = bag(7);
    for mode in [OpenMode::Index, OpenMode::Scan] {
        assert_eq!(read(&bytes, mode, None), (7, vec![]), "{mode:?}");
    }
}

#[test]
fn chunks_that_expand_too_much_in_total_are_over_the_limit() {
    // They declare 160 MiB, in less than 20 kB. The limit is 64 MiB and 2,000 times that length.
    let bytes = bag(20);
    for mode in [OpenMode::Index, OpenMode::Scan] {
        let (count, damage) = read(&bytes, mode, None);
        assert_eq!((count, damage.len()), (0, 20), "{mode:?}");
        assert!(damage.iter().all(|damage| damage.kind == DamageKind::OverLimit));
    }
    assert_eq!(read(&bytes, OpenMode::Index, Some(257 << 20)), (20, vec![]));
}

#[test]
fn chunk_that_declares_ten_bytes_is_not_decompressed_to_its_end() {
    let mut bytes = bag(1);
    let name = b"size=";
    let first_chunk = &bytes[FIRST_CHUNK..];
    let at = first_chunk.windows(name.len()).position(|field| field == name).unwrap();
    let at = FIRST_CHUNK + at + name.len();
    bytes[at..at + 4].copy_from_slice(&10_u32.to_le_bytes());
    let (count, damage) = read(&bytes, OpenMode::Index, None);
    assert_eq!((count, damage.len()), (0, 1), "{damage:?}");
    assert_eq!(damage[0].kind, DamageKind::OverLimit);
}
