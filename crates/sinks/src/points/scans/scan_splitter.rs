//! Divides the points of a table into scans.

use std::ops::Range;

use arrow_array::ArrayRef;

use crate::points::{
    column::{PointColumn, integers},
    options::PointsPerFile,
};

/// How scans are distinguished, and the state at the end of the previous points.
#[derive(Clone, Debug)]
pub(crate) enum ScanSplitter {
    /// All points are one scan.
    Never,
    /// The column at this index has the number of the scan.
    Numbered(usize),
    /// The column at `index` counts the points of a message. `last` is the last count, `started`
    /// the number of messages that have started.
    Counted { index: usize, last: u32, started: u32 },
}

impl ScanSplitter {
    /// Chooses how the scans of a table of `columns` are distinguished.
    pub(crate) fn new(columns: &[PointColumn], per: PointsPerFile) -> Self {
        let find = |name| columns.iter().position(|column| column.name == name);
        match (per, find("index").filter(|_| find("stamp").is_some()), find("scan")) {
            (PointsPerFile::Log, ..) | (PointsPerFile::Scan, None, None) => Self::Never,
            (PointsPerFile::Scan, Some(index), _) => {
                Self::Counted { index, last: u32::MAX, started: 0 }
            }
            (PointsPerFile::Scan, None, Some(index)) => Self::Numbered(index),
        }
    }

    /// Returns whether the table is divided into scans.
    pub(crate) fn has_scans(&self) -> bool {
        !matches!(self, Self::Never)
    }

    /// Returns the number and the points of each scan in the next points.
    pub(crate) fn scans(
        &mut self,
        arrays: &[ArrayRef],
        count: usize,
    ) -> Vec<(u32, Range<usize>)> {
        let numbers = match self {
            Self::Never => vec![0; count],
            Self::Numbered(index) => {
                arrays.get(*index).map(integers).unwrap_or_default()
            }
            Self::Counted { index, last, started } => {
                let counts = arrays.get(*index).map(integers).unwrap_or_default();
                let number = |count: u32| {
                    let before = std::mem::replace(last, count);
                    *started += u32::from(count <= before);
                    *started - 1
                };
                counts.into_iter().map(number).collect()
            }
        };
        let mut start = 0;
        let scans = numbers.chunk_by(|a, b| a == b).filter_map(|rows| {
            let range = start..start + rows.len();
            start = range.end;
            Some((*rows.first()?, range))
        });
        scans.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::UInt32Array;
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::points::column::columns;

    fn of(names: &[&str]) -> Vec<PointColumn> {
        let field = |name: &&str| Field::new(*name, DataType::UInt32, false);
        columns(&Schema::new(names.iter().map(field).collect::<Vec<_>>()))
    }

    fn array(numbers: &[u32]) -> Vec<ArrayRef> {
        let array = Arc::new(UInt32Array::from(numbers.to_vec())) as ArrayRef;
        vec![array.clone(), array.clone(), array.clone(), array.clone(), array]
    }

    #[test]
    fn message_starts_where_the_point_count_restarts() {
        let mut scan_splitter = ScanSplitter::new(
            &of(&["x", "y", "z", "stamp", "index"]),
            PointsPerFile::Scan,
        );
        // A message of one point is followed by another message of one point.
        let scans = scan_splitter.scans(&array(&[0, 1, 2, 0, 0, 1]), 6);
        assert_eq!(scans, [(0, 0..3), (1, 3..4), (2, 4..6)]);
        assert_eq!(scan_splitter.scans(&array(&[2, 3, 0]), 3), [(2, 0..2), (3, 2..3)]);
    }

    #[test]
    fn points_without_scan_column_are_one_scan() {
        let mut scan_splitter =
            ScanSplitter::new(&of(&["x", "y", "z", "scan"]), PointsPerFile::Scan);
        assert_eq!(scan_splitter.scans(&array(&[4, 4, 5]), 3), [(4, 0..2), (5, 2..3)]);
        let mut scan_splitter =
            ScanSplitter::new(&of(&["x", "y", "z", "scan"]), PointsPerFile::Log);
        assert_eq!(scan_splitter.scans(&array(&[4, 4, 5]), 3), [(0, 0..3)]);
        assert!(!scan_splitter.has_scans());
    }
}
