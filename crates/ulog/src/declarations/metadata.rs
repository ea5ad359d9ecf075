//! The typed metadata of a ULog: information, parameters, version and flags.

use std::collections::{BTreeMap, BTreeSet};

use logtool_core::{Timestamp, Value};
use serde::{Deserialize, Serialize};

use crate::{
    declarations::{
        formats::{self, Formats},
        info_values,
    },
    wire::{self, KeyedValue, kind},
};

/// The prefixes of the names of multi information whose parts are lines.
const LINE_PREFIXES: [&str; 2] = ["perf_counter_", "perf_top_"];

/// The maximum number of bytes of information and parameters.
const MAX_BYTES: usize = 64 << 20;

/// The header of a ULog file: its first 16 bytes and its flag bits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHeader {
    /// The version byte of the file: 0 and 1 are in use.
    pub version: u8,
    /// The start of logging, on the clock of the log's timestamps.
    pub start: Timestamp,
    /// Flag bits that readers may ignore. Bit 0 of byte 0 declares default parameters.
    pub compatible_flags: [u8; 8],
    /// Flag bits that readers must know. Bit 0 of byte 0 declares appended sections.
    pub incompatible_flags: [u8; 8],
    /// The byte offsets of appended sections, in ascending order.
    pub appended: Vec<u64>,
}

/// The typed metadata of a ULog.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// The header of the file.
    pub file_header: FileHeader,
    /// Information (`I`) by name; the last value if a name occurs several times.
    pub info: BTreeMap<String, Value>,
    /// Multi information (`M`) by name; the parts of each value are joined.
    pub info_multiple: BTreeMap<String, Vec<Value>>,
    /// Parameters (`P` and `Q`) by name.
    pub parameters: BTreeMap<String, Parameter>,
    /// The lengths in bytes of the parts of the multi information values that are strings.
    part_lengths: BTreeMap<(String, usize), Vec<usize>>,
    /// The number of bytes stored in these three maps.
    stored_bytes: usize,
    /// The multi information values that are strings: name and index of the value.
    unjoined_strings: BTreeSet<(String, usize)>,
    /// The user-defined types of information values, by name.
    user_types: BTreeMap<String, String>,
    /// The user-defined types of multi information values, by name.
    multiple_user_types: BTreeMap<String, String>,
    /// The names of information strings that are not UTF-8.
    pub(crate) latin1: BTreeSet<String>,
}

/// A parameter of the system that wrote the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The value at the start of logging; `None` if it first occurred later.
    pub initial: Option<ParameterValue>,
    /// The last value.
    pub value: ParameterValue,
    /// The default of the firmware, if the log contains it.
    pub system_default: Option<ParameterValue>,
    /// The default of the configuration of the vehicle (airframe), if the log contains
    /// it.
    pub setup_default: Option<ParameterValue>,
    /// The changes during logging, in file order.
    pub changes: Vec<ParameterChange>,
}

/// A new value of a [`Parameter`].
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterChange {
    /// The latest time of the records before the change, which has no timestamp of its
    /// own.
    pub time: Timestamp,
    /// The new value.
    pub value: ParameterValue,
    /// The byte offset of the change in the file.
    pub offset: u64,
}

/// The value of a [`Parameter`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterValue {
    /// A 32-bit integer.
    Int(i32),
    /// A 32-bit float.
    Float(f32),
}

impl Parameter {
    /// Returns true if the last value is known to differ from the default. PX4 logs a
    /// default only if it differs from the value.
    pub fn is_non_default(&self) -> bool {
        self.setup_default.or(self.system_default).is_some_and(|d| d != self.value)
    }
}

impl FileHeader {
    /// Returns the start of logging in microseconds; 0 if it is not set.
    pub(crate) fn start_micros(&self) -> u64 {
        u64::try_from(self.start.as_nanos() / 1_000).unwrap_or(0)
    }
}

impl Metadata {
    /// Creates metadata that contains only the header of the file.
    pub(crate) fn new(file_header: FileHeader) -> Self {
        Self { file_header, ..Self::default() }
    }

    /// Adds an information or parameter message. `change` is the time and the offset of
    /// a parameter change.
    ///
    /// Returns `None` if the message is malformed.
    pub(crate) fn add(
        &mut self,
        kind: u8,
        payload: &[u8],
        change: Option<(Timestamp, u64)>,
    ) -> Option<MetadataResult> {
        let (flag, keyed) = match kind {
            kind::INFO | kind::PARAMETER => (0, wire::keyed_value(payload)?),
            _ => wire::flagged_keyed_value(payload)?,
        };
        // A value needs more memory than its bytes, and a list of numbers needs most.
        let memory_factor =
            if info_values::is_list(keyed.type_name) { size_of::<Value>() } else { 4 };
        self.stored_bytes += keyed.name.len() + keyed.value.len() * memory_factor + 64;
        if self.stored_bytes > MAX_BYTES {
            return Some(MetadataResult::OverLimit);
        }
        let is_parameter = matches!(kind, kind::PARAMETER | kind::DEFAULT_PARAMETER);
        match (kind, ParameterValue::new(&keyed)) {
            (_, None) if is_parameter => return Some(MetadataResult::TypeMismatch),
            (kind::PARAMETER, Some(value)) => self.set(keyed.name, value, change),
            (kind::DEFAULT_PARAMETER, Some(value)) => {
                self.set_default(keyed.name, value, flag);
            }
            (kind::INFO, _) => {
                let value = info_values::value(keyed.type_name, keyed.value);
                let name = keyed.name.to_owned();
                if info_values::is_latin1(keyed.type_name, keyed.value) {
                    self.latin1.insert(name.clone());
                }
                store_user_type(&mut self.user_types, &keyed);
                self.info.insert(name, value);
            }
            _ => self.add_part(&keyed, flag != 0),
        }
        Some(MetadataResult::Accepted)
    }

    /// Adds a part of a multi information.
    fn add_part(&mut self, keyed: &KeyedValue<'_>, is_continued: bool) {
        let is_text = info_values::is_text(keyed.type_name);
        // The parts are joined as bytes: a character may be split between two parts.
        let value = if is_text {
            Value::Bytes(keyed.value.to_vec())
        } else {
            info_values::value(keyed.type_name, keyed.value)
        };
        store_user_type(&mut self.multiple_user_types, keyed);
        let length = keyed.value.len();
        let values = self.info_multiple.entry(keyed.name.to_owned()).or_default();
        match values.last_mut().filter(|_| is_continued) {
            Some(last) => info_values::join(last, value),
            None => values.push(value),
        }
        if is_text {
            let key = (keyed.name.to_owned(), values.len() - 1);
            self.part_lengths.entry(key.clone()).or_default().push(length);
            self.unjoined_strings.insert(key);
        }
    }

    /// Returns the text of each value of the multi information `name`. Values that are not strings
    /// are omitted.
    ///
    /// PX4's logger splits long texts into parts. The parts of performance counters and of process
    /// lists are lines without line ends, so a line end is added after each part (Flight Review,
    /// `configured_plots.py`). The parts of other texts, e.g. of the console, may end anywhere.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let has_lines = LINE_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        let join = |parts: Vec<&str>| {
            let mut text = String::new();
            for part in parts {
                text.push_str(part);
                if has_lines && !part.ends_with('\n') {
                    text.push('\n');
                }
            }
            text
        };
        self.text_parts(name).into_iter().map(join).collect()
    }

    /// Returns the parts of each value of the multi information `name`, as they are in the file.
    /// A value has one part if it is not in UTF-8.
    fn text_parts(&self, name: &str) -> Vec<Vec<&str>> {
        let values = self.info_multiple.get(name).into_iter().flatten().enumerate();
        let parts = values.filter_map(|(index, value)| {
            let Value::Text(text) = value else { return None };
            let lengths = self.part_lengths.get(&(name.to_owned(), index));
            let lengths = lengths.filter(|_| !self.latin1.contains(name));
            let mut remaining = text.as_str();
            let mut parts = Vec::new();
            for length in lengths.into_iter().flatten() {
                // Stops where a character is split between two parts.
                let Some((part, after)) = remaining.split_at_checked(*length) else {
                    break;
                };
                parts.push(part);
                remaining = after;
            }
            if !remaining.is_empty() || parts.is_empty() {
                parts.push(remaining);
            }
            Some(parts)
        });
        parts.collect()
    }

    /// Decodes the values that need all parts of a string, or a type definition that may follow
    /// its use.
    pub(crate) fn finish(&mut self, formats: &mut Formats) {
        for (name, index) in std::mem::take(&mut self.unjoined_strings) {
            let values = self.info_multiple.get_mut(&name);
            if let Some(value) = values.and_then(|values| values.get_mut(index)) {
                let bytes = std::mem::replace(value, Value::Bool(false));
                if matches!(&bytes, Value::Bytes(bytes) if str::from_utf8(bytes).is_err())
                {
                    self.latin1.insert(name);
                }
                *value = info_values::join_text(bytes);
            }
        }
        let mut budget = MAX_BYTES.saturating_sub(self.stored_bytes);
        for (name, type_name) in std::mem::take(&mut self.user_types) {
            let value = self.info.get_mut(&name);
            decode(value.into_iter(), &type_name, formats, &mut budget);
        }
        for (name, type_name) in std::mem::take(&mut self.multiple_user_types) {
            let values = self.info_multiple.get_mut(&name);
            decode(values.into_iter().flatten(), &type_name, formats, &mut budget);
        }
    }

    /// Sets the value of a parameter; it is the initial value if there is no change.
    fn set(
        &mut self,
        name: &str,
        value: ParameterValue,
        change: Option<(Timestamp, u64)>,
    ) {
        let parameter = self.parameter(name, value);
        parameter.value = value;
        match change {
            Some((time, offset)) => {
                parameter.changes.push(ParameterChange { time, value, offset });
            }
            None => parameter.initial = Some(value),
        }
    }

    /// Sets a default of a parameter. Bit 0 of `scope_bits` denotes the default of the
    /// firmware, bit 1 the default of the configuration.
    fn set_default(&mut self, name: &str, value: ParameterValue, scope_bits: u8) {
        let parameter = self.parameter(name, value);
        if scope_bits & 1 != 0 {
            parameter.system_default = Some(value);
        }
        if scope_bits & 2 != 0 {
            parameter.setup_default = Some(value);
        }
    }

    fn parameter(&mut self, name: &str, value: ParameterValue) -> &mut Parameter {
        self.parameters.entry(name.to_owned()).or_insert_with(|| Parameter {
            initial: None,
            value,
            system_default: None,
            setup_default: None,
            changes: Vec::new(),
        })
    }
}

/// Stores the type of `keyed` unless it is a basic type.
fn store_user_type(types: &mut BTreeMap<String, String>, keyed: &KeyedValue<'_>) {
    let base = formats::split_array(keyed.type_name).map(|(base, _)| base);
    if base.is_some_and(|base| formats::primitive(base).is_none()) {
        types.insert(keyed.name.to_owned(), keyed.type_name.to_owned());
    }
}

/// Decodes the bytes of `values` of a user-defined type. Values that do not match the
/// type stay bytes.
fn decode<'v>(
    values: impl Iterator<Item = &'v mut Value>,
    type_name: &str,
    formats: &mut Formats,
    budget: &mut usize,
) {
    let Some((base, count)) = formats::split_array(type_name) else { return };
    let Ok(layout) = formats.layout(base) else { return };
    for value in values {
        let Value::Bytes(bytes) = &*value else { continue };
        if let Some(decoded) =
            info_values::decode_structs(&layout, count, bytes, budget)
        {
            *value = decoded;
        }
    }
}

/// The result of adding a metadata message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetadataResult {
    /// The message was added.
    Accepted,
    /// The value does not match its type.
    TypeMismatch,
    /// There are too many bytes of metadata.
    OverLimit,
}

impl ParameterValue {
    /// Returns true if `keyed` is a valid parameter.
    pub(crate) fn is_valid(keyed: &KeyedValue<'_>) -> bool {
        Self::new(keyed).is_some()
    }

    /// Returns the value of the parameter `keyed`, or `None` if its type or length is
    /// invalid.
    pub(crate) fn new(keyed: &KeyedValue<'_>) -> Option<Self> {
        let bytes: [u8; 4] = keyed.value.try_into().ok()?;
        match keyed.type_name {
            "int32_t" => Some(Self::Int(i32::from_le_bytes(bytes))),
            "float" => Some(Self::Float(f32::from_le_bytes(bytes))),
            _ => None,
        }
    }
}

impl From<ParameterValue> for Value {
    fn from(value: ParameterValue) -> Self {
        match value {
            ParameterValue::Int(value) => Self::Int(value.into()),
            ParameterValue::Float(value) => Self::Float(value),
        }
    }
}

impl std::fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_bytes_are_not_converted_to_text() {
        let mut metadata = Metadata::default();
        let parts = [(0, "uint8_t[2] b", "hi"), (1, "uint8_t[1] b", "!")];
        let texts = [(0, "char[2] t", "hi"), (1, "char[1] t", "!")];
        for (continued, key, value) in parts.into_iter().chain(texts) {
            let message =
                [&[continued, key.len() as u8], key.as_bytes(), value.as_bytes()];
            let stored_bytes =
                metadata.add(kind::INFO_MULTIPLE, &message.concat(), None);
            assert_eq!(stored_bytes, Some(MetadataResult::Accepted));
        }
        metadata.finish(&mut Formats::default());
        assert_eq!(metadata.info_multiple["b"], [Value::Bytes(b"hi!".to_vec())]);
        assert_eq!(metadata.info_multiple["t"], [Value::Text("hi!".into())]);
        assert_eq!(metadata.text_parts("t"), [["hi", "!"]]);
        assert!(
            metadata.text_parts("b").is_empty() && metadata.text_parts("c").is_empty()
        );
    }

    #[test]
    fn character_split_between_parts_stays_in_one_part() {
        let mut metadata = Metadata::default();
        // U+00E9 is C3 A9 in UTF-8.
        let parts = [(0, b"a\xc3"), (1, b"\xa9b"), (0, b"cd")];
        for (continued, value) in parts {
            let key = b"char[2] t";
            let message = [&[continued, key.len() as u8], &key[..], &value[..]];
            metadata.add(kind::INFO_MULTIPLE, &message.concat(), None).unwrap();
        }
        metadata.finish(&mut Formats::default());
        assert_eq!(metadata.text_parts("t"), [["aéb"], ["cd"]]);
    }

    #[test]
    fn texts_of_performance_counters_have_lines_and_those_of_the_console_do_not() {
        let mut metadata = Metadata::default();
        for name in ["perf_top_preflight", "boot_console_output"] {
            for (continued, value) in [(0, b"a: 1"), (1, b"b: 2")] {
                let key = format!("char[4] {name}");
                let message = [&[continued, key.len() as u8], key.as_bytes(), value];
                metadata.add(kind::INFO_MULTIPLE, &message.concat(), None).unwrap();
            }
        }
        metadata.finish(&mut Formats::default());
        assert_eq!(metadata.texts("perf_top_preflight"), ["a: 1\nb: 2\n"]);
        assert_eq!(metadata.texts("boot_console_output"), ["a: 1b: 2"]);
    }
}
