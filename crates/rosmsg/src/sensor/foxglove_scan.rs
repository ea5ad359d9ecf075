//! `foxglove.LaserScan`: distances in a plane, in directions with equal differences between the
//! first and the last angle.
//!
//! A distance that is not finite is not a measurement: it stays in its column, but the beam has no
//! position. The pose of the message is applied to the positions.

use logtool_core::Primitive;
use logtool_protobuf::LaserScan;

use crate::points::{
    FieldsWithoutColumn, MessagePoints, PointColumn, PointColumnType, PointSchema,
    PointValues,
};

/// Returns the columns of beams.
pub(crate) fn point_schema() -> PointSchema {
    let column = |(name, primitive): (&str, Primitive)| PointColumn {
        name: name.to_owned(),
        kind: PointColumnType::Number(primitive),
        count: 1,
    };
    let columns = [
        ("range", Primitive::F64),
        ("intensity", Primitive::F64),
        ("angle", Primitive::F64),
        ("x", Primitive::F32),
        ("y", Primitive::F32),
        ("z", Primitive::F32),
    ];
    PointSchema { columns: columns.map(column).into(), has_rows: false }
}

/// Returns the beams of `scan`, with the columns of [`point_schema`].
pub(crate) fn points<'b>(scan: &LaserScan) -> MessagePoints<'b> {
    let LaserScan { start_angle, end_angle, ranges, intensities, .. } = scan;
    let count = ranges.len();
    let step = match count.saturating_sub(1) {
        0 => 0.0,
        steps => (end_angle - start_angle) / steps as f64,
    };
    let angle = |beam: usize| start_angle + beam as f64 * step;
    let position = |(beam, range): (usize, &f64)| {
        let (sin, cos) = angle(beam).sin_cos();
        let is_valid = range.is_finite();
        is_valid.then(|| scan.pose.apply([range * cos, range * sin, 0.0]))
    };
    let positions: Vec<Option<[f64; 3]>> =
        ranges.iter().enumerate().map(position).collect();
    let axis = |axis: usize| {
        let coordinates = positions.iter().map(|p| p.map(|position| position[axis]));
        PointValues::Floats(coordinates.collect())
    };
    let intensity = |beam: usize| intensities.get(beam).copied();
    let invalid = (intensities.len() > count).then(|| {
        format!("it has {} intensities for {count} ranges", intensities.len())
    });
    MessagePoints {
        stamp: scan.nanos,
        count,
        missing: 0,
        width: u32::try_from(count).unwrap_or(u32::MAX),
        columns: vec![
            PointValues::Floats(ranges.iter().copied().map(Some).collect()),
            PointValues::Floats((0..count).map(intensity).collect()),
            PointValues::Floats((0..count).map(|beam| Some(angle(beam))).collect()),
            axis(0),
            axis(1),
            axis(2),
        ],
        without_column: FieldsWithoutColumn { invalid, not_in_schema: None },
        extra_bytes: 0,
    }
}
