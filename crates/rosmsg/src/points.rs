//! Points, as a message has them: columns from the first line.
//!
//! A message is looked at once, which finds for each column where its values lie, and
//! that all of them do lie in the message; they are then gathered column by column.

mod fields;
mod grid;
mod joined;

use logtool_core::Primitive;

pub(crate) use self::{
    fields::{NO_COLUMN, PointField, fills, shape, shown},
    grid::{Grid, Strided},
};

/// The columns that the points of a topic have, beside those of all points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) columns: Vec<Column>,
    /// Whether points lie in rows and columns, as the pixels of a depth camera.
    pub(crate) has_rows: bool,
}

/// A column of values, one or several for each point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// How many values each point has: 1 or more.
    pub(crate) count: u32,
}

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number(Primitive),
    /// A moment in nanoseconds since 1970.
    Time,
}

/// The points of a message.
#[derive(Clone, Debug)]
pub(crate) struct Points<'b> {
    /// The stamp of the message's header, in nanoseconds since 1970.
    pub(crate) stamp: i64,
    /// How many points there are.
    pub(crate) count: usize,
    /// How many more the message says that it has.
    pub(crate) missing: usize,
    /// How many of them make a row.
    pub(crate) width: u32,
    /// The values of each column of the shape.
    pub(crate) columns: Vec<Fill<'b>>,
    pub(crate) untold: Untold,
    /// How many bytes are behind its last field.
    pub(crate) surplus: usize,
}

/// What a message has that is in no column, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Untold {
    /// As it cannot be.
    pub(crate) odd: Option<String>,
    /// As there is no such column.
    pub(crate) late: Option<String>,
}

/// The values of a column.
#[derive(Clone, Debug)]
pub(crate) enum Fill<'b> {
    /// The message has none.
    Nothing,
    /// In the bytes of the message, of all points or of the first ones.
    Strided(Strided<'b>),
    /// The same, as numbers of a narrower type than those of the column.
    Narrow(Strided<'b>, Primitive),
    /// Computed, one for each point.
    Floats(Vec<Option<f32>>),
    /// Computed, one for each point, in nanoseconds since 1970.
    Times(Vec<i64>),
}

/// The most columns: those of a message are looked for one by one.
pub(crate) const MAX_COLUMNS: usize = 512;

/// The most values that a point has. (PCL's longest descriptor has 1980.)
const MAX_VALUES: u32 = 4096;

/// The most bytes that the names of the columns have together.
const MAX_NAMES: usize = 64 << 10;

impl Shape {
    /// A shape of `columns`, unless these are more than any sensor has.
    pub(crate) fn new(columns: Vec<Column>, has_rows: bool) -> Option<Self> {
        let add = |sum: u32, column: &Column| {
            sum.checked_add(column.count).filter(|sum| *sum <= MAX_VALUES)
        };
        columns.iter().try_fold(0, add)?;
        let names: usize = columns.iter().map(|column| column.name.len()).sum();
        let is_fair = columns.len() <= MAX_COLUMNS && names <= MAX_NAMES;
        is_fair.then_some(Self { columns, has_rows })
    }
}
