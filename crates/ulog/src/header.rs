//! What a ULog says of itself: information, parameters, versions.

use std::collections::{BTreeMap, BTreeSet};

use logtool_core::{Timestamp, Value};
use serde::{Deserialize, Serialize};

use crate::{
    formats::{self, Formats},
    info,
    wire::{self, Keyed, kind},
};

/// How many bytes of information and parameters are kept.
const MAX_BYTES: usize = 64 << 20;

/// The head of a ULog: its first 16 bytes, and its flag bits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The version byte of the file: 0 and 1 are in use.
    pub version: u8,
    /// When logging started, on the clock that the file's header uses.
    pub start: Timestamp,
    /// The flag bits that readers may ignore; bit 0 of byte 0 says that there are
    /// default parameters.
    pub compatible_flags: [u8; 8],
    /// The flag bits that readers have to know; bit 0 of byte 0 says that sections
    /// were appended.
    pub incompatible_flags: [u8; 8],
    /// Where sections were appended to the file.
    pub appended: Vec<u64>,
}

/// The typed metadata of a ULog.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// What stands at the head of the file.
    pub head: Head,
    /// Information (`I`) by its name; the last where there are several.
    pub info: BTreeMap<String, Value>,
    /// Multi information (`M`) by its name, each value joined from its parts.
    pub info_multiple: BTreeMap<String, Vec<Value>>,
    /// Parameters (`P` and `Q`) by their names.
    pub parameters: BTreeMap<String, Parameter>,
    /// How many bytes are kept in the three of them.
    kept: usize,
    /// The multi informations that are texts, by the values' indices.
    texts: BTreeSet<(String, usize)>,
    /// The defined types of information values, by the names of the values.
    defined: BTreeMap<String, String>,
    /// The same of multi informations.
    defined_multiple: BTreeMap<String, String>,
    /// The informations that are texts and not UTF-8.
    pub(crate) latin1: BTreeSet<String>,
}

/// A parameter of the system that logged.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its value when logging started; nothing if it was first seen later.
    pub initial: Option<ParameterValue>,
    /// Its last value.
    pub value: ParameterValue,
    /// The default of the firmware, where the log has it.
    pub system_default: Option<ParameterValue>,
    /// The default of the vehicle's configuration (airframe), where the log has it.
    pub setup_default: Option<ParameterValue>,
    /// How it was changed while logging.
    pub changes: Vec<ParameterChange>,
}

/// A new value of a [`Parameter`].
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterChange {
    /// The latest time of the records before it: a change has no time of its own.
    pub time: Timestamp,
    /// The new value.
    pub value: ParameterValue,
    /// Where in the file the change is.
    pub offset: u64,
}

/// The value of a [`Parameter`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterValue {
    /// An integer of 32 bits.
    Int(i32),
    /// A float of 32 bits.
    Float(f32),
}

impl Parameter {
    /// Whether its last value is not the default, where the log says what that is: a
    /// log with defaults says so only of parameters that differ from theirs.
    pub fn is_non_default(&self) -> bool {
        self.setup_default.or(self.system_default).is_some_and(|d| d != self.value)
    }
}

impl Head {
    /// Returns the start of logging in microseconds; 0 if it is not set.
    pub(crate) fn start_micros(&self) -> u64 {
        u64::try_from(self.start.as_nanos() / 1_000).unwrap_or(0)
    }
}

impl Header {
    /// The metadata of a log of which only the head is known.
    pub(crate) fn new(head: Head) -> Self {
        Self { head, ..Self::default() }
    }

    /// Takes an information or a parameter message; a parameter may be a change.
    ///
    /// Nothing if it is none.
    pub(crate) fn take(
        &mut self,
        kind: u8,
        payload: &[u8],
        change: Option<(Timestamp, u64)>,
    ) -> Option<Kept> {
        let (first, keyed) = match kind {
            kind::INFO | kind::PARAMETER => (0, wire::keyed(payload)?),
            _ => wire::flagged_keyed(payload)?,
        };
        // A small value takes more room than its bytes, and a list of numbers much more.
        let room = if info::is_list(keyed.type_name) { size_of::<Value>() } else { 4 };
        self.kept += keyed.name.len() + keyed.value.len() * room + 64;
        if self.kept > MAX_BYTES {
            return Some(Kept::NoRoom);
        }
        let is_parameter = matches!(kind, kind::PARAMETER | kind::DEFAULT_PARAMETER);
        match (kind, ParameterValue::new(&keyed)) {
            (_, None) if is_parameter => return Some(Kept::Misfit),
            (kind::PARAMETER, Some(value)) => self.set(keyed.name, value, change),
            (kind::DEFAULT_PARAMETER, Some(value)) => {
                self.set_default(keyed.name, value, first);
            }
            (kind::INFO, _) => {
                let value = info::value(keyed.type_name, keyed.value);
                let name = keyed.name.to_owned();
                if info::is_latin1(keyed.type_name, keyed.value) {
                    self.latin1.insert(name.clone());
                }
                note_type(&mut self.defined, &keyed);
                self.info.insert(name, value);
            }
            _ => self.add_part(&keyed, first != 0),
        }
        Some(Kept::Yes)
    }

    /// Takes a part of a multi information.
    fn add_part(&mut self, keyed: &Keyed<'_>, is_continued: bool) {
        let is_text = info::is_text(keyed.type_name);
        let value = match is_text {
            true => Value::Bytes(keyed.value.to_vec()), // a character may be cut
            false => info::value(keyed.type_name, keyed.value),
        };
        note_type(&mut self.defined_multiple, keyed);
        let values = self.info_multiple.entry(keyed.name.to_owned()).or_default();
        match values.last_mut().filter(|_| is_continued) {
            Some(last) => info::join(last, value),
            None => values.push(value),
        }
        if is_text {
            self.texts.insert((keyed.name.to_owned(), values.len() - 1));
        }
    }

    /// Decodes what needs all parts of a text, or the definition of a type, which may come
    /// behind its use.
    pub(crate) fn finish(&mut self, formats: &mut Formats) {
        for (name, index) in std::mem::take(&mut self.texts) {
            let values = self.info_multiple.get_mut(&name);
            if let Some(value) = values.and_then(|values| values.get_mut(index)) {
                let bytes = std::mem::replace(value, Value::Bool(false));
                if matches!(&bytes, Value::Bytes(bytes) if str::from_utf8(bytes).is_err())
                {
                    self.latin1.insert(name);
                }
                *value = info::joined(bytes);
            }
        }
        let mut room = MAX_BYTES.saturating_sub(self.kept);
        for (name, type_name) in std::mem::take(&mut self.defined) {
            let value = self.info.get_mut(&name);
            decode(value.into_iter(), &type_name, formats, &mut room);
        }
        for (name, type_name) in std::mem::take(&mut self.defined_multiple) {
            let values = self.info_multiple.get_mut(&name);
            decode(values.into_iter().flatten(), &type_name, formats, &mut room);
        }
    }

    /// Takes a value of a parameter; without a change it is the initial one.
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

    /// Takes a default of a parameter; bit 0 of `which` says that it is the firmware's,
    /// bit 1 that it is the configuration's.
    fn set_default(&mut self, name: &str, value: ParameterValue, which: u8) {
        let parameter = self.parameter(name, value);
        if which & 1 != 0 {
            parameter.system_default = Some(value);
        }
        if which & 2 != 0 {
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

/// Notes the type of `keyed` unless it is a basic type.
fn note_type(types: &mut BTreeMap<String, String>, keyed: &Keyed<'_>) {
    let base = formats::array(keyed.type_name).map(|(base, _)| base);
    if base.is_some_and(|base| formats::primitive(base).is_none()) {
        types.insert(keyed.name.to_owned(), keyed.type_name.to_owned());
    }
}

/// Decodes the bytes that `values` of a defined type are; those that do not fit stay bytes.
fn decode<'v>(
    values: impl Iterator<Item = &'v mut Value>,
    type_name: &str,
    formats: &mut Formats,
    room: &mut usize,
) {
    let Some((base, count)) = formats::array(type_name) else { return };
    let Ok(layout) = formats.layout(base) else { return };
    for value in values {
        let Value::Bytes(bytes) = &*value else { continue };
        if let Some(decoded) = info::structured(&layout, count, bytes, room) {
            *value = decoded;
        }
    }
}

/// What became of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is kept.
    Yes,
    /// It is not what its type says.
    Misfit,
    /// There is no more room.
    NoRoom,
}

impl ParameterValue {
    /// Whether `keyed` is a parameter.
    pub(crate) fn is(keyed: &Keyed<'_>) -> bool {
        Self::new(keyed).is_some()
    }

    /// The value of the parameter that `keyed` is.
    pub(crate) fn new(keyed: &Keyed<'_>) -> Option<Self> {
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
    fn bytes_in_parts_stay_bytes_whatever_they_could_be_as_text() {
        let mut header = Header::default();
        let parts = [(0, "uint8_t[2] b", "hi"), (1, "uint8_t[1] b", "!")];
        let texts = [(0, "char[2] t", "hi"), (1, "char[1] t", "!")];
        for (continued, key, value) in parts.into_iter().chain(texts) {
            let message =
                [&[continued, key.len() as u8], key.as_bytes(), value.as_bytes()];
            let kept = header.take(kind::INFO_MULTIPLE, &message.concat(), None);
            assert_eq!(kept, Some(Kept::Yes));
        }
        header.finish(&mut Formats::default());
        assert_eq!(header.info_multiple["b"], [Value::Bytes(b"hi!".to_vec())]);
        assert_eq!(header.info_multiple["t"], [Value::Text("hi!".into())]);
    }
}
