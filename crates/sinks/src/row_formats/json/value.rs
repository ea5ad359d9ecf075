//! Writes the values of a column of any type as JSON.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, OffsetSizeTrait, cast::AsArray as _, types::*};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, TimeUnit};
use logtool_core::{COUNT_KEY, Error, ErrorKind, Result};

use crate::{
    row_formats::json::text::{FLUSH_BYTES, JsonText},
    text::{
        infinities::Infinities,
        number::Number,
        number_format::NumberBuffer,
        time_text::{TimeFormat, iso_second, nanos},
    },
};

/// The values of a column.
#[derive(Debug)]
pub(crate) struct JsonValues {
    nulls: Option<NullBuffer>,
    kind: JsonKind,
}

/// The column types, grouped by their JSON format.
enum JsonKind {
    Null,
    Bool(BooleanBuffer),
    Number(Box<dyn NumberValues>),
    Time(TimeFormat, ScalarBuffer<i64>),
    Text(Box<dyn ByteValues>),
    Bytes(Box<dyn ByteValues>),
    /// The labels as JSON, and the index of the label of each row.
    Label(Vec<Vec<u8>>, Vec<usize>),
    /// The location of the items of each row, and the items of all rows.
    List(ItemRange, Box<JsonValues>),
    /// The numbers of elements of lists. The elements have no fields.
    Count(ScalarBuffer<u32>),
    /// The text before each value, e.g. `,"x":`, and the values.
    Struct(Vec<(Vec<u8>, JsonValues)>),
}

/// Returns the range of the items of the list at the index of a row, or `None` if the column is
/// shorter.
type ItemRange = Box<dyn Fn(usize) -> Option<Range<usize>> + Send + Sync>;

/// Lists of more elements without fields are written as the number of elements: it may be any
/// number in a message of 4 bytes.
const MAX_EMPTY_ELEMENTS: u32 = 1 << 16;

/// The deepest nesting of types; deeper recursion could overflow the stack.
const MAX_DEPTH: usize = 64;

impl JsonValues {
    /// Prepares the values of `column`, which belongs to `field` at nesting depth `depth`.
    pub(crate) fn new(
        field: &Field,
        column: &ArrayRef,
        infinities: &Infinities,
        depth: usize,
    ) -> Result<Self> {
        if depth > MAX_DEPTH {
            let message = format!("types nested more than {MAX_DEPTH} levels deep");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        Ok(Self { nulls, kind: JsonKind::new(field, column, infinities, depth)? })
    }

    /// Appends the value at index `row`, or `null`.
    pub(crate) fn write(&self, row: usize, json: &mut JsonText<'_>) {
        let is_null = |nulls: &NullBuffer| row >= nulls.len() || nulls.is_null(row);
        if self.nulls.as_ref().is_some_and(is_null)
            || self.kind.write(row, json).is_none()
        {
            json.extend_from_slice(b"null");
        }
    }
}

impl JsonKind {
    fn new(
        field: &Field,
        column: &ArrayRef,
        infinities: &Infinities,
        depth: usize,
    ) -> Result<Self> {
        macro_rules! numbers {
            ($type:ty) => {
                Self::Number(Box::new(NumberColumn {
                    values: column.as_primitive::<$type>().values().clone(),
                    infinities: infinities.clone(),
                }))
            };
        }
        Ok(match column.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool(column.as_boolean().values().clone()),
            DataType::Int8 => numbers!(Int8Type),
            DataType::Int16 => numbers!(Int16Type),
            DataType::Int32 => numbers!(Int32Type),
            DataType::Int64 => numbers!(Int64Type),
            DataType::UInt8 => numbers!(UInt8Type),
            DataType::UInt16 => numbers!(UInt16Type),
            DataType::UInt32 if field.metadata().contains_key(COUNT_KEY) => {
                Self::Count(column.as_primitive::<UInt32Type>().values().clone())
            }
            DataType::UInt32 => numbers!(UInt32Type),
            DataType::UInt64 => numbers!(UInt64Type),
            DataType::Float32 => numbers!(Float32Type),
            DataType::Float64 => numbers!(Float64Type),
            DataType::Decimal128(_, 0) => Self::Number(Box::new(WideIntegers(
                column.as_primitive::<Decimal128Type>().values().clone(),
            ))),
            DataType::Duration(unit) => match unit {
                TimeUnit::Second => numbers!(DurationSecondType),
                TimeUnit::Millisecond => numbers!(DurationMillisecondType),
                TimeUnit::Microsecond => numbers!(DurationMicrosecondType),
                TimeUnit::Nanosecond => numbers!(DurationNanosecondType),
            },
            DataType::Timestamp(..) => {
                match (TimeFormat::for_field(field), nanos(column)) {
                    (Some(format), Some(nanos)) => Self::Time(format, nanos),
                    _ => return Err(unsupported(field)),
                }
            }
            DataType::Utf8 => Self::Text(Box::new(column.as_string::<i32>().clone())),
            DataType::LargeUtf8 => {
                Self::Text(Box::new(column.as_string::<i64>().clone()))
            }
            DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
                Self::Bytes(byte_values(column).ok_or_else(|| unsupported(field))?)
            }
            DataType::Dictionary(..) => Self::label(field, column, infinities, depth)?,
            DataType::List(item) => {
                let list = column.as_list::<i32>();
                Self::list(
                    item,
                    list.offsets().inner(),
                    list.values(),
                    infinities,
                    depth,
                )?
            }
            DataType::LargeList(item) => {
                let list = column.as_list::<i64>();
                Self::list(
                    item,
                    list.offsets().inner(),
                    list.values(),
                    infinities,
                    depth,
                )?
            }
            DataType::FixedSizeList(item, len) => {
                let len = usize::try_from(*len).unwrap_or_default();
                let items = column.as_fixed_size_list().values();
                let items = JsonValues::new(item, items, infinities, depth + 1)?;
                let rows = column.len();
                let item_range =
                    move |row| (row < rows).then(|| row * len..(row + 1) * len);
                Self::List(Box::new(item_range), Box::new(items))
            }
            DataType::Struct(fields) => {
                let mut columns = Vec::new();
                for (field, column) in fields.iter().zip(column.as_struct().columns()) {
                    let key = key_text(field.name(), columns.is_empty());
                    let values = JsonValues::new(field, column, infinities, depth + 1)?;
                    columns.push((key, values));
                }
                Self::Struct(columns)
            }
            _ => return Err(unsupported(field)),
        })
    }

    fn label(
        field: &Field,
        column: &ArrayRef,
        infinities: &Infinities,
        depth: usize,
    ) -> Result<Self> {
        let dictionary = column.as_any_dictionary();
        let labels = dictionary.values();
        let label_field = Field::new(field.name(), labels.data_type().clone(), true);
        let values = JsonValues::new(&label_field, labels, infinities, depth + 1)?;
        let label_texts = (0..labels.len()).map(|index| {
            let mut json = Vec::new();
            values.write(index, &mut JsonText::in_buffer(&mut json));
            json
        });
        let keys = if labels.is_empty() {
            vec![usize::MAX; column.len()] // all rows are null
        } else {
            dictionary.normalized_keys()
        };
        Ok(Self::Label(label_texts.collect(), keys))
    }

    fn list<O: OffsetSizeTrait>(
        item: &Field,
        offsets: &ScalarBuffer<O>,
        items: &ArrayRef,
        infinities: &Infinities,
        depth: usize,
    ) -> Result<Self> {
        let items = JsonValues::new(item, items, infinities, depth + 1)?;
        let offsets = offsets.clone();
        let item_range = move |row: usize| {
            let (start, end) = (offsets.get(row)?, offsets.get(row + 1)?);
            Some(start.as_usize()..end.as_usize())
        };
        Ok(Self::List(Box::new(item_range), Box::new(items)))
    }

    /// Appends the value at index `row`; returns `None` without appending if it is null.
    fn write(&self, row: usize, json: &mut JsonText<'_>) -> Option<()> {
        match self {
            Self::Null => return None,
            Self::Bool(values) => {
                if row >= values.len() {
                    return None;
                }
                let text: &[u8] = if values.value(row) { b"true" } else { b"false" };
                json.extend_from_slice(text);
            }
            Self::Number(numbers) => numbers.write(row, json)?,
            Self::Time(format, nanos) => write_time(*format, *nanos.get(row)?, json),
            Self::Text(values) => {
                let text = values.get(row)?;
                json.push(b'"');
                for chunk in text.chunks(FLUSH_BYTES) {
                    escape(chunk, json);
                    json.flush_if_long();
                }
                json.push(b'"');
            }
            Self::Bytes(values) => {
                let bytes = values.get(row)?;
                json.push(b'"');
                for chunk in bytes.chunks(FLUSH_BYTES / 2) {
                    append_hex(chunk, json);
                    json.flush_if_long();
                }
                json.push(b'"');
            }
            Self::Label(label_texts, keys) => {
                json.extend_from_slice(label_texts.get(*keys.get(row)?)?);
            }
            Self::List(item_range, items) => {
                let range = item_range(row)?;
                match (&items.nulls, &items.kind) {
                    (None, JsonKind::Number(numbers)) => {
                        numbers.write_list(range, json);
                    }
                    _ => write_list(range, json, |item, json| items.write(item, json)),
                }
            }
            Self::Count(counts) => match *counts.get(row)? {
                count @ 0..=MAX_EMPTY_ELEMENTS => {
                    write_list(0..count as usize, json, |_, json| {
                        json.extend_from_slice(b"{}");
                    });
                }
                count => write_number(count, &Infinities::default(), json),
            },
            Self::Struct(columns) => {
                for (key, values) in columns {
                    json.extend_from_slice(key);
                    values.write(row, json);
                    json.flush_if_long();
                }
                json.extend_from_slice(if columns.is_empty() { b"{}" } else { b"}" });
            }
        }
        Some(())
    }
}

/// The numbers of a column of any type.
trait NumberValues: Send + Sync {
    /// Appends the number at index `row`, or returns `None` if the column is shorter.
    fn write(&self, row: usize, json: &mut JsonText<'_>) -> Option<()>;

    /// Appends a list of the numbers at the indices `rows`. They must not be null.
    fn write_list(&self, rows: Range<usize>, json: &mut JsonText<'_>);
}

/// The numbers of a column of one type.
struct NumberColumn<N: arrow_buffer::ArrowNativeType> {
    values: ScalarBuffer<N>,
    infinities: Infinities,
}

impl<N: Number + arrow_buffer::ArrowNativeType> NumberValues for NumberColumn<N> {
    fn write(&self, row: usize, json: &mut JsonText<'_>) -> Option<()> {
        write_number(*self.values.get(row)?, &self.infinities, json);
        Some(())
    }

    fn write_list(&self, rows: Range<usize>, json: &mut JsonText<'_>) {
        write_list(rows, json, |row, json| match self.values.get(row) {
            Some(number) => write_number(*number, &self.infinities, json),
            None => json.extend_from_slice(b"null"),
        });
    }
}

/// Integers of more than 64 bits.
struct WideIntegers(ScalarBuffer<i128>);

impl NumberValues for WideIntegers {
    fn write(&self, row: usize, json: &mut JsonText<'_>) -> Option<()> {
        json.extend_from_slice(self.0.get(row)?.to_string().as_bytes());
        Some(())
    }

    fn write_list(&self, rows: Range<usize>, json: &mut JsonText<'_>) {
        write_list(rows, json, |row, json| {
            if self.write(row, json).is_none() {
                json.extend_from_slice(b"null");
            }
        });
    }
}

/// The values of a column of strings or bytes.
pub(crate) trait ByteValues: Send + Sync {
    /// Returns the value at index `row`, or `None` if the column is shorter.
    fn get(&self, row: usize) -> Option<&[u8]>;
}

impl<T: ByteArrayType<Native: AsRef<[u8]>>> ByteValues
    for arrow_array::GenericByteArray<T>
{
    fn get(&self, row: usize) -> Option<&[u8]> {
        (row < self.len()).then(|| self.value(row).as_ref())
    }
}

impl ByteValues for arrow_array::FixedSizeBinaryArray {
    fn get(&self, row: usize) -> Option<&[u8]> {
        (row < self.len()).then(|| self.value(row))
    }
}

/// Returns the values of a column of bytes, or `None` if `column` is of another type.
pub(crate) fn byte_values(column: &ArrayRef) -> Option<Box<dyn ByteValues>> {
    Some(match column.data_type() {
        DataType::Binary => Box::new(column.as_binary::<i32>().clone()),
        DataType::LargeBinary => Box::new(column.as_binary::<i64>().clone()),
        DataType::FixedSizeBinary(_) => Box::new(column.as_fixed_size_binary().clone()),
        _ => return None,
    })
}

/// Appends a list; `write_item` appends the item at each index of `items`.
fn write_list(
    items: Range<usize>,
    json: &mut JsonText<'_>,
    write_item: impl Fn(usize, &mut JsonText<'_>),
) {
    json.push(b'[');
    for item in items.clone() {
        if item > items.start {
            json.push(b',');
        }
        write_item(item, json);
        json.flush_if_long();
    }
    json.push(b']');
}

/// Appends a number. It is formatted directly after the text, because copying it from another
/// buffer would take as long as formatting it.
fn write_number(number: impl Number, infinities: &Infinities, json: &mut Vec<u8>) {
    let start = json.len();
    json.extend_from_slice(&[0; size_of::<NumberBuffer>()]);
    let buffer = json.last_chunk_mut();
    let len = buffer.map_or(0, |buffer| number.write_json(buffer, infinities));
    json.truncate(start + len);
}

fn write_time(format: TimeFormat, nanos: i64, json: &mut Vec<u8>) {
    match format {
        TimeFormat::Number { divisor } => {
            write_number(nanos.div_euclid(divisor), &Infinities::default(), json);
        }
        TimeFormat::Iso { digits } => {
            json.push(b'"');
            json.extend_from_slice(&iso_second(nanos.div_euclid(1_000_000_000)));
            let fraction = format!("{:09}", nanos.rem_euclid(1_000_000_000));
            if digits > 0 {
                json.push(b'.');
                let fraction = fraction.get(..digits).unwrap_or_default();
                json.extend_from_slice(fraction.as_bytes());
            }
            json.extend_from_slice(b"Z\"");
        }
    }
}

/// Returns the text before the value of a key of an object, e.g. `,"x":`.
pub(crate) fn key_text(key: &str, is_first: bool) -> Vec<u8> {
    let mut text = vec![if is_first { b'{' } else { b',' }];
    quote(key, &mut text);
    text.push(b':');
    text
}

/// Appends `text` to `json`, quoted and escaped.
fn quote(text: &str, json: &mut Vec<u8>) {
    json.push(b'"');
    escape(text.as_bytes(), json);
    json.push(b'"');
}

/// Appends the two hexadecimal digits of each byte to `text`.
pub(crate) fn append_hex(bytes: &[u8], text: &mut Vec<u8>) {
    let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble & 15)];
    text.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]));
}

/// Appends `text`, which is a part of a UTF-8 string, to `json`, with escapes. Only ASCII
/// characters are escaped, so the part may start and end within a longer character.
fn escape(text: &[u8], json: &mut Vec<u8>) {
    let mut copied_len = 0;
    for (offset, byte) in text.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..0x20 => {
                let hex = b"0123456789abcdef";
                &[
                    b'\\',
                    b'u',
                    b'0',
                    b'0',
                    b'0' + (byte >> 4),
                    hex[usize::from(byte & 15)],
                ]
            }
            _ => continue,
        };
        json.extend_from_slice(&text[copied_len..offset]);
        json.extend_from_slice(escape);
        copied_len = offset + 1;
    }
    json.extend_from_slice(&text[copied_len..]);
}

fn unsupported(field: &Field) -> Error {
    let (name, data_type) = (field.name(), field.data_type());
    let message =
        format!("column {name:?} of type {data_type} cannot be written as JSON");
    Error::new(ErrorKind::Unsupported, message)
}

impl std::fmt::Debug for JsonKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Null => "Null",
            Self::Bool(_) => "Bool",
            Self::Number(_) => "Number",
            Self::Time(..) => "Time",
            Self::Text(_) => "Text",
            Self::Bytes(_) => "Bytes",
            Self::Label(..) => "Label",
            Self::List(..) => "List",
            Self::Count(_) => "Count",
            Self::Struct(_) => "Struct",
        })
    }
}
