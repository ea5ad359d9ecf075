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
    pub(super) kind: NumberType,
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

/// A number in the forms that the file formats need.
pub(super) trait Scalar: Number {
    /// The value that is written for null.
    const ABSENT: Self;

    fn float(self) -> f64;

    /// Writes its bytes (little-endian) to the start of `bytes_out`.
    fn put_bytes(self, bytes_out: &mut [u8]);
}

macro_rules! scalars {
    ($($type:ty: $absent:expr),*) => {$(
        impl Scalar for $type {
            const ABSENT: Self = $absent;

            #[inline]
            fn float(self) -> f64 {
                self as f64
            }

            #[inline]
            fn put_bytes(self, bytes_out: &mut [u8]) {
                let bytes = self.to_le_bytes();
                bytes_out.iter_mut().zip(bytes).for_each(|(bytes_out, byte)| *bytes_out = byte);
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
pub(super) fn columns(schema: &Schema) -> Vec<PointColumn> {
    let mut names = BTreeSet::new();
    let mut point_columns: Vec<PointColumn> = Vec::new();
    for (index, field) in schema.fields().iter().enumerate() {
        let Some(kind) = NumberType::from_type(field.data_type()) else { continue };
        let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let name = field.name().replace(']', "");
        let mut name: String =
            name.chars().map(|c| if keep(c) { c } else { '_' }).collect();
        while name.is_empty() || !names.insert(name.clone()) {
            name.push('_');
        }
        point_columns.push(PointColumn { name, kind, index });
    }
    for (index, name) in ["x", "y", "z"].into_iter().enumerate() {
        let Some(position) =
            point_columns.iter().position(|column| column.name == name)
        else {
            return Vec::new();
        };
        point_columns[index..=position].rotate_right(1);
    }
    point_columns
}

impl NumberType {
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

/// Calls `visit` with the numbers of `array`.
pub(super) fn visit(array: &ArrayRef, visit: &mut impl ColumnVisitor) {
    match array.data_type() {
        DataType::Int8 => visit.visit(array.as_primitive::<Int8Type>()),
        DataType::UInt8 => visit.visit(array.as_primitive::<UInt8Type>()),
        DataType::Int16 => visit.visit(array.as_primitive::<Int16Type>()),
        DataType::UInt16 => visit.visit(array.as_primitive::<UInt16Type>()),
        DataType::Int32 => visit.visit(array.as_primitive::<Int32Type>()),
        DataType::UInt32 => visit.visit(array.as_primitive::<UInt32Type>()),
        DataType::Int64 => visit.visit(array.as_primitive::<Int64Type>()),
        DataType::UInt64 => visit.visit(array.as_primitive::<UInt64Type>()),
        DataType::Float32 => visit.visit(array.as_primitive::<Float32Type>()),
        DataType::Float64 => visit.visit(array.as_primitive::<Float64Type>()),
        DataType::Timestamp(..) => {
            visit.visit(array.as_primitive::<TimestampNanosecondType>());
        }
        _ => {} // no Kind
    }
}

/// Calls `take` with each number of `numbers`, and with [`Scalar::ABSENT`] for nulls.
pub(super) fn for_each_number<T>(
    numbers: &PrimitiveArray<T>,
    mut take: impl FnMut(T::Native),
) where
    T: ArrowPrimitiveType<Native: Scalar>,
{
    if numbers.null_count() == 0 {
        numbers.values().iter().for_each(|number| take(*number));
    } else {
        numbers.iter().for_each(|n| take(n.unwrap_or(T::Native::ABSENT)));
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
            self.0.extend(numbers.iter().map(|n| n.map_or(f64::NAN, Scalar::float)));
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
pub(super) fn times_of_points(array: &ArrayRef) -> Option<Vec<Option<i64>>> {
    let times_of_points = array.as_primitive_opt::<TimestampNanosecondType>()?;
    Some(times_of_points.iter().collect())
}
