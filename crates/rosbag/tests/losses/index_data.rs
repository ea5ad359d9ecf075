//! Damage to index data loses no message, unless a chunk is damaged, too.

use std::sync::Arc;

use bytes::Bytes;
use logtool_core::{Log as _, Timestamp, conformance};
use logtool_rosbag::{
    Compression, ConnectionHeader, OpenMode, RosbagLog, RosbagOptions, Writer,
    WriterOptions,
};

use super::{MODES, read_with_mode, rover, without_index_position};

/// The first and the last record of index data of two chunks, the first one and one in the middle:
/// the position of each record, and the length of its data.
const INDEX_DATA: [(usize, u32); 4] =
    [(12193, 432), (13437, 84), (30647, 120), (50106, 132)];
/// The length of the fields of index data.
const FIELDS_LEN: usize = 47;

#[test]
fn index_data_of_a_wrong_length_hide_no_chunk() {
    for (at, len) in INDEX_DATA {
        let sound = rover();
        let fields = &sound[at + 4..at + 4 + FIELDS_LEN];
        let count = fields.windows(6).position(|name| name == b"count=").unwrap();
        // The positions of the count and of the length.
        let (count, data_len) = (at + 4 + count + 6, at + 4 + FIELDS_LEN);
        let read_u32 =
            |at: usize| u32::from_le_bytes(sound[at..at + 4].try_into().unwrap());
        assert_eq!((read_u32(count), read_u32(data_len)), (len / 12, len));
        for (wrong_count, wrong_len) in [
            (0x5bd4_0501, 0x0c00_0000),
            (0x0100_0000, 0x0c00_0000),
            (0x5bd4_0501, 0x0c00_0001),
            (len / 12, 0x0c00_0000),
            (0x5bd4_0501, len),
            (7777, 20_000),
            (7777, 9000),
        ] {
            let mut bytes = rover();
            bytes[count..count + 4].copy_from_slice(&u32::to_le_bytes(wrong_count));
            bytes[data_len..data_len + 4].copy_from_slice(&u32::to_le_bytes(wrong_len));
            for (mode, bytes) in MODES.into_iter().flat_map(|mode| {
                [(mode, bytes.clone()), (mode, without_index_position(bytes.clone()))]
            }) {
                let read = read_with_mode(&bytes, mode);
                let case = format!("{at} {wrong_count} {wrong_len} {mode:?}");
                assert_eq!(read.records, 491, "{case}");
                assert!(!read.is_loss_reported(), "{case}");
            }
        }
    }
}

#[test]
fn bytes_inserted_into_index_data_hide_no_chunk() {
    for (at, _) in INDEX_DATA {
        for offset in [4, 30, 44, 60] {
            for added_len in [1, 3, 3000] {
                let mut bytes = rover();
                let new = (0..added_len).map(|number| (number * 89 + 5) as u8);
                bytes.splice(at + offset..at + offset, new);
                for mode in MODES {
                    let records = read_with_mode(&bytes, mode).records;
                    assert_eq!(records, 491, "{at} {offset} {added_len} {mode:?}");
                }
            }
        }
    }
}

#[test]
fn chunk_broken_together_with_the_index_data_before_it_is_reported() {
    // According to their index data, the second and the fourth chunk have 99 messages each. The
    // damaged bytes begin in the last length of index data, and end in the next chunk.
    let mut noisy = rover();
    let noise =
        (0..3000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8);
    noisy.splice(31305..34305, noise);
    let mut shorter = rover();
    shorter.drain(12242..15242);
    for bytes in [&noisy, &shorter] {
        for mode in MODES {
            for bytes in [bytes, &without_index_position(bytes.clone())] {
                let read = read_with_mode(bytes, mode);
                assert_eq!((read.records, read.lost_records()), (392, 99), "{mode:?}");
                let mut lost = read.damage.iter().filter(|damage| damage.records > 0);
                assert!(lost.all(|damage| damage.topic.is_some()));
            }
        }
    }
}

#[test]
fn chunk_lost_from_within_the_index_data_before_it_is_reported() {
    let noise = |at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8;
    // The third chunk has 99 messages, 51 of them of connection 0. All bytes are damaged from the
    // end of the index data of connection 0 of the second chunk to the end of the index data of
    // connection 0 of the third chunk. The next record might belong to the second chunk, but its
    // times are those of the third.
    let mut without_first = rover();
    (21515..30647).for_each(|at| without_first[at] = noise(at as u32));
    // All bytes are damaged from the length of the last index data of the second chunk to the
    // fourth chunk.
    let mut without_any = rover();
    (22364..31608).for_each(|at| without_any[at] = noise(at as u32));
    without_any[22364..22368].copy_from_slice(&[0, 0, 0, 12]);
    for (bytes, min_lost) in [(&without_first, 48), (&without_any, 0)] {
        for mode in MODES {
            let read = read_with_mode(&without_index_position(bytes.clone()), mode);
            assert_eq!(
                (read.records, read.lost_records()),
                (392, min_lost),
                "{mode:?}"
            );
            assert!(read.is_loss_reported(), "{mode:?}");
            // If the chunk info can be read, it lists all lost messages.
            let read = read_with_mode(bytes, mode);
            assert_eq!((read.records, read.lost_records()), (392, 99), "{mode:?}");
        }
    }
}

#[test]
fn messages_after_broken_index_data_show_that_a_chunk_header_is_lost() {
    let options = WriterOptions::default()
        .with_compression(Compression::None)
        .with_chunk_bytes(1000);
    let mut writer = Writer::new(std::io::Cursor::new(Vec::new()), options).unwrap();
    let header = ConnectionHeader::new("/a", "std_msgs/Empty", "");
    let a = writer.connect(&header).unwrap();
    for number in 1..=40 {
        let time = Timestamp::from_nanos(1_700_000_000_000_000_000 + number);
        writer.write(a, time, &[number as u8; 20]).unwrap();
    }
    let sound = writer.finish().unwrap().into_inner();
    let log =
        RosbagLog::open(Arc::new(Bytes::from(sound.clone())), RosbagOptions::default());
    let parts = log.unwrap().manifest().parts.clone();
    let end = parts.last().unwrap().bytes.end as usize;
    for part in &parts[1..] {
        let start = part.bytes.start as usize;
        // The bytes up to the payload of the first message are removed; this message is the only
        // loss.
        let first_payload =
            sound[start..].windows(20).position(|bytes| bytes == [bytes[0]; 20]);
        let mut bytes = without_index_position(sound[..end].to_vec());
        for count in [b"conn_count=".as_slice(), b"chunk_count="] {
            let at = bytes.windows(count.len()).position(|name| name == count).unwrap();
            bytes[at + count.len()..at + count.len() + 4].fill(0);
        }
        bytes.drain(start - 30..start + first_payload.unwrap());
        for mode in [OpenMode::Auto, OpenMode::Scan] {
            let read = read_with_mode(&bytes, mode);
            assert_eq!((read.records, read.is_loss_reported()), (39, true), "{start}");
        }
    }
}

/// The start and the end of the last index data of the first three chunks, in bags of four chunks,
/// by a record parser in Python.
const LAST_INDEX_DATA: [(&str, [(usize, usize); 3]); 2] = [
    ("ok_lz4.bag", [(5080, 5195), (5903, 6018), (6727, 6842)]),
    ("ok_none.bag", [(6238, 6353), (8087, 8202), (9936, 10051)]),
];

#[test]
fn damage_to_the_last_index_data_before_a_chunk_loses_nothing() {
    for (name, ranges) in LAST_INDEX_DATA {
        let Some(sound) = conformance::sample(&format!("rosbag/edge/{name}")) else {
            return;
        };
        for (start, end) in ranges {
            // A length in the header, the header, some entries, the last entry, everything.
            for damaged in [
                start..start + 4,
                start..start + 30,
                start + 70..start + 90,
                end - 12..end,
                start..end,
            ] {
                for fill in [0xff, 0x5a, 0] {
                    let mut bytes = sound.to_vec();
                    bytes[damaged.clone()].fill(fill);
                    for (mode, bytes) in MODES.into_iter().flat_map(|mode| {
                        [
                            (mode, bytes.clone()),
                            (mode, without_index_position(bytes.clone())),
                        ]
                    }) {
                        let read = read_with_mode(&bytes, mode);
                        assert!(
                            read.records == 100 && !read.is_loss_reported(),
                            "{name} {damaged:?} {fill} {mode:?}: {:?}",
                            read.damage
                        );
                    }
                }
            }
            // Bytes are inserted or missing; the last entry is intact.
            let mut longer = sound.to_vec();
            longer.splice(start + 70..start + 70, [7; 300]);
            let mut shorter = sound.to_vec();
            shorter.drain(start + 20..start + 75);
            for bytes in [longer, shorter] {
                let read =
                    read_with_mode(&without_index_position(bytes), OpenMode::Auto);
                assert!(
                    read.records == 100 && !read.is_loss_reported(),
                    "{name} {start}"
                );
            }
        }
    }
}

#[test]
fn chunk_missing_between_two_index_data_records_is_reported() {
    // The bytes from within the last index data of the second chunk up to within the last index
    // data of the third are missing, so that the remaining record is shorter than expected.
    for (name, ranges) in LAST_INDEX_DATA {
        let Some(sound) = conformance::sample(&format!("rosbag/edge/{name}")) else {
            return;
        };
        let [_, (second, _), (third, third_end)] = ranges;
        for missing in [second + 60..third + 70, second + 10..third_end - 12] {
            let mut bytes = sound.to_vec();
            bytes.drain(missing.clone());
            let read = read_with_mode(&without_index_position(bytes), OpenMode::Auto);
            assert!(
                read.records == 75 && read.is_loss_reported(),
                "{name} {missing:?}"
            );
        }
    }
}

#[test]
fn index_data_with_count_and_length_that_differ_hide_no_chunk() {
    // The inserted byte displaces the length of a record, so that 120 becomes 30,720. A record of
    // that length ends one byte before index data of the last chunk.
    let mut bytes = rover();
    bytes.insert(21564, 0x60);
    for mode in MODES {
        let read = read_with_mode(&bytes, mode);
        assert_eq!(read.records, 491, "{mode:?}");
    }
}

#[test]
fn zeros_at_the_end_of_an_unclosed_bag_are_reported() {
    // A power failure can leave such zeros.
    let Some(sound) = conformance::sample("rosbag/edge/ok_lz4.bag") else { return };
    let mut bytes = without_index_position(sound[..7667].to_vec());
    for count in [b"conn_count=".as_slice(), b"chunk_count="] {
        let at = bytes.windows(count.len()).position(|name| name == count).unwrap();
        bytes[at + count.len()..at + count.len() + 4].fill(0);
    }
    // The zeros start within index data, or at their end, which is at 5195.
    for start in [5050, 5132, 5195] {
        for mode in MODES {
            let mut bytes = bytes.clone();
            bytes[start..].fill(0);
            let read = read_with_mode(&bytes, mode);
            assert!(read.records == 25 && read.is_loss_reported(), "{start} {mode:?}");
            assert!(
                read.in_manifest.iter().any(|damage| damage.kind.is_loss()),
                "{mode:?}"
            );
            // A few zeros are padding, and index data contain no message.
            for (bytes, records) in [(&bytes[..5195 + 49], 25), (&bytes[..5195], 25)] {
                let read = read_with_mode(bytes, mode);
                assert_eq!((read.records, read.is_loss_reported()), (records, false));
            }
        }
    }
}
