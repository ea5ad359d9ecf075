//! Names of the values of PX4's own fields, for logs without the `.msg` files of PX4.
//!
//! They are in `px4/names.txt`, which `px4/make_table.py` makes from the constants of PX4's messages.
//! If the meaning of a value changed between releases, its name depends on the release that wrote
//! the log. A value has a name if all releases that may have written the log and name it agree.

mod releases;

use std::{collections::BTreeMap, ops::Range, sync::LazyLock};

use logtool_core::{FieldLabels, Labels, Manifest, MetadataKey, Topic, Value};

use crate::labels::px4::releases::{Release, parse_ranges, possible_releases};

pub use crate::labels::px4::releases::{
    px4_bits_of_flags, px4_field_releases, px4_vibration_is_velocity,
};

static NAMES: LazyLock<Vec<NamedFields<'static>>> =
    LazyLock::new(|| parse(include_str!("px4/names.txt")));

/// The kind of the values of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Values,
    /// Sets of bits; the names are those of the numbers of bits.
    Bits,
    /// Sets of bits; the names are those of the values of bits.
    Masks,
}

/// Fields with the same names.
struct NamedFields<'t> {
    /// The message types, which have the names of PX4 topics.
    messages: Vec<&'t str>,
    fields: Vec<&'t str>,
    kind: Kind,
    names: Vec<ValueName<'t>>,
}

/// The name of a value.
struct ValueName<'t> {
    value: i64,
    name: &'t str,
    /// The releases with this name.
    releases: Vec<Range<Release>>,
}

impl<'t> NamedFields<'t> {
    /// Parses the fields, e.g. `battery_status: faults; bits`.
    fn parse(line: &'t str) -> Option<Self> {
        let (messages, fields) = line.split_once(':')?;
        let (fields, kind) = fields.split_once(';').unwrap_or((fields, ""));
        let kind = match kind.trim() {
            "bits" => Kind::Bits,
            "masks" => Kind::Masks,
            _ => Kind::Values,
        };
        let words = |text: &'t str| text.split_whitespace().collect();
        let (messages, fields) = (words(messages), words(fields));
        Some(Self { messages, fields, kind, names: Vec::new() })
    }

    /// Returns the names on which all of the `possible` releases that name a value agree.
    fn names_in(&self, possible: &[Release]) -> BTreeMap<i64, &'t str> {
        let mut names: BTreeMap<i64, Option<&str>> = BTreeMap::new();
        for name in self.names.iter().filter(|name| name.is_in(possible)) {
            let known = names.entry(name.value).or_insert(Some(name.name));
            *known = known.filter(|known| *known == name.name);
        }
        names.into_iter().filter_map(|(value, name)| Some((value, name?))).collect()
    }
}

impl<'t> ValueName<'t> {
    /// Parses a line, e.g. `6 NAVIGATION_STATE_AUTO_RCRECOVER -1.11`.
    fn parse(line: &'t str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (value, name) = (words.next()?.parse().ok()?, words.next()?);
        Some(Self { value, name, releases: parse_ranges(words)? })
    }

    /// Returns true if one of the `possible` releases has the name.
    fn is_in(&self, possible: &[Release]) -> bool {
        self.releases
            .iter()
            .any(|range| possible.iter().any(|release| range.contains(release)))
    }
}

/// Parses a table of names.
fn parse(table: &str) -> Vec<NamedFields<'_>> {
    let mut all: Vec<NamedFields<'_>> = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        match (NamedFields::parse(line), all.last_mut()) {
            (Some(fields), _) => all.push(fields),
            (None, Some(last)) => last.names.extend(ValueName::parse(line)),
            (None, None) => {}
        }
    }
    all
}

/// Returns the names of the values of the fields in the log of `manifest`. They are empty unless PX4
/// wrote the log. Sets of bits have none: see [`px4_bit_names`].
pub fn px4_labels(manifest: &Manifest) -> Labels {
    let mut labels = Labels::default();
    let system = match manifest.file_metadata(MetadataKey::Info) {
        Some(Value::Map(info)) => info.get("sys_name"),
        _ => None,
    };
    if system != Some(&Value::Text("PX4".to_owned())) {
        return labels;
    }
    let possible = possible_releases(manifest);
    for named in NAMES.iter().filter(|named| named.kind == Kind::Values) {
        let is_logged =
            |message: &&&str| manifest.topics.iter().any(|t| has_type(t, message));
        let names = named.names_in(&possible);
        for message in named.messages.iter().filter(is_logged) {
            for (field, (value, name)) in
                named.fields.iter().flat_map(|f| names.iter().map(move |n| (f, n)))
            {
                labels.insert(message, field, *value, (*name).to_owned());
            }
        }
    }
    labels
}

/// Returns the names of the values of a field of PX4's topic `message` in the log of `manifest`, also
/// if the log does not state that PX4 wrote it.
pub fn px4_value_names(manifest: &Manifest, message: &str, field: &str) -> FieldLabels {
    let names = field_names(manifest, message, field, |kind| kind == Kind::Values);
    let names = names.into_iter().flat_map(|(_, names)| names);
    names.map(|(value, name)| (value, name.to_owned())).collect()
}

/// Returns the names of the bits of a field of PX4's topic `message`, by the numbers of the bits.
pub fn px4_bit_names(
    manifest: &Manifest,
    message: &str,
    field: &str,
) -> BTreeMap<u32, String> {
    let found = field_names(manifest, message, field, |kind| kind != Kind::Values);
    let Some((kind, names)) = found else { return BTreeMap::new() };
    let bit = |value: i64| match kind {
        Kind::Masks => (value.count_ones() == 1).then(|| value.trailing_zeros()),
        _ => u32::try_from(value).ok(),
    };
    let names = names.into_iter();
    names.filter_map(|(value, name)| Some((bit(value)?, name.to_owned()))).collect()
}

fn field_names(
    manifest: &Manifest,
    message: &str,
    field: &str,
    is_wanted: impl Fn(Kind) -> bool,
) -> Option<(Kind, BTreeMap<i64, &'static str>)> {
    let named = NAMES.iter().find(|named| {
        is_wanted(named.kind)
            && named.messages.contains(&message)
            && named.fields.contains(&field)
    })?;
    Some((named.kind, named.names_in(&possible_releases(manifest))))
}

/// Returns true if the records of `topic` have the type `message` or contain it.
fn has_type(topic: &Topic, message: &str) -> bool {
    let is_inside = |line: &str| {
        line.strip_prefix(message).is_some_and(|rest| rest.starts_with(':'))
    };
    topic.type_name == message || topic.definition.lines().skip(1).any(is_inside)
}

#[cfg(test)]
mod tests;
