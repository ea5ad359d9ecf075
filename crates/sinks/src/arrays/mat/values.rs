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
        element::{MatrixClass, characters, container_of, matrix},
        names::VariableNames,
        utf16,
    },
    spill::{Spill, SpillReader},
};

/// A reader of the values of a column.
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
        dims: &'s [usize],
    },
    Fields {
        names: Vec<String>,
        fields: Vec<(Self, &'s [usize])>,
    },
}

impl<'s> ValueReader<'s> {
    /// Creates a reader at the start of `column`. `escaped_characters` counts the characters that are
    /// written as hexadecimal digits.
    pub(super) fn new(
        column: &'s ArrayColumn,
        spill: &'s Spill,
        escaped_characters: &'s AtomicU64,
    ) -> Self {
        let read = |stream| BufReader::with_capacity(64 << 10, spill.read(stream, 0));
        match &column.body {
            ColumnData::Values(data_type, stream) => Self::Numbers {
                class: class(data_type),
                width: ArrayColumn::width(data_type),
                bytes: read(stream),
            },
            ColumnData::Strings(Strings { is_text, ends, bytes, .. }) => {
                Self::Strings {
                    is_text: *is_text,
                    ends: IntegerReader::new(spill, ends, 0),
                    start: 0,
                    bytes: read(bytes),
                    escaped_characters,
                }
            }
            ColumnData::Lists(ends, items) => Self::Lists {
                ends: IntegerReader::new(spill, ends, 0),
                start: 0,
                items: Box::new(Self::new(items, spill, escaped_characters)),
                dims: &items.dims,
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
                            (Self::new(field, spill, escaped_characters), &*field.dims)
                        })
                        .collect(),
                }
            }
        }
    }

    /// Reads the next values, as many as `shape` holds, as one matrix.
    pub(super) fn read_matrix(&mut self, shape: &[u64]) -> Result<Vec<u8>> {
        let count: u64 = shape.iter().product();
        match self {
            Self::Numbers { class, width, bytes } => {
                let mut data = vec![0; usize::try_from(count).unwrap_or(0) * *width];
                bytes.read_exact(&mut data)?;
                let each: Vec<&[u8]> = data.chunks_exact(*width).collect();
                matrix(*class, shape, &to_column_major(shape, &each).concat())
            }
            Self::Fields { names, fields } => {
                let mut elements = Vec::new();
                for (field, dims) in fields {
                    elements.push(field.read_matrix(&with_dims(shape, dims))?);
                }
                container_of(MatrixClass::Struct, &[1, 1], names, elements)
            }
            Self::Strings { .. } | Self::Lists { .. } => {
                let cells =
                    (0..count).map(|_| self.read_cell()).collect::<Result<Vec<_>>>()?;
                container_of(
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
                let mut text = vec![0; (end - *start) as usize];
                bytes.read_exact(&mut text)?;
                *start = end;
                if *is_text {
                    let text = String::from_utf8_lossy(&text);
                    let (text, changed) = utf16::escape(&text);
                    escaped_characters.fetch_add(changed, Ordering::Relaxed);
                    characters("", &text)
                } else {
                    matrix(MatrixClass::Uint8, &[1, text.len() as u64], &text)
                }
            }
            Self::Lists { ends, start, items, dims } => {
                let end = ends.next()?;
                let size = dims.iter().map(|dim| *dim as u64).product::<u64>().max(1);
                let len = (end - *start) / size;
                *start = end;
                items.read_matrix(&with_dims(&[len], dims))
            }
            Self::Numbers { .. } | Self::Fields { .. } => self.read_matrix(&[1]),
        }
    }
}

/// Appends `dims` to `shape`.
pub(super) fn with_dims(shape: &[u64], dims: &[usize]) -> Vec<u64> {
    shape.iter().copied().chain(dims.iter().map(|dim| *dim as u64)).collect()
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

/// Returns the row-major index of the value that is at index `nth` in column-major order, in
/// which the first of `dims` varies fastest.
pub(super) fn row_major_index(dims: &[u64], mut nth: u64) -> u64 {
    let mut stride: u64 = dims.iter().product();
    let mut index = 0;
    for dim in dims {
        stride /= (*dim).max(1);
        index += nth % (*dim).max(1) * stride;
        nth /= (*dim).max(1);
    }
    index
}

/// Reorders `values` of `shape` from row-major to column-major order.
fn to_column_major<T: Clone>(shape: &[u64], values: &[T]) -> Vec<T> {
    (0..values.len() as u64)
        .filter_map(|nth| {
            values.get(usize::try_from(row_major_index(shape, nth)).ok()?).cloned()
        })
        .collect()
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
