//! `foxglove.PointCloud`: points whose fields the message itself declares, as a
//! [`PointCloud2`](super::cloud2) does.

use logtool_core::Primitive;
use logtool_protobuf::{PackedField, PointCloud};

use crate::points::{Column, Fill, Grid, Kind, Points, Shape, Strided};

/// The columns that the points of `cloud` have; nothing if it declares no field, or none of a
/// type that is known.
pub(crate) fn shape(cloud: &PointCloud<'_>) -> Option<Shape> {
    grid(cloud)?;
    let columns = cloud.fields.iter().filter_map(column).collect();
    Shape::new(columns, false).filter(|shape| !shape.columns.is_empty())
}

/// The points of `cloud`, if all its fields are among the columns of `shape`.
pub(crate) fn points<'b>(cloud: &PointCloud<'b>, shape: &Shape) -> Option<Points<'b>> {
    let grid = grid(cloud)?;
    let mut columns: Vec<Option<Strided<'b>>> = vec![None; shape.columns.len()];
    if grid.points() > 0 {
        for field in &cloud.fields {
            let Some(wanted) = column(field) else { continue };
            let at = (0..columns.len()).find(|at| {
                let is_free = columns.get(*at).is_some_and(Option::is_none);
                is_free && shape.columns.get(*at) == Some(&wanted)
            })?;
            let Kind::Number(kind) = wanted.kind else { return None };
            let offset = usize::try_from(field.offset).ok()?;
            let strided = Strided::new(grid, offset, kind.size() as usize, false)?;
            *columns.get_mut(at)? = Some(strided);
        }
    }
    let columns =
        columns.into_iter().map(|fill| fill.map_or(Fill::Nothing, Fill::Strided));
    Some(Points {
        stamp: cloud.nanos,
        count: grid.points(),
        missing: grid.missing(),
        width: u32::try_from(grid.points()).ok()?,
        columns: columns.collect(),
    })
}

/// Where the points lie. Bytes that are fewer than a point are one that is missing.
fn grid<'b>(cloud: &PointCloud<'b>) -> Option<Grid<'b>> {
    let len = u32::try_from(cloud.data.len()).ok()?;
    if len == 0 {
        return Grid::first(cloud.data, 0, 0, 0, cloud.stride);
    }
    if cloud.stride == 0 {
        return None;
    }
    let width = len.div_ceil(cloud.stride);
    Grid::first(cloud.data, 1, 0, width, cloud.stride)
}

fn column(field: &PackedField<'_>) -> Option<Column> {
    let kind = match field.kind {
        1 => Primitive::U8,
        2 => Primitive::I8,
        3 => Primitive::U16,
        4 => Primitive::I16,
        5 => Primitive::U32,
        6 => Primitive::I32,
        7 => Primitive::F32,
        8 => Primitive::F64,
        _ => return None,
    };
    let name = logtool_core::text(field.name).into_owned();
    Some(Column { name, kind: Kind::Number(kind), count: 1 })
}
