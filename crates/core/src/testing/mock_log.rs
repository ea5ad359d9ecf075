//! A log with scripted blocks and errors, for tests.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use arrow_array::{RecordBatch, TimestampNanosecondArray};
use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;

use crate::{
    decode::columns::time_field,
    error::{Error, ErrorKind, Result},
    io::source::Source,
    log::{Columns, Cursor, Decoder, Log},
    model::{
        damage::{Damage, DamageKind},
        manifest::{Manifest, Part, Selection},
        time::{TimeRange, Timestamp},
        topic::{Topic, TopicId, TopicSet},
    },
    record::block::{Block, Run},
};

/// A log of scripted parts. The bytes of part `p` are `p * 1000..(p + 1) * 1000`.
pub(crate) struct MockLog {
    manifest: Manifest,
    parts: Vec<Vec<MockResult>>,
    source: Arc<dyn Source>,
    /// The number of blocks that were filled.
    pub(crate) filled: Arc<AtomicUsize>,
    /// The parts that were read, in the order in which they were started.
    pub(crate) read: Mutex<Vec<usize>>,
    /// The released bytes.
    pub(crate) released: Arc<Mutex<Vec<Range<u64>>>>,
}

/// The next result of a cursor.
#[derive(Clone, Debug)]
pub(crate) enum MockResult {
    /// A block of records of topic 0: their times and payloads.
    Block(Vec<(i64, Vec<u8>)>),
    /// A block with damage and without records.
    Damage,
    /// An error.
    Error,
    /// A panic.
    Panic,
}

impl MockLog {
    pub(crate) fn new(parts: Vec<Vec<MockResult>>) -> Self {
        let part = |(index, results): (u64, &Vec<MockResult>)| Part {
            bytes: index * 1000..(index + 1) * 1000,
            topics: TopicSet::from_iter([TopicId(0)]),
            time: times(results),
        };
        let manifest = Manifest {
            bytes: parts.len() as u64 * 1000,
            topics: vec![topic()],
            parts: (0..).zip(&parts).map(part).collect(),
            ..Manifest::default()
        };
        let released = Arc::default();
        let source = ReleaseRecorder(Arc::clone(&released));
        Self {
            manifest,
            parts,
            source: Arc::new(source),
            filled: Arc::default(),
            read: Mutex::default(),
            released,
        }
    }

    /// Creates parts of one block each with records at these times. The payload is the
    /// number of the record, from 1.
    pub(crate) fn with_times(parts: &[&[i64]]) -> Self {
        let mut number = 0_u32;
        let mut record = |time: &i64| {
            number += 1;
            (*time, number.to_le_bytes().to_vec())
        };
        let part = |times: &&[i64]| {
            vec![MockResult::Block(times.iter().map(&mut record).collect())]
        };
        Self::new(parts.iter().map(part).collect())
    }

    /// Returns all parts.
    pub(crate) fn plan(&self) -> Vec<Part> {
        self.manifest.parts.clone()
    }

    /// Declares a start of the part with this index that is `nanos` too late.
    pub(crate) fn with_later_start(mut self, index: usize, nanos: i64) -> Self {
        let time = &mut self.manifest.parts[index].time;
        time.start = time.start.shifted_by(nanos);
        self
    }

    /// Declares no times of the parts.
    pub(crate) fn without_times(mut self) -> Self {
        for part in &mut self.manifest.parts {
            part.time = TimeRange::ALL;
        }
        self
    }
}

fn topic() -> Topic {
    Topic { encoding: String::new(), ..Topic::new("all", Arc::new(Schema::empty())) }
}

fn times(results: &[MockResult]) -> TimeRange {
    let mut time = TimeRange::EMPTY;
    for result in results {
        let MockResult::Block(records) = result else { continue };
        for (nanos, _) in records {
            let timestamp = Timestamp::from_nanos(*nanos);
            time = time.cover(&TimeRange::from_timestamp(timestamp));
        }
    }
    time
}

impl Log for MockLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        // The results of all joined parts.
        let indices =
            (part.bytes.start / 1000) as usize..(part.bytes.end / 1000) as usize;
        self.read.lock().unwrap().push(indices.start);
        Ok(Box::new(MockCursor {
            results: self.parts[indices].concat().into(),
            offset: part.bytes.start,
            selection: selection.clone(),
            filled: self.filled.clone(),
        }))
    }

    fn decoder(&self, _: TopicId, _: &Columns) -> Result<Box<dyn Decoder>> {
        let fields = vec![time_field("timestamp", "ns")];
        Ok(Box::new(TimeDecoder(Arc::new(Schema::new(fields)), Vec::new())))
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }
}

struct MockCursor {
    results: VecDeque<MockResult>,
    /// The file offset of the payloads of each block.
    offset: u64,
    selection: Selection,
    filled: Arc<AtomicUsize>,
}

impl Cursor for MockCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Some(result) = self.results.pop_front() else { return Ok(false) };
        self.filled.fetch_add(1, Ordering::Relaxed);
        match result {
            MockResult::Block(records) => {
                let bytes = records.iter().flat_map(|(_, payload)| payload.clone());
                block.reset(Bytes::from_iter(bytes), self.offset);
                let mut start = 0;
                for (time, payload) in records {
                    let (end, time) =
                        (start + payload.len(), Timestamp::from_nanos(time));
                    if self.selection.contains(TopicId(0), time) {
                        block.push(TopicId(0), time, start..end);
                    }
                    start = end;
                }
            }
            MockResult::Damage => {
                block.reset(Bytes::new(), self.offset);
                block.report(Damage::new(
                    DamageKind::Garbled,
                    self.offset..self.offset + 1,
                ));
            }
            MockResult::Error => {
                return Err(Error::new(ErrorKind::Io, "requested by the test"));
            }
            MockResult::Panic => panic!("requested by the test"),
        }
        Ok(true)
    }
}

/// A decoder of tables with a time column only.
struct TimeDecoder(SchemaRef, Vec<Timestamp>);

impl Decoder for TimeDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.0
    }

    fn append(&mut self, run: Run<'_>, _: &mut Vec<Damage>) {
        self.1.extend(run.times());
    }

    fn rows(&self) -> usize {
        self.1.len()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        let times: Vec<i64> = self.1.drain(..).map(Timestamp::as_nanos).collect();
        let times = TimestampNanosecondArray::from(times);
        Ok(RecordBatch::try_new(self.0.clone(), vec![Arc::new(times)]).unwrap())
    }
}

/// A source without bytes that records which bytes are released.
struct ReleaseRecorder(Arc<Mutex<Vec<Range<u64>>>>);

impl Source for ReleaseRecorder {
    fn len(&self) -> u64 {
        0
    }

    fn read_at(&self, _: Range<u64>) -> std::io::Result<Bytes> {
        Ok(Bytes::new())
    }

    fn release(&self, range: Range<u64>) {
        self.0.lock().unwrap().push(range);
    }
}
