//! Reads a JSON message into a row.
//!
//! A number is parsed from its text according to the type of its column, so that integers
//! are not rounded to floats.

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

/// A type with lookup of the fields of structs by name.
#[derive(Debug)]
pub(super) enum NamedType {
    Struct(IndexMap<String, NamedType>),
    /// The type of the elements of a list, and the minimum number of values in each
    /// element.
    List(Box<NamedType>, u64),
    Scalar(ValueType),
}

impl NamedType {
    /// Creates the type of objects with the fields of `struct_type`.
    pub(super) fn from_struct(struct_type: &StructType) -> Self {
        let fields = struct_type.fields.iter();
        let fields = fields.map(|(name, value_type)| (name.clone(), value_type.into()));
        Self::Struct(fields.collect())
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
    /// The maximum number of list elements, each weighted by its number of values.
    max_items: u64,
    /// The ranges of integers, if they are recorded.
    ranges: Option<&'r mut Ranges>,
    /// The path of the current value.
    path: Path,
}

impl<'r> ReadState<'r> {
    pub(super) fn new(max_items: u64, ranges: Option<&'r mut Ranges>) -> Self {
        Self { summary: RowSummary::default(), max_items, ranges, path: Path::new() }
    }

    /// Reads `payload`, an object of the type `named_type`, into `row`. Returns `None` if it
    /// is not a JSON object, or exceeds the maximum number of list elements.
    pub(super) fn read(
        mut self,
        payload: &[u8],
        named_type: &NamedType,
        row: &mut Branch,
    ) -> Option<RowSummary> {
        if !payload.trim_ascii_start().starts_with(b"{") {
            return None;
        }
        let mut input = serde_json::Deserializer::from_slice(payload);
        let value = ValueSeed { state: &mut self, value_type: named_type, branch: row };
        value.deserialize(&mut input).ok()?;
        input.end().ok()?;
        Some(self.summary)
    }
}

/// Deserializes a value of the type `value_type` into `branch`. A value that does not
/// match the type becomes null, and is counted.
struct ValueSeed<'v, 'r> {
    state: &'v mut ReadState<'r>,
    value_type: &'v NamedType,
    branch: &'v mut Branch,
}

impl ValueSeed<'_, '_> {
    /// Adds a null for a value that does not match the type.
    fn push_mismatch(self) {
        self.state.summary.type_mismatches += 1;
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
                if let (Some(value), Some(ranges)) = (value, &mut self.state.ranges) {
                    ranges.record(&self.state.path, value);
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
        let NamedType::List(value_type, item_values) = self.value_type else {
            while input.next_element::<IgnoredAny>()?.is_some() {}
            self.push_mismatch();
            return Ok(());
        };
        let Self { state, branch, .. } = self;
        branch.open();
        state.path.push(0);
        loop {
            let Some(item) = branch.item() else {
                return Err(A::Error::custom("inconsistent columns"));
            };
            let value = ValueSeed { state: &mut *state, value_type, branch: item };
            if input.next_element_seed(value)?.is_none() {
                break;
            }
            state.summary.items += item_values;
            if state.summary.items > state.max_items {
                return Err(A::Error::custom("too many elements"));
            }
        }
        state.path.pop();
        branch.close();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<(), A::Error> {
        let NamedType::Struct(fields) = self.value_type else {
            while input.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            self.push_mismatch();
            return Ok(());
        };
        let Self { state, branch, .. } = self;
        let row = branch.len();
        branch.open();
        while let Some(known_field) = input.next_key_seed(NameSeed(fields))? {
            let Some((index, value_type)) = known_field else {
                input.next_value::<IgnoredAny>()?;
                continue;
            };
            let Some(field) = branch.field(index) else {
                return Err(A::Error::custom("inconsistent columns"));
            };
            // If several members have the same name, the last one is used.
            field.truncate(row);
            state.path.push(index);
            let value = ValueSeed { state: &mut *state, value_type, branch: field };
            input.next_value_seed(value)?;
            state.path.pop();
        }
        branch.close();
        Ok(())
    }
}

/// Deserializes the name of a member, and looks up the field with this name.
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
