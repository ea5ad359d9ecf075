//! Names that ROS 2 allows.
//!
//! Packages and fields match `[a-z][a-z0-9_]*`, constants `[A-Z][A-Z0-9_]*`, neither with
//! two `_` in a row or one at the end; types match `[A-Z][A-Za-z0-9]*` (ROS 2's
//! rosidl_adapter, `parser.py`). Other names are changed: `timeStamp` becomes `time_stamp`.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use crate::definition::{
    MessageType,
    ros2::{FieldRenames, has_seq, new_name_of_field, new_name_of_type},
};

/// New names by the old ones.
#[derive(Debug, Default)]
pub(in crate::definition) struct Renames(HashMap<String, String>);

impl Renames {
    /// Returns the new name of `name`.
    pub(super) fn apply<'n>(&'n self, name: &'n str) -> &'n str {
        self.0.get(name).map_or(name, String::as_str)
    }

    /// Adds the new name of `name`.
    pub(super) fn insert(&mut self, name: &str, new_name: String) {
        self.0.insert(name.to_owned(), new_name);
    }

    /// Returns the names that `new_name` gives to `names`, unless it returns `None`. A new name that
    /// another name has gets a number after `separator`.
    fn new<'n>(
        names: impl Iterator<Item = &'n str> + Clone,
        separator: &str,
        new_name: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let mut taken: HashSet<Cow<'_, str>> = names
            .clone()
            .filter(|name| new_name(name).is_none())
            .map(Cow::Borrowed)
            .collect();
        let mut renames = Self::default();
        for name in names {
            if renames.0.contains_key(name) {
                continue;
            }
            let Some(wanted) = new_name(name) else { continue };
            let mut unique = wanted.clone();
            let mut number = 2;
            while !taken.insert(Cow::Owned(unique.clone())) {
                unique = format!("{wanted}{separator}{number}");
                number += 1;
            }
            renames.insert(name, unique);
        }
        renames
    }

    /// Returns the names of the fields of `message_type` of ROS 1 in ROS 2.
    pub(super) fn of_fields(message_type: &MessageType) -> Self {
        let names = message_type.fields.iter().map(|field| &*field.name);
        Self::new(names, "_", |name| {
            let well_known = new_name_of_field(message_type, name).map(str::to_owned);
            well_known
                .or_else(|| (!is_valid_lower(name)).then(|| lower_snake(name, "field")))
        })
    }

    /// Returns the names of the constants of `message_type` of ROS 1 in ROS 2.
    pub(super) fn of_constants(message_type: &MessageType) -> Self {
        let names = message_type.constants.iter().map(|constant| &*constant.name);
        Self::new(names, "_", |name| {
            let upper = || lower_snake(name, "constant").to_ascii_uppercase();
            (!is_valid_upper(name)).then(upper)
        })
    }

    /// Returns the names of `types` of ROS 1 in definitions of ROS 2.
    pub(super) fn of_types(types: &[MessageType]) -> Self {
        let names = types.iter().map(|message_type| &*message_type.name);
        Self::new(names, "", |name| {
            let well_known = new_name_of_type(name).map(str::to_owned);
            well_known.or_else(|| valid_type_name(name))
        })
    }
}

/// Returns the names of `types` of ROS 1, of their constants and of their fields that ROS 2 does
/// not allow, each with its new name, e.g. `a/B.camelCase → camel_case`. The names that ROS 2
/// changed itself are not among them.
pub(in crate::definition) fn changed_names(types: &[MessageType]) -> Vec<String> {
    let mut changed = Vec::new();
    let type_names = Renames::of_types(types);
    for message_type in types {
        let name = &message_type.name;
        if new_name_of_type(name).is_none() && valid_type_name(name).is_some() {
            changed.push(format!("{name} → {}", type_names.apply(name)));
        }
        let constants = Renames::of_constants(message_type);
        for constant in &message_type.constants {
            if !is_valid_upper(&constant.name) {
                let new_name = constants.apply(&constant.name);
                changed.push(format!("{name}.{} → {new_name}", constant.name));
            }
        }
        let fields = FieldRenames::to_ros2(message_type);
        for field in message_type.fields.iter().skip(usize::from(has_seq(message_type)))
        {
            let is_well_known = new_name_of_field(message_type, &field.name).is_some();
            if !is_valid_lower(&field.name) && !is_well_known {
                let new_name = fields.apply(&field.name);
                changed.push(format!("{name}.{} → {new_name}", field.name));
            }
        }
    }
    changed
}

/// Returns a name of a type that ROS 2 allows, or `None` if it allows `name`, or if `name` has no
/// package.
fn valid_type_name(name: &str) -> Option<String> {
    let (package, short_name) = name.split_once('/')?;
    let is_valid = is_valid_lower(package) && is_valid_type(short_name);
    (!is_valid).then(|| {
        let package = if is_valid_lower(package) {
            package.to_owned()
        } else {
            lower_snake(package, "package")
        };
        format!("{package}/{}", camel_case(short_name))
    })
}

/// Returns `name` in lower case, with `_` between its words: where an upper case letter follows a
/// lower case one, and before the last one of several (`GPSFix` has the words `gps` and `fix`).
/// `prefix` is the first word if the name does not begin with a letter.
fn lower_snake(name: &str, prefix: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut words = String::with_capacity(name.len() + 8);
    for (index, character) in chars.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| chars.get(before));
        let after = chars.get(index + 1);
        let is_after_lower =
            before.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let is_last_upper = before.is_some_and(char::is_ascii_uppercase)
            && after.is_some_and(char::is_ascii_lowercase);
        if character.is_ascii_uppercase() && (is_after_lower || is_last_upper) {
            words.push('_');
        }
        let is_word = character.is_ascii_alphanumeric();
        words.push(if is_word { character.to_ascii_lowercase() } else { '_' });
    }
    let words = words.split('_').filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("_");
    if name.starts_with(|c: char| c.is_ascii_lowercase()) {
        name
    } else {
        format!("{prefix}_{name}").trim_end_matches('_').to_owned()
    }
}

/// Returns `name` with a capital at the start of each of its words, and without `_`.
fn camel_case(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let capitalised = words.filter(|word| !word.is_empty()).map(|word| {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        first.to_ascii_uppercase() + rest
    });
    let name: String = capitalised.collect();
    if is_valid_type(&name) { name } else { format!("Type{name}") }
}

/// Returns whether `name` is valid for a package or a field.
fn is_valid_lower(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && has_valid_parts(name, is_allowed)
}

/// Returns whether `name` is valid for a constant.
fn is_valid_upper(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && has_valid_parts(name, is_allowed)
}

/// Returns whether all characters are allowed, and each `_` is between two other characters.
fn has_valid_parts(name: &str, is_allowed: impl Fn(char) -> bool) -> bool {
    name.chars().all(is_allowed) && !name.contains("__") && !name.ends_with('_')
}

/// Returns whether `name` is valid for a type, without its package.
fn is_valid_type(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_names_are_separated() {
        for (name, expected) in [
            ("timeStamp", "time_stamp"),
            ("frameID", "frame_id"),
            ("GPSFix", "gps_fix"),
            ("_x", "x"),
            ("a__b_", "a_b"),
            ("x1Y2", "x1_y2"),
            ("2d", "field_2d"),
            ("__", "field"),
            ("größe", "gr_e"),
        ] {
            assert_eq!(lower_snake(name, "field"), expected, "{name}");
            assert!(is_valid_lower(&lower_snake(name, "field")), "{name}");
        }
        for (name, expected) in [
            ("odd", "Odd"),
            ("my_type", "MyType"),
            ("2d", "Type2d"),
            ("IMU_raw", "IMURaw"),
        ] {
            assert_eq!(camel_case(name), expected);
        }
    }
}
