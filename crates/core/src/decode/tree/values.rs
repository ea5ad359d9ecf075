//! The values of one column while it is built.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DurationNanosecondArray, Float32Array,
    Float64Array, Int32Array, Int64Array, StringArray, TimestampNanosecondArray,
    UInt32Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};

use crate::decode::tree::ValueType;

/// A scalar value of an encoding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'v> {
    /// A Boolean.
    Bool(bool),
    /// A signed integer, or a number of nanoseconds.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float.
    F64(f64),
    /// A string or binary data.
    Bytes(&'v [u8]),
}

/// The values of one type.
#[derive(Clone, Debug)]
pub(super) enum ValueBuffer {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Time(Vec<i64>),
    Span(Vec<i64>),
    Text(StringBuffer),
    Bytes(StringBuffer),
}

/// Concatenated strings, and the end of each.
#[derive(Clone, Debug, Default)]
pub(super) struct StringBuffer {
    bytes: Vec<u8>,
    ends: Vec<i32>,
}

impl ValueBuffer {
    /// Creates an empty list of values of `shape`, or returns `None` if they are not
    /// scalars.
    pub(super) fn new(shape: &ValueType) -> Option<Self> {
        Some(match shape {
            ValueType::Bool => Self::Bool(Vec::new()),
            ValueType::I32 => Self::I32(Vec::new()),
            ValueType::I64 => Self::I64(Vec::new()),
            ValueType::U32 => Self::U32(Vec::new()),
            ValueType::U64 => Self::U64(Vec::new()),
            ValueType::F32 => Self::F32(Vec::new()),
            ValueType::F64 => Self::F64(Vec::new()),
            ValueType::Timestamp => Self::Time(Vec::new()),
            ValueType::Duration => Self::Span(Vec::new()),
            ValueType::Text => Self::Text(StringBuffer::default()),
            ValueType::Bytes => Self::Bytes(StringBuffer::default()),
            ValueType::Struct(_) | ValueType::List(_) => return None,
        })
    }

    /// Appends `value`, if its type matches.
    #[inline]
    pub(super) fn push(&mut self, value: Scalar<'_>) -> Option<()> {
        match (self, value) {
            (Self::Bool(all), Scalar::Bool(one)) => all.push(one),
            (Self::I32(all), Scalar::Int(one)) => all.push(i32::try_from(one).ok()?),
            (Self::I64(all) | Self::Time(all) | Self::Span(all), Scalar::Int(one)) => {
                all.push(one);
            }
            (Self::U32(all), Scalar::UInt(one)) => all.push(u32::try_from(one).ok()?),
            (Self::U64(all), Scalar::UInt(one)) => all.push(one),
            (Self::F32(all), Scalar::F32(one)) => all.push(one),
            (Self::F64(all), Scalar::F64(one)) => all.push(one),
            (Self::Text(all), Scalar::Bytes(one)) => match str::from_utf8(one) {
                Ok(_) => all.push(one),
                Err(_) => all.push(String::from_utf8_lossy(one).as_bytes()),
            },
            (Self::Bytes(all), Scalar::Bytes(one)) => all.push(one),
            _ => return None,
        }
        Some(())
    }

    /// Appends a placeholder for a null.
    pub(super) fn push_default(&mut self) {
        match self {
            Self::Bool(all) => all.push(false),
            Self::I32(all) => all.push(0),
            Self::I64(all) | Self::Time(all) | Self::Span(all) => all.push(0),
            Self::U32(all) => all.push(0),
            Self::U64(all) => all.push(0),
            Self::F32(all) => all.push(0.0),
            Self::F64(all) => all.push(0.0),
            Self::Text(all) | Self::Bytes(all) => all.push(&[]),
        }
    }

    pub(super) fn truncate(&mut self, len: usize) {
        match self {
            Self::Bool(all) => all.truncate(len),
            Self::I32(all) => all.truncate(len),
            Self::I64(all) | Self::Time(all) | Self::Span(all) => all.truncate(len),
            Self::U32(all) => all.truncate(len),
            Self::U64(all) => all.truncate(len),
            Self::F32(all) => all.truncate(len),
            Self::F64(all) => all.truncate(len),
            Self::Text(all) | Self::Bytes(all) => all.truncate(len),
        }
    }

    /// Takes the values as an array with these `nulls`.
    pub(super) fn take(&mut self, nulls: Option<NullBuffer>) -> ArrayRef {
        macro_rules! numbers {
            ($array:ty, $all:expr) => {
                Arc::new(<$array>::new(ScalarBuffer::from(std::mem::take($all)), nulls))
            };
        }
        match self {
            Self::Bool(all) => {
                Arc::new(BooleanArray::new(std::mem::take(all).into(), nulls))
            }
            Self::I32(all) => numbers!(Int32Array, all),
            Self::I64(all) => numbers!(Int64Array, all),
            Self::U32(all) => numbers!(UInt32Array, all),
            Self::U64(all) => numbers!(UInt64Array, all),
            Self::F32(all) => numbers!(Float32Array, all),
            Self::F64(all) => numbers!(Float64Array, all),
            Self::Time(all) => numbers!(TimestampNanosecondArray, all),
            Self::Span(all) => numbers!(DurationNanosecondArray, all),
            Self::Text(all) => {
                let StringBuffer { bytes, ends } = std::mem::take(all);
                Arc::new(StringArray::new(offsets(ends), bytes.into(), nulls))
            }
            Self::Bytes(all) => {
                let StringBuffer { bytes, ends } = std::mem::take(all);
                Arc::new(BinaryArray::new(offsets(ends), bytes.into(), nulls))
            }
        }
    }
}

impl StringBuffer {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // The decoder limits the number of pending bytes.
        self.ends.push(i32::try_from(self.bytes.len()).unwrap_or(i32::MAX));
    }

    fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.bytes.truncate(self.ends.last().map_or(0, |end| *end as usize));
    }
}

/// Returns the offsets of the lists or strings with these `ends`.
pub(super) fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(0);
    offsets.extend(ends);
    OffsetBuffer::new(ScalarBuffer::from(offsets))
}
