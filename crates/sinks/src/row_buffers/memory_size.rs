//! The memory size of rows, independent of how they are divided into batches.

use std::ops::Range;

use arrow_array::{Array, RecordBatch, cast::AsArray as _};
use arrow_schema::DataType;

/// Returns the size in bits of the values of the rows `rows` of `batch`. Validity and data shared
/// between rows do not count, so the size of several rows is the sum of their sizes.
pub(crate) fn size_bits(batch: &RecordBatch, rows: Range<usize>) -> u64 {
    batch.columns().iter().map(|column| array_bits(column, rows.clone())).sum()
}

/// Returns how many of the first rows of `batch` have at least `target_bits` bits, or all rows if
/// they have fewer bits.
pub(crate) fn rows_to_reach(batch: &RecordBatch, target_bits: u64) -> usize {
    let (mut min_rows, mut max_rows) = (0, batch.num_rows());
    if size_bits(batch, 0..max_rows) <= target_bits {
        return max_rows;
    }
    while min_rows + 1 < max_rows {
        let middle = min_rows.midpoint(max_rows);
        if size_bits(batch, 0..middle) < target_bits {
            min_rows = middle
        } else {
            max_rows = middle
        }
    }
    max_rows
}

/// Returns the size in bits of a value of a type, and whether all values have that size. If not, it
/// is the size of the part that each value has, e.g. of the offset of a string.
pub(crate) fn bits_per_row(data_type: &DataType) -> (u64, bool) {
    let bytes = |bytes: usize| 8 * bytes as u64;
    match data_type {
        DataType::Null => (0, true),
        DataType::Boolean => (1, true),
        DataType::Utf8 | DataType::Binary | DataType::List(_) => (32, false),
        DataType::Dictionary(keys, _) => bits_per_row(keys),
        DataType::FixedSizeBinary(len) => (bytes((*len).max(0) as usize), true),
        DataType::FixedSizeList(item, len) => {
            let (bits, is_exact) = bits_per_row(item.data_type());
            (bits.saturating_mul((*len).max(0) as u64), is_exact)
        }
        DataType::Struct(fields) => {
            fields.iter().fold((0_u64, true), |(bits, is_exact), field| {
                let (field_bits, is_field_exact) = bits_per_row(field.data_type());
                (bits.saturating_add(field_bits), is_exact && is_field_exact)
            })
        }
        other => (bytes(other.primitive_width().unwrap_or(8)), true),
    }
}

/// Returns the size in bits of the values of the rows `rows` of `array`.
fn array_bits(array: &dyn Array, rows: Range<usize>) -> u64 {
    let (value_bits, is_exact) = bits_per_row(array.data_type());
    let fixed_bits = value_bits.saturating_mul(rows.len() as u64);
    if is_exact {
        return fixed_bits;
    }
    let value_range =
        |offsets: &[i32]| offsets[rows.start] as usize..offsets[rows.end] as usize;
    match array.data_type() {
        DataType::Utf8 => {
            fixed_bits
                + 8 * value_range(array.as_string::<i32>().offsets()).len() as u64
        }
        DataType::Binary => {
            fixed_bits
                + 8 * value_range(array.as_binary::<i32>().offsets()).len() as u64
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            fixed_bits + array_bits(list.values(), value_range(list.offsets()))
        }
        DataType::FixedSizeList(_, len) => {
            let len = (*len).max(0) as usize;
            let items = rows.start * len..rows.end * len;
            array_bits(array.as_fixed_size_list().values(), items)
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns().iter();
            columns.map(|column| array_bits(column, rows.clone())).sum()
        }
        _ => fixed_bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::all_kinds;

    #[test]
    fn size_of_rows_is_the_sum_of_their_sizes() {
        let batch = all_kinds();
        // Time, float, two integers, a boolean, two strings, a label, a list, and a struct of a
        // float and a string: the fixed sizes, then the strings and the items of the list.
        let fixed_bits = 64 + 32 + 64 + 64 + 1 + 32 + 32 + 32 + 64 + 32;
        let (first, second) = (8 * (11 + 1) + 2 * 32, 8 * 4);
        assert_eq!(size_bits(&batch, 0..1), fixed_bits + first);
        assert_eq!(size_bits(&batch, 1..2), fixed_bits + second);
        assert_eq!(size_bits(&batch, 0..2), 2 * fixed_bits + first + second);
        assert_eq!(size_bits(&batch.slice(1, 1), 0..1), fixed_bits + second);
    }

    #[test]
    fn fewest_rows_that_reach_a_size_are_found() {
        let batch = all_kinds();
        let (first, both) = (size_bits(&batch, 0..1), size_bits(&batch, 0..2));
        assert_eq!(rows_to_reach(&batch, 1), 1);
        assert_eq!(rows_to_reach(&batch, first), 1);
        assert_eq!(rows_to_reach(&batch, first + 1), 2);
        assert_eq!(rows_to_reach(&batch, both + 1), 2);
    }
}
