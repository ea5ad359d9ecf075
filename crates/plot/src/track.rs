//! Where something went, seen from above, without a map.

mod thin;

use logtool_core::Result;
use plotters::element::{Circle, PathElement};
use plotters::style::Color as _;

use crate::{
    chart::Band,
    draw::{
        canvas::{
            self, Area, CENTER, Canvas, Drawn, FINE, FROM_LEFT, GRID, INK, px, text,
        },
        legend::{self, Entry},
    },
    palette::{self, Rgb},
    ticks::Axis,
    track::thin::{Place, Way},
};

/// A track.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// Its pieces, in order.
    pieces: Vec<Piece>,
    /// How many places there were.
    pub places: u64,
    /// How many of them are in the picture.
    pub drawn: u64,
    /// How many metres the others are at most from the line between those.
    pub within: f64,
}

/// What has one name and one colour, and where it went, in metres.
#[derive(Clone, Debug)]
struct Piece {
    name: String,
    color: Rgb,
    places: Vec<(f64, f64)>,
}

/// Makes a track of places as they come.
#[derive(Clone, Debug)]
pub struct TrackMaker {
    /// In the order of time.
    bands: Vec<Band>,
    /// Latitude and longitude of where it begins.
    origin: Option<(f64, f64)>,
    way: Way,
}

/// Metres of a degree of latitude: a meridian is 20,004 km long.
const PER_DEGREE: f64 = 111_132.0;

impl TrackMaker {
    /// No places yet; `bands`, in the order of time, are what lines have their colours of. (The
    /// first is also that of what was before.)
    pub fn new(bands: Vec<Band>) -> Self {
        Self { bands, origin: None, way: Way::new() }
    }

    /// Adds a place, in degrees, and when it was, if that is known. Places are joined in the
    /// order in which they come, whatever their times are.
    pub fn add(&mut self, nanos: Option<i64>, latitude: f64, longitude: f64) {
        let origin = *self.origin.get_or_insert((latitude, longitude));
        let east = (longitude - origin.1 + 540.0).rem_euclid(360.0) - 180.0;
        let x = east * PER_DEGREE * origin.0.to_radians().cos();
        let y = (latitude - origin.0) * PER_DEGREE;
        let nanos = nanos.unwrap_or(i64::MIN);
        let after = self.bands.partition_point(|band| band.start <= nanos);
        let stretch = u32::try_from(after.saturating_sub(1)).unwrap_or(u32::MAX);
        self.way.add(Place { x, y, stretch });
    }

    /// The track of them, thinned out as far as nobody can see.
    pub fn finish(self) -> Track {
        let way = self.way.finish();
        let mut pieces: Vec<Piece> = Vec::new();
        let mut last: Option<Place> = None;
        for place in &way.kept {
            let is_new = last.is_none_or(|last| last.stretch != place.stretch);
            if is_new {
                let band = self.bands.get(place.stretch as usize);
                let none = || (String::new(), palette::line(0));
                let (name, color) =
                    band.map_or_else(none, |band| (band.name.clone(), band.color));
                // It begins where the one before ended.
                let places = last.iter().map(|last| (last.x, last.y)).collect();
                pieces.push(Piece { name, color, places });
            }
            if let Some(piece) = pieces.last_mut() {
                piece.places.push((place.x, place.y));
            }
            last = Some(*place);
        }
        let drawn = way.kept.len() as u64;
        Track { pieces, places: way.places, drawn, within: way.within }
    }
}

const SIDE: f64 = 520.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 10.0;

impl Track {
    /// The picture: metres to the east and to the north of where it begins.
    ///
    /// # Errors
    /// `Limit` if the picture has no room for the names.
    pub fn svg(&self) -> Result<String> {
        let all = || self.pieces.iter().flat_map(|piece| &piece.places).copied();
        let span = |of: fn((f64, f64)) -> f64| {
            let (low, high) = all()
                .map(of)
                .fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
            if low <= high { ((low + high) / 2.0, high - low) } else { (0.0, 1.0) }
        };
        let ((x, wide), (y, high)) = (span(|p| p.0), span(|p| p.1));
        let reach = (wide.max(high) * 0.54).max(0.5);
        let axis =
            |middle: f64| Axis::numbers(middle - reach, middle + reach, 6, false);
        let (across, up) = (axis(x), axis(y));
        let mut entries: Vec<Entry> = Vec::new();
        for Piece { name, color, .. } in &self.pieces {
            if !name.is_empty() && !entries.iter().any(|entry| entry.name == *name) {
                entries.push(Entry {
                    name: name.clone(),
                    color: *color,
                    piece: legend::Piece::Line(0),
                });
            }
        }
        let height = TOP + SIDE + 60.0 + 20.0 * (entries.len() as f64 / 3.0).ceil();
        Canvas::new((LEFT + SIDE + 20.0) as u32, height as u32)?.draw(|area| {
            let scale = SIDE / (2.0 * reach);
            let place = |(x, y): (f64, f64)| {
                let (x, y) = ((x - across.start) * scale, (y - up.start) * scale);
                (px(LEFT + x), px(TOP + SIDE - y))
            };
            axes(area, &across, &up, scale)?;
            for Piece { color, places, .. } in &self.pieces {
                let points: Vec<_> = places.iter().map(|at| place(*at)).collect();
                let style = canvas::color(*color).stroke_width(canvas::LINE);
                area.draw(&PathElement::new(points, style))?;
            }
            if !self.pieces.is_empty() {
                area.draw(&Circle::new(place((0.0, 0.0)), px(4.0), INK.filled()))?;
            }
            let (_, below) = canvas::split_down(area, px(TOP + SIDE + 50.0))?;
            legend::draw(&canvas::right_of(&below, px(LEFT))?, &entries).map(drop)
        })
    }
}

fn axes(area: &Area<'_>, across: &Axis, up: &Axis, scale: f64) -> Drawn {
    let (left, right) = (px(LEFT), px(LEFT + SIDE));
    let (top, bottom) = (px(TOP), px(TOP + SIDE));
    let (ink, faint) = (INK.stroke_width(FINE), GRID.stroke_width(FINE));
    for tick in &across.ticks {
        let x = px(LEFT + (tick - across.start) * scale);
        area.draw(&PathElement::new([(x, top), (x, bottom)], faint))?;
        let style = text(area, 12.0).pos(CENTER);
        area.draw_text(&across.label(*tick), &style, (x, bottom + px(12.0)))?;
    }
    for tick in &up.ticks {
        let y = px(TOP + SIDE - (tick - up.start) * scale);
        area.draw(&PathElement::new([(left, y), (right, y)], faint))?;
        let label = up.label(*tick);
        let at = left - px(6.0) - canvas::width(&label, 12.0);
        area.draw_text(&label, &text(area, 12.0).pos(FROM_LEFT), (at, y))?;
    }
    let frame =
        [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
    area.draw(&PathElement::new(frame, ink))?;
    let name = text(area, 12.0).pos(CENTER);
    area.draw_text("east (m)", &name, ((left + right) / 2, bottom + px(32.0)))?;
    let upwards = name.transform(canvas::UPWARDS);
    area.draw_text("north (m)", &upwards, (px(12.0), (top + bottom) / 2))
}
