//! The points of a message, as columns.
//!
//! A message is inspected once, to locate the values of each column and to check that all of them
//! lie in the message. Then the values are gathered column by column.

mod fields;
mod grid;
mod merged_columns;

use logtool_core::Primitive;
use serde::{Deserialize, Serialize};

pub(crate) use self::{
    fields::{NO_COLUMN, PointField, column_values, display_name, point_schema},
    grid::{Grid, StridedValues},
};

/// The columns of the points of a topic, in addition to those that all points have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PointSchema {
    pub(crate) columns: Vec<PointColumn>,
    /// Whether the points are organized in rows and columns, like the pixels of a depth camera.
    pub(crate) has_rows: bool,
}

/// A column with one or several values for each point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PointColumn {
    pub(crate) name: String,
    pub(crate) kind: PointColumnType,
    /// The number of values of each point: 1 or more.
    pub(crate) count: u32,
}

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PointColumnType {
    Number(Primitive),
    /// A time in nanoseconds since 1970.
    Time,
}

/// The points of a message.
#[derive(Clone, Debug)]
pub(crate) struct MessagePoints<'b> {
    /// The stamp of the message's header, in nanoseconds since 1970.
    pub(crate) stamp: i64,
    /// The number of points.
    pub(crate) count: usize,
    /// The number of declared points that are missing.
    pub(crate) missing: usize,
    /// The number of points in a row, if they are organized in rows.
    pub(crate) width: u32,
    /// The values of each column of the point schema.
    pub(crate) columns: Vec<PointValues<'b>>,
    pub(crate) without_column: FieldsWithoutColumn,
    /// The number of bytes after the last field of the message.
    pub(crate) extra_bytes: usize,
}

/// The fields of a message without a column: a description of each kind, as part of a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldsWithoutColumn {
    /// Fields that contradict the message, e.g. lie outside the points.
    pub(crate) invalid: Option<String>,
    /// Valid fields that are not in the point schema.
    pub(crate) not_in_schema: Option<String>,
}

/// The values of a column in one message.
#[derive(Clone, Debug)]
pub(crate) enum PointValues<'b> {
    /// No values: the column is null.
    Nothing,
    /// Values in the bytes of the message, of all points or of the first ones.
    Strided(StridedValues<'b>),
    /// Values in the bytes of the message, with a narrower type than the column.
    Narrow(StridedValues<'b>, Primitive),
    /// Computed values, one for each point, which are rounded to the type of the column.
    Floats(Vec<Option<f64>>),
    /// Computed times, one for each point, in nanoseconds since 1970.
    Times(Vec<i64>),
}

/// The maximum number of columns. It limits the linear search for the column of each field.
pub(crate) const MAX_COLUMNS: usize = 512;

/// The maximum number of values of a point. (The longest descriptor of PCL has 1980.)
const MAX_VALUES: u64 = 4096;

/// The maximum total length of the column names, in bytes.
const MAX_NAME_BYTES: usize = 64 << 10;

impl PointSchema {
    /// Creates a point schema with `columns`, or returns `None` if they exceed a limit, which no
    /// known sensor does.
    pub(crate) fn new(columns: Vec<PointColumn>, has_rows: bool) -> Option<Self> {
        let value_count: u64 =
            columns.iter().map(|column| u64::from(column.count)).sum();
        let name_bytes: usize = columns.iter().map(|column| column.name.len()).sum();
        let is_within_limits = columns.len() <= MAX_COLUMNS
            && value_count <= MAX_VALUES
            && name_bytes <= MAX_NAME_BYTES;
        is_within_limits.then_some(Self { columns, has_rows })
    }
}
