//! `sensor_msgs/PointCloud`: points, and channels of one value for each.
//!
//! ```text
//! Header | Point32[] points | ChannelFloat32[] channels
//!
//! Point32          float32 x | float32 y | float32 z
//! ChannelFloat32   string name | float32[] values
//! ```

use logtool_core::Primitive;

use crate::{
    cut::{Encoding, FieldCut, Header},
    points::{Column, Fill, Grid, Kind, Points, Shape, Strided},
};

/// The MD5 sum of the type.
pub(crate) const MD5: &str = "d8e9c3f5afbdd8a130fd1d2763945fca";

const POINT: u32 = 12;
const FLOAT: u32 = 4;

struct Cloud<'b> {
    header: Header<'b>,
    points: &'b [u8],
    channels: Vec<(&'b [u8], &'b [u8])>,
    is_big: bool,
}

/// The columns that the points of the cloud in `payload` have; nothing if it is none, or
/// has no points.
pub(crate) fn shape(payload: &[u8], encoding: Encoding) -> Option<Shape> {
    let cloud =
        Cloud::parse(payload, encoding).filter(|cloud| !cloud.points.is_empty())?;
    let names = cloud.channels.iter().map(|(name, _)| logtool_core::text(name));
    let column = |name: &str| Column {
        name: name.to_owned(),
        kind: Kind::Number(Primitive::F32),
        count: 1,
    };
    let mut columns: Vec<Column> = ["x", "y", "z"].map(column).into();
    columns.extend(names.map(|name| column(&name)));
    Shape::new(columns, false)
}

/// The points of the cloud in `payload`, if it is one and all its channels are among the
/// columns of `shape`, which this module made.
pub(crate) fn points<'b>(
    payload: &'b [u8],
    encoding: Encoding,
    shape: &Shape,
) -> Option<Points<'b>> {
    let cloud = Cloud::parse(payload, encoding)?;
    let count = (cloud.points.len() / POINT as usize) as u32;
    let points = Grid::new(cloud.points, u32::from(count > 0), 0, count, POINT)?;
    let mut columns = vec![Fill::Nothing; shape.columns.len()];
    if count > 0 {
        if cloud.channels.len() + 3 > columns.len() {
            return None;
        }
        for (place, at) in columns.iter_mut().zip([0, 4, 8]) {
            *place =
                Fill::Strided(Strided::new(points, at, FLOAT as usize, cloud.is_big)?);
        }
        for (index, (name, values)) in cloud.channels.iter().enumerate() {
            let fits = |at: &usize| {
                let is_free = matches!(columns.get(*at), Some(Fill::Nothing));
                let column = shape.columns.get(*at).filter(|_| is_free);
                column.is_some_and(|column| column.name == logtool_core::text(name))
            };
            let at = [index + 3].into_iter().chain(3..columns.len()).find(fits)?;
            let values = Grid::new(values, 1, 0, count, FLOAT)?;
            let strided = Strided::new(values, 0, FLOAT as usize, cloud.is_big)?;
            *columns.get_mut(at)? = Fill::Strided(strided);
        }
    }
    let (stamp, count) = (cloud.header.stamp, points.points());
    Some(Points { stamp, count, missing: 0, width: count as u32, columns })
}

impl<'b> Cloud<'b> {
    /// A cloud of which every channel has a value for every point.
    fn parse(payload: &'b [u8], encoding: Encoding) -> Option<Self> {
        let mut cut = FieldCut::new(payload, encoding)?;
        let header = cut.header()?;
        let count = cut.count()? as usize;
        let points = cut.take(FLOAT as usize, count.checked_mul(POINT as usize)?)?;
        let mut channels = Vec::new();
        for _ in 0..cut.count()? {
            let name = cut.text()?;
            let values = cut.numbers(FLOAT as usize)?;
            let is_full =
                values.len() / FLOAT as usize == points.len() / POINT as usize;
            channels.push(is_full.then_some((name, values))?);
        }
        let is_big = cut.is_big();
        cut.is_at_end().then_some(Self { header, points, channels, is_big })
    }
}
