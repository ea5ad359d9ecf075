//! Missing or wrong chunk infos in bags that are too long to be read completely when they are
//! opened. Parts are planned by chunk infos, and this must not lose messages silently.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::{io::Cursor, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Damage, DamageKind, Log as _, OpenOptions, Selection, TimeRange, Timestamp,
};
use logtool_rosbag::{
    ConnectionHeader, RosbagLog, RosbagOptions, Writer, WriterOptions,
};

const SECOND: i64 = 1_000_000_000;

/// Returns a bag of `chunks` chunks of a second each, with 10 messages of 1 kB of `/a` and one
/// message of `/b`.
fn bag(chunks: i64) -> Vec<u8> {
    let options = WriterOptions::default().with_chunk_bytes(10_500);
    let mut bag = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let [a, b] = ["/a", "/b"].map(|topic| {
        let header = ConnectionHeader::new(topic, "std_msgs/String", "string data\n");
        bag.connect(&header).unwrap()
    });
    let payload = [&996_u32.to_le_bytes()[..], &[b'x'; 996]].concat();
    for second in 1..=chunks {
        let at = |nanos: i64| Timestamp::from_nanos(second * SECOND + nanos);
        bag.write(b, at(0), &payload[..4]).unwrap();
        (1..=10).for_each(|n| bag.write(a, at(n), &payload).unwrap());
    }
    bag.finish().unwrap().into_inner()
}

/// Returns the byte range of the chunk info with the index `number` in the bag `bytes`.
fn info(bytes: &[u8], number: usize) -> Range<usize> {
    let read_u32 =
        |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let position =
        bytes.windows(10).position(|name| name == b"index_pos=").unwrap() + 10;
    let (mut start, mut info_count) = (read_u32(position), 0);
    loop {
        let data = start + 4 + read_u32(start);
        let end = data + 4 + read_u32(data);
        if bytes[start..data].windows(4).any(|field| field == b"op=\x06") {
            if info_count == number {
                return start..end;
            }
            info_count += 1;
        }
        start = end;
    }
}

/// Returns the bag without the chunk info with the index `number`, and with the right chunk count
/// in its header.
fn without_info(mut bytes: Vec<u8>, number: usize, chunks: u32) -> Vec<u8> {
    let position =
        bytes.windows(12).position(|name| name == b"chunk_count=").unwrap() + 12;
    assert_eq!(bytes[position..position + 4], chunks.to_le_bytes());
    bytes[position..position + 4].copy_from_slice(&(chunks - 1).to_le_bytes());
    let info = info(&bytes, number);
    bytes.drain(info);
    bytes
}

/// Returns the bag with an end time in the chunk info that is before most of its messages.
fn with_early_end(mut bytes: Vec<u8>, number: usize) -> Vec<u8> {
    let info = info(&bytes, number);
    let end =
        bytes[info.clone()].windows(9).position(|name| name == b"end_time=").unwrap();
    let nanos = info.start + end + 9 + 4;
    bytes[nanos..nanos + 4].fill(0);
    bytes
}

/// Returns the bag with a chunk info that does not list `/b`.
fn without_topic(mut bytes: Vec<u8>, number: usize) -> Vec<u8> {
    let info = info(&bytes, number);
    let count =
        bytes[info.clone()].windows(6).position(|name| name == b"count=").unwrap();
    bytes[info.start + count + 6] = 1;
    let len = info.end - 20;
    assert_eq!(bytes[len..len + 4], 16_u32.to_le_bytes());
    bytes[len] = 8;
    // The entry with 10 messages, which is that of `/a`, stays.
    let entries = bytes[info.end - 16..info.end].to_vec();
    let entry = entries.chunks(8).find(|entry| entry[4] == 10).unwrap().to_vec();
    bytes.splice(info.end - 16..info.end, entry);
    bytes
}

/// Returns the number of messages of `topic` in the seconds `secs`, the damage and the remarks.
fn read(
    bytes: &[u8],
    topic: Option<&str>,
    secs: Range<i64>,
    compare_index: bool,
) -> (usize, Vec<Damage>, Vec<String>) {
    let mut options = OpenOptions::default();
    options.compare_index = compare_index;
    let options = RosbagOptions::default().with_open(options);
    let log =
        RosbagLog::open(Arc::new(Bytes::copy_from_slice(bytes)), options).unwrap();
    let mut selection = Selection::default();
    if let Some(topic) = topic {
        selection.topics =
            [log.manifest().topic_id(topic).unwrap()].into_iter().collect();
    }
    let [start, end] =
        [secs.start, secs.end].map(|s| Timestamp::from_nanos(s * SECOND));
    selection.time = TimeRange { start, end };
    let (mut block, mut records, mut damage) = (Block::default(), 0, Vec::new());
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            records += block.len();
            damage.extend_from_slice(block.damage());
        }
    }
    (records, damage, log.manifest().remarks.clone())
}

#[test]
fn chunk_without_chunk_info_is_found_after_the_previous_chunk() {
    for number in [0, 7, 13] {
        let bytes = without_info(bag(14), number, 14);
        assert!(bytes.len() > 128 << 10);
        let second = number as i64 + 1;
        let (records, _, remarks) = read(&bytes, None, second..second + 1, false);
        assert_eq!(records, 11, "{number}: {remarks:?}");
        assert!(!remarks.is_empty(), "{number}");
        assert_eq!(read(&bytes, None, 0..99, false).0, 14 * 11, "{number}");
        assert_eq!(read(&bytes, Some("/b"), 0..99, false).0, 14, "{number}");
    }
}

#[test]
fn unlisted_chunk_of_a_long_bag_is_reported_by_cursors_and_found_by_comparison() {
    // Of 100 chunks, 16 are inspected when the bag is opened: every sixth or seventh, but not 52.
    let bytes = without_info(bag(100), 52, 100);
    let (records, damage, remarks) = read(&bytes, None, 0..999, false);
    assert_eq!((records, remarks), (1_100, vec![]));
    assert_eq!(damage.len(), 1);
    assert_eq!(damage[0].kind, DamageKind::Index);
    assert!(damage[0].reason.as_deref().unwrap().contains("does not list this chunk"));
    let (records, damage, remarks) = read(&bytes, None, 53..54, true);
    assert_eq!((records, damage, remarks.len()), (11, vec![], 1));
}

#[test]
fn chunk_info_that_contradicts_its_index_data_is_found_by_comparison() {
    let early = with_early_end(bag(100), 52);
    let incomplete = without_topic(bag(100), 52);
    for (bytes, topic, per_chunk) in [(&early, "/a", 10), (&incomplete, "/b", 1)] {
        assert_eq!(read(bytes, Some(topic), 0..999, true).0, 100 * per_chunk);
        let (records, _, remarks) = read(bytes, Some(topic), 53..54, true);
        assert_eq!((records, remarks.len()), (per_chunk, 1), "{remarks:?}");
    }
    // A sound bag is not affected.
    let (records, damage, remarks) = read(&bag(100), None, 0..999, true);
    assert_eq!((records, damage, remarks), (1_100, vec![], vec![]));
}

#[test]
fn every_chunk_is_compared_if_the_header_counts_more_chunks() {
    let mut bytes = without_info(bag(100), 52, 100);
    let position =
        bytes.windows(12).position(|name| name == b"chunk_count=").unwrap() + 12;
    bytes[position..position + 4].copy_from_slice(&100_u32.to_le_bytes());
    let (records, damage, remarks) = read(&bytes, None, 53..54, false);
    assert_eq!((records, damage, remarks.len()), (11, vec![], 1));
}

/// Changes the position in a chunk info with `change`.
fn change_chunk_position(bytes: &mut [u8], number: usize, change: impl Fn(u64) -> u64) {
    let info = info(bytes, number);
    let name = bytes[info.clone()].windows(10).position(|name| name == b"chunk_pos=");
    let position = info.start + name.unwrap() + 10;
    let at = u64::from_le_bytes(bytes[position..position + 8].try_into().unwrap());
    bytes[position..position + 8].copy_from_slice(&change(at).to_le_bytes());
}

#[test]
fn several_wrong_positions_in_one_chunk_duplicate_nothing() {
    // A chunk with its index data takes a little more than 11 kB.
    for offsets in [[2000, 4000], [40, 9000], [5000, 5001]] {
        for first in [49, 50] {
            let mut bytes = bag(100);
            change_chunk_position(&mut bytes, first, |at| at + offsets[0]);
            change_chunk_position(&mut bytes, 51, |at| {
                at - 11_500 * (51 - first as u64) + offsets[1]
            });
            let (records, damage, _) = read(&bytes, None, 0..999, false);
            assert_eq!(records, 1_100, "{offsets:?} {first}: {damage:?}");
            assert!(damage.iter().all(|damage| damage.kind == DamageKind::Index));
        }
    }
}

#[test]
fn chunk_with_a_wrong_position_in_the_index_is_read_once() {
    for offset in [1, 8, 4096] {
        let mut bytes = bag(100);
        change_chunk_position(&mut bytes, 50, |at| at + offset);
        let (records, damage, _) = read(&bytes, None, 0..999, false);
        assert_eq!((records, damage.len()), (1_100, 1), "{offset}: {damage:?}");
        assert_eq!(damage[0].kind, DamageKind::Index);
        // A selection of the time range in the chunk info contains all messages of the chunk.
        assert_eq!(read(&bytes, None, 51..52, false).0, 11, "{offset}");
        assert_eq!(read(&bytes, None, 50..51, false).0, 11, "{offset}");
    }
}

#[test]
fn chunk_infos_without_times_hide_no_message_from_time_selections() {
    for changed_infos in [50..51, 0..100] {
        let mut bytes = bag(100);
        for number in changed_infos {
            let info = info(&bytes, number);
            for name in [b"start_time=".as_slice(), b"end_time="] {
                let mut fields = bytes[info.clone()].windows(name.len());
                let at = info.start + fields.position(|field| field == name).unwrap();
                bytes[at + name.len()..at + name.len() + 8].fill(0);
            }
        }
        let (records, damage, remarks) = read(&bytes, None, 51..52, false);
        assert_eq!((records, damage, remarks.len()), (11, vec![], 1), "{remarks:?}");
        assert_eq!(read(&bytes, None, 0..999, false).0, 1_100);
    }
}
