//! Converts the metadata of a log to metadata records of MCAP.

use std::collections::BTreeMap;

use logtool_core::{Manifest, Value};

/// Returns the metadata of the log called `name` with `manifest`: a record for each heading of its
/// metadata, and the record `logtool` about its origin.
pub(super) fn metadata_records(
    manifest: &Manifest,
    name: &str,
) -> Vec<(String, BTreeMap<String, String>)> {
    let mut origin = BTreeMap::from([
        ("source".to_owned(), name.to_owned()),
        ("source_format".to_owned(), manifest.format.clone()),
        ("source_bytes".to_owned(), manifest.bytes.to_string()),
        ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
    ]);
    if let Some(uses_index) = manifest.access.uses_index() {
        origin.insert("indexed".to_owned(), uses_index.to_string());
    }
    if let Some(fit) = &manifest.clock.to_unix {
        let offset = fit.offset_nanos.to_string();
        origin.insert("clock_offset_nanoseconds".to_owned(), offset);
        origin.insert("clock_source".to_owned(), fit.source.clone());
    }
    let mut records = vec![];
    for (heading, value) in &manifest.metadata {
        match value {
            Value::Map(values) => {
                let mut metadata_records = BTreeMap::new();
                values.iter().for_each(|(key, value)| {
                    add_value(key, value, &mut metadata_records)
                });
                if !metadata_records.is_empty() {
                    records.push((heading.clone(), metadata_records));
                }
            }
            value => add_value(heading, value, &mut origin),
        }
    }
    records.push(("logtool".to_owned(), origin));
    records
}

/// Adds `value` to `metadata_records` with the key `key`; the elements of a list get an index.
fn add_value(
    key: &str,
    value: &Value,
    metadata_records: &mut BTreeMap<String, String>,
) {
    match value {
        Value::List(values) => {
            for (index, value) in values.iter().enumerate() {
                metadata_records.insert(format!("{key}[{index}]"), value.to_string());
            }
        }
        value => {
            metadata_records.insert(key.to_owned(), value.to_string());
        }
    }
}
