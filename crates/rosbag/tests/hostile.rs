//! Maliciously changed bags: reading them ends soon, and does not panic.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::sync::Arc;

use bytes::Bytes;
use logtool_core::{
    Block, Columns, ErrorKind, Log as _, OpenOptions, Selection, Topic, TopicId,
    conformance,
};
use logtool_rosbag::{OpenMode, RosbagLog, RosbagOptions};

fn sample(name: &str) -> Option<Bytes> {
    conformance::sample(&format!("rosbag/{name}"))
}

/// A deterministic generator of pseudorandom numbers (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// Values for lengths and counts that reveal code which trusts them.
const NUMBERS: [u32; 8] = [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 4117, 38, 1 << 20];

/// Opens and reads a bag, with any result but a panic.
fn read(bytes: Bytes, mode: OpenMode) {
    let mut open = OpenOptions::default();
    open.record_bytes = 1 << 20;
    let options = RosbagOptions::from(open).with_mode(mode);
    let Ok(log) = RosbagLog::open(Arc::new(bytes), options) else { return };
    let (selection, mut block) = (Selection::default(), Block::default());
    for part in log.manifest().plan(&selection, 4096) {
        let mut cursor = match log.read(&part, &selection) {
            // The change may have produced an unknown compression.
            Err(err)
                if [ErrorKind::Unsupported, ErrorKind::NeedsKey]
                    .contains(&err.kind()) =>
            {
                return;
            }
            cursor => cursor.unwrap(),
        };
        while cursor.fill(&mut block).unwrap() {}
    }
}

/// Reads the bag with random changes, this number of times.
fn read_with_changes(name: &str, rounds: usize, mode: OpenMode) {
    let Some(bytes) = sample(name) else { return };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..rounds {
        let mut bytes = bytes.to_vec();
        for _ in 0..=random.below(6) {
            let at = random.below(bytes.len() - 4);
            match random.below(4) {
                0 => bytes[at] = random.below(256) as u8,
                1 => {
                    let number = NUMBERS[random.below(NUMBERS.len())];
                    bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
                }
                2 => {
                    let end = at + random.below(bytes.len() - at).min(300);
                    bytes.drain(at..end);
                }
                _ => {
                    let len = random.below(bytes.len() - at).min(300);
                    let from = random.below(bytes.len() - len);
                    let copy = bytes[from..from + len].to_vec();
                    bytes.splice(at..at, copy);
                }
            }
            if bytes.len() < 8 {
                break;
            }
        }
        read(bytes.into(), mode);
    }
}

#[test]
fn reading_garbled_edge_cases_does_not_panic() {
    let names =
        ["ok_none", "ok_bz2", "ok_lz4", "lz4_linked_contentsize", "v12_indexed"];
    for name in names {
        for mode in [OpenMode::Index, OpenMode::Scan, OpenMode::Full] {
            read_with_changes(&format!("edge/{name}.bag"), 300, mode);
        }
    }
}

#[test]
fn reading_garbled_real_bags_does_not_panic() {
    for name in
        ["plotjuggler-out.bag", "only-a-cube.bag", "rosbag2_bag_v2-test_bag.bag"]
    {
        read_with_changes(name, 200, OpenMode::Index);
    }
}

#[test]
fn reading_a_bag_of_overlapping_chunks_or_of_connections_ends_soon() {
    // The length of each chunk includes all following chunks.
    let mut bytes = b"#ROSBAG V2.0\n".to_vec();
    let fields =
        b"\x09\0\0\0size=\x01\0\0\0\x10\0\0\0compression=none\x04\0\0\0op=\x05";
    while bytes.len() < 1 << 20 {
        bytes.extend((fields.len() as u32).to_le_bytes());
        bytes.extend(fields);
        bytes.extend(u32::MAX.to_le_bytes());
    }
    read(bytes.clone().into(), OpenMode::Index);
    // Many declarations of the same three connections with different types.
    let mut bytes = b"#ROSBAG V2.0\n".to_vec();
    for id in 0..20_000_u32 {
        let mut fields = b"\x09\0\0\0conn=".to_vec();
        fields.extend((id % 3).to_le_bytes());
        fields.extend(b"\x08\0\0\0topic=/a\x04\0\0\0op=\x07");
        let data = [&b"\x0a\0\0\0type="[..], format!("{id:05}").as_bytes()].concat();
        bytes.extend((fields.len() as u32).to_le_bytes());
        bytes.extend(fields);
        bytes.extend((data.len() as u32).to_le_bytes());
        bytes.extend(data);
    }
    read(bytes.into(), OpenMode::Scan);
}

#[test]
fn bag_with_thousands_of_definitions_with_many_columns_opens_soon() {
    // Each definition has two kilobytes and 65,536 columns: each of 16 nested types has two fields.
    let mut bytes = b"#ROSBAG V2.0\n".to_vec();
    let field = |name: &str, value: &[u8]| {
        let len = (name.len() + 1 + value.len()) as u32;
        [&len.to_le_bytes()[..], name.as_bytes(), b"=", value].concat()
    };
    for id in 0..2_000_u32 {
        let mut text = format!("T0 a\nT0 b\nint8 C={}\n", id % 100);
        for depth in 0..15 {
            let inner =
                if depth == 14 { "int8".to_owned() } else { format!("T{}", depth + 1) };
            text += &format!("===\nMSG: p/T{depth}\n{inner} a\n{inner} b\n");
        }
        let topic = format!("/t{id}");
        let fields = [
            field("conn", &id.to_le_bytes()),
            field("op", &[7]),
            field("topic", topic.as_bytes()),
        ]
        .concat();
        let data = [
            field("type", format!("p/A{id}").as_bytes()),
            field("md5sum", b"*"),
            field("message_definition", text.as_bytes()),
        ]
        .concat();
        for part in [fields, data] {
            bytes.extend((part.len() as u32).to_le_bytes());
            bytes.extend(part);
        }
    }
    let options = RosbagOptions::default().with_mode(OpenMode::Scan);
    let log = RosbagLog::open(Arc::new(Bytes::from(bytes)), options).unwrap();
    let manifest = log.manifest();
    assert_eq!(manifest.topics.len(), 2_000);
    let columns = |topic: &Topic| topic.schema.flattened_fields().len();
    let column_count: usize = manifest.topics.iter().map(columns).sum();
    assert!((1 << 19..1 << 21).contains(&column_count), "{column_count} columns");
    // Topics beyond the column budget have only raw bytes, and a remark states the reason.
    let is_raw = |topic: &&Topic| columns(topic) == 2;
    let raw_count = manifest.topics.iter().filter(is_raw).count();
    let remarks =
        manifest.remarks.iter().filter(|remark| remark.contains("a million columns"));
    assert_eq!(remarks.count(), raw_count);
    let last = TopicId(1_999);
    let decoder = log.decoder(last, &Columns::default()).unwrap();
    assert_eq!(decoder.schema(), &manifest.topics[last.index()].schema);
}
