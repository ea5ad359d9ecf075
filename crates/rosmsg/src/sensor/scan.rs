//! `sensor_msgs/LaserScan`: ranges, one for each beam of a fan.
//!
//! ```text
//! Header | float32 angle_min | angle_max | angle_increment | time_increment
//!        | scan_time | range_min | range_max | float32[] ranges | float32[] intensities
//! ```
//!
//! According to the comments of the definition, beam `i` points in the direction
//! `angle_min + i * angle_increment` in the plane z = 0, and is measured `i * time_increment` after
//! the stamp. A range outside `range_min..=range_max` "should be discarded": the range stays in its
//! column (infinity means that there was no echo), but the beam has no position.

use logtool_core::Primitive;

use crate::{
    field_reader::{Encoding, FieldReader},
    points::{
        FieldsWithoutColumn, Grid, MessagePoints, PointColumn, PointColumnType,
        PointSchema, PointValues, StridedValues,
    },
    sensor::TRUNCATED,
};

/// The MD5 sum of the type.
pub(crate) const MD5: &str = "90c7ef2dc6895d81024acba2ac42f369";

/// The length of a float in bytes.
const FLOAT_LEN: u32 = 4;

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

/// Returns the beams of the scan in `payload`, with the columns of [`point_schema`]. Columns for
/// which `is_selected` returns false are not computed.
///
/// # Errors
/// A description of why the message is not a scan.
pub(crate) fn points<'b>(
    payload: &'b [u8],
    encoding: Encoding,
    is_selected: impl Fn(usize) -> bool,
) -> Result<MessagePoints<'b>, String> {
    let mut reader = FieldReader::new(payload, encoding).ok_or(TRUNCATED)?;
    read_beams(&mut reader, is_selected).ok_or_else(|| TRUNCATED.to_owned())
}

fn read_beams<'b>(
    reader: &mut FieldReader<'b>,
    is_selected: impl Fn(usize) -> bool,
) -> Option<MessagePoints<'b>> {
    let header = reader.header()?;
    let (angle_min, _angle_max) = (reader.f32()?, reader.f32()?);
    let (angle_step, time_step) = (reader.f32()?, reader.f32()?);
    let (_scan_time, range_min, range_max) =
        (reader.f32()?, reader.f32()?, reader.f32()?);
    let ranges = reader.numbers(FLOAT_LEN as usize)?;
    let intensities = reader.numbers(FLOAT_LEN as usize)?;
    let (is_big, extra_bytes) = (reader.is_big(), reader.extra_bytes());
    let [count, intensity_count] =
        [ranges, intensities].map(|bytes| bytes.len() / FLOAT_LEN as usize);
    let invalid = (intensity_count > count)
        .then(|| format!("it has {intensity_count} intensities for {count} ranges"));
    let angle =
        |beam: usize| f64::from(angle_min) + beam as f64 * f64::from(angle_step);
    let coordinates = |direction: fn(f64) -> f64| -> PointValues<'b> {
        let coordinate = |(beam, range): (usize, f32)| {
            let is_valid =
                (range_min..=range_max).contains(&range) && range.is_finite();
            is_valid.then(|| f64::from(range) * direction(angle(beam)))
        };
        let ranges = floats(ranges, is_big).enumerate();
        PointValues::Floats(ranges.map(coordinate).collect())
    };
    // The indices are those of the columns of `point_schema`.
    let columns = (0..7).map(|column| {
        Some(match column {
            _ if !is_selected(column) => PointValues::Nothing,
            0 => first_floats(ranges, count, is_big)?,
            1 => first_floats(intensities, count, is_big)?,
            2 => {
                PointValues::Floats((0..count).map(|beam| Some(angle(beam))).collect())
            }
            3 => coordinates(f64::cos),
            4 => coordinates(f64::sin),
            5 => coordinates(|_| 0.0),
            _ => {
                let step_nanos = f64::from(time_step) * 1e9;
                let time = |beam: usize| {
                    let nanos = (beam as f64 * step_nanos).round() as i64;
                    header.stamp.saturating_add(nanos)
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
        without_column: FieldsWithoutColumn { invalid, not_in_schema: None },
        extra_bytes,
    })
}

/// Returns the values in the bytes `floats` for the first points: one for each, and at most
/// `count`.
pub(super) fn first_floats(
    floats: &[u8],
    count: usize,
    is_big: bool,
) -> Option<PointValues<'_>> {
    let len = floats.len().min(count * FLOAT_LEN as usize);
    let (floats, count) = (floats.get(..len)?, len as u32 / FLOAT_LEN);
    let grid = Grid::new(floats, u32::from(count > 0), 0, count, FLOAT_LEN)?;
    StridedValues::new(grid, 0, FLOAT_LEN as usize, is_big).map(PointValues::Strided)
}

fn floats(bytes: &[u8], is_big: bool) -> impl Iterator<Item = f32> {
    let float = move |bytes: &[u8]| {
        let bytes = *bytes.first_chunk()?;
        Some(if is_big { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) })
    };
    bytes.chunks_exact(FLOAT_LEN as usize).filter_map(float)
}
