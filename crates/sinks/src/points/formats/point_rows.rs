//! Encodes points row by row, as bytes or as text.

use arrow_array::{ArrowPrimitiveType, PrimitiveArray};

use crate::{
    points::{
        column::{ColumnVisitor, PointColumn, Scalar, for_each_number, visit},
        file::Points,
    },
    text::number::Number as _,
};

/// Returns the bytes of `points`, row by row, little-endian.
pub(crate) fn bytes(points: &Points, columns: &[PointColumn]) -> Vec<u8> {
    struct ByteRows {
        rows: Vec<u8>,
        /// The length of a row, and the offset of the visited column in it.
        row_len: usize,
        offset: usize,
    }
    impl ColumnVisitor for ByteRows {
        fn visit<T>(&mut self, numbers: &PrimitiveArray<T>)
        where
            T: ArrowPrimitiveType<Native: Scalar>,
        {
            let (end, row_len) = (self.offset + size_of::<T::Native>(), self.row_len);
            let mut rows = self.rows.chunks_exact_mut(row_len);
            for_each_number(numbers, |number| {
                let row = rows.next().unwrap_or_default();
                number.write_bytes(row.get_mut(self.offset..end).unwrap_or_default());
            });
        }
    }
    let row_len: usize = columns.iter().map(|column| column.number_type.bytes()).sum();
    let rows = vec![0; row_len * points.count];
    let mut bytes = ByteRows { rows, row_len: row_len.max(1), offset: 0 };
    for (array, column) in points.arrays.iter().zip(columns) {
        visit(array, &mut bytes);
        bytes.offset += column.number_type.bytes();
    }
    bytes.rows
}

/// Returns the text of `points`: a line for each, with blanks between the numbers.
pub(crate) fn text(points: &Points) -> Vec<u8> {
    struct ColumnText {
        bytes: Vec<u8>,
        /// The end of the text of each number in `bytes`, after a 0.
        ends: Vec<usize>,
    }
    impl ColumnVisitor for ColumnText {
        fn visit<T>(&mut self, numbers: &PrimitiveArray<T>)
        where
            T: ArrowPrimitiveType<Native: Scalar>,
        {
            for_each_number(numbers, |number| {
                let mut buffer = [0; 32];
                let length = number.write_to(&mut buffer);
                self.bytes.extend_from_slice(buffer.get(..length).unwrap_or_default());
                self.ends.push(self.bytes.len());
            });
        }
    }
    let mut columns = Vec::with_capacity(points.arrays.len());
    for array in &points.arrays {
        let mut column = ColumnText { bytes: Vec::new(), ends: vec![0] };
        visit(array, &mut column);
        columns.push(column);
    }
    let text_len = columns.iter().map(|column| column.bytes.len() + points.count).sum();
    let mut text = Vec::with_capacity(text_len);
    for row in 0..points.count {
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                text.push(b' ');
            }
            if let Some([start, end]) = column.ends.get(row..row + 2) {
                text.extend_from_slice(
                    column.bytes.get(*start..*end).unwrap_or_default(),
                );
            }
        }
        text.push(b'\n');
    }
    text
}
