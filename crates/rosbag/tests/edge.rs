//! As many messages as possible are read from anomalous bags of all kinds, real and constructed.
//!
//! `edge/EXPECT.tsv` has the expected numbers. It was written by hand together with the
//! generator of the bags, independently of this crate.

// Clippy does not recognize helper functions as tests.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{path::PathBuf, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Damage, DamageKind, ErrorKind, Log as _, Result, Selection, conformance,
};
use logtool_rosbag::{Key, OpenMode, RosbagLog, RosbagOptions};

/// Returns the folder of the bags.
fn folder() -> Option<PathBuf> {
    conformance::sample_path("rosbag/edge")
}

/// The result of reading a bag.
struct ReadResult {
    records: u64,
    damage: Vec<Damage>,
    log: RosbagLog,
}

fn read(bytes: &Bytes, options: RosbagOptions) -> Result<ReadResult> {
    let log = RosbagLog::open(Arc::new(bytes.clone()), options)?;
    let (selection, mut block) = (Selection::default(), Block::default());
    let (mut records, mut damage) = (0, Vec::new());
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection)?;
        while cursor.fill(&mut block)? {
            records += block.len() as u64;
            damage.extend_from_slice(block.damage());
        }
    }
    Ok(ReadResult { records, damage, log })
}

const MODES: [OpenMode; 4] =
    [OpenMode::Auto, OpenMode::Index, OpenMode::Scan, OpenMode::Full];

/// Bags that cannot be opened or read, and the reason.
const REFUSED: [(&str, ErrorKind, &str); 4] = [
    ("comp_unknown_zstd.bag", ErrorKind::Unsupported, "compressed with \"zstd\""),
    ("crlf_magic.bag", ErrorKind::Malformed, "text mode"),
    ("lfs_pointer.bag", ErrorKind::Unrecognized, "Git LFS pointer"),
    ("encrypted_unknown.bag", ErrorKind::Unsupported, "acme/Rot13"),
];

/// Bags with more readable messages than the table states: the number of messages, and the reason.
const MORE: [(&str, u64, &str); 3] = [
    (
        "data_len_huge.bag",
        100,
        "only the length of a chunk is wrong, and all messages exist; the table states 75",
    ),
    (
        "active_unterminated_bz2.bag",
        100,
        "the last chunk lacks only its checksum; the table states 75 or more",
    ),
    ("corrupt_chunk2_none.bag", 99, "only the message 37 is damaged"),
];

#[test]
fn every_edge_case_returns_all_readable_messages() {
    let Some(folder) = folder() else { return };
    let table = std::fs::read_to_string(folder.join("EXPECT.tsv")).unwrap();
    let mut failures = Vec::new();
    for row in table.lines().skip(1) {
        let [name, count, ..] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let count: u64 = count.parse().expect("every row has a count");
        let more = MORE.iter().find(|more| more.0 == name);
        let count = more.map_or(count, |more| more.1.max(count));
        let bytes = Bytes::from(std::fs::read(folder.join(name)).unwrap());
        // Decompressing 300 MB takes long, so it is done once.
        let is_bomb = name == "bz2_bomb.bag";
        for mode in MODES.into_iter().take(if is_bomb { 1 } else { 4 }) {
            let mut options = RosbagOptions::default().with_mode(mode);
            if is_bomb {
                // Its only message has 300 MB, which the options must allow.
                options.open.record_bytes = 512 << 20;
            }
            match read(&bytes, options) {
                Ok(read) if read.records == count => {}
                Ok(read) => failures.push(format!(
                    "{name}: {} instead of {count} ({mode:?}); {:?} {:?}",
                    read.records,
                    read.damage,
                    read.log.manifest().remarks
                )),
                Err(err) => {
                    let refused = REFUSED.iter().find(|refused| refused.0 == name);
                    let is_expected = refused.is_some_and(|(_, kind, reason)| {
                        err.kind() == *kind && err.to_string().contains(reason)
                    });
                    if !is_expected {
                        failures.push(format!("{name}: {err} ({mode:?})"));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns a bag of the folder.
fn bytes_of(name: &str) -> Option<Vec<u8>> {
    Some(std::fs::read(folder()?.join(name)).unwrap())
}

/// Reads a bag of the folder with default options.
fn read_one(name: &str, mode: OpenMode) -> Option<ReadResult> {
    let bytes = Bytes::from(bytes_of(name)?);
    Some(read(&bytes, RosbagOptions::default().with_mode(mode)).unwrap())
}

#[test]
fn lost_chunk_is_reported_by_topic_count_and_time() {
    // According to bagdump, the second chunk is at the bytes 6353..7792. Its 20 messages of
    // /chatter are from 0.26 to 0.49 s, and its 5 messages of /num from 0.25 to 0.45 s, after
    // 1,700,000,000 s.
    let Some(mut bytes) = bytes_of("ok_none.bag") else { return };
    bytes[6353..7792].fill(0xff);
    for mode in [OpenMode::Index, OpenMode::Scan] {
        let options = RosbagOptions::default().with_mode(mode);
        let ReadResult { records, damage, log } =
            read(&Bytes::from(bytes.clone()), options).unwrap();
        assert_eq!(records, 75);
        let losses: Vec<_> = damage
            .iter()
            .map(|damage| {
                let topic = log.manifest().topic(damage.topic.unwrap()).unwrap();
                let time = damage.time.unwrap();
                let millis = |t: logtool_core::Timestamp| t.as_nanos() / 1_000_000;
                assert_eq!(damage.kind, DamageKind::Garbled);
                assert_eq!(damage.bytes.start, 6353);
                let times = (millis(time.start), millis(time.end));
                (topic.name.as_str(), damage.records, times)
            })
            .collect();
        let start = 1_700_000_000_000;
        let chatter = ("/chatter", 20, (start + 260, start + 490));
        let num = ("/num", 5, (start + 250, start + 450));
        assert_eq!(losses, [chatter, num], "{mode:?}");
    }
}

#[test]
fn lost_message_is_located() {
    let Some(ReadResult { damage, log, .. }) =
        read_one("corrupt_chunk2_none.bag", OpenMode::Index)
    else {
        return;
    };
    // According to the index data, the message "msg 37" begins at the byte 2661 of the content of
    // the chunk.
    let [damage] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!((damage.kind, damage.records), (DamageKind::Garbled, 1));
    assert_eq!(damage.bytes, 7068..7124);
    assert_eq!(log.manifest().topic(damage.topic.unwrap()).unwrap().name, "/chatter");
}

#[test]
fn decompression_bomb_is_over_the_limit() {
    let Some(ReadResult { records, damage, .. }) =
        read_one("bz2_bomb.bag", OpenMode::Index)
    else {
        return;
    };
    assert_eq!(records, 0);
    let [damage] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!((damage.kind, damage.records), (DamageKind::OverLimit, 1));
}

#[test]
fn encrypted_bag_is_read_only_with_its_key() {
    let Some(folder) = folder() else { return };
    // The keys in the bag headers, decrypted with `gpg --decrypt`.
    let keys = [
        ("encrypted_aes_none.bag", "7d1784eeedd07da1d93e9de8a0d8e708"),
        ("encrypted_aes_lz4.bag", "38a894d77a7826af128b2503adda6c3d"),
    ];
    for (name, key) in keys {
        let bytes = Bytes::from(std::fs::read(folder.join(name)).unwrap());
        for mode in MODES {
            let options = RosbagOptions::default().with_mode(mode);
            let without_key =
                RosbagLog::open(Arc::new(bytes.clone()), options).unwrap();
            let time = without_key.manifest().time.unwrap();
            assert_eq!(time.start.as_nanos(), 1_700_000_000_000_000_000);
            let err = read(&bytes, options).err().unwrap();
            assert_eq!(err.kind(), ErrorKind::NeedsKey);
            assert!(err.to_string().contains("rosbagtest"), "{err}");

            let key = Key::from_hex(key).unwrap();
            let ReadResult { records, damage, log } =
                read(&bytes, options.with_key(key)).unwrap();
            assert_eq!((records, damage), (20, vec![]), "{name} {mode:?}");
            assert_eq!(log.manifest().topics[0].type_name, "std_msgs/String");

            let wrong_key = Key::new([0; 16]);
            let err = read(&bytes, options.with_key(wrong_key)).err().unwrap();
            assert!(err.to_string().contains("key is wrong"), "{name} {mode:?}: {err}");
        }
    }
}

#[test]
fn messages_after_a_broken_chunk_header_of_a_real_bag_are_read() {
    let Some(path) = conformance::sample_path("rosbag/example.bag") else { return };
    let mut bytes = std::fs::read(path).unwrap();
    bytes[4117..4157].fill(0); // in the header of the first chunk
    for mode in MODES {
        let options = RosbagOptions::default().with_mode(mode);
        let read = read(&Bytes::from(bytes.clone()), options).unwrap();
        // The number of messages of the whole bag in MANIFEST.tsv.
        assert_eq!(read.records, 8647, "{mode:?}");
        // Bytes before the first record belong to no part.
        let mut damage = read.log.manifest().damage.iter().chain(&read.damage);
        assert!(damage.any(|damage| damage.bytes.end == 4166), "{mode:?}");
    }
}

#[test]
fn chunk_truncated_within_a_block_is_read_up_to_its_end() {
    let Some(path) = conformance::sample_path("rosbag/example-lz4.bag") else { return };
    let bytes = Bytes::from(std::fs::read(path).unwrap());
    let read = read(&bytes.slice(..150_000), RosbagOptions::default()).unwrap();
    assert!(read.records > 1000 && read.records < 8647, "{}", read.records);
    assert!(read.damage.iter().any(|damage| damage.kind == DamageKind::Truncated));
}

/// For bags of four chunks with 25 messages each: the positions of the header of the second chunk,
/// of its data, and of the next record, by a record parser in Python.
const SECOND_CHUNKS: [(&str, usize, usize, usize); 3] = [
    ("ok_none.bag", 6353, 6402, 7792),
    ("ok_bz2.bag", 5151, 5199, 5536),
    ("ok_lz4.bag", 5195, 5243, 5608),
];

#[test]
fn chunk_with_the_header_of_another_record_is_damage_and_is_read() {
    for (name, at, data, _) in SECOND_CHUNKS {
        let Some(mut bytes) = bytes_of(name) else { return };
        let op = bytes[at..data].windows(3).position(|name| name == b"op=").unwrap();
        bytes[at + op + 3] = 0x77;
        for mode in MODES {
            let options = RosbagOptions::default().with_mode(mode);
            let read = read(&Bytes::from(bytes.clone()), options).unwrap();
            assert_eq!(read.records, 100, "{name} {mode:?}");
            let [damage] = &read.damage[..] else { panic!("{:?}", read.damage) };
            assert_eq!(damage.bytes.start, at as u64, "{name}");
        }
    }
}

#[test]
fn compressed_chunk_with_a_broken_header_is_read() {
    for (name, at, data, _) in SECOND_CHUNKS {
        for byte in [0, 0xff] {
            let Some(mut bytes) = bytes_of(name) else { return };
            bytes[at..data - 8].fill(byte);
            for mode in MODES {
                let options = RosbagOptions::default().with_mode(mode);
                let read = read(&Bytes::from(bytes.clone()), options).unwrap();
                assert_eq!(read.records, 100, "{name} {mode:?}");
                let [damage] = &read.damage[..] else { panic!("{:?}", read.damage) };
                assert_eq!(damage.kind, DamageKind::Garbled);
                assert_eq!(damage.bytes, at as u64..data as u64, "{name}");
            }
        }
    }
}

#[test]
fn chunk_with_too_long_a_length_is_read_exactly_to_its_end() {
    for (name, _, data, end) in SECOND_CHUNKS {
        for added_len in [100, 500, u32::MAX - 10_000] {
            let Some(mut bytes) = bytes_of(name) else { return };
            let len = (end - data) as u32 + added_len;
            bytes[data - 4..data].copy_from_slice(&len.to_le_bytes());
            for mode in MODES {
                let options = RosbagOptions::default().with_mode(mode);
                let read = read(&Bytes::from(bytes.clone()), options).unwrap();
                assert_eq!(read.records, 100, "{name} {added_len} {mode:?}");
            }
        }
    }
}

#[test]
fn chunk_with_too_short_a_length_is_read_to_its_end() {
    for (name, _, data, end) in SECOND_CHUNKS {
        for missing_len in [1, 100, (end - data) / 2, end - data - 8] {
            let Some(mut bytes) = bytes_of(name) else { return };
            let len = (end - data - missing_len) as u32;
            bytes[data - 4..data].copy_from_slice(&len.to_le_bytes());
            for mode in MODES {
                let options = RosbagOptions::default().with_mode(mode);
                let read = read(&Bytes::from(bytes.clone()), options).unwrap();
                assert_eq!(read.records, 100, "{name} {missing_len} {mode:?}");
            }
        }
    }
}
