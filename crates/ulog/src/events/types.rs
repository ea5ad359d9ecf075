//! The types of event arguments, and the labels of their values.

use std::collections::BTreeMap;

use logtool_core::Value;

use crate::events::truncate;

/// The maximum length of a text in a definition; longer texts are truncated. PX4's
/// longest text has 372 bytes.
pub(super) const TEXT_BYTES: usize = 4 << 10;

/// The definition of one argument of an event.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    /// `None` if the type is not defined, so that the size of the argument is unknown.
    pub(super) value_type: Option<ArgumentType>,
}

/// The type of an argument.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArgumentType {
    Base(BaseType),
    /// By its index in the catalog.
    Enumeration(usize),
}

/// Labels of values, or of bits.
#[derive(Clone, Debug)]
pub(super) struct Enumeration {
    pub(super) base: BaseType,
    pub(super) is_bitfield: bool,
    /// The text between the labels of bits.
    pub(super) separator: String,
    /// Labels by value; in a bit field, by the value of the bit (a power of 2).
    pub(super) labels: BTreeMap<i128, String>,
}

/// An encoded type. All values are little-endian and packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BaseType {
    Signed(usize),
    Unsigned(usize),
    Float,
}

impl Enumeration {
    /// Returns the label of `value`; in a bit field, the joined labels of its bits.
    pub(super) fn label(&self, value: &Value) -> String {
        let number = match value {
            Value::Int(value) => i128::from(*value),
            Value::UInt(value) => i128::from(*value),
            other => return number_text(other),
        };
        let label = |key: i128| match self.labels.get(&key) {
            Some(label) => label.clone(),
            None => format!("(unknown: {number})"),
        };
        if !self.is_bitfield {
            return label(number);
        }
        let bits = (0..self.base.size() * 8).map(|bit| 1_i128 << bit);
        let mut text = String::new();
        for (index, bit) in bits.filter(|bit| number & bit != 0).enumerate() {
            if text.len() > TEXT_BYTES {
                break;
            }
            if index > 0 {
                text.push_str(&self.separator);
            }
            text.push_str(&label(bit));
        }
        truncate(&mut text, TEXT_BYTES);
        text
    }
}

impl BaseType {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "int8_t" => Self::Signed(1),
            "int16_t" => Self::Signed(2),
            "int32_t" => Self::Signed(4),
            "int64_t" => Self::Signed(8),
            "uint8_t" => Self::Unsigned(1),
            "uint16_t" => Self::Unsigned(2),
            "uint32_t" => Self::Unsigned(4),
            "uint64_t" => Self::Unsigned(8),
            "float" => Self::Float,
            _ => return None,
        })
    }

    pub(super) fn is_integer(self) -> bool {
        self != Self::Float
    }

    fn size(self) -> usize {
        match self {
            Self::Signed(size) | Self::Unsigned(size) => size,
            Self::Float => 4,
        }
    }

    /// Reads one value from the start of `bytes`. Returns it with the remaining bytes,
    /// or `None` if there are too few bytes.
    pub(super) fn read(self, bytes: &[u8]) -> Option<(Value, &[u8])> {
        let (encoded, remaining) = bytes.split_at_checked(self.size())?;
        let raw =
            encoded.iter().rev().fold(0_u64, |raw, byte| raw << 8 | u64::from(*byte));
        let value = match self {
            Self::Unsigned(_) => Value::UInt(raw),
            Self::Signed(size) => {
                let unused = 64 - 8 * size as u32;
                Value::Int((raw << unused) as i64 >> unused)
            }
            Self::Float => Value::Float(f32::from_bits(raw as u32)),
        };
        Some((value, remaining))
    }
}

/// Formats a number like Python's `str`: `3`, `3.0`, `0.1`, `1e-07`, `nan`, `inf`.
pub(super) fn number_text(value: &Value) -> String {
    let Value::Float(float) = value else { return value.to_string() };
    if float.is_nan() {
        return "nan".to_owned();
    }
    let text = format!("{float:?}");
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{digits}e-{exponent:0>2}"),
            None => format!("{digits}e+{exponent:0>2}"),
        },
    }
}
