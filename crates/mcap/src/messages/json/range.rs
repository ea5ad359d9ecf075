//! The ranges of the integers of a topic, and the columns that can hold them.
//!
//! A schema can declare a number of any size as `integer`. Columns are signed 64-bit
//! integers, unless the first messages of the topic have larger values.

use std::collections::BTreeMap;

use logtool_core::{StructType, ValueType};
use serde::{Deserialize, Serialize};

/// The indices of the fields that lead to a value; 0 leads to the elements of a list.
pub(super) type Path = Vec<usize>;

/// The ranges of the integers that do not fit in every type.
#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<Path, Range>);

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

    /// Returns the types that hold the ranges, for those fields of `struct_type` that need
    /// another type.
    pub(super) fn types(&self, struct_type: &StructType) -> IntegerTypes {
        let mut struct_type = struct_type.clone();
        let types = self.0.iter().filter_map(|(path, range)| {
            let Range { lowest, highest } = *range;
            let fits_now = match find(&mut struct_type, path)? {
                ValueType::U64 => fit_in::<u64>(lowest, highest),
                _ => fit_in::<i64>(lowest, highest),
            };
            let chosen = match (lowest, highest) {
                (low, high) if fit_in::<i64>(low, high) => IntegerType::Signed,
                (low, high) if fit_in::<u64>(low, high) => IntegerType::Unsigned,
                _ => IntegerType::Text,
            };
            (!fits_now).then(|| (path.clone(), chosen))
        });
        types.collect()
    }
}

/// Changes the fields of `struct_type` to `types`.
pub(super) fn apply(types: &IntegerTypes, struct_type: &mut StructType) {
    for (path, chosen) in types {
        if let Some(struct_type @ (ValueType::I64 | ValueType::U64)) =
            find(struct_type, path)
        {
            *struct_type = match chosen {
                IntegerType::Signed => ValueType::I64,
                IntegerType::Unsigned => ValueType::U64,
                IntegerType::Text => ValueType::Text,
            };
        }
    }
}

fn fit_in<T: TryFrom<i128>>(low: i128, high: i128) -> bool {
    T::try_from(low).is_ok() && T::try_from(high).is_ok()
}

/// Returns the type of the value at `path` of `struct_type`.
fn find<'s>(
    struct_type: &'s mut StructType,
    path: &[usize],
) -> Option<&'s mut ValueType> {
    let (first, rest) = path.split_first()?;
    let (_, first) = struct_type.fields.get_mut(*first)?;
    rest.iter().try_fold(first, |struct_type, index| match struct_type {
        ValueType::Struct(inner) => {
            inner.fields.get_mut(*index).map(|(_, struct_type)| struct_type)
        }
        ValueType::List(item) => Some(&mut **item),
        _ => None,
    })
}
