//! Damaged `.vel` logs: readable messages are read, and damage is reported.

use super::*;

#[test]
fn reading_continues_after_damage() {
    for size_field in [SizeField::AfterItself, SizeField::Whole] {
        let mut bytes = attitudes(10, 4, size_field);
        let start = 12 + 32 + 4 * 49;
        // The size of the fifth message.
        bytes[start + 1] = 0x77;
        let log = open(&bytes.into());
        let (read_messages, damage) = messages(&log);
        assert_eq!(read_messages.len(), 9);
        let [lost] = &damage[..] else { panic!("{damage:?}") };
        assert_eq!(lost.kind, DamageKind::Garbled);
        assert_eq!(lost.bytes, start as u64..start as u64 + 49);
        assert_eq!(log.manifest().damage, damage);
    }
}

#[test]
fn message_that_changed_after_opening_is_reported() {
    let mut bytes = attitudes(10, 4, SizeField::AfterItself);
    let sound = open(&bytes.clone().into());
    let start = 12 + 32 + 4 * 49;
    // The size of the fifth message.
    bytes[start + 1] = 0x77;
    let source = Arc::new(Bytes::from(bytes.clone()));
    let manifest = Arc::new(sound.manifest().clone());
    let log = VelLog::open_with_manifest(source, manifest, OpenOptions::default());
    let (read_messages, damage) = messages(&log.unwrap());
    assert_eq!(read_messages.len(), 4);
    let [lost] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!(lost.bytes, start as u64..bytes.len() as u64);
    let reason = "the file has changed since it was opened";
    assert_eq!(lost.reason.as_deref(), Some(reason));
}

/// Returns the remarks on a log that state this number of bytes after the end mark.
fn remarks_on_trailing_bytes(log: &VelLog, bytes: usize) -> Vec<&String> {
    let start = format!("{bytes} bytes follow the end mark and are not read");
    log.manifest().remarks.iter().filter(|text| text.starts_with(&start)).collect()
}

#[test]
fn log_ends_at_the_end_mark_even_if_messages_follow() {
    for size_field in [SizeField::AfterItself, SizeField::Whole] {
        for index in [1, 4, 9] {
            let mut bytes = attitudes(10, 4, size_field);
            let start = 12 + 32 + index * 49;
            bytes[start..start + 4].fill(0xff);
            let rest = bytes.len() - start - 4;
            let log = open(&bytes.into());
            let (read_messages, damage) = messages(&log);
            assert_eq!((read_messages.len(), damage), (index, vec![]));
            assert_eq!(log.manifest().metadata["end"].to_string(), "0xffffffff");
            let [remark] = remarks_on_trailing_bytes(&log, rest)[..] else {
                panic!("{index}")
            };
            // After the last message, there is only the rest of that message.
            assert_eq!(remark.contains("they contain messages"), index < 9, "{remark}");
        }
    }
}

#[test]
fn log_can_end_before_its_first_message() {
    for rest in [&b""[..], &attitudes(3, 0, SizeField::AfterItself)[12..]] {
        let bytes =
            [&b"\xa4VEL\x01\x00\x01\x00"[..], &[0; 4], &[0xff; 4], rest].concat();
        let log = open(&bytes.into());
        assert_eq!(messages(&log), (vec![], vec![]));
        assert_eq!(log.manifest().metadata["end"].to_string(), "0xffffffff");
        assert_eq!(
            remarks_on_trailing_bytes(&log, rest.len()).len(),
            usize::from(!rest.is_empty())
        );
    }
}

#[test]
fn messages_inside_a_too_long_message_are_read() {
    let kinds: [(u32, bool); 5] = [
        (0x1e342, false),
        (0x109c9, false),
        (0x3112b, false),
        (0x4711, false),
        // The size agrees with the number of packets, but both are wrong.
        (0x3112b, true),
    ];
    for size_field in [SizeField::AfterItself, SizeField::Whole] {
        for (kind, agrees) in kinds {
            // The size points to a message, into a message, to the end, and beyond it.
            for size in [3 * 49, 3 * 49 + 11, 6 * 49, 1_000_000] {
                let size = if agrees { 25 + 1_206 * 5 } else { size };
                let mut bytes = attitudes(10, 4, size_field);
                let start = 12 + 32 + 4 * 49;
                let declared = size - 21 + size_field.header_bytes();
                bytes[start..start + 4].copy_from_slice(&declared.to_le_bytes());
                bytes[start + 5..start + 9].copy_from_slice(&kind.to_le_bytes());
                bytes[start + 21..start + 25].copy_from_slice(&5_u32.to_le_bytes());
                let log = open(&bytes.into());
                let (read_messages, damage) = messages(&log);
                assert_eq!(read_messages.len(), 9, "{kind:#x} {size} {damage:?}");
                let [lost] = &damage[..] else { panic!("{damage:?}") };
                assert_eq!(lost.bytes, start as u64..start as u64 + 49);
            }
        }
    }
}

#[test]
fn size_that_points_to_a_mark_inside_data_loses_one_message() {
    let mut bytes = attitudes(11, 4, SizeField::AfterItself);
    let start = 12 + 32 + 4 * 49;
    // The message seems to end inside the attitude of the second message after it, where the
    // data looks like an end mark.
    bytes[start] = 45 + 2 * 49 - 16;
    let mark = start + 3 * 49 - 16;
    bytes[mark..mark + 4].fill(0xff);
    let log = open(&bytes.into());
    let (read_messages, damage) = messages(&log);
    assert_eq!(read_messages.len(), 10);
    let [lost] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!(lost.bytes, start as u64..start as u64 + 49);
    assert_eq!(log.manifest().metadata["end"].to_string(), "0xffffffff");
}

#[test]
fn broken_first_message_is_reported() {
    let damages: [fn(&mut [u8]); 2] = [
        |message| message[..4].copy_from_slice(&[0xfe, 0xff, 0xff, 0x7f]),
        |message| message[..4].fill(0),
    ];
    for (seconds, break_message) in
        [0, 4].into_iter().flat_map(|seconds| damages.map(|damage| (seconds, damage)))
    {
        let mut bytes = attitudes(10, seconds, SizeField::AfterItself);
        let start = 12 + 8 * seconds as usize;
        break_message(&mut bytes[start..]);
        let log = open(&bytes.into());
        let (read_messages, damage) = messages(&log);
        assert_eq!(read_messages.len(), 9);
        let [lost] = &damage[..] else { panic!("{damage:?}") };
        assert_eq!(lost.bytes, start as u64..start as u64 + 49);
        assert_eq!(log.manifest().damage, damage);
    }
}

#[test]
fn truncated_message_loses_the_bytes_after_its_last_complete_packet() {
    let Some(bytes) = sample("sample_real_s1_trunc_noindex.vel") else { return };
    // The last 700 bytes of a packet of 1206 are missing.
    let log = open(&bytes);
    let [lost] = &log.manifest().damage[..] else { panic!() };
    assert_eq!(lost.lost_bytes, 1206 - 700);
    assert_eq!(lost.bytes.end - lost.bytes.start, 1206 - 700);
}

#[test]
fn garbled_size_loses_no_packets() {
    let sound = messages(&open(&testdata())).0;
    let mut bytes = testdata().to_vec();
    // The low byte of a size. The size then points into data that looks like an end mark.
    assert_eq!(bytes[15_844], 0x59);
    bytes[15_844] = 0xff;
    let (read_messages, damage) = messages(&open(&bytes.into()));
    assert_eq!((read_messages, damage), (sound, vec![]));
}

#[test]
fn wrong_counts_are_reported_and_actual_contents_are_used() {
    let Some(sound) = sample("sample_sim_s2.vel") else { return };
    let word = |at: usize| u32::from_le_bytes(sound[at..at + 4].try_into().unwrap());
    let position = |kind: u32| {
        let mut at = 12 + 8 * word(8) as usize;
        let mut count = 0;
        loop {
            count += u32::from(word(at + 5) == kind);
            if count == 5 {
                return at + 21;
            }
            at += 4 + word(at) as usize;
        }
    };
    let (packets, image) = (position(0x3112b), position(0x109c9) + 16);
    let labels = |log: &VelLog| -> Vec<String> {
        messages(log).0.into_iter().map(|(label, _)| label).collect()
    };
    let expected = open(&sound);
    let count_length_remarks = |log: &VelLog| {
        let remarks = &log.manifest().remarks;
        remarks.iter().filter(|text| text.contains("than are present")).count()
    };
    assert_eq!(count_length_remarks(&expected), 0);
    let wrong = [(packets, 0), (packets, 1), (packets, u32::MAX), (image, u32::MAX)];
    for (at, number) in wrong {
        let mut bytes = sound.to_vec();
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        let log = open(&bytes.into());
        assert_eq!(labels(&log), labels(&expected), "{at} {number}");
        let packets = |log: &VelLog| log.manifest().metadata["packets"].to_string();
        assert_eq!(packets(&log), packets(&expected), "{at} {number}");
        assert_eq!(count_length_remarks(&log), 1, "{at} {number}");
    }
}

#[test]
fn maximum_lengths_at_any_offset_do_not_panic() {
    let sound = testdata();
    for at in 0..sound.len() - 4 {
        if at % 7 != 0 && at > 400 {
            continue;
        }
        let mut bytes = sound.to_vec();
        bytes[at..at + 4].fill(0xff);
        if let Some(log) = try_open(bytes.into()) {
            messages(&log);
        }
    }
}

fn try_open(bytes: Bytes) -> Option<VelLog> {
    VelLog::open(Arc::new(bytes), OpenOptions::default()).ok()
}

/// Returns a log of eight messages of `count` packets each, and the positions of the
/// messages. The number of each packet is its first azimuth.
fn packets(count: usize, size_field: SizeField) -> (Vec<u8>, Vec<usize>) {
    let mut options = WriterOptions::default();
    options.size_field = size_field;
    let mut writer = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    for message in 0..8_u16 {
        let packets: Vec<[u8; 1206]> = (0..count as u16)
            .map(|packet| {
                let number = message * 100 + packet;
                let mut bytes = [0; 1206];
                for block in bytes[..1200].chunks_exact_mut(100) {
                    block[..2].copy_from_slice(&[0xff, 0xee]);
                    block[2..4].copy_from_slice(&number.to_le_bytes());
                }
                bytes
            })
            .collect();
        writer.packets(f64::from(message) * 10.0, &packets).unwrap();
    }
    let bytes = writer.finish().unwrap().into_inner();
    let len = 25 + 1_206 * count;
    let first = bytes.len() - 8 * len;
    (bytes, (0..8).map(|message| first + message * len).collect())
}

/// Returns the numbers of all packets of `log`, and its damage.
fn numbers(log: &VelLog) -> (Vec<u16>, Vec<Damage>) {
    let (read_messages, damage) = messages(log);
    let numbers = read_messages.iter().flat_map(|(_, payload)| {
        let packets = payload[21..].chunks_exact(1206);
        packets
            .map(|packet| u16::from_le_bytes([packet[2], packet[3]]))
            .collect::<Vec<_>>()
    });
    (numbers.collect(), damage)
}

#[test]
fn packets_of_a_message_with_a_wrong_size_are_read() {
    for size_field in [SizeField::AfterItself, SizeField::Whole] {
        // Sizes that end at a later message, inside one, beyond the end, and too small
        // ones.
        for size in [0_u32, 5, 500, 3_000, 9_000, 12_000, 100_000, u32::MAX - 1] {
            for broken in [0, 3, 6] {
                let (mut bytes, positions) = packets(4, size_field);
                bytes[positions[broken]..][..4].copy_from_slice(&size.to_le_bytes());
                let log = open(&bytes.into());
                let (actual_numbers, damage) = numbers(&log);
                let all =
                    (0..8).flat_map(|m| (0..4).map(move |packet| m * 100 + packet));
                assert_eq!(
                    actual_numbers,
                    all.collect::<Vec<u16>>(),
                    "{size} {broken}: {damage:?}"
                );
                assert_eq!(damage, [], "{size} {broken}");
                let mut findings = Findings::default();
                log.check(&mut findings).unwrap();
                let names: Vec<_> = findings.iter().map(|f| f.code.name).collect();
                assert!(names.contains(&"vel.length"), "{names:?}");
            }
        }
    }
}

#[test]
fn packets_before_the_damage_of_a_broken_message_are_read() {
    let size_field = SizeField::AfterItself;
    let (mut bytes, positions) = packets(4, size_field);
    // Its size is wrong, and its third packet is overwritten.
    let third = positions[3] + 25 + 2 * 1206;
    bytes[positions[3]..][..4].copy_from_slice(&77_u32.to_le_bytes());
    bytes[third..][..1206].fill(0);
    let (actual_numbers, damage) = numbers(&open(&bytes.into()));
    let numbers_of = |message: u16| (0..4).map(move |packet| message * 100 + packet);
    let others = (0..8).filter(|message| *message != 3).flat_map(numbers_of);
    let mut all: Vec<u16> = others.chain([300, 301]).collect();
    all.sort_unstable();
    assert_eq!(actual_numbers, all);
    let [lost] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!(lost.bytes, third as u64..positions[4] as u64);

    // The header is overwritten, so the type of the message is unknown.
    let (mut bytes, positions) = packets(4, size_field);
    bytes[positions[3]..][..21].fill(0);
    let (actual_numbers, damage) = numbers(&open(&bytes.into()));
    assert_eq!(actual_numbers.len(), 28);
    let [lost] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!(lost.bytes, positions[3] as u64..positions[4] as u64);
}
