//! The formats that logs are converted to.

use std::path::Path;

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
    /// Tracks for Google Earth, coloured by flight mode
    Kml,
    /// Tracks for GPS receivers and maps
    Gpx,
    /// Tracks as in RFC 7946
    Geojson,
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
        match extension.as_str() {
            "json" => Some(Self::Jsonl),
            "feather" => Some(Self::Arrow),
            "kitti" | "images" => None,
            name => Self::ALL.iter().copied().find(|format| format.name() == name),
        }
    }

    /// Returns the format of the one file that `path` names, if a log or a topic can become
    /// one file of the format.
    pub fn from_file_name(path: &Path) -> Option<Self> {
        let format = Self::from_extension(path.extension()?.to_str()?);
        format.filter(|format| format.is_file())
    }

    /// Returns whether a log, or one topic of a log, can become one file.
    pub const fn is_file(self) -> bool {
        let is_of_topic = matches!(
            self,
            Self::Csv
                | Self::Jsonl
                | Self::Parquet
                | Self::Arrow
                | Self::Npz
                | Self::Pcd
                | Self::Ply
                | Self::Las
                | Self::Laz
        );
        self.is_log() || self.is_track() || matches!(self, Self::Mat) || is_of_topic
    }

    /// Returns the format of the new log, if records are copied to one.
    pub const fn log_format(self) -> Option<LogFormat> {
        match self {
            Self::Mcap => Some(LogFormat::Mcap),
            Self::Bag => Some(LogFormat::Rosbag),
            Self::Pcap => Some(LogFormat::Capture),
            Self::Vel => Some(LogFormat::Vel),
            _ => None,
        }
    }

    /// Returns whether records are copied to a new log.
    pub const fn is_log(self) -> bool {
        self.log_format().is_some()
    }

    /// Returns whether the files are tracks.
    pub const fn is_track(self) -> bool {
        matches!(self, Self::Kml | Self::Gpx | Self::Geojson)
    }

    /// Returns whether the files have points of lidars or point clouds.
    pub const fn is_points(self) -> bool {
        matches!(
            self,
            Self::Pcd | Self::Ply | Self::Las | Self::Laz | Self::Kitti | Self::Png
        )
    }

    /// Returns whether the files are tables of the records, or arrays of their columns.
    pub const fn is_table(self) -> bool {
        let is_image = matches!(self, Self::Images);
        !self.is_log() && !self.is_points() && !self.is_track() && !is_image
    }

    /// Returns whether a table can be written to standard output.
    pub(crate) const fn is_stream(self) -> bool {
        matches!(self, Self::Csv | Self::Jsonl | Self::Arrow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_of_formats_are_recognized() {
        for format in OutputFormat::ALL.iter().filter(|format| format.is_file()) {
            assert_eq!(OutputFormat::from_extension(format.name()), Some(*format));
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
