//! Chunks with one defect each in their headers: all messages are found, and the
//! reported damage is correct.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

#[path = "common/last_bytes.rs"]
mod last_bytes;

use std::{collections::BTreeMap, io::Cursor, ops::Range, sync::Arc};

use bytes::Bytes;
use last_bytes::read;
use logtool_core::{
    Damage, DamageKind, ErrorKind, Log as _, LogAccess, OpenOptions, Selection,
    Timestamp,
};
use logtool_mcap::{Compression, McapLog, Writer, WriterOptions};

/// The number of messages in the file.
const ALL: usize = 60;

/// The offsets of fields in a chunk record: the opcode, the length of the record, the
/// start time, the size, the checksum of the decompressed records, the length of the
/// compression name, and the name, which is followed by the length of the compressed
/// records. (MCAP specification, "Chunk".)
const OPCODE: usize = 0;
const LENGTH: usize = 1;
const START: usize = 9;
const SIZE: usize = 25;
const CRC: usize = 33;
const NAME_LENGTH: usize = 37;
const NAME: usize = 41;

/// A file of several chunks whose messages contain their number.
fn file(compression: Compression) -> Vec<u8> {
    let mut options = WriterOptions::default();
    (options.compression, options.chunk_bytes) = (compression, 300);
    let mut file = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let schema = file.schema("a/B", "ros1msg", b"uint8[16] x\n").unwrap();
    let channel = file.channel("/x", schema, "ros1", BTreeMap::new()).unwrap();
    for number in 0..ALL as u32 {
        let time = Timestamp::from_nanos(1_000 + i64::from(number));
        file.write(channel, number, time, time, &[number as u8; 16]).unwrap();
    }
    file.finish().unwrap().into_inner()
}

fn open(bytes: &[u8]) -> McapLog {
    let source = Arc::new(Bytes::from(bytes.to_vec()));
    McapLog::open(source, OpenOptions::default()).unwrap()
}

/// Returns the byte range of the second chunk.
fn second(bytes: &[u8]) -> Range<usize> {
    let range = open(bytes).manifest().parts[1].bytes.clone();
    range.start as usize..range.end as usize
}

/// Returns the codes of the findings of `check`, without duplicates.
fn codes(log: &McapLog) -> Vec<&'static str> {
    let findings = logtool_core::check(log, &|_| {}).unwrap();
    let mut names: Vec<_> = findings.iter().map(|finding| finding.code.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A file whose second chunk has the bytes `wrong` at the offset `at`. If `is_cut`,
/// everything after the chunks is missing.
fn corrupted_chunk(
    compression: Compression,
    at: usize,
    wrong: &[u8],
    is_cut: bool,
) -> Vec<u8> {
    let mut bytes = file(compression);
    let end = open(&bytes).manifest().parts.last().unwrap().bytes.end as usize;
    let chunk = second(&bytes);
    if is_cut {
        bytes.truncate(end);
    }
    bytes[chunk.start + at..][..wrong.len()].copy_from_slice(wrong);
    bytes
}

fn numbers() -> Vec<u8> {
    (0..ALL as u8).collect()
}

#[test]
fn wrong_length_or_size_in_header_loses_nothing() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let name = match compression {
            Compression::None => 0,
            Compression::Lz4 => 3,
            Compression::Zstd => 4,
        };
        let packed = NAME + name;
        for (at, wrong) in [
            (LENGTH, &[0xff; 8][..]),
            (LENGTH, &[0x01]),
            (LENGTH + 1, &[0x40]),
            (packed, &[0xff; 8]),
            (packed, &[0x01]),
            (packed + 1, &[0x40]),
            (LENGTH, &[0xff; 8 + 8]),
            (SIZE, &[0x01]),
            (SIZE, &[0xff; 8]),
        ] {
            for is_cut in [false, true] {
                let bytes = corrupted_chunk(compression, at, wrong, is_cut);
                let case = format!("{compression:?} {at} {wrong:?} {is_cut}");
                let log = open(&bytes);
                let (messages, damage) = read(&log);
                assert_eq!(messages, numbers(), "{case} {damage:?}");
                assert!(!damage.is_empty(), "{case}");
                assert!(
                    damage.iter().all(|entry| !entry.kind.is_loss()),
                    "{case} {damage:?}"
                );
                let reported = &log.manifest().damage;
                assert!(
                    reported.iter().all(|entry| !entry.kind.is_loss()),
                    "{case} {reported:?}"
                );
            }
        }
    }
}

/// The declared length of a chunk in which bytes are missing includes the start of the next one.
#[test]
fn chunk_after_missing_bytes_is_read() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let mut bytes = file(compression);
        let parts = open(&bytes).manifest().parts.clone();
        let (end, next) = (parts[1].bytes.end as usize, parts[2].bytes.start as usize);
        bytes.drain(end - 20..next);
        let (messages, damage) = read(&open(&bytes));
        let is_in_others = |number: &u8| {
            let time = Timestamp::from_nanos(1_000 + i64::from(*number));
            !parts[1].time.contains(time)
        };
        let of_others: Vec<u8> =
            messages.iter().copied().filter(is_in_others).collect();
        let expected: Vec<u8> = numbers().into_iter().filter(is_in_others).collect();
        assert_eq!(of_others, expected, "{compression:?} {damage:?}");
        // The damaged chunk has the messages before the missing bytes. Zstandard has only one
        // block here, which is lost.
        let has_first = messages.iter().any(|number| !is_in_others(number));
        assert_eq!(has_first, compression != Compression::Zstd, "{compression:?}");
        assert!(damage.iter().any(|entry| entry.kind.is_loss()), "{damage:?}");
        assert!(damage.iter().all(|entry| entry.kind != DamageKind::Truncated));
    }
}

/// The declared length of an index in which bytes are missing includes the start of the next chunk.
#[test]
fn chunk_after_missing_bytes_of_an_index_is_read() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let mut bytes = file(compression);
        let parts = open(&bytes).manifest().parts.clone();
        let index = parts[1].bytes.end as usize;
        bytes.drain(index + 20..index + 30);
        let (messages, damage) = read(&open(&bytes));
        assert_eq!(messages, numbers(), "{compression:?} {damage:?}");
        let is_index = |entry: &Damage| {
            entry.kind == DamageKind::Index && entry.bytes.start == index as u64
        };
        assert!(damage.iter().any(is_index), "{compression:?} {damage:?}");
        assert!(damage.iter().all(|entry| !entry.kind.is_loss()), "{damage:?}");
    }
}

/// Returns an attachment and a metadata record with texts of this length. (MCAP specification,
/// "Attachment" and "Metadata".)
fn attachment_and_metadata(len: u32) -> [Vec<u8>; 2] {
    let record = |op: u8, content: &[u8]| {
        [&[op][..], &(content.len() as u64).to_le_bytes(), content].concat()
    };
    let text = |text: &[u8]| [&(text.len() as u32).to_le_bytes()[..], text].concat();
    let data = vec![b'x'; len as usize];
    let mut attachment = [&[0; 16][..], &text(b"a.txt"), &text(b"text/plain")].concat();
    attachment.extend(u64::from(len).to_le_bytes());
    attachment.extend(&data);
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&attachment);
    attachment.extend(checksum.finalize().to_le_bytes());
    let entry = [text(b"key"), text(&data)].concat();
    let metadata = [text(b"name"), text(&entry)].concat();
    [record(9, &attachment), record(12, &metadata)]
}

/// The declared length of an attachment or a metadata record in which bytes are missing includes the
/// start of the next chunk.
#[test]
fn chunk_after_missing_bytes_of_an_attachment_or_metadata_is_read() {
    for inserted in attachment_and_metadata(200) {
        let mut bytes = file(Compression::None);
        let chunk = second(&bytes).start;
        bytes.splice(chunk..chunk, inserted);
        let (messages, damage) = read(&open(&bytes));
        assert_eq!((messages, damage.len()), (numbers(), 0));
        bytes.drain(chunk + 100..chunk + 120);
        let (messages, damage) = read(&open(&bytes));
        assert_eq!(messages, numbers(), "{damage:?}");
        let is_of_record =
            |entry: &Damage| entry.bytes.start == chunk as u64 && entry.kind.is_loss();
        assert!(damage.iter().any(is_of_record), "{damage:?}");
    }
}

/// Bytes that are not a record follow a sound attachment, which contains another file.
#[test]
fn sound_attachment_before_damage_is_not_searched_for_records() {
    let [attachment, _] = attachment_and_metadata(0);
    let inner = file(Compression::None);
    let content_start = 9;
    let mut content = attachment[content_start..attachment.len() - 12].to_vec();
    content.extend((inner.len() as u64).to_le_bytes());
    content.extend(&inner);
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&content);
    content.extend(checksum.finalize().to_le_bytes());
    let mut inserted = vec![9];
    inserted.extend((content.len() as u64).to_le_bytes());
    inserted.extend(content);
    inserted.extend([0xee; 50]);
    let mut bytes = file(Compression::None);
    let chunk = second(&bytes).start;
    bytes.splice(chunk..chunk, inserted);
    let (messages, damage) = read(&open(&bytes));
    assert_eq!(messages, numbers(), "{damage:?}");
    assert!(damage.iter().any(|entry| entry.kind.is_loss()), "{damage:?}");
}

#[test]
fn wrong_size_and_checksum_are_a_loss() {
    let mut bytes = corrupted_chunk(Compression::None, SIZE, &[0x01], false);
    let at = second(&bytes).start + CRC;
    bytes[at] ^= 1;
    let (_, damage) = read(&open(&bytes));
    assert!(damage.iter().any(|entry| entry.kind.is_loss()), "{damage:?}");
}

#[test]
fn records_after_damaged_header_are_found() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        for (at, wrong) in [
            (OPCODE, &[0x00][..]),
            (OPCODE, &[0x06, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            (NAME_LENGTH, &[0xff; 4]),
            (START, &[0xff; 40]),
            (OPCODE, &[0xee; NAME]),
        ] {
            let bytes = corrupted_chunk(compression, at, wrong, false);
            let case = format!("{compression:?} {at} {wrong:?}");
            let chunk = second(&file(compression));
            let (messages, damage) = read(&open(&bytes));
            assert_eq!(messages, numbers(), "{case} {damage:?}");
            let [only] = damage.as_slice() else { panic!("{case} {damage:?}") };
            // Only the header is lost.
            assert!(only.bytes.start >= chunk.start as u64, "{case} {only}");
            assert!(only.lost_bytes <= 9 + 40 + 4, "{case} {only}");
        }
    }
    // The same without a summary.
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        for (at, wrong) in [
            (OPCODE, &[0x00][..]),
            (OPCODE, &[0xee; NAME]),
            (LENGTH, &[0xff; 36]),
            (NAME_LENGTH, &[0xff; 4]),
        ] {
            let case = format!("{compression:?} {at} {wrong:?}");
            let (messages, damage) =
                read(&open(&corrupted_chunk(compression, at, wrong, true)));
            assert_eq!(messages, numbers(), "{case} {damage:?}");
            // An unverifiable checksum may be reported in addition to the damage.
            let is_damage = |entry: &&Damage| entry.kind != DamageKind::Doubtful;
            assert_eq!(damage.iter().filter(is_damage).count(), 1, "{case} {damage:?}");
        }
    }
}

#[test]
fn check_does_not_report_missing_end_for_damaged_header() {
    for (at, wrong) in [
        (OPCODE, &[0x00][..]),
        (OPCODE, &[0x05]),
        (LENGTH, &[0xff; 8]),
        (NAME_LENGTH, &[0xff; 4]),
        (START, &[0xff; 40]),
    ] {
        let bytes = corrupted_chunk(Compression::Zstd, at, wrong, false);
        let codes = codes(&open(&bytes));
        assert!(!codes.is_empty(), "{at}");
        let missing =
            ["mcap.magic.end", "mcap.footer.missing", "mcap.message_index.count"];
        assert!(!codes.iter().any(|code| missing.contains(code)), "{at} {codes:?}");
    }
    // The same for a damaged header of a record outside chunks, a message index.
    let mut bytes = file(Compression::Zstd);
    let at = second(&bytes).end;
    bytes[at + 1..at + 9].fill(0xff);
    let reported = codes(&open(&bytes));
    assert!(!reported.contains(&"mcap.magic.end"), "{reported:?}");
    // The same for a file without an end.
    let len = bytes.len();
    let cut = codes(&open(&bytes[..len - 60]));
    assert!(cut.contains(&"mcap.magic.end"), "{cut:?}");
}

#[test]
fn unknown_compression_is_named() {
    // One of the chunks has an unknown compression.
    let bytes = corrupted_chunk(Compression::Lz4, NAME, b"xyz", true);
    let log = open(&bytes);
    let message = "the chunk has the unknown compression \"xyz\"";
    let (messages, damage) = read(&log);
    assert!(!messages.is_empty() && messages.len() < ALL);
    for damage in damage.iter().chain(&log.manifest().damage) {
        assert!(damage.to_string().contains(message), "{damage}");
    }
    let remark = "a chunk is not read because of the unknown compression \"xyz\"";
    assert!(log.manifest().remarks.contains(&remark.to_owned()));

    // All chunks, and their entries in the summary if there is one.
    let sound = file(Compression::Lz4);
    let end = open(&sound).manifest().parts.last().unwrap().bytes.end as usize;
    let mut all_unknown = sound.clone();
    let name = b"\x03\0\0\0lz4";
    for at in 0..all_unknown.len() - name.len() {
        if all_unknown[at..].starts_with(name) {
            all_unknown[at + 4..at + 7].copy_from_slice(b"xyz");
        }
    }
    // The checksum of the summary is removed, so that the summary is still used.
    let crc = all_unknown.len() - 8 - 4;
    all_unknown[crc..crc + 4].fill(0);
    let without_summary = &all_unknown[..end];
    for (bytes, access) in
        [(&all_unknown[..], LogAccess::Indexed), (without_summary, LogAccess::Damaged)]
    {
        let log = open(bytes);
        assert_eq!(log.manifest().access, access);
        let selection = Selection::default();
        let part = &log.manifest().plan(&selection, 0)[0];
        let err = log.read(part, &selection).err().unwrap();
        assert_eq!(err.kind(), ErrorKind::Unsupported);
        let message = "its chunks have the unknown compression \"xyz\"";
        assert!(err.to_string().contains(message), "{err}");
        assert!(codes(&log).contains(&"mcap.chunk.compression"));
    }
    // Only the summary declares the unknown compression, so it is not used.
    let mut contradictory = all_unknown.clone();
    contradictory[..end].copy_from_slice(&sound[..end]);
    assert_eq!(read(&open(&contradictory)).0, numbers());
}
