//! Requests that contradict themselves.

use std::{fmt, path::Path};

use logtool_sinks::PointsPerFile;

use crate::{
    error::Error,
    jobs::convert::{
        ConvertRequest, Destination, FormatKind, OutputFormat, PointEncoding,
        TableLayout,
    },
    records::translate::MessageTypes,
    time::clock::TimeChoice,
};

/// The reason why a request cannot be executed for any log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestConflict {
    /// Only Parquet files have this layout.
    LayoutWithoutParquet,
    /// Only tables of rows and columns have types for Spark.
    SparkWithoutTables,
    /// Images have no columns to choose.
    ColumnsOfImages,
    /// The records of a new log have no columns to choose.
    ColumnsOfLog,
    /// The records of a new log have no names of values.
    LabelsOfLog,
    /// The records of a new log keep their times.
    ClockOfLog,
    /// Only MCAP files have messages of ROS 2.
    Ros2WithoutMcap,
    /// Only MCAP files have messages of Foxglove's types.
    FoxgloveWithoutMcap,
    /// Only MCAP files and bags have compressed chunks.
    CompressionWithoutChunks,
    /// Tracks have no columns to choose.
    ColumnsOfTracks,
    /// Files of points have all their columns.
    ColumnsOfPoints,
    /// Only PCD and PLY files have a choice of encodings.
    EncodingWithoutPcdOrPly,
    /// PLY files cannot be compressed.
    CompressedPly,
    /// Only images of points have a colour and a reach.
    ColorWithoutPng,
    /// Only LAS, LAZ and KITTI files have scaled intensities.
    IntensityMaxWithoutScale,
    /// The name of the file is that of a cloud-optimized point cloud (COPC).
    CopcFile,
    /// Each scan has a file, but the output is one file.
    ScansInOneFile,
    /// The layout of PX4 makes several files.
    Px4InOneFile,
    /// Only points are written as files of scans.
    ScansWithoutPoints,
    /// The format cannot be written to standard output.
    FileOnStdout,
    /// The layout of PX4 requires times of the log's own clock.
    Px4WithOtherClock,
    /// The period between the rows of a merged table is 0.
    NoMergePeriod,
    /// Only formats with a table for each topic have tables of derived series.
    DerivedWithoutTables,
    /// This format has no tables in CSV, whose formulas could be marked.
    FormulasWithoutCsv(OutputFormat),
    /// This format is not JSON Lines, which has no number for infinities.
    InfinitiesWithoutJson(OutputFormat),
}

impl RequestConflict {
    /// Returns the first conflict in `request`, or between it and `destination`.
    pub fn find(request: &ConvertRequest, destination: &Destination) -> Option<Self> {
        let format = request.format;
        let is_log = format.is_log();
        let is_any_of = |formats: &[OutputFormat]| formats.contains(&format);
        let has_columns =
            request.is_flat || !request.columns.is_empty() || request.merge.is_some();
        let has_other_clock = request.clock.is_some_and(|time| time != TimeChoice::Utc);
        let has_look =
            request.point_color.is_some() || request.image_reach_metres.is_some();
        let is_px4 = request.layout == Some(TableLayout::Px4);
        let is_file = destination.file().is_some();
        let is_mcap = format == OutputFormat::Mcap;
        let is_copc =
            destination.file().and_then(Path::file_name).is_some_and(|name| {
                name.to_string_lossy().to_ascii_lowercase().ends_with(".copc.laz")
            });
        let has_csv =
            is_any_of(&[OutputFormat::Csv, OutputFormat::Images]) || format.is_points();
        let rules = [
            (request.is_csv_safe && !has_csv, Self::FormulasWithoutCsv(format)),
            (
                request.has_json_infinities && format != OutputFormat::Jsonl,
                Self::InfinitiesWithoutJson(format),
            ),
            (
                request.layout.is_some_and(|layout| layout != TableLayout::Spark)
                    && format != OutputFormat::Parquet,
                Self::LayoutWithoutParquet,
            ),
            (
                request.layout == Some(TableLayout::Spark)
                    && !is_any_of(&[
                        OutputFormat::Arrow,
                        OutputFormat::Csv,
                        OutputFormat::Jsonl,
                        OutputFormat::Parquet,
                    ]),
                Self::SparkWithoutTables,
            ),
            (format == OutputFormat::Images && has_columns, Self::ColumnsOfImages),
            (is_log && has_columns, Self::ColumnsOfLog),
            (is_log && request.labels.is_some(), Self::LabelsOfLog),
            (is_log && has_other_clock, Self::ClockOfLog),
            (request.messages == MessageTypes::Ros && !is_mcap, Self::Ros2WithoutMcap),
            (
                request.messages == MessageTypes::Foxglove && !is_mcap,
                Self::FoxgloveWithoutMcap,
            ),
            (
                request.compression.is_some()
                    && !is_any_of(&[OutputFormat::Mcap, OutputFormat::Bag]),
                Self::CompressionWithoutChunks,
            ),
            (format.is_track() && has_columns, Self::ColumnsOfTracks),
            (format.is_points() && has_columns, Self::ColumnsOfPoints),
            (
                request.point_encoding.is_some()
                    && !is_any_of(&[OutputFormat::Pcd, OutputFormat::Ply]),
                Self::EncodingWithoutPcdOrPly,
            ),
            (
                request.point_encoding == Some(PointEncoding::Compressed)
                    && format == OutputFormat::Ply,
                Self::CompressedPly,
            ),
            (has_look && format != OutputFormat::Png, Self::ColorWithoutPng),
            (
                request.intensity_max.is_some()
                    && !is_any_of(&[
                        OutputFormat::Las,
                        OutputFormat::Laz,
                        OutputFormat::Kitti,
                    ]),
                Self::IntensityMaxWithoutScale,
            ),
            (is_copc && format == OutputFormat::Laz, Self::CopcFile),
            (
                request.points_per_file == Some(PointsPerFile::Scan) && is_file,
                Self::ScansInOneFile,
            ),
            (is_px4 && is_file, Self::Px4InOneFile),
            (
                request.points_per_file.is_some() && !format.is_points(),
                Self::ScansWithoutPoints,
            ),
            (destination.is_stdout() && !format.is_stream(), Self::FileOnStdout),
            (is_px4 && request.clock() != TimeChoice::Boot, Self::Px4WithOtherClock),
            (
                request.merge.is_some_and(|merge| merge.period.is_zero()),
                Self::NoMergePeriod,
            ),
            (
                !request.derived.is_empty()
                    && (is_px4
                        || request.merge.is_some()
                        || !matches!(
                            format.kind(),
                            FormatKind::Tables(_) | FormatKind::Arrays(_)
                        )),
                Self::DerivedWithoutTables,
            ),
        ];
        rules.into_iter().find(|(is_wrong, _)| *is_wrong).map(|(_, conflict)| conflict)
    }
}

impl fmt::Display for RequestConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LayoutWithoutParquet => "only Parquet files have this layout",
            Self::SparkWithoutTables => {
                "only Parquet, Arrow, CSV and JSON Lines have types for Spark"
            }
            Self::ColumnsOfImages => "images have no columns to choose",
            Self::ColumnsOfLog => "a log has no columns to choose",
            Self::LabelsOfLog => "the records of a log have no names of values",
            Self::ClockOfLog => "a log has no other clock to choose",
            Self::Ros2WithoutMcap => "only MCAP files have messages of ROS 2",
            Self::FoxgloveWithoutMcap => {
                "only MCAP files have messages of Foxglove's types"
            }
            Self::CompressionWithoutChunks => {
                "only MCAP files and bags have compressed chunks"
            }
            Self::ColumnsOfTracks => "tracks have no columns to choose",
            Self::ColumnsOfPoints => "files of points have all their columns",
            Self::EncodingWithoutPcdOrPly => {
                "only PCD and PLY files have a choice of encodings"
            }
            Self::CompressedPly => "PLY files cannot be compressed",
            Self::ColorWithoutPng => "only images of points have a colour and a reach",
            Self::IntensityMaxWithoutScale => {
                "only LAS, LAZ and KITTI files have scaled intensities"
            }
            Self::CopcFile => "the name says COPC, and the output would be plain LAZ",
            Self::ScansInOneFile => "scans are several files, and the output is one",
            Self::Px4InOneFile => {
                "the layout of PX4 makes several files, and the output is one"
            }
            Self::ScansWithoutPoints => "only points are in files of scans",
            Self::FileOnStdout => {
                "this format cannot be written to standard output; CSV, JSON Lines and \
                 Arrow can"
            }
            Self::FormulasWithoutCsv(format) => {
                let name = format.name();
                return write!(f, "{name} has no cells of CSV that could be formulas");
            }
            Self::InfinitiesWithoutJson(format) => {
                let name = format.name();
                return write!(
                    f,
                    "{name} is not JSON Lines, which writes infinities as null"
                );
            }
            Self::Px4WithOtherClock => "the layout of PX4 needs the log's own clock",
            Self::NoMergePeriod => "the rows of a merged table need time between them",
            Self::DerivedWithoutTables => {
                "only formats with a table for each topic have tables of derived series"
            }
        })
    }
}

impl From<RequestConflict> for Error {
    fn from(conflict: RequestConflict) -> Self {
        Self::invalid_request(conflict.to_string())
    }
}
