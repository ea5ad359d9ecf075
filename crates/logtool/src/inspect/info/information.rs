//! Whole values of the information in a log, such as the dump of a hard fault.

use std::collections::BTreeMap;

use logtool_core::{Manifest, MetadataKey, Value};

use crate::{
    error::{Error, Result},
    inspect::info::LogInfo,
    text::suggest,
};

/// The maximum number of names in an error message.
const MAX_NAMES: usize = 40;

/// The values of an information of a ULog, or of a metadata record of an MCAP file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Information {
    /// The values: one, or several of a multi information.
    pub values: Vec<Value>,
}

impl LogInfo {
    /// Returns the whole values of the information `key`, e.g. `hardfault_plain`,
    /// `boot_console_output` or `perf_counter_preflight`.
    ///
    /// # Errors
    /// `NotFound` if there is no such information; the hint has the names. Others if the input
    /// cannot be read.
    pub fn information(&self, key: &str) -> Result<Information> {
        let values_by_name = values_by_name(self.log().manifest());
        if let Some(texts) = self.logger_texts(key)? {
            return Ok(Information {
                values: texts.into_iter().map(Value::Text).collect(),
            });
        }
        if let Some(values) = values_by_name.get(key) {
            let values = values.iter().map(|value| (*value).clone()).collect();
            return Ok(Information { values });
        }
        let error = Error::not_found(format!("the log has no information `{key}`"));
        if values_by_name.is_empty() {
            let hint = match self.log().ulog()? {
                Some(_) => "it has no information",
                None => "only ULogs have such information",
            };
            return Err(error.with_hint(hint));
        }
        let mut names: Vec<&str> = values_by_name.keys().copied().collect();
        let more = names.len().saturating_sub(MAX_NAMES);
        names.truncate(MAX_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let list = format!("it has {}{more}", names.join(", "));
        let hint = match suggest::hint(key, values_by_name.keys().copied(), "") {
            near if near.is_empty() => list,
            near => format!("{near} {list}"),
        };
        Err(error.with_hint(hint))
    }

    /// Returns the texts of the multi information `key` of a ULog, if all of its values are texts.
    fn logger_texts(&self, key: &str) -> Result<Option<Vec<String>>> {
        let Some(ulog) = self.log().ulog()? else { return Ok(None) };
        let Some(values) = ulog.metadata().info_multiple.get(key) else {
            return Ok(None);
        };
        let texts = ulog.metadata().texts(key);
        Ok((texts.len() == values.len()).then_some(texts))
    }
}

impl LogInfo {
    /// Returns the names of all entries of the information, sorted.
    pub fn information_names(&self) -> Vec<String> {
        values_by_name(self.log().manifest()).into_keys().map(str::to_owned).collect()
    }
}

impl Information {
    /// Returns the values for people or for a file: text and binary data as they are, and others
    /// as JSON. Each value that does not end a line gets a line end, but binary data.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for value in &self.values {
            match value {
                Value::Bytes(data) => {
                    bytes.extend_from_slice(data);
                    continue;
                }
                Value::Text(text) => bytes.extend_from_slice(text.as_bytes()),
                other => bytes.extend_from_slice(other.to_string().as_bytes()),
            }
            if !bytes.ends_with(b"\n") {
                bytes.push(b'\n');
            }
        }
        bytes
    }

    /// Returns whether there are binary data among the values.
    pub fn is_binary(&self) -> bool {
        self.values.iter().any(|value| matches!(value, Value::Bytes(_)))
    }
}

/// Returns the values of all information of a log, by their names.
fn values_by_name(manifest: &Manifest) -> BTreeMap<&str, Vec<&Value>> {
    let mut values_by_name: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    let keys =
        [MetadataKey::Info, MetadataKey::InfoMultiple, MetadataKey::MetadataRecords];
    for key in keys {
        let Some(Value::Map(map)) = manifest.file_metadata(key) else { continue };
        for (name, value) in map {
            let values = values_by_name.entry(name).or_default();
            match value {
                // A multi information is a list of its values.
                Value::List(list) if key == MetadataKey::InfoMultiple => {
                    values.extend(list);
                }
                value => values.push(value),
            }
        }
    }
    values_by_name
}
