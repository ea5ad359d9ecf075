//! Where something went, seen from above, without a map.

use logtool_core::Result;
use plotters::element::{Circle, PathElement};
use plotters::style::Color as _;

use crate::{
    draw::{
        canvas::{
            self, Area, CENTER, Canvas, Drawn, FINE, FROM_LEFT, GRID, INK, px, text,
        },
        legend::{self, Entry},
    },
    palette::Rgb,
    ticks::Axis,
};

/// A piece of a track: its name and its colour, and places in degrees, latitude and
/// longitude.
pub type TrackPiece = (String, Rgb, Vec<(f64, f64)>);

/// A track.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// Its pieces, in order.
    pub pieces: Vec<TrackPiece>,
}

/// Metres of a degree of latitude: a meridian is 20,004 km long.
const PER_DEGREE: f64 = 111_132.0;

const SIDE: f64 = 520.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 10.0;

impl Track {
    /// The picture: metres to the east and to the north of where it begins.
    ///
    /// # Errors
    /// `Limit` if the picture has no room for the names.
    pub fn svg(&self) -> Result<String> {
        let first = self.pieces.iter().flat_map(|piece| &piece.2).next();
        let (latitude, longitude) = first.copied().unwrap_or_default();
        let shrink = latitude.to_radians().cos();
        let metres = |(lat, lon): &(f64, f64)| {
            let east = (lon - longitude + 540.0).rem_euclid(360.0) - 180.0;
            (east * PER_DEGREE * shrink, (lat - latitude) * PER_DEGREE)
        };
        let all = || self.pieces.iter().flat_map(|piece| &piece.2).map(metres);
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
        for (name, color, _) in &self.pieces {
            if !name.is_empty() && !entries.iter().any(|entry| entry.name == *name) {
                entries.push(Entry {
                    name: name.clone(),
                    color: *color,
                    is_line: true,
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
            for (_, color, places) in &self.pieces {
                let points: Vec<_> =
                    places.iter().map(|at| place(metres(at))).collect();
                let style = canvas::color(*color).stroke_width(canvas::LINE);
                area.draw(&PathElement::new(points, style))?;
            }
            if first.is_some() {
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
