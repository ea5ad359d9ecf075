//! Building the Arrow arrays of columns of points.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, FixedSizeListArray, PrimitiveArray, types::*,
};
use arrow_buffer::{NullBuffer, NullBufferBuilder, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use logtool_core::{Error, ErrorKind, Primitive, Result};

use crate::points::{PointColumnType, PointValues, StridedValues};

/// A column to which each message adds values.
pub(super) trait ColumnBuilder: Send {
    /// Appends the values of a message with this number of points.
    fn add(&mut self, values: &PointValues<'_>, points: usize);

    /// Returns the values so far, and removes them.
    fn take(&mut self) -> Result<ArrayRef>;
}

/// The part of the values of a field that forms one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValuePart {
    /// The only value of each point.
    Single,
    /// All values of each point as a list: this number of values.
    List(u32),
    /// The value with this index of each point.
    Element(u32),
}

/// Creates a builder of a column with the `part` of values of the type `kind`.
pub(super) fn column_builder(
    kind: PointColumnType,
    part: ValuePart,
) -> Box<dyn ColumnBuilder> {
    fn numbers<N: Number>(part: ValuePart) -> Box<dyn ColumnBuilder> {
        let nulls = NullBufferBuilder::new(0);
        Box::new(NumberBuilder::<N> { part, values: Vec::new(), nulls })
    }
    match kind {
        PointColumnType::Number(Primitive::I8) => numbers::<Int8Type>(part),
        PointColumnType::Number(Primitive::U8 | Primitive::Bool | Primitive::Char) => {
            numbers::<UInt8Type>(part)
        }
        PointColumnType::Number(Primitive::I16) => numbers::<Int16Type>(part),
        PointColumnType::Number(Primitive::U16) => numbers::<UInt16Type>(part),
        PointColumnType::Number(Primitive::I32) => numbers::<Int32Type>(part),
        PointColumnType::Number(Primitive::U32) => numbers::<UInt32Type>(part),
        PointColumnType::Number(Primitive::I64) => numbers::<Int64Type>(part),
        PointColumnType::Number(Primitive::U64) => numbers::<UInt64Type>(part),
        PointColumnType::Number(Primitive::F32) => numbers::<Float32Type>(part),
        PointColumnType::Number(Primitive::F64) => numbers::<Float64Type>(part),
        PointColumnType::Time => numbers::<TimestampNanosecondType>(part),
    }
}

/// Returns the Arrow type of a column with the `part` of values of the type `kind`.
pub(super) fn data_type(kind: PointColumnType, part: ValuePart) -> DataType {
    let element = match kind {
        PointColumnType::Number(primitive) => primitive.data_type(),
        PointColumnType::Time => DataType::Timestamp(TimeUnit::Nanosecond, None),
    };
    match part {
        ValuePart::Single | ValuePart::Element(_) => element,
        ValuePart::List(count) => DataType::FixedSizeList(item(element), count as i32),
    }
}

/// Returns the field of the elements of a list.
fn item(data_type: DataType) -> FieldRef {
    Arc::new(Field::new("item", data_type, false))
}

/// A builder of a column of numbers or times.
struct NumberBuilder<N: Number> {
    part: ValuePart,
    values: Vec<N::Native>,
    nulls: NullBufferBuilder,
}

impl<N: Number> NumberBuilder<N> {
    /// Marks the first `valid` of `points` points as valid: their values are already appended.
    /// Appends nulls for the others.
    fn append_validity(&mut self, valid: usize, points: usize) {
        let valid = valid.min(points);
        let missing = points - valid;
        let values_per_point =
            if let ValuePart::List(count) = self.part { count as usize } else { 1 };
        let len = self.values.len() + missing * values_per_point;
        self.values.resize(len, N::default_value());
        self.nulls.append_n_non_nulls(valid);
        self.nulls.append_n_nulls(missing);
    }
}

/// A type of numbers or times in a column, and how its values are read.
trait Number: ArrowPrimitiveType {
    /// Appends the `part` of the values of each point of `strided`.
    fn gather(
        strided: StridedValues<'_>,
        part: ValuePart,
        values: &mut Vec<Self::Native>,
    );

    /// Appends the `part` of the values of each point of `strided`, which have the narrower type
    /// `kind`.
    fn widen(
        strided: StridedValues<'_>,
        kind: Primitive,
        part: ValuePart,
        values: &mut Vec<Self::Native>,
    );

    /// Converts a computed float. Only columns of floats have such values.
    fn float(_: f64) -> Self::Native {
        Self::default_value()
    }

    /// Converts a computed time. Only columns of times have such values.
    fn time(_: i64) -> Self::Native {
        Self::default_value()
    }
}

impl<N: Number> ColumnBuilder for NumberBuilder<N> {
    fn add(&mut self, values: &PointValues<'_>, points: usize) {
        match values {
            PointValues::Strided(strided) => {
                N::gather(*strided, self.part, &mut self.values);
                self.append_validity(strided.points(), points);
            }
            PointValues::Narrow(strided, kind) => {
                N::widen(*strided, *kind, self.part, &mut self.values);
                self.append_validity(strided.points(), points);
            }
            PointValues::Floats(floats) => {
                for float in floats {
                    self.values.push(N::float(float.unwrap_or_default()));
                    self.nulls.append(float.is_some());
                }
            }
            PointValues::Times(times) => {
                self.values.extend(times.iter().map(|time| N::time(*time)));
                self.nulls.append_n_non_nulls(points);
            }
            PointValues::Nothing => self.append_validity(0, points),
        }
    }

    fn take(&mut self) -> Result<ArrayRef> {
        let values = ScalarBuffer::from(std::mem::take(&mut self.values));
        let nulls: Option<NullBuffer> = self.nulls.finish();
        let ValuePart::List(count) = self.part else {
            return Ok(Arc::new(PrimitiveArray::<N>::new(values, nulls)));
        };
        let values: ArrayRef = Arc::new(PrimitiveArray::<N>::new(values, None));
        let item = item(N::DATA_TYPE);
        let list = FixedSizeListArray::try_new(item, count as i32, values, nulls);
        Ok(Arc::new(list.map_err(|err| {
            Error::new(ErrorKind::Malformed, "inconsistent lists").with_source(err)
        })?))
    }
}

/// Gathers values of the type `$kind`, and casts them to `$native`.
macro_rules! gather_and_cast {
    ($strided:ident, $kind:ident, $part:ident, $values:ident, $native:ty:
     $($narrow:ident $arrow:ty),*) => {
        match $kind {
            $(Primitive::$narrow => {
                let mut narrow = Vec::new();
                <$arrow as Number>::gather($strided, $part, &mut narrow);
                $values.extend(narrow.into_iter().map(|value| value as $native));
            })*
            _ => {}
        }
    };
}

/// Implements [`Number`] for an Arrow type and its native type. `$convert` is the conversion of
/// computed values of the type `$computed` that the type has.
macro_rules! numbers {
    ($($arrow:ty, $native:ty $(, $convert:ident: $computed:ty)?;)*) => { $(
        impl Number for $arrow {
            fn gather(strided: StridedValues<'_>, part: ValuePart, values: &mut Vec<$native>) {
                const LEN: usize = size_of::<$native>();
                let read: fn([u8; LEN]) -> $native = match strided.is_big {
                    true => <$native>::from_be_bytes,
                    false => <$native>::from_le_bytes,
                };
                let read = |bytes: &[u8]| {
                    bytes.first_chunk().map_or(<$native>::default(), |bytes| read(*bytes))
                };
                match (part, strided.is_big) {
                    // The most frequent cases are faster without the function pointer.
                    (ValuePart::Single, false) => strided.for_each_value(|bytes| {
                        values.push(<$native>::from_le_bytes(bytes));
                    }),
                    (ValuePart::Single, true) => strided.for_each_value(|bytes| {
                        values.push(<$native>::from_be_bytes(bytes));
                    }),
                    (ValuePart::List(_), _) => strided.for_each_point(|bytes| {
                        values.extend(bytes.chunks_exact(LEN).map(read));
                    }),
                    (ValuePart::Element(element), _) => strided.for_each_point(|bytes| {
                        let start = element as usize * LEN;
                        values.push(read(bytes.get(start..).unwrap_or_default()));
                    }),
                }
            }

            fn widen(
                strided: StridedValues<'_>,
                kind: Primitive,
                part: ValuePart,
                values: &mut Vec<$native>,
            ) {
                gather_and_cast!(strided, kind, part, values, $native:
                    I8 Int8Type, U8 UInt8Type, I16 Int16Type, U16 UInt16Type,
                    I32 Int32Type, U32 UInt32Type, F32 Float32Type);
            }

            $(fn $convert(value: $computed) -> $native {
                value as $native
            })?
        }
    )* };
}

numbers! {
    Int8Type, i8;
    UInt8Type, u8;
    Int16Type, i16;
    UInt16Type, u16;
    Int32Type, i32;
    UInt32Type, u32;
    Int64Type, i64;
    UInt64Type, u64;
    Float32Type, f32, float: f64;
    Float64Type, f64, float: f64;
    TimestampNanosecondType, i64, time: i64;
}
