//! Maps of the tracks of a vehicle: measured, estimated and intended positions.
//!
//! Positions are degrees, of any topic that has them, or metres in the local frame of PX4,
//! whose origin `vehicle_local_position` states (`ref_lat`, `ref_lon`).

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{
    Array as _, RecordBatch, cast::AsArray as _, types::TimestampNanosecondType,
};
use arrow_schema::{Schema, SchemaRef};
use logtool_core::{
    Columns, Damage, Log, Selection, TableJob, TableSink, TableWriter, TimeBase,
    TimeRange, Topic, TopicId, View, export_tables,
};
use logtool_plot::{Band, Block, Track, TrackBuilder, TrackMap};
use logtool_sinks::{PositionReader, position_columns};
use parking_lot::Mutex;

use crate::{
    error::Result,
    formats::LogFormat,
    records::signals::numbers_of,
    text::units::{Count, count_of},
};

/// The maximum number of tracks.
const MAX_TRACKS: usize = 8;

/// The topic of PX4 that has the estimated position and the origin of the local frame.
const ESTIMATE: &str = "vehicle_local_position";

/// The topics of PX4 with positions in the local frame, and their descriptions, the main one
/// first. Source: PX4's message definitions. Flight Review draws the same.
const LOCAL_TOPICS: [(&str, &str); 3] = [
    (ESTIMATE, "estimate"),
    ("vehicle_local_position_setpoint", "setpoint"),
    ("vehicle_local_position_groundtruth", "ground truth"),
];

/// The columns of a position in the local frame: metres north and east, the origin of the
/// frame, and whether the position and the origin are valid.
const NORTH_EAST: [&str; 2] = ["x", "y"];
const ORIGIN: [&str; 2] = ["ref_lat", "ref_lon"];
const IS_VALID: &str = "xy_valid";
const HAS_ORIGIN: &str = "xy_global";

/// Returns maps of the tracks of all topics with positions within `time`, one map for each
/// area, and adds the damage that is found to `damage`.
pub(super) fn track_maps(
    log: &dyn Log,
    time: TimeRange,
    bands: &[Band],
    damage: &mut Vec<Damage>,
) -> Result<Vec<Block>> {
    let mut sources = find(log);
    let more = sources.split_off(sources.len().min(MAX_TRACKS));
    if sources.is_empty() {
        return Ok(Vec::new());
    }
    let finished = FinishedTables::default();
    let sink = TrackSink { flight_modes: bands.to_vec(), finished: finished.clone() };
    let columns_by_topic = sources.iter().map(|source| {
        let indices = Some(source.columns.clone());
        (source.id, Columns { indices, ..Columns::new(View::Flat) })
    });
    let job = TableJob {
        selection: Selection {
            topics: sources.iter().map(|source| source.id).collect(),
            time,
        },
        columns: Columns::new(View::Flat),
        columns_by_topic: columns_by_topic.collect(),
        time: TimeBase::default(),
        part_bytes: 4 << 20,
        progress: &|_| {},
    };
    damage.extend(export_tables(log, &job, &sink)?.damage);
    let mut tables = finished.lock();
    let local_origin = tables.get(ESTIMATE).and_then(|table| table.track.origin());
    let (mut tracks, mut captions, mut notes) = (Vec::new(), BTreeMap::new(), vec![]);
    for source in &sources {
        let Some(mut table) = tables.remove(&source.label) else { continue };
        if source.is_local && table.track.origin().is_none() {
            local_origin.into_iter().for_each(|origin| table.track.set_origin(origin));
        }
        if table.track.positions > 1 {
            captions.insert(table.track.name.clone(), caption(&table));
            tracks.push(table.track);
        } else if table.track.positions == 0 && source.is_receiver && table.without > 0
        {
            let records = count_of(table.without, "record");
            let note = format!("{}: no GPS fix in {records}", source.label);
            notes.push(Block::Note(note));
        }
    }
    let mut blocks = Vec::new();
    for map in TrackMap::group(tracks) {
        let captions =
            map.tracks().iter().filter_map(|track| captions.get(&track.name));
        let captions: Vec<&str> = captions.map(String::as_str).collect();
        let mut caption = captions.join("; ");
        if map.tracks().len() > 1 && map.shows_modes() {
            caption += "; the first track has the colours of the flight modes";
        }
        blocks.push(Block::Svg(caption, map.svg()?));
    }
    blocks.extend(notes);
    if !more.is_empty() {
        let labels: Vec<&str> = more.iter().map(|source| &*source.label).collect();
        let labels = labels.join(", ");
        let message = format!("not shown here, but in a conversion to KML: {labels}");
        blocks.push(Block::Note(message));
    }
    Ok(blocks)
}

/// Returns the caption of a track.
fn caption(table: &FinishedTable) -> String {
    let track = &table.track;
    let mut text = format!("{}: {}", track.name, count_of(track.positions, "position"));
    if track.drawn < track.positions {
        // Rounded up, so that the caption never states too small a deviation.
        let metres = (track.max_deviation * 100.0).ceil() / 100.0;
        text += &format!(
            ", {} drawn, the others within {metres} m of their line",
            Count(track.drawn)
        );
    }
    if table.without > 0 {
        text += &format!(", {} without a position", count_of(table.without, "record"));
    }
    text
}

/// A topic with positions.
struct PositionTopic {
    id: TopicId,
    label: String,
    /// The indices of the columns in the flat view.
    columns: Vec<usize>,
    /// Whether the positions are metres in PX4's local frame.
    is_local: bool,
    /// Whether it is a satellite receiver, which may have no fix.
    is_receiver: bool,
}

/// Returns the topics with positions, those of the local frame first.
fn find(log: &dyn Log) -> Vec<PositionTopic> {
    let is_px4 = LogFormat::from_manifest(log.manifest()) == Some(LogFormat::Ulog);
    let topics = log.manifest().topics();
    let topics = topics
        .filter(|(_, topic)| topic.records != Some(0) && !topic.content.is_points());
    let source = |(id, topic): (TopicId, &Topic)| {
        let decoder = log.decoder(id, &Columns::new(View::Flat)).ok()?;
        let schema = decoder.schema();
        let label = topic.label().into_owned();
        let local = if is_px4 { local_columns(&label, schema) } else { None };
        let is_local = local.is_some();
        let columns = local.or_else(|| position_columns(topic, schema))?;
        let is_receiver = schema.fields().iter().any(|field| {
            let name = field.name();
            name.ends_with("fix_type") || name == "status.status" || name == "quality"
        });
        Some(PositionTopic { id, label, columns, is_local, is_receiver })
    };
    let mut sources: Vec<PositionTopic> = topics.filter_map(source).collect();
    let rank = |source: &PositionTopic| {
        LOCAL_TOPICS.iter().position(|(name, _)| source.label == *name)
    };
    sources.sort_by_key(|source| rank(source).unwrap_or(LOCAL_TOPICS.len()));
    sources
}

/// Returns the columns of a position in the local frame, if the topic with this label has one.
fn local_columns(label: &str, schema: &Schema) -> Option<Vec<usize>> {
    LOCAL_TOPICS.iter().find(|(name, _)| label == *name)?;
    let index = |name: &str| schema.index_of(name).ok();
    let mut columns = vec![index(NORTH_EAST[0])?, index(NORTH_EAST[1])?];
    columns.extend(ORIGIN.into_iter().filter_map(index));
    columns.extend([IS_VALID, HAS_ORIGIN].into_iter().filter_map(index));
    columns.sort_unstable();
    Some(columns)
}

/// The finished tracks, by the labels of their topics.
type FinishedTables = Arc<Mutex<BTreeMap<String, FinishedTable>>>;

struct FinishedTable {
    track: Track,
    /// The number of records without a position.
    without: u64,
}

/// A sink of tables that keeps only their tracks.
struct TrackSink {
    flight_modes: Vec<Band>,
    finished: FinishedTables,
}

impl TableSink for TrackSink {
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> logtool_core::Result<Box<dyn TableWriter>> {
        let label = topic.label().into_owned();
        let local = LOCAL_TOPICS.iter().find(|(name, _)| label == *name);
        let local = local.filter(|_| schema.column_with_name(NORTH_EAST[0]).is_some());
        let (name, positions) = match local {
            Some((_, description)) => {
                (format!("{label} ({description})"), Positions::Local)
            }
            None => {
                let reader = PositionReader::new(topic, schema);
                (label.clone(), Positions::Degrees(reader))
            }
        };
        Ok(Box::new(TrackWriter {
            label,
            positions,
            track: TrackBuilder::new(name, self.flight_modes.clone()),
            without: 0,
            finished: self.finished.clone(),
        }))
    }
}

/// The reader of the positions in a table.
enum Positions {
    /// Latitude and longitude. There is no reader for a table without them.
    Degrees(Option<PositionReader>),
    /// Metres in PX4's local frame.
    Local,
}

/// The writer of a topic, which keeps only its track: the positions in the order of the log.
struct TrackWriter {
    label: String,
    positions: Positions,
    track: TrackBuilder,
    without: u64,
    finished: FinishedTables,
}

impl TrackWriter {
    /// Adds the positions of `batch`, which are metres north and east.
    fn add_local(&mut self, batch: &RecordBatch) {
        let numbers = |name| batch.column_by_name(name).map(numbers_of);
        let (Some(north), Some(east)) =
            (numbers(NORTH_EAST[0]), numbers(NORTH_EAST[1]))
        else {
            return;
        };
        let origin = numbers(ORIGIN[0]).zip(numbers(ORIGIN[1]));
        let (is_valid, has_origin) = (numbers(IS_VALID), numbers(HAS_ORIGIN));
        let times = batch.columns().first();
        let times = times.and_then(|t| t.as_primitive_opt::<TimestampNanosecondType>());
        for (row, (north, east)) in north.iter().zip(&east).enumerate() {
            let is_true = |column: &Option<Vec<f64>>| {
                let value = column.as_ref().map(|column| column.get(row));
                value.is_none_or(|value| value.is_some_and(|value| *value != 0.0))
            };
            if !north.is_finite() || !east.is_finite() || !is_true(&is_valid) {
                self.without += 1;
                self.track.add_gap();
                continue;
            }
            let nanos = times.filter(|times| times.is_valid(row));
            let nanos = nanos.map(|times| times.value(row));
            self.track.add_local(nanos, *east, *north);
            if let Some((latitudes, longitudes)) = origin.as_ref()
                && is_true(&has_origin)
                && let (Some(lat), Some(lon)) =
                    (latitudes.get(row), longitudes.get(row))
                && lat.is_finite()
                && lon.is_finite()
            {
                self.track.set_origin(*lat, *lon);
            }
        }
    }
}

impl TableWriter for TrackWriter {
    fn write(&mut self, batch: &RecordBatch) -> logtool_core::Result<()> {
        let Positions::Degrees(reader) = &self.positions else {
            self.add_local(batch);
            return Ok(());
        };
        let Some(reader) = reader else { return Ok(()) };
        for fix in reader.fixes(batch) {
            match fix {
                Some(fix) => self.track.add(fix.nanos, fix.latitude, fix.longitude),
                None => {
                    self.without += 1;
                    self.track.add_gap();
                }
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> logtool_core::Result<()> {
        let mut finished = self.finished.lock();
        let table = FinishedTable { track: self.track.finish(), without: self.without };
        finished.insert(self.label, table);
        Ok(())
    }
}
