//! Chunks that are selected completely are copied unchanged.

#![allow(clippy::unwrap_used)] // Clippy does not recognize helper functions as tests.

use std::{collections::BTreeMap, io::Cursor, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, CopyJob, CopyReport, Format as _, Log as _, LogSlice, OpenOptions,
    Selection, TimeRange, Timestamp, WriteOptions, copy,
};
use logtool_mcap::{Compression, FORMAT, McapLog, Writer, WriterOptions};

/// A file of two channels in chunks of about 200 bytes: `/a` from the start, `/b` from
/// the middle on.
fn file(compression: Compression) -> Bytes {
    let mut options = WriterOptions::default();
    (options.compression, options.chunk_bytes) = (compression, 200);
    let mut file = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let schema = file.schema("std_msgs/String", "ros1msg", b"string data\n").unwrap();
    let metadata = BTreeMap::from([("callerid".to_owned(), "/node".to_owned())]);
    let a = file.channel("/a", schema, "ros1", metadata).unwrap();
    let b = file.channel("/b", Default::default(), "odd", BTreeMap::new()).unwrap();
    for number in 0..40_u32 {
        let time = Timestamp::from_nanos(1_000 + i64::from(number));
        file.write(a, number, time, time, &[4, 0, 0, 0, 1, 2, 3, 4]).unwrap();
        if number >= 20 {
            file.write(b, number, time, time, &[7; 9]).unwrap();
        }
    }
    file.finish().unwrap().into_inner().into()
}

fn open(bytes: &Bytes) -> McapLog {
    McapLog::open(Arc::new(bytes.clone()), OpenOptions::default()).unwrap()
}

/// Returns all messages: time, topic and payload.
fn messages(bytes: &Bytes) -> Vec<(i64, String, Vec<u8>)> {
    let log = open(bytes);
    let (mut copied_messages, mut block) = (Vec::new(), Block::default());
    for part in log.manifest().plan(&Selection::default(), 0) {
        let mut cursor = log.read(&part, &Selection::default()).unwrap();
        while cursor.fill(&mut block).unwrap() {
            assert_eq!(block.damage(), []);
            for record in block.iter() {
                let topic = log.manifest().topic(record.topic).unwrap();
                let nanos = record.time.as_nanos();
                copied_messages.push((
                    nanos,
                    topic.name.clone(),
                    record.payload.to_vec(),
                ));
            }
        }
    }
    copied_messages
}

/// Returns the file that contains `selection` of `bytes`, and the result of the copy.
fn extract_with_report(
    bytes: &Bytes,
    selection: &Selection,
    options: &WriteOptions,
) -> (Bytes, CopyReport) {
    let log = open(bytes);
    let slice = LogSlice { manifest: log.manifest(), selection: selection.clone() };
    let mut out = Cursor::new(Vec::new());
    let mut sink = FORMAT.writer(Box::new(&mut out), &[slice], options).unwrap();
    let job = CopyJob {
        log: &log,
        slice_index: 0,
        selection: selection.clone(),
        verify: options.is_repair,
        drops_doubtful: false,
        progress: &|_| {},
    };
    let copied = copy(&job, None, &mut *sink).unwrap();
    sink.finish().unwrap();
    (out.into_inner().into(), copied)
}

/// Like [`extract_with_report`], but for a valid file. Returns the number of messages in
/// copied chunks.
fn extract(
    bytes: &Bytes,
    selection: &Selection,
    options: &WriteOptions,
) -> (Bytes, u64) {
    let (new, copied) = extract_with_report(bytes, selection, options);
    assert_eq!(copied.damage, []);
    (new, copied.verbatim_records)
}

/// Returns the byte ranges of the chunks of a file.
fn chunks(bytes: &Bytes) -> Vec<Range<usize>> {
    let (mut at, mut chunks) = (8, Vec::new());
    while bytes[at] != 0x0f {
        let len = u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap());
        let end = at + 9 + len as usize;
        if bytes[at] == 6 {
            chunks.push(at..end);
        }
        at = end;
    }
    chunks
}

fn chunk_bytes(bytes: &Bytes) -> Vec<&[u8]> {
    chunks(bytes).into_iter().map(|chunk| &bytes[chunk]).collect()
}

#[test]
fn copy_of_whole_file_has_identical_chunks() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let bytes = file(compression);
        for is_repair in [false, true] {
            let mut options = WriteOptions::default();
            options.is_repair = is_repair;
            let (copy, verbatim_count) =
                extract(&bytes, &Selection::default(), &options);
            assert_eq!(verbatim_count, 60, "{compression:?}");
            assert_eq!(chunk_bytes(&copy), chunk_bytes(&bytes));
            assert_eq!(messages(&copy), messages(&bytes));
            let channels = |bytes: &Bytes| {
                let streams = open(bytes).manifest().streams.clone();
                streams.into_iter().map(|stream| stream.metadata).collect::<Vec<_>>()
            };
            assert_eq!(channels(&copy), channels(&bytes));
        }
    }
}

#[test]
fn chunks_in_selected_time_range_are_copied() {
    let bytes = file(Compression::Zstd);
    let at = Timestamp::from_nanos;
    let time = TimeRange { start: at(1_013), end: at(1_033) };
    let selection = Selection { time, ..Selection::default() };
    let (part, verbatim_count) = extract(&bytes, &selection, &WriteOptions::default());
    let mut expected = messages(&bytes);
    expected.retain(|(time, ..)| (1_013..1_033).contains(time));
    assert_eq!(messages(&part), expected);
    assert!(
        verbatim_count > 0 && verbatim_count < expected.len() as u64,
        "{verbatim_count}"
    );
    // The channels of copied chunks are declared before them, for readers that do not
    // use the summary.
    let mut cut_bytes = part.to_vec();
    let data_end = chunks(&part).last().unwrap().end;
    cut_bytes.truncate(data_end);
    assert_eq!(messages(&cut_bytes.into()).len(), expected.len());
}

#[test]
fn changed_topics_or_compression_are_not_copied_as_chunks() {
    let bytes = file(Compression::Zstd);
    let log = open(&bytes);
    let topics = [log.manifest().topic_id("/a").unwrap()].into_iter().collect();
    let one_topic = Selection { topics, ..Selection::default() };
    let (some, verbatim_count) = extract(&bytes, &one_topic, &WriteOptions::default());
    assert_eq!(messages(&some).len(), 40);
    assert!((1..40).contains(&verbatim_count), "chunks with only /a: {verbatim_count}");
    let (mut lz4, mut renamed) = (WriteOptions::default(), WriteOptions::default());
    lz4.compression = Some("lz4".to_owned());
    renamed.rename = BTreeMap::from([("/a".to_owned(), "/c".to_owned())]);
    for options in [lz4, renamed] {
        let (copy, verbatim_count) = extract(&bytes, &Selection::default(), &options);
        assert_eq!((messages(&copy).len(), verbatim_count), (60, 0));
    }
}

#[test]
fn chunk_with_wrong_times_is_not_copied() {
    let mut bytes = file(Compression::Zstd).to_vec();
    // The declared start time of the first chunk.
    let at = chunks(&bytes.clone().into())[0].start + 9;
    bytes[at] ^= 1;
    let bytes = Bytes::from(bytes);
    let (copy, verbatim_count) =
        extract(&bytes, &Selection::default(), &WriteOptions::default());
    assert_eq!(messages(&copy), messages(&bytes));
    assert_eq!(verbatim_count, 57, "all chunks except the first, which has 3 messages");
}

#[test]
fn damaged_chunk_is_not_copied_and_reported() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let mut bytes = file(compression).to_vec();
        let third = chunks(&bytes.clone().into())[2].clone();
        bytes[third.end - 12] ^= 0xff;
        let everything = (Selection::default(), WriteOptions::default());
        let (new, copied) =
            extract_with_report(&bytes.into(), &everything.0, &everything.1);
        assert!(!copied.damage.is_empty(), "{compression:?}");
        // The new file is valid.
        assert_eq!(messages(&new).len() as u64, copied.records, "{compression:?}");
    }
}
