//! Files of points.

use logtool_core::{Columns, TopicOrigin, TopicSet, View};
use logtool_sinks::{
    NameStyle, PointFormat, PointOptions, PointSink, PointsPerFile, has_points,
};

use crate::{
    error::{Error, Remedy, Result},
    jobs::convert::{
        PointEncoding, PointsFormat,
        job::{ExportJob, ExportSummary},
        table_sink, tables,
    },
    source::selection,
    text::units::count_of,
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
    let sink = PointSink::new(job.outputs.clone(), names, metadata, options);
    let mut summary = tables::write_into(job, &sink, View::Flat, topics)?;
    summary.remarks.push(format!("{} of points", count_of(sink.files(), "file")));
    if !others.is_empty() {
        summary.remarks.push(format!("no points: {}", others.join(", ")));
    }
    if sink.lost_points() > 0 {
        let points = count_of(sink.lost_points(), "point");
        summary.remarks.push(format!(
            "{points} dropped because the format cannot store them: they have no \
             position, or are far from all others"
        ));
    }
    match sink.infinities() {
        0 => {}
        1 => summary.remarks.push("1 infinity is nan".to_owned()),
        many => summary.remarks.push(format!("{many} infinities are nan")),
    }
    Ok(summary)
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
