//! Tracks of the topics that have positions.

use std::{path::Path, sync::atomic::Ordering};

use logtool_core::{
    ClockZero, Columns, Manifest, Selection, TableJob, TimeBase, TopicId, TopicSet,
    View, export_tables,
};
use logtool_sinks::{NameStyle, TrackFormat, TrackSink, position_columns};

use crate::{
    error::{Error, Remedy, Result},
    jobs::convert::{
        OutputFormat,
        job::{ExportJob, ExportSummary},
        table_sink::CountingSink,
        tables,
    },
    source::{lidar, selection},
    text::{px4_modes, units::count_of},
    time::clock::ShownClock,
};

/// The topics that are preferred if several have positions and the output is one file: those of
/// PX4's GPS receiver, like in ulog2kml, then those of its estimator.
const PREFERRED: [&str; 4] =
    ["vehicle_gnss", "vehicle_gps_position", "vehicle_global_position", "sensor_gps"];

/// Writes the tracks of `job`.
pub(super) fn write(job: &ExportJob<'_>, format: TrackFormat) -> Result<ExportSummary> {
    let file = job.destination.file();
    let (log, request) = (&*job.opened.log, job.request);
    let manifest = log.manifest();
    let mut found = find(job)?;
    let mut remarks = Vec::new();
    if let Some(file) = file {
        remarks.extend(choose_one(manifest, &mut found, (file, request.format))?);
    }
    let topics: TopicSet = found.iter().map(|(id, _)| *id).collect();
    let columns_by_topic = found.into_iter().map(|(id, indices)| {
        (id, Columns { indices: Some(indices), ..Columns::new(View::Flat) })
    });
    let clock = ShownClock::new(manifest, request.clock())?;
    let time = clock.range(request.start, request.end)?;
    let base = utc(manifest);

    let names = job.names(NameStyle::OmitInstanceZero);
    let name = job.opened.input.file_name().to_owned();
    let sink = TrackSink::new(job.outputs.clone(), names, format, name);
    let mut sink = sink.with_provenance(job.provenance);
    if let Some(modes) = px4_modes::read_modes(log, base.offset_nanos)? {
        sink = sink.with_modes(modes);
    }
    if let Some(file) = file {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        sink = sink.with_name(name.into_owned());
    }
    let counting = CountingSink::new(&sink);
    let table_job = TableJob {
        selection: Selection { topics: topics.clone(), time },
        columns: Columns::new(View::Flat),
        columns_by_topic: columns_by_topic.collect(),
        time: base,
        part_bytes: tables::part_bytes(manifest, &topics),
        progress: job.progress,
    };
    let report = export_tables(log, &table_job, &counting)?;
    let left_out = dropped_rows(&sink);
    if sink.files() == 0 {
        let rows = counting.topic_rows().values().sum();
        let message = format!("no track: {} and no position", count_of(rows, "row"));
        let hint = if left_out.is_empty() {
            "the topics with positions have no records at that time".to_owned()
        } else {
            left_out.join("; ")
        };
        return Err(Error::not_found(message).with_hint(hint));
    }
    let (files, fixes) = (sink.files(), sink.fixes());
    let made =
        format!("{} of {}", count_of(files, "track"), count_of(fixes, "position"));
    remarks.insert(0, made);
    remarks.extend(left_out);
    remarks.extend(lidar::dropped_records(manifest, &topics));
    if !base.is_utc {
        remarks.push("without times: the log has no UTC reference".to_owned());
    }
    Ok(ExportSummary {
        topics,
        tables: counting.tables.load(Ordering::Relaxed),
        rows: counting.topic_rows().values().sum(),
        topic_rows: counting.topic_rows(),
        seen: report.topic_statistics,
        damage: report.damage,
        remarks,
        remedy: None,
    })
}

/// Returns the topics with positions, and the columns of these.
fn find(job: &ExportJob<'_>) -> Result<Vec<(TopicId, Vec<usize>)>> {
    let (log, globs) = (&*job.opened.log, &job.request.topics);
    let manifest = log.manifest();
    let wanted = selection::topics(manifest, globs)?;
    let (mut found, mut looked) = (Vec::new(), 0);
    for (id, topic) in manifest.topics().filter(|(id, _)| wanted.contains(*id)) {
        if topic.records == Some(0) {
            continue;
        }
        looked += 1;
        let decoder = match log.decoder(id, &Columns::new(View::Flat)) {
            // The request does not name this topic.
            Err(_) if globs.is_empty() => continue,
            decoder => decoder?,
        };
        if let Some(columns) = position_columns(topic, decoder.schema()) {
            found.push((id, columns));
        }
    }
    if found.is_empty() {
        let message = format!("none of {} has positions", count_of(looked, "topic"));
        let hint = "they are columns `latitude` and `longitude`, `lat` and `lon`, or \
                    `latitude_deg` and `longitude_deg`; `logtool info` lists the topics";
        return Err(Error::not_found(message).with_hint(hint));
    }
    Ok(found)
}

/// Reduces `found` to the topic for the one file `file`, and returns a remark if there were
/// others.
fn choose_one(
    manifest: &Manifest,
    found: &mut Vec<(TopicId, Vec<usize>)>,
    (file, format): (&Path, OutputFormat),
) -> Result<Option<String>> {
    if found.len() == 1 {
        return Ok(None);
    }
    let labels = |found: &[(TopicId, Vec<usize>)]| -> Result<Vec<String>> {
        let label = |id| Ok::<_, Error>(manifest.topic(id)?.label().into_owned());
        found.iter().map(|(id, _)| label(*id)).collect()
    };
    let found_labels = labels(found)?;
    // In an MCAP file, topics of PX4 are paths.
    let is_match = |label: &String, name: &str| label.trim_start_matches('/') == name;
    let chosen = PREFERRED
        .iter()
        .find_map(|name| found_labels.iter().position(|l| is_match(l, name)));
    let Some(chosen) = chosen else {
        let message = format!(
            "{} have positions, and {} is one file",
            found_labels.join(", "),
            file.display()
        );
        let folder = file.with_extension("");
        let format = format.name();
        let remedy =
            Remedy::SelectTopicOrFolder { topics: found_labels, folder, format };
        return Err(Error::invalid_request(message).with_remedy(remedy));
    };
    let chosen_topic = found.remove(chosen);
    let others = labels(found)?.join(", ");
    *found = vec![chosen_topic];
    Ok(Some(format!(
        "of {}; positions are also in {others} (select one, or write all to a folder)",
        found_labels.get(chosen).map_or("", String::as_str)
    )))
}

/// Returns the conversion from the log's clock to Unix time, if it is known.
fn utc(manifest: &Manifest) -> TimeBase {
    match (&manifest.clock.to_unix, manifest.clock.zero) {
        (Some(fit), _) => TimeBase { offset_nanos: fit.offset_nanos, is_utc: true },
        (None, ClockZero::Unix) => TimeBase { offset_nanos: 0, is_utc: true },
        (None, _) => TimeBase::default(),
    }
}

/// Returns remarks about rows that are not part of a track.
fn dropped_rows(sink: &TrackSink) -> Vec<String> {
    let (unknown, impossible) =
        (sink.rows_without_position(), sink.impossible_positions());
    let mut remarks = Vec::new();
    if unknown > 0 {
        let rows = count_of(unknown, "row");
        remarks.push(format!("{rows} dropped: no position was known"));
    }
    if impossible > 0 {
        let rows = count_of(impossible, "row");
        remarks.push(format!("{rows} dropped: latitude or longitude out of range"));
    }
    remarks
}
