//! The fields that a message declares for its points, and their columns.

use logtool_core::Primitive;

use crate::points::{
    FieldsWithoutColumn, Grid, MAX_COLUMNS, PointColumn, PointColumnType, PointSchema,
    PointValues, StridedValues,
};

/// A field that a message declares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointField<'b> {
    pub(crate) name: &'b [u8],
    /// The position of its values in a point, in bytes.
    pub(crate) offset: usize,
    /// The type of its values, or the number in the message if no type has it.
    pub(crate) kind: Result<Primitive, u64>,
    /// The number of its values for each point: 1 or more.
    pub(crate) count: u32,
}

/// The end of a sentence: the reason why a valid field has no column.
pub(crate) const NO_COLUMN: &str =
    "has no column, because no message that was inspected before had it";

/// A description of a field without a column.
enum NoColumn {
    /// The field contradicts the message.
    Invalid(String),
    /// The point schema has no column for it.
    NotInSchema(String),
}

/// Returns the columns of those `fields` that fit the points of `grid`, or `None` if there are
/// none.
pub(crate) fn point_schema(
    fields: &[PointField<'_>],
    grid: Grid<'_>,
    has_rows: bool,
) -> Option<PointSchema> {
    let column = |field: &PointField<'_>| {
        let (kind, _) = field.locate(grid, false).ok()?;
        let name = logtool_core::decode_text(field.name).into_owned();
        Some(PointColumn {
            name,
            kind: PointColumnType::Number(kind),
            count: field.count,
        })
    };
    let columns = fields.iter().filter_map(column).collect();
    PointSchema::new(columns, has_rows)
        .filter(|point_schema| !point_schema.columns.is_empty())
}

/// Returns the values of `fields` in the points of `grid` for each column of `point_schema`, and a
/// description of the fields without a column.
///
/// # Errors
/// A description of the problem if all fields are invalid, or if there are too many.
pub(crate) fn column_values<'b>(
    fields: &[PointField<'b>],
    grid: Grid<'b>,
    is_big: bool,
    point_schema: &PointSchema,
) -> Result<(Vec<PointValues<'b>>, FieldsWithoutColumn), String> {
    let mut columns = vec![PointValues::Nothing; point_schema.columns.len()];
    if grid.points() == 0 {
        return Ok((columns, FieldsWithoutColumn::default()));
    }
    if fields.len() > MAX_COLUMNS {
        return Err(format!(
            "it has {} fields, and at most {MAX_COLUMNS} are supported",
            fields.len()
        ));
    }
    let (mut invalid, mut not_in_schema) = (Vec::new(), Vec::new());
    for (index, field) in fields.iter().enumerate() {
        match field.column_and_values(index, grid, is_big, point_schema, &columns) {
            Ok((column, values)) => {
                if let Some(column) = columns.get_mut(column) {
                    *column = values;
                }
            }
            Err(NoColumn::Invalid(reason)) => invalid.push(reason),
            Err(NoColumn::NotInSchema(reason)) => not_in_schema.push(reason),
        }
    }
    let summary = |reasons: Vec<String>| {
        let other_count = reasons.len().saturating_sub(1);
        reasons.into_iter().next().map(|reason| match other_count {
            0 => reason,
            _ => format!("{reason}, and {other_count} more"),
        })
    };
    let are_all_invalid = invalid.len() == fields.len();
    match summary(invalid) {
        Some(reason) if are_all_invalid => Err(reason),
        invalid => {
            let not_in_schema = summary(not_in_schema);
            Ok((columns, FieldsWithoutColumn { invalid, not_in_schema }))
        }
    }
}

impl<'b> PointField<'b> {
    /// Returns the type of the values of the field and their positions in the points of `grid`, or
    /// a description of why the field is invalid.
    fn locate(
        &self,
        grid: Grid<'b>,
        is_big: bool,
    ) -> Result<(Primitive, StridedValues<'b>), String> {
        let kind = self.kind.map_err(|number| {
            format!(
                "its field {} has the type {number}, which does not exist",
                display_name(self.name)
            )
        })?;
        let len = (kind.size() as usize).saturating_mul(self.count as usize);
        let strided =
            StridedValues::new(grid, self.offset, len, is_big).ok_or_else(|| {
                format!(
                    "its field {} is at the bytes {}..{} of points of {} bytes",
                    display_name(self.name),
                    self.offset,
                    self.offset.saturating_add(len),
                    grid.point_step()
                )
            })?;
        Ok((kind, strided))
    }

    /// Returns the index of the column of `point_schema` for this field, which has this `index` in
    /// the message, and the values. `columns` are the values of the fields before it: a column with
    /// values is not used again.
    fn column_and_values(
        &self,
        index: usize,
        grid: Grid<'b>,
        is_big: bool,
        point_schema: &PointSchema,
        columns: &[PointValues<'b>],
    ) -> Result<(usize, PointValues<'b>), NoColumn> {
        let (kind, strided) = self.locate(grid, is_big).map_err(NoColumn::Invalid)?;
        let is_free =
            |column: usize| matches!(columns.get(column), Some(PointValues::Nothing));
        let key = (self.name, PointColumnType::Number(kind), self.count);
        let column = point_schema
            .find_column(key, index, is_free)
            .and_then(|column| Some((column, point_schema.columns.get(column)?.kind)));
        let Some((column, column_kind)) = column.filter(|(_, k)| k.can_store(kind))
        else {
            let name = display_name(self.name);
            return Err(NoColumn::NotInSchema(format!("its field {name} {NO_COLUMN}")));
        };
        let values = if column_kind == PointColumnType::Number(kind) {
            PointValues::Strided(strided)
        } else {
            PointValues::Narrow(strided, kind)
        };
        Ok((column, values))
    }
}

/// Returns the name of a field in the form for users: escaped, and at most 40 characters.
pub(crate) fn display_name(name: &[u8]) -> String {
    logtool_core::decode_text(name)
        .chars()
        .take(40)
        .flat_map(char::escape_debug)
        .collect()
}
