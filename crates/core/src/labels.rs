//! Names for the values of fields that enumerate something.
//!
//! Definitions of messages have constants next to their fields, and do not say which is
//! a value of which. It is told by their names: a constant belongs to the field whose
//! name, in capitals and followed by `_`, is the longest start of its own, as
//! `STATUS_NO_FIX` to `status`, if that is of an integer type which can hold it. A
//! definition may also say with what the constants of a field begin, which then counts
//! before the names. So it is for PX4, of which the "uORB Documentation Standard" has
//! `[@enum PREFIX]`, and for ROS, of which nothing says it but the habit of packages.

use std::{collections::BTreeMap, ops::RangeInclusive};

/// The names of the values of one field.
pub type FieldLabels = BTreeMap<i64, String>;

/// For fields of message types, what their values are called.
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
    /// What the values of `field` of the message type `message` are called.
    pub fn get(&self, message: &str, field: &str) -> Option<&FieldLabels> {
        self.types.get(message)?.get(field)
    }

    /// Calls `value` of that field `label`.
    pub fn insert(&mut self, message: &str, field: &str, value: i64, label: String) {
        let fields = self.types.entry(message.to_owned()).or_default();
        fields.entry(field.to_owned()).or_default().insert(value, label);
    }

    /// Every name: the message type, the field, the value, and what that is called.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, i64, &str)> {
        self.types.iter().flat_map(|(message, fields)| {
            fields.iter().flat_map(move |(field, labels)| {
                let names = labels.iter().map(|(value, name)| (*value, name.as_str()));
                names.map(move |(value, name)| {
                    (message.as_str(), field.as_str(), value, name)
                })
            })
        })
    }

    /// Whether nothing has a name.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }
}

/// A field of integers, to which constants may belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegerField<'d> {
    /// Its name.
    pub name: &'d str,
    /// The values that it can have, as far as labels have them: see [`integer_values`].
    pub values: RangeInclusive<i64>,
    /// What its constants begin with, if the definition says so: without the `_`.
    pub prefix: Option<&'d str>,
}

/// Which of `fields` the constant `name`, which is `value`, belongs to: several if it
/// fits them alike, as those that share a prefix.
///
/// ```
/// use logtool_core::{IntegerField, integer_values, owners};
///
/// let field = |name| {
///     let values = integer_values("int8").unwrap();
///     IntegerField { name, values, prefix: None }
/// };
/// let fields = [field("status"), field("status_flags")];
/// assert_eq!(owners(&fields, "STATUS_NO_FIX", -1), [&fields[0]]);
/// assert_eq!(owners(&fields, "STATUS_FLAGS_OLD", 4), [&fields[1]]);
/// assert_eq!(owners(&fields, "STATUS_LARGE", 128), [] as [&IntegerField<'_>; 0]);
/// ```
pub fn owners<'f, 'd>(
    fields: &'f [IntegerField<'d>],
    name: &str,
    value: i64,
) -> Vec<&'f IntegerField<'d>> {
    let fits = |field: &&IntegerField<'_>| field.values.contains(&value);
    let longest = |length: &dyn Fn(&IntegerField<'_>) -> Option<usize>| -> Vec<_> {
        let fields = || fields.iter().filter(fits);
        match fields().filter_map(length).max() {
            Some(max) => fields().filter(|field| length(field) == Some(max)).collect(),
            None => vec![],
        }
    };
    let by_prefix = longest(&|field| length_of_start(name, field.prefix?));
    match by_prefix.is_empty() {
        true => longest(&|field| length_of_start(name, &field.name.to_uppercase())),
        false => by_prefix,
    }
}

/// The values of the integer type that `.msg` files call `type_name`. Labels have those
/// of 64 bits, so that half of `uint64` is left out.
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

/// The value of a constant of an integer type: digits, or hexadecimal ones after `0x`.
pub fn integer_constant(text: &str) -> Option<i64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The length of `start` if `name` starts with it, an `_`, and something else.
fn length_of_start(name: &str, start: &str) -> Option<usize> {
    let rest = name.strip_prefix(start)?.strip_prefix('_')?;
    (!rest.is_empty()).then_some(start.len())
}
