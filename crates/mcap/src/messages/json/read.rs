//! Reads a JSON message into branches.
//!
//! Numbers remain text until the type of their column is known, so that none is
//! rounded.

use std::{borrow::Cow, fmt};

use indexmap::IndexMap;
use logtool_core::{Branch, RowSummary, Scalar, StructType, ValueType};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::messages::json::{
    numbers,
    range::{Path, Ranges},
};

/// A type whose fields are found by name.
#[derive(Debug)]
pub(super) enum NamedType {
    Struct(IndexMap<String, NamedType>),
    /// A list, and the minimum number of values in each element.
    List(Box<NamedType>, u64),
    Scalar(ValueType),
}

impl NamedType {
    /// Creates the type of objects with the fields of `value_type`.
    pub(super) fn from_struct(value_type: &StructType) -> Self {
        let fields = value_type.fields.iter();
        Self::Struct(
            fields
                .map(|(name, value_type)| (name.clone(), value_type.into()))
                .collect(),
        )
    }
}

impl From<&ValueType> for NamedType {
    fn from(value_type: &ValueType) -> Self {
        match value_type {
            ValueType::Struct(inner) => Self::from_struct(inner),
            ValueType::List(item) => {
                Self::List(Box::new((&**item).into()), item.min_values() as u64)
            }
            scalar => Self::Scalar(scalar.clone()),
        }
    }
}

/// The state of reading one message.
pub(super) struct ReadState<'r> {
    summary: RowSummary,
    /// The maximum number of list elements.
    max_record_len: u64,
    /// Collects the ranges of integers.
    ranges: Option<&'r mut Ranges>,
    /// The path of the current value.
    path: Path,
}

impl<'r> ReadState<'r> {
    pub(super) fn new(max_record_len: u64, ranges: Option<&'r mut Ranges>) -> Self {
        Self {
            summary: RowSummary::default(),
            max_record_len,
            ranges,
            path: Path::new(),
        }
    }

    /// Reads `payload`, an object of `value_type`, into `row`. Returns `None` if it is not a
    /// JSON object, or exceeds the maximum number of list elements.
    pub(super) fn read(
        mut self,
        payload: &[u8],
        value_type: &NamedType,
        row: &mut Branch,
    ) -> Option<RowSummary> {
        payload.trim_ascii_start().starts_with(b"{").then_some(())?;
        let mut input = serde_json::Deserializer::from_slice(payload);
        let value = ValueSeed { reading: &mut self, value_type, branch: row };
        value.deserialize(&mut input).ok()?;
        input.end().ok()?;
        Some(self.summary)
    }
}

/// A value that is read into `branch`. A value that does not match `value_type` becomes
/// null, and is counted.
struct ValueSeed<'v, 'r> {
    reading: &'v mut ReadState<'r>,
    value_type: &'v NamedType,
    branch: &'v mut Branch,
}

impl ValueSeed<'_, '_> {
    fn push_mismatch(self) {
        self.reading.summary.type_mismatches += 1;
        self.branch.push_null();
    }

    /// Adds `json` as a scalar of the type `value_type`. Returns `None` if the column is
    /// full.
    fn push_scalar(self, value_type: &ValueType, json: &str) -> Option<()> {
        let scalar = match (value_type, json) {
            (_, "null") => {
                self.branch.push_null();
                return Some(());
            }
            (ValueType::Text, json) => {
                return self.branch.push(Scalar::Bytes(text(json)?.as_bytes()));
            }
            (ValueType::Bool, "true") => Some(Scalar::Bool(true)),
            (ValueType::Bool, "false") => Some(Scalar::Bool(false)),
            (ValueType::I64 | ValueType::U64, json) => {
                let value = numbers::integer(json);
                if let (Some(value), Some(ranges)) = (value, &mut self.reading.ranges) {
                    ranges.record(&self.reading.path, value);
                }
                value.and_then(|value| match value_type {
                    ValueType::U64 => value.try_into().ok().map(Scalar::UInt),
                    _ => value.try_into().ok().map(Scalar::Int),
                })
            }
            (ValueType::F64, json) => numbers::float(json).map(Scalar::F64),
            _ => None,
        };
        match scalar {
            Some(scalar) => self.branch.push(scalar),
            None => {
                self.push_mismatch();
                Some(())
            }
        }
    }
}

/// Returns the string in `json`, or the JSON text itself if the value is not a string.
fn text(json: &str) -> Option<Cow<'_, str>> {
    match json.strip_prefix('"').and_then(|json| json.strip_suffix('"')) {
        None => Some(json.into()),
        Some(text) if !text.contains('\\') => Some(text.into()),
        Some(_) => serde_json::from_str::<String>(json).ok().map(Cow::Owned),
    }
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        let NamedType::Scalar(value_type) = self.value_type else {
            return input.deserialize_any(self);
        };
        let json = <&RawValue>::deserialize(input)?;
        let pushed = self.push_scalar(value_type, json.get());
        pushed.ok_or_else(|| D::Error::custom("the column is full"))
    }
}

/// Structs and lists.
impl<'de> Visitor<'de> for ValueSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.branch.push_null();
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.push_mismatch();
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.push_mismatch();
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.push_mismatch();
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.push_mismatch();
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        self.push_mismatch();
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<(), A::Error> {
        let NamedType::List(value_type, width) = self.value_type else {
            while input.next_element::<IgnoredAny>()?.is_some() {}
            self.push_mismatch();
            return Ok(());
        };
        let Self { reading, branch, .. } = self;
        branch.open();
        reading.path.push(0);
        loop {
            let Some(item) = branch.item() else {
                return Err(A::Error::custom("inconsistent columns"));
            };
            let value = ValueSeed { reading: &mut *reading, value_type, branch: item };
            if input.next_element_seed(value)?.is_none() {
                break;
            }
            reading.summary.items += width;
            if reading.summary.items > reading.max_record_len {
                return Err(A::Error::custom("too many elements"));
            }
        }
        reading.path.pop();
        branch.close();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<(), A::Error> {
        let NamedType::Struct(fields) = self.value_type else {
            while input.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            self.push_mismatch();
            return Ok(());
        };
        let Self { reading, branch, .. } = self;
        let row = branch.len();
        branch.open();
        while let Some(entry) = input.next_key_seed(NameSeed(fields))? {
            let Some((index, value_type)) = entry else {
                input.next_value::<IgnoredAny>()?;
                continue;
            };
            let Some(field) = branch.field(index) else {
                return Err(A::Error::custom("inconsistent columns"));
            };
            // The last of several members with the same name is used.
            field.truncate(row);
            reading.path.push(index);
            let value = ValueSeed { reading: &mut *reading, value_type, branch: field };
            input.next_value_seed(value)?;
            reading.path.pop();
        }
        branch.close();
        Ok(())
    }
}

/// Deserializes the name of a member, and looks up its field.
struct NameSeed<'f>(&'f IndexMap<String, NamedType>);

impl<'de, 'f> DeserializeSeed<'de> for NameSeed<'f> {
    type Value = Option<(usize, &'f NamedType)>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        input: D,
    ) -> Result<Self::Value, D::Error> {
        input.deserialize_identifier(self)
    }
}

impl<'de, 'f> Visitor<'de> for NameSeed<'f> {
    type Value = Option<(usize, &'f NamedType)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.get_full(name).map(|(index, _, value_type)| (index, value_type)))
    }
}
