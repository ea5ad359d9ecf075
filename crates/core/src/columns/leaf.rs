//! What is read from the payloads: one primitive at one or more offsets.

use std::{fmt::Debug, sync::Arc};

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, StringArray, types,
};
use arrow_buffer::{BooleanBuffer, OffsetBuffer, ScalarBuffer};

use crate::{block::Run, layout::Primitive};

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

    /// Adds the values of the records of `run`, whose payloads are long enough.
    pub(super) fn gather(&mut self, run: Run<'_>) {
        self.values.gather(run, &self.places);
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
    fn gather(&mut self, run: Run<'_>, places: &Places);
    fn take(&mut self) -> ArrayRef;
}

fn values(primitive: Primitive) -> Box<dyn Values> {
    match primitive {
        Primitive::I8 => numbers::<types::Int8Type, 1>(i8::from_le_bytes),
        Primitive::I16 => numbers::<types::Int16Type, 2>(i16::from_le_bytes),
        Primitive::I32 => numbers::<types::Int32Type, 4>(i32::from_le_bytes),
        Primitive::I64 => numbers::<types::Int64Type, 8>(i64::from_le_bytes),
        Primitive::U8 => numbers::<types::UInt8Type, 1>(u8::from_le_bytes),
        Primitive::U16 => numbers::<types::UInt16Type, 2>(u16::from_le_bytes),
        Primitive::U32 => numbers::<types::UInt32Type, 4>(u32::from_le_bytes),
        Primitive::U64 => numbers::<types::UInt64Type, 8>(u64::from_le_bytes),
        Primitive::F32 => numbers::<types::Float32Type, 4>(f32::from_le_bytes),
        Primitive::F64 => numbers::<types::Float64Type, 8>(f64::from_le_bytes),
        Primitive::Bool => Box::new(Truths { bytes: Vec::new() }),
        Primitive::Char => Box::new(Texts::new(1)),
    }
}

fn numbers<T: ArrowPrimitiveType, const N: usize>(
    read: fn([u8; N]) -> T::Native,
) -> Box<dyn Values> {
    Box::new(Numbers::<T, N> { read, values: Vec::new() })
}

/// Numbers of `N` bytes.
struct Numbers<T: ArrowPrimitiveType, const N: usize> {
    read: fn([u8; N]) -> T::Native,
    values: Vec<T::Native>,
}

impl<T: ArrowPrimitiveType, const N: usize> Values for Numbers<T, N> {
    fn gather(&mut self, run: Run<'_>, places: &Places) {
        let read = self.read;
        let value = |payload: &[u8], at: usize| {
            let bytes = payload.get(at..).and_then(|rest| rest.first_chunk::<N>());
            bytes.map_or_else(T::default_value, |bytes| read(*bytes))
        };
        match places {
            Places::One(at) => {
                self.values.extend(run.payloads().map(|payload| value(payload, *at)));
            }
            Places::Row { start, count } => {
                self.values.reserve(run.len() * count);
                for payload in run.payloads() {
                    let row =
                        payload.get(*start..*start + count * N).unwrap_or_default();
                    self.values.extend(row.as_chunks::<N>().0.iter().map(|b| read(*b)));
                }
            }
            Places::Many(offsets) => {
                self.values.reserve(run.len() * offsets.len());
                for payload in run.payloads() {
                    let row = offsets.iter().map(|at| value(payload, *at as usize));
                    self.values.extend(row);
                }
            }
        }
    }

    fn take(&mut self) -> ArrayRef {
        let values = ScalarBuffer::from(std::mem::take(&mut self.values));
        Arc::new(PrimitiveArray::<T>::new(values, None))
    }
}

/// Truths: a byte each while they are gathered, a bit each in the array.
struct Truths {
    bytes: Vec<u8>,
}

impl Values for Truths {
    fn gather(&mut self, run: Run<'_>, places: &Places) {
        let byte = |payload: &[u8], at: usize| payload.get(at).copied().unwrap_or(0);
        match places {
            Places::One(at) => {
                self.bytes.extend(run.payloads().map(|payload| byte(payload, *at)));
            }
            Places::Row { start, count } => {
                for payload in run.payloads() {
                    let row = payload.get(*start..start + count).unwrap_or_default();
                    self.bytes.extend_from_slice(row);
                }
            }
            Places::Many(offsets) => {
                for payload in run.payloads() {
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
    fn gather(&mut self, run: Run<'_>, places: &Places) {
        for payload in run.payloads() {
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
