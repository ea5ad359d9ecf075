//! `foxglove.PointCloud`: points with fields that the message declares, as in a
//! [`PointCloud2`](super::cloud2).

use logtool_core::Primitive;
use logtool_protobuf::{PackedField, PointCloud};

use crate::points::{self, Grid, MessagePoints, PointField, PointSchema};

/// Returns the columns of the points of `cloud`, or `None` if it declares no field of a known
/// type.
pub(crate) fn point_schema(cloud: &PointCloud<'_>) -> Option<PointSchema> {
    points::point_schema(&fields(cloud), grid(cloud)?, false)
}

/// Returns the points of `cloud`, with those of their fields that are columns of `point_schema`.
///
/// # Errors
/// A description of why the message is not a cloud.
pub(crate) fn points<'b>(
    cloud: &PointCloud<'b>,
    point_schema: &PointSchema,
) -> Result<MessagePoints<'b>, String> {
    let (len, stride) = (cloud.data.len(), cloud.stride);
    let no_points = || format!("its {len} bytes are not points of {stride} bytes");
    let grid = grid(cloud).ok_or_else(no_points)?;
    let (columns, without_column) =
        points::column_values(&fields(cloud), grid, false, point_schema)?;
    Ok(MessagePoints {
        stamp: cloud.nanos,
        count: grid.points(),
        missing: grid.missing_points(),
        width: u32::try_from(grid.points()).map_err(|_| no_points())?,
        columns,
        without_column,
        extra_bytes: 0,
    })
}

/// Returns the grid of the points. Trailing bytes that are shorter than a point count as one
/// missing point.
fn grid<'b>(cloud: &PointCloud<'b>) -> Option<Grid<'b>> {
    let len = u32::try_from(cloud.data.len()).ok()?;
    if len == 0 {
        return Grid::with_missing_points(cloud.data, 0, 0, 0, cloud.stride);
    }
    if cloud.stride == 0 {
        return None;
    }
    let width = len.div_ceil(cloud.stride);
    Grid::with_missing_points(cloud.data, 1, 0, width, cloud.stride)
}

fn fields<'b>(cloud: &PointCloud<'b>) -> Vec<PointField<'b>> {
    cloud.fields.iter().map(field).collect()
}

fn field<'b>(field: &PackedField<'b>) -> PointField<'b> {
    let kind = match field.kind {
        1 => Ok(Primitive::U8),
        2 => Ok(Primitive::I8),
        3 => Ok(Primitive::U16),
        4 => Ok(Primitive::I16),
        5 => Ok(Primitive::U32),
        6 => Ok(Primitive::I32),
        7 => Ok(Primitive::F32),
        8 => Ok(Primitive::F64),
        other => Err(other),
    };
    PointField { name: field.name, offset: field.offset as usize, kind, count: 1 }
}
