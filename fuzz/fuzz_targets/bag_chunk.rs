//! Compressed chunks have the same messages as uncompressed ones. Damaged and arbitrary compressed
//! bytes are read without a hang, and never exceed the limit.

#![no_main]

use std::sync::Arc;

use arbitrary::Arbitrary;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use logtool_core::{Log as _, OpenOptions, Selection};
use logtool_fuzz::bag::{laws, make, make::ChunkCompression, types::TYPES};
use logtool_rosbag::{OpenMode, RosbagLog, RosbagOptions};

#[derive(Arbitrary, Debug)]
struct Input {
    compression: u8,
    /// A wrong uncompressed size for the chunk header.
    size: Option<u32>,
    messages: Vec<(u8, u16, Vec<u8>)>,
    /// The byte and the length of an additional payload, so that frames have several blocks.
    long: Option<(u8, u32)>,
    harm: Vec<(u16, u8)>,
    cut: Option<u16>,
    /// Arbitrary bytes instead of compressed ones.
    raw: Option<Vec<u8>>,
}

/// The maximum length of a payload.
const LONGEST: u32 = 1 << 20;

fuzz_target!(|input: Input| {
    let compression = ChunkCompression(input.compression);
    let (content, messages) = content(&input);
    let compressed =
        input.raw.clone().unwrap_or_else(|| compression.compress(&content));
    let is_sound = input.raw.is_none() && input.harm.is_empty() && input.cut.is_none();
    let size = input.size.unwrap_or(content.len() as u32);
    if is_sound {
        let plain =
            read(&make::chunk("none", content.len() as u32, &content), &messages);
        let chunk = make::chunk(compression.name(), size, &compressed);
        let decompressed = read(&chunk, &messages);
        assert_eq!(plain.0, messages.len(), "all messages of an open chunk are read");
        assert_eq!(plain, decompressed, "compressed chunks have the same messages");
    }
    let mut compressed = compressed;
    let len = compressed.len().max(1);
    for (at, bits) in input.harm.iter().take(16) {
        if let Some(byte) = compressed.get_mut(usize::from(*at) % len) {
            *byte ^= bits;
        }
    }
    compressed.truncate(input.cut.map_or(usize::MAX, usize::from));
    read(&make::chunk(compression.name(), size, &compressed), &messages);
});

type Message = (u32, u32, u32, u32);

/// The uncompressed content of a chunk, and the index entries of its messages.
fn content(input: &Input) -> (Vec<u8>, Vec<Message>) {
    let (mut content, mut messages) = (Vec::new(), Vec::new());
    let mut add = |id: u32, nanos: u32, payload: &[u8]| {
        messages.push((id, 1, nanos, content.len() as u32));
        content.extend(make::message(id, 1, nanos, payload));
    };
    for (id, nanos, payload) in input.messages.iter().take(64) {
        add(u32::from(id % 3), u32::from(*nanos), payload);
    }
    if let Some((byte, len)) = input.long {
        add(0, 1, &vec![byte; (len % LONGEST) as usize]);
    }
    (content, messages)
}

/// Returns the number of records in a bag of one chunk, with its index and without it, and the number
/// of their bytes.
fn read(chunk: &[u8], messages: &[Message]) -> (usize, usize) {
    let connection = |id: u32| {
        let (name, text) = TYPES[0];
        make::connection(id, &format!("/{id}"), name, "*", text)
    };
    let connections = [connection(0), connection(1), connection(2)];
    let chunk = make::Chunk { record: chunk.to_vec(), messages: messages.to_vec() };
    let bag = Bytes::from(make::indexed_bag(&connections, &[chunk]));
    let mut totals = Vec::new();
    for mode in [OpenMode::Index, OpenMode::Scan, OpenMode::Full] {
        let mut open = OpenOptions::default();
        // A low limit, which is enough for all valid chunks.
        open.record_bytes = 4 << 20;
        let options = RosbagOptions::from(open).with_mode(mode);
        let log = RosbagLog::open(Arc::new(bag.clone()), options).expect("it opens");
        let all = Selection::default();
        let (records, _) = laws::read(&log, &log.manifest().plan(&all, u64::MAX), &all);
        let bytes = records.iter().map(|record| record.3.len()).sum::<usize>();
        assert!(bytes <= 4 << 20, "no more than the limit");
        totals.push((records.len(), bytes));
    }
    assert!(totals[0] == totals[1] && totals[1] == totals[2], "{totals:?}");
    totals[0]
}
