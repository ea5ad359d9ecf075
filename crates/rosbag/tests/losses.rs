//! All losses are reported, and only damaged messages are lost.
//!
//! `testdata/rover.bag` has 491 messages in six chunks, compressed with LZ4. The positions of its
//! records were determined with a record parser of 5 lines in Python, the contents of its chunks
//! from their index data, and the number of messages that can be decompressed with an LZ4 decoder
//! in Python.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

#[path = "losses/displaced_bytes.rs"]
mod displaced_bytes;
#[path = "losses/index_data.rs"]
mod index_data;

use std::{ops::Range, path::Path, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Damage, DamageKind, Log as _, Selection, Timestamp, conformance,
};
use logtool_rosbag::{
    Compression, ConnectionHeader, FORMAT, Key, OpenMode, RosbagLog, RosbagOptions,
    Writer, WriterOptions,
};

const MODES: [OpenMode; 4] =
    [OpenMode::Auto, OpenMode::Index, OpenMode::Scan, OpenMode::Full];

/// The result of reading a bag: the number of records, the damage in the manifest, and the damage
/// that the parts report.
struct ReadResult {
    records: u64,
    in_manifest: Vec<Damage>,
    damage: Vec<Damage>,
}

impl ReadResult {
    /// Returns the number of lost records that the parts or the manifest report.
    fn lost_records(&self) -> u64 {
        let records = |damage: &[Damage]| damage.iter().map(|loss| loss.records).sum();
        u64::max(records(&self.in_manifest), records(&self.damage))
    }

    fn is_loss_reported(&self) -> bool {
        self.in_manifest.iter().chain(&self.damage).any(|damage| damage.kind.is_loss())
    }
}

fn read(bytes: &[u8], options: RosbagOptions) -> ReadResult {
    let source = Arc::new(Bytes::copy_from_slice(bytes));
    let log = RosbagLog::open(source, options).unwrap();
    // Points are rows in addition to the messages that they are derived from.
    let topics = log.manifest().logged_topics();
    let (selection, mut block) =
        (Selection { topics, ..Selection::default() }, Block::default());
    let (mut records, mut damage) = (0, Vec::new());
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            records += block.len() as u64;
            damage.extend_from_slice(block.damage());
        }
    }
    ReadResult { records, in_manifest: log.manifest().damage.clone(), damage }
}

fn read_with_mode(bytes: &[u8], mode: OpenMode) -> ReadResult {
    read(bytes, RosbagOptions::default().with_mode(mode))
}

fn rover() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    std::fs::read(folder.join("rover.bag")).unwrap()
}

/// Returns the bag without the position of its index, like that of a recorder that was killed.
fn without_index_position(mut bytes: Vec<u8>) -> Vec<u8> {
    let at = bytes.windows(10).position(|name| name == b"index_pos=").unwrap() + 10;
    bytes[at..at + 8].fill(0);
    bytes
}

#[test]
fn lost_chunks_keep_the_laws() {
    let mut zeros = rover();
    zeros[LAST.start - 20..LAST.end].fill(0);
    let mut wrong_length = rover();
    wrong_length[12240..12244].copy_from_slice(&u32::to_le_bytes(0x0c00_0000));
    let mut noisy = rover();
    noisy[31305..34305].fill(0x5a);
    for bytes in [zeros, wrong_length, noisy] {
        conformance::check_damaged(
            &FORMAT,
            without_index_position(bytes.clone()).into(),
        );
        conformance::check_damaged(&FORMAT, bytes.into());
    }
}

/// The last chunk with its index data, and the number of its messages of each topic.
const LAST: Range<usize> = 50293..52370;
const COUNTS_OF_LAST: [u64; 4] = [12, 2, 2, 2 + 2];
/// The third chunk, which is longer than padding can be, and the number of its messages.
const THIRD: Range<usize> = 22488..31608;
const COUNTS_OF_THIRD: [u64; 7] = [51, 10, 10, 4, 2, 2, 10 + 10];

#[test]
fn zeroed_chunk_is_reported_by_topic_count_and_time() {
    let sound = rover();
    let log =
        RosbagLog::open(Arc::new(Bytes::from(sound.clone())), RosbagOptions::default());
    let parts = log.unwrap().manifest().parts.clone();
    for (lost_chunk, counts) in [(LAST, &COUNTS_OF_LAST[..]), (THIRD, &COUNTS_OF_THIRD)]
    {
        let part =
            parts.iter().find(|part| part.bytes.start == lost_chunk.start as u64);
        let time = part.unwrap().time;
        // The zeros begin with the chunk, or in the index data before it.
        for start in [lost_chunk.start, lost_chunk.start - 20] {
            let mut bytes = sound.clone();
            bytes[start..lost_chunk.end].fill(0);
            for mode in MODES {
                let read = read_with_mode(&bytes, mode);
                let lost_records: u64 = counts.iter().sum();
                assert_eq!(
                    (read.records, read.lost_records()),
                    (491 - lost_records, lost_records),
                    "{mode:?}"
                );
                let lost = read.damage.iter().filter(|damage| damage.records > 0);
                let mut records: Vec<u64> = Vec::new();
                for damage in lost {
                    assert!(damage.topic.is_some(), "{damage:?}");
                    assert_eq!(damage.kind, DamageKind::Garbled);
                    assert_eq!(damage.bytes.start, lost_chunk.start as u64);
                    let damage_time = damage.time.unwrap();
                    assert!(
                        time.start <= damage_time.start && damage_time.end <= time.end
                    );
                    records.push(damage.records);
                }
                records.sort_unstable();
                let mut counts = counts.to_vec();
                counts.sort_unstable();
                assert_eq!(records, counts, "{mode:?}");
            }
        }
    }
}

#[test]
fn lost_chunk_is_reported_from_remaining_index_data_and_the_index() {
    // Only the index data of the first connection remain.
    let mut bytes = rover();
    bytes[LAST.start..52000].fill(0xff);
    for mode in MODES {
        let read = read_with_mode(&bytes, mode);
        assert_eq!((read.records, read.lost_records()), (471, 20), "{mode:?}");
    }
}

#[test]
fn zeroed_chunks_that_were_not_inspected_are_reported() {
    // The bag has 40 chunks of one message; only some chunks of such a long bag are inspected.
    let options =
        WriterOptions::default().with_compression(Compression::Lz4).with_chunk_bytes(1);
    let mut writer = Writer::new(std::io::Cursor::new(Vec::new()), options).unwrap();
    let header = ConnectionHeader::new("/a", "std_msgs/Empty", "");
    let a = writer.connect(&header).unwrap();
    for number in 0..40 {
        let time = Timestamp::from_nanos(1_700_000_000_000_000_000 + number);
        writer.write(a, time, &[number as u8; 100]).unwrap();
    }
    let sound = writer.finish().unwrap().into_inner();
    let log =
        RosbagLog::open(Arc::new(Bytes::from(sound.clone())), RosbagOptions::default());
    let parts = log.unwrap().manifest().parts.clone();
    assert_eq!(parts.len(), 40);
    for part in &parts {
        let mut bytes = sound.clone();
        bytes[part.bytes.start as usize..part.bytes.end as usize].fill(0);
        for mode in MODES {
            let read = read_with_mode(&bytes, mode);
            assert_eq!(
                (read.records, read.lost_records()),
                (39, 1),
                "{mode:?} {part:?}"
            );
        }
    }
}

#[test]
fn zeroed_chunk_and_index_are_reported_from_the_chunk_count_in_the_header() {
    // By a record parser in Python: the start of the last of four chunks of 25 messages each.
    for (name, at) in [("ok_lz4.bag", 6842), ("ok_bz2.bag", 6734)] {
        let Some(bytes) = conformance::sample(&format!("rosbag/edge/{name}")) else {
            return;
        };
        let mut bytes = bytes.to_vec();
        bytes[at..].fill(0);
        for mode in MODES {
            let read = read_with_mode(&bytes, mode);
            assert!(read.records == 75 && read.is_loss_reported(), "{name} {mode:?}");
        }
        // Only the index is zeroed.
        let mut bytes =
            conformance::sample(&format!("rosbag/edge/{name}")).unwrap().to_vec();
        let index = bytes.windows(4).rposition(|op| op == b"op=\x07").unwrap();
        let index =
            bytes[..index].windows(4).rposition(|op| op == b"op=\x04").unwrap() + 80;
        bytes[index..].fill(0);
        for mode in MODES {
            let read = read_with_mode(&bytes, mode);
            assert!(read.records == 100 && !read.is_loss_reported(), "{name} {mode:?}");
        }
    }
}

#[test]
fn zeros_between_records_are_padding() {
    for at in [12193, 13576, 22488, 52370] {
        let mut bytes = rover();
        bytes.splice(at..at, [0; 49]);
        for mode in MODES {
            for bytes in [&bytes, &without_index_position(bytes.clone())] {
                let read = read_with_mode(bytes, mode);
                assert!(
                    read.records == 491 && !read.is_loss_reported(),
                    "{at} {mode:?}"
                );
            }
        }
    }
}

#[test]
fn chunk_with_a_broken_lz4_block_is_read_up_to_its_damage() {
    // Of the 33,329 bytes of the chunk, 33,170 can be decompressed: 99 of its 100 messages.
    let mut bytes = rover();
    bytes[48539..48542].fill(0);
    for mode in MODES {
        let read = read_with_mode(&bytes, mode);
        assert_eq!((read.records, read.lost_records()), (490, 1), "{mode:?}");
        let kinds: Vec<DamageKind> =
            read.damage.iter().map(|damage| damage.kind).collect();
        assert_eq!(kinds, [DamageKind::Garbled, DamageKind::Doubtful]);
        assert!(read.damage[0].topic.is_some());
    }
}

#[test]
fn chunk_truncated_between_two_messages_is_reported() {
    // By a record parser in Python: the data of the last of four chunks, which is not
    // compressed, begin at 10100; records end at the other positions.
    let name = "rosbag/edge/unindexed.bag";
    let Some(bytes) = conformance::sample(name) else { return };
    for end in [10100, 10154, 10210, 10710, 11434] {
        let read = read(&bytes[..end], RosbagOptions::default());
        assert!((75..100).contains(&read.records) && read.is_loss_reported(), "{end}");
    }
}

#[test]
fn truncated_encrypted_chunk_is_read_up_to_its_end() {
    // The chunk is at the bytes 4117..5526, and has 20 messages, as in the unencrypted bag.
    let name = "rosbag/edge/encrypted_aes_none.bag";
    let Some(bytes) = conformance::sample(name) else { return };
    let key = Key::from_hex("7d1784eeedd07da1d93e9de8a0d8e708").unwrap();
    let records_up_to = |end: usize| {
        let read = read(&bytes[..end], RosbagOptions::default().with_key(key));
        assert!(read.is_loss_reported());
        read.records
    };
    assert_eq!([5500, 4300].map(records_up_to), [19, 0]);
    assert!((1..19).contains(&records_up_to(5000)));
}
