//! The values of one column while it is built.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DurationNanosecondArray, Float32Array,
    Float64Array, Int32Array, Int64Array, StringArray, TimestampNanosecondArray,
    UInt32Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};

use crate::{
    decode::tree::ValueType,
    io::decode_text::{TextEncoding, decode_text},
};

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
    Timestamp(Vec<i64>),
    Duration(Vec<i64>),
    Text(StringBuffer, WorstEncoding),
    Bytes(StringBuffer),
}

/// The worst encoding of the strings of a record, which all of its buffers share.
#[derive(Clone, Debug, Default)]
pub(super) struct WorstEncoding(Arc<AtomicU8>);

/// Concatenated strings, and the end of each.
#[derive(Clone, Debug, Default)]
pub(super) struct StringBuffer {
    bytes: Vec<u8>,
    ends: Vec<i32>,
}

impl ValueBuffer {
    /// Creates an empty buffer of values of the type `value_type`, or returns `None` if that
    /// is not a scalar type.
    pub(super) fn new(
        value_type: &ValueType,
        encoding: &WorstEncoding,
    ) -> Option<Self> {
        Some(match value_type {
            ValueType::Bool => Self::Bool(Vec::new()),
            ValueType::I32 => Self::I32(Vec::new()),
            ValueType::I64 => Self::I64(Vec::new()),
            ValueType::U32 => Self::U32(Vec::new()),
            ValueType::U64 => Self::U64(Vec::new()),
            ValueType::F32 => Self::F32(Vec::new()),
            ValueType::F64 => Self::F64(Vec::new()),
            ValueType::Timestamp => Self::Timestamp(Vec::new()),
            ValueType::Duration => Self::Duration(Vec::new()),
            ValueType::Text => Self::Text(StringBuffer::default(), encoding.clone()),
            ValueType::Bytes => Self::Bytes(StringBuffer::default()),
            ValueType::Struct(_) | ValueType::List(_) => return None,
        })
    }

    /// Appends `value`, if its type matches.
    #[inline]
    pub(super) fn push(&mut self, value: Scalar<'_>) -> Option<()> {
        match (self, value) {
            (Self::Bool(values), Scalar::Bool(value)) => values.push(value),
            (Self::I32(values), Scalar::Int(value)) => {
                values.push(i32::try_from(value).ok()?)
            }
            (
                Self::I64(values) | Self::Timestamp(values) | Self::Duration(values),
                Scalar::Int(value),
            ) => {
                values.push(value);
            }
            (Self::U32(values), Scalar::UInt(value)) => {
                values.push(u32::try_from(value).ok()?)
            }
            (Self::U64(values), Scalar::UInt(value)) => values.push(value),
            (Self::F32(values), Scalar::F32(value)) => values.push(value),
            (Self::F64(values), Scalar::F64(value)) => values.push(value),
            (Self::Text(values, encoding), Scalar::Bytes(value)) => {
                let text = decode_text(value);
                if let Cow::Owned(_) = text {
                    encoding.add(TextEncoding::detect(value));
                }
                values.push(text.as_bytes());
            }
            (Self::Bytes(values), Scalar::Bytes(value)) => values.push(value),
            _ => return None,
        }
        Some(())
    }

    /// Appends a placeholder for a null.
    pub(super) fn push_default(&mut self) {
        match self {
            Self::Bool(values) => values.push(false),
            Self::I32(values) => values.push(0),
            Self::I64(values) | Self::Timestamp(values) | Self::Duration(values) => {
                values.push(0)
            }
            Self::U32(values) => values.push(0),
            Self::U64(values) => values.push(0),
            Self::F32(values) => values.push(0.0),
            Self::F64(values) => values.push(0.0),
            Self::Text(values, _) | Self::Bytes(values) => values.push(&[]),
        }
    }

    pub(super) fn truncate(&mut self, len: usize) {
        match self {
            Self::Bool(values) => values.truncate(len),
            Self::I32(values) => values.truncate(len),
            Self::I64(values) | Self::Timestamp(values) | Self::Duration(values) => {
                values.truncate(len)
            }
            Self::U32(values) => values.truncate(len),
            Self::U64(values) => values.truncate(len),
            Self::F32(values) => values.truncate(len),
            Self::F64(values) => values.truncate(len),
            Self::Text(values, _) | Self::Bytes(values) => values.truncate(len),
        }
    }

    /// Takes the values as an array with these `nulls`.
    pub(super) fn take(&mut self, nulls: Option<NullBuffer>) -> ArrayRef {
        macro_rules! numbers {
            ($array:ty, $values:expr) => {
                Arc::new(<$array>::new(
                    ScalarBuffer::from(std::mem::take($values)),
                    nulls,
                ))
            };
        }
        match self {
            Self::Bool(values) => {
                Arc::new(BooleanArray::new(std::mem::take(values).into(), nulls))
            }
            Self::I32(values) => numbers!(Int32Array, values),
            Self::I64(values) => numbers!(Int64Array, values),
            Self::U32(values) => numbers!(UInt32Array, values),
            Self::U64(values) => numbers!(UInt64Array, values),
            Self::F32(values) => numbers!(Float32Array, values),
            Self::F64(values) => numbers!(Float64Array, values),
            Self::Timestamp(values) => numbers!(TimestampNanosecondArray, values),
            Self::Duration(values) => numbers!(DurationNanosecondArray, values),
            Self::Text(values, _) => {
                let StringBuffer { bytes, ends } = std::mem::take(values);
                Arc::new(StringArray::new(offsets(ends), bytes.into(), nulls))
            }
            Self::Bytes(values) => {
                let StringBuffer { bytes, ends } = std::mem::take(values);
                Arc::new(BinaryArray::new(offsets(ends), bytes.into(), nulls))
            }
        }
    }
}

impl WorstEncoding {
    fn add(&self, encoding: TextEncoding) {
        self.0.fetch_max(encoding as u8, Ordering::Relaxed);
    }

    /// Returns the worst encoding since the last call.
    pub(super) fn take(&self) -> TextEncoding {
        // Nearly all strings are UTF-8, and a load is cheaper than a swap.
        let encoding = match self.0.load(Ordering::Relaxed) {
            0 => return TextEncoding::Utf8,
            1 => TextEncoding::IncompleteUtf8,
            _ => TextEncoding::Latin1,
        };
        self.0.store(0, Ordering::Relaxed);
        encoding
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
