//! The ranges of the integers of a topic, and the types that can hold them.
//!
//! A schema can declare a number of any size as `integer`. Columns are signed 64-bit
//! integers, unless the first messages of the topic have larger values.

use std::collections::BTreeMap;

use logtool_core::{StructType, ValueType};
use serde::{Deserialize, Serialize};

/// The indices of the fields that lead to a value; 0 leads to the elements of a list.
pub(super) type Path = Vec<usize>;

/// The ranges of the fields that have integers which do not fit in every type.
#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<Path, Range>);

/// The smallest range that includes all integers of a field, and 0.
#[derive(Debug, Default)]
struct Range {
    lowest: i128,
    highest: i128,
}

/// The types of the fields whose integers do not fit in the type that the schema implies.
pub(crate) type IntegerTypes = Vec<(Path, IntegerType)>;

/// A type that holds the integers of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IntegerType {
    /// Signed 64-bit integers.
    Signed,
    /// Unsigned 64-bit integers.
    Unsigned,
    /// The digits of the message as text.
    Text,
}

impl Ranges {
    /// Extends the range of the field at `path` to `value`.
    pub(super) fn record(&mut self, path: &Path, value: i128) {
        if u64::try_from(value).is_ok_and(|value| i64::try_from(value).is_ok()) {
            return; // fits in every type
        }
        match self.0.get_mut(path) {
            Some(range) => {
                range.lowest = range.lowest.min(value);
                range.highest = range.highest.max(value);
            }
            None => {
                let range = Range { lowest: value.min(0), highest: value.max(0) };
                self.0.insert(path.clone(), range);
            }
        }
    }

    /// Returns the required types of the fields of `struct_type` whose ranges do not fit in
    /// their current type.
    pub(super) fn types(&self, struct_type: &StructType) -> IntegerTypes {
        let mut struct_type = struct_type.clone();
        let types = self.0.iter().filter_map(|(path, range)| {
            let fits_current_type = match value_type_at(&mut struct_type, path)? {
                ValueType::U64 => range.fits_in::<u64>(),
                _ => range.fits_in::<i64>(),
            };
            let required_type = if range.fits_in::<i64>() {
                IntegerType::Signed
            } else if range.fits_in::<u64>() {
                IntegerType::Unsigned
            } else {
                IntegerType::Text
            };
            (!fits_current_type).then(|| (path.clone(), required_type))
        });
        types.collect()
    }
}

impl Range {
    fn fits_in<T: TryFrom<i128>>(&self) -> bool {
        T::try_from(self.lowest).is_ok() && T::try_from(self.highest).is_ok()
    }
}

/// Changes the fields of `struct_type` to `types`.
pub(super) fn apply(types: &IntegerTypes, struct_type: &mut StructType) {
    for (path, integer_type) in types {
        if let Some(value_type @ (ValueType::I64 | ValueType::U64)) =
            value_type_at(struct_type, path)
        {
            *value_type = match integer_type {
                IntegerType::Signed => ValueType::I64,
                IntegerType::Unsigned => ValueType::U64,
                IntegerType::Text => ValueType::Text,
            };
        }
    }
}

/// Returns the type of the value at `path` of `struct_type`.
fn value_type_at<'s>(
    struct_type: &'s mut StructType,
    path: &[usize],
) -> Option<&'s mut ValueType> {
    let (first_index, inner_path) = path.split_first()?;
    let (_, first_type) = struct_type.fields.get_mut(*first_index)?;
    inner_path.iter().try_fold(first_type, |value_type, index| match value_type {
        ValueType::Struct(inner) => {
            inner.fields.get_mut(*index).map(|(_, field_type)| field_type)
        }
        ValueType::List(item) => Some(&mut **item),
        _ => None,
    })
}
