//! `sensor_msgs/PointCloud`: points, and channels with one value for each point.
//!
//! ```text
//! Header | Point32[] points | ChannelFloat32[] channels
//!
//! Point32          float32 x | float32 y | float32 z
//! ChannelFloat32   string name | float32[] values
//! ```

use logtool_core::Primitive;

use crate::{
    field_reader::{Encoding, FieldReader, Header},
    points::{
        Grid, MAX_COLUMNS, MessagePoints, MissingColumn, NO_COLUMN, PointColumn,
        PointColumnType, PointSchema, PointValues, StridedValues, display_name,
    },
    sensor::{CUT, scan::first_floats},
};

/// The MD5 sum of the type.
pub(crate) const MD5: &str = "d8e9c3f5afbdd8a130fd1d2763945fca";

const POINT: u32 = 12;
const FLOAT: u32 = 4;
const FLOATS: PointColumnType = PointColumnType::Number(Primitive::F32);

struct Cloud<'b> {
    header: Header<'b>,
    points: &'b [u8],
    channels: Vec<(&'b [u8], &'b [u8])>,
    is_big: bool,
    /// The number of bytes after the last field.
    extra_bytes: usize,
}

/// Returns the columns of the points of the cloud in `payload`, or `None` if it is not a cloud or
/// has no points.
pub(crate) fn point_schema(payload: &[u8], encoding: Encoding) -> Option<PointSchema> {
    let cloud = Cloud::parse(payload, encoding).ok()?;
    if cloud.points.is_empty() {
        return None;
    }
    let names = cloud.channels.iter().map(|(name, _)| logtool_core::decode_text(name));
    let column =
        |name: &str| PointColumn { name: name.to_owned(), kind: FLOATS, count: 1 };
    let mut columns: Vec<PointColumn> = ["x", "y", "z"].map(column).into();
    columns.extend(names.map(|name| column(&name)));
    PointSchema::new(columns, false)
}

/// Returns the points of the cloud in `payload`, with those of its channels that are columns of
/// `point_schema`, which this module created.
pub(crate) fn points<'b>(
    payload: &'b [u8],
    encoding: Encoding,
    point_schema: &PointSchema,
) -> Result<MessagePoints<'b>, String> {
    let cloud = Cloud::parse(payload, encoding)?;
    let count = cloud.points.len() / POINT as usize;
    let (columns, missing_columns) = match count {
        0 => (
            vec![PointValues::Nothing; point_schema.columns.len()],
            MissingColumn::default(),
        ),
        count => cloud.columns(count, point_schema)?,
    };
    let (stamp, width) = (cloud.header.stamp, count as u32);
    let extra_bytes = cloud.extra_bytes;
    Ok(MessagePoints {
        stamp,
        count,
        missing: 0,
        width,
        columns,
        missing_columns,
        extra_bytes,
    })
}

impl<'b> Cloud<'b> {
    fn parse(payload: &'b [u8], encoding: Encoding) -> Result<Self, String> {
        let mut reader = FieldReader::new(payload, encoding).ok_or(CUT)?;
        Self::read(&mut reader).ok_or_else(|| CUT.to_owned())
    }

    /// Returns the values of `count` points in the columns of `point_schema`, and a description of
    /// channels without a column.
    fn columns(
        &self,
        count: usize,
        point_schema: &PointSchema,
    ) -> Result<(Vec<PointValues<'b>>, MissingColumn), String> {
        if self.channels.len() > MAX_COLUMNS {
            return Err(format!("it has {} channels", self.channels.len()));
        }
        let mut columns = vec![PointValues::Nothing; point_schema.columns.len()];
        let mut missing_columns = MissingColumn::default();
        let points = Grid::new(self.points, 1, 0, count as u32, POINT).ok_or(CUT)?;
        for (column, at) in columns.iter_mut().zip([0, 4, 8]) {
            let axis = StridedValues::new(points, at, FLOAT as usize, self.is_big);
            *column = PointValues::Strided(axis.ok_or(CUT)?);
        }
        for (index, (name, values)) in self.channels.iter().enumerate() {
            let is_free = |at: usize| {
                at >= 3 && matches!(columns.get(at), Some(PointValues::Nothing))
            };
            let at = point_schema.find_column((*name, FLOATS, 1), index + 3, is_free);
            let message =
                |problem: &str| format!("its channel {} {problem}", display_name(name));
            match at.and_then(|at| columns.get_mut(at)) {
                None => {
                    _ = missing_columns
                        .not_in_schema
                        .get_or_insert_with(|| message(NO_COLUMN))
                }
                Some(column) => {
                    *column = first_floats(values, count, self.is_big).ok_or(CUT)?;
                    let value_count = values.len() / FLOAT as usize;
                    let values = if value_count == 1 { "value" } else { "values" };
                    let problem =
                        format!("has {value_count} {values} for {count} points");
                    if value_count != count {
                        missing_columns
                            .impossible
                            .get_or_insert_with(|| message(&problem));
                    }
                }
            }
        }
        Ok((columns, missing_columns))
    }

    fn read(reader: &mut FieldReader<'b>) -> Option<Self> {
        let header = reader.header()?;
        let count = reader.count()? as usize;
        let points = reader.take(FLOAT as usize, count.checked_mul(POINT as usize)?)?;
        let mut channels = Vec::new();
        for _ in 0..reader.count()? {
            channels.push((reader.text()?, reader.numbers(FLOAT as usize)?));
        }
        let (is_big, extra_bytes) = (reader.is_big(), reader.extra_bytes());
        Some(Self { header, points, channels, is_big, extra_bytes })
    }
}
