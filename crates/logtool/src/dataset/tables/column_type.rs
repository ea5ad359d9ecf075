//! The kinds of columns that readers of several files distinguish.
//!
//! DuckDB (`union_by_name`) and Polars (`diagonal_relaxed`) widen the columns of several
//! files to a common type: integers, floats and booleans to a number that holds all of
//! them, lists and structs by their elements, and a struct without a member gets nulls.
//! They fail, or convert numbers to strings, if the types are of different kinds.

use std::{collections::BTreeMap, fmt};

use arrow_schema::DataType;
use serde::{Deserialize, Serialize};

/// Types that are nested more deeply are compared as a whole, because a damaged log may nest
/// them without limit.
const MAX_DEPTH: usize = 32;

/// The kind of a column; columns of one kind can share a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::dataset) enum ColumnType {
    /// A boolean, an integer or a float.
    Number,
    /// A string.
    Text,
    /// A list of fixed or variable length.
    List(Box<ColumnType>),
    /// A struct, with its members by name.
    Struct(BTreeMap<String, ColumnType>),
    /// Any other type of Arrow; only equal ones share a table.
    Other(String),
}

/// Why two columns cannot share a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    /// The member of a struct, e.g. `pose.position`; empty for the column itself.
    pub(super) member: String,
    pub(super) known: ColumnType,
    pub(super) new: ColumnType,
}

impl ColumnType {
    /// Returns the kind of columns of the Arrow type `data_type`.
    pub(super) fn new(data_type: &DataType) -> Self {
        Self::from_nested(data_type, MAX_DEPTH)
    }

    fn from_nested(data_type: &DataType, depth: usize) -> Self {
        let Some(depth) = depth.checked_sub(1) else {
            return Self::Other(data_type.to_string());
        };
        match data_type {
            DataType::Boolean => Self::Number,
            number if number.is_integer() || number.is_floating() => Self::Number,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Dictionary(_, values) => Self::from_nested(values, depth),
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _) => {
                Self::List(Box::new(Self::from_nested(item.data_type(), depth)))
            }
            DataType::Struct(members) => {
                let members = members.iter().map(|member| {
                    let kind = Self::from_nested(member.data_type(), depth);
                    (member.name().clone(), kind)
                });
                Self::Struct(members.collect())
            }
            other => Self::Other(other.to_string()),
        }
    }

    /// Returns the type that holds the values of both.
    ///
    /// # Errors
    /// The first member whose types are of different kinds.
    pub(super) fn merge(&self, new: &Self) -> Result<Self, Conflict> {
        match (self, new) {
            (known, new) if known == new => Ok(known.clone()),
            (Self::List(known), Self::List(new)) => {
                Ok(Self::List(Box::new(known.merge(new)?)))
            }
            (Self::Struct(known), Self::Struct(new)) => {
                let mut merged = known.clone();
                for (name, new) in new {
                    let merged_type = match known.get(name) {
                        None => new.clone(),
                        Some(known) => known
                            .merge(new)
                            .map_err(|conflict| conflict.in_member(name))?,
                    };
                    merged.insert(name.clone(), merged_type);
                }
                Ok(Self::Struct(merged))
            }
            (known, new) => Err(Conflict {
                member: String::new(),
                known: known.clone(),
                new: new.clone(),
            }),
        }
    }
}

impl Conflict {
    /// Returns the conflict as one of the struct whose member `name` has it.
    fn in_member(mut self, name: &str) -> Self {
        let dot = if self.member.is_empty() { "" } else { "." };
        self.member = format!("{name}{dot}{}", self.member);
        self
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number => f.write_str("a number"),
            Self::Text => f.write_str("a text"),
            Self::List(_) => f.write_str("a list"),
            Self::Struct(_) => f.write_str("a struct"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{Field, TimeUnit};

    use super::*;

    fn list(item: DataType) -> DataType {
        DataType::List(Arc::new(Field::new("item", item, true)))
    }

    fn structure(members: &[(&str, DataType)]) -> DataType {
        let field = |(name, data_type): &(&str, DataType)| {
            Field::new(*name, data_type.clone(), true)
        };
        DataType::Struct(members.iter().map(field).collect())
    }

    fn merge(known: &DataType, new: &DataType) -> Result<ColumnType, Conflict> {
        ColumnType::new(known).merge(&ColumnType::new(new))
    }

    /// For each pair, DuckDB 2.0.0 (`union_by_name`) and Polars 2.1.0 (`diagonal_relaxed`)
    /// both found a common type that keeps numbers as numbers.
    #[test]
    fn merge_accepts_types_that_readers_widen() {
        use DataType::*;
        let fixed =
            |length| FixedSizeList(Arc::new(Field::new("item", Float32, true)), length);
        let labels = Dictionary(Box::new(Int8), Box::new(Utf8));
        for (known, new) in [
            (Int8, UInt64),
            (Int32, Int64),
            (Boolean, UInt8),
            (Float32, Float64),
            (Int32, Float32),
            (UInt16, Float64),
            (Utf8, labels),
            (list(Int32), list(Float64)),
            (list(Float32), fixed(3)),
            (fixed(3), fixed(4)),
            (structure(&[("a", Int32)]), structure(&[("a", Int64), ("b", Utf8)])),
            (
                list(structure(&[("a", Int32)])),
                list(structure(&[("a", Int32), ("b", Int32)])),
            ),
        ] {
            assert!(merge(&known, &new).is_ok(), "{known} {new}");
            assert!(merge(&new, &known).is_ok(), "{new} {known}");
        }
    }

    #[test]
    fn merge_refuses_types_of_different_kinds() {
        use DataType::*;
        let time = Timestamp(TimeUnit::Nanosecond, None);
        let utc = Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        for (known, new) in [
            (Int32, Utf8),
            (Int64, time.clone()),
            (time, utc),
            (Utf8, Binary),
            (Float32, list(Float32)),
            (Int8, structure(&[("a", Int32)])),
            (list(Int32), list(structure(&[("a", Int32)]))),
        ] {
            assert!(merge(&known, &new).is_err(), "{known} {new}");
        }
    }

    #[test]
    fn conflict_names_the_member() {
        let pose =
            |x| structure(&[("pose", structure(&[("x", x), ("y", DataType::Int8)]))]);
        let conflict =
            merge(&pose(DataType::Float64), &pose(DataType::Utf8)).unwrap_err();
        let (known, new) = (ColumnType::Number, ColumnType::Text);
        assert_eq!(conflict, Conflict { member: "pose.x".to_owned(), known, new });
    }

    #[test]
    fn merge_keeps_the_members_of_both_structs() {
        let known = structure(&[("a", DataType::Int32)]);
        let new = structure(&[("b", DataType::Utf8)]);
        let merged = structure(&[("a", DataType::Int32), ("b", DataType::Utf8)]);
        assert_eq!(merge(&known, &new), Ok(ColumnType::new(&merged)));
    }

    #[test]
    fn deeply_nested_types_do_not_exhaust_the_stack() {
        let deep = (0..300).fold(DataType::Int8, |inner, _| list(inner));
        assert!(merge(&deep, &deep).is_ok());
    }
}
