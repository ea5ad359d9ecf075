//! What a ULog says of itself: information, parameters, versions.

use std::collections::BTreeMap;

use logtool_core::{Timestamp, Value};
use serde::{Deserialize, Serialize};

use crate::{info, wire::Keyed};

/// How many bytes of information and parameters are kept.
const MAX_BYTES: usize = 64 << 20;

/// The typed metadata of a ULog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
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
    /// Information (`I`) by its name; the last where there are several.
    pub info: BTreeMap<String, Value>,
    /// Multi information (`M`) by its name, each value joined from its parts.
    pub info_multiple: BTreeMap<String, Vec<Value>>,
    /// Parameters (`P` and `Q`) by their names.
    pub parameters: BTreeMap<String, Parameter>,
    /// How many bytes are kept in the three of them.
    #[serde(skip)]
    kept: usize,
}

/// A parameter of the system that logged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterChange {
    /// When the last record before it was logged: a change has no time of its own.
    pub time: Timestamp,
    /// The new value.
    pub value: ParameterValue,
    /// Where in the file the change is.
    pub offset: u64,
}

/// The value of a [`Parameter`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterValue {
    /// An integer of 32 bits.
    Int(i32),
    /// A float of 32 bits.
    Float(#[serde(with = "bits")] f32),
}

impl Parameter {
    /// Whether its last value is not the default, where the log says what that is: a
    /// log with defaults says so only of parameters that differ from theirs.
    pub fn is_non_default(&self) -> bool {
        self.setup_default.or(self.system_default).is_some_and(|d| d != self.value)
    }
}

impl Header {
    /// The metadata of a log of which only the first 16 bytes are known.
    pub(crate) fn new(version: u8, start: Timestamp) -> Self {
        Self { version, start, ..Self::default() }
    }

    /// Takes an information.
    pub(crate) fn take_info(&mut self, keyed: &Keyed<'_>) -> Kept {
        let value = info::value(keyed.type_name, keyed.value);
        if !self.has_room(keyed) {
            return Kept::NoRoom;
        }
        self.info.insert(keyed.name.to_owned(), value);
        Kept::Yes
    }

    /// Takes a part of a multi information.
    pub(crate) fn take_info_multiple(&mut self, keyed: &Keyed<'_>, continued: u8) -> Kept {
        if !self.has_room(keyed) {
            return Kept::NoRoom;
        }
        let value = info::value(keyed.type_name, keyed.value);
        let values = self.info_multiple.entry(keyed.name.to_owned()).or_default();
        match values.last_mut().filter(|_| continued != 0) {
            Some(last) => info::join(last, value),
            None => values.push(value),
        }
        Kept::Yes
    }

    /// Takes a parameter; at the end of the definitions it is a change.
    pub(crate) fn take_parameter(
        &mut self,
        keyed: &Keyed<'_>,
        change: Option<(Timestamp, u64)>,
    ) -> Kept {
        let Some(value) = ParameterValue::new(keyed) else { return Kept::Misfit };
        if !self.has_room(keyed) {
            return Kept::NoRoom;
        }
        let parameter = self.parameter(keyed.name, value);
        parameter.value = value;
        match change {
            Some((time, offset)) => {
                parameter.changes.push(ParameterChange { time, value, offset });
            }
            None => parameter.initial = Some(value),
        }
        Kept::Yes
    }

    /// Takes a default parameter; bit 0 of `which` is the firmware's, bit 1 the
    /// configuration's.
    pub(crate) fn take_default(&mut self, keyed: &Keyed<'_>, which: u8) -> Kept {
        let Some(value) = ParameterValue::new(keyed) else { return Kept::Misfit };
        if !self.has_room(keyed) {
            return Kept::NoRoom;
        }
        let parameter = self.parameter(keyed.name, value);
        if which & 1 != 0 {
            parameter.system_default = Some(value);
        }
        if which & 2 != 0 {
            parameter.setup_default = Some(value);
        }
        Kept::Yes
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

    fn has_room(&mut self, keyed: &Keyed<'_>) -> bool {
        // A small value takes more room than its bytes.
        self.kept += keyed.name.len() + keyed.value.len() * 4 + 64;
        self.kept <= MAX_BYTES
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

/// A float as its bits, so that NaN survives JSON.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        value: &f32,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.serialize_u32(value.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<f32, D::Error> {
        u32::deserialize(input).map(f32::from_bits)
    }
}
