//! `.vel` logs that are damaged: what can be read is read, and the rest is told.

use super::*;

#[test]
fn reading_goes_on_after_what_is_garbled() {
    for size_field in [SizeField::AfterItself, SizeField::Whole] {
        let mut bytes = attitudes(10, 4, size_field);
        let start = 12 + 32 + 4 * 49;
        // The size of the fifth message.
        bytes[start + 1] = 0x77;
        let log = open(&bytes.into());
        let (found, damage) = messages(&log);
        assert_eq!(found.len(), 9);
        let [lost] = &damage[..] else { panic!("{damage:?}") };
        assert_eq!(lost.kind, DamageKind::Garbled);
        assert_eq!(lost.bytes, start as u64..start as u64 + 49);
        assert_eq!(log.manifest().damage, damage);
    }
}

/// The remarks of a log that start with the number of bytes after the end mark.
fn trailing(log: &VelLog, bytes: usize) -> Vec<&String> {
    let start = format!("{bytes} bytes follow the end mark and are not read");
    log.manifest().remarks.iter().filter(|text| text.starts_with(&start)).collect()
}

#[test]
fn a_log_ends_at_the_end_mark_even_if_messages_follow() {
    for size_field in [SizeField::AfterItself, SizeField::Whole] {
        for index in [1, 4, 9] {
            let mut bytes = attitudes(10, 4, size_field);
            let start = 12 + 32 + index * 49;
            bytes[start..start + 4].fill(0xff);
            let rest = bytes.len() - start - 4;
            let log = open(&bytes.into());
            let (found, damage) = messages(&log);
            assert_eq!((found.len(), damage), (index, vec![]));
            assert_eq!(log.manifest().metadata["end"].to_string(), "0xffffffff");
            let [remark] = trailing(&log, rest)[..] else { panic!("{index}") };
            // After the last one, there is only the rest of the message.
            assert_eq!(remark.contains("they contain messages"), index < 9, "{remark}");
        }
    }
}

#[test]
fn a_log_can_end_before_its_first_message() {
    for rest in [&b""[..], &attitudes(3, 0, SizeField::AfterItself)[12..]] {
        let bytes =
            [&b"\xa4VEL\x01\x00\x01\x00"[..], &[0; 4], &[0xff; 4], rest].concat();
        let log = open(&bytes.into());
        assert_eq!(messages(&log), (vec![], vec![]));
        assert_eq!(log.manifest().metadata["end"].to_string(), "0xffffffff");
        assert_eq!(trailing(&log, rest.len()).len(), usize::from(!rest.is_empty()));
    }
}

#[test]
fn messages_inside_a_message_that_is_too_long_are_read() {
    let kinds: [(u32, bool); 5] = [
        (0x1e342, false),
        (0x109c9, false),
        (0x3112b, false),
        (0x4711, false),
        // The size and the number of packets agree, and both are wrong.
        (0x3112b, true),
    ];
    for size_field in [SizeField::AfterItself, SizeField::Whole] {
        for (kind, agrees) in kinds {
            // The size leads to a message, into a message, to the end, and beyond it.
            for size in [3 * 49, 3 * 49 + 11, 6 * 49, 1_000_000] {
                let size = if agrees { 25 + 1_206 * 5 } else { size };
                let mut bytes = attitudes(10, 4, size_field);
                let start = 12 + 32 + 4 * 49;
                let declared = size - 21 + size_field.header_bytes();
                bytes[start..start + 4].copy_from_slice(&declared.to_le_bytes());
                bytes[start + 5..start + 9].copy_from_slice(&kind.to_le_bytes());
                bytes[start + 21..start + 25].copy_from_slice(&5_u32.to_le_bytes());
                let log = open(&bytes.into());
                let (found, damage) = messages(&log);
                assert_eq!(found.len(), 9, "{kind:#x} {size} {damage:?}");
                let [lost] = &damage[..] else { panic!("{damage:?}") };
                assert_eq!(lost.bytes, start as u64..start as u64 + 49);
            }
        }
    }
}

#[test]
fn a_size_that_leads_to_a_mark_inside_data_loses_its_message_only() {
    let mut bytes = attitudes(11, 4, SizeField::AfterItself);
    let start = 12 + 32 + 4 * 49;
    // As if it ended within the next but one, where this lies in an attitude.
    bytes[start] = 45 + 2 * 49 - 16;
    let inside = start + 3 * 49 - 16;
    bytes[inside..inside + 4].fill(0xff);
    let log = open(&bytes.into());
    let (found, damage) = messages(&log);
    assert_eq!(found.len(), 10);
    let [lost] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!(lost.bytes, start as u64..start as u64 + 49);
    assert_eq!(log.manifest().metadata["end"].to_string(), "0xffffffff");
}

#[test]
fn a_first_message_that_is_broken_is_lost_aloud() {
    let damages: [fn(&mut [u8]); 2] = [
        |message| message[..4].copy_from_slice(&[0xfe, 0xff, 0xff, 0x7f]),
        |message| message[..4].fill(0),
    ];
    for (seconds, damage) in [0, 4].into_iter().flat_map(|s| damages.map(|d| (s, d))) {
        let mut bytes = attitudes(10, seconds, SizeField::AfterItself);
        let start = 12 + 8 * seconds as usize;
        damage(&mut bytes[start..]);
        let log = open(&bytes.into());
        let (found, damage) = messages(&log);
        assert_eq!(found.len(), 9);
        let [lost] = &damage[..] else { panic!("{damage:?}") };
        assert_eq!(lost.bytes, start as u64..start as u64 + 49);
        assert_eq!(log.manifest().damage, damage);
    }
}

#[test]
fn what_is_lost_of_a_message_that_is_cut_is_what_follows_its_last_whole_packet() {
    let Some(bytes) = sample("sample_real_s1_trunc_noindex.vel") else { return };
    // The last 700 bytes of a packet of 1206 are missing.
    let log = open(&bytes);
    let [lost] = &log.manifest().damage[..] else { panic!() };
    assert_eq!(lost.lost_bytes, 1206 - 700);
    assert_eq!(lost.bytes.end - lost.bytes.start, 1206 - 700);
}

#[test]
fn a_size_that_is_garbled_in_a_log_of_a_car_is_damage_and_the_rest_is_read() {
    let sound = messages(&open(&testdata())).0;
    let mut bytes = testdata().to_vec();
    // The low byte of a size; it leads into data that are ff.
    assert_eq!(bytes[15_844], 0x59);
    bytes[15_844] = 0xff;
    let (found, damage) = messages(&open(&bytes.into()));
    assert_eq!(found.len() + 1, sound.len());
    let [lost] = &damage[..] else { panic!("{damage:?}") };
    assert_eq!(lost.bytes.start, 15_844);
}

#[test]
fn numbers_in_messages_that_are_wrong_are_told_and_what_is_there_is_taken() {
    let Some(sound) = sample("sample_sim_s2.vel") else { return };
    let word = |at: usize| u32::from_le_bytes(sound[at..at + 4].try_into().unwrap());
    let place = |kind: u32| {
        let mut at = 12 + 8 * word(8) as usize;
        let mut seen = 0;
        loop {
            seen += u32::from(word(at + 5) == kind);
            if seen == 5 {
                return at + 21;
            }
            at += 4 + word(at) as usize;
        }
    };
    let (packets, image) = (place(0x3112b), place(0x109c9) + 16);
    let labels = |log: &VelLog| -> Vec<String> {
        messages(log).0.into_iter().map(|(label, _)| label).collect()
    };
    let wanted = open(&sound);
    let of_lengths = |log: &VelLog| {
        let remarks = &log.manifest().remarks;
        remarks.iter().filter(|text| text.contains("than there is")).count()
    };
    assert_eq!(of_lengths(&wanted), 0);
    let wrong = [(packets, 0), (packets, 1), (packets, u32::MAX), (image, u32::MAX)];
    for (at, number) in wrong {
        let mut bytes = sound.to_vec();
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        let log = open(&bytes.into());
        assert_eq!(labels(&log), labels(&wanted), "{at} {number}");
        let packets = |log: &VelLog| log.manifest().metadata["packets"].to_string();
        assert_eq!(packets(&log), packets(&wanted), "{at} {number}");
        assert_eq!(of_lengths(&log), 1, "{at} {number}");
    }
}

#[test]
fn any_length_at_its_maximum_is_survived() {
    let sound = testdata();
    for at in 0..sound.len() - 4 {
        if at % 7 != 0 && at > 400 {
            continue;
        }
        let mut bytes = sound.to_vec();
        bytes[at..at + 4].fill(0xff);
        let log = open_any(bytes.into());
        if let Some(log) = log {
            messages(&log);
        }
    }
}

fn open_any(bytes: Bytes) -> Option<VelLog> {
    VelLog::open(Arc::new(bytes), OpenOptions::default()).ok()
}
