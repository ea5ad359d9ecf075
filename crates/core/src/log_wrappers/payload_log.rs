//! Tables with the payloads of records that cannot be decoded.
//!
//! The topics with such records are known only after the whole log was decoded once. Then
//! the tables of those topics are created again from a [`PayloadLog`].

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, mem,
    ops::Range,
    sync::Arc,
};

use arrow_array::{
    Array as _, ArrayRef, RecordBatch, UInt64Array, builder::BinaryBuilder,
    cast::AsArray as _, types::TimestampNanosecondType,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;

use crate::{
    decode::{
        columns::{into_error, time_array},
        raw_decoder,
    },
    error::Result,
    io::source::Source,
    log::{Columns, Cursor, Decoder, Inspection, Log, RowGroup, no_excerpts_error},
    model::{
        damage::Damage,
        excerpt::Excerpt,
        finding::Findings,
        layout::Layout,
        manifest::{Manifest, Part, Selection},
        time::{TimeRange, Timestamp},
        topic::{Topic, TopicId, TopicOrigin},
        value::Value,
    },
    record::block::Run,
};

/// A log in which some topics have an additional column `payload` with the bytes of
/// records that cannot be decoded. Each such record is one row, in which all other
/// columns except the time are null.
pub struct PayloadLog {
    log: Box<dyn Log>,
    manifest: Manifest,
    topics: BTreeSet<TopicId>,
}

impl PayloadLog {
    /// Returns the logged topics for which `damage` contains records that a decoder could not
    /// decode.
    pub fn undecodable_topics(
        manifest: &Manifest,
        damage: &[Damage],
    ) -> BTreeSet<TopicId> {
        let is_logged = |id: &TopicId| {
            manifest.topic(*id).is_ok_and(|topic| topic.origin == TopicOrigin::Logged)
        };
        let undecodable = damage.iter().filter(|damage| damage.kind.keeps_payload());
        undecodable.filter_map(|damage| damage.topic).filter(is_logged).collect()
    }

    /// Returns whether the table of `topic` can have a payload column: whether its records are
    /// in the file, and are decoded.
    pub fn can_have_payloads(topic: &Topic) -> bool {
        topic.origin == TopicOrigin::Logged && !raw_decoder::is_raw(&topic.schema)
    }

    /// Returns `log` with a payload column in the tables of `topics`.
    pub fn new(log: Box<dyn Log>, topics: BTreeSet<TopicId>) -> Self {
        let mut manifest = log.manifest().clone();
        for (id, topic) in (0..).map(TopicId).zip(&mut manifest.topics) {
            if topics.contains(&id) {
                topic.schema = with_payload(&topic.schema, &topic.schema);
            }
        }
        Self { log, manifest, topics }
    }
}

/// Returns the columns of `schema`, a selection from `full_schema`, with a payload column at
/// the end.
fn with_payload(schema: &SchemaRef, full_schema: &SchemaRef) -> SchemaRef {
    let mut name = "payload".to_owned();
    while full_schema
        .fields()
        .iter()
        .any(|field| field.name().eq_ignore_ascii_case(&name))
    {
        name.push('_');
    }
    let mut fields = Vec::with_capacity(schema.fields().len() + 1);
    for (index, field) in schema.fields().iter().enumerate() {
        let is_time = index == 0;
        fields.push(if is_time {
            field.clone()
        } else {
            Arc::new(Field::clone(field).with_nullable(true))
        });
    }
    fields.push(Arc::new(Field::new(name, DataType::Binary, true)));
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

#[deny(clippy::missing_trait_methods)]
impl Log for PayloadLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        self.log.read(part, selection)
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        if !self.topics.contains(&topic) {
            return self.log.decoder(topic, columns);
        }
        let all_columns = Columns { indices: None, labels: None, ..columns.clone() };
        let full_schema = self.log.decoder(topic, &all_columns)?.schema().clone();
        // The payload column has the index after the last column of the other decoder.
        let is_decoded = |index: &usize| *index < full_schema.fields().len();
        let indices = columns
            .indices
            .as_ref()
            .map(|indices| indices.iter().copied().filter(is_decoded).collect());
        let decoder =
            self.log.decoder(topic, &Columns { indices, ..columns.clone() })?;
        Ok(Box::new(PayloadDecoder {
            schema: with_payload(decoder.schema(), &full_schema),
            decoder,
            header_len: self.manifest.topic(topic)?.header_len as usize,
            rows: Vec::new(),
            payloads: BinaryBuilder::new(),
        }))
    }

    fn payload_layout(&self, topic: TopicId) -> Option<Arc<Layout>> {
        self.log.payload_layout(topic)
    }

    fn excerpt(&self, _: &Selection, _: &[Part]) -> Result<Excerpt> {
        Err(no_excerpts_error())
    }

    fn source(&self) -> &Arc<dyn Source> {
        self.log.source()
    }

    fn times(
        &self,
        part: &Part,
        times: &mut Vec<(TopicId, Timestamp)>,
    ) -> Result<bool> {
        self.log.times(part, times)
    }

    fn part_times(&self) -> Vec<TimeRange> {
        self.log.part_times()
    }

    fn row_groups(
        &self,
        topic: TopicId,
        time: TimeRange,
    ) -> Result<Option<Vec<RowGroup>>> {
        self.log.row_groups(topic, time)
    }

    fn file_structure(&self) -> Result<BTreeMap<String, Value>> {
        self.log.file_structure()
    }

    fn check(&self, findings: &mut Findings) -> Result<()> {
        self.log.check(findings)
    }

    fn inspect(&self, findings: &mut Findings) -> Result<Option<Box<dyn Inspection>>> {
        self.log.inspect(findings)
    }
}

/// A decoder that adds a row for each record that another decoder cannot decode.
struct PayloadDecoder {
    decoder: Box<dyn Decoder>,
    schema: SchemaRef,
    header_len: usize,
    rows: Vec<PendingRow>,
    payloads: BinaryBuilder,
}

/// A pending row.
enum PendingRow {
    /// The row with this index of the other decoder.
    Decoded(u64),
    /// The payload of a record with this time.
    Payload(Timestamp),
}

impl PayloadDecoder {
    /// Adds the rows of the run `record` of a single record: the rows `decoded_rows` of the
    /// other decoder, and a row with the payload if the record is undecodable.
    fn add_rows(
        &mut self,
        record: Run<'_>,
        decoded_rows: Range<usize>,
        is_undecodable: bool,
    ) {
        for row in decoded_rows {
            self.rows.push(PendingRow::Decoded(row as u64));
            self.payloads.append_null();
        }
        if is_undecodable {
            for record in record.records() {
                self.rows.push(PendingRow::Payload(record.time));
                let payload = record.payload.get(self.header_len..).unwrap_or_default();
                self.payloads.append_value(payload);
            }
        }
    }
}

impl Decoder for PayloadDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.single_record_runs() {
            let first_row = self.decoder.rows();
            let mut record_damage = Vec::new();
            self.decoder.append(record, &mut record_damage);
            let is_undecodable =
                record_damage.iter().any(|damage| damage.kind.keeps_payload());
            self.add_rows(record, first_row..self.decoder.rows(), is_undecodable);
            record_damage.into_iter().for_each(|entry| entry.add_to(damage));
        }
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn is_full(&self) -> bool {
        self.decoder.is_full()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        let decoded = self.decoder.take()?;
        let rows = mem::take(&mut self.rows);
        let times = decoded.column(0).as_primitive_opt::<TimestampNanosecondType>();
        let time_of = |row: &PendingRow| match row {
            PendingRow::Payload(time) => time.as_nanos(),
            PendingRow::Decoded(row) => {
                let row = *row as usize;
                let time = times.filter(|times| times.is_valid(row));
                time.map_or(Timestamp::MAX.as_nanos(), |times| times.value(row))
            }
        };
        let mut columns = vec![time_array(rows.iter().map(time_of).collect())];
        let indices: UInt64Array = rows
            .iter()
            .map(|row| match row {
                PendingRow::Decoded(row) => Some(*row),
                PendingRow::Payload(_) => None,
            })
            .collect();
        for column in decoded.columns().iter().skip(1) {
            let column: ArrayRef = match indices.null_count() {
                0 => column.clone(),
                _ => take(column, &indices, None).map_err(into_error)?,
            };
            columns.push(column);
        }
        columns.push(Arc::new(self.payloads.finish()));
        RecordBatch::try_new(self.schema.clone(), columns).map_err(into_error)
    }
}

impl fmt::Debug for PayloadLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PayloadLog")
            .field("topics", &self.topics)
            .finish_non_exhaustive()
    }
}
