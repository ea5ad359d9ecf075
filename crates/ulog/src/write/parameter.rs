//! The bytes of parameter values, and the kinds of default values.

use crate::declarations::metadata::ParameterValue;

/// The scope of a default value; the discriminants are the bits in the file.
///
/// PX4 writes a default only if it differs from the value of the parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultScope {
    /// The default of every vehicle.
    System = 1,
    /// The default of this configuration, e.g. of an airframe.
    Configuration = 2,
    /// Both defaults.
    Both = 3,
}

impl ParameterValue {
    pub(super) const fn type_name(self) -> &'static str {
        match self {
            Self::Int(_) => "int32_t",
            Self::Float(_) => "float",
        }
    }

    pub(super) const fn to_le_bytes(self) -> [u8; 4] {
        match self {
            Self::Int(value) => value.to_le_bytes(),
            Self::Float(value) => value.to_le_bytes(),
        }
    }
}

impl From<i32> for ParameterValue {
    fn from(value: i32) -> Self {
        Self::Int(value)
    }
}

impl From<f32> for ParameterValue {
    fn from(value: f32) -> Self {
        Self::Float(value)
    }
}
