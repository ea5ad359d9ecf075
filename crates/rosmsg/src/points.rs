//! Points of a message, stored by column.
//!
//! A message is inspected once: this finds the values of each column, and checks that all of them
//! lie in the message. Then the values are gathered column by column.

mod fields;
mod grid;
mod merged_columns;

use logtool_core::Primitive;
use serde::{Deserialize, Serialize};

pub(crate) use self::{
    fields::{NO_COLUMN, PointField, display_name, fills, point_schema},
    grid::{Grid, StridedValues},
};

/// The columns of the points of a topic, in addition to those that all points have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PointSchema {
    pub(crate) columns: Vec<PointColumn>,
    /// Whether points are organized in rows and columns, like the pixels of a depth camera.
    pub(crate) has_rows: bool,
}

/// A column of values, with one or several for each point.
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
    /// The number of points in a row.
    pub(crate) width: u32,
    /// The values of each column of the point schema.
    pub(crate) columns: Vec<PointValues<'b>>,
    pub(crate) missing_columns: MissingColumn,
    /// The number of bytes after the last field of the message.
    pub(crate) extra_bytes: usize,
}

/// A field of a message without a column, and the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MissingColumn {
    /// The field is impossible.
    pub(crate) impossible: Option<String>,
    /// There is no such column.
    pub(crate) not_in_schema: Option<String>,
}

/// The values of a column.
#[derive(Clone, Debug)]
pub(crate) enum PointValues<'b> {
    /// The message has no values.
    Nothing,
    /// Values in the bytes of the message, of all points or of the first ones.
    Strided(StridedValues<'b>),
    /// Values in the bytes of the message, with a narrower type than the column.
    Narrow(StridedValues<'b>, Primitive),
    /// Computed values, one for each point.
    Floats(Vec<Option<f32>>),
    /// Computed times, one for each point, in nanoseconds since 1970.
    Times(Vec<i64>),
}

/// The maximum number of columns; the search for those of a message is linear.
pub(crate) const MAX_COLUMNS: usize = 512;

/// The maximum number of values of a point. (The longest descriptor of PCL has 1980.)
const MAX_VALUES: u32 = 4096;

/// The maximum total length of the column names, in bytes.
const MAX_NAMES: usize = 64 << 10;

impl PointSchema {
    /// Creates a point schema with `columns`, or returns `None` if there are more than any sensor
    /// has.
    pub(crate) fn new(columns: Vec<PointColumn>, has_rows: bool) -> Option<Self> {
        let add = |sum: u32, column: &PointColumn| {
            sum.checked_add(column.count).filter(|sum| *sum <= MAX_VALUES)
        };
        columns.iter().try_fold(0, add)?;
        let names: usize = columns.iter().map(|column| column.name.len()).sum();
        let is_fair = columns.len() <= MAX_COLUMNS && names <= MAX_NAMES;
        is_fair.then_some(Self { columns, has_rows })
    }
}
