//! Selections of a time range: chunks after its start are copied, although the connections of their
//! messages are declared in earlier chunks.

use std::io::Cursor;

use bytes::Bytes;
use logtool_core::{
    CopyJob, CopyReport, Format as _, Log as _, LogSlice, Selection, TimeRange,
    Timestamp, WriteOptions, copy,
};
use logtool_rosbag::{
    Compression, ConnectionHeader, FORMAT, OpenMode, RosbagLog, Writer, WriterOptions,
};

use crate::{open, read, select_logged};

/// Returns a bag with ten chunks of 10 messages of `/a`, one message per second. The connections
/// `/rare` and `/late/0` to `/late/2` have a message in the first chunk, and another one in a later
/// chunk, which is a different one for each.
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

/// Returns a bag with `selection` of `log`, and the report of the copy.
fn copy_selection(
    log: &RosbagLog,
    selection: &Selection,
    verify: bool,
) -> (RosbagLog, CopyReport) {
    let slice = LogSlice { manifest: log.manifest(), selection: selection.clone() };
    let mut out = Cursor::new(Vec::new());
    let options = WriteOptions::default();
    let mut sink = FORMAT.writer(Box::new(&mut out), &[slice], &options).unwrap();
    let (slice_index, selection, progress) = (0, selection.clone(), &|_| {});
    let job = CopyJob {
        log,
        slice_index,
        selection,
        verify,
        drops_doubtful: false,
        progress,
    };
    let report = copy(&job, None, &mut *sink).unwrap();
    sink.finish().unwrap();
    (open(out.into_inner().into(), OpenMode::Full).unwrap(), report)
}

/// Selects the logged messages from this second on.
fn from_second(log: &RosbagLog, second: i64) -> Selection {
    let start = Timestamp::from_nanos(second * 1_000_000_000);
    let time = TimeRange { start, end: Timestamp::MAX };
    Selection { time, ..select_logged(log.manifest()) }
}

#[test]
fn chunks_after_the_start_of_a_time_range_are_copied() {
    for compression in [Compression::None, Compression::Lz4, Compression::Bz2] {
        let log = bag(compression);
        assert_eq!(log.manifest().parts.len(), 10);
        // If the range starts within a chunk, the new first chunk declares all connections.
        for (second, verify) in [(15, false), (15, true), (35, false), (95, false)] {
            let selection = from_second(&log, second);
            let (new, report) = copy_selection(&log, &selection, verify);
            assert_eq!(new.manifest().damage, [], "{compression:?} {second}");
            assert!(
                read(&new, &select_logged(new.manifest())) == read(&log, &selection)
            );
            let in_partial_chunk = 5;
            assert_eq!(
                report.verbatim_records,
                report.records - in_partial_chunk,
                "{compression:?} {second} {verify}"
            );
        }
        // If it starts with a chunk, that chunk is rewritten, and declares the connections.
        for second in [10, 40] {
            let selection = from_second(&log, second);
            let (new, report) = copy_selection(&log, &selection, false);
            assert!(
                read(&new, &select_logged(new.manifest())) == read(&log, &selection)
            );
            let rewritten_records = report.records - report.verbatim_records;
            assert!(
                (10..=11).contains(&rewritten_records),
                "{compression:?} {second}: {rewritten_records}"
            );
        }
    }
}

#[test]
fn complete_bag_is_copied_completely() {
    let log = bag(Compression::Lz4);
    let selection = select_logged(log.manifest());
    let (new, report) = copy_selection(&log, &selection, false);
    assert!(read(&new, &select_logged(new.manifest())) == read(&log, &selection));
    assert_eq!((report.records, report.verbatim_records), (108, 108));
}
