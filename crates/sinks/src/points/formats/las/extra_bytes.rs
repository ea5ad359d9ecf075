//! Extra bytes: attributes of points that LAS has no fields for, and their description in a file.
//!
//! ```text
//! record of LASF_Spec, 4, with 192 bytes for each attribute:
//!   2   type: 5 u32, 9 f32
//!   4   name, 32 bytes
//! 160   description, 32 bytes
//! ```
//! (LAS 1.4 R15, 2.7.4; older versions are read the same by LAStools, PDAL and laspy.)

use ::las::Vlr;

use crate::points::{
    attributes::array,
    column::{NumberType, PointColumn, floats, integers},
    file::Points,
};

/// The size of each attribute in bytes.
pub(crate) const BYTES: usize = 4;

/// The names and descriptions of columns that are written as extra bytes.
const WANTED: [(&str, &str); 2] = [
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

/// Returns those that `columns` contain.
pub(crate) fn find(columns: &[PointColumn]) -> Vec<ExtraBytesColumn> {
    let find = |(name, description): (&'static str, &'static str)| {
        let index = columns.iter().position(|column| column.name == name)?;
        let is_float = matches!(columns.get(index)?.kind, NumberType::Float { .. });
        Some(ExtraBytesColumn { name, description, is_float, index })
    };
    WANTED.into_iter().filter_map(find).collect()
}

impl ExtraBytesColumn {
    /// Returns the bytes of the attribute for each of `points`.
    pub(crate) fn values(&self, points: &Points) -> Vec<[u8; BYTES]> {
        match array(points, Some(self.index)) {
            Some(array) if self.is_float => {
                floats(array).into_iter().map(|v| (v as f32).to_le_bytes()).collect()
            }
            Some(array) => integers(array).into_iter().map(u32::to_le_bytes).collect(),
            None => Vec::new(),
        }
    }
}

/// Returns the record that describes `extra`, or `None` if there are no attributes.
pub(crate) fn extra_bytes_record(extra: &[ExtraBytesColumn]) -> Option<Vlr> {
    let mut data = vec![0; extra.len() * DESCRIPTION_BYTES];
    for (record, extra) in data.chunks_exact_mut(DESCRIPTION_BYTES).zip(extra) {
        let kind = [if extra.is_float { 9 } else { 5 }];
        let strings = [extra.name.as_bytes(), extra.description.as_bytes()];
        for (index, bytes) in [(2, &kind[..]), (4, strings[0]), (160, strings[1])] {
            let target = record.iter_mut().skip(index).take(32);
            target.zip(bytes).for_each(|(target, byte)| *target = *byte);
        }
    }
    (!extra.is_empty()).then(|| Vlr {
        user_id: "LASF_Spec".to_owned(),
        record_id: 4,
        description: "additional attributes".to_owned(),
        data,
    })
}
