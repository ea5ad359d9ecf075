//! Damage to a small bag, mostly to connections: a bag stores each connection in a chunk and again
//! in the index.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::{collections::BTreeMap, io::Cursor, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Damage, DamageKind, ErrorKind, Findings, Format as _, Log as _, LogSlice,
    Selection, Timestamp, WriteOptions,
};
use logtool_rosbag::{
    ConnectionHeader, FORMAT, OpenMode, RosbagLog, RosbagOptions, Writer, WriterOptions,
};

const MODES: [OpenMode; 4] =
    [OpenMode::Auto, OpenMode::Index, OpenMode::Scan, OpenMode::Full];

/// Returns a bag with three messages in one uncompressed chunk.
fn bag() -> Vec<u8> {
    let mut bag =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let header = ConnectionHeader::new("/chatter", "std_msgs/String", "string data\n");
    let chatter = bag.connect(&header).unwrap();
    for second in 1..4 {
        let time = Timestamp::from_nanos(second * 1_000_000_000);
        bag.write(chatter, time, b"\x02\0\0\0hi").unwrap();
    }
    bag.finish().unwrap().into_inner()
}

/// Returns the two positions of `needle`: in the chunk, and in the index.
fn positions_of(bytes: &[u8], needle: &[u8]) -> [usize; 2] {
    let windows = bytes.windows(needle.len()).enumerate();
    let matches = windows.filter(|(_, window)| *window == needle);
    let positions: Vec<usize> = matches.map(|(position, _)| position).collect();
    positions.try_into().unwrap()
}

fn open(bytes: &[u8], mode: OpenMode) -> RosbagLog {
    let options = RosbagOptions::default().with_mode(mode);
    RosbagLog::open(Arc::new(Bytes::copy_from_slice(bytes)), options).unwrap()
}

/// Returns the number of findings with each code.
fn finding_counts(log: &RosbagLog) -> BTreeMap<&'static str, u64> {
    let mut findings = Findings::default();
    log.check(&mut findings).unwrap();
    let mut counts = BTreeMap::new();
    for finding in findings.iter() {
        *counts.entry(finding.code.name).or_default() += finding.count;
    }
    counts
}

/// Returns the header of the only connection of a copy of `log`.
fn copied_header(log: &RosbagLog) -> Vec<u8> {
    copied_header_and_remarks(log, &WriteOptions::default()).0
}

/// Returns the header of the only connection of a copy of `log`, and the remarks of the writer.
fn copied_header_and_remarks(
    log: &RosbagLog,
    options: &WriteOptions,
) -> (Vec<u8>, Vec<String>) {
    let mut out = Cursor::new(Vec::new());
    let slice = LogSlice { manifest: log.manifest(), selection: Selection::default() };
    let sink = FORMAT.writer(Box::new(&mut out), &[slice], options).unwrap();
    let remarks = sink.remarks();
    sink.finish().unwrap();
    let log = open(&out.into_inner(), OpenMode::Full);
    let mut connections = log.connections();
    (connections.next().unwrap().header().to_vec(), remarks)
}

/// Returns the number of records, and the damage in the parts.
fn read(log: &RosbagLog) -> (usize, Vec<Damage>) {
    let (mut block, mut records, mut damage) = (Block::default(), 0, Vec::new());
    for part in &log.manifest().parts {
        let mut cursor = log.read(part, &Selection::default()).unwrap();
        while cursor.fill(&mut block).unwrap() {
            records += block.iter().count();
            damage.extend(block.damage().to_vec());
        }
    }
    (records, damage)
}

#[test]
fn sound_copy_replaces_a_corrupted_connection() {
    let sound = bag();
    let header =
        open(&sound, OpenMode::Full).connections().next().unwrap().header().to_vec();
    // The bytes, the offset of the corrupted byte in them, and its new value.
    let corruptions: [(&[u8], usize, u8); 4] = [
        (b"\x0a\0\0\0latching=", 1, 0x80), // a length
        (b"string data\n", 0, 0xff),       // not UTF-8
        (b"string data\n", 8, b'x'),       // another definition
        (b"md5sum=", 0, b'x'),             // the name of a field
    ];
    for (needle, offset, byte) in corruptions {
        for (copy, position) in positions_of(&sound, needle).into_iter().enumerate() {
            let mut bytes = sound.clone();
            bytes[position + offset] = byte;
            for mode in MODES {
                let log = open(&bytes, mode);
                let headers: Vec<_> = log.connections().map(|c| c.header()).collect();
                assert_eq!(headers, [&header[..]], "{needle:?} {copy} {mode:?}");
                assert_eq!(copied_header(&log), header);
                let damage = log.manifest().damage.iter().map(|damage| damage.kind);
                let damage: Vec<_> = damage.collect();
                // The copy in the chunk has the index 0.
                match copy {
                    0 => assert_eq!(damage, []),
                    _ => assert_eq!(damage, [DamageKind::Index]),
                }
            }
        }
    }
}

#[test]
fn unreadable_connection_is_a_finding() {
    let sound = bag();
    assert!(
        !finding_counts(&open(&sound, OpenMode::Auto))
            .contains_key("bag.connection.broken")
    );
    for position in positions_of(&sound, b"\x0a\0\0\0latching=") {
        let mut bytes = sound.clone();
        bytes[position + 1] = 0x80;
        let codes = finding_counts(&open(&bytes, OpenMode::Auto));
        assert_eq!(codes.get("bag.connection.broken"), Some(&1));
    }
}

#[test]
fn connection_without_a_sound_copy_is_copied_in_readable_form() {
    let mut bytes = bag();
    for position in positions_of(&bytes, b"message_definition=") {
        bytes[position - 3] = 0x80;
    }
    let log = open(&bytes, OpenMode::Auto);
    let kinds: Vec<_> =
        log.manifest().damage.iter().map(|damage| damage.kind).collect();
    assert_eq!(kinds, [DamageKind::Garbled]);
    // Made by hand: the fields before the corrupted length, and the other required fields.
    let expected =
        b"\x0a\0\0\0latching=0\x27\0\0\0md5sum=992ce8a1687cec8c8bd883ec73ca41d1\
                 \x13\0\0\0message_definition=\x0e\0\0\0topic=/chatter\x06\0\0\0type=*";
    assert_eq!(copied_header(&log), expected);
}

#[test]
fn bag_that_ends_before_its_index_reports_truncation() {
    let sound = bag();
    let [_, in_index] = positions_of(&sound, b"string data\n");
    let index_at = u64::from_le_bytes({
        let position = sound.windows(10).position(|w| w == b"index_pos=").unwrap() + 10;
        sound[position..position + 8].try_into().unwrap()
    });
    assert!((in_index as u64) > index_at);
    // One byte of the index data of the chunk is missing, or all of its bytes.
    let chunk = sound.windows(17).position(|w| w == b"compression=none\x04").unwrap();
    for len in [index_at as usize - 1, index_at as usize - 30] {
        assert!(len > chunk);
        let log = open(&sound[..len], OpenMode::Auto);
        let truncated = log.manifest().damage.iter();
        let truncated: Vec<_> = truncated
            .filter(|damage| damage.kind == DamageKind::Truncated)
            .map(|damage| (damage.bytes.start, damage.bytes.end))
            .collect();
        assert_eq!(truncated, [(len as u64, index_at)]);
    }
    // The index is complete, and only its position in the header is wrong.
    let mut bytes = sound;
    let position = bytes.windows(10).position(|w| w == b"index_pos=").unwrap() + 10;
    bytes[position + 3] = 1;
    assert_eq!(open(&bytes, OpenMode::Auto).manifest().damage, []);
}

#[test]
fn unknown_record_in_a_chunk_is_a_finding() {
    let Some(path) =
        logtool_core::conformance::sample_path("rosbag/edge/unknown_op_in_chunk.bag")
    else {
        return;
    };
    let log = open(&std::fs::read(path).unwrap(), OpenMode::Auto);
    assert!(finding_counts(&log).contains_key("bag.record.unknown"));
}

#[test]
fn wrong_topic_in_the_index_loses_no_messages_and_is_reported() {
    let sound = bag();
    let name = b"topic=/chatter";
    let positions: Vec<usize> = (0..sound.len() - name.len())
        .filter(|at| sound[*at..].starts_with(name))
        .collect();
    // The topic is in the fields of a connection record, and again in the connection header, which
    // is the data of the record. The first two positions are in the chunk, the others in the index.
    let [_, _, in_fields, in_header] = positions[..] else { panic!("{positions:?}") };
    for wrong in [&[in_fields][..], &[in_fields, in_header], &[in_header]] {
        let mut bytes = sound.clone();
        wrong.iter().for_each(|at| bytes[at + 8] = b'x');
        for mode in MODES {
            let log = open(&bytes, mode);
            let (records, damage) = read(&log);
            assert_eq!(records, 3, "{wrong:?} {mode:?}");
            assert!(damage.iter().all(|damage| !damage.kind.is_loss()));
            let names: Vec<_> = log.manifest().topics.iter().map(|t| &t.name).collect();
            let is_reported = !damage.is_empty() || !log.manifest().remarks.is_empty();
            assert!(
                is_reported || names == ["/chatter"],
                "{wrong:?} {mode:?} {names:?}"
            );
            let codes = finding_counts(&log);
            assert!(codes.contains_key("bag.connection.differs"), "{codes:?}");
        }
    }
    let mut bytes = sound;
    bytes[in_fields + 8] = b'x';
    let log = open(&bytes, OpenMode::Full);
    let names: Vec<_> = log.manifest().topics.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["/chatter"]); // the name in both connection headers
    let (_, damage) = read(&open(&bytes, OpenMode::Index));
    let reason = damage[0].reason.as_deref().unwrap();
    assert_eq!(
        reason,
        r#"it names the connection 0 "/cxatter", and this chunk names it "/chatter""#
    );
}

#[test]
fn corrupted_connection_is_located_in_its_chunk() {
    let mut bytes = bag();
    let [in_chunk, in_index] = positions_of(&bytes, b"message_definition=");
    bytes[in_chunk - 3] = 0x80;
    let chunk = bytes.windows(10).position(|w| w == b"chunk_pos=").unwrap() + 10;
    let chunk = u64::from_le_bytes(bytes[chunk..chunk + 8].try_into().unwrap());
    bytes.truncate(in_index - 200);
    let log = open(&bytes, OpenMode::Scan);
    let mut damage = log.manifest().damage.iter();
    let garbled = damage.find(|damage| damage.reason.is_some()).unwrap();
    assert_eq!((garbled.kind, garbled.bytes.start), (DamageKind::Garbled, chunk));
    assert!((in_chunk as u64) < garbled.bytes.end, "{garbled:?}");
    assert!(garbled.lost_bytes < 200, "{garbled:?}");
}

#[test]
fn unknown_compression_is_named_and_other_chunks_are_read() {
    let mut bytes = bag();
    let at = bytes.windows(16).position(|w| w == b"compression=none").unwrap();
    bytes[at + 12..at + 16].copy_from_slice(b"zstd");
    let log = open(&bytes, OpenMode::Auto);
    let part = &log.manifest().parts[0];
    let err = log.read(part, &Selection::default()).err().unwrap();
    assert_eq!(err.kind(), ErrorKind::Unsupported);
    assert!(err.to_string().contains(r#"compressed with "zstd""#), "{err}");

    // The second of four chunks of ok_none.bag, with 25 messages each.
    let Some(path) = logtool_core::conformance::sample_path("rosbag/edge/ok_none.bag")
    else {
        return;
    };
    let mut bytes = std::fs::read(path).unwrap();
    let name =
        bytes[6353..].windows(16).position(|w| w == b"compression=none").unwrap();
    bytes[6353 + name + 12..][..4].copy_from_slice(b"zstd");
    let log = open(&bytes, OpenMode::Auto);
    let (records, damage) = read(&log);
    assert_eq!(records, 75);
    assert!(!damage.is_empty());
    for damage in log.manifest().damage.iter().chain(&damage) {
        let text = damage.to_string();
        let reason =
            r#"the chunk is compressed with "zstd", which logtool does not support"#;
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn repair_converts_strings_to_utf8() {
    let mut bytes = bag();
    for position in positions_of(&bytes, b"string data\n") {
        bytes[position + 11] = 0xb0; // a degree sign in Latin-1
    }
    let log = open(&bytes, OpenMode::Auto);
    let mut options = WriteOptions::default();
    let (header, remarks) = copied_header_and_remarks(&log, &options);
    assert!(remarks.is_empty());
    assert!(header.windows(12).any(|w| w == b"string data\xb0"));
    options.is_repair = true;
    let (header, remarks) = copied_header_and_remarks(&log, &options);
    assert!(header.windows(13).any(|w| w == b"string data\xc2\xb0"));
    assert_eq!(remarks.len(), 1, "{remarks:?}");
}

#[test]
fn lost_bytes_of_messages_include_their_headers() {
    let Some(path) =
        logtool_core::conformance::sample_path("rosbag/edge/missing_conn.bag")
    else {
        return;
    };
    // The bag has 10 messages of the undeclared connection 99. Each has a header of 46 bytes and a
    // payload of 10 bytes.
    let log = open(&std::fs::read(path).unwrap(), OpenMode::Auto);
    let [lost] = &log.manifest().damage[..] else { panic!() };
    assert_eq!((lost.records, lost.lost_bytes), (10, 10 * (46 + 10)));
}

#[test]
fn wrong_topic_in_the_index_is_reported_without_reading_chunks() {
    let Some(path) =
        logtool_core::conformance::sample_path("rosbag/imu_tools-ardrone_imu.bag")
    else {
        return;
    };
    let mut bytes = std::fs::read(path).unwrap();
    // The first position is in the fields of the connection record in the index; the connection
    // header contains the topic again.
    let topic = b"topic=/ardrone/imu";
    let at = bytes.windows(10).position(|w| w == b"index_pos=").unwrap() + 10;
    let index = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let name = bytes[index..].windows(topic.len()).position(|w| w == topic).unwrap();
    bytes[index + name + 8] = b'X';
    let log = open(&bytes, OpenMode::Index);
    let expected = "the connection 0 has the topic \"/aXdrone/imu\", but its header names \
                \"/ardrone/imu\"";
    let remarks = &log.manifest().remarks;
    assert!(remarks.iter().any(|remark| remark.starts_with(expected)), "{remarks:?}");
}
