//! Files of points.

use std::collections::BTreeMap;

use logtool_core::{
    Columns, Selection, TableJob, TopicOrigin, TopicSet, View, export_tables,
};
use logtool_sinks::{
    NameStyle, PointFormat, PointLosses, PointOptions, PointSink, PointSurvey,
    PointsPerFile, has_points,
};

use crate::{
    error::{Error, Remedy, Result},
    jobs::convert::{
        PointEncoding, PointsFormat,
        job::{ExportJob, ExportSummary},
        table_sink, tables,
    },
    source::{lidar, selection},
    text::units::{Count, count_of},
    time::clock::ShownClock,
};

/// Writes the points of `job`.
pub(super) fn write(
    job: &ExportJob<'_>,
    format: PointsFormat,
) -> Result<ExportSummary> {
    let (log, request) = (&*job.opened.log, job.request);
    let manifest = log.manifest();
    let selected = selection::topics_with_derived(manifest, &request.topics)?;
    let (mut topics, mut others) = (TopicSet::EMPTY, Vec::new());
    for (id, topic) in manifest.topics().filter(|(id, _)| selected.contains(*id)) {
        // Point clouds are derived from packets and messages. Logged columns x, y and z may be
        // a velocity.
        if topic.origin != TopicOrigin::Derived {
            // A topic that the request names must not disappear silently.
            let label = topic.label();
            if request.topics.iter().any(|named| *named == label) {
                others.push(label);
            }
            continue;
        }
        // The columns of a cloud are known only after one was decoded.
        if has_points(&topic.schema)
            || topic.content.is_points()
                && has_points(log.decoder(id, &Columns::new(View::Flat))?.schema())
        {
            topics.insert(id);
        }
    }
    if topics == TopicSet::EMPTY {
        let error = Error::not_found("there are no points here");
        return Err(error.with_remedy(Remedy::SetLidarModelOrWriteTables));
    }
    tables::check_file(job, manifest, &topics)?;
    if request.lidar.calibration.is_some() {
        lidar::check_selected(manifest, &topics)?;
    }
    let clock = ShownClock::new(manifest, request.clock())?;
    let (format, per) = format_and_content(job, format);
    let (log_time, range) = (manifest.time, clock.range(request.start, request.end)?);
    let options = PointOptions {
        format,
        points_per_file: per,
        is_unix: clock.is_unix(),
        is_from_start: log_time.is_none_or(|log_time| range.start <= log_time.start),
        is_to_end: log_time.is_none_or(|log_time| log_time.end <= range.end),
        color: request.point_color.unwrap_or_default(),
        reach_metres: request.image_reach_metres,
    };
    let names = [NameStyle::OmitInstanceZero, NameStyle::FolderIndex]
        .map(|style| job.names(style));
    let metadata = table_sink::metadata(job);
    let survey = survey(job, &topics, format)?;
    let sink = PointSink::new(job.outputs.clone(), names, metadata, options, survey);
    let mut summary = tables::write_into(job, &sink, View::Flat, topics)?;
    summary.remarks.push(format!("{} of points", count_of(sink.files(), "file")));
    if !others.is_empty() {
        summary.remarks.push(format!("no points: {}", others.join(", ")));
    }
    summary.remarks.extend(remarks(&sink.losses()));
    Ok(summary)
}

/// Reads those columns of `topics` whose values decide how files of `format` store them.
fn survey(
    job: &ExportJob<'_>,
    topics: &TopicSet,
    format: PointFormat,
) -> Result<PointSurvey> {
    let (log, request) = (&*job.opened.log, job.request);
    let survey = PointSurvey::new(format, request.intensity_max);
    let columns = Columns::new(View::Flat);
    let (mut surveyed_topics, mut columns_by_topic) =
        (TopicSet::EMPTY, BTreeMap::new());
    for (id, _) in log.manifest().topics().filter(|(id, _)| topics.contains(*id)) {
        let indices = survey.columns(log.decoder(id, &columns)?.schema());
        if !indices.is_empty() {
            surveyed_topics.insert(id);
            let columns = Columns { indices: Some(indices), ..columns.clone() };
            columns_by_topic.insert(id, columns);
        }
    }
    if surveyed_topics == TopicSet::EMPTY {
        return Ok(survey);
    }
    let clock = ShownClock::new(log.manifest(), request.clock())?;
    let time = clock.range(request.start, request.end)?;
    let table_job = TableJob {
        part_bytes: tables::part_bytes(log.manifest(), &surveyed_topics),
        selection: Selection { topics: surveyed_topics, time },
        columns,
        columns_by_topic,
        time: clock.base(),
        progress: &|_| {},
    };
    // The second reading finds the same damage.
    export_tables(log, &table_job, &survey)?;
    Ok(survey)
}

/// Describes the values that the files lack or store differently from the tables.
fn remarks(losses: &PointLosses) -> Vec<String> {
    let counts = [
        (
            losses.points,
            ["point", "points"],
            "dropped because the format cannot store them: they have no position, or are far \
             from all others",
        ),
        (losses.infinities, ["infinity is", "infinities are"], "nan"),
        (
            losses.intensities,
            ["intensity", "intensities"],
            "changed because the format cannot store them: they are negative, too great, or \
             not numbers",
        ),
        (
            losses.colors,
            ["number of a colour", "numbers of colours"],
            "changed because the format cannot store them: they are negative, too great, or \
             not numbers",
        ),
        (
            losses.times,
            ["point has", "points have"],
            "the time of the message, because their own time is not a number",
        ),
        (losses.rounded, ["value", "values"], "rounded to the type in the file"),
    ];
    let mut remarks = Vec::new();
    for (count, nouns, text) in counts.into_iter().filter(|(count, ..)| *count > 0) {
        let [one, many] = nouns;
        let noun = if count == 1 { one } else { many };
        remarks.push(format!("{} {noun} {text}", Count(count)));
    }
    let scales = losses.intensity_scales.iter().map(|(topic, max)| {
        format!("the intensity {max} of {topic} becomes the greatest one of the format")
    });
    remarks.extend(scales);
    let left_out = losses.left_out.iter();
    remarks.extend(
        left_out.map(|name| format!("left out: {name} (no space in the format)")),
    );
    let unknown_times = losses.unknown_times.iter();
    remarks.extend(unknown_times.map(|name| {
        format!(
            "{name} is not used as the time of points: it is neither UTC nor near the stamp of \
             its message"
        )
    }));
    remarks
}

/// Returns the format and the content of each file.
fn format_and_content(
    job: &ExportJob<'_>,
    format: PointsFormat,
) -> (PointFormat, PointsPerFile) {
    let request = job.request;
    let encoding = request.point_encoding.unwrap_or(PointEncoding::Binary);
    let (format, per) = match (format, encoding) {
        (PointsFormat::Pcd, PointEncoding::Ascii) => {
            (PointFormat::PcdAscii, PointsPerFile::Scan)
        }
        (PointsFormat::Pcd, PointEncoding::Binary) => {
            (PointFormat::PcdBinary, PointsPerFile::Scan)
        }
        (PointsFormat::Pcd, PointEncoding::Compressed) => {
            (PointFormat::PcdCompressed, PointsPerFile::Scan)
        }
        (PointsFormat::Ply, PointEncoding::Ascii) => {
            (PointFormat::PlyAscii, PointsPerFile::Scan)
        }
        (PointsFormat::Ply, _) => (PointFormat::PlyBinary, PointsPerFile::Scan),
        (PointsFormat::Kitti, _) => (PointFormat::Kitti, PointsPerFile::Scan),
        (PointsFormat::Png, _) => (PointFormat::Png, PointsPerFile::Scan),
        (PointsFormat::Las, _) => (PointFormat::Las, PointsPerFile::Log),
        (PointsFormat::Laz, _) => (PointFormat::Laz, PointsPerFile::Log),
    };
    // One file holds all points.
    let per = if job.destination.file().is_some() { PointsPerFile::Log } else { per };
    (format, request.points_per_file.unwrap_or(per))
}
