//! Divides the points of a table into scans.

use std::ops::Range;

use arrow_array::ArrayRef;

use crate::points::{
    column::{PointColumn, integers},
    options::PointsPerFile,
};

/// Divides points into scans. The value is the method, and the state after the previous points.
#[derive(Clone, Debug)]
pub(crate) enum ScanSplitter {
    /// All points are one scan.
    Never,
    /// The column at this index has the number of the scan.
    Numbered(usize),
    /// The column at `index` has the index of the point in its message, and each message is a scan.
    /// `last` is the index of the previous point, `started` the number of messages so far.
    Counted { index: usize, last: u32, started: u32 },
}

impl ScanSplitter {
    /// Chooses how the scans of a table of `columns` are distinguished.
    pub(crate) fn new(columns: &[PointColumn], points_per_file: PointsPerFile) -> Self {
        let find = |name| columns.iter().position(|column| column.name == name);
        if points_per_file == PointsPerFile::Log {
            return Self::Never;
        }
        // Tables of the points of messages have both of these columns.
        if let (Some(index), Some(_)) = (find("index"), find("stamp")) {
            Self::Counted { index, last: u32::MAX, started: 0 }
        } else if let Some(index) = find("scan") {
            Self::Numbered(index)
        } else {
            Self::Never
        }
    }

    /// Returns whether the table is divided into scans.
    pub(crate) fn has_scans(&self) -> bool {
        !matches!(self, Self::Never)
    }

    /// Divides the next `count` points, which have the columns `arrays`. Returns the number and the
    /// rows of each scan.
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
                let indices = arrays.get(*index).map(integers).unwrap_or_default();
                let scan_number = |point_index: u32| {
                    // Indices increase within a message.
                    *started += u32::from(point_index <= *last);
                    *last = point_index;
                    *started - 1
                };
                indices.into_iter().map(scan_number).collect()
            }
        };
        let mut scans = Vec::new();
        let mut start = 0;
        for scan in numbers.chunk_by(|a, b| a == b) {
            let end = start + scan.len();
            scans.push((scan[0], start..end));
            start = end;
        }
        scans
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::UInt32Array;
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::points::column::point_columns;

    fn columns_named(names: &[&str]) -> Vec<PointColumn> {
        let field = |name: &&str| Field::new(*name, DataType::UInt32, false);
        point_columns(&Schema::new(names.iter().map(field).collect::<Vec<_>>()))
    }

    /// Five columns, each with these numbers.
    fn five_columns(numbers: &[u32]) -> Vec<ArrayRef> {
        let array = Arc::new(UInt32Array::from(numbers.to_vec())) as ArrayRef;
        vec![array.clone(), array.clone(), array.clone(), array.clone(), array]
    }

    #[test]
    fn message_starts_where_the_point_count_restarts() {
        let mut splitter = ScanSplitter::new(
            &columns_named(&["x", "y", "z", "stamp", "index"]),
            PointsPerFile::Scan,
        );
        // A message of one point is followed by another message of one point.
        let scans = splitter.scans(&five_columns(&[0, 1, 2, 0, 0, 1]), 6);
        assert_eq!(scans, [(0, 0..3), (1, 3..4), (2, 4..6)]);
        assert_eq!(
            splitter.scans(&five_columns(&[2, 3, 0]), 3),
            [(2, 0..2), (3, 2..3)]
        );
    }

    #[test]
    fn points_without_scan_column_are_one_scan() {
        let mut splitter = ScanSplitter::new(
            &columns_named(&["x", "y", "z", "scan"]),
            PointsPerFile::Scan,
        );
        assert_eq!(
            splitter.scans(&five_columns(&[4, 4, 5]), 3),
            [(4, 0..2), (5, 2..3)]
        );
        let mut splitter = ScanSplitter::new(
            &columns_named(&["x", "y", "z", "scan"]),
            PointsPerFile::Log,
        );
        assert_eq!(splitter.scans(&five_columns(&[4, 4, 5]), 3), [(0, 0..3)]);
        assert!(!splitter.has_scans());
    }
}
