//! The request that the options state.

use std::time::Duration;

use logtool::{
    Error, Result,
    convert::{AsofMerge, ConvertRequest, LabelSource, RequestConflict},
    translate::MessageTypes,
};
use logtool_sinks::{PointColor, PointsPerFile};

use crate::{
    args::{ColorChoice, ConvertArgs, PerChoice, TimeChoice},
    lidar_options,
};

/// Returns the request that `args` state.
///
/// # Errors
/// If an option is given twice, or a file that an option names cannot be read.
pub(in crate::commands) fn request(args: &ConvertArgs) -> Result<ConvertRequest> {
    let mut request = ConvertRequest::new(args.output_format());
    request.topics.clone_from(&args.records.topics);
    request.columns.clone_from(&args.fields);
    request.derived.clone_from(&args.derive);
    (request.start, request.end) = (args.records.time.start, args.records.time.end);
    request.clock = args.clock.clock;
    request.is_flat = args.flat;
    request.layout = args.layout;
    request.merge = merge(args)?;
    request.labels = match args.labels.read()? {
        Some(labels) => Some(LabelSource::Labels(labels)),
        None => args.labels.labels.then_some(LabelSource::Log),
    };
    request.is_csv_safe = args.csv_safe;
    request.has_json_infinities = args.keep_infinities;
    request.messages = if args.foxglove {
        MessageTypes::Foxglove
    } else if args.ros2 {
        MessageTypes::Ros
    } else {
        MessageTypes::Any
    };
    request.compression = args.compression;
    request.point_encoding = args.points.encoding;
    request.points_per_file = args.points.per.map(|per| match per {
        PerChoice::Scan => PointsPerFile::Scan,
        PerChoice::Log => PointsPerFile::Log,
    });
    request.point_color = args.picture.color_by.map(|color| match color {
        ColorChoice::Range => PointColor::Range,
        ColorChoice::Height => PointColor::Height,
        ColorChoice::Intensity => PointColor::Intensity,
    });
    request.image_reach_metres = args.picture.reach;
    request.intensity_max = args.points.intensity_max;
    request.lidar = lidar_options::options(&args.lidar, TimeChoice::Boot)?;
    Ok(request)
}

/// Returns the merge that `--rate` and `--max-age` state, which need `--merge`.
fn merge(args: &ConvertArgs) -> Result<Option<AsofMerge>> {
    let Some(rate) = args.rate.filter(|_| args.merge.is_some()) else {
        return Ok(None);
    };
    let mut merge = AsofMerge::new(Duration::from_nanos(rate.period_nanos));
    merge.max_age = args.max_age;
    Ok(Some(merge))
}

/// Returns an error that explains `conflict` by the names of options.
pub(in crate::commands) fn explain(conflict: RequestConflict) -> Error {
    use RequestConflict::*;

    const COLUMNS: &str = "--flat, --field and --merge are for tables";
    let text = conflict.to_string();
    let (what, hint) = match conflict {
        LayoutWithoutParquet => (
            "--layout is for --format parquet",
            "for the others there are --flat and --layout spark",
        ),
        SparkWithoutTables => (&*text, "choose one of these with --format"),
        ColumnsOfImages => ("--format images has no columns to choose", COLUMNS),
        ColumnsOfLog | ColumnsOfTracks | ColumnsOfPoints => (&*text, COLUMNS),
        LabelsOfLog => (&*text, "--labels and --msg-dir are for tables"),
        ClockOfLog => (
            &*text,
            "records keep their times, and translated records are on UTC; --clock is for \
             tables",
        ),
        Ros2WithoutMcap => {
            ("--ros2 is for --format mcap", "or name a file with -o x.mcap")
        }
        FoxgloveWithoutMcap => {
            ("--foxglove is for --format mcap", "or name a file with -o x.mcap")
        }
        CompressionWithoutChunks => (
            "--compression is for --format mcap and --format bag",
            "leave it out, or name a file with -o x.mcap",
        ),
        EncodingWithoutPcdOrPly => {
            ("--encoding is for --format pcd and --format ply", "leave it out")
        }
        CompressedPly => (&*text, "PCD files can"),
        ColorWithoutPng => {
            ("--color-by and --reach are for --format png", "leave them out")
        }
        IntensityMaxWithoutScale => (
            "--intensity-max is for --format las, laz and kitti",
            "the other formats have the intensities as they are",
        ),
        CopcFile => (
            "the name ends in .copc.laz, but COPC is not written: LAZ files are plain",
            "name it .laz; `untwine` and `pdal translate` make COPC of it",
        ),
        ScansInOneFile => (
            "scans are several files, and OUT is one",
            "name a folder with -o, and the format with --format",
        ),
        Px4InOneFile => (
            "--layout px4 makes several files, and OUT is one",
            "name a folder with -o, and --format parquet",
        ),
        ScansWithoutPoints => ("--per is for points", "as with --format pcd"),
        FileOnStdout => (&*text, "name a file with -o"),
        Px4WithOtherClock => {
            ("--layout px4 needs --clock boot", "its viewer counts from there")
        }
        DerivedWithoutTables => (
            "--derive is for tables of topics",
            "it goes with csv, jsonl, parquet, arrow, npz and mat, and without --merge and \
             --layout px4",
        ),
        _ => return conflict.into(),
    };
    Error::invalid_request(what).with_hint(hint)
}
