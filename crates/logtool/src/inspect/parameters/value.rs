//! The values of parameters as text and JSON.

use std::fmt;

use logtool_ulog::ParameterValue;
use serde::{Serialize, Serializer};

/// A value as text or JSON: an integer, or a float with as few digits as identify it.
///
/// ```
/// use logtool::parameters::{ParameterValue, ShownValue};
///
/// assert_eq!(ShownValue(ParameterValue::Int(5)).to_string(), "5");
/// assert_eq!(ShownValue(ParameterValue::Float(5.0)).to_string(), "5.0");
/// assert_eq!(ShownValue(ParameterValue::Float(0.1)).to_string(), "0.1");
/// assert_eq!(ShownValue(ParameterValue::Float(1e-20)).to_string(), "1e-20");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownValue(pub ParameterValue);

impl ShownValue {
    /// Returns the name of the type: `int32` or `float`.
    pub fn type_name(self) -> &'static str {
        match self.0 {
            ParameterValue::Int(_) => "int32",
            ParameterValue::Float(_) => "float",
        }
    }
}

impl fmt::Display for ShownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ParameterValue::Int(value) => f.pad(&value.to_string()),
            // The format for debugging has a point or an exponent, which shows that it is a float,
            // and an exponent instead of many zeros.
            ParameterValue::Float(value) => f.pad(&format!("{value:?}")),
        }
    }
}

impl Serialize for ShownValue {
    fn serialize<S: Serializer>(&self, out: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0 {
            ParameterValue::Int(value) => out.serialize_i32(value),
            ParameterValue::Float(value) => out.serialize_f32(value),
        }
    }
}
