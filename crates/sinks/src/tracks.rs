//! Track files for maps and navigation devices: KML, GPX, GeoJSON.
//!
//! Any table with a latitude and a longitude is a track; each topic has a file. Fixes have the
//! order of the log. Rows without a position are dropped and counted, and the track is
//! interrupted there. If the vehicle has modes, each mode starts a new line. In KML and
//! GeoJSON, lines are cut at 180°, where maps end. At most one segment of some thousand fixes
//! is in memory.

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
