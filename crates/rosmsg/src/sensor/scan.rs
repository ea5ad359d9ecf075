//! `sensor_msgs/LaserScan`: ranges, one for each beam of a fan.
//!
//! ```text
//! Header | float32 angle_min | angle_max | angle_increment | time_increment
//!        | scan_time | range_min | range_max | float32[] ranges | float32[] intensities
//! ```
//!
//! Beam `i` points to `angle_min + i * angle_increment` in the plane z = 0, and is measured
//! `i * time_increment` after the stamp, according to the comments of the definition. A range
//! outside `range_min..=range_max` "should be discarded": its number is kept (infinity means that
//! there was no echo), but it is not a point.

use logtool_core::Primitive;

use crate::{
    field_reader::{Encoding, FieldReader},
    points::{
        Grid, MessagePoints, MissingColumn, PointColumn, PointColumnType, PointSchema,
        PointValues, StridedValues,
    },
    sensor::CUT,
};

/// The MD5 sum of the type.
pub(crate) const MD5: &str = "90c7ef2dc6895d81024acba2ac42f369";

const FLOAT: u32 = 4;

/// Returns the columns of beams.
pub(crate) fn point_schema() -> PointSchema {
    let column =
        |name: &str, kind| PointColumn { name: name.to_owned(), kind, count: 1 };
    let float = PointColumnType::Number(Primitive::F32);
    let mut columns: Vec<PointColumn> = ["range", "intensity", "angle", "x", "y", "z"]
        .map(|name| column(name, float))
        .into();
    columns.push(column("beam_time", PointColumnType::Time));
    PointSchema { columns, has_rows: false }
}

/// Returns the beams of the scan in `payload`, with the columns of [`point_schema`]. Computed
/// values of columns for which `is_selected` returns false are omitted.
pub(crate) fn points<'b>(
    payload: &'b [u8],
    encoding: Encoding,
    is_selected: impl Fn(usize) -> bool,
) -> Result<MessagePoints<'b>, String> {
    let mut reader = FieldReader::new(payload, encoding).ok_or(CUT)?;
    cut_points(&mut reader, is_selected).ok_or_else(|| CUT.to_owned())
}

fn cut_points<'b>(
    reader: &mut FieldReader<'b>,
    is_selected: impl Fn(usize) -> bool,
) -> Option<MessagePoints<'b>> {
    let header = reader.header()?;
    let (angle_min, _angle_max) = (reader.f32()?, reader.f32()?);
    let (angle_step, time_step) = (reader.f32()?, reader.f32()?);
    let (_scan_time, range_min, range_max) =
        (reader.f32()?, reader.f32()?, reader.f32()?);
    let ranges = reader.numbers(FLOAT as usize)?;
    let intensities = reader.numbers(FLOAT as usize)?;
    let (is_big, extra_bytes) = (reader.is_big(), reader.extra_bytes());
    let [count, measured] =
        [ranges, intensities].map(|bytes| bytes.len() / FLOAT as usize);
    let impossible = (measured > count)
        .then(|| format!("it has {measured} intensities for {count} ranges"));
    let angle =
        |beam: usize| f64::from(angle_min) + beam as f64 * f64::from(angle_step);
    let at = |along: fn(f64) -> f64| -> PointValues<'b> {
        let beam = |(beam, range): (usize, f32)| {
            let is_point =
                (range_min..=range_max).contains(&range) && range.is_finite();
            is_point.then(|| (f64::from(range) * along(angle(beam))) as f32)
        };
        PointValues::Floats(floats(ranges, is_big).enumerate().map(beam).collect())
    };
    let columns = (0..7).map(|column| {
        Some(match column {
            _ if !is_selected(column) => PointValues::Nothing,
            0 => first_floats(ranges, count, is_big)?,
            1 => first_floats(intensities, count, is_big)?,
            2 => PointValues::Floats(
                (0..count).map(|beam| Some(angle(beam) as f32)).collect(),
            ),
            3 => at(f64::cos),
            4 => at(f64::sin),
            5 => at(|_| 0.0),
            _ => {
                let step = f64::from(time_step) * 1e9;
                let time = |beam: usize| {
                    header.stamp.saturating_add((beam as f64 * step).round() as i64)
                };
                PointValues::Times((0..count).map(time).collect())
            }
        })
    });
    let columns = columns.collect::<Option<Vec<PointValues<'b>>>>()?;
    Some(MessagePoints {
        stamp: header.stamp,
        count,
        missing: 0,
        width: count as u32,
        columns,
        missing_columns: MissingColumn { impossible, not_in_schema: None },
        extra_bytes,
    })
}

/// Returns the `floats` of as many points as exist, at most `count`.
pub(super) fn first_floats(
    floats: &[u8],
    count: usize,
    is_big: bool,
) -> Option<PointValues<'_>> {
    let len = floats.len().min(count * FLOAT as usize);
    let (floats, count) = (floats.get(..len)?, len as u32 / FLOAT);
    let grid = Grid::new(floats, u32::from(count > 0), 0, count, FLOAT)?;
    StridedValues::new(grid, 0, FLOAT as usize, is_big).map(PointValues::Strided)
}

fn floats(bytes: &[u8], is_big: bool) -> impl Iterator<Item = f32> {
    let float = move |bytes: &[u8]| {
        let bytes = *bytes.first_chunk()?;
        Some(if is_big { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) })
    };
    bytes.chunks_exact(FLOAT as usize).filter_map(float)
}
