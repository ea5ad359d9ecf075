//! Files of points, of the topics that have some.

use logtool::{Error, Result, selection, time::clock::ShownClock, units::counted};
use logtool_core::{TopicOrigin, TopicSet, View};
use logtool_sinks::{
    NameStyle, Per, PointColor, PointFormat, PointOptions, PointSink, has_points,
};

use crate::{
    args::{ColorChoice, ConvertArgs, EncodingChoice, PerChoice, Target},
    commands::convert::{
        job::{Job, Made},
        sink, tables,
    },
};

/// Writes the points that `job` asks for.
pub(super) fn write(job: &Job<'_>) -> Result<Made> {
    let (log, args) = (&*job.opened.log, job.args);
    let manifest = log.manifest();
    let wanted = selection::topics(manifest, &args.records.topics, true)?;
    let (mut topics, mut others) = (TopicSet::EMPTY, Vec::new());
    for (id, topic) in manifest.topics().filter(|(id, _)| wanted.contains(*id)) {
        // Clouds are made of packets and messages: what a log itself calls x, y and z may
        // be a velocity.
        if topic.origin != TopicOrigin::Derived {
            // Who names one, expects it.
            let label = topic.label();
            if args.records.topics.iter().any(|named| *named == label) {
                others.push(label);
            }
            continue;
        }
        // What the points of a cloud have, only a decoder knows that has seen one.
        let is_cloud = topic.label().contains("points");
        if has_points(&topic.schema)
            || is_cloud && has_points(log.decoder(id, &all())?.schema())
        {
            topics.insert(id);
        }
    }
    if topics == TopicSet::EMPTY {
        let hint = "points are made of clouds, scans and packets, as `logtool info` tells, \
                    and --model names a lidar that is not recognised; --to csv takes \
                    every topic";
        return Err(Error::not_found("there are no points here").with_hint(hint));
    }
    tables::check_file(args, manifest, &topics)?;
    let clock = ShownClock::new(manifest, args.clock.time())?;
    let (format, per) = meant(args);
    let (all, wanted) = (manifest.time, clock.range(args.records.from, args.end())?);
    let options = PointOptions {
        format,
        per,
        is_unix: clock.is_unix(),
        is_from_start: all.is_none_or(|all| wanted.start <= all.start),
        is_to_end: all.is_none_or(|all| all.end <= wanted.end),
        color: match args.picture.color {
            Some(ColorChoice::Range) => PointColor::Range,
            Some(ColorChoice::Intensity) => PointColor::Intensity,
            Some(ColorChoice::Height) | None => PointColor::Height,
        },
        reach_metres: args.picture.reach,
    };
    let names = [NameStyle::FirstBare, NameStyle::Index].map(|style| job.names(style));
    let metadata = sink::metadata(job);
    let sink = PointSink::new(job.outputs.clone(), names, metadata, options);
    let mut made = tables::write_into(job, &sink, View::Flat, topics)?;
    made.remarks.push(format!("{} of points", counted(sink.files(), "file")));
    if !others.is_empty() {
        made.remarks.push(format!("no points: {}", others.join(", ")));
    }
    if sink.lost() > 0 {
        let points = counted(sink.lost(), "point");
        made.remarks.push(format!(
            "{points} left out that the format has no room for: they are nowhere, or far \
             from all others"
        ));
    }
    match sink.infinities() {
        0 => {}
        1 => made.remarks.push("1 infinity is nan".to_owned()),
        many => made.remarks.push(format!("{many} infinities are nan")),
    }
    Ok(made)
}

fn all() -> logtool_core::Columns {
    logtool_core::Columns::all(View::Flat)
}

/// The format that is meant, and what a file is to hold.
fn meant(args: &ConvertArgs) -> (PointFormat, Per) {
    let encoding = args.points.encoding.unwrap_or(EncodingChoice::Binary);
    let (format, per) = match (args.target(), encoding) {
        (Target::Ply, EncodingChoice::Ascii) => (PointFormat::PlyAscii, Per::Scan),
        (Target::Ply, _) => (PointFormat::PlyBinary, Per::Scan),
        (Target::Kitti, _) => (PointFormat::Kitti, Per::Scan),
        (Target::Png, _) => (PointFormat::Png, Per::Scan),
        (Target::Las, _) => (PointFormat::Las, Per::Log),
        (Target::Laz, _) => (PointFormat::Laz, Per::Log),
        (_, EncodingChoice::Ascii) => (PointFormat::PcdAscii, Per::Scan),
        (_, EncodingChoice::Binary) => (PointFormat::PcdBinary, Per::Scan),
        (_, EncodingChoice::Compressed) => (PointFormat::PcdCompressed, Per::Scan),
    };
    let per = match args.points.per {
        Some(PerChoice::Scan) => Per::Scan,
        Some(PerChoice::Log) => Per::Log,
        // One file holds all.
        None if args.one_file().is_some() => Per::Log,
        None => per,
    };
    (format, per)
}
