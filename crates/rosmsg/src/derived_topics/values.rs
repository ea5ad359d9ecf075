//! The values of a column of points.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, FixedSizeListArray, PrimitiveArray, types::*,
};
use arrow_buffer::{NullBuffer, NullBufferBuilder, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use logtool_core::{Error, ErrorKind, Primitive, Result};

use crate::points::{PointColumnType, PointValues, StridedValues};

/// A column that grows with each message.
pub(super) trait ColumnBuilder: Send {
    /// Appends the values of `points` points.
    fn add(&mut self, fill: &PointValues<'_>, points: usize);

    /// Returns the values so far, and starts again.
    fn take(&mut self) -> Result<ArrayRef>;
}

/// The values of a field with several values per point that form one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValuePart {
    /// The only value.
    One,
    /// All values, this many, as a list.
    List(u32),
    /// The value with this index.
    Element(u32),
}

/// Creates a column of values of the type `kind`.
pub(super) fn values(kind: PointColumnType, part: ValuePart) -> Box<dyn ColumnBuilder> {
    fn numbers<N: Numeral>(part: ValuePart) -> Box<dyn ColumnBuilder> {
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

/// Returns the Arrow type of such a column.
pub(super) fn data_type(kind: PointColumnType, part: ValuePart) -> DataType {
    let element = match kind {
        PointColumnType::Number(primitive) => primitive.data_type(),
        PointColumnType::Time => DataType::Timestamp(TimeUnit::Nanosecond, None),
    };
    match part {
        ValuePart::One | ValuePart::Element(_) => element,
        ValuePart::List(count) => DataType::FixedSizeList(item(element), count as i32),
    }
}

fn item(data_type: DataType) -> FieldRef {
    Arc::new(Field::new("item", data_type, false))
}

struct NumberBuilder<N: Numeral> {
    part: ValuePart,
    values: Vec<N::Native>,
    nulls: NullBufferBuilder,
}

impl<N: Numeral> NumberBuilder<N> {
    /// Appends nulls for the last `missing` of `points` points, which have no values.
    fn fill_up(&mut self, missing: usize, points: usize) {
        let each = if let ValuePart::List(count) = self.part { count } else { 1 };
        let len = self.values.len() + missing * each as usize;
        self.values.resize(len, N::default_value());
        self.nulls.append_n_non_nulls(points - missing);
        self.nulls.append_n_nulls(missing);
    }
}

/// A numeric type, with the ways to read it.
trait Numeral: ArrowPrimitiveType {
    /// Appends the values of `strided`, or the one selected by `part` of each point.
    fn gather(
        strided: StridedValues<'_>,
        part: ValuePart,
        values: &mut Vec<Self::Native>,
    );

    /// Appends the values of `strided`, which have the type `kind`.
    fn widen(
        strided: StridedValues<'_>,
        kind: Primitive,
        part: ValuePart,
        values: &mut Vec<Self::Native>,
    );

    /// Converts a computed float.
    fn float(_: f32) -> Self::Native {
        Self::default_value()
    }

    /// Converts a computed time.
    fn time(_: i64) -> Self::Native {
        Self::default_value()
    }
}

impl<N: Numeral> ColumnBuilder for NumberBuilder<N> {
    fn add(&mut self, fill: &PointValues<'_>, points: usize) {
        match fill {
            PointValues::Strided(strided) => {
                N::gather(*strided, self.part, &mut self.values);
                self.fill_up(points - strided.points().min(points), points);
            }
            PointValues::Narrow(strided, kind) => {
                N::widen(*strided, *kind, self.part, &mut self.values);
                self.fill_up(points - strided.points().min(points), points);
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
            PointValues::Nothing => self.fill_up(points, points),
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

macro_rules! narrow {
    ($strided:ident, $kind:ident, $part:ident, $values:ident, $native:ty:
     $($of:ident $arrow:ty),*) => {
        match $kind {
            $(Primitive::$of => {
                let mut narrow = Vec::new();
                <$arrow as Numeral>::gather($strided, $part, &mut narrow);
                $values.extend(narrow.into_iter().map(|value| value as $native));
            })*
            _ => {}
        }
    };
}

macro_rules! numerals {
    ($($arrow:ty, $native:ty $(, $name:ident: $from:ty)?;)*) => { $(
        impl Numeral for $arrow {
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
                    (ValuePart::One, false) => strided.each_one(|bytes| {
                        values.push(<$native>::from_le_bytes(bytes));
                    }),
                    (ValuePart::One, true) => strided.each_one(|bytes| {
                        values.push(<$native>::from_be_bytes(bytes));
                    }),
                    (ValuePart::List(_), _) => strided.for_each_point(|bytes| {
                        values.extend(bytes.chunks_exact(LEN).map(read));
                    }),
                    (ValuePart::Element(element), _) => strided.for_each_point(|bytes| {
                        let at = element as usize * LEN;
                        values.push(read(bytes.get(at..).unwrap_or_default()));
                    }),
                }
            }

            fn widen(
                strided: StridedValues<'_>,
                kind: Primitive,
                part: ValuePart,
                values: &mut Vec<$native>,
            ) {
                narrow!(strided, kind, part, values, $native:
                    I8 Int8Type, U8 UInt8Type, I16 Int16Type, U16 UInt16Type,
                    I32 Int32Type, U32 UInt32Type, F32 Float32Type);
            }

            $(fn $name(value: $from) -> $native {
                value
            })?
        }
    )* };
}

numerals! {
    Int8Type, i8;
    UInt8Type, u8;
    Int16Type, i16;
    UInt16Type, u16;
    Int32Type, i32;
    UInt32Type, u32;
    Int64Type, i64;
    UInt64Type, u64;
    Float32Type, f32, float: f32;
    Float64Type, f64;
    TimestampNanosecondType, i64, time: i64;
}
