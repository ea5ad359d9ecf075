//! Tracks, as the files that maps and navigators read: KML, GPX, GeoJSON.
//!
//! Any table with a latitude and a longitude is a track: a file for each topic. Its fixes
//! are in the order of the log and none is left out but those that are nowhere, which are
//! counted. Where fixes were left out the track is broken, and where it is of a vehicle
//! that has modes, a new line begins with each of them. In KML and GeoJSON, lines are cut at
//! 180°, where maps end. No more of a track is held in
//! memory than a stretch of some thousand fixes.

// In reading order: each module uses only those above it.
mod fix;

mod antimeridian;
mod mode;
mod stretch;

mod position;

mod text;

mod geojson;
mod gpx;
mod kml;

mod sink;

pub use crate::tracks::{
    fix::Fix,
    mode::{TrackMode, TrackModes},
    position::{PositionReader, position_columns},
    sink::{TrackFormat, TrackSink},
};
