//! The numeric columns of points.

use std::{collections::BTreeSet, sync::Arc};

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, RecordBatch, UInt8Array,
    cast::AsArray as _,
    types::{
        Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, Schema, TimeUnit};

use crate::text::number::Number;

/// The names of columns with times of points, in the order in which they are preferred.
pub(super) const TIME_NAMES: [&str; 7] = [
    "t",
    "offset_time",
    "time_offset",
    "timestamp",
    "time",
    "time_stamp",
    "timestamps",
];

/// The key in the metadata of a column whose name in the source of the points is another one,
/// because two columns have it.
const OWN_NAME_KEY: &str = "own_name";

/// The name of the time of records in files of the points of messages, whose points may have a
/// `time` of their own.
const RECORD_TIME: &str = "record_time";

/// A numeric column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PointColumn {
    /// Its unique name in the table, without blanks and brackets.
    pub(super) name: String,
    /// The name that the source of the points has for it, which two columns may have.
    pub(super) own_name: String,
    pub(super) number_type: NumberType,
    /// Its index in the schema.
    pub(super) index: usize,
    /// Whether it is not an attribute of a point, but of its message: its time and stamp, and the
    /// place of the point in it.
    is_of_message: bool,
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberType {
    /// A signed or unsigned integer of `bytes` bytes.
    Integer { is_signed: bool, bytes: usize },
    /// A float of `bytes` bytes.
    Float { bytes: usize },
    /// A time in nanoseconds.
    Time,
}

impl PointColumn {
    /// Returns whether it has the stamps of messages.
    pub(super) fn is_stamp(&self) -> bool {
        self.is_of_message && self.own_name == "stamp"
    }

    /// Returns whether each of its numbers has all channels of a colour in its 32 bits.
    pub(super) fn is_packed_color(&self) -> bool {
        matches!(self.own_name.as_str(), "rgb" | "rgba")
            && self.number_type.bytes() == 4
    }

    /// Returns whether it may have times of the points of messages.
    pub(super) fn may_be_own_time(&self) -> bool {
        !self.is_of_message
            && self.number_type != NumberType::Time
            && TIME_NAMES.contains(&self.own_name.as_str())
    }
}

/// A number that can be converted to the representations of all file formats.
pub(super) trait Scalar: Number {
    /// The value that is written instead of null.
    const NULL_VALUE: Self;

    fn to_f64(self) -> f64;

    /// Writes its bytes (little-endian) to the start of `target`.
    fn write_bytes(self, target: &mut [u8]);
}

macro_rules! scalars {
    ($($type:ty: $null_value:expr),*) => {$(
        impl Scalar for $type {
            const NULL_VALUE: Self = $null_value;

            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline]
            fn write_bytes(self, target: &mut [u8]) {
                let bytes = self.to_le_bytes();
                target.iter_mut().zip(bytes).for_each(|(target, byte)| *target = byte);
            }
        }
    )*};
}

scalars! {
    i8: 0, u8: 0, i16: 0, u16: 0, i32: 0, u32: 0, i64: 0, u64: 0,
    f32: Self::NAN, f64: Self::NAN
}

/// An operation on the numbers of a column of any type.
pub(super) trait ColumnVisitor {
    fn visit<T>(&mut self, numbers: &PrimitiveArray<T>)
    where
        T: ArrowPrimitiveType<Native: Scalar>;
}

/// Returns the numeric columns of `schema`, with `x`, `y` and `z` first. Returns no columns if one
/// of these is missing.
pub(super) fn point_columns(schema: &Schema) -> Vec<PointColumn> {
    let mut columns = numeric_columns(schema);
    for (target_index, name) in ["x", "y", "z"].into_iter().enumerate() {
        let Some(index) = columns.iter().position(|column| column.name == name) else {
            return Vec::new();
        };
        columns[target_index..=index].rotate_right(1);
    }
    columns
}

/// Returns the numeric columns of `schema`.
pub(super) fn numeric_columns(schema: &Schema) -> Vec<PointColumn> {
    let safe_name = |name: &str| -> String {
        let is_safe =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let chars = name.chars().filter(|c| *c != ']');
        chars.map(|c| if is_safe(c) { c } else { '_' }).collect()
    };
    // Tables of the points of messages start with the time, the stamp, and the place of the point.
    let is_of_messages = schema.fields().get(1).is_some_and(|field| {
        field.name() == "stamp"
            && NumberType::from_type(field.data_type()) == Some(NumberType::Time)
    });
    let mut used_names = BTreeSet::new();
    let mut columns: Vec<PointColumn> = Vec::new();
    for (index, field) in schema.fields().iter().enumerate() {
        let Some(number_type) = NumberType::from_type(field.data_type()) else {
            continue;
        };
        let mut name = safe_name(field.name());
        while name.is_empty() || !used_names.insert(name.clone()) {
            name.push('_');
        }
        let is_place = matches!(name.as_str(), "index" | "row" | "column");
        let is_of_message = is_of_messages && (index < 2 || is_place);
        let own_name = match field.metadata().get(OWN_NAME_KEY) {
            Some(own_name) => safe_name(own_name),
            None if is_of_message && index == 0 => RECORD_TIME.to_owned(),
            None => name.clone(),
        };
        columns.push(PointColumn { name, own_name, number_type, index, is_of_message });
    }
    columns
}

/// Gives `columns` unique names for a file: their own names, as far as possible. The attributes of
/// points have precedence over those of messages.
pub(super) fn with_file_names(mut columns: Vec<PointColumn>) -> Vec<PointColumn> {
    let mut used_names = BTreeSet::new();
    for is_of_message in [false, true] {
        for column in columns.iter_mut().filter(|c| c.is_of_message == is_of_message) {
            column.own_name.clone_into(&mut column.name);
            while column.name.is_empty() || !used_names.insert(column.name.clone()) {
                column.name.push('_');
            }
        }
    }
    columns
}

impl NumberType {
    /// The type of unsigned integers of 8 bits.
    pub(super) const BYTE: Self = Self::Integer { is_signed: false, bytes: 1 };

    /// Returns the number type of `data_type`, or `None` if it is not numeric.
    fn from_type(data_type: &DataType) -> Option<Self> {
        let integer = |is_signed, bytes| Self::Integer { is_signed, bytes };
        Some(match data_type {
            DataType::Boolean | DataType::UInt8 => integer(false, 1),
            DataType::UInt16 => integer(false, 2),
            DataType::UInt32 => integer(false, 4),
            DataType::UInt64 => integer(false, 8),
            DataType::Int8 => integer(true, 1),
            DataType::Int16 => integer(true, 2),
            DataType::Int32 => integer(true, 4),
            DataType::Int64 => integer(true, 8),
            DataType::Float32 => Self::Float { bytes: 4 },
            DataType::Float64 => Self::Float { bytes: 8 },
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Self::Time,
            _ => return None,
        })
    }

    /// Returns the number of bytes of a number.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Integer { bytes, .. } | Self::Float { bytes } => bytes,
            Self::Time => 8,
        }
    }
}

/// Returns the arrays of `columns` in `batch`, with booleans as 0 and 1.
pub(super) fn arrays(batch: &RecordBatch, columns: &[PointColumn]) -> Vec<ArrayRef> {
    let array = |column: &PointColumn| {
        let array = batch.column(column.index);
        match array.as_boolean_opt() {
            Some(booleans) => {
                let numbers = booleans.iter().map(|value| value.map(u8::from));
                Arc::new(numbers.collect::<UInt8Array>())
            }
            None => array.clone(),
        }
    };
    columns.iter().map(array).collect()
}

/// Calls `visitor` with the numbers of `array`.
pub(super) fn visit(array: &ArrayRef, visitor: &mut impl ColumnVisitor) {
    match array.data_type() {
        DataType::Int8 => visitor.visit(array.as_primitive::<Int8Type>()),
        DataType::UInt8 => visitor.visit(array.as_primitive::<UInt8Type>()),
        DataType::Int16 => visitor.visit(array.as_primitive::<Int16Type>()),
        DataType::UInt16 => visitor.visit(array.as_primitive::<UInt16Type>()),
        DataType::Int32 => visitor.visit(array.as_primitive::<Int32Type>()),
        DataType::UInt32 => visitor.visit(array.as_primitive::<UInt32Type>()),
        DataType::Int64 => visitor.visit(array.as_primitive::<Int64Type>()),
        DataType::UInt64 => visitor.visit(array.as_primitive::<UInt64Type>()),
        DataType::Float32 => visitor.visit(array.as_primitive::<Float32Type>()),
        DataType::Float64 => visitor.visit(array.as_primitive::<Float64Type>()),
        DataType::Timestamp(..) => {
            visitor.visit(array.as_primitive::<TimestampNanosecondType>());
        }
        _ => {} // no other type has a `NumberType`
    }
}

/// Calls `action` with each number of `numbers`, and with [`Scalar::NULL_VALUE`] for nulls.
pub(super) fn for_each_number<T>(
    numbers: &PrimitiveArray<T>,
    mut action: impl FnMut(T::Native),
) where
    T: ArrowPrimitiveType<Native: Scalar>,
{
    if numbers.null_count() == 0 {
        numbers.values().iter().for_each(|number| action(*number));
    } else {
        numbers.iter().for_each(|n| action(n.unwrap_or(T::Native::NULL_VALUE)));
    }
}

/// Converts the numbers of `array` to floats, with NaN for nulls.
pub(super) fn floats(array: &ArrayRef) -> Vec<f64> {
    struct FloatColumn(Vec<f64>);
    impl ColumnVisitor for FloatColumn {
        fn visit<T>(&mut self, numbers: &PrimitiveArray<T>)
        where
            T: ArrowPrimitiveType<Native: Scalar>,
        {
            if numbers.null_count() == 0 {
                self.0.extend(numbers.values().iter().map(|n| n.to_f64()));
            } else {
                let float = |n: Option<T::Native>| n.map_or(f64::NAN, Scalar::to_f64);
                self.0.extend(numbers.iter().map(float));
            }
        }
    }
    let mut floats = FloatColumn(Vec::with_capacity(array.len()));
    visit(array, &mut floats);
    floats.0
}

/// Converts the numbers of `array` to `u32`; numbers out of range become the nearest `u32`.
pub(super) fn integers(array: &ArrayRef) -> Vec<u32> {
    // `as` rounds a float towards zero and saturates.
    floats(array).into_iter().map(|number| number as u32).collect()
}

/// Returns the times of `array` in nanoseconds, or `None` if it is not an array of times.
pub(super) fn time_values(array: &ArrayRef) -> Option<Vec<Option<i64>>> {
    let times = array.as_primitive_opt::<TimestampNanosecondType>()?;
    Some(times.iter().collect())
}
