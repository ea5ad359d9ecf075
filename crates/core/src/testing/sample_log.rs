//! A log with given records and a decoder, for tests.

use std::sync::{Arc, Mutex};

use arrow_array::{RecordBatch, TimestampNanosecondArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;

use crate::{
    error::Result,
    io::source::Source,
    log::{Columns, Cursor, Decoder, Log},
    model::{
        damage::Damage,
        manifest::{Manifest, Part, Selection},
        time::{TimeRange, Timestamp},
        topic::{Topic, TopicId, TopicSet},
    },
    record::block::{Block, Record, Run},
    sink::RecordSink,
};

/// A record: topic, stream, time, payload.
pub(crate) type SampleRecord = (u32, u32, i64, &'static [u8]);

/// A log with two topics, of which the second has the latched streams 0 and 1. The bytes
/// of part `p` are `p * 1000..(p + 1) * 1000`. A payload of less than 4 bytes cannot be
/// decoded.
pub(crate) struct Sample {
    pub(crate) manifest: Manifest,
    parts: Vec<(Vec<SampleRecord>, Vec<Damage>)>,
    source: Arc<dyn Source>,
}

impl Sample {
    pub(crate) fn new(parts: &[&[SampleRecord]]) -> Self {
        let part = |(index, records): (u64, &&[SampleRecord])| Part {
            bytes: index * 1000..(index + 1) * 1000,
            topics: records
                .iter()
                .map(|record| TopicId(record.0))
                .collect::<TopicSet>(),
            time: records.iter().fold(TimeRange::EMPTY, |range, record| {
                range.cover(&TimeRange::from_timestamp(Timestamp::from_nanos(record.2)))
            }),
        };
        let record_count = |topic: u32| {
            let records = parts.iter().flat_map(|part| part.iter());
            records.filter(|record| record.0 == topic).count()
        };
        let topic = |(id, name): (u32, &str)| Topic {
            encoding: String::new(),
            records: Some(record_count(id) as u64),
            latched: if id == 1 { vec![0, 1] } else { vec![] },
            metadata: Default::default(),
            ..Topic::new(name, schema())
        };
        let manifest = Manifest {
            bytes: parts.len() as u64 * 1000,
            topics: (0..).zip(["a", "b"]).map(topic).collect(),
            parts: (0..).zip(parts).map(part).collect(),
            ..Manifest::default()
        };
        let parts = parts.iter().map(|part| (part.to_vec(), vec![])).collect();
        Self { manifest, parts, source: Arc::new(Bytes::new()) }
    }

    /// Adds damage to the part with this `index`.
    pub(crate) fn with_damage(mut self, index: usize, damage: Damage) -> Self {
        self.parts[index].1.push(damage);
        self
    }
}

fn schema() -> SchemaRef {
    let time = DataType::Timestamp(TimeUnit::Nanosecond, None);
    let field = |name, data_type: &DataType| Field::new(name, data_type.clone(), true);
    Arc::new(Schema::new(vec![
        field("time", &time),
        field("stamp", &time),
        field("number", &DataType::UInt32),
    ]))
}

impl Log for Sample {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let first = (part.bytes.start / 1000) as usize;
        let end = (part.bytes.end / 1000) as usize;
        let parts = &self.parts[first..end];
        let is_selected = |record: &&SampleRecord| {
            selection.contains(TopicId(record.0), Timestamp::from_nanos(record.2))
        };
        let records = parts
            .iter()
            .flat_map(|(records, _)| records)
            .filter(is_selected)
            .copied()
            .collect();
        let damage = parts.iter().flat_map(|part| part.1.clone()).collect();
        Ok(Box::new(SampleCursor(Some((records, damage)), part.bytes.start)))
    }

    fn decoder(&self, _: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        let mut indices = columns.indices.clone().unwrap_or_else(|| vec![1, 2]);
        indices.insert(0, 0);
        indices.dedup();
        let schema = Arc::new(schema().project(&indices).unwrap());
        Ok(Box::new(SampleDecoder { schema, indices, rows: vec![] }))
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }
}

struct SampleCursor(Option<(Vec<SampleRecord>, Vec<Damage>)>, u64);

impl Cursor for SampleCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Some((records, damage)) = self.0.take() else { return Ok(false) };
        let bytes: Vec<u8> = records.iter().flat_map(|r| r.3).copied().collect();
        block.reset(bytes.into(), self.1);
        let mut start = 0;
        for (topic, stream, time, payload) in records {
            let range = start..start + payload.len();
            start = range.end;
            let time = Timestamp::from_nanos(time);
            block.push_from_stream(TopicId(topic), stream, time, range);
        }
        damage.into_iter().for_each(|damage| block.report(damage));
        Ok(true)
    }
}

/// A decoder of the first four bytes as a number and as a timestamp.
struct SampleDecoder {
    schema: SchemaRef,
    indices: Vec<usize>,
    rows: Vec<(i64, u32)>,
}

impl Decoder for SampleDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.records() {
            match record.payload.first_chunk() {
                Some(bytes) => {
                    let number = u32::from_le_bytes(*bytes);
                    self.rows.push((record.time.as_nanos(), number));
                }
                None => damage.push(record.undecodable_damage()),
            }
        }
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        let time: TimestampNanosecondArray =
            rows.iter().map(|row| Some(row.0)).collect();
        let stamp: TimestampNanosecondArray =
            rows.iter().map(|row| Some(i64::from(row.1))).collect();
        let number: UInt32Array = rows.iter().map(|row| row.1).collect();
        let columns =
            vec![Arc::new(time) as _, Arc::new(stamp) as _, Arc::new(number) as _];
        let batch = RecordBatch::try_new(schema(), columns).unwrap();
        Ok(batch.project(&self.indices).unwrap())
    }
}

/// The slice, topic, stream, time and payload of a record.
type CollectedRecord = (usize, u32, u32, i64, Vec<u8>);

/// A sink that collects the records. It copies parts verbatim if `copies_parts` is set.
#[derive(Clone, Default)]
pub(crate) struct RecordCollector {
    pub(crate) copies_parts: bool,
    pub(crate) records: Arc<Mutex<Vec<CollectedRecord>>>,
    /// The starts of the parts that were copied verbatim.
    pub(crate) parts: Arc<Mutex<Vec<u64>>>,
}

impl RecordCollector {
    /// Returns the times of the records, each with the index of its slice.
    pub(crate) fn times(&self) -> Vec<(usize, i64)> {
        self.records.lock().unwrap().iter().map(|r| (r.0, r.3)).collect()
    }
}

impl RecordSink for RecordCollector {
    fn write(&mut self, slice_index: usize, record: Record<'_>) -> Result<()> {
        let Record { topic, stream, time, payload, .. } = record;
        let record = (slice_index, topic.0, stream, time.as_nanos(), payload.to_vec());
        self.records.lock().unwrap().push(record);
        Ok(())
    }

    fn copies_parts(&self, _: usize) -> bool {
        true
    }

    fn copy_part_verbatim(
        &mut self,
        _: usize,
        part: &Part,
        _: &dyn Source,
    ) -> Result<Option<u64>> {
        if self.copies_parts {
            self.parts.lock().unwrap().push(part.bytes.start);
        }
        Ok(self.copies_parts.then_some(100))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
