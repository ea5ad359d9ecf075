//! Extra bytes: attributes of points that LAS has no fields for, and their description in a file.
//!
//! ```text
//! record of LASF_Spec, 4, with 192 bytes for each attribute:
//!   2   type: 5 u32, 9 f32
//!   4   name, 32 bytes
//! 160   description, 32 bytes
//! ```
//! (LAS 1.4 R15, 2.7.4. LAStools, PDAL and laspy read this record in older versions, too.)

use ::las::Vlr;

use crate::points::{
    attributes::array_at,
    column::{NumberType, PointColumn, floats, integers},
    file::Points,
};

/// The size of each attribute in bytes.
pub(crate) const EXTRA_VALUE_BYTES: usize = 4;

/// The names and descriptions of columns that are written as extra bytes.
const EXTRA_ATTRIBUTES: [(&str, &str); 2] = [
    ("scan", "rotation of the head, from 0"),
    ("intensity_calibrated", "corrected by the formula"),
];

const DESCRIPTION_BYTES: usize = 192;

/// A column that is written as extra bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExtraBytesColumn {
    name: &'static str,
    description: &'static str,
    is_float: bool,
    /// The index of the column.
    index: usize,
}

/// Returns those of `columns` that are written as extra bytes.
pub(crate) fn find(columns: &[PointColumn]) -> Vec<ExtraBytesColumn> {
    let find = |(name, description): (&'static str, &'static str)| {
        let index = columns.iter().position(|column| column.name == name)?;
        let is_float =
            matches!(columns.get(index)?.number_type, NumberType::Float { .. });
        Some(ExtraBytesColumn { name, description, is_float, index })
    };
    EXTRA_ATTRIBUTES.into_iter().filter_map(find).collect()
}

impl ExtraBytesColumn {
    /// Returns the bytes of the attribute for each of `points`.
    pub(crate) fn values(&self, points: &Points) -> Vec<[u8; EXTRA_VALUE_BYTES]> {
        match array_at(points, Some(self.index)) {
            Some(array) if self.is_float => {
                floats(array).into_iter().map(|v| (v as f32).to_le_bytes()).collect()
            }
            Some(array) => integers(array).into_iter().map(u32::to_le_bytes).collect(),
            None => Vec::new(),
        }
    }
}

/// Returns the record that describes `columns`, or `None` without columns.
pub(crate) fn extra_bytes_record(columns: &[ExtraBytesColumn]) -> Option<Vlr> {
    let mut data = vec![0; columns.len() * DESCRIPTION_BYTES];
    for (record, column) in data.chunks_exact_mut(DESCRIPTION_BYTES).zip(columns) {
        let number_type = [if column.is_float { 9 } else { 5 }];
        for (offset, bytes) in [
            (2, &number_type[..]),
            (4, column.name.as_bytes()),
            (160, column.description.as_bytes()),
        ] {
            let target = record.iter_mut().skip(offset).take(32);
            target.zip(bytes).for_each(|(target, byte)| *target = *byte);
        }
    }
    (!columns.is_empty()).then(|| Vlr {
        user_id: "LASF_Spec".to_owned(),
        record_id: 4,
        description: "additional attributes".to_owned(),
        data,
    })
}
