//! Labels for the values of enumeration fields.
//!
//! Message definitions have constants next to their fields, but do not declare which
//! constant is a value of which field. The names show it: a constant belongs to the field
//! whose name, in capitals and followed by `_`, is the longest prefix of its name, e.g.
//! `STATUS_NO_FIX` to `status`. The integer type of the field must be able to hold the
//! constant. If a definition declares the prefix of a field's constants, that takes
//! precedence over the names. PX4 does this with `[@enum PREFIX]` (see its "uORB
//! Documentation Standard"). For ROS it is only a widespread convention.

use std::{collections::BTreeMap, ops::RangeInclusive};

/// The labels of one field by value.
pub type FieldLabels = BTreeMap<i64, String>;

/// The labels of the values of fields, by message type and field.
///
/// ```
/// use logtool_core::Labels;
///
/// let mut labels = Labels::default();
/// labels.insert("kitchen_status", "pasta_menu", 1, "PASTA_MENU_CARBONARA".into());
/// let menu = labels.get("kitchen_status", "pasta_menu").unwrap();
/// assert_eq!(menu[&1], "PASTA_MENU_CARBONARA");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    types: BTreeMap<String, BTreeMap<String, FieldLabels>>,
}

impl Labels {
    /// Returns the labels of `field` of the message type `message`.
    pub fn get(&self, message: &str, field: &str) -> Option<&FieldLabels> {
        self.types.get(message)?.get(field)
    }

    /// Adds the `label` of a `value` of the field.
    pub fn insert(&mut self, message: &str, field: &str, value: i64, label: String) {
        let fields = self.types.entry(message.to_owned()).or_default();
        fields.entry(field.to_owned()).or_default().insert(value, label);
    }

    /// Iterates over all labels: message type, field, value and label.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, i64, &str)> {
        self.types.iter().flat_map(|(message, fields)| {
            fields.iter().flat_map(move |(field, labels)| {
                labels.iter().map(move |(value, label)| {
                    (message.as_str(), field.as_str(), *value, label.as_str())
                })
            })
        })
    }

    /// Returns whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }
}

/// An integer field to which constants may belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegerField<'d> {
    /// The name of the field.
    pub name: &'d str,
    /// The values that the field can have and that labels support: see
    /// [`integer_values`].
    pub values: RangeInclusive<i64>,
    /// The declared prefix of its constants, without the `_`.
    pub prefix: Option<&'d str>,
}

/// Returns the fields among `fields` to which the constant `name` with this `value`
/// belongs. There are several if they match equally well, e.g. if they share a declared
/// prefix.
///
/// ```
/// use logtool_core::{IntegerField, fields_for_constant, integer_values};
///
/// let field = |name| {
///     let values = integer_values("int8").unwrap();
///     IntegerField { name, values, prefix: None }
/// };
/// let fields = [field("status"), field("status_flags")];
/// let owners = |name, value| fields_for_constant(&fields, name, value);
/// assert_eq!(owners("STATUS_NO_FIX", -1), [&fields[0]]);
/// assert_eq!(owners("STATUS_FLAGS_OLD", 4), [&fields[1]]);
/// assert!(owners("STATUS_LARGE", 128).is_empty());
/// ```
pub fn fields_for_constant<'f, 'd>(
    fields: &'f [IntegerField<'d>],
    name: &str,
    value: i64,
) -> Vec<&'f IntegerField<'d>> {
    let by_declared_prefix = fields_with_longest_prefix(fields, value, |field| {
        prefix_len(name, field.prefix?)
    });
    if !by_declared_prefix.is_empty() {
        return by_declared_prefix;
    }
    fields_with_longest_prefix(fields, value, |field| {
        prefix_len(name, &field.name.to_uppercase())
    })
}

/// Returns the fields that can have this `value` and whose `prefix_len` is the largest.
fn fields_with_longest_prefix<'f, 'd>(
    fields: &'f [IntegerField<'d>],
    value: i64,
    prefix_len: impl Fn(&IntegerField<'d>) -> Option<usize>,
) -> Vec<&'f IntegerField<'d>> {
    let mut max_len = 0;
    let mut longest = Vec::new();
    for field in fields.iter().filter(|field| field.values.contains(&value)) {
        let Some(len) = prefix_len(field) else { continue };
        if len > max_len {
            max_len = len;
            longest.clear();
        }
        if len == max_len {
            longest.push(field);
        }
    }
    longest
}

/// Returns the values of the integer type `type_name` of `.msg` files. Labels are limited
/// to `i64`, so the upper half of `uint64` is excluded.
pub fn integer_values(type_name: &str) -> Option<RangeInclusive<i64>> {
    Some(match type_name {
        "int8" => i8::MIN.into()..=i8::MAX.into(),
        "int16" => i16::MIN.into()..=i16::MAX.into(),
        "int32" => i32::MIN.into()..=i32::MAX.into(),
        "int64" => i64::MIN..=i64::MAX,
        "uint8" => 0..=u8::MAX.into(),
        "uint16" => 0..=u16::MAX.into(),
        "uint32" => 0..=u32::MAX.into(),
        "uint64" => 0..=i64::MAX,
        _ => return None,
    })
}

/// Parses an integer constant: decimal, or hexadecimal after `0x`.
pub fn integer_constant(text: &str) -> Option<i64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Returns the length of `prefix` if `name` starts with it and with an `_`, and continues after
/// that.
fn prefix_len(name: &str, prefix: &str) -> Option<usize> {
    let suffix = name.strip_prefix(prefix)?.strip_prefix('_')?;
    if suffix.is_empty() { None } else { Some(prefix.len()) }
}
