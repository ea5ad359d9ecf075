//! The request that the options state.

use std::time::Duration;

use logtool::{
    Error, Result,
    convert::{AsofMerge, ConvertRequest, LabelSource, RequestConflict},
    time::typed::TypedTime,
    translate::MessageTypes,
};
use logtool_sinks::{Per, PointColor};

use crate::{
    args::{ColorChoice, ConvertArgs, PerChoice, TimeChoice},
    lidar_options,
};

/// Returns the request that `args` state.
///
/// # Errors
/// If an option is given twice, or a file that an option names cannot be read.
pub(in crate::commands) fn request(args: &ConvertArgs) -> Result<ConvertRequest> {
    if args.is_ambiguous() {
        let hint = "once it may be a format, and once a time";
        return Err(Error::invalid("--to is given twice for the same").with_hint(hint));
    }
    let mut request = ConvertRequest::new(args.format());
    request.topics.clone_from(&args.records.topics);
    request.columns.clone_from(&args.fields);
    (request.start, request.end) = (args.records.from, args.end());
    request.clock = args.clock.time;
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
        PerChoice::Scan => Per::Scan,
        PerChoice::Log => Per::Log,
    });
    request.point_color = args.picture.color.map(|color| match color {
        ColorChoice::Range => PointColor::Range,
        ColorChoice::Height => PointColor::Height,
        ColorChoice::Intensity => PointColor::Intensity,
    });
    request.image_reach_metres = args.picture.reach;
    request.lidar = lidar_options::options(&args.lidar, TimeChoice::Boot)?;
    Ok(request)
}

/// Returns the merge that `--rate` and `--max-age` state, which need `--merge`.
fn merge(args: &ConvertArgs) -> Result<Option<AsofMerge>> {
    let Some(rate) = args.rate.filter(|_| args.merge.is_some()) else {
        return Ok(None);
    };
    let mut merge = AsofMerge::new(Duration::from_nanos(rate.period_nanos));
    match args.max_age {
        None => {}
        Some(TypedTime::Nanos(nanos @ 0..)) => {
            merge.max_age = Some(Duration::from_nanos(nanos.unsigned_abs()));
        }
        Some(_) => {
            let what = "--max-age is no date, and not negative";
            return Err(Error::invalid(what).with_hint("it is like 0.5 or 2s"));
        }
    }
    Ok(Some(merge))
}

/// Returns an error that explains `conflict` by the names of options.
pub(in crate::commands) fn explain(conflict: RequestConflict) -> Error {
    use RequestConflict::*;

    const COLUMNS: &str = "--flat, --field and --merge are for tables";
    let text = conflict.to_string();
    let (what, hint) = match conflict {
        LayoutWithoutParquet => {
            ("--layout is for --to parquet", "for the others there is --flat")
        }
        ColumnsOfImages => ("--to images has no columns to choose", COLUMNS),
        ColumnsOfLog | ColumnsOfTracks | ColumnsOfPoints => (&*text, COLUMNS),
        LabelsOfLog => (&*text, "--labels and --msg-dir are for tables"),
        ClockOfLog => (
            &*text,
            "--time is the clock of --from and --to here: records keep their times, or \
             are at UTC where they are translated",
        ),
        Ros2WithoutMcap => ("--ros2 is for --to mcap", "or name a file with -o x.mcap"),
        FoxgloveWithoutMcap => {
            ("--foxglove is for --to mcap", "or name a file with -o x.mcap")
        }
        CompressionWithoutChunks => (
            "--compression is for --to mcap and --to bag",
            "leave it out, or name a file with -o x.mcap",
        ),
        EncodingWithoutPcdOrPly => {
            ("--encoding is for --to pcd and --to ply", "leave it out")
        }
        CompressedPly => (&*text, "PCD files can"),
        ColorWithoutPng => ("--color and --reach are for --to png", "leave them out"),
        ScansInOneFile => (
            "scans are several files, and OUT is one",
            "name a folder with -o, and the format with --to",
        ),
        Px4InOneFile => (
            "--layout px4 makes several files, and OUT is one",
            "name a folder with -o, and --to parquet",
        ),
        ScansWithoutPoints => ("--per is for points", "as with --to pcd"),
        FileOnStdout => {
            (&*text, "csv, jsonl and arrow can; others need a file: name it with -o")
        }
        Px4WithOtherClock => {
            ("--layout px4 needs --time boot", "its viewer counts from there")
        }
        _ => return conflict.into(),
    };
    Error::invalid(what).with_hint(hint)
}
