//! Assigning constants to fields, as names of their values.
//!
//! A definition does not state to which field a constant belongs. It follows from the names or, if
//! they do not match, from the types:
//!
//! 1. A constant belongs to the field whose name is a prefix of its name, e.g. `STATUS_NO_FIX` to
//!    `status`: see [`logtool_core::fields_for_constant`], which is also used for messages of PX4.
//! 2. The other constants, e.g. of type `uint8`, belong to the field of type `uint8`, if there is
//!    exactly one such field, if no constant is named after it, and if they look like an
//!    enumeration: two or more different values that are either consecutive or powers of two. In
//!    this way `level` of `rosgraph_msgs/Log` gets `WARN`, and `datatype` of
//!    `sensor_msgs/PointField` gets `FLOAT32`.

use std::{collections::BTreeMap, ops::RangeInclusive};

use logtool_core::{
    IntegerField, Labels, fields_for_constant, integer_constant, integer_values,
};

use crate::definition::{
    MessageType,
    line::{Array, Constant, Field},
};

/// Returns the labels of all `types`.
pub(super) fn from_types(types: &[MessageType]) -> Labels {
    let mut labels = Labels::default();
    for message_type in types {
        for (field, constants) in constants_by_field(message_type) {
            for (value, label) in unique_values(constants) {
                labels.insert(&message_type.name, field, value, label.to_owned());
            }
        }
    }
    labels
}

/// Returns the value and the name of each constant that belongs to a field.
fn constants_by_field(message_type: &MessageType) -> BTreeMap<&str, Vec<(i64, &str)>> {
    let mut by_field: BTreeMap<&str, Vec<(i64, &str)>> = BTreeMap::new();
    let mut others_by_type: BTreeMap<&str, Vec<(i64, &str)>> = BTreeMap::new();
    let integer_fields: Vec<_> =
        message_type.fields.iter().filter_map(integer_field).collect();
    for constant in &message_type.constants {
        let Some(value) = integer_value(constant) else { continue };
        let value_and_name = (value, constant.name.as_str());
        let fields = fields_for_constant(&integer_fields, &constant.name, value);
        if fields.is_empty() {
            others_by_type.entry(&constant.type_name).or_default().push(value_and_name);
        }
        for field in fields {
            by_field.entry(field.name).or_default().push(value_and_name);
        }
    }
    for (type_name, constants) in others_by_type {
        let has_type =
            |field: &&Field| field.base == type_name && field.array == Array::No;
        let mut fields = message_type.fields.iter().filter(has_type);
        if let (Some(field), None) = (fields.next(), fields.next())
            && !by_field.contains_key(field.name.as_str())
            && is_enumeration(&constants)
        {
            by_field.insert(&field.name, constants);
        }
    }
    by_field
}

/// Removes the values that several of `constants` have, because their names are ambiguous.
fn unique_values(constants: Vec<(i64, &str)>) -> impl Iterator<Item = (i64, &str)> {
    let mut names: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
    for (value, name) in constants {
        names.entry(value).or_default().push(name);
    }
    names.into_iter().filter_map(|(value, names)| match names[..] {
        [name] => Some((value, name)),
        _ => None,
    })
}

fn is_enumeration(constants: &[(i64, &str)]) -> bool {
    let mut values: Vec<i64> = constants.iter().map(|(value, _)| *value).collect();
    values.sort_unstable();
    let are_consecutive =
        values.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    let are_flags = values.windows(2).all(|pair| pair[0] < pair[1])
        && values.iter().all(|value| *value >= 0 && value.count_ones() < 2);
    values.len() > 1 && (are_consecutive || are_flags)
}

fn integer_field(field: &Field) -> Option<IntegerField<'_>> {
    let (name, values) = (field.name.as_str(), values(&field.base)?);
    Some(IntegerField { name, values, prefix: None })
}

fn integer_value(constant: &Constant) -> Option<i64> {
    values(&constant.type_name)?;
    integer_constant(&constant.value)
}

/// Returns the values of an integer type. `byte` and `char` are old names for types of one byte.
fn values(type_name: &str) -> Option<RangeInclusive<i64>> {
    integer_values(match type_name {
        "byte" => "int8",
        "char" => "uint8",
        other => other,
    })
}
