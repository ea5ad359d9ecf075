//! The values of parameters as bytes, and what they can be the default of.

use crate::header::ParameterValue;

/// Where a default value is valid; the discriminants are the bits in the file.
///
/// PX4 writes a default only where it differs from the value that the parameter has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultOf {
    /// In every vehicle.
    System = 1,
    /// In this configuration, that of an airframe for one.
    Configuration = 2,
    /// In both.
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
