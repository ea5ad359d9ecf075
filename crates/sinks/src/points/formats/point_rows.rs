//! Encodes points row by row, as bytes or as text.

use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};

use crate::{
    points::{
        column::{ColumnVisitor, Scalar, for_each_number, visit},
        file::Points,
    },
    text::number::Number as _,
};

/// Returns the bytes of `points`, row by row, little-endian.
pub(crate) fn bytes(points: &Points) -> Vec<u8> {
    let width = |array: &ArrayRef| array.data_type().primitive_width().unwrap_or(0);
    let row_len: usize = points.arrays.iter().map(width).sum();
    let (mut rows, mut offset) = (vec![0; row_len * points.count], 0);
    for array in &points.arrays {
        write_column(&mut rows, row_len, offset, array);
        offset += width(array);
    }
    rows
}

/// Writes the numbers of `array`, little-endian, to `rows`, which have `row_len` bytes each: to
/// the bytes from `offset` on of each row.
pub(crate) fn write_column(
    rows: &mut [u8],
    row_len: usize,
    offset: usize,
    array: &ArrayRef,
) {
    struct ByteRows<'r> {
        rows: &'r mut [u8],
        row_len: usize,
        offset: usize,
    }
    impl ColumnVisitor for ByteRows<'_> {
        fn visit<T>(&mut self, numbers: &PrimitiveArray<T>)
        where
            T: ArrowPrimitiveType<Native: Scalar>,
        {
            let (start, end) = (self.offset, self.offset + size_of::<T::Native>());
            let mut rows = self.rows.chunks_exact_mut(self.row_len);
            for_each_number(numbers, |number| {
                let row = rows.next().unwrap_or_default();
                number.write_bytes(row.get_mut(start..end).unwrap_or_default());
            });
        }
    }
    visit(array, &mut ByteRows { rows, row_len: row_len.max(1), offset });
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
