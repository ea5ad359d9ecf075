//! `sensor_msgs/PointCloud2`: points with fields that the message itself declares.
//!
//! ```text
//! Header | uint32 height | uint32 width | PointField[] fields | bool is_bigendian
//!        | uint32 point_step | uint32 row_step | uint8[] data | bool is_dense
//!
//! PointField   string name | uint32 offset | uint8 datatype | uint32 count
//! ```

use logtool_core::Primitive;

use crate::{
    cut::{Encoding, FieldCut, Header},
    points::{Column, Fill, Grid, Kind, Points, Shape, Strided},
};

/// The MD5 sum of the type.
pub(crate) const MD5: &str = "1158d486dd51d683ce2f1be655c3c181";

/// A field that a cloud declares.
#[derive(Clone, Copy, Debug)]
struct Field<'b> {
    name: &'b [u8],
    offset: usize,
    kind: Primitive,
    count: u32,
}

struct Cloud<'b> {
    header: Header<'b>,
    height: u32,
    width: u32,
    fields: Vec<Field<'b>>,
    is_big: bool,
    point_step: u32,
    row_step: u32,
    data: &'b [u8],
}

/// The columns that the points of the cloud in `payload` have; nothing if it is none, or
/// declares no field.
pub(crate) fn shape(payload: &[u8], encoding: Encoding) -> Option<Shape> {
    let cloud = Cloud::parse(payload, encoding)?;
    cloud.grid()?;
    let column = |field: &Field<'_>| Column {
        name: logtool_core::text(field.name).into_owned(),
        kind: Kind::Number(field.kind),
        count: field.count,
    };
    let columns: Vec<Column> = cloud.fields.iter().map(column).collect();
    Shape::new(columns, cloud.height > 1).filter(|shape| !shape.columns.is_empty())
}

/// The points of the cloud in `payload`, as many as its data have room for, if it is one
/// and all its fields are among the columns of `shape`.
pub(crate) fn points<'b>(
    payload: &'b [u8],
    encoding: Encoding,
    shape: &Shape,
) -> Option<Points<'b>> {
    let cloud = Cloud::parse(payload, encoding)?;
    let grid = cloud.grid()?;
    let mut columns = vec![None; shape.columns.len()];
    if grid.points() > 0 {
        cloud.place(grid, shape, &mut columns)?;
    }
    let columns =
        columns.into_iter().map(|fill| fill.map_or(Fill::Nothing, Fill::Strided));
    Some(Points {
        stamp: cloud.header.stamp,
        count: grid.points(),
        missing: grid.missing(),
        width: cloud.width,
        columns: columns.collect(),
    })
}

impl<'b> Cloud<'b> {
    fn parse(payload: &'b [u8], encoding: Encoding) -> Option<Self> {
        let mut cut = FieldCut::new(payload, encoding)?;
        let header = cut.header()?;
        let (height, width) = (cut.u32()?, cut.u32()?);
        let mut fields = Vec::new();
        for _ in 0..cut.count()? {
            fields.push(Field::cut(&mut cut)?);
        }
        let is_big = cut.u8()? != 0;
        let (point_step, row_step) = (cut.u32()?, cut.u32()?);
        let data = cut.numbers(1)?;
        cut.u8()?; // Points that are nowhere are NaN whether it says so or not.
        let cloud =
            Self { header, height, width, fields, is_big, point_step, row_step, data };
        cut.is_at_end().then_some(cloud)
    }

    /// Where the points lie, if the data have room for at least one. Of a single row the step
    /// does not matter, and there are drivers that do not set it.
    fn grid(&self) -> Option<Grid<'b>> {
        let is_empty = self.width == 0 || self.height == 0;
        let rows = if is_empty { 0 } else { self.height };
        Grid::first(self.data, rows, self.row_step, self.width, self.point_step)
    }

    /// Finds the column of each field.
    fn place(
        &self,
        grid: Grid<'b>,
        shape: &Shape,
        columns: &mut [Option<Strided<'b>>],
    ) -> Option<()> {
        if self.fields.len() > columns.len() {
            return None; // somewhere is one that is no column
        }
        for (index, field) in self.fields.iter().enumerate() {
            let is_free = |at: usize| columns.get(at).is_some_and(Option::is_none);
            let fits = |at: &usize| {
                let column = shape.columns.get(*at);
                is_free(*at) && column.is_some_and(|column| field.is(column))
            };
            // In nearly all clouds they are in the order of the first.
            let at = [index].into_iter().chain(0..columns.len()).find(fits)?;
            let len = (field.kind.size() as usize).checked_mul(field.count as usize)?;
            let strided = Strided::new(grid, field.offset, len, self.is_big)?;
            *columns.get_mut(at)? = Some(strided);
        }
        Some(())
    }
}

impl<'b> Field<'b> {
    fn cut(cut: &mut FieldCut<'b>) -> Option<Self> {
        let (name, offset) = (cut.text()?, cut.u32()? as usize);
        let kind = match cut.u8()? {
            1 => Primitive::I8,
            2 => Primitive::U8,
            3 => Primitive::I16,
            4 => Primitive::U16,
            5 => Primitive::I32,
            6 => Primitive::U32,
            7 => Primitive::F32,
            8 => Primitive::F64,
            _ => return None,
        };
        // There are drivers that mean 1 and say 0, and PCL understands them.
        let count = cut.u32()?.max(1);
        Some(Self { name, offset, kind, count })
    }

    fn is(&self, column: &Column) -> bool {
        self.count == column.count
            && Kind::Number(self.kind) == column.kind
            && (column.name.as_bytes() == self.name
                || column.name == logtool_core::text(self.name))
    }
}
