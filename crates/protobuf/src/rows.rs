//! Converting rows of tables to messages of protocol buffers. The message has a field with the name
//! of each column. This is used for records that are not payloads of a known layout.
//!
//! A time is an integer in the unit of its column. A null value is not written.

use std::sync::Arc;

use arrow_array::{
    Array as _, ArrayRef, RecordBatch,
    cast::AsArray as _,
    types::{
        Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
        TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, Schema, TimeUnit};
use logtool_core::{Error, ErrorKind, Result, TIME_UNIT_KEY, UniqueNames};

use crate::{
    descriptor::{Field, File, FileSet, Message, PROTO3, kind},
    wire::{FIXED32, FIXED64, append_bytes, append_number, append_varint, field_key},
};

/// A message type, and the conversion of table rows to its messages.
#[derive(Clone, Debug)]
pub struct RowMessages {
    /// The full name of the type.
    pub type_name: String,
    /// The files that define the type.
    pub files: FileSet,
    /// The divisor of the nanoseconds of each column with times.
    divisors: Arc<[i64]>,
}

impl RowMessages {
    /// Creates the message type `name` in `package` for rows with the columns `schema`.
    ///
    /// # Errors
    /// `Unsupported` if a column has a type other than numbers, strings, bytes or times.
    pub fn new(schema: &Schema, package: &str, name: &str) -> Result<Self> {
        let (mut names, mut fields, mut oneofs) =
            (UniqueNames::default(), vec![], vec![]);
        let mut divisors = Vec::new();
        for (number, column) in (1..).zip(schema.fields()) {
            let kind = kind_of(column.data_type()).ok_or_else(|| {
                let (name, data_type) = (column.name(), column.data_type());
                let message = format!(
                    "the column {name:?} has the type {data_type}, which protocol buffers lack"
                );
                Error::new(ErrorKind::Unsupported, message)
            })?;
            let mut field = Field::new(&names.make_unique(column.name()), number, kind);
            // An optional field belongs to a synthetic oneof.
            field.is_optional = true;
            field.oneof = Some(oneofs.len() as u32);
            oneofs.push(format!("_{}", field.name));
            fields.push(field);
            let is_in_micros =
                column.metadata().get(TIME_UNIT_KEY).is_some_and(|unit| unit == "us");
            divisors.push(if is_in_micros { 1_000 } else { 1 });
        }
        let name = UniqueNames::default().make_unique(name);
        let message =
            Message { name: name.clone(), fields, oneofs, ..Message::default() };
        let file = File {
            name: format!("{package}/{name}.proto"),
            package: package.to_owned(),
            messages: vec![message],
            syntax: PROTO3.to_owned(),
            ..File::default()
        };
        Ok(Self {
            type_name: format!("{package}.{name}"),
            files: FileSet { files: vec![file] },
            divisors: divisors.into(),
        })
    }

    /// Appends the message for row `row` of `batch` to `out`.
    pub fn append_message(&self, batch: &RecordBatch, row: usize, out: &mut Vec<u8>) {
        let columns = (1..).zip(batch.columns()).zip(&*self.divisors);
        for ((number, column), divisor) in columns {
            if row < column.len() && column.is_valid(row) {
                append_value(column, row, number, *divisor, out);
            }
        }
    }
}

fn kind_of(data_type: &DataType) -> Option<u32> {
    Some(match data_type {
        DataType::Timestamp(TimeUnit::Nanosecond, _) | DataType::Int64 => kind::INT64,
        DataType::Int16 | DataType::Int32 => kind::INT32,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => kind::UINT32,
        DataType::UInt64 => kind::UINT64,
        DataType::Float32 => kind::FLOAT,
        DataType::Float64 => kind::DOUBLE,
        DataType::Boolean => kind::BOOL,
        DataType::Utf8 => kind::STRING,
        DataType::Binary | DataType::FixedSizeBinary(_) => kind::BYTES,
        _ => return None,
    })
}

/// Appends the field `number` with the value of `column` in the row `row`. A time is divided by
/// `divisor`.
fn append_value(
    column: &ArrayRef,
    row: usize,
    number: u32,
    divisor: i64,
    out: &mut Vec<u8>,
) {
    macro_rules! value {
        ($type:ty) => {
            column.as_primitive::<$type>().value(row)
        };
    }
    match column.data_type() {
        DataType::Timestamp(..) => {
            let nanos = value!(TimestampNanosecondType);
            append_number(out, number, nanos.div_euclid(divisor) as u64);
        }
        DataType::Int64 => append_number(out, number, value!(Int64Type) as u64),
        DataType::Int16 => {
            append_number(out, number, i64::from(value!(Int16Type)) as u64)
        }
        DataType::Int32 => {
            append_number(out, number, i64::from(value!(Int32Type)) as u64)
        }
        DataType::UInt8 => append_number(out, number, value!(UInt8Type).into()),
        DataType::UInt16 => append_number(out, number, value!(UInt16Type).into()),
        DataType::UInt32 => append_number(out, number, value!(UInt32Type).into()),
        DataType::UInt64 => append_number(out, number, value!(UInt64Type)),
        DataType::Float32 => {
            append_varint(out, field_key(number, FIXED32));
            out.extend_from_slice(&value!(Float32Type).to_le_bytes());
        }
        DataType::Float64 => {
            append_varint(out, field_key(number, FIXED64));
            out.extend_from_slice(&value!(Float64Type).to_le_bytes());
        }
        DataType::Boolean => {
            append_number(out, number, column.as_boolean().value(row).into());
        }
        DataType::Utf8 => {
            append_bytes(out, number, column.as_string::<i32>().value(row).as_bytes());
        }
        DataType::Binary => {
            append_bytes(out, number, column.as_binary::<i32>().value(row));
        }
        DataType::FixedSizeBinary(_) => {
            append_bytes(out, number, column.as_fixed_size_binary().value(row));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        BinaryArray, FixedSizeBinaryArray, Int16Array, Int32Array, StringArray,
        UInt8Array,
    };
    use arrow_schema::Field as Column;
    use logtool_core::{time_array, time_field};

    use super::*;

    /// Made by hand after the documentation of the encoding.
    #[test]
    fn row_has_a_field_for_each_value_that_is_not_null() {
        let schema = Arc::new(Schema::new(vec![
            time_field("timestamp", "us"),
            Column::new("n", DataType::Int32, true),
            Column::new("s", DataType::Utf8, true),
        ]));
        let messages = RowMessages::new(&schema, "p", "t").unwrap();
        let columns: Vec<ArrayRef> = vec![
            time_array(vec![5_000, 6_000]),
            Arc::new(Int32Array::from(vec![Some(0), None])),
            Arc::new(StringArray::from(vec![None, Some("hi")])),
        ];
        let batch = RecordBatch::try_new(schema, columns).unwrap();
        let mut out = Vec::new();
        messages.append_message(&batch, 0, &mut out);
        assert_eq!(out, b"\x08\x05\x10\x00");
        out.clear();
        messages.append_message(&batch, 1, &mut out);
        assert_eq!(out, b"\x08\x06\x1a\x02hi");
    }

    /// Made by hand, as above: a negative int32 has ten bytes.
    #[test]
    fn small_numbers_and_bytes_are_written() {
        let schema = Arc::new(Schema::new(vec![
            Column::new("a", DataType::Int16, true),
            Column::new("b", DataType::UInt8, true),
            Column::new("c", DataType::Binary, true),
            Column::new("d", DataType::FixedSizeBinary(2), true),
        ]));
        let messages = RowMessages::new(&schema, "p", "t").unwrap();
        let pair = FixedSizeBinaryArray::try_from_iter([[7, 8]].into_iter());
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int16Array::from(vec![-1])),
            Arc::new(UInt8Array::from(vec![200])),
            Arc::new(BinaryArray::from(vec![&b"\0\xff"[..]])),
            Arc::new(pair.unwrap()),
        ];
        let batch = RecordBatch::try_new(schema, columns).unwrap();
        let mut out = Vec::new();
        messages.append_message(&batch, 0, &mut out);
        let minus_one = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        let rest = b"\x10\xc8\x01\x1a\x02\0\xff\x22\x02\x07\x08";
        assert_eq!(out, [&minus_one[..], rest].concat());
    }
}
