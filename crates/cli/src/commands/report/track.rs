//! Where the vehicle went.

use std::sync::Arc;

use anyhow::Result;
use arrow_schema::DataType;
use logtool_core::{Columns, Log, TimeRange, Topic, TopicId, TopicOrigin, View};
use logtool_plot::{Band, Block, Track, TrackPiece, line};
use logtool_sinks::position_columns;

use crate::{
    commands::report::Seen,
    signals::{self, Input, Wanted},
};

/// How many columns of time a track is thinned out to: of each, two places are left.
const COLUMNS: usize = 1500;

/// More tracks than these are not shown.
const MOST: usize = 4;

/// From these values on, a fix is one.
const LEAST: [(&str, f64); 5] = [
    ("fix_type", 3.0),
    ("lat_lon_valid", 1.0),
    ("is_valid", 1.0),
    ("status.status", 0.0),
    ("quality", 1.0),
];

/// The tracks of all topics with positions.
pub(super) fn all(
    log: &dyn Log,
    time: TimeRange,
    bands: &[Band],
    seen: &mut Seen,
) -> Result<Vec<Block>> {
    let (mut wanted, mut labels) = (Vec::new(), Vec::new());
    for (id, topic) in log.manifest().topics() {
        if topic.records == Some(0) || labels.len() >= MOST {
            continue;
        }
        if topic.origin == TopicOrigin::Derived && topic.label().contains("points") {
            continue;
        }
        if let Some(pair) = coordinates(log, id, topic) {
            wanted.extend(pair);
            labels.push(topic.label().into_owned());
        }
    }
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let read = signals::read(log, &wanted, time, COLUMNS, &|_| {})?;
    seen.damage.extend(read.damage);
    let mut blocks = Vec::new();
    for (label, pair) in labels.into_iter().zip(read.signals.chunks_exact(2)) {
        let [latitudes, longitudes] = pair else { continue };
        // Both are thinned out the same way; what is left at one time is one place.
        let longitudes = longitudes.runs.iter().flatten();
        let by_time: std::collections::BTreeMap<i64, f64> =
            longitudes.copied().collect();
        let places = latitudes.runs.iter().flatten().filter_map(|(nanos, latitude)| {
            let longitude = by_time.get(nanos)?;
            let is_place = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
            let is_none = (*latitude, *longitude) == (0.0, 0.0);
            (is_place && !is_none).then_some((*nanos, (*latitude, *longitude)))
        });
        let places: Vec<_> = places.collect();
        if places.len() > 1 {
            let track = Track { pieces: pieces(&places, bands) };
            blocks.push(Block::Svg(label, track.svg()?));
        }
    }
    Ok(blocks)
}

/// The places, a piece for each flight mode.
fn pieces(places: &[(i64, (f64, f64))], bands: &[Band]) -> Vec<TrackPiece> {
    let mut pieces: Vec<TrackPiece> = Vec::new();
    for (nanos, place) in places {
        let band = bands.iter().rfind(|band| band.start <= *nanos).or(bands.first());
        let (name, color) = band.map_or_else(
            || (String::new(), line(0)),
            |band| (band.name.clone(), band.color),
        );
        match pieces.last_mut() {
            Some((last, _, places)) if *last == name => places.push(*place),
            last => {
                let end = last.and_then(|(_, _, places)| places.last()).copied();
                pieces.push((name, color, end.into_iter().chain([*place]).collect()));
            }
        }
    }
    pieces
}

/// The latitude and the longitude of a topic, in degrees, where they are known.
fn coordinates(log: &dyn Log, id: TopicId, topic: &Topic) -> Option<[Wanted; 2]> {
    let decoder = log.decoder(id, &Columns::all(View::Flat)).ok()?;
    let schema = decoder.schema();
    let columns = position_columns(topic, schema)?;
    let find = |names: &[&str]| {
        columns.iter().copied().find(|index| {
            let name = schema.field(*index).name();
            let last = name.rsplit('.').next().unwrap_or_default();
            names.contains(&last) || names.contains(&name.as_str())
        })
    };
    let latitude = find(&["lat", "latitude_deg", "latitude"])?;
    let longitude = find(&["lon", "longitude_deg", "longitude"])?;
    let least = LEAST.iter().find_map(|(name, least)| Some((find(&[name])?, *least)));
    let told = topic.metadata.get("position");
    let is_in_minutes = told.is_some_and(|told| told.contains("ddmm"));
    let of = |column: usize| {
        let is_whole = schema.field(column).data_type() == &DataType::Int32;
        let inputs = [Some(column), least.map(|(column, _)| column)];
        let inputs = inputs.into_iter().flatten();
        let limit = least.map_or(f64::MIN, |(_, least)| least);
        Wanted {
            topic: id,
            inputs: inputs.map(|column| Input { column, element: None }).collect(),
            of: Arc::new(move |numbers| {
                let value = numbers.first().copied().unwrap_or(f64::NAN);
                let quality = numbers.get(1).copied().unwrap_or(f64::MAX);
                let degrees = (value / 100.0).trunc();
                match quality >= limit {
                    true if is_whole => value / 1e7,
                    true if is_in_minutes => degrees + (value - degrees * 100.0) / 60.0,
                    true => value,
                    false => f64::NAN,
                }
            }),
            name: topic.label().into_owned(),
            unit: "°".to_owned(),
            is_held: true,
        }
    };
    Some([of(latitude), of(longitude)])
}
