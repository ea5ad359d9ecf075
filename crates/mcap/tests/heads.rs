//! Chunks whose heads are broken by hand, one way each: what is in them is found all the
//! same, and what is said of them is true.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

use std::{collections::BTreeMap, io::Cursor, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Damage, DamageKind, ErrorKind, Log as _, LogAccess, OpenOptions, Selection,
    Timestamp,
};
use logtool_mcap::{Compression, McapLog, Writer, WriterOptions};

/// As many messages as the file has.
const ALL: usize = 60;

/// Where in a chunk are its opcode, the length of its record, its start, its size, the
/// checksum of what is unpacked, the length of the name of its compression, and the name;
/// the length of what is packed is behind that. (MCAP specification, "Chunk".)
const OPCODE: usize = 0;
const LENGTH: usize = 1;
const START: usize = 9;
const SIZE: usize = 25;
const CRC: usize = 33;
const NAME_LENGTH: usize = 37;
const NAME: usize = 41;

/// A file of several chunks of messages whose bytes are their number.
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

/// Where the second chunk is.
fn second(bytes: &[u8]) -> Range<usize> {
    let place = open(bytes).manifest().parts[1].bytes.clone();
    place.start as usize..place.end as usize
}

/// The bytes of the messages, each once, and what is damaged.
fn read(log: &McapLog) -> (Vec<u8>, Vec<Damage>) {
    let (all, mut block) = (Selection::default(), Block::default());
    let (mut messages, mut damage) = (Vec::new(), Vec::new());
    for part in log.manifest().plan(&all, 0) {
        let mut cursor = log.read(&part, &all).unwrap();
        while cursor.fill(&mut block).unwrap() {
            messages.extend(block.iter().map(|record| *record.payload.last().unwrap()));
            damage.extend_from_slice(block.damage());
        }
    }
    (messages, damage)
}

/// The codes that `check` finds, each once.
fn codes(log: &McapLog) -> Vec<&'static str> {
    let findings = logtool_core::check(log, &|_| {}).unwrap();
    let mut names: Vec<_> = findings.iter().map(|finding| finding.code.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The file of `compression` whose second chunk has `wrong` at the place `at`; without what
/// is behind its chunks if `is_cut`.
fn broken(compression: Compression, at: usize, wrong: &[u8], is_cut: bool) -> Vec<u8> {
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
fn a_head_that_says_another_length_or_size_loses_nothing() {
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
                let bytes = broken(compression, at, wrong, is_cut);
                let what = format!("{compression:?} {at} {wrong:?} {is_cut}");
                let log = open(&bytes);
                let (messages, damage) = read(&log);
                assert_eq!(messages, numbers(), "{what} {damage:?}");
                assert!(!damage.is_empty(), "{what}");
                assert!(
                    damage.iter().all(|one| !one.kind.is_loss()),
                    "{what} {damage:?}"
                );
                let told = &log.manifest().damage;
                assert!(told.iter().all(|one| !one.kind.is_loss()), "{what} {told:?}");
            }
        }
    }
}

#[test]
fn a_size_that_is_wrong_where_the_checksum_does_not_fit_either_is_a_loss() {
    let mut bytes = broken(Compression::None, SIZE, &[0x01], false);
    let at = second(&bytes).start + CRC;
    bytes[at] ^= 1;
    let (_, damage) = read(&open(&bytes));
    assert!(damage.iter().any(|one| one.kind.is_loss()), "{damage:?}");
}

#[test]
fn records_behind_a_broken_head_are_found() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        for (at, wrong) in [
            (OPCODE, &[0x00][..]),
            (OPCODE, &[0x06, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            (NAME_LENGTH, &[0xff; 4]),
            (START, &[0xff; 40]),
            (OPCODE, &[0xee; NAME]),
        ] {
            let bytes = broken(compression, at, wrong, false);
            let what = format!("{compression:?} {at} {wrong:?}");
            let chunk = second(&file(compression));
            let (messages, damage) = read(&open(&bytes));
            assert_eq!(messages, numbers(), "{what} {damage:?}");
            let [only] = damage.as_slice() else { panic!("{what} {damage:?}") };
            // No more than the head is lost.
            assert!(only.bytes.start >= chunk.start as u64, "{what} {only}");
            assert!(only.lost_bytes <= 9 + 40 + 4, "{what} {only}");
        }
    }
    // Where nothing tells of the chunks, the same.
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        for (at, wrong) in [
            (OPCODE, &[0x00][..]),
            (OPCODE, &[0xee; NAME]),
            (LENGTH, &[0xff; 36]),
            (NAME_LENGTH, &[0xff; 4]),
        ] {
            let what = format!("{compression:?} {at} {wrong:?}");
            let (messages, damage) = read(&open(&broken(compression, at, wrong, true)));
            assert_eq!(messages, numbers(), "{what} {damage:?}");
            // That a checksum cannot be verified may be reported beside the damage.
            let is_damage = |one: &&Damage| one.kind != DamageKind::Doubtful;
            assert_eq!(damage.iter().filter(is_damage).count(), 1, "{what} {damage:?}");
        }
    }
}

#[test]
fn check_says_what_is_wrong_and_not_that_the_end_is_missing() {
    for (at, wrong) in [
        (OPCODE, &[0x00][..]),
        (OPCODE, &[0x05]),
        (LENGTH, &[0xff; 8]),
        (NAME_LENGTH, &[0xff; 4]),
        (START, &[0xff; 40]),
    ] {
        let bytes = broken(Compression::Zstd, at, wrong, false);
        let found = codes(&open(&bytes));
        assert!(!found.is_empty(), "{at}");
        let missing =
            ["mcap.magic.end", "mcap.footer.missing", "mcap.message_index.count"];
        assert!(!found.iter().any(|code| missing.contains(code)), "{at} {found:?}");
    }
    // The same of a broken head of what is in no chunk: a message index.
    let mut bytes = file(Compression::Zstd);
    let at = second(&bytes).end;
    bytes[at + 1..at + 9].fill(0xff);
    let found = codes(&open(&bytes));
    assert!(!found.contains(&"mcap.magic.end"), "{found:?}");
    // And of a file that has no end.
    let len = bytes.len();
    let cut = codes(&open(&bytes[..len - 60]));
    assert!(cut.contains(&"mcap.magic.end"), "{cut:?}");
}

#[test]
fn a_compression_that_is_not_known_is_named() {
    // One of the chunks.
    let bytes = broken(Compression::Lz4, NAME, b"xyz", true);
    let log = open(&bytes);
    let why = "the chunk is compressed with \"xyz\", which logtool does not know";
    let (messages, damage) = read(&log);
    assert!(!messages.is_empty() && messages.len() < ALL);
    for damage in damage.iter().chain(&log.manifest().damage) {
        assert!(damage.to_string().contains(why), "{damage}");
    }
    let remark = "a chunk is compressed with \"xyz\", which is not known, and not read";
    assert!(log.manifest().remarks.contains(&remark.to_owned()));

    // All of them, with what the summary tells of them, or without it.
    let whole = file(Compression::Lz4);
    let end = open(&whole).manifest().parts.last().unwrap().bytes.end as usize;
    let mut all = whole.clone();
    let name = b"\x03\0\0\0lz4";
    for at in 0..all.len() - name.len() {
        if all[at..].starts_with(name) {
            all[at + 4..at + 7].copy_from_slice(b"xyz");
        }
    }
    // There is no checksum of the summary.
    let crc = all.len() - 8 - 4;
    all[crc..crc + 4].fill(0);
    for (bytes, access) in
        [(&all[..], LogAccess::Indexed), (&all[..end], LogAccess::Damaged)]
    {
        let log = open(bytes);
        assert_eq!(log.manifest().access, access);
        let all = Selection::default();
        let part = &log.manifest().plan(&all, 0)[0];
        let err = log.read(part, &all).err().unwrap();
        assert_eq!(err.kind(), ErrorKind::Unsupported);
        let why = "its chunks are compressed with \"xyz\", which is not known";
        assert!(err.to_string().contains(why), "{err}");
        assert!(codes(&log).contains(&"mcap.chunk.packing"));
    }
    // Only the summary says so: it is not gone by.
    let mut lying = all[..].to_vec();
    lying[..end].copy_from_slice(&whole[..end]);
    assert_eq!(read(&open(&lying)).0, numbers());
}
