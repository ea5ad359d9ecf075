//! The bytes of the values of a table.

use arrow_array::{
    Array, ArrayRef, RecordBatch,
    cast::AsArray as _,
    types::{
        DurationNanosecondType, Float32Type, Float64Type, Int8Type, Int16Type,
        Int32Type, Int64Type, TimestampNanosecondType, UInt8Type, UInt16Type,
        UInt32Type, UInt64Type,
    },
};
use arrow_schema::DataType;

use crate::{
    error::{Error, Result},
    jobs::convert::ulog_tables::{
        Counts,
        columns::TableColumns,
        fields::{FieldKind, Number, TableField, Values},
    },
};

/// Appends the bytes of the value at an index; returns whether there is one.
type AppendNumber<'b> = Box<dyn Fn(usize, &mut Vec<u8>) -> bool + 'b>;

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
                Error::other(format!("the column {} has another type", field.column))
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
                append_missing_value(number, out);
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
                    (0..len).for_each(|_| append_missing_value(number, out));
                    return;
                }
                (0..len).for_each(|element| {
                    append(start.map(|start| start + element), number, out)
                });
            }
            FieldKind::List(number, max_len) => {
                let list = index.zip(self.values.values.as_list_opt::<i32>());
                let (start, len) = list.map_or((0, 0), |(index, list)| {
                    let offsets = list.value_offsets();
                    let start = offsets.get(index).copied().unwrap_or_default();
                    (start as usize, list.value_length(index) as usize)
                });
                let kept_len = len.min(max_len);
                out.extend_from_slice(&(kept_len as u32).to_le_bytes());
                (start..start + kept_len)
                    .for_each(|element| append(Some(element), number, out));
                out.resize(out.len() + number.bytes * (max_len - kept_len), 0);
                counts.lists += u64::from(kept_len < len);
                counts.missing += u64::from(index.is_none());
            }
            FieldKind::Text(max_len) => {
                let texts = index.zip(self.values.values.as_string_opt::<i32>());
                let text = texts.map_or("", |(index, texts)| texts.value(index));
                let mut kept_len = text.len().min(max_len);
                while !text.is_char_boundary(kept_len) {
                    kept_len -= 1;
                }
                out.extend_from_slice(
                    text.as_bytes().get(..kept_len).unwrap_or_default(),
                );
                out.resize(out.len() + max_len - kept_len, 0);
                counts.texts += u64::from(kept_len < text.len());
                counts.missing += u64::from(index.is_none());
            }
        }
    }
}

/// Appends a missing value: NaN, or 0 of a type without NaN.
fn append_missing_value(number: Number, out: &mut Vec<u8>) {
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
    use crate::jobs::convert::ulog_tables::columns::MAX_LEN;

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
        assert_eq!(columns.dropped, [("raw".to_owned(), "binary data")]);

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
        assert_eq!(columns.dropped.len(), 4);
    }
}
