//! `foxglove.PointCloud`: points with fields that the message declares, as in a
//! [`PointCloud2`](super::cloud2), and the pose of the points, which is applied to `x`, `y` and `z`.

use logtool_core::Primitive;
use logtool_protobuf::{PackedField, PointCloud, Pose};

use crate::points::{
    self, Grid, MessagePoints, PointColumnType, PointField, PointSchema, PointValues,
};

/// The reason why points are not where their pose places them.
const POSE_NOT_APPLIED: &str =
    "its pose is not applied, because it is not finite, or x, y and z are not floats";

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
    let (mut columns, mut without_column) =
        points::column_values(&fields(cloud), grid, false, point_schema)?;
    if cloud.pose != Pose::IDENTITY
        && grid.points() > 0
        && apply_pose(&cloud.pose, point_schema, &mut columns).is_none()
    {
        without_column.invalid.get_or_insert_with(|| POSE_NOT_APPLIED.to_owned());
    }
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

/// Applies `pose` to the columns `x`, `y` and `z` of `point_schema`. Returns `None` if that is not
/// possible.
fn apply_pose(
    pose: &Pose,
    point_schema: &PointSchema,
    columns: &mut [PointValues<'_>],
) -> Option<()> {
    let is_finite =
        pose.position.iter().chain(&pose.orientation).all(|v| v.is_finite());
    let indices = ["x", "y", "z"].map(|name| {
        point_schema.columns.iter().position(|c| c.name == name && c.count == 1)
    });
    let [Some(x), Some(y), Some(z)] = indices else { return None };
    let coordinates = |column: usize| {
        floats(columns.get(column)?, point_schema.columns.get(column)?.kind)
    };
    let (xs, ys, zs) = (coordinates(x)?, coordinates(y)?, coordinates(z)?);
    let mut results = [x, y, z].map(|column| (column, Vec::with_capacity(xs.len())));
    for ((x, y), z) in is_finite.then_some(xs)?.into_iter().zip(ys).zip(zs) {
        let point = pose.apply([x, y, z]);
        results.iter_mut().zip(point).for_each(|((_, axis), v)| axis.push(Some(v)));
    }
    for (column, values) in results {
        *columns.get_mut(column)? = PointValues::Floats(values);
    }
    Some(())
}

/// Returns the numbers of a column of the type `kind`, or `None` if they are not floats.
fn floats(values: &PointValues<'_>, kind: PointColumnType) -> Option<Vec<f64>> {
    let (strided, kind) = match (values, kind) {
        (PointValues::Narrow(strided, kind), _) => (strided, *kind),
        (PointValues::Strided(strided), PointColumnType::Number(kind)) => {
            (strided, kind)
        }
        _ => return None,
    };
    let mut floats = Vec::with_capacity(strided.points());
    // Foxglove's clouds are little-endian.
    match kind {
        Primitive::F32 => strided
            .for_each_value(|bytes| floats.push(f64::from(f32::from_le_bytes(bytes)))),
        Primitive::F64 => {
            strided.for_each_value(|bytes| floats.push(f64::from_le_bytes(bytes)));
        }
        _ => return None,
    }
    Some(floats)
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
