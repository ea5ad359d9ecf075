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
        /// The length of a row, and the offset of the number in it.
        stride: usize,
        offset: usize,
    }
    impl ColumnVisitor for ByteRows {
        fn visit<T>(&mut self, numbers: &PrimitiveArray<T>)
        where
            T: ArrowPrimitiveType<Native: Scalar>,
        {
            let (end, stride) = (self.offset + size_of::<T::Native>(), self.stride);
            let mut rows = self.rows.chunks_exact_mut(stride);
            for_each_number(numbers, |number| {
                let row = rows.next().unwrap_or_default();
                number.put_bytes(row.get_mut(self.offset..end).unwrap_or_default());
            });
        }
    }
    let stride: usize = columns.iter().map(|column| column.kind.bytes()).sum();
    let rows = vec![0; stride * points.count];
    let mut bytes = ByteRows { rows, stride: stride.max(1), offset: 0 };
    for (array, column) in points.arrays.iter().zip(columns) {
        visit(array, &mut bytes);
        bytes.offset += column.kind.bytes();
    }
    bytes.rows
}

/// Returns the text of `points`: a line for each, with blanks between the numbers.
pub(crate) fn text(points: &Points) -> Vec<u8> {
    struct TextRows {
        bytes: Vec<u8>,
        /// The end of each number of this column.
        ends: Vec<usize>,
    }
    impl ColumnVisitor for TextRows {
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
    let columns = points.arrays.iter().map(|array| {
        let mut text_rows = TextRows { bytes: Vec::new(), ends: vec![0] };
        visit(array, &mut text_rows);
        text_rows
    });
    let columns: Vec<TextRows> = columns.collect();
    let length = columns.iter().map(|column| column.bytes.len() + points.count).sum();
    let mut text = Vec::with_capacity(length);
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
