//! A column whose values are collected to be written as one or several arrays.

use std::{
    io::{self, BufReader, Read as _},
    sync::Arc,
};

use arrow_array::{
    Array as _, ArrayRef, StringArray, UInt8Array, cast::AsArray as _, types::*,
};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, Field, TimeUnit};
use logtool_core::{Error, ErrorKind, Result};

use crate::arrays::spill_file::{SpillFile, SpillReader, SpillStream};

/// The values of a column that were collected so far.
#[derive(Debug)]
pub(super) struct ArrayColumn {
    /// The name of the column; the items of lists have an empty name.
    pub(super) name: String,
    /// The dimensions of each value, e.g. `[4]` for `float[4]`; empty for scalars.
    pub(super) value_shape: Vec<usize>,
    /// The number of values. A value with a `value_shape` counts as that many scalars.
    pub(super) count: u64,
    pub(super) data: ColumnData,
    /// One byte for each of the `count` values: 1 if it is present, 0 if it is null. `None` until
    /// the first null.
    pub(super) validity: Option<SpillStream>,
}

/// The values of a column, grouped by their type.
#[derive(Debug)]
pub(super) enum ColumnData {
    /// Numbers, booleans (one byte each) or times of this type, little-endian.
    Values(DataType, SpillStream),
    /// Strings or byte strings, concatenated.
    Strings(Strings),
    /// Lists: the end index of each list among the items (8 bytes each), and the items.
    Lists(SpillStream, Box<ArrayColumn>),
    /// Structs.
    Fields(Vec<ArrayColumn>),
}

/// Strings or byte strings.
#[derive(Debug, Default)]
pub(super) struct Strings {
    /// Whether they are UTF-8 strings.
    pub(super) is_text: bool,
    /// The end offset of each string in the concatenated bytes, 8 bytes each.
    pub(super) ends: SpillStream,
    pub(super) bytes: SpillStream,
    /// The number of characters of the longest string.
    pub(super) max_chars: usize,
    /// Whether any string ends in NUL.
    pub(super) ends_in_nul: bool,
}

impl ArrayColumn {
    /// Creates an empty column for values of `field`.
    ///
    /// # Errors
    /// The type has no representation as an array.
    pub(super) fn new(field: &Field) -> Result<Self> {
        let mut value_shape = Vec::new();
        let mut data_type = field.data_type();
        while let DataType::FixedSizeList(item, len) = data_type {
            value_shape.push(usize::try_from(*len).unwrap_or(0));
            data_type = item.data_type();
        }
        let data = match data_type {
            DataType::FixedSizeBinary(len) => {
                value_shape.push(usize::try_from(*len).unwrap_or(0));
                ColumnData::Values(DataType::UInt8, SpillStream::default())
            }
            DataType::Utf8 | DataType::Dictionary(..) => {
                ColumnData::Strings(Strings { is_text: true, ..Strings::default() })
            }
            DataType::Binary => ColumnData::Strings(Strings::default()),
            DataType::List(item) => {
                let mut items = Self::new(item)?;
                items.name.clear();
                ColumnData::Lists(SpillStream::default(), Box::new(items))
            }
            DataType::Struct(fields) => {
                let fields = fields.iter().map(|field| Self::new(field));
                ColumnData::Fields(fields.collect::<Result<_>>()?)
            }
            DataType::Boolean
            | DataType::Timestamp(TimeUnit::Nanosecond, _)
            | DataType::Duration(TimeUnit::Nanosecond) => {
                ColumnData::Values(data_type.clone(), SpillStream::default())
            }
            other
                if other.is_integer()
                    || matches!(other, DataType::Float32 | DataType::Float64) =>
            {
                ColumnData::Values(other.clone(), SpillStream::default())
            }
            other => {
                let message =
                    format!("column {}: {other} cannot be in an array", field.name());
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        };
        Ok(Self {
            name: field.name().clone(),
            value_shape,
            count: 0,
            data,
            validity: None,
        })
    }

    /// Returns the number of bytes of a value of `data_type`.
    pub(super) fn width(data_type: &DataType) -> usize {
        data_type.primitive_width().unwrap_or(1)
    }

    /// Appends the values of `array`.
    pub(super) fn push(
        &mut self,
        array: &ArrayRef,
        spill_file: &SpillFile,
    ) -> Result<()> {
        // The values of lists of fixed length are appended one after the other.
        let mut array = array.clone();
        while let DataType::FixedSizeList(..) = array.data_type() {
            let list = array.as_fixed_size_list();
            let len = list.len() * list.value_length() as usize;
            let values = list.values().slice(list.value_offset(0) as usize, len);
            array = values;
        }
        if let Some(values) = array.as_fixed_size_binary_opt() {
            let bytes = Buffer::from(values.value_data());
            array = Arc::new(UInt8Array::new(bytes.into(), None));
        }
        self.push_validity(array.len(), array.logical_nulls().as_ref(), spill_file)?;
        self.count += array.len() as u64;
        match &mut self.data {
            ColumnData::Values(_, stream) => {
                spill_file.push(stream, &value_bytes(&array))?;
            }
            ColumnData::Strings(strings) => strings.push(&array, spill_file)?,
            ColumnData::Lists(ends, items) => {
                let list = array.as_list::<i32>();
                let offsets = list.value_offsets();
                let (start, end) = (offsets[0], offsets[list.len()]);
                // The items of this array follow those of the arrays before it.
                let shift = items.count as i64 - i64::from(start);
                let list_ends = offsets[1..].iter().map(|end| shift + i64::from(*end));
                spill_file.push(ends, &integer_bytes(list_ends))?;
                let list_items =
                    list.values().slice(start as usize, (end - start) as usize);
                items.push(&list_items, spill_file)?;
            }
            ColumnData::Fields(fields) => {
                for (field, array) in fields.iter_mut().zip(array.as_struct().columns())
                {
                    field.push(array, spill_file)?;
                }
            }
        }
        Ok(())
    }

    /// Appends the validity of `len` values.
    fn push_validity(
        &mut self,
        len: usize,
        nulls: Option<&NullBuffer>,
        spill_file: &SpillFile,
    ) -> io::Result<()> {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        if nulls.is_none() && self.validity.is_none() {
            return Ok(());
        }
        if self.validity.is_none() {
            // All earlier values are present.
            let mut stream = SpillStream::default();
            let mut remaining = self.count;
            while remaining > 0 {
                let block_len = remaining.min(1 << 16);
                spill_file.push(&mut stream, &vec![1; block_len as usize])?;
                remaining -= block_len;
            }
            self.validity = Some(stream);
        }
        let bytes: Vec<u8> = match nulls {
            Some(nulls) => nulls.iter().map(u8::from).collect(),
            None => vec![1; len],
        };
        match &mut self.validity {
            Some(stream) => spill_file.push(stream, &bytes),
            None => Ok(()),
        }
    }

    /// Returns the validity if it must be written as a separate array. Missing floats are NaN and
    /// missing times are the least integer, so columns of these types need no such array.
    pub(super) fn validity_array(&self) -> Option<&SpillStream> {
        let has_sentinel = match &self.data {
            ColumnData::Values(data_type, _) => matches!(
                data_type,
                DataType::Float32
                    | DataType::Float64
                    | DataType::Timestamp(..)
                    | DataType::Duration(_)
            ),
            _ => false,
        };
        self.validity.as_ref().filter(|_| !has_sentinel)
    }
}

impl Strings {
    /// Appends the values of `array`.
    fn push(&mut self, array: &ArrayRef, spill_file: &SpillFile) -> Result<()> {
        let (mut ends, mut bytes) = (Vec::new(), Vec::new());
        let mut push_value = |value: Option<&[u8]>| {
            bytes.extend_from_slice(value.unwrap_or_default());
            ends.push(bytes.len());
        };
        if let Some(strings) = array.as_string_opt::<i32>() {
            strings.iter().for_each(|text| push_value(text.map(str::as_bytes)));
        } else if let Some(values) = array.as_binary_opt::<i32>() {
            values.iter().for_each(push_value);
        } else if let Some(names) = array
            .as_dictionary_opt::<Int32Type>()
            .and_then(|names| names.downcast_dict::<StringArray>())
        {
            names.into_iter().for_each(|name| push_value(name.map(str::as_bytes)));
        }
        if self.is_text {
            let mut start = 0;
            for end in &ends {
                let text = String::from_utf8_lossy(&bytes[start..*end]);
                self.max_chars = self.max_chars.max(text.chars().count());
                self.ends_in_nul |= text.ends_with('\0');
                start = *end;
            }
        }
        let stored_len = self.bytes.len() as i64;
        let ends = ends.into_iter().map(|end| stored_len + end as i64);
        spill_file.push(&mut self.ends, &integer_bytes(ends))?;
        Ok(spill_file.push(&mut self.bytes, &bytes)?)
    }
}

/// Encodes 64-bit integers as little-endian bytes.
fn integer_bytes(values: impl Iterator<Item = i64>) -> Vec<u8> {
    values.flat_map(i64::to_le_bytes).collect()
}

/// Returns the values of an array of numbers, booleans or times as little-endian bytes; the
/// values of nulls are unspecified. Numbers without nulls are not copied.
fn value_bytes(array: &ArrayRef) -> Buffer {
    macro_rules! numbers {
        ($type:ty, $missing:expr) => {{
            let numbers = array.as_primitive::<$type>();
            let values = || numbers.iter().map(|value| value.unwrap_or($missing));
            if cfg!(target_endian = "big") {
                Buffer::from_iter(values().flat_map(|value| value.to_le_bytes()))
            } else if numbers.null_count() == 0 {
                numbers.values().inner().clone()
            } else {
                Buffer::from_vec(values().collect::<Vec<_>>())
            }
        }};
    }
    match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean().iter();
            Buffer::from_iter(values.map(|value| u8::from(value.unwrap_or(false))))
        }
        DataType::Int8 => numbers!(Int8Type, 0),
        DataType::Int16 => numbers!(Int16Type, 0),
        DataType::Int32 => numbers!(Int32Type, 0),
        DataType::Int64 => numbers!(Int64Type, 0),
        DataType::UInt8 => numbers!(UInt8Type, 0),
        DataType::UInt16 => numbers!(UInt16Type, 0),
        DataType::UInt32 => numbers!(UInt32Type, 0),
        DataType::UInt64 => numbers!(UInt64Type, 0),
        DataType::Float32 => numbers!(Float32Type, f32::NAN),
        DataType::Float64 => numbers!(Float64Type, f64::NAN),
        DataType::Timestamp(..) => numbers!(TimestampNanosecondType, i64::MIN),
        DataType::Duration(_) => numbers!(DurationNanosecondType, i64::MIN),
        _ => Buffer::default(),
    }
}

/// A reader of a stream of 64-bit integers, e.g. of the ends of lists.
pub(super) struct IntegerReader<'s>(BufReader<SpillReader<'s>>);

impl<'s> IntegerReader<'s> {
    /// Creates a reader of `stream`.
    pub(super) fn new(spill_file: &'s SpillFile, stream: &'s SpillStream) -> Self {
        Self(BufReader::with_capacity(64 << 10, spill_file.read(stream)))
    }

    /// Reads the next integer.
    pub(super) fn next(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}
