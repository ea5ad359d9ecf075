//! Nested columns as flat ones: each scalar in a struct or in an array of fixed length becomes a
//! column with a path as its name, such as `a.b[1].c`.

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

/// A column, and the path from the columns of the table to it.
#[derive(Clone, Debug)]
pub(crate) struct ColumnPath {
    pub(crate) field: FieldRef,
    /// The index of the column of the table.
    column: usize,
    steps: Vec<Step>,
}

/// A step from an array to the values in it.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// To the child of a struct.
    Child(usize),
    /// To an element of an array of fixed length.
    Element(i32),
}

/// Returns the paths of the nested columns `fields`, which are the columns themselves.
pub(crate) fn nested(fields: &[FieldRef]) -> Vec<ColumnPath> {
    let path = |(column, field): (usize, &FieldRef)| ColumnPath {
        field: field.clone(),
        column,
        steps: Vec::new(),
    };
    fields.iter().enumerate().map(path).collect()
}

/// Returns the flat columns in `fields`. If they are too many, they are the nested ones.
pub(crate) fn flat(fields: &[FieldRef]) -> Vec<ColumnPath> {
    let mut found = Vec::new();
    for path in nested(fields) {
        if !add(path, &mut found) {
            return nested(fields);
        }
    }
    // A struct `a` with a child `b` may be beside a column `a.b`.
    let names = unique_names(found.iter().map(|path| path.field.name().as_str()));
    for (path, name) in found.iter_mut().zip(names) {
        path.field = Arc::new(path.field.as_ref().clone().with_name(name));
    }
    found
}

/// Adds the flat columns in `path` to `found`. Returns `false` if they are too many.
fn add(path: ColumnPath, found: &mut Vec<ColumnPath>) -> bool {
    let inner = |name: String, field: &Field, step: Step| {
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
                add(inner(name, child, Step::Child(index)), found)
            })
        }
        DataType::FixedSizeList(item, len) if (1..=MAX_ARRAY_LEN).contains(len) => {
            (0..*len).all(|index| {
                let name = format!("{name}[{index}]");
                add(inner(name, item, Step::Element(index)), found)
            })
        }
        _ => {
            found.push(path);
            found.len() <= MAX_COLUMNS
        }
    }
}

impl ColumnPath {
    /// Returns the values of the column in the columns `table`.
    ///
    /// # Errors
    /// `Malformed` if the arrays do not have the types that the path was made for.
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
                    let at = |row| u32::try_from(parent.value_offset(row) + index);
                    let rows: Result<Vec<u32>, _> = (0..parent.len()).map(at).collect();
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
