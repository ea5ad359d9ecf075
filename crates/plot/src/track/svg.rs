//! Draws a map of tracks as SVG.

use logtool_core::Result;
use plotters::{
    element::{Circle, PathElement},
    style::Color as _,
};

use crate::{
    draw::{
        canvas::{
            self, Area, CENTER, Canvas, DrawResult, FROM_LEFT, GRID_COLOR, LINE_COLOR,
            THIN_WIDTH, px, text,
        },
        label_width,
        legend::{self, LegendEntry},
    },
    ticks::Axis,
    track::TrackMap,
};

/// The square of the tracks, in pixels. It is small, so that texts stay legible on phones, which
/// shrink the picture. Pages enlarge it on other screens.
const SIDE: f64 = 380.0;
const LEAST_LEFT: f64 = 60.0;
/// The space between a label and the axis on the left, and the width of the name of the axis.
const LABEL_SPACE: f64 = 6.0;
const NAME_WIDTH: f64 = 24.0;
const TOP: f64 = 10.0;
/// The height of the ticks and the name of the axis below the square, and the space to the right.
const BELOW: f64 = 50.0;
const RIGHT: f64 = 20.0;

impl TrackMap {
    /// Returns the map as SVG. Its axes are metres east and north of the origin, which is marked.
    /// The first track is drawn on top of the others, and has the colours of the flight modes.
    ///
    /// # Errors
    /// `Limit` if the names do not fit into the image.
    pub fn svg(&self) -> Result<String> {
        let positions = || {
            let pieces = self.tracks.iter().flat_map(|track| &track.pieces);
            pieces.flat_map(|piece| &piece.positions).copied()
        };
        let span = |coordinate: fn((f64, f64)) -> f64| {
            let (low, height) = positions()
                .map(coordinate)
                .fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
            if low <= height {
                ((low + height) / 2.0, height - low)
            } else {
                (0.0, 1.0)
            }
        };
        let ((x, width), (y, height)) = (span(|p| p.0), span(|p| p.1));
        let reach = (width.max(height) * 0.54).max(0.5);
        let axis =
            |middle: f64| Axis::numbers(middle - reach, middle + reach, 5, false);
        let (x_axis, y_axis) = (axis(x), axis(y));
        let labels = f64::from(label_width(&y_axis)) / f64::from(px(1.0));
        let left = LEAST_LEFT.max((labels + LABEL_SPACE + NAME_WIDTH).ceil());
        let entries = self.entries();
        let legend = f64::from(legend::height(&entries, px(SIDE + RIGHT)));
        let height = TOP + SIDE + BELOW + legend / f64::from(px(1.0)) + 10.0;
        Canvas::new((left + SIDE + RIGHT) as u32, height as u32)?.draw(|area| {
            let scale = SIDE / (2.0 * reach);
            let locate = |(x, y): (f64, f64)| {
                let (x, y) = ((x - x_axis.start) * scale, (y - y_axis.start) * scale);
                (px(left + x), px(TOP + SIDE - y))
            };
            axes(area, &x_axis, &y_axis, left, scale)?;
            for (index, track) in self.tracks.iter().enumerate().rev() {
                let is_main = index == 0 && self.tracks.len() > 1;
                let width =
                    if is_main { canvas::THICK_WIDTH } else { canvas::LINE_WIDTH };
                for piece in &track.pieces {
                    let mode = piece.mode.as_ref().filter(|_| index == 0);
                    let mode = mode.map(|(_, color)| *color);
                    let color = mode.unwrap_or_else(|| Self::color(index));
                    let points: Vec<_> =
                        piece.positions.iter().map(|at| locate(*at)).collect();
                    let style = canvas::color(color).stroke_width(width);
                    area.draw(&PathElement::new(points, style))?;
                }
            }
            // The origin of a local frame may be far from the track.
            let has_origin = (x_axis.start..=x_axis.end).contains(&0.0)
                && (y_axis.start..=y_axis.end).contains(&0.0);
            if has_origin && self.tracks.iter().any(|track| !track.pieces.is_empty()) {
                area.draw(&Circle::new(
                    locate((0.0, 0.0)),
                    px(4.0),
                    LINE_COLOR.filled(),
                ))?;
            }
            let (_, below) = canvas::split_down(area, px(TOP + SIDE + BELOW))?;
            legend::draw(&canvas::right_of(&below, px(left))?, &entries).map(drop)
        })
    }

    /// Returns the entries of the legend: each flight mode of the first track, and the names of the
    /// other tracks.
    pub(super) fn entries(&self) -> Vec<LegendEntry> {
        let mut entries: Vec<LegendEntry> = Vec::new();
        let mut add = |name: &str, color| {
            if !name.is_empty() && !entries.iter().any(|entry| entry.name == name) {
                let sample = legend::LegendSample::Line(0);
                entries.push(LegendEntry { name: name.to_owned(), color, sample });
            }
        };
        let pieces = self.tracks.first().into_iter().flat_map(|track| &track.pieces);
        for (name, color) in pieces.filter_map(|sample| sample.mode.as_ref()) {
            add(name, *color);
        }
        let others =
            self.tracks.iter().enumerate().skip(usize::from(self.shows_modes()));
        for (index, track) in others.filter(|_| self.tracks.len() > 1) {
            add(&track.name, Self::color(index));
        }
        entries
    }
}

/// Draws the axes of the square, which begins at `start` pixels from the left.
fn axes(
    area: &Area<'_>,
    x_axis: &Axis,
    y_axis: &Axis,
    start: f64,
    scale: f64,
) -> DrawResult {
    let (left, right) = (px(start), px(start + SIDE));
    let (top, bottom) = (px(TOP), px(TOP + SIDE));
    let (ink, grid) =
        (LINE_COLOR.stroke_width(THIN_WIDTH), GRID_COLOR.stroke_width(THIN_WIDTH));
    for tick in &x_axis.ticks {
        let x = px(start + (tick - x_axis.start) * scale);
        area.draw(&PathElement::new([(x, top), (x, bottom)], grid))?;
        let style = text(area, 12.0).pos(CENTER);
        canvas::draw_text(area, &x_axis.label(*tick), &style, (x, bottom + px(12.0)))?;
    }
    for tick in &y_axis.ticks {
        let y = px(TOP + SIDE - (tick - y_axis.start) * scale);
        area.draw(&PathElement::new([(left, y), (right, y)], grid))?;
        let label = y_axis.label(*tick);
        let label_x = left - px(LABEL_SPACE) - canvas::width(&label, 12.0);
        canvas::draw_text(
            area,
            &label,
            &text(area, 12.0).pos(FROM_LEFT),
            (label_x, y),
        )?;
    }
    let frame =
        [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
    area.draw(&PathElement::new(frame, ink))?;
    let name = text(area, 12.0).pos(CENTER);
    canvas::draw_text(
        area,
        "east (m)",
        &name,
        ((left + right) / 2, bottom + px(32.0)),
    )?;
    let upwards = name.transform(canvas::UPWARDS);
    canvas::draw_text(area, "north (m)", &upwards, (px(12.0), (top + bottom) / 2))
}
