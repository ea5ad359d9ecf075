//! The findings of `check` in files with one defect each. The positions of bytes are
//! from the MCAP specification, the codes of defects from docs/CHECK.md.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::{collections::BTreeMap, io::Cursor, sync::Arc};

use bytes::Bytes;
use logtool_core::{OpenOptions, Timestamp};
use logtool_mcap::{Compression, McapLog, Writer, WriterOptions};

const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// The opcodes of records.
const CHANNEL: u8 = 4;
const MESSAGE: u8 = 5;
const CHUNK: u8 = 6;
const MESSAGE_INDEX: u8 = 7;
const CHUNK_INDEX: u8 = 8;
const STATISTICS: u8 = 0x0b;
const METADATA: u8 = 0x0c;
const METADATA_INDEX: u8 = 0x0d;
const DATA_END: u8 = 0x0f;
const FOOTER: u8 = 2;

/// A file with two channels of strings, in several chunks. Its summary has no checksum,
/// so that it is still used after changes.
fn file(compression: Compression) -> Vec<u8> {
    let mut options = WriterOptions::default();
    (options.compression, options.chunk_bytes) = (compression, 200);
    let mut file = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let schema = file.schema("std_msgs/String", "ros1msg", b"string data\n").unwrap();
    let one = file.channel("/one", schema, "ros1", BTreeMap::new()).unwrap();
    let two = file.channel("/two", schema, "ros1", BTreeMap::new()).unwrap();
    for number in 0..20_u32 {
        let time = Timestamp::from_nanos(1_000 + i64::from(number) * 10);
        let channel = if number % 2 == 0 { one } else { two };
        file.write(channel, number, time, time, b"\x01\0\0\0x").unwrap();
    }
    let metadata = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    file.metadata("words", &metadata).unwrap();
    let mut bytes = file.finish().unwrap().into_inner();
    let crc = bytes.len() - MAGIC.len() - 4;
    bytes[crc..crc + 4].fill(0);
    bytes
}

/// Returns the offset of the content of the record with the index `index` among those
/// with the opcode `op`.
fn content(bytes: &[u8], op: u8, index: usize) -> usize {
    let mut at = MAGIC.len();
    let mut positions = Vec::new();
    while at + MAGIC.len() < bytes.len() {
        let len = u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap());
        if bytes[at] == op {
            positions.push(at + 9);
        }
        at += 9 + len as usize;
    }
    positions[index]
}

/// A file without a summary that contains `content` between its header and its end.
fn without_summary(content: &[u8], has_data_end: bool) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(b"\x01\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    bytes.extend(content);
    if has_data_end {
        bytes.extend(b"\x0f\x04\0\0\0\0\0\0\0\0\0\0\0");
    }
    bytes.extend(b"\x02\x14\0\0\0\0\0\0\0");
    bytes.extend([0; 20]);
    bytes.extend(MAGIC);
    bytes
}

/// Returns the MCAP codes that are found in `bytes`, without duplicates.
fn codes(bytes: Vec<u8>) -> Vec<&'static str> {
    let log =
        McapLog::open(Arc::new(Bytes::from(bytes)), OpenOptions::default()).unwrap();
    let findings = logtool_core::check(&log, &|_| {}).unwrap();
    let names = findings.iter().map(|finding| finding.code.name);
    let mut names: Vec<_> = names.filter(|name| name.starts_with("mcap.")).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the codes after `change` to a file of uncompressed chunks.
fn codes_after(change: impl FnOnce(&mut Vec<u8>)) -> Vec<&'static str> {
    let mut bytes = file(Compression::None);
    change(&mut bytes);
    codes(bytes)
}

fn add(bytes: &mut [u8], at: usize, added: u8) {
    bytes[at] = bytes[at].wrapping_add(added);
}

#[test]
fn valid_file_has_no_findings() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        assert_eq!(codes(file(compression)), [""; 0], "{compression:?}");
    }
}

#[test]
fn wrong_chunk_headers_are_found() {
    // The first byte of the string in the last message of the first chunk.
    let first_byte = |b: &[u8]| content(b, MESSAGE_INDEX, 0) - 9 - 1;
    assert_eq!(
        codes_after(|b| {
            let at = first_byte(b);
            add(b, at, 1);
        }),
        ["mcap.chunk.crc"]
    );
    // start u64, end u64, size u64, crc u32, compression
    assert_eq!(
        codes_after(|b| {
            let at = content(b, CHUNK, 0) + 16;
            add(b, at, 1)
        }),
        ["mcap.chunk.size", "mcap.chunk_index.differs"]
    );
    assert_eq!(
        codes_after(|b| {
            let at = content(b, CHUNK, 0);
            add(b, at, 5)
        }),
        ["mcap.chunk.time", "mcap.chunk_index.differs"]
    );
    let mut bytes = file(Compression::Lz4);
    let at = content(&bytes, CHUNK, 0) + 32;
    assert_eq!(bytes[at..at + 3], *b"lz4");
    bytes[at..at + 3].copy_from_slice(b"xyz");
    let reported = codes(bytes);
    assert_eq!(reported, ["mcap.chunk.compression", "mcap.chunk_index.differs"]);
}

#[test]
fn wrong_indexes_are_found() {
    // channel u16, length u32, then time and offset
    let codes = codes_after(|b| {
        let at = content(b, MESSAGE_INDEX, 0) + 6 + 8;
        add(b, at, 1)
    });
    assert_eq!(codes, ["mcap.message_index.offset"]);
    let codes = codes_after(|b| {
        let at = content(b, MESSAGE_INDEX, 0);
        add(b, at, 40)
    });
    let expected = [
        "mcap.message_index.count",
        "mcap.message_index.offset",
        "mcap.message_index.position",
    ];
    assert_eq!(codes, expected);
    // start u64, end u64, offset u64
    let codes = codes_after(|b| {
        let at = content(b, CHUNK_INDEX, 1) + 16;
        add(b, at, 1)
    });
    assert_eq!(codes, ["mcap.chunk_index.missing", "mcap.chunk_index.position"]);
    let codes = codes_after(|b| {
        let at = content(b, METADATA_INDEX, 0);
        add(b, at, 1)
    });
    assert_eq!(codes, ["mcap.index.position"]);
}

#[test]
fn empty_summary_group_is_valid() {
    // The official Python writer declares an empty group for each kind of record that a
    // file does not have: opcode u8, start u64, length u64, before the footer.
    let mut bytes = file(Compression::None);
    let footer = content(&bytes, FOOTER, 0) - 9;
    let mut offset = vec![0x0e, 17, 0, 0, 0, 0, 0, 0, 0, 0x0a];
    offset.extend((footer as u64).to_le_bytes());
    offset.extend(0_u64.to_le_bytes());
    bytes.splice(footer..footer, offset);
    let codes_of_whole = codes(file(Compression::None));
    assert_eq!(codes(bytes.clone()), codes_of_whole);
    bytes[footer + 18] = 1; // the group is no longer empty
    assert!(codes(bytes).contains(&"mcap.index.position"));
}

#[test]
fn wrong_statistics_are_found() {
    // messages u64, schemas u16, channels u32, attachments u32, metadata u32, chunks u32,
    // first time u64, last time u64
    for field in [0, 14, 18, 26, 34] {
        let codes = codes_after(|b| {
            let at = content(b, STATISTICS, 0) + field;
            add(b, at, 1)
        });
        assert_eq!(codes, ["mcap.statistics"], "{field}");
    }
}

#[test]
fn statistics_are_not_compared_without_the_chunks_over_the_limit() {
    let mut options = WriterOptions::default();
    (options.compression, options.chunk_bytes) = (Compression::None, 100_000);
    let mut file = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let schema = file.schema("a/B", "ros1msg", b"uint8[] x\n").unwrap();
    let channel = file.channel("/x", schema, "ros1", BTreeMap::new()).unwrap();
    let time = Timestamp::from_nanos(1);
    for len in [200_000, 5] {
        file.write(channel, 0, time, time, &vec![0; len]).unwrap();
    }
    let bytes: Bytes = file.finish().unwrap().into_inner().into();
    let mut options = OpenOptions::default();
    options.record_bytes = 80_000;
    let log = McapLog::open(Arc::new(bytes), options).unwrap();
    let findings = logtool_core::check(&log, &|_| {}).unwrap();
    let names: Vec<_> = findings.iter().map(|finding| finding.code.name).collect();
    assert!(!names.contains(&"mcap.statistics"), "{names:?}");
}

#[test]
fn wrong_checksums_of_data_and_summary_are_found() {
    let with_crc = |added: u8| {
        codes_after(|b| {
            let at = content(b, DATA_END, 0);
            let crc = crc32fast::hash(&b[..at - 9]).to_le_bytes();
            b[at..at + 4].copy_from_slice(&crc);
            add(b, at, added);
        })
    };
    assert_eq!(with_crc(0), [""; 0]);
    assert_eq!(with_crc(1), ["mcap.data.crc"]);
    assert_eq!(
        codes_after(|b| {
            let at = content(b, FOOTER, 0) + 16;
            add(b, at, 1)
        }),
        ["mcap.summary.crc"]
    );
}

#[test]
fn missing_or_misplaced_end_is_found() {
    assert_eq!(codes_after(|b| b.truncate(b.len() - 8)), ["mcap.magic.end"]);
    let cut = codes_after(|b| b.truncate(content(b, DATA_END, 0) - 9));
    assert_eq!(cut, ["mcap.footer.missing", "mcap.magic.end"]);
    assert_eq!(
        codes_after(|b| {
            let at = content(b, FOOTER, 0);
            add(b, at, 1)
        }),
        ["mcap.summary.position"]
    );
    assert_eq!(codes_after(|b| b.extend(b"after it")), ["mcap.trailing"]);
    assert_eq!(codes(without_summary(b"", true)), ["mcap.summary.missing"]);
    assert_eq!(
        codes(without_summary(b"", false)),
        ["mcap.data.end", "mcap.summary.missing"]
    );
}

#[test]
fn inconsistent_channels_and_schemas_are_found() {
    // A channel record in the chunk and in the summary: id u16, schema u16, topic.
    let in_chunk = |b: &[u8]| {
        let name = b"\x04\0\0\0/one";
        b.windows(8).position(|at| at == name).unwrap() - 4
    };
    let remove_crc = |b: &mut [u8]| {
        let at = content(b, CHUNK, 0) + 24;
        b[at..at + 4].fill(0);
    };
    let codes = codes_after(|b| {
        let (in_chunk_at, in_summary_at) = (in_chunk(b), content(b, CHANNEL, 0));
        b[in_chunk_at + 2] = 9;
        b[in_summary_at + 2] = 9;
        remove_crc(b);
    });
    assert_eq!(codes, ["mcap.channel.schema"]);
    let codes = codes_after(|b| {
        let (in_chunk_at, in_summary_at) = (in_chunk(b), content(b, CHANNEL, 0));
        b[in_chunk_at + 2] = 0;
        b[in_summary_at + 2] = 0;
        remove_crc(b);
    });
    assert_eq!(codes, ["mcap.channel.schemaless"]);
    // The summary has a different topic.
    let codes = codes_after(|b| {
        let at = content(b, CHANNEL, 0) + 9;
        b[at] = b'O'
    });
    assert_eq!(codes, ["mcap.id.reused"]);
    let codes = codes_after(|b| {
        let at = content(b, CHANNEL, 1);
        b[at] = 55
    });
    assert_eq!(codes, ["mcap.channel.summary"]);
    // The first message of the first chunk has an unknown channel.
    let codes = codes_after(|b| {
        let at = content(b, CHUNK, 0);
        let head = [&[MESSAGE, 27][..], &[0; 7], &[0, 0]].concat();
        let message = b[at..].windows(head.len()).position(|bytes| bytes == head);
        b[at + message.unwrap() + 9] = 77;
        remove_crc(b);
    });
    assert!(codes.contains(&"mcap.channel.undeclared"), "{codes:?}");
}

#[test]
fn attachments_and_unknown_records_are_checked() {
    // Two times, an empty name and media type, one byte of data, and the checksum.
    let mut attached = vec![0; 16];
    attached.extend([0; 8]);
    attached.extend(b"\x01\0\0\0\0\0\0\0x");
    let crc = crc32fast::hash(&attached);
    for (crc, count) in [(crc, 0), (crc ^ 1, 1)] {
        let content = [&attached[..], &crc.to_le_bytes()].concat();
        let head = [&[9_u8][..], &(content.len() as u64).to_le_bytes()].concat();
        let codes = codes(without_summary(&[head, content].concat(), true));
        assert_eq!(codes[..count], ["mcap.attachment.crc"][..count]);
        assert_eq!(codes[count..], ["mcap.summary.missing"]);
    }
    // The metadata record gets an unknown opcode, then one for applications.
    let codes_with_opcode = |op: u8| {
        codes_after(|b| {
            let at = content(b, METADATA, 0) - 9;
            b[at] = op;
        })
    };
    assert_eq!(
        codes_with_opcode(0x20),
        ["mcap.index.position", "mcap.record.unknown", "mcap.statistics"]
    );
    assert_eq!(codes_with_opcode(0x80), ["mcap.index.position", "mcap.statistics"]);
}
