//! `.vel` logs of all variants are read, written and read back equal.

#![allow(clippy::unwrap_used)] // clippy sees helpers outside #[test] as no test

#[path = "vel_logs/damaged.rs"]
mod damaged;
#[path = "vel_logs/fields.rs"]
mod fields;

use std::{io::Cursor, path::Path, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Damage, DamageKind, Findings, Format as _, Log, LogSlice, Manifest,
    OpenOptions, Selection, TimeRange, Timestamp, TopicOrigin, WriteOptions,
    conformance,
};
use logtool_velodyne::vel::{
    FORMAT, IndexStatus, Pose, SizeField, VelLog, Writer, WriterOptions,
};

fn sample(name: &str) -> Option<Bytes> {
    conformance::sample(&format!("velodyne/{name}"))
}

fn testdata() -> Bytes {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/car.vel");
    std::fs::read(path).unwrap().into()
}

fn open(bytes: &Bytes) -> VelLog {
    VelLog::open(Arc::new(bytes.clone()), OpenOptions::default()).unwrap()
}

/// Returns the selection of all logged topics.
fn select_logged(manifest: &Manifest) -> Selection {
    let topics = manifest.topics().filter(|(_, t)| t.origin != TopicOrigin::Derived);
    Selection { topics: topics.map(|(id, _)| id).collect(), ..Selection::default() }
}

/// Returns the messages of a log with the labels of their topics, and its damage.
fn messages(log: &VelLog) -> (Vec<(String, Vec<u8>)>, Vec<Damage>) {
    let (mut block, mut all, mut damage) = (Block::default(), vec![], vec![]);
    let selection = select_logged(log.manifest());
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            damage.extend_from_slice(block.damage());
            for record in block.iter() {
                let topic = log.manifest().topic(record.topic).unwrap();
                all.push((topic.label().into_owned(), record.payload.to_vec()));
            }
        }
    }
    (all, damage)
}

/// Returns a copy of the log, written record by record, or part by part where possible.
fn rewrite(log: &VelLog, by_parts: bool) -> Bytes {
    let (manifest, selection) = (log.manifest(), select_logged(log.manifest()));
    let slice = LogSlice { manifest, selection: selection.clone() };
    let mut out = Cursor::new(Vec::new());
    let options = WriteOptions::default();
    let mut sink = FORMAT.writer(Box::new(&mut out), &[slice], &options).unwrap();
    let mut block = Block::default();
    for part in manifest.plan(&selection, 1 << 20) {
        if by_parts
            && sink.copy_part_verbatim(0, &part, &**log.source()).unwrap().is_some()
        {
            continue;
        }
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            block.iter().for_each(|record| sink.write(0, record).unwrap());
        }
    }
    sink.finish().unwrap();
    out.into_inner().into()
}

const SAMPLES: [&str; 5] = [
    "sample_real_s1.vel",
    "sample_real_s1_loop12.vel",
    "sample_real_s1_size21.vel",
    "sample_real_s1_trunc_noindex.vel",
    "sample_sim_s2.vel",
];

#[test]
fn rewritten_logs_have_equal_messages() {
    let samples = SAMPLES.iter().filter_map(|name| Some((*name, sample(name)?)));
    for (name, bytes) in samples.chain([("car.vel", testdata())]) {
        let log = open(&bytes);
        let mut expected = messages(&log).0;
        if name.contains("trunc") {
            // Its last message declares 306 packets, and the 305 complete ones are
            // written.
            let (topic, last) = expected.last_mut().unwrap();
            assert_eq!(
                (topic.as_str(), &last[17..21]),
                ("velodyne_packets", &[50, 1, 0, 0][..])
            );
            assert_eq!(last.len(), 21 + 305 * 1206);
            last[17] -= 1;
        }
        for by_parts in [false, true] {
            let copy = open(&rewrite(&log, by_parts));
            assert!(messages(&copy).0 == expected, "{name}");
            assert_eq!(messages(&copy).1, [], "{name}");
            assert_eq!(copy.size_field(), log.size_field(), "{name}");
            assert_eq!(copy.version(), log.version(), "{name}");
            assert_eq!(copy.index(), IndexStatus::Verified, "{name}");
        }
    }
}

/// Returns the payloads of the messages of `car.vel`, and of additional messages of unknown
/// types, versions and lengths, and with invalid times.
fn messages_of_all_kinds() -> Vec<Vec<u8>> {
    let bytes = testdata();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut all) = (12 + 8 * word(8) as usize, vec![]);
    while at + 21 <= bytes.len() && word(at) != u32::MAX {
        let end = at + 4 + word(at) as usize;
        all.push(bytes[at + 4..end].to_vec());
        at = end;
    }
    assert!(all.len() > 20);
    for (index, kind, version, data_len) in [
        (3, 0x77_u32, 100, 0),
        (9, 0x1_4043, 7, 28),
        (12, 0x0123_4567, 100, 9),
        (13, u32::MAX, 100, 3),
        (14, 0, i32::MIN, 0),
        (15, 0x99, -1, 5),
    ] {
        let mut message = all[index].clone();
        message[1..5].copy_from_slice(&kind.to_le_bytes());
        message[5..9].copy_from_slice(&i32::to_le_bytes(version));
        message.resize(17 + data_len, 0xab);
        all.insert(index, message);
    }
    for (index, millis) in [(5, f64::NAN), (6, f64::NEG_INFINITY), (17, 8.9e12)] {
        let mut message = all[index].clone();
        message[9..17].copy_from_slice(&millis.to_le_bytes());
        all.insert(index, message);
    }
    all
}

/// Returns a log of these messages, whose sizes include `header_bytes` of the header, with
/// these entries of the index, and the bytes `end` after the messages.
fn log_bytes(
    messages: &[Vec<u8>],
    header_bytes: u32,
    index: &[u64],
    end: &[u8],
) -> Bytes {
    let mut bytes = b"\xa4VEL\x01\x00\x01\x00".to_vec();
    bytes.extend((index.len() as u32).to_le_bytes());
    index.iter().for_each(|entry| bytes.extend(entry.to_le_bytes()));
    for message in messages {
        bytes.extend((message.len() as u32 - 17 + header_bytes).to_le_bytes());
        bytes.extend(message);
    }
    bytes.extend(end);
    bytes.into()
}

#[test]
fn logs_with_any_size_field_index_and_end_round_trip() {
    let messages = messages_of_all_kinds();
    let indices: [&[u64]; 5] = [&[], &[36, 1], &[0, 0, 0], &[u64::MAX; 2], &[60; 6]];
    let ends: [&[u8]; 3] = [b"", &[0xff; 4], b"\xff\xff\xff\xffbehind"];
    let with_indices = indices.map(|index| (17, index, &b""[..]));
    let with_ends = ends.map(|end| (21, &[][..], end));
    for (header_bytes, index, end) in with_indices.into_iter().chain(with_ends) {
        // The first message, all messages, and some of them.
        for written in [&messages[..1], &messages[..], &messages[7..20]] {
            let log = open(&log_bytes(written, header_bytes, index, end));
            let (messages, damage) = self::messages(&log);
            let payloads: Vec<&Vec<u8>> =
                messages.iter().map(|(_, bytes)| bytes).collect();
            let case = format!("{header_bytes} {index:?} {end:?}");
            assert!(payloads.iter().copied().eq(written), "{case}");
            assert_eq!(damage, []);
            for by_parts in [false, true] {
                let copy = open(&rewrite(&log, by_parts));
                assert_eq!(copy.size_field().header_bytes(), header_bytes);
                assert!(self::messages(&copy) == (messages.clone(), vec![]));
                assert_eq!(copy.index(), IndexStatus::Verified);
                let end = |log: &VelLog| log.manifest().metadata["end"].to_string();
                assert_eq!(end(&copy), end(&log));
            }
        }
    }
}

#[test]
fn invalid_times_are_reported_and_do_not_extend_the_log() {
    let (sound, bytes) =
        (open(&testdata()), log_bytes(&messages_of_all_kinds(), 17, &[], b""));
    let log = open(&bytes);
    assert_eq!(log.manifest().time, sound.manifest().time);
    let is_reported = |remark: &String| remark.starts_with("3 messages have no time");
    assert!(
        log.manifest().remarks.iter().any(is_reported),
        "{:?}",
        log.manifest().remarks
    );
    // Like the sound log, the copy has an index entry for each second.
    let entries = |bytes: &Bytes| u32::from_le_bytes(bytes[8..12].try_into().unwrap());
    assert_eq!(entries(&rewrite(&log, true)), entries(&rewrite(&sound, true)));
}

#[test]
fn index_and_parts_start_at_seconds() {
    // 200 s with a message of 20 packets every 100 ms. A part has at least 64 kB.
    let mut options = WriterOptions::default();
    options.seconds = 200;
    let mut log = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let mut packet = [0; 1206];
    packet.chunks_exact_mut(100).for_each(|block| block[..2].fill(0xff));
    for step in 0..2_000 {
        log.packets(f64::from(step) * 100.0, &[packet; 20]).unwrap();
    }
    let bytes: Bytes = log.finish().unwrap().into_inner().into();
    let log = open(&bytes);
    assert_eq!(log.index(), IndexStatus::Verified);
    let nanos = |seconds: i64| Timestamp::from_nanos(seconds * 1_000_000_000);
    let time = TimeRange { start: nanos(120), end: nanos(123) };
    let plan = log.manifest().plan(&Selection { time, ..Selection::default() }, 0);
    // The starts of the seconds 120 and 123 in the index.
    let entry = |second: usize| {
        let at = 12 + 8 * second;
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
    };
    let planned: u64 = plan.iter().map(|part| part.bytes.end - part.bytes.start).sum();
    assert_eq!(plan[0].bytes.start, entry(120));
    assert_eq!(planned, entry(123) - entry(120));
}

#[test]
fn sound_log_is_copied_byte_for_byte() {
    for name in ["sample_real_s1.vel", "sample_real_s1_loop12.vel", "sample_sim_s2.vel"]
    {
        if let Some(bytes) = sample(name) {
            assert!(rewrite(&open(&bytes), false) == bytes, "{name}");
            assert!(rewrite(&open(&bytes), true) == bytes, "{name}");
        }
    }
}

#[test]
fn size_field_is_detected() {
    for name in SAMPLES {
        let Some(bytes) = sample(name) else { continue };
        let expected = if name.contains("size21") {
            SizeField::Whole
        } else {
            SizeField::AfterItself
        };
        assert_eq!(open(&bytes).size_field(), expected, "{name}");
    }
}

#[test]
fn packets_equal_those_of_the_source_capture() {
    let Some(capture) = sample("hdl64e_atwallshort.pcap") else { return };
    let frames = capture[24..].chunks(16 + 1_248).filter(|frame| frame.len() == 1_264);
    let expected: Vec<&[u8]> = frames.map(|frame| &frame[16 + 42..]).collect();
    assert_eq!(expected.len(), 306);
    let packets = |name: &str| -> Vec<u8> {
        let (messages, _) = messages(&open(&sample(name).unwrap()));
        let packets = messages.iter().filter(|(label, _)| label == "velodyne_packets");
        packets.flat_map(|(_, payload)| payload[21..].to_vec()).collect()
    };
    assert!(packets("sample_real_s1.vel") == expected.concat());
    assert!(packets("sample_real_s1_size21.vel") == expected.concat());
    assert!(packets("sample_real_s1_loop12.vel") == expected.concat().repeat(12));
    // The last 700 bytes are missing, so the last packet is incomplete.
    assert!(packets("sample_real_s1_trunc_noindex.vel") == expected[..305].concat());
}

#[test]
fn utc_and_quaternion_order_are_detected() {
    let Some(bytes) = sample("sample_real_s1_loop12.vel") else { return };
    let log = open(&bytes);
    // The first message is 1234.5 ms after the start of the program. GPS follows 13 ms
    // later and states 2010-09-30 13:11:07 UTC.
    let fit = log.manifest().clock.to_unix.as_ref().unwrap();
    assert_eq!(fit.offset_nanos, 1_285_852_267_000_000_000 - 1_247_500_000);
    assert_eq!(fit.spread_nanos, 0);
    let order = |name: &str| {
        let log = open(&sample(name).unwrap());
        let pose = log.manifest().topic_id("pose").unwrap();
        let order = &log.manifest().topic(pose).unwrap().metadata["quaternion_order"];
        order.split(" (").next().unwrap().to_owned()
    };
    assert_eq!(order("sample_real_s1_loop12.vel"), "w, x, y, z");
    assert_eq!(order("sample_real_s1_trunc_noindex.vel"), "x, y, z, w");
}

/// Returns a log of `count` attitudes, one every 400 ms, with an index of `seconds` entries.
fn attitudes(count: u32, seconds: u32, size_field: SizeField) -> Vec<u8> {
    let mut options = WriterOptions::default();
    (options.seconds, options.size_field) = (seconds, size_field);
    options.has_end_mark = count % 2 == 1;
    let mut log = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    for step in 0..count {
        let acceleration = [step as f32, 0.0, 9.81];
        let pose = Pose { quaternion: [1.0, 0.0, 0.0, 0.0], acceleration };
        log.pose(f64::from(step) * 400.0 + 70.25, pose).unwrap();
    }
    log.finish().unwrap().into_inner()
}

/// Returns the status of the index of a log. Asserts that the log has ten messages and no
/// damage.
fn index_status(bytes: Vec<u8>) -> IndexStatus {
    let log = open(&bytes.into());
    let (read_messages, damage) = messages(&log);
    assert_eq!((read_messages.len(), damage), (10, vec![]));
    log.index()
}

#[test]
fn index_is_verified_and_no_message_is_lost() {
    // Ten messages in 3.6 s: the seconds start with the messages 0, 3, 5 and 8.
    let sound = attitudes(10, 4, SizeField::AfterItself);
    for (entry, message) in [(0, 0), (1, 3), (2, 5), (3, 8)] {
        let at = 12 + 8 * entry;
        let position = u64::from_le_bytes(sound[at..at + 8].try_into().unwrap());
        assert_eq!(position, 12 + 32 + message * 49);
    }
    assert_eq!(index_status(sound.clone()), IndexStatus::Verified);
    assert_eq!(index_status(attitudes(10, 0, SizeField::Whole)), IndexStatus::Missing);
    assert_eq!(index_status(attitudes(10, 2, SizeField::Whole)), IndexStatus::Short);
    assert_eq!(index_status(attitudes(10, 9, SizeField::Whole)), IndexStatus::Verified);
    let status_with_byte = |at: usize, value: u8| {
        let mut bytes = sound.clone();
        bytes[at] = value;
        index_status(bytes)
    };
    assert_eq!(status_with_byte(12, 45), IndexStatus::Stale);
    assert_eq!(status_with_byte(12 + 8, 1), IndexStatus::Unsorted);
    // The header declares more entries than exist, and fewer.
    assert_eq!(status_with_byte(8, 200), IndexStatus::Stale);
    assert_eq!(status_with_byte(8, 2), IndexStatus::Stale);
}

#[test]
fn log_can_end_in_three_ways() {
    let end = |bytes: Vec<u8>| {
        let log = open(&bytes.into());
        let (read_messages, damage) = messages(&log);
        (log.manifest().metadata["end"].to_string(), read_messages.len(), damage.len())
    };
    let bytes = attitudes(4, 2, SizeField::AfterItself);
    assert_eq!(end(bytes.clone()), ("end of the file".into(), 4, 0));
    let marked = [&bytes[..], &[0xff; 4], b"and something"].concat();
    assert_eq!(end(marked), ("0xffffffff".into(), 4, 0));
    let truncated = bytes[..bytes.len() - 1].to_vec();
    assert_eq!(end(truncated), ("inside a message".into(), 3, 1));
}
