//! Converts nested columns to flat columns: each scalar in a struct or in an array of fixed length
//! becomes a column whose name is a path, such as `a.b[1].c`.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array, cast::AsArray as _, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef};
use logtool_core::{Error, ErrorKind, Result};

use crate::column_names::unique_names;

/// The maximum number of columns of a table.
pub(crate) const MAX_COLUMNS: usize = 1 << 16;

/// The maximum length of an array whose elements become columns.
const MAX_ARRAY_LEN: i32 = 256;

/// A flat column, and the path to its values in the columns of the table.
#[derive(Clone, Debug)]
pub(crate) struct ColumnPath {
    pub(crate) field: FieldRef,
    /// The index of the column of the table.
    column: usize,
    steps: Vec<Step>,
}

/// A step of a path, from an array to values in it.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The child of a struct.
    Child(usize),
    /// An element of an array of fixed length.
    Element(i32),
}

/// Returns the paths of the nested columns `fields`. They have no steps.
pub(crate) fn nested_paths(fields: &[FieldRef]) -> Vec<ColumnPath> {
    let path = |(column, field): (usize, &FieldRef)| ColumnPath {
        field: field.clone(),
        column,
        steps: Vec::new(),
    };
    fields.iter().enumerate().map(path).collect()
}

/// Returns the paths of the flat columns in `fields`. If there are too many, returns the paths of
/// the nested columns.
pub(crate) fn flat_paths(fields: &[FieldRef]) -> Vec<ColumnPath> {
    let mut paths = Vec::new();
    for path in nested_paths(fields) {
        if !add(path, &mut paths) {
            return nested_paths(fields);
        }
    }
    // A table may have both a struct `a` with a child `b` and a column `a.b`.
    let names = unique_names(paths.iter().map(|path| path.field.name().as_str()));
    for (path, name) in paths.iter_mut().zip(names) {
        path.field = Arc::new(path.field.as_ref().clone().with_name(name));
    }
    paths
}

/// Adds the flat columns in `path` to `paths`. Returns `false` if there are too many.
fn add(path: ColumnPath, paths: &mut Vec<ColumnPath>) -> bool {
    let inner_path = |name: String, field: &Field, step: Step| {
        let is_nullable = path.field.is_nullable() || field.is_nullable();
        let field = field.clone().with_name(name).with_nullable(is_nullable);
        let steps = [&path.steps[..], &[step]].concat();
        ColumnPath { field: Arc::new(field), column: path.column, steps }
    };
    let name = path.field.name();
    match path.field.data_type() {
        DataType::Struct(children) => {
            children.iter().enumerate().all(|(index, child)| {
                let name = format!("{name}.{}", child.name());
                add(inner_path(name, child, Step::Child(index)), paths)
            })
        }
        DataType::FixedSizeList(item, len) if (1..=MAX_ARRAY_LEN).contains(len) => {
            (0..*len).all(|index| {
                let name = format!("{name}[{index}]");
                add(inner_path(name, item, Step::Element(index)), paths)
            })
        }
        _ => {
            paths.push(path);
            paths.len() <= MAX_COLUMNS
        }
    }
}

impl ColumnPath {
    /// Returns the values of the column. `table` are the columns of the table.
    ///
    /// # Errors
    /// `Malformed` if the arrays do not have the types for which the path was created.
    pub(crate) fn values(&self, table: &[ArrayRef]) -> Result<ArrayRef> {
        let mut values = table.get(self.column).cloned().ok_or_else(mismatch)?;
        for step in &self.steps {
            let inner = match *step {
                Step::Child(index) => {
                    let parent = values.as_struct_opt().ok_or_else(mismatch)?;
                    parent.columns().get(index).cloned().ok_or_else(mismatch)?
                }
                Step::Element(index) => {
                    let parent =
                        values.as_fixed_size_list_opt().ok_or_else(mismatch)?;
                    let value_index =
                        |row| u32::try_from(parent.value_offset(row) + index);
                    let rows: Result<Vec<u32>, _> =
                        (0..parent.len()).map(value_index).collect();
                    let rows = UInt32Array::from(rows.map_err(|_| mismatch())?);
                    arrow_select::take::take(parent.values(), &rows, None)
                        .map_err(|err| mismatch().with_source(err))?
                }
            };
            values = with_nulls_of(&values, inner)?;
        }
        Ok(values)
    }
}

/// Returns `inner` with nulls where `parent` is null.
fn with_nulls_of(parent: &ArrayRef, inner: ArrayRef) -> Result<ArrayRef> {
    if parent.null_count() == 0 {
        return Ok(inner);
    }
    let nulls = NullBuffer::union(parent.nulls(), inner.nulls());
    let data = inner.to_data().into_builder().nulls(nulls).build();
    Ok(make_array(data.map_err(|err| mismatch().with_source(err))?))
}

fn mismatch() -> Error {
    Error::new(ErrorKind::Malformed, "inconsistent columns")
}
