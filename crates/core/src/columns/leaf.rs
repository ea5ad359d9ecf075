//! What is read from the payloads: one primitive at one or more offsets.

use std::{fmt::Debug, sync::Arc};

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, StringArray, types,
};
use arrow_buffer::{BooleanBuffer, OffsetBuffer, ScalarBuffer};

use crate::layout::Primitive;

/// The values of one primitive of a type, of all records gathered so far.
pub(super) struct Leaf {
    /// Where in a payload they are: one or more places a record.
    places: Places,
    values: Box<dyn Values>,
}

/// The offsets of a leaf's values in a payload.
#[derive(Debug)]
enum Places {
    /// One.
    One(usize),
    /// Several, one behind the other.
    Row { start: usize, count: usize },
    /// Several, anywhere.
    Many(Vec<u32>),
}

impl Leaf {
    /// A leaf of values at `offsets`, one or more of them.
    pub(super) fn new(primitive: Primitive, offsets: Vec<u32>) -> Self {
        let size = primitive.size() as usize;
        let next_to = |pair: &[u32]| pair[0] as usize + size == pair[1] as usize;
        let places = match offsets[..] {
            [one] => Places::One(one as usize),
            [start, ..] if offsets.windows(2).all(next_to) => {
                Places::Row { start: start as usize, count: offsets.len() }
            }
            _ => Places::Many(offsets),
        };
        Self { places, values: values(primitive) }
    }

    /// A leaf of texts of `len` characters at `offsets`.
    pub(super) fn text(len: usize, offsets: Vec<u32>) -> Self {
        Self { places: Places::Many(offsets), values: Box::new(Texts::new(len)) }
    }

    /// Adds the values of `rows`: payloads of `stride` bytes, one behind the other.
    pub(super) fn gather(&mut self, rows: &[u8], stride: usize) {
        self.values.gather(rows, stride, &self.places);
    }

    /// Takes the values gathered so far.
    pub(super) fn take(&mut self) -> ArrayRef {
        self.values.take()
    }
}

impl Debug for Leaf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.places.fmt(f)
    }
}

/// Values of one type. Behind a `dyn` so that the type is looked at once per run.
trait Values: Send {
    fn gather(&mut self, rows: &[u8], stride: usize, places: &Places);
    fn take(&mut self) -> ArrayRef;
}

fn values(primitive: Primitive) -> Box<dyn Values> {
    match primitive {
        Primitive::I8 => Box::new(Numbers::<types::Int8Type>::default()),
        Primitive::I16 => Box::new(Numbers::<types::Int16Type>::default()),
        Primitive::I32 => Box::new(Numbers::<types::Int32Type>::default()),
        Primitive::I64 => Box::new(Numbers::<types::Int64Type>::default()),
        Primitive::U8 => Box::new(Numbers::<types::UInt8Type>::default()),
        Primitive::U16 => Box::new(Numbers::<types::UInt16Type>::default()),
        Primitive::U32 => Box::new(Numbers::<types::UInt32Type>::default()),
        Primitive::U64 => Box::new(Numbers::<types::UInt64Type>::default()),
        Primitive::F32 => Box::new(Numbers::<types::Float32Type>::default()),
        Primitive::F64 => Box::new(Numbers::<types::Float64Type>::default()),
        Primitive::Bool => Box::new(Truths { bytes: Vec::new() }),
        Primitive::Char => Box::new(Texts::new(1)),
    }
}

/// A number that is read from its first little-endian bytes.
trait Little: Copy + Default {
    const SIZE: usize = size_of::<Self>();

    /// The number at `at`; zero where there is none, which gathering rules out.
    fn at(payload: &[u8], at: usize) -> Self;

    /// Adds all the numbers of `row`.
    fn extend(values: &mut Vec<Self>, row: &[u8]);
}

macro_rules! little {
    ($($number:ty)*) => {$(
        impl Little for $number {
            #[inline(always)]
            fn at(payload: &[u8], at: usize) -> Self {
                let bytes = payload.get(at..).and_then(|rest| rest.first_chunk());
                bytes.map_or_else(Self::default, |bytes| Self::from_le_bytes(*bytes))
            }

            #[inline(always)]
            fn extend(values: &mut Vec<Self>, row: &[u8]) {
                let chunks = row.as_chunks().0;
                values.extend(chunks.iter().map(|bytes| Self::from_le_bytes(*bytes)));
            }
        }
    )*};
}

little!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

/// Numbers of one type.
struct Numbers<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
}

impl<T: ArrowPrimitiveType> Default for Numbers<T> {
    fn default() -> Self {
        Self { values: Vec::new() }
    }
}

impl<T: ArrowPrimitiveType<Native: Little>> Values for Numbers<T> {
    fn gather(&mut self, rows: &[u8], stride: usize, places: &Places) {
        let rows = rows.chunks_exact(stride);
        match places {
            Places::One(at) => {
                let value = |payload: &[u8]| T::Native::at(payload, *at);
                self.values.extend(rows.map(value));
            }
            Places::Row { start, count } => {
                let len = count * T::Native::SIZE;
                self.values.reserve(rows.len() * count);
                for payload in rows {
                    let row = payload.get(*start..start + len).unwrap_or_default();
                    T::Native::extend(&mut self.values, row);
                }
            }
            Places::Many(offsets) => {
                self.values.reserve(rows.len() * offsets.len());
                for payload in rows {
                    let row =
                        offsets.iter().map(|at| T::Native::at(payload, *at as usize));
                    self.values.extend(row);
                }
            }
        }
    }

    fn take(&mut self) -> ArrayRef {
        let values = ScalarBuffer::from(take(&mut self.values));
        Arc::new(PrimitiveArray::<T>::new(values, None))
    }
}

/// Takes all of `values`, and makes room for as many again: batches of one topic are
/// about equally long, and growing step by step costs more than the gathering.
pub(super) fn take<T>(values: &mut Vec<T>) -> Vec<T> {
    let again = Vec::with_capacity(values.len() + values.len() / 8);
    std::mem::replace(values, again)
}

/// Truths: a byte each while they are gathered, a bit each in the array.
struct Truths {
    bytes: Vec<u8>,
}

impl Values for Truths {
    fn gather(&mut self, rows: &[u8], stride: usize, places: &Places) {
        let rows = rows.chunks_exact(stride);
        let byte = |payload: &[u8], at: usize| payload.get(at).copied().unwrap_or(0);
        match places {
            Places::One(at) => {
                self.bytes.extend(rows.map(|payload| byte(payload, *at)));
            }
            Places::Row { start, count } => {
                for payload in rows {
                    let row = payload.get(*start..start + count).unwrap_or_default();
                    self.bytes.extend_from_slice(row);
                }
            }
            Places::Many(offsets) => {
                for payload in rows {
                    let row = offsets.iter().map(|at| byte(payload, *at as usize));
                    self.bytes.extend(row);
                }
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

/// Texts of a fixed number of characters, each up to its first NUL.
///
/// Bytes that are no UTF-8 become U+FFFD here; the record still has them.
struct Texts {
    len: usize,
    text: String,
    ends: Vec<i32>,
}

impl Texts {
    fn new(len: usize) -> Self {
        Self { len, text: String::new(), ends: vec![0] }
    }

    fn add(&mut self, payload: &[u8], at: usize) {
        let chars = payload.get(at..at + self.len).unwrap_or_default();
        let end = chars.iter().position(|byte| *byte == 0).unwrap_or(chars.len());
        self.text.push_str(&String::from_utf8_lossy(&chars[..end]));
        self.ends.push(i32::try_from(self.text.len()).unwrap_or(i32::MAX));
    }
}

impl Values for Texts {
    fn gather(&mut self, rows: &[u8], stride: usize, places: &Places) {
        let rows = rows.chunks_exact(stride);
        for payload in rows {
            match places {
                Places::One(at) => self.add(payload, *at),
                Places::Row { start, count } => {
                    (*start..start + count).for_each(|at| self.add(payload, at));
                }
                Places::Many(offsets) => {
                    offsets.iter().for_each(|at| self.add(payload, *at as usize));
                }
            }
        }
    }

    fn take(&mut self) -> ArrayRef {
        let Self { text, ends, .. } = std::mem::replace(self, Self::new(self.len));
        let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
        Arc::new(StringArray::new(offsets, text.into_bytes().into(), None))
    }
}
