//! Assigning constants to fields, as names of their values.
//!
//! A definition does not state this; it follows from the names or, if they do not match, from the
//! types:
//!
//! 1. A constant belongs to the field whose name is a prefix of its name, e.g. `STATUS_NO_FIX` to
//!    `status`: see [`logtool_core::fields_for_constant`], which is also used for messages of PX4.
//! 2. Other constants belong to the field of their type, if there is exactly one such field, and if
//!    they look like an enumeration: two or more different values that are either consecutive or
//!    powers of two. In this way `level` of `rosgraph_msgs/Log` gets `WARN`, and `datatype` of
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
        let mut orphans: BTreeMap<&str, Vec<(i64, &str)>> = BTreeMap::new();
        let mut named: BTreeMap<&str, Vec<(i64, &str)>> = BTreeMap::new();
        let fields: Vec<_> = message_type.fields.iter().filter_map(integers).collect();
        for constant in &message_type.constants {
            let Some(value) = integer(constant) else { continue };
            let labelled = (value, constant.name.as_str());
            let fields_for_constant =
                fields_for_constant(&fields, &constant.name, value);
            if fields_for_constant.is_empty() {
                orphans.entry(&constant.type_name).or_default().push(labelled);
            }
            for field in fields_for_constant {
                named.entry(field.name).or_default().push(labelled);
            }
        }
        for (type_name, constants) in orphans {
            let same =
                |field: &&Field| field.base == type_name && field.array == Array::No;
            let mut fields = message_type.fields.iter().filter(same);
            if let (Some(field), None) = (fields.next(), fields.next())
                && !named.contains_key(field.name.as_str())
                && is_enumeration(&constants)
            {
                named.insert(&field.name, constants);
            }
        }
        for (field, constants) in named {
            for (value, label) in &constants {
                // If two constants have the same value, neither is used.
                if constants
                    .iter()
                    .filter(|(other_value, _)| other_value == value)
                    .count()
                    == 1
                {
                    labels.insert(
                        &message_type.name,
                        field,
                        *value,
                        (*label).to_owned(),
                    );
                }
            }
        }
    }
    labels
}

fn is_enumeration(constants: &[(i64, &str)]) -> bool {
    let mut values: Vec<i64> = constants.iter().map(|(value, _)| *value).collect();
    values.sort_unstable();
    let follow = values.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    let bits = values.windows(2).all(|pair| pair[0] < pair[1])
        && values.iter().all(|value| *value >= 0 && value.count_ones() < 2);
    values.len() > 1 && (follow || bits)
}

fn integers(field: &Field) -> Option<IntegerField<'_>> {
    let (name, values) = (field.name.as_str(), values(&field.base)?);
    Some(IntegerField { name, values, prefix: None })
}

fn integer(constant: &Constant) -> Option<i64> {
    values(&constant.type_name)?;
    integer_constant(&constant.value)
}

/// Returns the values of an integer type; ROS has the old names `byte` and `char` for bytes.
fn values(type_name: &str) -> Option<RangeInclusive<i64>> {
    integer_values(match type_name {
        "byte" => "int8",
        "char" => "uint8",
        other => other,
    })
}
