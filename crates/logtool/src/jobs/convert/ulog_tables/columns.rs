//! The columns of a table as the fields of a ULog format, and the bytes of their values.
//!
//! Nested fields become names such as `header_frame_id`. Lists of numbers that have one length are
//! arrays; others are arrays of the longest one, filled with zeros, after a field with the number of
//! elements. Strings are arrays of characters, filled with zeros.

use arrow_array::{
    Array, ArrayRef, RecordBatch,
    cast::AsArray as _,
    types::{
        DurationNanosecondType, Float32Type, Float64Type, Int8Type, Int16Type,
        Int32Type, Int64Type, TimestampNanosecondType, UInt8Type, UInt16Type,
        UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, FieldRef, Schema, TimeUnit};

use crate::{
    error::{Error, Result},
    jobs::convert::ulog_tables::{Counts, names::UniqueNames},
    records::message_text,
};

/// The maximum length of a string in bytes, and of a list in elements.
const MAX_LEN: usize = 4_096;

/// The maximum number of structs in an array that becomes fields.
const MAX_STRUCTS: usize = 64;

/// The maximum length of a record: a message has 65,535 bytes, 2 of them for the topic.
const MAX_RECORD_BYTES: usize = u16::MAX as usize - 2;

/// The fields of a table.
pub(super) struct TableColumns {
    fields: Vec<TableField>,
    /// The columns that a ULog cannot hold, and why.
    pub(super) left_out: Vec<(String, &'static str)>,
}

/// A field, and the column that it is made of.
struct TableField {
    name: String,
    /// The name of the field with the number of elements, if lengths vary.
    count_name: Option<String>,
    /// The name of the column, for messages.
    column: String,
    /// The path from the table to the values.
    path: Vec<Step>,
    kind: FieldKind,
}

/// A step from a column to the values in it.
#[derive(Clone, Copy)]
enum Step {
    /// To the child of a struct, or to the column of a table.
    Child(usize),
    /// To an element of an array of fixed length.
    Element(usize),
}

/// The type of a field.
#[derive(Clone, Copy)]
enum FieldKind {
    Number(Number),
    Array(Number, usize),
    /// A list, whose longest value has been measured.
    List(Number, usize),
    /// A string, whose longest value has been measured.
    Text(usize),
}

/// A basic type of ULog.
#[derive(Clone, Copy)]
struct Number {
    name: &'static str,
    bytes: usize,
}

impl Number {
    fn new(data_type: &DataType) -> Option<Self> {
        let (name, bytes) = match data_type {
            DataType::Boolean => ("bool", 1),
            DataType::Int8 => ("int8_t", 1),
            DataType::Int16 => ("int16_t", 2),
            DataType::Int32 => ("int32_t", 4),
            DataType::Int64 => ("int64_t", 8),
            DataType::UInt8 => ("uint8_t", 1),
            DataType::UInt16 => ("uint16_t", 2),
            DataType::UInt32 => ("uint32_t", 4),
            DataType::UInt64 => ("uint64_t", 8),
            DataType::Float32 => ("float", 4),
            DataType::Float64 => ("double", 8),
            // Nanoseconds.
            DataType::Timestamp(TimeUnit::Nanosecond, _)
            | DataType::Duration(TimeUnit::Nanosecond) => ("int64_t", 8),
            _ => return None,
        };
        Some(Self { name, bytes })
    }
}

impl TableColumns {
    /// Returns the fields for the columns of `schema` after the first one, which is the time.
    pub(super) fn new(schema: &Schema) -> Self {
        let mut names = UniqueNames::new("field");
        names.add("timestamp");
        let mut columns = Self { fields: Vec::new(), left_out: Vec::new() };
        for (index, field) in schema.fields().iter().enumerate().skip(1) {
            columns.add(field, field.name(), &mut vec![Step::Child(index)], &mut names);
        }
        columns
    }

    fn add(
        &mut self,
        field: &FieldRef,
        column: &str,
        path: &mut Vec<Step>,
        names: &mut UniqueNames,
    ) {
        let kind = match field.data_type() {
            DataType::Struct(children) => {
                for (index, child) in children.iter().enumerate() {
                    path.push(Step::Child(index));
                    self.add(child, &format!("{column}.{}", child.name()), path, names);
                    path.pop();
                }
                return;
            }
            DataType::FixedSizeList(item, len) => {
                let len = usize::try_from(*len).unwrap_or_default();
                match Number::new(item.data_type()) {
                    Some(_) if len == 0 => return,
                    Some(number) => Ok(FieldKind::Array(number, len)),
                    None if len <= MAX_STRUCTS => {
                        for index in 0..len {
                            path.push(Step::Element(index));
                            self.add(item, &format!("{column}[{index}]"), path, names);
                            path.pop();
                        }
                        return;
                    }
                    None => Err("an array of too many values that are no numbers"),
                }
            }
            DataType::List(item) => match Number::new(item.data_type()) {
                Some(number) => Ok(FieldKind::List(number, 0)),
                None => Err("a list of values that are no numbers"),
            },
            DataType::Utf8 => Ok(FieldKind::Text(0)),
            DataType::Dictionary(_, value) if **value == DataType::Utf8 => {
                Ok(FieldKind::Text(0))
            }
            DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
                Err("binary data")
            }
            other => Number::new(other).map(FieldKind::Number).ok_or("no type of ULog"),
        };
        match kind {
            Ok(kind) => {
                let count_name = matches!(kind, FieldKind::List(..))
                    .then(|| names.add(&format!("{column}_count")));
                self.fields.push(TableField {
                    name: names.add(column),
                    count_name,
                    column: column.to_owned(),
                    path: path.clone(),
                    kind,
                });
            }
            Err(why) => self.left_out.push((column.to_owned(), why)),
        }
    }

    /// Returns whether there are strings or lists.
    pub(super) fn has_varying_lengths(&self) -> bool {
        let varies = |field: &TableField| {
            matches!(field.kind, FieldKind::List(..) | FieldKind::Text(_))
        };
        self.fields.iter().any(varies)
    }

    /// Extends the lengths of strings and lists to those of `batch`.
    pub(super) fn measure(&mut self, batch: &RecordBatch) {
        for field in &mut self.fields {
            let Some(values) = Values::new(field, batch) else { continue };
            let (FieldKind::List(_, longest) | FieldKind::Text(longest)) =
                &mut field.kind
            else {
                continue;
            };
            let lens = (0..batch.num_rows()).filter_map(|row| values.len(row));
            *longest = lens.max().unwrap_or_default().min(MAX_LEN).max(*longest);
        }
    }

    /// Leaves out fields that do not fit into a record, or into `max_format` bytes of the format.
    pub(super) fn fit(&mut self, max_format: usize) {
        let (mut record, mut format) = (8, "uint64_t timestamp;".len());
        let mut kept = Vec::new();
        for field in self.fields.drain(..) {
            let (bytes, text) = (field.bytes(), field.format().len());
            if matches!(field.kind, FieldKind::List(_, 0) | FieldKind::Text(0)) {
                let why = "all values are empty";
                self.left_out.push((field.column, why));
            } else if record + bytes <= MAX_RECORD_BYTES && format + text <= max_format
            {
                record += bytes;
                format += text;
                kept.push(field);
            } else {
                let why = "the records would be too long for a ULog";
                self.left_out.push((field.column, why));
            }
        }
        self.fields = kept;
    }

    /// Returns the fields of the format.
    pub(super) fn format(&self) -> String {
        let fields = self.fields.iter().map(TableField::format);
        format!("uint64_t timestamp;{}", fields.collect::<String>())
    }
}

impl TableField {
    /// Returns the number of bytes in a record.
    fn bytes(&self) -> usize {
        match self.kind {
            FieldKind::Number(number) => number.bytes,
            FieldKind::Array(number, len) => number.bytes.saturating_mul(len),
            FieldKind::List(number, len) => 4 + number.bytes * len,
            FieldKind::Text(len) => len,
        }
    }

    fn format(&self) -> String {
        let name = &self.name;
        match self.kind {
            FieldKind::Number(number) => format!("{} {name};", number.name),
            FieldKind::Array(number, len) => format!("{}[{len}] {name};", number.name),
            FieldKind::List(number, len) => {
                let count = self.count_name.as_deref().unwrap_or_default();
                format!("uint32_t {count};{}[{len}] {name};", number.name)
            }
            FieldKind::Text(len) => format!("char[{len}] {name};"),
        }
    }
}

/// Appends the bytes of the value at an index; returns whether there is one.
type AppendNumber<'b> = Box<dyn Fn(usize, &mut Vec<u8>) -> bool + 'b>;

/// The values of a field in a batch.
struct Values {
    /// The arrays on the path, each with its step.
    path: Vec<(ArrayRef, Step)>,
    values: ArrayRef,
}

impl Values {
    fn new(field: &TableField, batch: &RecordBatch) -> Option<Self> {
        let (Step::Child(first), rest) = field.path.split_first()? else { return None };
        let mut values = batch.columns().get(*first)?.clone();
        let mut path = Vec::new();
        for step in rest {
            let next = match step {
                Step::Child(index) => {
                    values.as_struct_opt()?.columns().get(*index)?.clone()
                }
                Step::Element(_) => values.as_fixed_size_list_opt()?.values().clone(),
            };
            path.push((values, *step));
            values = next;
        }
        if matches!(field.kind, FieldKind::Text(_)) {
            values = std::sync::Arc::new(message_text::strings(&values)?);
        }
        Some(Self { path, values })
    }

    /// Returns the index of the value of `row`, unless it is missing.
    fn index(&self, row: usize) -> Option<usize> {
        let mut index = row;
        for (array, step) in &self.path {
            if array.is_null(index) {
                return None;
            }
            if let Step::Element(element) = step {
                let start = array.as_fixed_size_list_opt()?.value_offset(index);
                index = usize::try_from(start).ok()? + element;
            }
        }
        self.values.is_valid(index).then_some(index)
    }

    /// Returns the length of the string or the list of `row`.
    fn len(&self, row: usize) -> Option<usize> {
        let index = self.index(row)?;
        match self.values.data_type() {
            DataType::List(_) => {
                let len = self.values.as_list_opt::<i32>()?.value_length(index);
                usize::try_from(len).ok()
            }
            _ => Some(self.values.as_string_opt::<i32>()?.value(index).len()),
        }
    }
}

/// The rows of a table as bytes.
pub(super) struct EncodedTable<'b> {
    times: Option<&'b arrow_array::PrimitiveArray<TimestampNanosecondType>>,
    rows: usize,
    fields: Vec<EncodedField>,
}

/// The values of a field as bytes.
struct EncodedField {
    values: Values,
    kind: FieldKind,
    /// Appends a number, or an element of a list.
    append: Option<AppendNumber<'static>>,
}

impl<'b> EncodedTable<'b> {
    /// Prepares the values of `batch`.
    ///
    /// # Errors
    /// If the batch does not have the columns.
    pub(super) fn new(columns: &TableColumns, batch: &'b RecordBatch) -> Result<Self> {
        let times = batch.columns().first();
        let times = times.and_then(|times| times.as_primitive_opt());
        let mut fields = Vec::with_capacity(columns.fields.len());
        for field in &columns.fields {
            let encoded = EncodedField::new(field, batch).ok_or_else(|| {
                Error::failed(format!("the column {} has another type", field.column))
            })?;
            fields.push(encoded);
        }
        Ok(Self { times, rows: batch.num_rows(), fields })
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the time of `row` in nanoseconds, if it has one.
    pub(super) fn time(&self, row: usize) -> Option<i64> {
        self.times.filter(|times| times.is_valid(row)).map(|times| times.value(row))
    }

    /// Appends the values of `row`, and counts those that are changed.
    pub(super) fn encode(&self, row: usize, out: &mut Vec<u8>, counts: &mut Counts) {
        for field in &self.fields {
            field.encode(row, out, counts);
        }
    }
}

impl EncodedField {
    fn new(field: &TableField, batch: &RecordBatch) -> Option<Self> {
        let values = Values::new(field, batch)?;
        let append = match field.kind {
            FieldKind::Number(_) => Some(append_number(&values.values)?),
            FieldKind::Array(..) => {
                Some(append_number(values.values.as_fixed_size_list_opt()?.values())?)
            }
            FieldKind::List(..) => {
                Some(append_number(values.values.as_list_opt::<i32>()?.values())?)
            }
            FieldKind::Text(_) => None,
        };
        Some(Self { values, kind: field.kind, append })
    }

    fn encode(&self, row: usize, out: &mut Vec<u8>, counts: &mut Counts) {
        let index = self.values.index(row);
        let mut append = |index: Option<usize>, number: Number, out: &mut Vec<u8>| {
            let is_there = index
                .zip(self.append.as_ref())
                .is_some_and(|(index, append)| append(index, out));
            if !is_there {
                counts.missing += 1;
                missing(number, out);
            }
        };
        match self.kind {
            FieldKind::Number(number) => append(index, number, out),
            FieldKind::Array(number, len) => {
                let array = self.values.values.as_fixed_size_list_opt();
                let start =
                    index.zip(array).map(|(index, array)| array.value_offset(index));
                let start = start.and_then(|start| usize::try_from(start).ok());
                if start.is_none() {
                    counts.missing += 1;
                    (0..len).for_each(|_| missing(number, out));
                    return;
                }
                (0..len)
                    .for_each(|at| append(start.map(|start| start + at), number, out));
            }
            FieldKind::List(number, most) => {
                let list = index.zip(self.values.values.as_list_opt::<i32>());
                let (start, len) = list.map_or((0, 0), |(index, list)| {
                    let offsets = list.value_offsets();
                    let start = offsets.get(index).copied().unwrap_or_default();
                    (start as usize, list.value_length(index) as usize)
                });
                let kept = len.min(most);
                out.extend_from_slice(&(kept as u32).to_le_bytes());
                (start..start + kept).for_each(|at| append(Some(at), number, out));
                out.resize(out.len() + number.bytes * (most - kept), 0);
                counts.lists += u64::from(kept < len);
                counts.missing += u64::from(index.is_none());
            }
            FieldKind::Text(most) => {
                let texts = index.zip(self.values.values.as_string_opt::<i32>());
                let text = texts.map_or("", |(index, texts)| texts.value(index));
                let mut kept = text.len().min(most);
                while !text.is_char_boundary(kept) {
                    kept -= 1;
                }
                out.extend_from_slice(text.as_bytes().get(..kept).unwrap_or_default());
                out.resize(out.len() + most - kept, 0);
                counts.texts += u64::from(kept < text.len());
                counts.missing += u64::from(index.is_none());
            }
        }
    }
}

/// Appends a missing value: NaN, or 0 of a type without NaN.
fn missing(number: Number, out: &mut Vec<u8>) {
    match number.name {
        "float" => out.extend_from_slice(&f32::NAN.to_le_bytes()),
        "double" => out.extend_from_slice(&f64::NAN.to_le_bytes()),
        _ => out.resize(out.len() + number.bytes, 0),
    }
}

/// Returns a function that appends a number of `array`.
fn append_number(array: &ArrayRef) -> Option<AppendNumber<'static>> {
    macro_rules! numbers {
        ($type:ty) => {{
            let array = array.as_primitive_opt::<$type>()?.clone();
            Box::new(move |index: usize, out: &mut Vec<u8>| {
                let is_there = index < array.len() && array.is_valid(index);
                if is_there {
                    out.extend_from_slice(&array.value(index).to_le_bytes());
                }
                is_there
            })
        }};
    }
    Some(match array.data_type() {
        DataType::Boolean => {
            let array = array.as_boolean_opt()?.clone();
            Box::new(move |index: usize, out: &mut Vec<u8>| {
                let is_there = index < array.len() && array.is_valid(index);
                if is_there {
                    out.push(u8::from(array.value(index)));
                }
                is_there
            })
        }
        DataType::Int8 => numbers!(Int8Type),
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::UInt8 => numbers!(UInt8Type),
        DataType::UInt16 => numbers!(UInt16Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type),
        DataType::Float32 => numbers!(Float32Type),
        DataType::Float64 => numbers!(Float64Type),
        DataType::Timestamp(..) => numbers!(TimestampNanosecondType),
        DataType::Duration(..) => numbers!(DurationNanosecondType),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BinaryArray, Float32Array, ListArray, StringArray, StructArray,
        TimestampNanosecondArray, UInt16Array, types::UInt8Type,
    };
    use arrow_schema::{Field, Fields};

    use super::*;

    /// A table with a struct that may be missing, a list, a string and binary data.
    fn batch(text: &str) -> RecordBatch {
        let inner = Fields::from(vec![
            Field::new("seq", DataType::UInt16, true),
            Field::new("x[0].y", DataType::Float32, true),
        ]);
        let nested = StructArray::new(
            inner,
            vec![
                Arc::new(UInt16Array::from(vec![Some(258), None])),
                Arc::new(Float32Array::from(vec![None, Some(1.0)])),
            ],
            None,
        );
        let list = ListArray::from_iter_primitive::<UInt8Type, _, _>([
            Some(vec![Some(7), Some(8)]),
            Some(vec![Some(9)]),
        ]);
        let columns: [(&str, ArrayRef); 5] = [
            ("time", Arc::new(TimestampNanosecondArray::from(vec![1_000, 2_000]))),
            ("head", Arc::new(nested)),
            ("list", Arc::new(list)),
            ("text", Arc::new(StringArray::from(vec![text, "b"]))),
            ("raw", Arc::new(BinaryArray::from(vec![&b"1"[..], b"2"]))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn columns(batch: &RecordBatch) -> TableColumns {
        let mut columns = TableColumns::new(batch.schema().as_ref());
        columns.measure(batch);
        columns.fit(1_000);
        columns
    }

    #[test]
    fn values_are_packed_in_the_order_of_the_format() {
        let batch = batch("äb");
        let columns = columns(&batch);
        let format = "uint64_t timestamp;uint16_t head_seq;float head_x_0_y;\
                      uint32_t list_count;uint8_t[2] list;char[3] text;";
        assert_eq!(columns.format(), format);
        assert_eq!(columns.left_out, [("raw".to_owned(), "binary data")]);

        let table = EncodedTable::new(&columns, &batch).unwrap();
        let (mut bytes, mut counts) = (Vec::new(), Counts::default());
        table.encode(0, &mut bytes, &mut counts);
        let nan = f32::NAN.to_le_bytes();
        let first = [&[2, 1], &nan[..], &[2, 0, 0, 0, 7, 8], "äb".as_bytes()].concat();
        assert_eq!(bytes, first);
        bytes.clear();
        table.encode(1, &mut bytes, &mut counts);
        let one = 1_f32.to_le_bytes();
        assert_eq!(bytes, [&[0, 0], &one[..], &[1, 0, 0, 0, 9, 0], b"b\0\0"].concat());
        assert_eq!((counts.missing, counts.texts, counts.lists), (2, 0, 0));
        assert_eq!((table.time(0), table.time(1)), (Some(1_000), Some(2_000)));
    }

    #[test]
    fn string_that_is_too_long_is_cut_between_characters_and_counted() {
        // The character at the limit has two bytes.
        let text = format!("{}ä", "x".repeat(MAX_LEN - 1));
        let batch = batch(&text);
        let mut columns = columns(&batch);
        columns.fields.retain(|field| field.column == "text");
        let table = EncodedTable::new(&columns, &batch).unwrap();
        let (mut bytes, mut counts) = (Vec::new(), Counts::default());
        table.encode(0, &mut bytes, &mut counts);
        let want = [&text.as_bytes()[..MAX_LEN - 1], &[0]].concat();
        assert_eq!((bytes, counts.texts), (want, 1));
    }

    #[test]
    fn fields_beyond_the_length_of_a_record_are_left_out() {
        let batch = batch("text");
        let mut columns = TableColumns::new(batch.schema().as_ref());
        columns.measure(&batch);
        columns.fit("uint64_t timestamp;uint16_t head_seq;".len());
        assert_eq!(columns.format(), "uint64_t timestamp;uint16_t head_seq;");
        assert_eq!(columns.left_out.len(), 4);
    }
}
