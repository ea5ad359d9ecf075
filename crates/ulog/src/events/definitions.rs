//! The definitions of events, parsed from libevents JSON and looked up by id.
//!
//! ```text
//! { "version": 1, "components": { "<id>": {
//!     "namespace": "px4",
//!     "enums": { "<name>": { "type": "uint8_t", "is_bitfield": true, "separator": "|",
//!         "entries": { "<value>": { "name": "…", "description": "…" } } } },
//!     "event_groups": { "<name>": { "events": { "<sub id>": {
//!         "name": "…", "message": "…", "description": "…", "type": "…",
//!         "arguments": [ { "name": "…", "type": "float" } ] } } } } } } }
//! ```
//!
//! Version 2 adds translations. Keys that are not listed here do not affect the text of
//! an event.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use logtool_core::{Error, ErrorKind, Result};
use serde::Deserialize;

use crate::events::{
    truncate,
    types::{ArgumentType, BaseType, Enumeration, Parameter, TEXT_BYTES},
};

/// The maximum number of arguments of an event: the 25 argument bytes cannot hold more.
const MAX_ARGUMENTS: usize = 25;

/// The definitions of the events in a log.
///
/// ```
/// use logtool_ulog::{Catalog, RawEvent};
///
/// let catalog = Catalog::from_json(
///     br#"{ "version": 1, "components": { "1": { "namespace": "px4",
///         "event_groups": { "default": { "events": { "7": {
///             "name": "battery_low", "message": "Battery at {1:.1}%",
///             "arguments": [ { "name": "left", "type": "float" } ] } } } } } } }"#,
/// )?;
/// let arguments = 12.5_f32.to_le_bytes();
/// let raw = RawEvent { id: 0x0100_0007, sequence: 0, arguments: &arguments, log_levels: 0x64 };
/// let event = catalog.describe(&raw).expect("an event that was defined");
/// assert_eq!(event.message, "Battery at 12.5%");
/// assert_eq!(event.level.name(), "warning");
/// # Ok::<_, logtool_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    events: HashMap<u32, Definition>,
    enumerations: Vec<Enumeration>,
}

/// The definition of an event.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) namespace: Arc<str>,
    pub(super) group: Arc<str>,
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) message: String,
    pub(super) description: Option<String>,
    pub(super) parameters: Vec<Parameter>,
}

impl Catalog {
    /// Parses definitions: the decompressed content of `all_events.json.xz` of a PX4
    /// release.
    ///
    /// # Errors
    ///
    /// `Malformed` if the bytes are not JSON of this structure, or have version 0.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        let document: Document = serde_json::from_slice(bytes).map_err(|err| {
            Error::new(ErrorKind::Malformed, "event definitions do not parse")
                .with_source(err)
        })?;
        if document.version < 1 {
            let message = "event definitions without a version";
            return Err(Error::new(ErrorKind::Malformed, message));
        }
        Ok(document.into_catalog())
    }

    /// Returns the number of defined events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns true if no event is defined.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn definition(&self, id: u32) -> Option<&Definition> {
        self.events.get(&id)
    }

    pub(super) fn enumeration(&self, index: usize) -> Option<&Enumeration> {
        self.enumerations.get(index)
    }

    /// Returns the defined ids, in no particular order.
    #[cfg(test)]
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        self.events.keys().copied()
    }
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    version: u64,
    #[serde(default)]
    components: BTreeMap<String, ComponentEntry>,
}

#[derive(Deserialize)]
struct ComponentEntry {
    namespace: String,
    #[serde(default)]
    enums: BTreeMap<String, EnumEntry>,
    #[serde(default)]
    event_groups: BTreeMap<String, GroupEntry>,
}

#[derive(Deserialize)]
struct EnumEntry {
    #[serde(rename = "type")]
    base: String,
    #[serde(default)]
    is_bitfield: bool,
    separator: Option<String>,
    #[serde(default)]
    entries: BTreeMap<String, LabelEntry>,
}

#[derive(Deserialize)]
struct LabelEntry {
    #[serde(default)]
    name: String,
    description: Option<String>,
}

#[derive(Deserialize)]
struct GroupEntry {
    #[serde(default)]
    events: BTreeMap<String, EventEntry>,
}

#[derive(Deserialize)]
struct EventEntry {
    name: String,
    message: String,
    description: Option<String>,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    arguments: Vec<ArgumentEntry>,
}

#[derive(Deserialize)]
struct ArgumentEntry {
    #[serde(default)]
    name: String,
    #[serde(rename = "type")]
    type_name: String,
}

impl Document {
    fn into_catalog(self) -> Catalog {
        let mut catalog = Catalog::default();
        // The index of each enumeration, by namespace and name. All components may use it.
        let mut indices: HashMap<Arc<str>, HashMap<String, usize>> = HashMap::new();
        let mut components = Vec::new();
        for (id, component) in self.components {
            let namespace: Arc<str> = shorten(component.namespace).into();
            let enumeration_indices = indices.entry(namespace.clone()).or_default();
            for (name, entry) in component.enums {
                if let Some(enumeration) = entry.into_enumeration() {
                    enumeration_indices.insert(name, catalog.enumerations.len());
                    catalog.enumerations.push(enumeration);
                }
            }
            if let Ok(id) = id.parse::<u8>() {
                components.push((id, namespace, component.event_groups));
            }
        }
        let resolve = |namespace: &str, type_name: &str| {
            let base = BaseType::from_name(type_name).map(ArgumentType::Base);
            base.or_else(|| {
                let (namespace, name) =
                    type_name.split_once("::").unwrap_or((namespace, type_name));
                indices
                    .get(namespace)?
                    .get(name)
                    .copied()
                    .map(ArgumentType::Enumeration)
            })
        };
        for (component, namespace, groups) in components {
            for (group, entry) in groups {
                let group: Arc<str> = shorten(group).into();
                for (sub_id, event) in entry.events {
                    let Some(id) = event_id(component, &sub_id) else { continue };
                    let definition =
                        event.into_definition(&namespace, &group, &resolve);
                    catalog.events.entry(id).or_insert(definition);
                }
            }
        }
        catalog
    }
}

impl EnumEntry {
    /// Returns `None` if the type of the values is not a known integer type, because
    /// the size of an argument is then unknown.
    fn into_enumeration(self) -> Option<Enumeration> {
        let base = BaseType::from_name(&self.base).filter(|base| base.is_integer())?;
        let labels = self.entries.into_iter().filter_map(|(value, entry)| {
            Some((
                value.parse().ok()?,
                shorten(entry.description.unwrap_or(entry.name)),
            ))
        });
        Some(Enumeration {
            base,
            is_bitfield: self.is_bitfield,
            separator: self.separator.map_or_else(|| "|".to_owned(), shorten),
            labels: labels.collect(),
        })
    }
}

impl EventEntry {
    fn into_definition(
        self,
        namespace: &Arc<str>,
        group: &Arc<str>,
        resolve: &dyn Fn(&str, &str) -> Option<ArgumentType>,
    ) -> Definition {
        let parameter = |entry: ArgumentEntry| Parameter {
            value_type: resolve(namespace, &entry.type_name),
            name: shorten(entry.name),
        };
        Definition {
            namespace: namespace.clone(),
            group: group.clone(),
            name: shorten(self.name),
            kind: shorten(self.kind),
            message: shorten(self.message),
            description: self.description.map(shorten),
            parameters: self
                .arguments
                .into_iter()
                .take(MAX_ARGUMENTS)
                .map(parameter)
                .collect(),
        }
    }
}

/// Returns the id of an event: its component in the high byte, its number within the
/// component in the others.
fn event_id(component: u8, sub_id: &str) -> Option<u32> {
    let sub_id = sub_id.parse::<u32>().ok().filter(|sub_id| *sub_id < 1 << 24)?;
    Some(u32::from(component) << 24 | sub_id)
}

/// Truncates a string of excessive length, so that filling it in has a bounded cost.
fn shorten(mut text: String) -> String {
    truncate(&mut text, TEXT_BYTES);
    text
}
