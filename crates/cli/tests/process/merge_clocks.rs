//! `logtool merge`: shifted clocks, and the values that are shifted with them.

use std::fs;

use crate::{bytes, program::Folder, samples::testdata};

const SECOND: u64 = 1_000_000_000;

/// A record of an MCAP file: its kind, its length and its content.
fn record(op: u8, content: &[u8]) -> Vec<u8> {
    [&[op][..], &(content.len() as u64).to_le_bytes(), content].concat()
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

/// An MCAP file according to the specification: an attachment with the time 1,700,000,000 s,
/// its checksum (by zlib), and a message that was logged a second later and has the publish
/// time `published`.
fn file(checksum: u32, published: u64) -> Vec<u8> {
    const MAGIC: &[u8] = b"\x89MCAP0\r\n";
    let times = [1_700_000_000 * SECOND, 5].map(u64::to_le_bytes).concat();
    let name = [text("a"), text("t")].concat();
    let data = [&3_u64.to_le_bytes()[..], b"xyz", &checksum.to_le_bytes()].concat();
    let channel = [&[1, 0, 0, 0][..], &text("/x"), &text("odd"), &[0; 4]].concat();
    let times_of = [1_700_000_001 * SECOND, published].map(u64::to_le_bytes).concat();
    [
        MAGIC,
        &record(1, &[0; 8]),
        &record(9, &[times, name, data].concat()),
        &record(4, &channel),
        &record(5, &[&[1, 0, 7, 0, 0, 0][..], &times_of, b"payload"].concat()),
        &record(15, &[0; 4]),
        &record(2, &[0; 20]),
        MAGIC,
    ]
    .concat()
}

/// The contents of the records `op` of the MCAP file `bytes`, also in chunks that are not
/// packed.
fn contents(mut bytes: &[u8], op: u8) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while bytes.len() > 9 {
        let len = u64::from_le_bytes(bytes[1..9].try_into().unwrap()) as usize;
        let content = &bytes[9..9 + len];
        match bytes[0] {
            // Two times, a size, a checksum, no name of a compression, a length.
            6 => records.extend(contents(&content[40..], op)),
            own if own == op => records.push(content.to_vec()),
            _ => {}
        }
        bytes = &bytes[9 + len..];
    }
    records
}

fn number(content: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(content[at..at + 8].try_into().unwrap())
}

#[test]
fn publish_and_attachment_times_are_shifted() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let published = 1_700_000_000 * SECOND + SECOND / 2;
    // The checksums are computed by zlib.crc32 of Python; a wrong one stays wrong, and 0 means
    // that there is none.
    for (old_checksum, log, offset, new_checksum, published) in [
        (0x61fd_1c82, "1", 0_i64, 0x61fd_1c82_u32, published),
        (0x61fd_1c82, "1", 100, 0xae98_9cad, published),
        (0x61fd_1c82, "a.mcap", -3, 0x2493_da1a, published),
        (0x61fd_1c83, "1", 100, 0xae98_9cac, published),
        (0, "1", 100, 0, 0),
    ] {
        folder.write("a.mcap", &file(old_checksum, published));
        let offset_of = format!("--offset={log}={offset}");
        let args = ["merge", "a.mcap", &bag, "-f", "-o", "b.mcap", "--compression"];
        folder
            .run(&[&args[..], &["none", &offset_of]].concat())
            .assert_status(0, &["2 logs"]);
        let bytes = fs::read(folder.path().join("b.mcap")).unwrap();
        let records = &bytes[8..bytes.len() - 8];
        let later = |seconds: u64| seconds.wrapping_add_signed(offset) * SECOND;
        let attached = contents(records, 9);
        let [attached] = &attached[..] else { panic!("{attached:?}") };
        assert_eq!(number(attached, 0), later(1_700_000_000), "{offset}");
        assert_eq!(number(attached, 8), 5);
        assert_eq!(
            attached[attached.len() - 4..],
            new_checksum.to_le_bytes(),
            "{offset}"
        );
        // In the attachment index: two numbers, and then the time.
        assert_eq!(number(&contents(records, 10)[0], 16), later(1_700_000_000));
        let messages = contents(records, 5);
        let mine = messages.iter().find(|message| message.ends_with(b"payload"));
        let mine = mine.unwrap();
        assert_eq!(number(mine, 6), later(1_700_000_001));
        let want = match published {
            0 => 0,
            at => at.wrapping_add_signed(offset * SECOND as i64),
        };
        assert_eq!(number(mine, 14), want, "{offset}");
    }
}

#[test]
fn times_beyond_2262_are_rejected() {
    let (folder, bag) = (Folder::with_log(&bytes::log()), testdata("rover.bag"));
    let args = ["merge", "flight.ulg", &bag, "-o", "x.mcap", "--offset"];
    let far = folder.run(&[&args[..], &["2=9000000000"]].concat());
    far.assert_status(2, &["rover.bag", "after 2262", "takes seconds"]);
    assert_eq!(folder.list("."), ["flight.ulg"]);
}

#[test]
fn logs_far_apart_in_time_are_reported() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let (log, car) = (testdata("quad_flight.ulg"), testdata("car.vel"));
    let far = ["merge", &log, &bag, &car, "-o", "x.mcap"];
    // The car log is from years before the others, which are from the same day.
    let run =
        folder.run(&far).assert_status(0, &["after ", "car.vel ended", "--offset"]);
    assert_eq!(run.stderr.matches("ended").count(), 1, "{run:?}");
    let near = folder.run(&["merge", &log, &bag, "-o", "y.mcap"]).assert_status(0, &[]);
    assert!(!near.stderr.contains("ended"), "{near:?}");
}

#[test]
fn unsupported_compression_of_bags_is_rejected() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    let zstd = ["merge", &bag, &bag, "-o", "x.bag", "--compression", "zstd"];
    folder.run(&zstd).assert_status(2, &["do not support zstd", "none, lz4, bz2"]);
    assert!(folder.list(".").is_empty());
}

#[test]
fn log_without_translatable_topics_is_named() {
    // A channel with only JSON messages, which bags cannot have.
    let folder = Folder::new();
    folder.write("a.mcap", &file(0, 0));
    let args = ["merge", "a.mcap", &testdata("rover.bag"), "-o", "x.bag"];
    folder
        .run(&args)
        .assert_status(1, &["a.mcap: no topic can be translated to messages of ROS 1"]);
}
