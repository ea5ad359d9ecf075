//! Fields that a message declares for its points, and the columns that they are.

use logtool_core::Primitive;

use crate::points::{Column, Fill, Grid, Kind, MAX_COLUMNS, Shape, Strided, Untold};

/// A field that a message declares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointField<'b> {
    pub(crate) name: &'b [u8],
    /// Where in a point it begins.
    pub(crate) offset: usize,
    /// The type of its values, or the number of a type that nobody knows.
    pub(crate) kind: Result<Primitive, u64>,
    /// How many values it is: 1 or more.
    pub(crate) count: u32,
}

/// Why a field is in no column that has a type and a place.
pub(crate) const NO_COLUMN: &str =
    "is no column, as no message had it that was looked at before";

/// Why a field is in no column.
enum Lack {
    /// It cannot be.
    Odd(String),
    /// There is none for it.
    Late(String),
}

/// The columns of `fields`, of those that the points of `grid` have room for; nothing if
/// there is none.
pub(crate) fn shape(
    fields: &[PointField<'_>],
    grid: Grid<'_>,
    has_rows: bool,
) -> Option<Shape> {
    let column = |field: &PointField<'_>| {
        let (kind, _) = field.values(grid, false).ok()?;
        let name = logtool_core::decode_text(field.name).into_owned();
        Some(Column { name, kind: Kind::Number(kind), count: field.count })
    };
    let columns = fields.iter().filter_map(column).collect();
    Shape::new(columns, has_rows).filter(|shape| !shape.columns.is_empty())
}

/// The values of `fields` in the points of `grid`, for each column of `shape`; and what is to
/// be told of fields that have none. If there is no other, that is why there are no points.
pub(crate) fn fills<'b>(
    fields: &[PointField<'b>],
    grid: Grid<'b>,
    is_big: bool,
    shape: &Shape,
) -> Result<(Vec<Fill<'b>>, Untold), String> {
    let mut fills = vec![Fill::Nothing; shape.columns.len()];
    if grid.points() == 0 {
        return Ok((fills, Untold::default()));
    }
    if fields.len() > MAX_COLUMNS {
        return Err(format!("it has {} fields", fields.len()));
    }
    let (mut odd, mut late) = (Vec::new(), Vec::new());
    for (index, field) in fields.iter().enumerate() {
        match field.fill(index, grid, is_big, shape, &fills) {
            Ok((at, fill)) => {
                if let Some(place) = fills.get_mut(at) {
                    *place = fill;
                }
            }
            Err(Lack::Odd(why)) => odd.push(why),
            Err(Lack::Late(why)) => late.push(why),
        }
    }
    let first = |all: Vec<String>| {
        let more = all.len().saturating_sub(1);
        all.into_iter().next().map(|why| match more {
            0 => why,
            _ => format!("{why}, and {more} more"),
        })
    };
    let is_nothing = !odd.is_empty() && odd.len() == fields.len();
    match first(odd) {
        Some(why) if is_nothing => Err(why),
        odd => Ok((fills, Untold { odd, late: first(late) })),
    }
}

impl<'b> PointField<'b> {
    /// The type of its values, and where in the points of `grid` they lie; or why nowhere.
    fn values(
        &self,
        grid: Grid<'b>,
        is_big: bool,
    ) -> Result<(Primitive, Strided<'b>), String> {
        let kind = self.kind.map_err(|number| {
            format!(
                "its field {} has the type {number}, which is none",
                shown(self.name)
            )
        })?;
        let len = (kind.size() as usize).saturating_mul(self.count as usize);
        let strided =
            Strided::new(grid, self.offset, len, is_big).ok_or_else(|| {
                format!(
                    "its field {} is the bytes {}..{} of points of {}",
                    shown(self.name),
                    self.offset,
                    self.offset.saturating_add(len),
                    grid.point_step()
                )
            })?;
        Ok((kind, strided))
    }

    /// The column of `shape` that it is, of those that none of the `fills` is for, and what is
    /// in it; or why there is none. In nearly all messages fields are in the order of columns.
    fn fill(
        &self,
        index: usize,
        grid: Grid<'b>,
        is_big: bool,
        shape: &Shape,
        fills: &[Fill<'b>],
    ) -> Result<(usize, Fill<'b>), Lack> {
        let (kind, strided) = self.values(grid, is_big).map_err(Lack::Odd)?;
        let is_free = |at: usize| matches!(fills.get(at), Some(Fill::Nothing));
        let wanted = (self.name, Kind::Number(kind), self.count);
        let at = shape.place(wanted, index, is_free);
        let column = at.and_then(|at| Some((at, shape.columns.get(at)?)));
        let Some((at, column)) = column.filter(|(_, column)| column.kind.holds(kind))
        else {
            let name = shown(self.name);
            return Err(Lack::Late(format!("its field {name} {NO_COLUMN}")));
        };
        Ok(match column.kind == Kind::Number(kind) {
            true => (at, Fill::Strided(strided)),
            false => (at, Fill::Narrow(strided, kind)),
        })
    }
}

/// The name of a field for people, who need not have chosen it.
pub(crate) fn shown(name: &[u8]) -> String {
    logtool_core::decode_text(name)
        .chars()
        .take(40)
        .flat_map(char::escape_debug)
        .collect()
}
