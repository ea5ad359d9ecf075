//! The values of information messages.

use logtool_core::{Cut, Primitive, Value};

use crate::formats;

/// `bytes` as their type says; as bytes where they do not fit it.
pub(crate) fn value(type_name: &str, bytes: &[u8]) -> Value {
    typed(type_name, bytes).unwrap_or_else(|| Value::Bytes(bytes.to_vec()))
}

/// Whether values of this type are lists, of numbers or truths.
pub(crate) fn is_list(type_name: &str) -> bool {
    let array = formats::array(type_name).filter(|(_, count)| count.is_some());
    array.is_some_and(|(base, _)| !matches!(base, "char" | "uint8_t"))
}

/// Adds the next part of a value, which is bytes until it is [`joined`].
pub(crate) fn join(value: &mut Value, next: Value) {
    let mut bytes = as_bytes(std::mem::replace(value, Value::Bool(false)));
    bytes.extend(as_bytes(next));
    *value = Value::Bytes(bytes);
}

/// Says what a value is of which all parts are there: a character may be cut between
/// two of them, so only the whole is text or not.
pub(crate) fn joined(value: &mut Value) {
    let bytes = as_bytes(std::mem::replace(value, Value::Bool(false)));
    *value = match String::from_utf8(bytes) {
        Ok(text) => Value::Text(text),
        Err(err) => Value::Bytes(err.into_bytes()),
    };
}

fn as_bytes(value: Value) -> Vec<u8> {
    match value {
        Value::Text(text) => text.into_bytes(),
        Value::Bytes(bytes) => bytes,
        // Numbers are not continued; PX4 continues texts and bytes.
        other => other.to_string().into_bytes(),
    }
}

fn typed(type_name: &str, bytes: &[u8]) -> Option<Value> {
    let (base, count) = formats::array(type_name)?;
    let primitive = formats::primitive(base)?;
    if primitive == Primitive::Char {
        return Some(Value::text_or_bytes(bytes));
    }
    let size = primitive.size() as usize;
    match count {
        None if bytes.len() == size => scalar(primitive, bytes),
        None => None,
        // Arrays of bytes are binary: PX4 logs hashes and compressed files so.
        Some(_) if primitive == Primitive::U8 => Some(Value::Bytes(bytes.to_vec())),
        Some(_) if !bytes.len().is_multiple_of(size) => None,
        Some(_) => {
            let values = bytes.chunks(size).map(|bytes| scalar(primitive, bytes));
            values.collect::<Option<_>>().map(Value::List)
        }
    }
}

fn scalar(primitive: Primitive, bytes: &[u8]) -> Option<Value> {
    let mut cut = Cut::new(bytes);
    Some(match primitive {
        Primitive::I8 => Value::Int((cut.u8()? as i8).into()),
        Primitive::I16 => Value::Int((cut.u16()? as i16).into()),
        Primitive::I32 => Value::Int(cut.i32()?.into()),
        Primitive::I64 => Value::Int(cut.u64()? as i64),
        Primitive::U8 => Value::UInt(cut.u8()?.into()),
        Primitive::U16 => Value::UInt(cut.u16()?.into()),
        Primitive::U32 => Value::UInt(cut.u32()?.into()),
        Primitive::U64 => Value::UInt(cut.u64()?),
        Primitive::F32 => Value::Float(cut.f32()?),
        Primitive::F64 => Value::Double(f64::from_bits(cut.u64()?)),
        Primitive::Bool => Value::Bool(cut.u8()? != 0),
        Primitive::Char => Value::text_or_bytes(bytes),
    })
}

/// A version of PX4 or its operating system, `0xAABBCCTT`, as people write it.
///
/// The lowest byte says what it is: up to 63 development, up to 127 alpha, up to 191
/// beta, up to 254 release candidate, 255 release (PX4 User Guide, "ULog File Format",
/// `ver_sw_release`).
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
    fn a_value_that_does_not_fit_its_type_keeps_its_bytes() {
        assert_eq!(value("int32_t", &[1, 2]), Value::Bytes(vec![1, 2]));
        assert_eq!(value("thing", &[1]), Value::Bytes(vec![1]));
    }

    #[test]
    fn a_character_cut_between_two_parts_is_joined() {
        let mut whole = value("char[1]", &[0xc3]);
        assert_eq!(whole, Value::Bytes(vec![0xc3]));
        join(&mut whole, value("char[1]", &[0xa9]));
        joined(&mut whole);
        assert_eq!(whole, Value::Text("é".into()));
    }

    #[test]
    fn versions_are_readable() {
        assert_eq!(release(0x0104_02ff), "v1.4.2");
        assert_eq!(release(0x010e_00c1), "v1.14.0 (rc 1)");
        assert_eq!(release(0x0108_0000), "v1.8.0 (development)");
    }
}
