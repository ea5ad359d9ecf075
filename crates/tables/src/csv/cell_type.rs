//! The types of columns, which are derived from their cells.

use serde::{Deserialize, Serialize};

/// The type of the cells of a column: the narrowest type that can represent all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CellType {
    /// All cells are empty, or missing.
    #[default]
    Empty,
    Bool,
    /// Integers that fit into both a signed and an unsigned 64-bit integer.
    Natural,
    /// Integers that fit into a signed 64-bit integer.
    Signed,
    /// Integers that fit into an unsigned 64-bit integer.
    Unsigned,
    Float,
    Text,
}

impl CellType {
    /// Returns the type of `cell`.
    pub(super) fn detect(cell: &[u8]) -> Self {
        let cell = cell.trim_ascii();
        if is_missing(cell) {
            return Self::Empty;
        }
        // Names of floats, such as `nan` and `Infinity`, are short.
        let Ok(text) = str::from_utf8(cell) else { return Self::Text };
        if let Ok(value) = text.parse::<i64>() {
            return if value < 0 { Self::Signed } else { Self::Natural };
        }
        if text.parse::<u64>().is_ok() {
            return Self::Unsigned;
        }
        if parse_bool(text).is_some() {
            return Self::Bool;
        }
        match text.parse::<f64>() {
            Ok(_) => Self::Float,
            Err(_) => Self::Text,
        }
    }

    /// Returns the narrowest type that can represent the cells of both types.
    pub(super) fn join(self, other: Self) -> Self {
        use CellType::{Empty, Float, Natural, Signed, Text, Unsigned};
        match (self, other) {
            (kind, Empty) | (Empty, kind) => kind,
            (kind, other) if kind == other => kind,
            (Natural, Signed) | (Signed, Natural) => Signed,
            (Natural, Unsigned) | (Unsigned, Natural) => Unsigned,
            (Float, Natural | Signed | Unsigned) => Float,
            (Natural | Signed | Unsigned, Float) => Float,
            // Floats cannot represent all of these integers exactly.
            (Signed, Unsigned) | (Unsigned, Signed) => Text,
            _ => Text,
        }
    }

    /// Returns whether the cells are numbers.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Natural | Self::Signed | Self::Unsigned | Self::Float)
    }
}

/// Returns whether `cell` has no value: it is empty, or `NA`, which R writes. In a column of text,
/// `NA` is text.
pub(super) fn is_missing(cell: &[u8]) -> bool {
    matches!(cell.trim_ascii(), b"" | b"NA")
}

/// Parses a Boolean.
pub(super) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_of_a_cell_is_the_narrowest_one() {
        use CellType::{Bool, Empty, Float, Natural, Signed, Text, Unsigned};
        for (cell, kind) in [
            ("", Empty),
            (" ", Empty),
            ("NA", Empty),
            (" NA ", Empty),
            ("na", Text),
            ("0", Natural),
            (" 17 ", Natural),
            ("-17", Signed),
            ("9223372036854775807", Natural),
            ("9223372036854775808", Unsigned),
            ("18446744073709551616", Float),
            ("1e-05", Float),
            ("NaN", Float),
            ("-inf", Float),
            ("True", Bool),
            ("0x10", Text),
            ("1.2.3", Text),
            ("2024-06-01", Text),
        ] {
            assert_eq!(CellType::detect(cell.as_bytes()), kind, "{cell}");
        }
        assert_eq!(CellType::detect(b"1\xff"), Text);
    }

    #[test]
    fn joined_types_hold_all_cells() {
        use CellType::{Bool, Empty, Float, Natural, Signed, Text, Unsigned};
        let types = [Empty, Bool, Natural, Signed, Unsigned, Float, Text];
        for first in types {
            assert_eq!(first.join(Empty), first);
            assert_eq!(first.join(first), first);
            for second in types {
                let joined = first.join(second);
                assert_eq!(joined, second.join(first), "{first:?} {second:?}");
            }
        }
        assert_eq!(Natural.join(Signed), Signed);
        assert_eq!(Natural.join(Unsigned).join(Signed), Text);
        assert_eq!(Signed.join(Float), Float);
        assert_eq!(Bool.join(Natural), Text);
    }
}
