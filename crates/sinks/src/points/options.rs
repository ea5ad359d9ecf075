//! Options for files of points.

/// The format of a file of points.
///
/// PCD, PLY, LAS and LAZ contain all numeric columns. A file of one cloud contains only the columns
/// of that cloud, without the columns of other clouds of its topic. If an attribute has two columns, a
/// float in some clouds and an integer in others, the column of the cloud is used. Columns have
/// the names that the cloud has for them; the time of its record is `record_time`.
///
/// Intensities are scaled for LAS, LAZ and KITTI: the *full scale* becomes the greatest intensity of
/// the format. It is 1 if all values of the topic are from 0 to 1 and some are between, 255 if they
/// are at most 255, 65535 if at least half of them are at most that, and otherwise the greatest
/// value (see [`PointSurvey`](crate::PointSurvey)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointFormat {
    /// The format of the Point Cloud Library, version 0.7, with binary rows. Columns have their
    /// types, except those that PCL reads in one type only: `intensity` is `F 4` and `ring` is
    /// `U 2`. Points of packets have `time`, `F 4`, in seconds since the first point, and
    /// `timestamp`, `I 8`, in nanoseconds.
    PcdBinary,
    /// PCD as text.
    PcdAscii,
    /// PCD with columns compressed with LZF. A file must fit into memory: more than 1 GiB of
    /// uncompressed data is an error.
    PcdCompressed,
    /// Stanford's polygon format with binary rows, little-endian. Colours are `red`, `green` and
    /// `blue` of 8 bits. PLY has no 64-bit integers, so a time is in seconds since an origin that
    /// a comment states.
    PlyBinary,
    /// PLY as text.
    PlyAscii,
    /// The format of the KITTI data set: four float32 for each point: x, y, z, and the intensity as
    /// a fraction of the full scale, which is 0 if it is missing. Points without a position are
    /// dropped.
    Kitti,
    /// ASPRS LAS 1.2, point format 1, or 3 with colours, with a resolution of 0.1 mm. The full scale
    /// of intensities becomes 65535. The point source is the `laser`, or else the `ring`; the user
    /// data is the `ring`. If a lidar sends two returns, the strongest is the first of two, the
    /// last is the second, and a return that is both is the only one. The GPS time is adjusted
    /// standard GPS time if times are Unix time, otherwise seconds of the log's clock. It is the
    /// time of the point, if a column has that, or else the stamp of the message. All columns that
    /// no field stores exactly are extra bytes; `_` follows the names that LAS uses. Points without
    /// a position, or more than 200 km from the first point, are dropped.
    Las,
    /// LAZ, which is compressed LAS.
    Laz,
    /// An image of the points from above.
    Png,
}

/// The attribute that the colours of an image show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PointColor {
    /// The distance from the origin.
    Range,
    /// The coordinate z.
    #[default]
    Height,
    /// The intensity, or the height of points without one.
    Intensity,
}

/// The points that one file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointsPerFile {
    /// The points of a scan, or of a message.
    Scan,
    /// All points of the topic.
    Log,
}

/// Options for files of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointOptions {
    /// The format of the files.
    pub format: PointFormat,
    /// The points that each file contains.
    pub points_per_file: PointsPerFile,
    /// Whether the times of the tables are Unix time.
    pub is_unix: bool,
    /// Whether the tables start with the first points of the log; otherwise the first scan is
    /// partial.
    pub is_from_start: bool,
    /// Whether the tables end with the last points of the log; otherwise the last scan is
    /// partial.
    pub is_to_end: bool,
    /// The attribute that the colours of images show.
    pub color: PointColor,
    /// The distance from the centre of an image to its sides in metres; `None` chooses a distance
    /// that shows nearly all points.
    pub reach_metres: Option<u32>,
}

impl PointFormat {
    /// Returns the file name extension.
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
