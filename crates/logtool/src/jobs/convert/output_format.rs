//! The formats that logs are converted to.

use std::path::Path;

use logtool_sinks::TrackFormat;

use crate::formats::LogFormat;

/// A format that logs are converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum OutputFormat {
    /// Comma-separated values, with the names of ulog2csv
    Csv,
    /// A JSON object on each line
    Jsonl,
    /// Apache Parquet
    Parquet,
    /// Apache Arrow IPC (Feather 2)
    Arrow,
    /// Arrays for NumPy, a file for each topic
    Npz,
    /// Arrays for MATLAB (version 5), a file for each log
    Mat,
    /// The images of a bag, an MCAP file or a .vel log: a folder for each topic, with a file for
    /// each image and a table of them, index.csv
    Images,
    /// Points in the format of the Point Cloud Library
    Pcd,
    /// Points in the polygon format of Stanford, without polygons
    Ply,
    /// Points as ASPRS LAS
    Las,
    /// Points as LAZ, which is LAS compressed
    Laz,
    /// Points in the format of the KITTI data set
    Kitti,
    /// Images of scans from above
    Png,
    /// The messages of a bag unchanged, or those of a ULog as protocol buffers, in an MCAP file
    Mcap,
    /// The ROS 1 messages of an MCAP file unchanged, in a bag
    Bag,
    /// The packets of a capture or a .vel log unchanged, in a pcap file
    Pcap,
    /// The data packets of a capture or a bag unchanged, in a .vel log
    Vel,
    /// A ULog of PX4: a topic for each table of a bag, an MCAP file or a lidar
    #[cfg_attr(feature = "clap", value(alias = "ulg"))]
    Ulog,
    /// Tracks for Google Earth, coloured by flight mode
    Kml,
    /// Tracks for GPS receivers and maps
    Gpx,
    /// Tracks as in RFC 7946
    Geojson,
}

/// The kind of an output format, which determines how a log is converted to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormatKind {
    /// Tables of the records.
    Tables(TableFormat),
    /// Arrays of the columns of records.
    Arrays(ArrayFormat),
    /// Images, and a table of them.
    Images,
    /// Points of lidars and point clouds.
    Points(PointsFormat),
    /// The path of a vehicle.
    Tracks(TrackFormat),
    /// A new log, to which records are copied.
    Log(LogFormat),
}

/// A format of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableFormat {
    Csv,
    Jsonl,
    Parquet,
    Arrow,
}

/// A format of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrayFormat {
    Npz,
    Mat,
}

/// A format of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PointsFormat {
    Pcd,
    Ply,
    Las,
    Laz,
    Kitti,
    Png,
}

impl OutputFormat {
    /// All formats.
    pub const ALL: &'static [Self] = &[
        Self::Csv,
        Self::Jsonl,
        Self::Parquet,
        Self::Arrow,
        Self::Npz,
        Self::Mat,
        Self::Images,
        Self::Pcd,
        Self::Ply,
        Self::Las,
        Self::Laz,
        Self::Kitti,
        Self::Png,
        Self::Mcap,
        Self::Bag,
        Self::Pcap,
        Self::Vel,
        Self::Ulog,
        Self::Kml,
        Self::Gpx,
        Self::Geojson,
    ];

    /// Returns the name of the format, which is also the extension of its files, except for
    /// `images` and `kitti`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Npz => "npz",
            Self::Mat => "mat",
            Self::Images => "images",
            Self::Pcd => "pcd",
            Self::Ply => "ply",
            Self::Las => "las",
            Self::Laz => "laz",
            Self::Kitti => "kitti",
            Self::Png => "png",
            Self::Mcap => "mcap",
            Self::Bag => "bag",
            Self::Pcap => "pcap",
            Self::Vel => "vel",
            Self::Ulog => "ulog",
            Self::Kml => "kml",
            Self::Gpx => "gpx",
            Self::Geojson => "geojson",
        }
    }

    /// Returns the format of files with this extension, in upper or lower case.
    ///
    /// ```
    /// use logtool::convert::OutputFormat;
    ///
    /// assert_eq!(OutputFormat::from_extension("parquet"), Some(OutputFormat::Parquet));
    /// assert_eq!(OutputFormat::from_extension("JSON"), Some(OutputFormat::Jsonl));
    /// assert_eq!(OutputFormat::from_extension("txt"), None);
    /// ```
    pub fn from_extension(extension: &str) -> Option<Self> {
        let extension = extension.to_ascii_lowercase();
        let has_it = |format: &&Self| format.extensions().contains(&extension.as_str());
        Self::ALL.iter().find(has_it).copied()
    }

    /// Returns the extensions that name the format. Images and points of KITTI are folders of
    /// files whose extensions others use, too.
    const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Csv => &["csv"],
            Self::Jsonl => &["jsonl", "json"],
            Self::Parquet => &["parquet"],
            Self::Arrow => &["arrow", "feather"],
            Self::Npz => &["npz"],
            Self::Mat => &["mat"],
            Self::Images | Self::Kitti => &[],
            Self::Pcd => &["pcd"],
            Self::Ply => &["ply"],
            Self::Las => &["las"],
            Self::Laz => &["laz"],
            Self::Png => &["png"],
            Self::Mcap => &["mcap"],
            Self::Bag => &["bag"],
            Self::Pcap => &["pcap"],
            Self::Vel => &["vel"],
            Self::Ulog => &["ulg", "ulog"],
            Self::Kml => &["kml"],
            Self::Gpx => &["gpx"],
            Self::Geojson => &["geojson"],
        }
    }

    /// Returns the format of the one file that `path` names, if a log or a topic can become
    /// one file of the format.
    pub fn from_file_name(path: &Path) -> Option<Self> {
        let format = Self::from_extension(path.extension()?.to_str()?);
        format.filter(|format| format.is_file())
    }

    /// Returns the kind. The other properties follow from it, so that the compiler asks for those
    /// of a new format.
    pub(crate) const fn kind(self) -> FormatKind {
        match self {
            Self::Csv => FormatKind::Tables(TableFormat::Csv),
            Self::Jsonl => FormatKind::Tables(TableFormat::Jsonl),
            Self::Parquet => FormatKind::Tables(TableFormat::Parquet),
            Self::Arrow => FormatKind::Tables(TableFormat::Arrow),
            Self::Npz => FormatKind::Arrays(ArrayFormat::Npz),
            Self::Mat => FormatKind::Arrays(ArrayFormat::Mat),
            Self::Images => FormatKind::Images,
            Self::Pcd => FormatKind::Points(PointsFormat::Pcd),
            Self::Ply => FormatKind::Points(PointsFormat::Ply),
            Self::Las => FormatKind::Points(PointsFormat::Las),
            Self::Laz => FormatKind::Points(PointsFormat::Laz),
            Self::Kitti => FormatKind::Points(PointsFormat::Kitti),
            Self::Png => FormatKind::Points(PointsFormat::Png),
            Self::Mcap => FormatKind::Log(LogFormat::Mcap),
            Self::Bag => FormatKind::Log(LogFormat::Rosbag),
            Self::Pcap => FormatKind::Log(LogFormat::Capture),
            Self::Vel => FormatKind::Log(LogFormat::Vel),
            Self::Ulog => FormatKind::Log(LogFormat::Ulog),
            Self::Kml => FormatKind::Tracks(TrackFormat::Kml),
            Self::Gpx => FormatKind::Tracks(TrackFormat::Gpx),
            Self::Geojson => FormatKind::Tracks(TrackFormat::GeoJson),
        }
    }

    /// Returns whether a log, or one topic of a log, can become one file.
    pub const fn is_file(self) -> bool {
        match self.kind() {
            FormatKind::Tables(_)
            | FormatKind::Arrays(_)
            | FormatKind::Tracks(_)
            | FormatKind::Log(_) => true,
            FormatKind::Images => false,
            FormatKind::Points(format) => match format {
                PointsFormat::Pcd
                | PointsFormat::Ply
                | PointsFormat::Las
                | PointsFormat::Laz => true,
                PointsFormat::Kitti | PointsFormat::Png => false,
            },
        }
    }

    /// Returns the format of the new log, if records are copied to one.
    pub const fn log_format(self) -> Option<LogFormat> {
        match self.kind() {
            FormatKind::Log(format) => Some(format),
            _ => None,
        }
    }

    /// Returns whether records are copied to a new log.
    pub const fn is_log(self) -> bool {
        matches!(self.kind(), FormatKind::Log(_))
    }

    /// Returns whether the files are tracks.
    pub const fn is_track(self) -> bool {
        matches!(self.kind(), FormatKind::Tracks(_))
    }

    /// Returns whether the files have points of lidars or point clouds.
    pub const fn is_points(self) -> bool {
        matches!(self.kind(), FormatKind::Points(_))
    }

    /// Returns whether the files are tables of the records, or arrays of their columns.
    pub const fn is_table(self) -> bool {
        matches!(self.kind(), FormatKind::Tables(_) | FormatKind::Arrays(_))
    }

    /// Returns whether a table can be written to standard output.
    pub(crate) const fn is_stream(self) -> bool {
        match self.kind() {
            FormatKind::Tables(format) => match format {
                TableFormat::Csv | TableFormat::Jsonl | TableFormat::Arrow => true,
                TableFormat::Parquet => false,
            },
            _ => false,
        }
    }

    /// Returns whether the files are text, which a terminal can show.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Jsonl)
    }

    /// Returns whether the files state their provenance. Otherwise, it is in a file next to them.
    pub(crate) const fn has_provenance(self) -> bool {
        match self.kind() {
            FormatKind::Tables(format) => match format {
                TableFormat::Csv | TableFormat::Jsonl => false,
                TableFormat::Parquet | TableFormat::Arrow => true,
            },
            FormatKind::Arrays(_) | FormatKind::Tracks(_) | FormatKind::Log(_) => true,
            FormatKind::Images => false,
            FormatKind::Points(format) => match format {
                PointsFormat::Kitti => false,
                PointsFormat::Pcd
                | PointsFormat::Ply
                | PointsFormat::Las
                | PointsFormat::Laz
                | PointsFormat::Png => true,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::CONVERSIONS;

    #[test]
    fn extensions_of_formats_are_recognized() {
        for format in OutputFormat::ALL.iter().filter(|format| format.is_file()) {
            assert_eq!(OutputFormat::from_extension(format.name()), Some(*format));
        }
        for name in ["images", "kitti", ""] {
            assert_eq!(OutputFormat::from_extension(name), None);
        }
    }

    #[test]
    fn formats_of_a_conversion_have_one_kind() {
        let named = |name: &&str| {
            let format = OutputFormat::ALL.iter().find(|format| format.name() == *name);
            format.copied().unwrap()
        };
        let kind = |format: OutputFormat| match format.kind() {
            FormatKind::Tables(_) | FormatKind::Arrays(_) => "tables",
            FormatKind::Images => "images",
            FormatKind::Points(_) => "points",
            FormatKind::Tracks(_) => "tracks",
            FormatKind::Log(_) => "logs",
        };
        let mut listed = Vec::new();
        for conversion in CONVERSIONS {
            let formats: Vec<_> = conversion.formats.iter().map(named).collect();
            let first = kind(formats[0]);
            assert!(formats.iter().all(|format| kind(*format) == first), "{formats:?}");
            listed.extend(formats);
        }
        for format in OutputFormat::ALL {
            let count = listed.iter().filter(|listed| *listed == format).count();
            assert_eq!(count, 1, "{format:?} is in one group");
        }
    }

    #[cfg(feature = "clap")]
    #[test]
    fn all_lists_each_format() {
        assert_eq!(
            OutputFormat::ALL,
            <OutputFormat as clap::ValueEnum>::value_variants()
        );
    }
}
