//! Columns of numbers and Booleans decoded from pieces of payloads.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, types::*,
};
use arrow_buffer::{BooleanBuffer, ScalarBuffer};

use crate::{
    decode::columns::{
        gather::{GatherValues, ValueColumn, ValueOffsets, take},
        strings::FixedStringColumn,
    },
    model::layout::Primitive,
};

/// Returns an empty column for `primitive`.
pub(super) fn primitive_column(primitive: Primitive) -> Box<dyn ValueColumn> {
    match primitive {
        Primitive::I8 => Box::new(NumberColumn::<Int8Type>::default()),
        Primitive::I16 => Box::new(NumberColumn::<Int16Type>::default()),
        Primitive::I32 => Box::new(NumberColumn::<Int32Type>::default()),
        Primitive::I64 => Box::new(NumberColumn::<Int64Type>::default()),
        Primitive::U8 => Box::new(NumberColumn::<UInt8Type>::default()),
        Primitive::U16 => Box::new(NumberColumn::<UInt16Type>::default()),
        Primitive::U32 => Box::new(NumberColumn::<UInt32Type>::default()),
        Primitive::U64 => Box::new(NumberColumn::<UInt64Type>::default()),
        Primitive::F32 => Box::new(NumberColumn::<Float32Type>::default()),
        Primitive::F64 => Box::new(NumberColumn::<Float64Type>::default()),
        Primitive::Bool => Box::new(BooleanColumn { bytes: Vec::new() }),
        Primitive::Char => Box::new(FixedStringColumn::new(1)),
    }
}

/// Returns an empty column of timestamps with signed or unsigned seconds.
pub(super) fn timestamp_column(is_signed: bool) -> Box<dyn ValueColumn> {
    if is_signed {
        Box::new(NumberColumn::<TimestampNanosecondType, SignedTimestamp>::default())
    } else {
        Box::new(NumberColumn::<TimestampNanosecondType, UnsignedTimestamp>::default())
    }
}

/// Returns an empty column of durations.
pub(super) fn duration_column() -> Box<dyn ValueColumn> {
    Box::new(NumberColumn::<DurationNanosecondType, Duration>::default())
}

/// The way a value is read from little-endian bytes.
trait LittleEndian: Send {
    /// The type of the value.
    type Value: Copy + Default;

    const SIZE: usize = size_of::<Self::Value>();

    /// Returns the value at `offset`. The offset is always valid; otherwise the result
    /// would be 0.
    fn value_at(piece: &[u8], offset: usize) -> Self::Value;

    /// Appends all values of `row`.
    fn extend(values: &mut Vec<Self::Value>, row: &[u8]);
}

macro_rules! impl_little_endian {
    ($($reader:ty, $value:ty, $decode:expr;)*) => {$(
        impl LittleEndian for $reader {
            type Value = $value;

            #[inline(always)]
            fn value_at(piece: &[u8], offset: usize) -> $value {
                let bytes = piece.get(offset..).and_then(|bytes| bytes.first_chunk());
                bytes.map_or_else(<$value>::default, |bytes| $decode(*bytes))
            }

            #[inline(always)]
            fn extend(values: &mut Vec<$value>, row: &[u8]) {
                let chunks = row.as_chunks().0;
                values.extend(chunks.iter().map(|bytes| $decode(*bytes)));
            }
        }
    )*};
}

impl_little_endian! {
    i8, i8, i8::from_le_bytes;
    i16, i16, i16::from_le_bytes;
    i32, i32, i32::from_le_bytes;
    i64, i64, i64::from_le_bytes;
    u8, u8, u8::from_le_bytes;
    u16, u16, u16::from_le_bytes;
    u32, u32, u32::from_le_bytes;
    u64, u64, u64::from_le_bytes;
    f32, f32, f32::from_le_bytes;
    f64, f64, f64::from_le_bytes;
    UnsignedTimestamp, i64, unsigned_timestamp_nanos;
    SignedTimestamp, i64, signed_timestamp_nanos;
    Duration, i64, duration_nanos;
}

/// Reads a timestamp with unsigned seconds as nanoseconds.
struct UnsignedTimestamp;

/// Reads a timestamp with signed seconds as nanoseconds.
struct SignedTimestamp;

/// Reads a duration as nanoseconds.
struct Duration;

/// Returns a timestamp with unsigned seconds in nanoseconds. The nanoseconds of the
/// timestamp may exceed one second. The sum does not overflow an `i64`.
#[inline(always)]
fn unsigned_timestamp_nanos(bytes: [u8; 8]) -> i64 {
    let seconds_and_nanos = u64::from_le_bytes(bytes);
    i64::from(seconds_and_nanos as u32) * 1_000_000_000
        + i64::from((seconds_and_nanos >> 32) as u32)
}

/// Returns a timestamp with signed seconds in nanoseconds.
#[inline(always)]
fn signed_timestamp_nanos(bytes: [u8; 8]) -> i64 {
    let seconds_and_nanos = u64::from_le_bytes(bytes);
    i64::from(seconds_and_nanos as i32) * 1_000_000_000
        + i64::from((seconds_and_nanos >> 32) as u32)
}

/// Returns a duration in nanoseconds.
#[inline(always)]
fn duration_nanos(bytes: [u8; 8]) -> i64 {
    let seconds_and_nanos = u64::from_le_bytes(bytes);
    i64::from(seconds_and_nanos as i32) * 1_000_000_000
        + i64::from((seconds_and_nanos >> 32) as i32)
}

/// A column of numbers of one type that are read in one way.
struct NumberColumn<T: ArrowPrimitiveType, L = <T as ArrowPrimitiveType>::Native> {
    values: Vec<T::Native>,
    reader: std::marker::PhantomData<L>,
}

impl<T: ArrowPrimitiveType, L> Default for NumberColumn<T, L> {
    fn default() -> Self {
        Self { values: Vec::new(), reader: std::marker::PhantomData }
    }
}

impl<T: ArrowPrimitiveType, L: LittleEndian<Value = T::Native>> GatherValues
    for NumberColumn<T, L>
{
    fn gather<'b>(
        &mut self,
        pieces: impl ExactSizeIterator<Item = &'b [u8]>,
        value_offsets: &ValueOffsets,
    ) {
        match value_offsets {
            ValueOffsets::One(offset) => {
                self.values.extend(pieces.map(|piece| L::value_at(piece, *offset)));
            }
            ValueOffsets::Adjacent { start, count } => {
                let len = count * L::SIZE;
                self.values.reserve(pieces.len() * count);
                for piece in pieces {
                    let row = piece.get(*start..start + len).unwrap_or_default();
                    L::extend(&mut self.values, row);
                }
            }
            ValueOffsets::Scattered(offsets) => {
                self.values.reserve(pieces.len() * offsets.len());
                for piece in pieces {
                    let row = offsets
                        .iter()
                        .map(|offset| L::value_at(piece, *offset as usize));
                    self.values.extend(row);
                }
            }
            ValueOffsets::WholePiece => {
                pieces.for_each(|piece| L::extend(&mut self.values, piece))
            }
        }
    }

    fn take(&mut self) -> ArrayRef {
        let values = ScalarBuffer::from(take(&mut self.values));
        Arc::new(PrimitiveArray::<T>::new(values, None))
    }
}

/// A column of Booleans: one byte each while decoding, one bit each in the array.
struct BooleanColumn {
    bytes: Vec<u8>,
}

impl GatherValues for BooleanColumn {
    fn gather<'b>(
        &mut self,
        pieces: impl ExactSizeIterator<Item = &'b [u8]>,
        value_offsets: &ValueOffsets,
    ) {
        let byte_at =
            |piece: &[u8], offset: usize| piece.get(offset).copied().unwrap_or(0);
        match value_offsets {
            ValueOffsets::One(offset) => {
                self.bytes.extend(pieces.map(|piece| byte_at(piece, *offset)));
            }
            ValueOffsets::Adjacent { start, count } => {
                for piece in pieces {
                    let row = piece.get(*start..start + count).unwrap_or_default();
                    self.bytes.extend_from_slice(row);
                }
            }
            ValueOffsets::Scattered(offsets) => {
                for piece in pieces {
                    let row =
                        offsets.iter().map(|offset| byte_at(piece, *offset as usize));
                    self.bytes.extend(row);
                }
            }
            ValueOffsets::WholePiece => {
                pieces.for_each(|piece| self.bytes.extend_from_slice(piece))
            }
        }
    }

    fn take(&mut self) -> ArrayRef {
        let bits =
            BooleanBuffer::collect_bool(self.bytes.len(), |i| self.bytes[i] != 0);
        self.bytes.clear();
        Arc::new(BooleanArray::new(bits, None))
    }
}
