//! The fields that a message declares for its points, and their columns.

use logtool_core::Primitive;

use crate::points::{
    Grid, MAX_COLUMNS, MissingColumn, PointColumn, PointColumnType, PointSchema,
    PointValues, StridedValues,
};

/// A field that a message declares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointField<'b> {
    pub(crate) name: &'b [u8],
    /// Its position in a point, in bytes.
    pub(crate) offset: usize,
    /// The type of its values, or the number of an unknown type.
    pub(crate) kind: Result<Primitive, u64>,
    /// The number of its values: 1 or more.
    pub(crate) count: u32,
}

/// Why a valid field has no column.
pub(crate) const NO_COLUMN: &str =
    "has no column, because no message that was inspected before had it";

/// Why a field has no column.
enum NoColumn {
    /// The field is impossible.
    Odd(String),
    /// There is no column for it.
    Late(String),
}

/// Returns the columns of those `fields` that fit the points of `grid`, or `None` if there are
/// none.
pub(crate) fn point_schema(
    fields: &[PointField<'_>],
    grid: Grid<'_>,
    has_rows: bool,
) -> Option<PointSchema> {
    let column = |field: &PointField<'_>| {
        let (kind, _) = field.values(grid, false).ok()?;
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
/// description of fields without a column. If no field has a column, the description is an error.
pub(crate) fn fills<'b>(
    fields: &[PointField<'b>],
    grid: Grid<'b>,
    is_big: bool,
    point_schema: &PointSchema,
) -> Result<(Vec<PointValues<'b>>, MissingColumn), String> {
    let mut fills = vec![PointValues::Nothing; point_schema.columns.len()];
    if grid.points() == 0 {
        return Ok((fills, MissingColumn::default()));
    }
    if fields.len() > MAX_COLUMNS {
        return Err(format!("it has {} fields", fields.len()));
    }
    let (mut impossible, mut not_in_schema) = (Vec::new(), Vec::new());
    for (index, field) in fields.iter().enumerate() {
        match field.fill(index, grid, is_big, point_schema, &fills) {
            Ok((at, fill)) => {
                if let Some(fill_slot) = fills.get_mut(at) {
                    *fill_slot = fill;
                }
            }
            Err(NoColumn::Odd(reason)) => impossible.push(reason),
            Err(NoColumn::Late(reason)) => not_in_schema.push(reason),
        }
    }
    let first = |reasons: Vec<String>| {
        let rest_count = reasons.len().saturating_sub(1);
        reasons.into_iter().next().map(|reason| match rest_count {
            0 => reason,
            _ => format!("{reason}, and {rest_count} more"),
        })
    };
    let are_all_impossible = !impossible.is_empty() && impossible.len() == fields.len();
    match first(impossible) {
        Some(reason) if are_all_impossible => Err(reason),
        impossible => Ok((
            fills,
            MissingColumn { impossible, not_in_schema: first(not_in_schema) },
        )),
    }
}

impl<'b> PointField<'b> {
    /// Returns the type of its values and their positions in the points of `grid`, or an error.
    fn values(
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
                    "its field {} is the bytes {}..{} of points of {}",
                    display_name(self.name),
                    self.offset,
                    self.offset.saturating_add(len),
                    grid.point_step()
                )
            })?;
        Ok((kind, strided))
    }

    /// Returns the column of `point_schema` for this field, among those without `fills`, and its
    /// values, or an error. In nearly all messages, the fields are in the order of the columns.
    fn fill(
        &self,
        index: usize,
        grid: Grid<'b>,
        is_big: bool,
        point_schema: &PointSchema,
        fills: &[PointValues<'b>],
    ) -> Result<(usize, PointValues<'b>), NoColumn> {
        let (kind, strided) = self.values(grid, is_big).map_err(NoColumn::Odd)?;
        let is_free = |at: usize| matches!(fills.get(at), Some(PointValues::Nothing));
        let key = (self.name, PointColumnType::Number(kind), self.count);
        let at = point_schema.find_column(key, index, is_free);
        let column = at.and_then(|at| Some((at, point_schema.columns.get(at)?)));
        let Some((at, column)) =
            column.filter(|(_, column)| column.kind.can_store(kind))
        else {
            let name = display_name(self.name);
            return Err(NoColumn::Late(format!("its field {name} {NO_COLUMN}")));
        };
        Ok(match column.kind == PointColumnType::Number(kind) {
            true => (at, PointValues::Strided(strided)),
            false => (at, PointValues::Narrow(strided, kind)),
        })
    }
}

/// Returns the name of a field for messages to users.
pub(crate) fn display_name(name: &[u8]) -> String {
    logtool_core::decode_text(name)
        .chars()
        .take(40)
        .flat_map(char::escape_debug)
        .collect()
}
