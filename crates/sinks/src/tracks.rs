//! Track files for maps and navigation devices: KML, GPX, GeoJSON.
//!
//! Any table with a latitude and a longitude is a track; each topic has a file. Fixes have the
//! order of the log. Rows without a position are dropped and counted, and interrupt the track. If
//! the modes of the vehicle are known, each change of the mode starts a new line. In KML and
//! GeoJSON, lines are cut at the longitude 180°, where maps end. At most one segment of 16,384
//! fixes is in memory.

// In reading order: each module uses only those above it.
mod fix;

mod antimeridian;
mod mode;
mod segment;

mod position;

mod text;

mod geojson;
mod gpx;
mod kml;

mod sink;

pub use crate::tracks::text::XmlText;
pub use crate::tracks::{
    fix::Fix,
    mode::{TrackMode, TrackModes},
    position::{PositionReader, position_columns},
    sink::{TrackFormat, TrackSink},
};
