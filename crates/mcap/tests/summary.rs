//! Files with incomplete summaries, and records with fields that this version of the
//! specification does not define. All files are valid; they are assembled from the
//! record layouts of the MCAP specification.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

#[path = "common/last_bytes.rs"]
mod last_bytes;

use std::sync::Arc;

use bytes::Bytes;
use last_bytes::read;
use logtool_core::{Findings, Log as _, OpenOptions, Severity};
use logtool_mcap::McapLog;

const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// A record with the opcode `op` and `padding` after its known fields.
fn record(op: u8, fields: &[u8], padding: &[u8]) -> Vec<u8> {
    let len = (fields.len() + padding.len()) as u64;
    [&[op], &len.to_le_bytes()[..], fields, padding].concat()
}

/// Bytes preceded by their length.
fn with_length_prefix(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes(), bytes].concat()
}

fn schema(id: u16, padding: &[u8]) -> Vec<u8> {
    let name = with_length_prefix(format!("a/T{id}").as_bytes());
    let fields = [
        &id.to_le_bytes()[..],
        &name,
        &with_length_prefix(b"ros1msg"),
        &with_length_prefix(b"uint8 x\n"),
    ];
    record(3, &fields.concat(), padding)
}

/// The channel `id` with the schema `id`.
fn channel(id: u16, padding: &[u8]) -> Vec<u8> {
    let topic = with_length_prefix(format!("/{id}").as_bytes());
    let (id, encoding) = (id.to_le_bytes(), with_length_prefix(b"ros1"));
    let fields = [&id[..], &id, &topic, &encoding, &with_length_prefix(b"")];
    record(4, &fields.concat(), padding)
}

fn message(channel: u16, time: u64) -> Vec<u8> {
    let (channel, time) = (channel.to_le_bytes(), time.to_le_bytes());
    record(5, &[&channel[..], &[0; 4], &time, &time, &[time[0]]].concat(), b"")
}

/// The optional contents of a file.
#[derive(Clone, Copy, Default)]
struct Parts {
    padding: &'static [u8],
    is_zstd: bool,
    has_message_indexes: bool,
    has_schemas: bool,
    has_channels: bool,
    has_statistics: bool,
    has_channel_counts: bool,
}

const CHUNKS: u64 = 3;
/// The number of messages in each chunk.
const MESSAGES: u64 = 4;

/// A file of three chunks, each with its own channel that is declared in the chunk, and
/// a summary with chunk indexes.
fn file(parts: Parts) -> Vec<u8> {
    let Parts { padding, .. } = parts;
    let mut bytes = MAGIC.to_vec();
    bytes.extend(record(
        1,
        &[with_length_prefix(b""), with_length_prefix(b"")].concat(),
        padding,
    ));
    let mut indexes = Vec::new();
    for chunk in 0..CHUNKS {
        let id = chunk as u16 + 1;
        let mut records = [schema(id, padding), channel(id, padding)].concat();
        let mut entries = Vec::new();
        let times = chunk * MESSAGES..(chunk + 1) * MESSAGES;
        for time in times.clone() {
            entries.extend([time, records.len() as u64].map(u64::to_le_bytes).concat());
            records.extend(message(id, time));
        }
        let size = records.len() as u64;
        let (packed, name) = if parts.is_zstd {
            (zstd::bulk::compress(&records, 1).unwrap(), with_length_prefix(b"zstd"))
        } else {
            (records, with_length_prefix(b""))
        };
        let packed_len = packed.len() as u64;
        let span = [times.start, times.end - 1, size].map(u64::to_le_bytes).concat();
        let head = [&span, &[0; 4][..], &name, &packed_len.to_le_bytes()].concat();
        let at = bytes.len() as u64;
        bytes.extend(record(6, &[head, packed].concat(), padding));
        let (len, index_at) = (bytes.len() as u64 - at, bytes.len() as u64);
        let mut offsets = Vec::new();
        if parts.has_message_indexes {
            let id = id.to_le_bytes();
            bytes.extend(record(
                7,
                &[&id[..], &with_length_prefix(&entries)].concat(),
                padding,
            ));
            offsets = [&id[..], &index_at.to_le_bytes()].concat();
        }
        let index_len = bytes.len() as u64 - index_at;
        let position =
            [times.start, times.end - 1, at, len].map(u64::to_le_bytes).concat();
        let sizes = [packed_len, size].map(u64::to_le_bytes).concat();
        let fields = [
            &position[..],
            &with_length_prefix(&offsets),
            &index_len.to_le_bytes(),
            &name,
            &sizes,
        ];
        indexes.extend(record(8, &fields.concat(), padding));
    }
    bytes.extend(record(0x0f, &[0; 4], b""));
    let start = bytes.len() as u64;
    let ids = 1..=CHUNKS as u16;
    if parts.has_schemas {
        ids.clone().for_each(|id| bytes.extend(schema(id, padding)));
    }
    if parts.has_channels {
        ids.clone().for_each(|id| bytes.extend(channel(id, padding)));
    }
    if parts.has_statistics {
        let each = |id: u16| [&id.to_le_bytes()[..], &MESSAGES.to_le_bytes()].concat();
        let counts =
            if parts.has_channel_counts { ids.map(each).collect() } else { vec![] };
        let total = (CHUNKS * MESSAGES).to_le_bytes();
        let kinds =
            [&3_u16.to_le_bytes()[..], &3_u32.to_le_bytes(), &[0; 8], &[3, 0, 0, 0]];
        let times = [0, CHUNKS * MESSAGES - 1].map(u64::to_le_bytes).concat();
        let fields = [
            &total[..],
            &kinds.concat(),
            &times,
            &with_length_prefix(&counts.concat()),
        ];
        bytes.extend(record(0x0b, &fields.concat(), padding));
    }
    bytes.extend(indexes);
    let offsets = bytes.len() as u64;
    bytes.extend(record(0x0e, &[&[8][..], &[0; 16]].concat(), padding));
    let positions = [start, offsets].map(u64::to_le_bytes).concat();
    bytes.extend(record(2, &[&positions[..], &[0; 4]].concat(), b""));
    bytes.extend(MAGIC);
    bytes
}

fn open(bytes: Vec<u8>) -> McapLog {
    McapLog::open(Arc::new(Bytes::from(bytes)), OpenOptions::default()).unwrap()
}

/// Asserts that the whole file is read without damage, and that `check` reports no errors.
#[track_caller]
fn assert_complete(bytes: Vec<u8>) -> McapLog {
    let log = open(bytes);
    let all: Vec<u8> = (0..(CHUNKS * MESSAGES) as u8).collect();
    assert_eq!(read(&log), (all, vec![]));
    let manifest = log.manifest();
    assert_eq!((manifest.damage.len(), manifest.records()), (0, Some(12)));
    let topics = manifest.topics.iter();
    let topics: Vec<_> =
        topics.map(|t| (&*t.name, &*t.type_name, &*t.definition, t.records)).collect();
    let expected = [("/1", "a/T1"), ("/2", "a/T2"), ("/3", "a/T3")];
    assert_eq!(topics, expected.map(|(name, of)| (name, of, "uint8 x\n", Some(4))));
    let mut findings = Findings::default();
    log.check(&mut findings).unwrap();
    let errors = findings.iter().filter(|one| one.code.severity == Severity::Error);
    assert_eq!(errors.map(|one| one.code.name).collect::<Vec<_>>(), [""; 0]);
    log
}

const ALL: Parts = Parts {
    padding: b"",
    is_zstd: false,
    has_message_indexes: true,
    has_schemas: true,
    has_channels: true,
    has_statistics: true,
    has_channel_counts: true,
};

#[test]
fn incomplete_summary_is_completed_from_data() {
    for mask in 0..64_u8 {
        let is_set = |bit: u8| mask & 1 << bit != 0;
        let parts = Parts {
            is_zstd: is_set(0),
            has_message_indexes: is_set(1),
            has_schemas: is_set(2),
            has_channels: is_set(3),
            has_statistics: is_set(4),
            has_channel_counts: is_set(5),
            ..ALL
        };
        assert_complete(file(parts));
    }
}

#[test]
fn unknown_trailing_fields_are_ignored() {
    for is_zstd in [false, true] {
        for padding in [&b"\x01\xff\xff"[..], b"\0", &[0xab; 40]] {
            let parts = Parts { padding, is_zstd, ..ALL };
            let padded = file(parts);
            assert_complete(padded.clone());
            assert_complete(file(Parts { has_channels: false, ..parts }));
            // Without a summary, the whole file is scanned.
            let mut scanned = padded;
            let footer = scanned.len() - MAGIC.len() - 20;
            scanned[footer..footer + 8].fill(0);
            let log = open(scanned);
            assert_eq!(read(&log).0.len(), 12);
            assert_eq!(log.manifest().damage, []);
        }
    }
}

#[test]
fn padded_chunks_after_damage_are_found() {
    let padded = file(Parts { padding: b"\x01\xff\xff", ..ALL });
    let log = open(padded.clone());
    let second = log.manifest().parts[1].bytes.start as usize;
    let mut broken = padded;
    // The length and the header of the second chunk.
    broken[second..second + 60].fill(0xee);
    let footer = broken.len() - MAGIC.len() - 20;
    broken[footer..footer + 8].fill(0);
    let (messages, damage) = read(&open(broken));
    assert!(messages.ends_with(&[8, 9, 10, 11]), "{messages:?} {damage:?}");
    assert!(messages.starts_with(&[0, 1, 2, 3]), "{messages:?} {damage:?}");
    assert!(!damage.is_empty());
}

#[test]
fn wrong_compressed_length_is_reported() {
    let mut bytes = file(ALL);
    let second = open(bytes.clone()).manifest().parts[1].bytes.clone();
    // The length of the records follows the times, the size, the checksum and the name.
    let at = second.start as usize + 9 + 8 + 8 + 8 + 4 + 4;
    let len = second.end - second.start - 9 - 40;
    assert_eq!(bytes[at..at + 8], len.to_le_bytes());
    bytes[at..at + 8].copy_from_slice(&(len - 32).to_le_bytes());
    let (messages, damage) = read(&open(bytes));
    assert_eq!(messages, (0..12).collect::<Vec<u8>>(), "no message is lost");
    assert_eq!(damage.len(), 1, "the length is: {damage:?}");
}
