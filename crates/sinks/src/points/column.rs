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

/// A numeric column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PointColumn {
    /// Its unique name, without blanks and brackets.
    pub(super) name: String,
    pub(super) number_type: NumberType,
    /// Its index in the schema.
    index: usize,
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
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let mut used_names = BTreeSet::new();
    let mut columns: Vec<PointColumn> = Vec::new();
    for (index, field) in schema.fields().iter().enumerate() {
        let Some(number_type) = NumberType::from_type(field.data_type()) else {
            continue;
        };
        let mut name: String = field
            .name()
            .chars()
            .filter(|c| *c != ']')
            .map(|c| if is_safe(c) { c } else { '_' })
            .collect();
        while name.is_empty() || !used_names.insert(name.clone()) {
            name.push('_');
        }
        columns.push(PointColumn { name, number_type, index });
    }
    for (target_index, name) in ["x", "y", "z"].into_iter().enumerate() {
        let Some(index) = columns.iter().position(|column| column.name == name) else {
            return Vec::new();
        };
        columns[target_index..=index].rotate_right(1);
    }
    columns
}

impl NumberType {
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
            self.0.extend(numbers.iter().map(|n| n.map_or(f64::NAN, Scalar::to_f64)));
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
