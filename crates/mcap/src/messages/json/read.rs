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

/// A shape whose fields are found by name.
#[derive(Debug)]
pub(super) enum NamedShape {
    Struct(IndexMap<String, NamedShape>),
    /// A list, and the minimum number of values in each element.
    List(Box<NamedShape>, u64),
    Scalar(ValueType),
}

impl NamedShape {
    /// Creates the shape of objects with the fields of `shape`.
    pub(super) fn from_struct(shape: &StructType) -> Self {
        let fields = shape.fields.iter();
        Self::Struct(fields.map(|(name, shape)| (name.clone(), shape.into())).collect())
    }
}

impl From<&ValueType> for NamedShape {
    fn from(shape: &ValueType) -> Self {
        match shape {
            ValueType::Struct(inner) => Self::from_struct(inner),
            ValueType::List(item) => {
                Self::List(Box::new((&**item).into()), item.width() as u64)
            }
            scalar => Self::Scalar(scalar.clone()),
        }
    }
}

/// The state of reading one message.
pub(super) struct ReadState<'r> {
    added: RowSummary,
    /// The maximum number of list elements.
    max_record_len: u64,
    /// Collects the ranges of integers.
    ranges: Option<&'r mut Ranges>,
    /// The path of the current value.
    path: Path,
}

impl<'r> ReadState<'r> {
    pub(super) fn new(max_record_len: u64, ranges: Option<&'r mut Ranges>) -> Self {
        Self { added: RowSummary::default(), max_record_len, ranges, path: Path::new() }
    }

    /// Reads `payload`, an object of `shape`, into `row`. Returns `None` if it is not a
    /// JSON object, or exceeds the maximum number of list elements.
    pub(super) fn read(
        mut self,
        payload: &[u8],
        shape: &NamedShape,
        row: &mut Branch,
    ) -> Option<RowSummary> {
        payload.trim_ascii_start().starts_with(b"{").then_some(())?;
        let mut input = serde_json::Deserializer::from_slice(payload);
        let value = ValueSeed { reading: &mut self, shape, branch: row };
        value.deserialize(&mut input).ok()?;
        input.end().ok()?;
        Some(self.added)
    }
}

/// A value that is read into `branch`. A value that does not match `shape` becomes
/// null, and is counted.
struct ValueSeed<'v, 'r> {
    reading: &'v mut ReadState<'r>,
    shape: &'v NamedShape,
    branch: &'v mut Branch,
}

impl ValueSeed<'_, '_> {
    fn push_mismatch(self) {
        self.reading.added.type_mismatches += 1;
        self.branch.push_null();
    }

    /// Adds `json` as a scalar of the type `shape`. Returns `None` if the column is
    /// full.
    fn push_scalar(self, shape: &ValueType, json: &str) -> Option<()> {
        let scalar = match (shape, json) {
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
                value.and_then(|value| match shape {
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
        let NamedShape::Scalar(shape) = self.shape else {
            return input.deserialize_any(self);
        };
        let json = <&RawValue>::deserialize(input)?;
        let pushed = self.push_scalar(shape, json.get());
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
        let NamedShape::List(shape, width) = self.shape else {
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
            let value = ValueSeed { reading: &mut *reading, shape, branch: item };
            if input.next_element_seed(value)?.is_none() {
                break;
            }
            reading.added.items += width;
            if reading.added.items > reading.max_record_len {
                return Err(A::Error::custom("too many elements"));
            }
        }
        reading.path.pop();
        branch.close();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<(), A::Error> {
        let NamedShape::Struct(fields) = self.shape else {
            while input.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            self.push_mismatch();
            return Ok(());
        };
        let Self { reading, branch, .. } = self;
        let row = branch.len();
        branch.open();
        while let Some(entry) = input.next_key_seed(NameSeed(fields))? {
            let Some((index, shape)) = entry else {
                input.next_value::<IgnoredAny>()?;
                continue;
            };
            let Some(field) = branch.field(index) else {
                return Err(A::Error::custom("inconsistent columns"));
            };
            // The last of several members with the same name is used.
            field.truncate(row);
            reading.path.push(index);
            let value = ValueSeed { reading: &mut *reading, shape, branch: field };
            input.next_value_seed(value)?;
            reading.path.pop();
        }
        branch.close();
        Ok(())
    }
}

/// Deserializes the name of a member, and looks up its field.
struct NameSeed<'f>(&'f IndexMap<String, NamedShape>);

impl<'de, 'f> DeserializeSeed<'de> for NameSeed<'f> {
    type Value = Option<(usize, &'f NamedShape)>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        input: D,
    ) -> Result<Self::Value, D::Error> {
        input.deserialize_identifier(self)
    }
}

impl<'de, 'f> Visitor<'de> for NameSeed<'f> {
    type Value = Option<(usize, &'f NamedShape)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.get_full(name).map(|(index, _, shape)| (index, shape)))
    }
}
