//! Decodes rows into columns.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, FixedSizeListArray, RecordBatch,
    builder::{
        BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, UInt64Builder,
    },
};
use arrow_schema::{DataType, FieldRef, SchemaRef};
use logtool_core::{
    Columns, Damage, DamageKind, Decoder, Error, ErrorKind, Result, Run, TextEncoding,
    View, decode_text, time_array,
};

use crate::csv::{
    cell_type::{CellType, is_missing, parse_bool},
    columns::{self, TableColumn},
    first_pass::CsvState,
    row_parser::{ParsedRow, RowParser},
};

/// The maximum size of the rows of a batch in bytes. Decoding Latin-1 can double the size of
/// strings, and their total size must fit into an `i32`.
const MAX_BATCH_BYTES: usize = i32::MAX as usize / 3;

/// The size of pending rows in bytes from which on the batch is full.
const FULL_BATCH_BYTES: usize = 64 << 20;

/// Decodes rows into the selected columns.
pub(super) struct RowDecoder {
    schema: SchemaRef,
    parser: RowParser,
    times: Vec<i64>,
    columns: Vec<SelectedColumn>,
    cells: usize,
    bytes: usize,
}

struct SelectedColumn {
    field: FieldRef,
    parts: Vec<CellBuilder>,
}

/// The pending values of a column of the file.
struct CellBuilder {
    /// The index of the cells of this column in a row.
    cell: usize,
    values: Values,
}

enum Values {
    Bool(BooleanBuilder),
    Signed(Int64Builder),
    Unsigned(UInt64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
    /// The cells of a column that had no values when its type was determined.
    Missing(StringBuilder),
}

impl RowDecoder {
    /// Creates a decoder of the selected `columns`.
    ///
    /// # Errors
    /// `NoSuch` if a selected column does not exist.
    pub(super) fn new(state: &CsvState, columns: &Columns) -> Result<Self> {
        let table_columns = match columns.view {
            View::Nested => columns::nested_columns(&state.columns),
            View::Flat => columns::flat_columns(&state.columns),
        };
        let count = table_columns.len() + 1;
        let mut selected: Vec<TableColumn> = table_columns;
        if let Some(indices) = &columns.indices {
            if indices.iter().any(|index| *index >= count) {
                let message = format!("no such column: the table has {count} columns");
                return Err(Error::new(ErrorKind::NoSuch, message));
            }
            let mut index = 0;
            selected.retain(|_| {
                index += 1;
                indices.contains(&index)
            });
        }
        let selected = selected.into_iter().map(|column| {
            let parts = column.parts.iter().filter_map(|part| state.columns.get(*part));
            let parts = parts.map(|part| CellBuilder {
                cell: part.cell,
                values: Values::new(part.kind),
            });
            SelectedColumn { field: column.field, parts: parts.collect() }
        });
        let selected: Vec<SelectedColumn> = selected.collect();
        let fields = selected.iter().map(|column| column.field.clone());
        let schema = columns::with_time(fields);
        let parser = RowParser::new(state.delimiter);
        let (times, cells) = (Vec::new(), state.cells);
        Ok(Self { schema, parser, times, columns: selected, cells, bytes: 0 })
    }
}

impl Decoder for RowDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.records() {
            if self.bytes + record.payload.len() > MAX_BATCH_BYTES {
                let over_limit =
                    record.undecodable_damage().with_kind(DamageKind::OverLimit);
                over_limit.add_to(damage);
                continue;
            }
            let row = self.parser.parse(record.payload, true);
            if !matches!(row, ParsedRow::Row { .. })
                || self.parser.cells() != self.cells
            {
                record.undecodable_damage().add_to(damage);
                continue;
            }
            self.bytes += record.payload.len();
            self.times.push(record.time.as_nanos());
            // All cells, because the result must not depend on the selected columns.
            let encoding = if str::from_utf8(record.payload).is_ok() {
                TextEncoding::Utf8
            } else {
                let cells = (0..self.cells).filter_map(|cell| self.parser.cell(cell));
                cells.map(TextEncoding::detect).max().unwrap_or_default()
            };
            let mut is_type_mismatch = false;
            for part in self.columns.iter_mut().flat_map(|column| &mut column.parts) {
                let cell = self.parser.cell(part.cell).unwrap_or_default();
                is_type_mismatch |= !part.values.push(cell);
            }
            let mismatch = is_type_mismatch.then_some(DamageKind::TypeMismatch);
            for kind in encoding.damage_kind().into_iter().chain(mismatch) {
                record.undecodable_damage().with_kind(kind).add_to(damage);
            }
        }
    }

    fn rows(&self) -> usize {
        self.times.len()
    }

    fn is_full(&self) -> bool {
        self.bytes > FULL_BATCH_BYTES
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.bytes = 0;
        let mut arrays = vec![time_array(std::mem::take(&mut self.times))];
        for column in &mut self.columns {
            arrays.push(column.take()?);
        }
        RecordBatch::try_new(self.schema.clone(), arrays).map_err(inconsistent)
    }
}

impl SelectedColumn {
    fn take(&mut self) -> Result<ArrayRef> {
        let parts: Vec<ArrayRef> =
            self.parts.iter_mut().map(|part| part.values.take()).collect();
        let DataType::FixedSizeList(item, len) = self.field.data_type() else {
            let first = parts.into_iter().next();
            return first.ok_or_else(|| {
                Error::new(ErrorKind::Malformed, "a column without values")
            });
        };
        let rows = parts.first().map_or(0, |part| part.len());
        let values: Vec<_> = parts.iter().map(|part| &**part).collect();
        let order: Vec<(usize, usize)> = (0..rows)
            .flat_map(|row| (0..values.len()).map(move |part| (part, row)))
            .collect();
        let values = arrow_select::interleave::interleave(&values, &order);
        let values = values.map_err(inconsistent)?;
        let array = FixedSizeListArray::try_new(item.clone(), *len, values, None);
        Ok(Arc::new(array.map_err(inconsistent)?))
    }
}

impl Values {
    fn new(kind: CellType) -> Self {
        match kind {
            CellType::Bool => Self::Bool(BooleanBuilder::new()),
            CellType::Natural | CellType::Signed => Self::Signed(Int64Builder::new()),
            CellType::Unsigned => Self::Unsigned(UInt64Builder::new()),
            CellType::Float => Self::Float(Float64Builder::new()),
            CellType::Empty => Self::Missing(StringBuilder::new()),
            CellType::Text => Self::Text(StringBuilder::new()),
        }
    }

    /// Appends the value of `cell`. A missing cell is null. A cell that does not have the type of
    /// the column is also null; in this case, returns `false`.
    fn push(&mut self, cell: &[u8]) -> bool {
        let is_missing = match self {
            Self::Text(_) => cell.is_empty(),
            _ => is_missing(cell),
        };
        if let Self::Text(builder) | Self::Missing(builder) = self {
            builder.append_option((!is_missing).then(|| decode_text(cell)));
            return true;
        }
        let text = str::from_utf8(cell).map(str::trim).ok().filter(|_| !is_missing);
        macro_rules! push {
            ($builder:expr, $value:expr) => {{
                let value = $value;
                $builder.append_option(value);
                is_missing || value.is_some()
            }};
        }
        match self {
            Self::Bool(builder) => push!(builder, text.and_then(parse_bool)),
            Self::Signed(builder) => {
                push!(builder, text.and_then(|text| text.parse().ok()))
            }
            Self::Unsigned(builder) => {
                push!(builder, text.and_then(|text| text.parse().ok()))
            }
            Self::Float(builder) => {
                push!(builder, text.and_then(|text| text.parse().ok()))
            }
            Self::Text(_) | Self::Missing(_) => true,
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Self::Bool(builder) => Arc::new(builder.finish()),
            Self::Signed(builder) => Arc::new(builder.finish()),
            Self::Unsigned(builder) => Arc::new(builder.finish()),
            Self::Float(builder) => Arc::new(builder.finish()),
            Self::Text(builder) | Self::Missing(builder) => Arc::new(builder.finish()),
        }
    }
}

fn inconsistent(err: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Malformed, "inconsistent columns").with_source(err)
}
