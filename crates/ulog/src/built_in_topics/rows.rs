//! A decoder that works row by row, for topics with few records that consist of text.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{
        Float32Builder, Int32Builder, StringBuilder, UInt16Builder, UInt32Builder,
    },
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use logtool_core::{
    Columns, Damage, DamageKind, Decoder, Error, ErrorKind, Record, Result, Run,
    TextEncoding, TopicSet, decode_text, time_array, time_field,
};

use crate::{built_in_topics::EventLayout, events::Catalog};

/// The maximum number of bytes of text in one batch. Rows after that are damage until
/// the batch is taken. Without a limit, event definitions could turn a few records into
/// gigabytes.
const MAX_TEXT: usize = 256 << 20;

/// Everything needed to decode events.
#[derive(Clone)]
pub(crate) struct EventReader {
    /// The definitions of the events in the log, followed by those that the caller supplies.
    pub(crate) catalogs: Vec<Arc<Catalog>>,
    /// The layout of event records, by message id.
    pub(crate) layouts: Arc<HashMap<u16, EventLayout>>,
    /// The topics that hold event records.
    pub(crate) topics: TopicSet,
}

impl Default for EventReader {
    fn default() -> Self {
        Self { catalogs: Vec::new(), layouts: Arc::default(), topics: TopicSet::EMPTY }
    }
}

/// Reads a record into a row, one value for each column. Returns `None` if the record
/// cannot be decoded.
pub(super) type ReadRow =
    Box<dyn FnMut(&Record<'_>, &mut RowBuilder<'_>) -> Option<()> + Send>;

/// The columns of a topic, and the function that reads a row.
pub(super) struct RowSchema {
    pub(super) schema: SchemaRef,
    pub(super) read: ReadRow,
}

/// A value of a row.
pub(super) enum Cell<'c> {
    Null,
    UInt(u32),
    Int(i32),
    Float(f32),
    Text(&'c str),
}

/// The columns of one row, filled from left to right.
pub(super) struct RowBuilder<'r> {
    columns: &'r mut [ColumnBuilder],
    next: usize,
    /// The number of bytes of text in the row.
    text: usize,
    /// The encoding of the texts from the log: that with the largest defect.
    encoding: TextEncoding,
}

impl RowBuilder<'_> {
    /// Fills the next column with a string of the log, which ends before `end`.
    pub(super) fn push_logged_text(&mut self, bytes: &[u8], end: &[char]) {
        self.encoding = self.encoding.max(TextEncoding::detect(bytes));
        self.push(Cell::Text(decode_text(bytes).trim_end_matches(end)));
    }

    /// Fills the next column.
    pub(super) fn push(&mut self, cell: Cell<'_>) {
        if let Cell::Text(text) = cell {
            self.text += text.len();
        }
        if let Some(column) = self.columns.get_mut(self.next) {
            column.push(cell);
        }
        self.next += 1;
    }

    /// Fills the next column with a string, or with null.
    pub(super) fn push_text(&mut self, text: Option<&str>) {
        self.push(text.map_or(Cell::Null, Cell::Text));
    }
}

/// Returns a schema with a time column followed by `columns`.
pub(super) fn schema(columns: &[(&str, DataType)]) -> SchemaRef {
    let mut fields = vec![time_field("timestamp", "us")];
    let field = |(name, data_type): &(&str, DataType)| {
        Field::new(*name, data_type.clone(), true)
    };
    fields.extend(columns.iter().map(field));
    Arc::new(Schema::new(fields))
}

/// Returns a decoder for `rows` that outputs the selected `columns`.
pub(super) fn decoder(rows: RowSchema, columns: &Columns) -> Result<Box<dyn Decoder>> {
    let count = rows.schema.fields().len();
    let selected_indices: Vec<usize> = match &columns.indices {
        None => (0..count).collect(),
        Some(indices) => {
            (0..count).filter(|index| *index == 0 || indices.contains(index)).collect()
        }
    };
    let missing = columns.indices.iter().flatten().find(|index| **index >= count);
    if let Some(index) = missing {
        return Err(Error::new(
            ErrorKind::NoSuch,
            format!("there is no column {index}"),
        ));
    }
    let invalid = |err| {
        Error::new(ErrorKind::NoSuch, "a column cannot be selected").with_source(err)
    };
    let schema = Arc::new(rows.schema.project(&selected_indices).map_err(invalid)?);
    let data_fields = rows.schema.fields().iter().skip(1);
    let columns =
        data_fields.map(|field| ColumnBuilder::new(field.data_type())).collect();
    Ok(Box::new(RowDecoder {
        read: rows.read,
        schema,
        selected_indices,
        times: Vec::new(),
        columns,
        text: 0,
    }))
}

struct RowDecoder {
    read: ReadRow,
    schema: SchemaRef,
    selected_indices: Vec<usize>,
    times: Vec<i64>,
    columns: Vec<ColumnBuilder>,
    /// The number of bytes of text in the current batch.
    text: usize,
}

impl Decoder for RowDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.records() {
            if self.text > MAX_TEXT {
                record
                    .undecodable_damage()
                    .with_kind(DamageKind::OverLimit)
                    .add_to(damage);
                continue;
            }
            let columns = &mut self.columns;
            let encoding = TextEncoding::default();
            let mut row = RowBuilder { columns, next: 0, text: 0, encoding };
            let is_decoded = (self.read)(&record, &mut row).is_some();
            self.text += row.text;
            if is_decoded {
                self.times.push(record.time.as_nanos());
                if let Some(kind) = row.encoding.damage_kind() {
                    record.undecodable_damage().with_kind(kind).add_to(damage);
                }
            } else {
                record.undecodable_damage().add_to(damage);
            }
        }
    }

    fn rows(&self) -> usize {
        self.times.len()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.text = 0;
        let mut all = vec![time_array(std::mem::take(&mut self.times))];
        all.extend(self.columns.iter_mut().map(ColumnBuilder::take));
        let selected = self
            .selected_indices
            .iter()
            .filter_map(|index| all.get(*index).cloned())
            .collect();
        RecordBatch::try_new(self.schema.clone(), selected).map_err(|err| {
            Error::new(ErrorKind::Malformed, "inconsistent columns").with_source(err)
        })
    }
}

/// A column under construction.
enum ColumnBuilder {
    U16(UInt16Builder),
    U32(UInt32Builder),
    I32(Int32Builder),
    F32(Float32Builder),
    Text(StringBuilder),
}

impl ColumnBuilder {
    fn new(data_type: &DataType) -> Self {
        match data_type {
            DataType::UInt16 => Self::U16(UInt16Builder::new()),
            DataType::UInt32 => Self::U32(UInt32Builder::new()),
            DataType::Int32 => Self::I32(Int32Builder::new()),
            DataType::Float32 => Self::F32(Float32Builder::new()),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::U16(column), Cell::UInt(value)) => {
                column.append_option(u16::try_from(value).ok());
            }
            (Self::U32(column), Cell::UInt(value)) => column.append_value(value),
            (Self::I32(column), Cell::Int(value)) => column.append_value(value),
            (Self::F32(column), Cell::Float(value)) => column.append_value(value),
            (Self::Text(column), Cell::Text(text)) => column.append_value(text),
            (Self::U16(column), _) => column.append_null(),
            (Self::U32(column), _) => column.append_null(),
            (Self::I32(column), _) => column.append_null(),
            (Self::F32(column), _) => column.append_null(),
            (Self::Text(column), _) => column.append_null(),
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Self::U16(column) => Arc::new(column.finish()),
            Self::U32(column) => Arc::new(column.finish()),
            Self::I32(column) => Arc::new(column.finish()),
            Self::F32(column) => Arc::new(column.finish()),
            Self::Text(column) => Arc::new(column.finish()),
        }
    }
}
