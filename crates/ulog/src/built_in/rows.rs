//! Decoding messages row by row: they are few, and made of text.

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
    TopicSet, time_array, time_field,
};

use crate::{built_in::EventLayout, events::Catalog};

/// How many bytes of text wait in a decoder; further rows are damage until they are
/// taken. Definitions of events could make gigabytes of a few records.
const MAX_TEXT: usize = 256 << 20;

/// What it takes to put events into words.
#[derive(Clone)]
pub(crate) struct Words {
    /// What events mean, if the log says so.
    pub(crate) catalog: Option<Arc<Catalog>>,
    /// How the records of each message id that are events look.
    pub(crate) layouts: Arc<HashMap<u16, EventLayout>>,
    /// The topics whose records are events.
    pub(crate) topics: TopicSet,
}

impl Default for Words {
    fn default() -> Self {
        Self { catalog: None, layouts: Arc::default(), topics: TopicSet::EMPTY }
    }
}

/// What a row is made with: takes a record, gives a value for each column, or nothing
/// where the record is none.
pub(super) type Read = Box<dyn FnMut(&Record<'_>, &mut Row<'_>) -> Option<()> + Send>;

/// The columns of a topic, and how to read a row of them.
pub(super) struct Rows {
    pub(super) schema: SchemaRef,
    pub(super) read: Read,
}

/// A value of a row.
pub(super) enum Cell<'c> {
    Null,
    UInt(u32),
    Int(i32),
    Float(f32),
    Text(&'c str),
}

/// The columns of one row, to be filled one after the other.
pub(super) struct Row<'r> {
    columns: &'r mut [Column],
    next: usize,
    /// How many bytes of text were put.
    text: usize,
}

impl Row<'_> {
    /// Fills the next column.
    pub(super) fn put(&mut self, cell: Cell<'_>) {
        if let Cell::Text(text) = cell {
            self.text += text.len();
        }
        if let Some(column) = self.columns.get_mut(self.next) {
            column.put(cell);
        }
        self.next += 1;
    }

    /// Fills the next column with a text that may not be there.
    pub(super) fn text(&mut self, text: Option<&str>) {
        self.put(text.map_or(Cell::Null, Cell::Text));
    }
}

/// A schema of these columns, after the time.
pub(super) fn schema(columns: &[(&str, DataType)]) -> SchemaRef {
    let mut fields = vec![time_field("timestamp", "us")];
    let field = |(name, data_type): &(&str, DataType)| {
        Field::new(*name, data_type.clone(), true)
    };
    fields.extend(columns.iter().map(field));
    Arc::new(Schema::new(fields))
}

/// A decoder of `rows` into `columns`.
pub(super) fn decoder(rows: Rows, columns: &Columns) -> Result<Box<dyn Decoder>> {
    let count = rows.schema.fields().len();
    let keep: Vec<usize> = match &columns.only {
        None => (0..count).collect(),
        Some(only) => {
            (0..count).filter(|index| *index == 0 || only.contains(index)).collect()
        }
    };
    let beyond = columns.only.iter().flatten().find(|index| **index >= count);
    if let Some(index) = beyond {
        return Err(Error::new(
            ErrorKind::NoSuch,
            format!("there is no column number {index}"),
        ));
    }
    let odd = |err| Error::new(ErrorKind::NoSuch, "a column").from_source(err);
    let schema = Arc::new(rows.schema.project(&keep).map_err(odd)?);
    let columns =
        rows.schema.fields().iter().skip(1).map(|f| Column::new(f.data_type()));
    let columns = columns.collect();
    Ok(Box::new(RowDecoder {
        read: rows.read,
        schema,
        keep,
        times: Vec::new(),
        columns,
        text: 0,
    }))
}

struct RowDecoder {
    read: Read,
    schema: SchemaRef,
    keep: Vec<usize>,
    times: Vec<i64>,
    columns: Vec<Column>,
    /// How many bytes of text wait.
    text: usize,
}

impl Decoder for RowDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.records() {
            if self.text > MAX_TEXT {
                record.undecodable().with_kind(DamageKind::OverLimit).add_to(damage);
                continue;
            }
            let mut row = Row { columns: &mut self.columns, next: 0, text: 0 };
            let is_read = (self.read)(&record, &mut row).is_some();
            self.text += row.text;
            match is_read {
                true => self.times.push(record.time.as_nanos()),
                false => record.undecodable().add_to(damage),
            }
        }
    }

    fn rows(&self) -> usize {
        self.times.len()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.text = 0;
        let mut all = vec![time_array(std::mem::take(&mut self.times))];
        all.extend(self.columns.iter_mut().map(Column::take));
        let kept =
            self.keep.iter().filter_map(|index| all.get(*index).cloned()).collect();
        RecordBatch::try_new(self.schema.clone(), kept).map_err(|err| {
            Error::new(ErrorKind::Malformed, "columns that are no table")
                .from_source(err)
        })
    }
}

/// A column under construction.
enum Column {
    U16(UInt16Builder),
    U32(UInt32Builder),
    I32(Int32Builder),
    F32(Float32Builder),
    Text(StringBuilder),
}

impl Column {
    fn new(data_type: &DataType) -> Self {
        match data_type {
            DataType::UInt16 => Self::U16(UInt16Builder::new()),
            DataType::UInt32 => Self::U32(UInt32Builder::new()),
            DataType::Int32 => Self::I32(Int32Builder::new()),
            DataType::Float32 => Self::F32(Float32Builder::new()),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    fn put(&mut self, cell: Cell<'_>) {
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
