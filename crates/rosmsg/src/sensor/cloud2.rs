//! `sensor_msgs/PointCloud2`: points with fields that the message declares.
//!
//! ```text
//! Header | uint32 height | uint32 width | PointField[] fields | bool is_bigendian
//!        | uint32 point_step | uint32 row_step | uint8[] data | bool is_dense
//!
//! PointField   string name | uint32 offset | uint8 datatype | uint32 count
//! ```

use logtool_core::Primitive;

use crate::{
    field_reader::{Encoding, FieldReader, Header},
    points::{self, Grid, MessagePoints, PointField, PointSchema},
    sensor::TRUNCATED,
};

/// The MD5 sum of the type.
pub(crate) const MD5: &str = "1158d486dd51d683ce2f1be655c3c181";

struct Cloud<'b> {
    header: Header<'b>,
    height: u32,
    width: u32,
    fields: Vec<PointField<'b>>,
    is_big: bool,
    point_step: u32,
    row_step: u32,
    data: &'b [u8],
    /// The number of bytes after the last field.
    extra_bytes: usize,
}

/// Returns the columns of the points of the cloud in `payload`, or `None` if it is not a cloud or
/// declares no fields.
pub(crate) fn point_schema(payload: &[u8], encoding: Encoding) -> Option<PointSchema> {
    let cloud = Cloud::parse(payload, encoding).ok()?;
    points::point_schema(&cloud.fields, cloud.grid()?, cloud.height > 1)
}

/// Returns the points of the cloud in `payload`, with those of their fields that are columns of
/// `point_schema`. The last points may be missing.
///
/// # Errors
/// A description of why the message is not a cloud.
pub(crate) fn points<'b>(
    payload: &'b [u8],
    encoding: Encoding,
    point_schema: &PointSchema,
) -> Result<MessagePoints<'b>, String> {
    let cloud = Cloud::parse(payload, encoding)?;
    let Cloud { height, width, point_step, row_step, data, .. } = cloud;
    let grid = cloud.grid().ok_or_else(|| {
        format!(
            "its {} bytes are not the declared {height} × {width} points of \
             {point_step} bytes in rows of {row_step} bytes",
            data.len()
        )
    })?;
    let (columns, without_column) =
        points::column_values(&cloud.fields, grid, cloud.is_big, point_schema)?;
    Ok(MessagePoints {
        stamp: cloud.header.stamp,
        count: grid.points(),
        missing: grid.missing_points(),
        width,
        columns,
        without_column,
        extra_bytes: cloud.extra_bytes,
    })
}

impl<'b> Cloud<'b> {
    fn parse(payload: &'b [u8], encoding: Encoding) -> Result<Self, String> {
        let mut reader = FieldReader::new(payload, encoding).ok_or(TRUNCATED)?;
        Self::read(&mut reader).ok_or_else(|| TRUNCATED.to_owned())
    }

    fn read(reader: &mut FieldReader<'b>) -> Option<Self> {
        let header = reader.header()?;
        let (height, width) = (reader.u32()?, reader.u32()?);
        let mut fields = Vec::new();
        for _ in 0..reader.count()? {
            fields.push(field(reader)?);
        }
        let is_big = reader.u8()? != 0;
        let (point_step, row_step) = (reader.u32()?, reader.u32()?);
        let data = reader.numbers(1)?;
        // `is_dense`: points without a position are NaN, whether it is set or not.
        reader.u8()?;
        let extra_bytes = reader.extra_bytes();
        Some(Self {
            header,
            height,
            width,
            fields,
            is_big,
            point_step,
            row_step,
            data,
            extra_bytes,
        })
    }

    /// Returns the grid of the points, or `None` if the data contain none of the declared points.
    /// The row step does not matter for a single row; some drivers do not set it.
    fn grid(&self) -> Option<Grid<'b>> {
        let is_empty = self.width == 0 || self.height == 0;
        let rows = if is_empty { 0 } else { self.height };
        let Self { data, row_step, width, point_step, .. } = *self;
        Grid::with_missing_points(data, rows, row_step, width, point_step)
    }
}

fn field<'b>(reader: &mut FieldReader<'b>) -> Option<PointField<'b>> {
    let (name, offset) = (reader.text()?, reader.u32()? as usize);
    let kind = match reader.u8()? {
        1 => Ok(Primitive::I8),
        2 => Ok(Primitive::U8),
        3 => Ok(Primitive::I16),
        4 => Ok(Primitive::U16),
        5 => Ok(Primitive::I32),
        6 => Ok(Primitive::U32),
        7 => Ok(Primitive::F32),
        8 => Ok(Primitive::F64),
        other => Err(u64::from(other)),
    };
    // Some drivers write 0 for a count of 1, and PCL accepts this.
    let count = reader.u32()?.max(1);
    Some(PointField { name, offset, kind, count })
}
