//! Extra bytes: attributes of points that LAS has no fields for, and their description in a file.
//!
//! ```text
//! record of LASF_Spec, 4, with 192 bytes for each attribute:
//!   2   type: 1 u8, 2 i8, 3 u16, 4 i16, 5 u32, 6 i32, 7 u64, 8 i64, 9 f32, 10 f64
//!   4   name, 32 bytes
//! 160   description, 32 bytes
//! ```
//! (LAS 1.4 R15, 2.7.4. LAStools, PDAL and laspy read this record in older versions, too.)

use std::collections::BTreeSet;

use crate::points::{
    attributes::PointAttributes,
    colors::ColorColumns,
    column::{NumberType, PointColumn},
    formats::las::header::put,
};

const DESCRIPTION_BYTES: usize = 192;
const NAME_BYTES: usize = 32;

/// The maximum number of attributes: their descriptions are one record of at most 65,535 bytes.
/// With this number of them, a record of a point is shorter than that, too.
const MAX_ATTRIBUTES: usize = u16::MAX as usize / DESCRIPTION_BYTES;

/// The names of fields in programs. Attributes with these names would hide them.
const FIELD_NAMES: [&str; 22] = [
    "X",
    "Y",
    "Z",
    "x",
    "y",
    "z",
    "intensity",
    "return_number",
    "number_of_returns",
    "scan_direction_flag",
    "edge_of_flight_line",
    "classification",
    "synthetic",
    "key_point",
    "withheld",
    "scan_angle_rank",
    "user_data",
    "point_source_id",
    "gps_time",
    "red",
    "green",
    "blue",
];

/// The columns that are written as extra bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExtraBytes {
    pub(crate) columns: Vec<ExtraColumn>,
    /// The names of columns for which a file has no space.
    pub(crate) left_out: Vec<String>,
}

/// A column that is written as extra bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtraColumn {
    name: String,
    pub(crate) number_type: NumberType,
    /// The index of the column.
    pub(crate) index: usize,
}

impl ExtraBytes {
    /// Selects those of `columns` that no field of LAS stores exactly. `attributes` are those that
    /// have fields.
    pub(crate) fn new(columns: &[PointColumn], attributes: &PointAttributes) -> Self {
        let mut extra = Self::default();
        let mut names: BTreeSet<String> =
            FIELD_NAMES.into_iter().map(str::to_owned).collect();
        for (index, column) in columns.iter().enumerate() {
            if has_field(index, columns, attributes) {
                continue;
            }
            if extra.columns.len() == MAX_ATTRIBUTES {
                extra.left_out.push(column.name.clone());
                continue;
            }
            let name = unique_name(&column.name, &mut names);
            let number_type = column.number_type;
            extra.columns.push(ExtraColumn { name, number_type, index });
        }
        extra
    }

    /// Returns the number of extra bytes of a point.
    pub(crate) fn len(&self) -> usize {
        self.columns.iter().map(|column| column.number_type.bytes()).sum()
    }

    /// Returns the data of the record that describes the attributes.
    pub(crate) fn descriptions(&self) -> Vec<u8> {
        let mut data = vec![0; self.columns.len() * DESCRIPTION_BYTES];
        for (record, column) in
            data.chunks_exact_mut(DESCRIPTION_BYTES).zip(&self.columns)
        {
            put(record, 2, &[type_code(column.number_type)]);
            put(record, 4, column.name.as_bytes());
            if column.number_type == NumberType::Time {
                put(record, 160, b"nanoseconds");
            }
        }
        data
    }
}

/// Returns whether a field of LAS stores the column at `index` exactly.
fn has_field(
    index: usize,
    columns: &[PointColumn],
    attributes: &PointAttributes,
) -> bool {
    let is_unsigned = |max_bytes| {
        matches!(
            columns.get(index).map(|column| column.number_type),
            Some(NumberType::Integer { is_signed: false, bytes }) if bytes <= max_bytes
        )
    };
    // The first three columns are x, y and z.
    index < 3
        || attributes.times.are_those_of(index)
        || match &attributes.colors {
            // The highest byte of colours without opacity is not used.
            Some(ColorColumns::Packed { indices, has_alpha }) => {
                !has_alpha && indices.contains(&index)
            }
            Some(ColorColumns::Channels { indices, .. }) => {
                indices.contains(&index) && is_unsigned(2)
            }
            None => false,
        }
        || attributes.intensity == [index] && is_unsigned(2)
        || attributes.ring == [index] && is_unsigned(1)
        // The rings follow the lasers, and are used if there are no lasers.
        || attributes.laser.first() == Some(&index)
            && is_unsigned(2)
            && (attributes.laser.len() == 1
                || attributes.laser.get(1..) == Some(&attributes.ring))
}

/// Returns `name`, shortened, and with as many `_` at its end as are needed to make it unique among
/// `names`, to which it is added.
fn unique_name(name: &str, names: &mut BTreeSet<String>) -> String {
    let mut suffix = String::new();
    loop {
        // All names of columns are ASCII.
        let start = name.get(..NAME_BYTES.saturating_sub(suffix.len()));
        let unique = format!("{}{suffix}", start.unwrap_or(name));
        if names.insert(unique.clone()) {
            return unique;
        }
        suffix.push('_');
    }
}

fn type_code(number_type: NumberType) -> u8 {
    let of_integer = |bytes: usize| match bytes {
        1 => 1,
        2 => 3,
        4 => 5,
        _ => 7,
    };
    match number_type {
        NumberType::Integer { is_signed, bytes } => {
            of_integer(bytes) + u8::from(is_signed)
        }
        NumberType::Time => of_integer(8) + 1,
        NumberType::Float { bytes: 4 } => 9,
        NumberType::Float { .. } => 10,
    }
}
