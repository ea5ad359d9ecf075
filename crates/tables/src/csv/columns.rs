//! The columns of a table: columns of the file, and arrays of adjacent columns with indices.

use std::{collections::HashSet, iter, sync::Arc};

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use logtool_core::time_field;
use serde::{Deserialize, Serialize};

use crate::csv::cell_type::CellType;

/// A column of the file other than the time column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CsvColumn {
    pub(super) name: String,
    /// The index of the cells of this column in a row.
    pub(super) cell: usize,
    pub(super) kind: CellType,
}

/// A column of the table, which consists of one or several columns of the file.
#[derive(Clone, Debug)]
pub(super) struct TableColumn {
    pub(super) field: FieldRef,
    /// The indices of the columns of the file. Several columns are the elements of an array.
    pub(super) parts: Vec<usize>,
}

/// Sets a common type for the columns of each array, so that they can be combined.
pub(super) fn join_array_types(columns: &mut [CsvColumn]) {
    let mut start = 0;
    while start < columns.len() {
        let len = array_len(columns, start).max(1);
        let elements = columns.get_mut(start..start + len).unwrap_or_default();
        let array_type = elements
            .iter()
            .fold(CellType::Empty, |kind, column| kind.join(column.kind));
        if array_type.is_number() {
            elements.iter_mut().for_each(|element| element.kind = array_type);
        }
        start += len;
    }
}

/// Returns the schema of the nested view.
pub(super) fn nested_schema(columns: &[CsvColumn]) -> SchemaRef {
    with_time(nested_columns(columns).into_iter().map(|column| column.field))
}

/// Returns the schema of the time column and `fields`.
pub(super) fn with_time(fields: impl Iterator<Item = FieldRef>) -> SchemaRef {
    let time: FieldRef = Arc::new(time_field("time", "ns"));
    Arc::new(Schema::new(iter::once(time).chain(fields).collect::<Vec<_>>()))
}

/// Returns the columns of the table in the nested view: adjacent columns `x[0]`, `x[1]`, ... of
/// numbers are combined to one array `x`.
pub(super) fn nested_columns(columns: &[CsvColumn]) -> Vec<TableColumn> {
    let mut names: HashSet<&str> =
        columns.iter().map(|column| column.name.as_str()).collect();
    names.insert("time");
    let (mut table_columns, mut start) = (Vec::new(), 0);
    while let Some(column) = columns.get(start) {
        let len = array_len(columns, start);
        let array = columns.get(start..start + len).unwrap_or_default();
        let base = column.name.strip_suffix("[0]").filter(|base| names.insert(base));
        match base {
            Some(base)
                if len > 1 && array.iter().all(|column| column.kind.is_number()) =>
            {
                let item = Field::new("item", data_type(column.kind), true);
                let count = i32::try_from(len).unwrap_or(i32::MAX);
                let kind = DataType::FixedSizeList(Arc::new(item), count);
                let field = Arc::new(Field::new(base, kind, false));
                table_columns
                    .push(TableColumn { field, parts: (start..start + len).collect() });
                start += len;
            }
            _ => {
                table_columns.push(single(columns, start));
                start += 1;
            }
        }
    }
    table_columns
}

/// Returns the columns of the table in the flat view, which are the columns of the file.
pub(super) fn flat_columns(columns: &[CsvColumn]) -> Vec<TableColumn> {
    (0..columns.len()).map(|index| single(columns, index)).collect()
}

/// Returns a column of the table that consists of the column of the file at `index`.
fn single(columns: &[CsvColumn], index: usize) -> TableColumn {
    let (name, kind) = columns
        .get(index)
        .map_or(("", CellType::Text), |column| (&column.name, column.kind));
    let field = Arc::new(Field::new(name, data_type(kind), true));
    TableColumn { field, parts: vec![index] }
}

/// Returns the number of columns from `start` on that are the elements of one array; 0 if the
/// column at `start` is not the first element of an array.
fn array_len(columns: &[CsvColumn], start: usize) -> usize {
    let Some(base) =
        columns.get(start).and_then(|column| column.name.strip_suffix("[0]"))
    else {
        return 0;
    };
    let remaining = columns.get(start..).unwrap_or_default();
    let is_element = |(index, column): &(usize, &CsvColumn)| {
        let suffix = column.name.strip_prefix(base);
        suffix.is_some_and(|suffix| suffix == format!("[{index}]"))
    };
    remaining.iter().enumerate().take_while(is_element).count()
}

/// Returns the Arrow type of cells.
pub(super) fn data_type(kind: CellType) -> DataType {
    match kind {
        CellType::Bool => DataType::Boolean,
        CellType::Natural | CellType::Signed => DataType::Int64,
        CellType::Unsigned => DataType::UInt64,
        CellType::Float => DataType::Float64,
        CellType::Empty | CellType::Text => DataType::Utf8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(kinds: &[(&str, CellType)]) -> Vec<CsvColumn> {
        let column = |(cell, (name, kind)): (usize, &(&str, CellType))| CsvColumn {
            name: (*name).to_owned(),
            cell,
            kind: *kind,
        };
        kinds.iter().enumerate().map(column).collect()
    }

    #[test]
    fn adjacent_columns_with_indices_are_an_array() {
        use CellType::{Float, Natural, Text};
        let mut columns = columns(&[
            ("q[0]", Natural),
            ("q[1]", Float),
            ("y", Natural),
            ("s[0]", Text),
            ("s[1]", Text),
            ("lonely[0]", Float),
            ("y[0]", Float),
            ("y[1]", Float),
        ]);
        join_array_types(&mut columns);
        assert_eq!(columns[0].kind, Float);
        let nested = nested_columns(&columns);
        let names: Vec<&str> =
            nested.iter().map(|column| column.field.name().as_str()).collect();
        // The column `y` exists, so the columns `y[0]` and `y[1]` cannot form an array `y`. An
        // array has numbers and at least two columns.
        assert_eq!(names, ["q", "y", "s[0]", "s[1]", "lonely[0]", "y[0]", "y[1]"]);
        assert_eq!(nested[0].parts, [0, 1]);
    }
}
