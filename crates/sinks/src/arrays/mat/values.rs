//! Reads a column back value by value and encodes the values as matrices.

use std::{
    io::{BufReader, Read as _},
    sync::atomic::{AtomicU64, Ordering},
};

use arrow_schema::DataType;
use logtool_core::Result;

use crate::arrays::{
    column::{ArrayColumn, ColumnData, IntegerReader, Strings},
    mat::{
        element::{MatrixClass, characters, encode_container, matrix},
        names::VariableNames,
        utf16,
    },
    spill_file::{SpillFile, SpillReader},
};

/// A reader of the values of a column. `start` is the end of the previous string or list.
pub(super) enum ValueReader<'s> {
    Numbers {
        class: MatrixClass,
        width: usize,
        bytes: BufReader<SpillReader<'s>>,
    },
    Strings {
        is_text: bool,
        ends: IntegerReader<'s>,
        start: u64,
        bytes: BufReader<SpillReader<'s>>,
        escaped_characters: &'s AtomicU64,
    },
    Lists {
        ends: IntegerReader<'s>,
        start: u64,
        items: Box<Self>,
        value_shape: &'s [usize],
    },
    Fields {
        names: Vec<String>,
        fields: Vec<(Self, &'s [usize])>,
    },
}

impl<'s> ValueReader<'s> {
    /// Creates a reader at the start of `column`. `escaped_characters` counts the characters that
    /// are written as hexadecimal digits.
    pub(super) fn new(
        column: &'s ArrayColumn,
        spill_file: &'s SpillFile,
        escaped_characters: &'s AtomicU64,
    ) -> Self {
        let read = |stream| BufReader::with_capacity(64 << 10, spill_file.read(stream));
        match &column.data {
            ColumnData::Values(data_type, stream) => Self::Numbers {
                class: class(data_type),
                width: ArrayColumn::width(data_type),
                bytes: read(stream),
            },
            ColumnData::Strings(Strings { is_text, ends, bytes, .. }) => {
                Self::Strings {
                    is_text: *is_text,
                    ends: IntegerReader::new(spill_file, ends),
                    start: 0,
                    bytes: read(bytes),
                    escaped_characters,
                }
            }
            ColumnData::Lists(ends, items) => Self::Lists {
                ends: IntegerReader::new(spill_file, ends),
                start: 0,
                items: Box::new(Self::new(items, spill_file, escaped_characters)),
                value_shape: &items.value_shape,
            },
            ColumnData::Fields(fields) => {
                let mut names = VariableNames::default();
                Self::Fields {
                    names: fields
                        .iter()
                        .map(|field| names.unique_name(&field.name))
                        .collect(),
                    fields: fields
                        .iter()
                        .map(|field| {
                            (
                                Self::new(field, spill_file, escaped_characters),
                                &*field.value_shape,
                            )
                        })
                        .collect(),
                }
            }
        }
    }

    /// Reads the next values as one matrix with the shape `shape`.
    pub(super) fn read_matrix(&mut self, shape: &[u64]) -> Result<Vec<u8>> {
        let count: u64 = shape.iter().product();
        match self {
            Self::Numbers { class, width, bytes } => {
                let mut data = vec![0; usize::try_from(count).unwrap_or(0) * *width];
                bytes.read_exact(&mut data)?;
                let numbers: Vec<&[u8]> = data.chunks_exact(*width).collect();
                matrix(*class, shape, &to_column_major(shape, &numbers).concat())
            }
            Self::Fields { names, fields } => {
                let mut elements = Vec::new();
                for (field, value_shape) in fields {
                    elements
                        .push(field.read_matrix(&concat_shapes(shape, value_shape))?);
                }
                encode_container(MatrixClass::Struct, &[1, 1], names, elements)
            }
            Self::Strings { .. } | Self::Lists { .. } => {
                let cells =
                    (0..count).map(|_| self.read_cell()).collect::<Result<Vec<_>>>()?;
                encode_container(
                    MatrixClass::Cell,
                    shape,
                    &[],
                    to_column_major(shape, &cells),
                )
            }
        }
    }

    /// Reads the next string or list.
    pub(super) fn read_cell(&mut self) -> Result<Vec<u8>> {
        match self {
            Self::Strings { is_text, ends, start, bytes, escaped_characters } => {
                let end = ends.next()?;
                let mut value = vec![0; (end - *start) as usize];
                bytes.read_exact(&mut value)?;
                *start = end;
                if *is_text {
                    let text = String::from_utf8_lossy(&value);
                    let (escaped_text, escaped_count) = utf16::escape(&text);
                    escaped_characters.fetch_add(escaped_count, Ordering::Relaxed);
                    characters("", &escaped_text)
                } else {
                    matrix(MatrixClass::Uint8, &[value.len() as u64], &value)
                }
            }
            Self::Lists { ends, start, items, value_shape } => {
                let end = ends.next()?;
                let scalars_per_item =
                    value_shape.iter().map(|dim| *dim as u64).product::<u64>().max(1);
                let len = (end - *start) / scalars_per_item;
                *start = end;
                items.read_matrix(&concat_shapes(&[len], value_shape))
            }
            Self::Numbers { .. } | Self::Fields { .. } => self.read_matrix(&[1]),
        }
    }
}

/// Returns the dimensions of an array with the shape `outer_shape` whose elements have the shape
/// `value_shape`.
pub(super) fn concat_shapes(outer_shape: &[u64], value_shape: &[usize]) -> Vec<u64> {
    outer_shape
        .iter()
        .copied()
        .chain(value_shape.iter().map(|dim| *dim as u64))
        .collect()
}

/// Returns MATLAB's class for a type.
pub(super) fn class(data_type: &DataType) -> MatrixClass {
    match data_type {
        DataType::Boolean => MatrixClass::Logical,
        DataType::Int8 => MatrixClass::Int8,
        DataType::Int16 => MatrixClass::Int16,
        DataType::Int32 => MatrixClass::Int32,
        DataType::UInt8 => MatrixClass::Uint8,
        DataType::UInt16 => MatrixClass::Uint16,
        DataType::UInt32 => MatrixClass::Uint32,
        DataType::UInt64 => MatrixClass::Uint64,
        DataType::Float32 => MatrixClass::Single,
        DataType::Float64 => MatrixClass::Double,
        _ => MatrixClass::Int64,
    }
}

/// Converts the index of a value in column-major order, in which the first dimension of `shape`
/// varies fastest, to its index in row-major order.
pub(super) fn row_major_index(shape: &[u64], mut column_major_index: u64) -> u64 {
    let mut stride: u64 = shape.iter().product();
    let mut index = 0;
    for dim in shape {
        stride /= (*dim).max(1);
        index += column_major_index % (*dim).max(1) * stride;
        column_major_index /= (*dim).max(1);
    }
    index
}

/// Reorders `values` of `shape` from row-major to column-major order.
fn to_column_major<T: Clone>(shape: &[u64], values: &[T]) -> Vec<T> {
    let mut reordered = Vec::with_capacity(values.len());
    for column_major_index in 0..values.len() as u64 {
        let index = row_major_index(shape, column_major_index);
        if let Some(value) = values.get(index as usize) {
            reordered.push(value.clone());
        }
    }
    reordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_reordered_to_column_major_order() {
        // numpy: arange(12).reshape(2, 3, 2).flatten(order="F")
        let values: Vec<u8> = (0..12).collect();
        let expected = [0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11];
        assert_eq!(to_column_major(&[2, 3, 2], &values), expected);
        assert_eq!(to_column_major(&[12], &values), values);
    }
}
