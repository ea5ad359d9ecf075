//! Time selections of bags: chunks after the start are copied, whatever connections they need.

use std::io::Cursor;

use bytes::Bytes;
use logtool_core::{
    CopyJob, CopyReport, Format as _, Log as _, LogSlice, Selection, TimeRange,
    Timestamp, WriteOptions, copy,
};
use logtool_rosbag::{
    Compression, ConnectionHeader, FORMAT, OpenMode, RosbagLog, Writer, WriterOptions,
};

use crate::{logged, open, read};

/// Returns chunks of 10 messages of `/a`, one a second. The connection `/rare` and the
/// connections `/late/0` to `/late/2` have a message in the first chunk, and each has another
/// one in a chunk of its own.
fn bag(compression: Compression) -> RosbagLog {
    let options = WriterOptions::default().with_compression(compression);
    let mut bag = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let mut connect = |topic: &str| {
        let header = ConnectionHeader::new(topic, "std_msgs/String", "string data\n");
        bag.connect(&header).unwrap()
    };
    let a = connect("/a");
    let others = ["/rare", "/late/0", "/late/1", "/late/2"].map(connect);
    for second in 0..100 {
        let time = Timestamp::from_nanos(second * 1_000_000_000);
        let text = [&40_u32.to_le_bytes()[..], &[b'a'; 40]].concat();
        bag.write(a, time, &text).unwrap();
        for (number, other) in (0..).zip(others) {
            if second == 0 || second == 45 + 10 * number {
                bag.write(other, time, &text).unwrap();
            }
        }
        if second % 10 == 9 {
            bag.flush().unwrap();
        }
    }
    let bytes = bag.finish().unwrap().into_inner();
    open(Bytes::from(bytes), OpenMode::Auto).unwrap()
}

/// Returns the bag with `selection` of `log`, and the report of the copy.
fn cut(
    log: &RosbagLog,
    selection: &Selection,
    verify: bool,
) -> (RosbagLog, CopyReport) {
    let extract = LogSlice { manifest: log.manifest(), selection: selection.clone() };
    let mut out = Cursor::new(Vec::new());
    let options = WriteOptions::default();
    let mut sink = FORMAT.writer(Box::new(&mut out), &[extract], &options).unwrap();
    let (slice_index, selection, progress) = (0, selection.clone(), &|_| {});
    let job = CopyJob {
        log,
        slice_index,
        selection,
        verify,
        drops_doubtful: false,
        progress,
    };
    let copied = copy(&job, None, &mut *sink).unwrap();
    sink.finish().unwrap();
    (open(out.into_inner().into(), OpenMode::Full).unwrap(), copied)
}

fn from_second(log: &RosbagLog, second: i64) -> Selection {
    let start = Timestamp::from_nanos(second * 1_000_000_000);
    let time = TimeRange { start, end: Timestamp::MAX };
    Selection { time, ..logged(log.manifest()) }
}

#[test]
fn chunks_after_a_time_cut_are_copied() {
    for compression in [Compression::None, Compression::Lz4, Compression::Bz2] {
        let log = bag(compression);
        assert_eq!(log.manifest().parts.len(), 10);
        // Within a chunk: the new first chunk declares all connections.
        for (second, verify) in [(15, false), (15, true), (35, false), (95, false)] {
            let selection = from_second(&log, second);
            let (new, copied) = cut(&log, &selection, verify);
            assert_eq!(new.manifest().damage, [], "{compression:?} {second}");
            assert!(read(&new, &logged(new.manifest())) == read(&log, &selection));
            let in_cut_chunk = 5;
            let rest = copied.records - in_cut_chunk;
            assert_eq!(
                copied.verbatim_records, rest,
                "{compression:?} {second} {verify}"
            );
        }
        // At the start of a chunk: that chunk is rewritten, and declares the connections.
        for second in [10, 40] {
            let selection = from_second(&log, second);
            let (new, copied) = cut(&log, &selection, false);
            assert!(read(&new, &logged(new.manifest())) == read(&log, &selection));
            let single_records = copied.records - copied.verbatim_records;
            assert!(
                (10..=11).contains(&single_records),
                "{compression:?} {second}: {single_records}"
            );
        }
    }
}

#[test]
fn complete_bag_is_copied_completely() {
    let log = bag(Compression::Lz4);
    let selection = logged(log.manifest());
    let (new, copied) = cut(&log, &selection, false);
    assert!(read(&new, &logged(new.manifest())) == read(&log, &selection));
    assert_eq!((copied.records, copied.verbatim_records), (108, 108));
}
