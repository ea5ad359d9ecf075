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
        FieldsWithoutColumn, Grid, MAX_COLUMNS, MessagePoints, NO_COLUMN, PointColumn,
        PointColumnType, PointSchema, PointValues, StridedValues, display_name,
    },
    sensor::{TRUNCATED, scan::first_floats},
};

/// The MD5 sum of the type.
pub(crate) const MD5: &str = "d8e9c3f5afbdd8a130fd1d2763945fca";

/// The length of a point in bytes.
const POINT_LEN: u32 = 12;
/// The length of a float in bytes.
const FLOAT_LEN: usize = 4;
/// The type of all columns.
const FLOAT: PointColumnType = PointColumnType::Number(Primitive::F32);

struct Cloud<'b> {
    header: Header<'b>,
    points: &'b [u8],
    /// The name and the floats of each channel.
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
        |name: &str| PointColumn { name: name.to_owned(), kind: FLOAT, count: 1 };
    let mut columns: Vec<PointColumn> = ["x", "y", "z"].map(column).into();
    columns.extend(names.map(|name| column(&name)));
    PointSchema::new(columns, false)
}

/// Returns the points of the cloud in `payload`, with those of its channels that are columns of
/// `point_schema`. The first three columns are the positions, as in [`point_schema`].
///
/// # Errors
/// A description of why the message is not a cloud.
pub(crate) fn points<'b>(
    payload: &'b [u8],
    encoding: Encoding,
    point_schema: &PointSchema,
) -> Result<MessagePoints<'b>, String> {
    let cloud = Cloud::parse(payload, encoding)?;
    let count = cloud.points.len() / POINT_LEN as usize;
    let (columns, without_column) = match count {
        0 => (
            vec![PointValues::Nothing; point_schema.columns.len()],
            FieldsWithoutColumn::default(),
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
        without_column,
        extra_bytes,
    })
}

impl<'b> Cloud<'b> {
    fn parse(payload: &'b [u8], encoding: Encoding) -> Result<Self, String> {
        let mut reader = FieldReader::new(payload, encoding).ok_or(TRUNCATED)?;
        Self::read(&mut reader).ok_or_else(|| TRUNCATED.to_owned())
    }

    /// Returns the values of `count` points in the columns of `point_schema`, and a description of
    /// the channels without a column or with another number of values.
    fn columns(
        &self,
        count: usize,
        point_schema: &PointSchema,
    ) -> Result<(Vec<PointValues<'b>>, FieldsWithoutColumn), String> {
        if self.channels.len() > MAX_COLUMNS {
            return Err(format!(
                "it has {} channels, and at most {MAX_COLUMNS} are supported",
                self.channels.len()
            ));
        }
        let mut columns = vec![PointValues::Nothing; point_schema.columns.len()];
        let mut without_column = FieldsWithoutColumn::default();
        let points =
            Grid::new(self.points, 1, 0, count as u32, POINT_LEN).ok_or(TRUNCATED)?;
        for (column, offset) in columns.iter_mut().zip([0, 4, 8]) {
            let axis = StridedValues::new(points, offset, FLOAT_LEN, self.is_big);
            *column = PointValues::Strided(axis.ok_or(TRUNCATED)?);
        }
        for (index, (name, values)) in self.channels.iter().enumerate() {
            // The first three columns are the positions.
            let is_free = |column: usize| {
                column >= 3 && matches!(columns.get(column), Some(PointValues::Nothing))
            };
            let column =
                point_schema.find_column((*name, FLOAT, 1), index + 3, is_free);
            let message =
                |problem: &str| format!("its channel {} {problem}", display_name(name));
            let Some(column) = column.and_then(|column| columns.get_mut(column)) else {
                without_column.not_in_schema.get_or_insert_with(|| message(NO_COLUMN));
                continue;
            };
            *column = first_floats(values, count, self.is_big).ok_or(TRUNCATED)?;
            let value_count = values.len() / FLOAT_LEN;
            if value_count != count {
                let values = if value_count == 1 { "value" } else { "values" };
                without_column.invalid.get_or_insert_with(|| {
                    message(&format!("has {value_count} {values} for {count} points"))
                });
            }
        }
        Ok((columns, without_column))
    }

    fn read(reader: &mut FieldReader<'b>) -> Option<Self> {
        let header = reader.header()?;
        let count = reader.count()? as usize;
        let points = reader.take(FLOAT_LEN, count.checked_mul(POINT_LEN as usize)?)?;
        let mut channels = Vec::new();
        for _ in 0..reader.count()? {
            channels.push((reader.text()?, reader.numbers(FLOAT_LEN)?));
        }
        let (is_big, extra_bytes) = (reader.is_big(), reader.extra_bytes());
        Some(Self { header, points, channels, is_big, extra_bytes })
    }
}
