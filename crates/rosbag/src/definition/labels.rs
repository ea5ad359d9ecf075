//! Which constants are the values of which fields.
//!
//! A definition does not say; it is told by their names, and where these are silent by
//! their types:
//!
//! 1. A constant goes to the field whose name, in capitals and followed by `_`, is the
//!    longest start of its own, if that is of an integer type which can hold the value:
//!    `STATUS_NO_FIX` to `status`. The same holds of the messages of PX4.
//! 2. Constants that no field's name begins go to the field of their type, if there is
//!    one such field, and if they look like an enumeration: two or more, whose values
//!    are different and either follow each other or are powers of two. That is how
//!    `level` of `rosgraph_msgs/Log` gets `WARN`, and `datatype` of
//!    `sensor_msgs/PointField` gets `FLOAT32`.

use std::collections::BTreeMap;

use logtool_core::Labels;

use crate::definition::{
    MessageType,
    line::{Array, Constant, Field},
};

/// The labels of all of `types`.
pub(super) fn of(types: &[MessageType]) -> Labels {
    let mut labels = Labels::default();
    for of in types {
        let mut orphans: BTreeMap<&str, Vec<(i64, &str)>> = BTreeMap::new();
        let mut named: BTreeMap<&str, Vec<(i64, &str)>> = BTreeMap::new();
        for constant in &of.constants {
            let Some(value) = integer(constant) else { continue };
            let labelled = (value, constant.name.as_str());
            let fits = |field: &&Field| {
                range(&field.base)
                    .is_some_and(|(min, max)| (min..=max).contains(&value))
            };
            let fields = of.fields.iter().filter(fits);
            match fields
                .filter_map(|f| Some((prefix(f, constant)?, f)))
                .max_by_key(|p| p.0)
            {
                Some((_, field)) => {
                    named.entry(&field.name).or_default().push(labelled)
                }
                None => orphans.entry(&constant.type_name).or_default().push(labelled),
            }
        }
        for (type_name, constants) in orphans {
            let same =
                |field: &&Field| field.base == type_name && field.array == Array::No;
            let mut fields = of.fields.iter().filter(same);
            if let (Some(field), None) = (fields.next(), fields.next())
                && !named.contains_key(field.name.as_str())
                && is_enumeration(&constants)
            {
                named.insert(&field.name, constants);
            }
        }
        for (field, constants) in named {
            for (value, label) in &constants {
                // Of two constants with the same value, neither is its name.
                if constants.iter().filter(|(other, _)| other == value).count() == 1 {
                    labels.insert(&of.name, field, *value, (*label).to_owned());
                }
            }
        }
    }
    labels
}

/// How much of the name of `constant` the name of `field` is.
fn prefix(field: &Field, constant: &Constant) -> Option<usize> {
    let rest = constant.name.strip_prefix(&field.name.to_uppercase())?;
    (!rest.strip_prefix('_')?.is_empty()).then_some(field.name.len())
}

fn is_enumeration(constants: &[(i64, &str)]) -> bool {
    let mut values: Vec<i64> = constants.iter().map(|(value, _)| *value).collect();
    values.sort_unstable();
    let follow = values.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    let bits = values.windows(2).all(|pair| pair[0] < pair[1])
        && values.iter().all(|value| *value >= 0 && value.count_ones() < 2);
    values.len() > 1 && (follow || bits)
}

fn integer(constant: &Constant) -> Option<i64> {
    range(&constant.type_name)?;
    let value = constant.value.as_str();
    match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    }
}

/// The values of an integer type, as far as labels have them.
fn range(type_name: &str) -> Option<(i64, i64)> {
    Some(match type_name {
        "int8" | "byte" => (i8::MIN.into(), i8::MAX.into()),
        "uint8" | "char" => (0, u8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "int64" => (i64::MIN, i64::MAX),
        "uint64" => (0, i64::MAX),
        _ => return None,
    })
}
