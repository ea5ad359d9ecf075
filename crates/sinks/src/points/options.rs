//! What files of points are wanted.

/// What a file of points is.
///
/// PCD and PLY have all columns that are numbers, with their types; a moment is
/// nanoseconds (`I 8`) in PCD and seconds since the moment that a comment names in PLY,
/// which has no integers of 64 bits. A file of one cloud has no columns that only other clouds
/// of its topic have. The others have only what they have room for. A measure that is in two
/// columns, a float in some clouds and a whole number in others (`intensity`, `intensity_`), is
/// that of the column that the cloud has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointFormat {
    /// The Point Cloud Library's format, version 0.7, rows as bytes.
    PcdBinary,
    /// The same as text.
    PcdAscii,
    /// The same, column by column, packed with LZF. A file has to fit into memory: it is
    /// an error if it has more than 1 GiB before it is packed.
    PcdCompressed,
    /// Stanford's polygon format, rows as bytes, little-endian.
    PlyBinary,
    /// The same as text.
    PlyAscii,
    /// That of the KITTI data set: four float32 a point, x, y, z, and an intensity from
    /// 0 to 1, which is 0 where there is none. Integers of 8 or 16 bits are divided by
    /// the highest that there is. Points that are nowhere are left out.
    Kitti,
    /// ASPRS LAS 1.2, point format 1, in steps of 0.1 mm. The intensity fills 16 bits (of
    /// 8 bits, times 257; floats up to 1, times 65535), the point source is the `laser`
    /// or else the `ring`, the user data the `ring`. Of a lidar that sends two returns,
    /// the strongest is the first of two, the last the second, and what is both the only
    /// one. The GPS time is adjusted standard GPS time where times are Unix time, and
    /// otherwise seconds of the log's clock. Points that are nowhere, or over 200 km from
    /// the first, are left out.
    Las,
    /// The same, packed.
    Laz,
    /// A picture of the points from above.
    Png,
}

/// What the colours of a picture show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PointColor {
    /// How far from the origin points are.
    Range,
    /// Their z.
    #[default]
    Height,
    /// Their intensity; the height where there is none.
    Intensity,
}

/// What one file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// The points of a scan, or of a message.
    Scan,
    /// All points of the topic.
    Log,
}

/// What files of points are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointOptions {
    /// What a file is.
    pub format: PointFormat,
    /// What it holds.
    pub per: Per,
    /// Whether the times of the tables are Unix time.
    pub is_unix: bool,
    /// Whether the first points of the tables are the first that there are; else the
    /// first scan is partial.
    pub is_from_start: bool,
    /// The same of the last.
    pub is_to_end: bool,
    /// Of pictures, what their colours show.
    pub color: PointColor,
    /// How far to the sides they reach; if nothing, so far that nearly all points are in
    /// them.
    pub reach_metres: Option<u32>,
}

impl PointFormat {
    /// What the names of the files end in.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::PcdBinary | Self::PcdAscii | Self::PcdCompressed => "pcd",
            Self::PlyBinary | Self::PlyAscii => "ply",
            Self::Kitti => "bin",
            Self::Las => "las",
            Self::Laz => "laz",
            Self::Png => "png",
        }
    }
}
