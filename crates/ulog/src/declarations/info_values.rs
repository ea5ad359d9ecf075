//! The values of information messages.

use std::collections::BTreeMap;

use logtool_core::{
    ByteReader, FieldRole, Layout, LayoutKind, Primitive, Value, decode_text,
};

use crate::declarations::formats;

/// Decodes `bytes` according to their type. Returns the bytes if they do not match it.
pub(crate) fn value(type_name: &str, bytes: &[u8]) -> Value {
    parse_typed(type_name, bytes).unwrap_or_else(|| Value::Bytes(bytes.to_vec()))
}

/// Returns true if values of this type are lists of numbers or bools.
pub(crate) fn is_list(type_name: &str) -> bool {
    let array = formats::split_array(type_name).filter(|(_, count)| count.is_some());
    array.is_some_and(|(base, _)| !matches!(base, "char" | "uint8_t"))
}

/// Appends the next part to a value, which remains bytes until [`join_text`] is called.
pub(crate) fn join(value: &mut Value, next: Value) {
    let mut bytes = as_bytes(std::mem::replace(value, Value::Bool(false)));
    bytes.extend(as_bytes(next));
    *value = Value::Bytes(bytes);
}

/// Converts the joined parts of a string to text. A character may be split between two
/// parts.
pub(crate) fn join_text(value: Value) -> Value {
    Value::Text(decode_text(&as_bytes(value)).into_owned())
}

/// Returns true if `bytes` are a string that is not UTF-8, and is therefore read as
/// Latin-1.
pub(crate) fn is_latin1(type_name: &str, bytes: &[u8]) -> bool {
    is_text(type_name) && str::from_utf8(bytes).is_err()
}

/// Returns true if values of this type are strings.
pub(crate) fn is_text(type_name: &str) -> bool {
    formats::split_array(type_name).is_some_and(|(base, _)| base == "char")
}

/// Decodes a value of a user-defined type: `bytes` according to `layout`, or a list of
/// such values. Returns `None` if the bytes do not match, or need more memory
/// than the `budget` in bytes, which is reduced by the memory of the value.
pub(crate) fn decode_structs(
    layout: &Layout,
    count: Option<u32>,
    bytes: &[u8],
    budget: &mut usize,
) -> Option<Value> {
    let size = layout.size as usize;
    match count {
        None => decode_struct(layout, bytes, budget),
        Some(_) if size == 0 => None,
        Some(_) => {
            let items =
                bytes.chunks(size).map(|bytes| decode_struct(layout, bytes, budget));
            items.collect::<Option<_>>().map(Value::List)
        }
    }
}

fn decode_struct(layout: &Layout, bytes: &[u8], budget: &mut usize) -> Option<Value> {
    let sizes = layout.size_without_padding() as usize..=layout.size as usize;
    if !sizes.contains(&bytes.len()) {
        return None;
    }
    let mut fields = BTreeMap::new();
    let visible_fields =
        layout.fields.iter().filter(|field| field.role != FieldRole::Hidden);
    for field in visible_fields {
        let (size, count) = match &field.kind {
            LayoutKind::Primitive(primitive) => (primitive.size(), field.count),
            LayoutKind::Nested(inner) => (inner.size, field.count),
            _ => return None,
        };
        let len = size.checked_mul(count.unwrap_or(1))? as usize;
        *budget =
            budget.checked_sub(field.name.len() + len * size_of::<Value>() + 64)?;
        let start = field.offset as usize;
        let bytes = bytes.get(start..start.checked_add(len)?)?;
        let value = match &field.kind {
            LayoutKind::Primitive(primitive) => {
                primitives(*primitive, count.is_some(), bytes)?
            }
            LayoutKind::Nested(inner) => decode_structs(inner, count, bytes, budget)?,
            _ => return None,
        };
        fields.insert(field.name.clone(), value);
    }
    Some(Value::Map(fields))
}

fn as_bytes(value: Value) -> Vec<u8> {
    match value {
        Value::Text(text) => text.into_bytes(),
        Value::Bytes(bytes) => bytes,
        // Numbers are not continued in other messages; PX4 continues strings and bytes.
        other => other.to_string().into_bytes(),
    }
}

fn parse_typed(type_name: &str, bytes: &[u8]) -> Option<Value> {
    let (base, count) = formats::split_array(type_name)?;
    primitives(formats::primitive(base)?, count.is_some(), bytes)
}

/// Decodes one value of `primitive`, or a list of them.
fn primitives(primitive: Primitive, is_array: bool, bytes: &[u8]) -> Option<Value> {
    if primitive == Primitive::Char {
        return Some(Value::Text(decode_text(bytes).into_owned()));
    }
    let size = primitive.size() as usize;
    if !is_array {
        scalar(primitive, bytes).filter(|_| bytes.len() == size)
    } else if primitive == Primitive::U8 {
        // Byte arrays are binary data: PX4 logs hashes and compressed files this way.
        Some(Value::Bytes(bytes.to_vec()))
    } else if !bytes.len().is_multiple_of(size) {
        None
    } else {
        let values = bytes.chunks(size).map(|bytes| scalar(primitive, bytes));
        values.collect::<Option<_>>().map(Value::List)
    }
}

fn scalar(primitive: Primitive, bytes: &[u8]) -> Option<Value> {
    let mut reader = ByteReader::new(bytes);
    Some(match primitive {
        Primitive::I8 => Value::Int((reader.u8()? as i8).into()),
        Primitive::I16 => Value::Int((reader.u16()? as i16).into()),
        Primitive::I32 => Value::Int(reader.i32()?.into()),
        Primitive::I64 => Value::Int(reader.u64()? as i64),
        Primitive::U8 => Value::UInt(reader.u8()?.into()),
        Primitive::U16 => Value::UInt(reader.u16()?.into()),
        Primitive::U32 => Value::UInt(reader.u32()?.into()),
        Primitive::U64 => Value::UInt(reader.u64()?),
        Primitive::F32 => Value::Float(reader.f32()?),
        Primitive::F64 => Value::Double(f64::from_bits(reader.u64()?)),
        Primitive::Bool => Value::Bool(reader.u8()? != 0),
        Primitive::Char => Value::Text(decode_text(bytes).into_owned()),
    })
}

/// Formats a version of PX4 or its operating system, encoded as `0xAABBCCTT`.
///
/// The lowest byte is the release type: up to 63 development, up to 127 alpha, up to
/// 191 beta, up to 254 release candidate, 255 release (PX4 User Guide, "ULog File
/// Format", `ver_sw_release`).
pub fn release(version: u32) -> String {
    let [major, minor, patch, kind] = version.to_be_bytes();
    let kind = match kind {
        0..64 => " (development)".to_owned(),
        64..128 => format!(" (alpha {})", kind - 64),
        128..192 => format!(" (beta {})", kind - 128),
        192..255 => format!(" (rc {})", kind - 192),
        255 => String::new(),
    };
    format!("v{major}.{minor}.{patch}{kind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_and_arrays_are_typed() {
        assert_eq!(value("int32_t", &(-3600_i32).to_le_bytes()), Value::Int(-3600));
        let list = value("uint16_t[2]", &[1, 0, 2, 0]);
        assert_eq!(list, Value::List(vec![Value::UInt(1), Value::UInt(2)]));
        assert_eq!(value("char[3]", b"px4"), Value::Text("px4".into()));
        assert_eq!(value("uint8_t[2]", &[0, 255]), Value::Bytes(vec![0, 255]));
    }

    #[test]
    fn value_that_does_not_match_its_type_stays_bytes() {
        assert_eq!(value("int32_t", &[1, 2]), Value::Bytes(vec![1, 2]));
        assert_eq!(value("thing", &[1]), Value::Bytes(vec![1]));
    }

    #[test]
    fn character_split_between_parts_is_joined() {
        let mut whole = Value::Bytes(vec![0xc3]);
        join(&mut whole, Value::Bytes(vec![0xa9]));
        assert_eq!(join_text(whole), Value::Text("é".into()));
    }

    #[test]
    fn text_that_is_not_utf8_is_read_as_latin1() {
        assert_eq!(value("char[2]", &[0xff, b'1']), Value::Text("ÿ1".into()));
        assert!(is_latin1("char[2]", &[0xff, b'1']) && !is_latin1("char[1]", b"a"));
        assert!(!is_latin1("uint8_t[2]", &[0xff, b'1']));
    }

    #[test]
    fn user_defined_type_is_map_of_fields() {
        let mut formats = formats::Formats::default();
        formats.define("in", "uint16_t n;char[2] s;uint8_t _padding0;");
        formats.define("out", "in[2] i;float x;bool[2] b;");
        let bytes = [1, 0, b'a', b'b', 9, 2, 0, b'c', 0xfc, 9, 0, 0, 192, 63, 1, 0];
        let layout = formats.layout("out").unwrap();
        let map = |values: &[(&str, Value)]| {
            let values = values.iter().cloned();
            Value::Map(values.map(|(name, value)| (name.to_owned(), value)).collect())
        };
        let inner = |n, s: &str| {
            map(&[("n", Value::UInt(n)), ("s", Value::Text(s.to_owned()))])
        };
        let want = map(&[
            ("i", Value::List(vec![inner(1, "ab"), inner(2, "cü")])),
            ("x", Value::Float(1.5)),
            ("b", Value::List(vec![Value::Bool(true), Value::Bool(false)])),
        ]);
        let mut budget = 1 << 14;
        assert_eq!(decode_structs(&layout, None, &bytes, &mut budget), Some(want));
        assert_eq!(decode_structs(&layout, None, &bytes[1..], &mut budget), None);
        assert_eq!(decode_structs(&layout, None, &bytes, &mut 100), None);
        let inner_layout = formats.layout("in").unwrap();
        // The padding at the end may be missing.
        let list = decode_structs(&inner_layout, Some(2), &bytes[..9], &mut budget);
        assert_eq!(list, Some(Value::List(vec![inner(1, "ab"), inner(2, "cü")])));
    }

    #[test]
    fn versions_are_formatted() {
        assert_eq!(release(0x0104_02ff), "v1.4.2");
        assert_eq!(release(0x010e_00c1), "v1.14.0 (rc 1)");
        assert_eq!(release(0x0108_0000), "v1.8.0 (development)");
    }
}
