//! A log in memory with records of 13 bytes:
//!
//! ```text
//! topic u8 │ time i64, in ns │ payload of 4 bytes
//! ```

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;

use crate::{
    decode::columns::LayoutDecoder,
    error::Result,
    io::source::Source,
    log::{Columns, Cursor, Decoder, Log},
    model::{
        damage::{Damage, DamageKind},
        layout::{FieldRole, Layout, LayoutField, LayoutKind, Primitive},
        manifest::{Manifest, Part, Selection},
        open_options::OpenOptions,
        time::{TimeRange, Timestamp},
        topic::{Topic, TopicId},
    },
    record::{
        block::Block,
        record_scanner::{RecordScanner, ScanStep},
    },
};

const RECORD_BYTES: usize = 13;

/// `a`: `i32 value`.
pub(super) const A: TopicId = TopicId(0);
/// `b.1`: `i16 x; char[2] tag`.
pub(super) const B: TopicId = TopicId(1);
/// `c`: `u8 wide[5]`, for which a payload is one byte too short.
pub(super) const C: TopicId = TopicId(2);

/// A record in a test: topic, time, payload.
pub(super) type Row = (TopicId, i64, [u8; 4]);

pub(super) fn a(time: i64, value: i32) -> Row {
    (A, time, value.to_le_bytes())
}

pub(super) fn b(time: i64, x: i16, tag: &[u8; 2]) -> Row {
    let [low, high] = x.to_le_bytes();
    (B, time, [low, high, tag[0], tag[1]])
}

pub(super) fn range(start: i64, end: i64) -> TimeRange {
    let [start, end] = [start, end].map(Timestamp::from_nanos);
    TimeRange { start, end }
}

pub(super) struct ToyLog {
    manifest: Manifest,
    source: Arc<dyn Source>,
    layouts: Arc<Vec<Layout>>,
    /// The number of parts that were read.
    pub(super) reads: AtomicUsize,
}

impl ToyLog {
    /// Creates a log of `rows` with `part_records` records in each part. Times outside of
    /// `plausible_times` are implausible.
    pub(super) fn new(
        rows: &[Row],
        part_records: usize,
        plausible_times: Option<TimeRange>,
    ) -> Self {
        let mut bytes = Vec::new();
        for (topic, time, payload) in rows {
            bytes.push(topic.0 as u8);
            bytes.extend(time.to_le_bytes());
            bytes.extend(payload);
        }
        let mut parts = Vec::new();
        for (index, rows) in rows.chunks(part_records).enumerate() {
            let start = (index * part_records * RECORD_BYTES) as u64;
            let times = rows
                .iter()
                .map(|row| TimeRange::from_timestamp(Timestamp::from_nanos(row.1)));
            parts.push(Part {
                bytes: start..start + (rows.len() * RECORD_BYTES) as u64,
                topics: rows.iter().map(|row| row.0).collect(),
                time: times.fold(TimeRange::EMPTY, |range, time| range.cover(&time)),
            });
        }
        let layouts = layouts();
        let decoder = |layout| LayoutDecoder::new(layout, &Columns::default()).unwrap();
        let topics = layouts.iter().zip([0, 1, 0]).map(|(layout, instance)| Topic {
            instance,
            encoding: "toy".into(),
            type_name: layout.name.clone(),
            ..Topic::new(layout.name.clone(), decoder(layout).schema().clone())
        });
        let manifest = Manifest {
            bytes: bytes.len() as u64,
            topics: topics.collect(),
            parts,
            time_margins: BTreeMap::new(),
            oldest: None,
            time: plausible_times,
            ..Manifest::default()
        };
        let source = Arc::new(Bytes::from(bytes));
        let layouts = Arc::new(layouts);
        Self { manifest, source, layouts, reads: AtomicUsize::new(0) }
    }
}

fn layouts() -> Vec<Layout> {
    let field = |name: &str, primitive, count| LayoutField {
        name: name.into(),
        kind: LayoutKind::Primitive(primitive),
        count,
        offset: 0,
        role: FieldRole::Plain,
    };
    let layout = |name: &str, fields| Layout::from_fields(name.into(), fields).unwrap();
    let tag = field("tag", Primitive::Char, Some(2));
    vec![
        layout("a", vec![field("value", Primitive::I32, None)]),
        layout("b", vec![field("x", Primitive::I16, None), tag]),
        layout("c", vec![field("wide", Primitive::U8, Some(5))]),
    ]
}

impl Log for ToyLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        // Three records per block.
        let options = OpenOptions { block_bytes: 40, ..OpenOptions::default() };
        let scanner =
            RecordScanner::new(self.source.clone(), part.bytes.clone(), options);
        let topics = self.layouts.len();
        Ok(Box::new(ToyCursor { scanner, selection: selection.clone(), topics }))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        let decoder = LayoutDecoder::new(&self.layouts[topic.index()], columns)?;
        Ok(Box::new(decoder))
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }
}

struct ToyCursor {
    scanner: RecordScanner,
    selection: Selection,
    topics: usize,
}

impl Cursor for ToyCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Self { scanner, selection, topics } = self;
        let base = scanner.position();
        scanner.fill(block, |block, bytes, offset| {
            let Some(record) = bytes.get(offset..offset + RECORD_BYTES) else {
                return ScanStep::Partial { len: RECORD_BYTES };
            };
            let topic = TopicId(u32::from(record[0]));
            if topic.index() >= *topics {
                let start = base + offset as u64;
                let bytes = start..start + RECORD_BYTES as u64;
                let damage = Damage::new(DamageKind::Garbled, bytes);
                let damage = Box::new(damage);
                return ScanStep::Damaged { len: RECORD_BYTES as u64, damage };
            }
            let nanos = i64::from_le_bytes(record[1..9].try_into().unwrap());
            let time = Timestamp::from_nanos(nanos);
            if selection.contains(topic, time) {
                block.push(topic, time, offset + 9..offset + RECORD_BYTES);
            }
            ScanStep::Whole { len: RECORD_BYTES }
        })
    }
}
