//! Typed values without a schema, for the metadata of a log.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};

use crate::model::hex::Hex;

/// A value of a log's metadata.
///
/// Its `Serialize` keeps the exact type, for manifests. [`Value::json`] serialises to
/// plain JSON instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A Boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A 32-bit float.
    Float(#[serde(with = "bits32")] f32),
    /// A 64-bit float.
    Double(#[serde(with = "bits64")] f64),
    /// A string.
    Text(String),
    /// Binary data.
    Bytes(#[serde(with = "crate::model::hex")] Vec<u8>),
    /// A list of values.
    List(Vec<Value>),
    /// Named values.
    Map(BTreeMap<String, Value>),
}

impl Value {
    /// Returns a view that serialises as plain JSON: numbers as numbers, bytes as a
    /// hexadecimal string, and floats that JSON cannot represent as null.
    pub fn json(&self) -> Json<'_> {
        Json(self)
    }
}

/// A [`Value`] that serialises as plain JSON, see [`Value::json`].
#[derive(Clone, Copy, Debug)]
pub struct Json<'v>(&'v Value);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Bool(value) => out.serialize_bool(*value),
            Value::Int(value) => out.serialize_i64(*value),
            Value::UInt(value) => out.serialize_u64(*value),
            Value::Float(value) => out.serialize_f32(*value),
            Value::Double(value) => out.serialize_f64(*value),
            Value::Text(text) => out.serialize_str(text),
            Value::Bytes(bytes) => out.collect_str(&Hex(bytes)),
            Value::List(values) => out.collect_seq(values.iter().map(Json)),
            Value::Map(values) => {
                let mut map = out.serialize_map(Some(values.len()))?;
                for (key, value) in values {
                    map.serialize_entry(key, &Json(value))?;
                }
                map.end()
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::UInt(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Double(value) => value.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Bytes(bytes) => Hex(bytes).fmt(f),
            Self::List(values) => {
                f.debug_list().entries(values.iter().map(DisplayAsDebug)).finish()
            }
            Self::Map(values) => {
                let entries =
                    values.iter().map(|(key, value)| (key, DisplayAsDebug(value)));
                f.debug_map().entries(entries).finish()
            }
        }
    }
}

/// Wraps a value so that `{:?}` of a list formats it like `{}`.
struct DisplayAsDebug<'v>(&'v Value);

impl fmt::Debug for DisplayAsDebug<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0, f)
    }
}

/// Serialises a 32-bit float as its bits, because JSON has no NaN.
mod bits32 {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        value: &f32,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.serialize_u32(value.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<f32, D::Error> {
        u32::deserialize(input).map(f32::from_bits)
    }
}

/// Serialises a 64-bit float as its bits, because JSON has no NaN.
mod bits64 {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        value: &f64,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.serialize_u64(value.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<f64, D::Error> {
        u64::deserialize(input).map(f64::from_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_keeps_its_bits_in_a_manifest() {
        let nan = f32::from_bits(0x7fc0_1234);
        let text = serde_json::to_string(&Value::Float(nan)).unwrap();
        let Value::Float(deserialized) = serde_json::from_str(&text).unwrap() else {
            panic!("{text} is not a float")
        };
        assert_eq!(deserialized.to_bits(), nan.to_bits());
    }

    #[test]
    fn json_floats_are_rounded_correctly() {
        crate::testing::conformance::check_float_parser(|text| {
            serde_json::from_str(text).unwrap()
        });
    }

    #[test]
    fn json_bytes_are_hexadecimal() {
        let value =
            Value::List(vec![Value::Bytes(vec![0, 255]), Value::UInt(u64::MAX)]);
        let json = serde_json::to_string(&value.json()).unwrap();
        assert_eq!(json, r#"["00ff",18446744073709551615]"#);
        assert_eq!(value.to_string(), "[00ff, 18446744073709551615]");
    }
}
