//! Tables of mock logs.

use std::sync::{Arc, Mutex, atomic::Ordering};

use arrow_array::{cast::AsArray as _, types::TimestampNanosecondType};
use arrow_schema::SchemaRef;

use super::*;
use crate::{
    model::topic::Topic,
    testing::mock_log::{MockLog, MockResult},
};

/// The times of a batch, and the number of blocks that were filled when it was written.
type Batch = (Vec<i64>, usize);

/// The written batches.
#[derive(Clone, Default)]
struct WrittenBatches(Arc<Mutex<Vec<Batch>>>);

struct TestWriter(WrittenBatches, Arc<AtomicUsize>);

struct TestSink<'s>(WrittenBatches, &'s MockLog);

impl TableSink for TestSink<'_> {
    fn new_table(&self, _: &Topic, _: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        Ok(Box::new(TestWriter(self.0.clone(), self.1.filled.clone())))
    }
}

impl TableWriter for TestWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let times = batch.column(0).as_primitive::<TimestampNanosecondType>();
        let filled = self.1.load(Ordering::Relaxed);
        self.0.0.lock().unwrap().push((times.values().to_vec(), filled));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

fn tables(log: &MockLog) -> (Vec<(Vec<i64>, usize)>, Result<ReadReport>) {
    let job = TableJob {
        selection: Selection::default(),
        columns: Columns::default(),
        columns_by_topic: BTreeMap::new(),
        time: TimeBase::default(),
        part_bytes: 0,
        progress: &|_| {},
    };
    let written = WrittenBatches::default();
    let report = export_tables(log, &job, &TestSink(written.clone(), log));
    let tables = written.0.lock().unwrap().clone();
    (tables, report)
}

/// Returns a block with one record of `len` bytes.
fn block(time: i64, len: usize) -> MockResult {
    MockResult::Block(vec![(time, vec![0; len])])
}

#[test]
fn large_part_is_decoded_in_sections() {
    for threads in [1, 3] {
        let large_part =
            |part: i64| (0..50).map(move |i| block(part * 100 + i, 1 << 20));
        let mut parts: Vec<Vec<MockResult>> =
            (0..2).map(|part| large_part(part).collect()).collect();
        parts.insert(1, vec![]);
        parts.push(vec![block(300, 1)]);
        let log = MockLog::new(parts);
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (tables, report) = pool.install(|| tables(&log));
        assert_eq!(report.unwrap().records, 101);

        let times: Vec<i64> =
            tables.iter().flat_map(|(times, _)| times.clone()).collect();
        let expected: Vec<i64> = (0..50).chain(100..150).chain([300]).collect();
        assert_eq!(times, expected, "in the order of the file");
        let mut written = 0;
        for (batch, filled) in tables {
            assert!(batch.len() <= 16, "{} blocks of 1 MiB at once", batch.len());
            // Each active part has one section in memory.
            assert!(filled <= written + 16 * (threads + 1), "{filled}, {written}");
            written += batch.len();
        }
    }
}

#[test]
fn error_in_a_later_section_is_returned() {
    let mut part: Vec<MockResult> = (0..20).map(|time| block(time, 1 << 20)).collect();
    part.push(MockResult::Error);
    let (_, report) = tables(&MockLog::new(vec![part]));
    assert!(report.is_err());
}

#[test]
fn parts_are_started_in_order_and_written_before_later_ones() {
    let log = MockLog::new((0..9).map(|part| vec![block(part, 1)]).collect());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (tables, report) = pool.install(|| tables(&log));
    assert_eq!(report.unwrap().records, 9);
    assert_eq!(*log.read.lock().unwrap(), Vec::from_iter(0..9));
    let filled: Vec<usize> = tables.iter().map(|(_, filled)| *filled).collect();
    assert_eq!(filled, Vec::from_iter(1..=9), "each batch, when there is no other");
}
