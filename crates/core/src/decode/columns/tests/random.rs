//! Decoding of random messages of random types.

use arrow_array::{Array as _, ArrayRef, cast::AsArray as _, types::*};
use arrow_schema::DataType;

use super::{
    field,
    variable_size::{decode, layout},
};
use crate::{
    decode::columns::*,
    log::View,
    model::layout::{Layout, LayoutKind, Primitive},
};

/// A value as a test writes and reads it.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Struct(Vec<Value>),
}

/// Random numbers, the same in every run (the upper bits of a linear congruential
/// generator).
struct RandomNumbers(u64);

impl RandomNumbers {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % sides
    }

    fn layout(&mut self, depth: u64) -> Layout {
        let fields = (0..1 + self.roll(5)).map(|i| {
            let kind = self.kind(depth);
            let count = (self.roll(4) == 0).then(|| self.roll(4) as u32);
            field(&format!("f{i}"), kind, count)
        });
        let fields = fields.collect();
        layout(&format!("t{depth}"), fields)
    }

    fn kind(&mut self, depth: u64) -> LayoutKind {
        use Primitive::*;
        match self.roll(if depth == 0 { 4 } else { 6 }) {
            0 | 1 => {
                let primitives = [I8, I16, I32, I64, U8, U16, U32, F32, F64, Bool];
                match self.roll(12) as usize {
                    10 => LayoutKind::Timestamp,
                    11 if self.roll(2) == 0 => LayoutKind::SignedTimestamp,
                    11 => LayoutKind::Duration,
                    i => LayoutKind::Primitive(primitives[i]),
                }
            }
            2 => LayoutKind::Text,
            3 => LayoutKind::Bytes,
            4 => LayoutKind::Nested(self.layout(depth - 1).into()),
            _ => LayoutKind::List(self.kind(depth - 1).into()),
        }
    }

    fn write_layout(&mut self, layout: &Layout, bytes: &mut Vec<u8>) -> Value {
        let fields = layout.fields.iter().filter_map(|field| {
            let value = match field.count {
                // Elements without bytes are only counted.
                Some(count @ 1..) if field.kind.size() == 0 && field.is_fixed() => {
                    Value::Int(count.into())
                }
                None => self.write(&field.kind, bytes),
                Some(count) => Value::List(
                    (0..count).map(|_| self.write(&field.kind, bytes)).collect(),
                ),
            };
            field.has_columns().then_some(value)
        });
        Value::Struct(fields.collect())
    }

    fn write(&mut self, kind: &LayoutKind, bytes: &mut Vec<u8>) -> Value {
        match kind {
            LayoutKind::Primitive(primitive) => self.write_primitive(*primitive, bytes),
            LayoutKind::Timestamp => {
                let (secs, nanos) = (self.roll(1 << 31) * 2, self.roll(1 << 31) * 2);
                bytes.extend((secs as u32).to_le_bytes());
                bytes.extend((nanos as u32).to_le_bytes());
                Value::Int(secs as i64 * 1_000_000_000 + nanos as i64)
            }
            LayoutKind::SignedTimestamp => {
                let secs = self.roll(1 << 31) as i32 - (1 << 30);
                let nanos = self.roll(1 << 31) * 2;
                bytes.extend(secs.to_le_bytes());
                bytes.extend((nanos as u32).to_le_bytes());
                Value::Int(i64::from(secs) * 1_000_000_000 + nanos as i64)
            }
            LayoutKind::Duration => {
                let secs = self.roll(1 << 31) as i32 - (1 << 30);
                let nanos = self.roll(1 << 31) as i32 - (1 << 30);
                bytes.extend(secs.to_le_bytes());
                bytes.extend(nanos.to_le_bytes());
                Value::Int(i64::from(secs) * 1_000_000_000 + i64::from(nanos))
            }
            LayoutKind::Nested(layout) => self.write_layout(layout, bytes),
            LayoutKind::Text => {
                let text = "a\0é€😀x".chars().cycle().skip(self.roll(6) as usize);
                let text: String = text.take(self.roll(5) as usize).collect();
                bytes.extend((text.len() as u32).to_le_bytes());
                bytes.extend(text.as_bytes());
                Value::Text(text)
            }
            LayoutKind::Bytes => {
                let blob: Vec<u8> =
                    (0..self.roll(5)).map(|_| self.roll(256) as u8).collect();
                bytes.extend((blob.len() as u32).to_le_bytes());
                bytes.extend(&blob);
                Value::Bytes(blob)
            }
            LayoutKind::List(element) => {
                let count = self.roll(4);
                bytes.extend((count as u32).to_le_bytes());
                // Elements without bytes are only counted.
                if element.size() == 0 && element.is_fixed() {
                    return Value::Int(count as i64);
                }
                Value::List((0..count).map(|_| self.write(element, bytes)).collect())
            }
        }
    }

    fn write_primitive(&mut self, primitive: Primitive, bytes: &mut Vec<u8>) -> Value {
        let bits = self.roll(1 << 31) << 32 | self.roll(1 << 31);
        macro_rules! number {
            ($type:ty, $value:ident) => {{
                let value = bits as $type;
                bytes.extend(value.to_le_bytes());
                Value::$value(value.into())
            }};
        }
        match primitive {
            Primitive::I8 => number!(i8, Int),
            Primitive::I16 => number!(i16, Int),
            Primitive::I32 => number!(i32, Int),
            Primitive::I64 => number!(i64, Int),
            Primitive::U8 => number!(u8, Int),
            Primitive::U16 => number!(u16, Int),
            Primitive::U32 => number!(u32, Int),
            Primitive::F32 => number!(f32, Float),
            Primitive::F64 => number!(f64, Float),
            Primitive::Bool => {
                bytes.push(bits as u8 & 1);
                Value::Bool(bits & 1 == 1)
            }
            Primitive::U64 | Primitive::Char => unreachable!("not rolled"),
        }
    }
}

/// Returns the value at `index` of `array`.
fn read(array: &ArrayRef, index: usize) -> Value {
    macro_rules! int {
        ($type:ty) => {
            Value::Int(array.as_primitive::<$type>().value(index).into())
        };
    }
    let values = |list: ArrayRef| (0..list.len()).map(|i| read(&list, i)).collect();
    match array.data_type() {
        DataType::Int8 => int!(Int8Type),
        DataType::Int16 => int!(Int16Type),
        DataType::Int32 => int!(Int32Type),
        DataType::Int64 => int!(Int64Type),
        DataType::UInt8 => int!(UInt8Type),
        DataType::UInt16 => int!(UInt16Type),
        DataType::UInt32 => int!(UInt32Type),
        DataType::Timestamp(..) => int!(TimestampNanosecondType),
        DataType::Duration(_) => int!(DurationNanosecondType),
        DataType::Float32 => {
            Value::Float(array.as_primitive::<Float32Type>().value(index).into())
        }
        DataType::Float64 => {
            Value::Float(array.as_primitive::<Float64Type>().value(index))
        }
        DataType::Boolean => Value::Bool(array.as_boolean().value(index)),
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(index).into()),
        DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(index).into()),
        DataType::List(_) => Value::List(values(array.as_list::<i32>().value(index))),
        DataType::FixedSizeList(..) => {
            Value::List(values(array.as_fixed_size_list().value(index)))
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns().iter();
            Value::Struct(columns.map(|column| read(column, index)).collect())
        }
        other => unreachable!("{other}"),
    }
}

#[test]
fn random_messages_of_random_types_are_decoded_correctly() {
    let mut random = RandomNumbers(20_261_120);
    for _ in 0..300 {
        let layout = random.layout(3);
        let mut rows = Vec::new();
        let mut written = Vec::new();
        for _ in 0..5 {
            let mut bytes = Vec::new();
            written.push(random.write_layout(&layout, &mut bytes));
            rows.push(bytes);
        }
        let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let (batch, lost) = decode(&layout, &Columns::default(), &rows);
        assert_eq!((lost, batch.num_rows()), (0, 5), "{layout:?}");
        for (index, written) in written.iter().enumerate() {
            let columns = batch.columns()[1..].iter();
            let value = Value::Struct(columns.map(|c| read(c, index)).collect());
            assert_eq!(value, *written, "{layout:?}");
        }
        // The first row truncated anywhere, or with any byte changed, is a row or is
        // lost.
        for offset in 0..rows[0].len() {
            let truncated = &rows[0][..offset];
            let (_, lost) = decode(&layout, &Columns::default(), &[truncated]);
            assert_eq!(lost, 1, "{layout:?}");
            let mut changed = rows[0].to_vec();
            changed[offset] ^= 1 << random.roll(8);
            let flat_columns = Columns::new(View::Flat);
            let (batch, lost) = decode(&layout, &flat_columns, &[&changed]);
            assert_eq!(batch.num_rows() as u64 + lost, 1);
        }
    }
}
