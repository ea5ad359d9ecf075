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

use crate::arrays::spill::{Spill, SpillReader, SpillStream};

/// The values of a column that were collected so far.
#[derive(Debug)]
pub(super) struct ArrayColumn {
    /// The name of the column; the items of lists have an empty name.
    pub(super) name: String,
    /// The fixed dimensions of each value, e.g. `[4]` for `float[4]`.
    pub(super) dims: Vec<usize>,
    /// The number of values.
    pub(super) count: u64,
    pub(super) body: ColumnData,
    /// One byte for each value: 1 if it is present, 0 if it is null. `None` as long as no value
    /// is null.
    pub(super) valid: Option<SpillStream>,
}

/// The values of a column, by kind of type.
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
    pub(super) longest: usize,
    /// Whether a string ends in NUL.
    pub(super) has_nul: bool,
}

impl ArrayColumn {
    /// Creates an empty column for values of `field`.
    ///
    /// # Errors
    /// The type has no representation as an array.
    pub(super) fn new(field: &Field) -> Result<Self> {
        let mut dims = Vec::new();
        let mut data_type = field.data_type();
        while let DataType::FixedSizeList(item, len) = data_type {
            dims.push(usize::try_from(*len).unwrap_or(0));
            data_type = item.data_type();
        }
        let body = match data_type {
            DataType::FixedSizeBinary(len) => {
                dims.push(usize::try_from(*len).unwrap_or(0));
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
        Ok(Self { name: field.name().clone(), dims, count: 0, body, valid: None })
    }

    /// Returns the number of bytes of a value of `data_type`.
    pub(super) fn width(data_type: &DataType) -> usize {
        data_type.primitive_width().unwrap_or(1)
    }

    /// Appends the values of `array`.
    pub(super) fn push(&mut self, array: &ArrayRef, spill: &Spill) -> Result<()> {
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
        self.push_valid(array.len(), array.logical_nulls().as_ref(), spill)?;
        self.count += array.len() as u64;
        match &mut self.body {
            ColumnData::Values(_, stream) => spill.push(stream, &bytes(&array))?,
            ColumnData::Strings(texts) => texts.push(&array, spill)?,
            ColumnData::Lists(ends, items) => {
                let list = array.as_list::<i32>();
                let (first, last) =
                    (list.value_offsets()[0], list.value_offsets()[list.len()]);
                let base = items.count as i64 - i64::from(first);
                let validity = list.value_offsets()[1..].iter();
                spill.push(ends, &ints(validity.map(|end| base + i64::from(*end))))?;
                let len = (last - first) as usize;
                items.push(&list.values().slice(first as usize, len), spill)?;
            }
            ColumnData::Fields(fields) => {
                for (field, array) in fields.iter_mut().zip(array.as_struct().columns())
                {
                    field.push(array, spill)?;
                }
            }
        }
        Ok(())
    }

    /// Appends the validity of `len` values.
    fn push_valid(
        &mut self,
        len: usize,
        nulls: Option<&NullBuffer>,
        spill: &Spill,
    ) -> io::Result<()> {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        if nulls.is_none() && self.valid.is_none() {
            return Ok(());
        }
        let valid = match &mut self.valid {
            Some(valid) => valid,
            none => {
                let valid = none.insert(SpillStream::default());
                let mut before = self.count;
                while before > 0 {
                    let some = before.min(1 << 16);
                    spill.push(valid, &vec![1; some as usize])?;
                    before -= some;
                }
                valid
            }
        };
        let validity: Vec<u8> = match nulls {
            Some(nulls) => nulls.iter().map(u8::from).collect(),
            None => vec![1; len],
        };
        spill.push(valid, &validity)
    }

    /// Returns the validity if it must be written as an array of its own. Missing floats are NaN
    /// and missing times are the least integer, so they need no such array.
    pub(super) fn validity_array(&self) -> Option<&SpillStream> {
        let has_sentinel = match &self.body {
            ColumnData::Values(data_type, _) => matches!(
                data_type,
                DataType::Float32
                    | DataType::Float64
                    | DataType::Timestamp(..)
                    | DataType::Duration(_)
            ),
            _ => false,
        };
        self.valid.as_ref().filter(|_| !has_sentinel)
    }
}

impl Strings {
    fn push(&mut self, array: &ArrayRef, spill: &Spill) -> Result<()> {
        let (mut ends, mut bytes) = (Vec::new(), Vec::new());
        let mut push = |value: Option<&[u8]>| {
            bytes.extend_from_slice(value.unwrap_or_default());
            ends.push(bytes.len());
        };
        if let Some(strings) = array.as_string_opt::<i32>() {
            strings.iter().for_each(|text| push(text.map(str::as_bytes)));
        } else if let Some(values) = array.as_binary_opt::<i32>() {
            values.iter().for_each(push);
        } else if let Some(names) = array
            .as_dictionary_opt::<Int32Type>()
            .and_then(|names| names.downcast_dict::<StringArray>())
        {
            names.into_iter().for_each(|name| push(name.map(str::as_bytes)));
        }
        if self.is_text {
            let mut start = 0;
            for end in &ends {
                let text = String::from_utf8_lossy(&bytes[start..*end]);
                self.longest = self.longest.max(text.chars().count());
                self.has_nul |= text.ends_with('\0');
                start = *end;
            }
        }
        let base = self.bytes.len() as i64;
        spill.push(
            &mut self.ends,
            &ints(ends.into_iter().map(|end| base + end as i64)),
        )?;
        Ok(spill.push(&mut self.bytes, &bytes)?)
    }
}

/// Little-endian 64-bit integers.
fn ints(values: impl Iterator<Item = i64>) -> Vec<u8> {
    values.flat_map(i64::to_le_bytes).collect()
}

/// Returns the values of an array of numbers, booleans or times as little-endian bytes; the
/// values of nulls are unspecified. Numbers without nulls are not copied.
fn bytes(array: &ArrayRef) -> Buffer {
    macro_rules! each {
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
        DataType::Int8 => each!(Int8Type, 0),
        DataType::Int16 => each!(Int16Type, 0),
        DataType::Int32 => each!(Int32Type, 0),
        DataType::Int64 => each!(Int64Type, 0),
        DataType::UInt8 => each!(UInt8Type, 0),
        DataType::UInt16 => each!(UInt16Type, 0),
        DataType::UInt32 => each!(UInt32Type, 0),
        DataType::UInt64 => each!(UInt64Type, 0),
        DataType::Float32 => each!(Float32Type, f32::NAN),
        DataType::Float64 => each!(Float64Type, f64::NAN),
        DataType::Timestamp(..) => each!(TimestampNanosecondType, i64::MIN),
        DataType::Duration(_) => each!(DurationNanosecondType, i64::MIN),
        _ => Buffer::default(),
    }
}

/// Reads 64-bit integers one by one, e.g. the ends of lists.
pub(super) struct IntegerReader<'s>(BufReader<SpillReader<'s>>);

impl<'s> IntegerReader<'s> {
    /// Creates a reader of `stream` that starts at the integer with the index `start`.
    pub(super) fn new(spill: &'s Spill, stream: &'s SpillStream, start: u64) -> Self {
        Self(BufReader::with_capacity(64 << 10, spill.read(stream, start * 8)))
    }

    /// Reads the next integer.
    pub(super) fn next(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}
