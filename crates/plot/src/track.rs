//! Tracks of vehicles and of their setpoints, seen from above, without a map.

mod svg;

use crate::{
    chart::Band,
    palette::{self, Rgb},
    simplify::{PathSimplifier, TrackPoint},
};

/// The length of a degree of latitude in metres: a meridian is 20,004 km long.
const METRES_PER_DEGREE: f64 = 111_132.0;

/// The maximum distance between the origins of tracks in the same image, in metres. With a common
/// scale, tracks that are farther apart would be dots.
const SAME_AREA_METRES: f64 = 50_000.0;

/// The maximum number of pieces of a track. Each gap starts a piece; later gaps are drawn as lines.
const MAX_PIECES: usize = 1 << 12;

/// The path of one vehicle in one topic.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// The name in the legend.
    pub name: String,
    /// The number of positions that were added.
    pub positions: u64,
    /// The number of positions that are in the image.
    pub drawn: u64,
    /// The largest distance of the removed positions from the line, in metres.
    pub max_deviation: f64,
    /// The latitude and longitude of `x = y = 0`, in degrees, if they are known.
    origin: Option<(f64, f64)>,
    /// The pieces, in order.
    pieces: Vec<TrackPiece>,
}

/// A part of a track that has one colour and no gap, in metres east and north.
#[derive(Clone, Debug)]
struct TrackPiece {
    /// The name and the colour of the flight mode, if the track shows modes.
    mode: Option<(String, Rgb)>,
    positions: Vec<(f64, f64)>,
}

/// Builds a track from positions in the order of the log.
#[derive(Clone, Debug)]
pub struct TrackBuilder {
    name: String,
    /// The flight modes in the order of time.
    modes: Vec<Band>,
    origin: Option<(f64, f64)>,
    path: PathSimplifier,
    /// The pieces so far: the index of the mode, and whether the piece starts at the end of the
    /// previous one.
    pieces: Vec<(Option<usize>, bool)>,
    /// Whether positions are missing before the next one.
    has_gap: bool,
}

impl TrackBuilder {
    /// Creates a builder without positions. The line has the colours of the flight `modes`, which
    /// are in the order of time. Positions before the first mode have the colour of the first mode.
    pub fn new(name: impl Into<String>, modes: Vec<Band>) -> Self {
        Self {
            name: name.into(),
            modes,
            origin: None,
            path: PathSimplifier::new(),
            pieces: Vec::new(),
            has_gap: true,
        }
    }

    /// Adds a position in degrees. The first one becomes the origin. `nanos` is the time
    /// on the log's clock, if it is known; positions are joined in the order of the calls.
    pub fn add(&mut self, nanos: Option<i64>, latitude: f64, longitude: f64) {
        let origin = *self.origin.get_or_insert((latitude, longitude));
        let (x, y) = metres_from(origin, (latitude, longitude));
        self.add_local(nanos, x, y);
    }

    /// Adds a position in metres east and north of the origin.
    pub fn add_local(&mut self, nanos: Option<i64>, east: f64, north: f64) {
        let nanos = nanos.unwrap_or(i64::MIN);
        let next_mode = self.modes.partition_point(|mode| mode.start <= nanos);
        let mode = (!self.modes.is_empty()).then(|| next_mode.saturating_sub(1));
        let is_full = self.pieces.len() >= MAX_PIECES;
        let has_gap = std::mem::take(&mut self.has_gap) && !is_full;
        if has_gap || self.pieces.last().is_none_or(|(last, _)| *last != mode) {
            self.pieces.push((mode, !has_gap));
        }
        let segment = u32::try_from(self.pieces.len() - 1).unwrap_or(u32::MAX);
        self.path.add(TrackPoint { x: east, y: north, segment });
    }

    /// Marks a gap: the next position is not joined to the last one.
    pub fn add_gap(&mut self) {
        self.has_gap = true;
    }

    /// Sets the latitude and longitude of the origin of local positions, in degrees.
    pub fn set_origin(&mut self, latitude: f64, longitude: f64) {
        self.origin = Some((latitude, longitude));
    }

    /// Returns the track. Positions that would make no visible difference are removed.
    pub fn finish(self) -> Track {
        let path = self.path.finish();
        let mut pieces: Vec<TrackPiece> = Vec::new();
        let mut last: Option<TrackPoint> = None;
        for position in &path.positions {
            if last.is_none_or(|last| last.segment != position.segment) {
                let started_piece = self.pieces.get(position.segment as usize);
                let (mode, is_joined) = started_piece.copied().unwrap_or_default();
                let mode = mode.and_then(|index| self.modes.get(index));
                let mode = mode.map(|mode| (mode.name.clone(), mode.color));
                let previous_end =
                    last.filter(|_| is_joined).map(|last| (last.x, last.y));
                pieces.push(TrackPiece {
                    mode,
                    positions: previous_end.into_iter().collect(),
                });
            }
            if let Some(piece) = pieces.last_mut() {
                piece.positions.push((position.x, position.y));
            }
            last = Some(*position);
        }
        Track {
            name: self.name,
            positions: path.added,
            drawn: path.positions.len() as u64,
            max_deviation: path.deviation,
            origin: self.origin,
            pieces,
        }
    }
}

impl Track {
    /// Returns the latitude and longitude of the origin in degrees, if they are known.
    pub fn origin(&self) -> Option<(f64, f64)> {
        self.origin
    }

    /// Sets the latitude and longitude of the origin, in degrees.
    pub fn set_origin(&mut self, origin: (f64, f64)) {
        self.origin = Some(origin);
    }

    /// Moves the track to another origin.
    fn move_to(&mut self, origin: (f64, f64)) {
        let Some(previous_origin) = self.origin.replace(origin) else { return };
        let (x, y) = metres_from(origin, previous_origin);
        // A degree of longitude has another length at the other latitude.
        let scale =
            cos_latitude(origin) / cos_latitude(previous_origin).max(f64::MIN_POSITIVE);
        for position in self.pieces.iter_mut().flat_map(|piece| &mut piece.positions) {
            *position = (position.0 * scale + x, position.1 + y);
        }
    }
}

/// Tracks that are drawn in one image.
#[derive(Clone, Debug, Default)]
pub struct TrackMap {
    tracks: Vec<Track>,
}

impl TrackMap {
    /// Groups tracks into maps. Tracks in the same area share a map, and all tracks without a known
    /// origin share another one. The origin of a map is that of its first track.
    pub fn group(tracks: Vec<Track>) -> Vec<Self> {
        let mut maps: Vec<Self> = Vec::new();
        for mut track in tracks {
            let map = maps.iter_mut().find(|map| map.is_near(track.origin));
            match map {
                Some(map) => {
                    if let Some(origin) = map.origin() {
                        track.move_to(origin);
                    }
                    map.tracks.push(track);
                }
                None => maps.push(Self { tracks: vec![track] }),
            }
        }
        maps
    }

    /// Returns the tracks, starting with the main track.
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// Returns true if the first track has the colours of flight modes.
    pub fn shows_modes(&self) -> bool {
        let first = self.tracks.first();
        first.is_some_and(|track| track.pieces.iter().any(|piece| piece.mode.is_some()))
    }

    fn origin(&self) -> Option<(f64, f64)> {
        self.tracks.first().and_then(|track| track.origin)
    }

    fn is_near(&self, origin: Option<(f64, f64)>) -> bool {
        match (self.origin(), origin) {
            (Some(map_origin), Some(other)) => {
                let (x, y) = metres_from(map_origin, other);
                x.hypot(y) <= SAME_AREA_METRES
            }
            (None, None) => true,
            _ => false,
        }
    }

    /// Returns the colour of the track with this `index` without flight modes.
    fn color(index: usize) -> Rgb {
        palette::line(index)
    }
}

/// Returns the position in metres east and north of `origin`, on a plane that touches the Earth at
/// the origin.
fn metres_from(origin: (f64, f64), position: (f64, f64)) -> (f64, f64) {
    let east = (position.1 - origin.1 + 540.0).rem_euclid(360.0) - 180.0;
    let north = position.0 - origin.0;
    (east * METRES_PER_DEGREE * cos_latitude(origin), north * METRES_PER_DEGREE)
}

fn cos_latitude(position: (f64, f64)) -> f64 {
    position.0.to_radians().cos()
}

#[cfg(test)]
mod tests;
