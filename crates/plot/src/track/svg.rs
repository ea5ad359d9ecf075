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
        legend::{self, LegendEntry},
    },
    ticks::Axis,
    track::TrackMap,
};

/// The square of the tracks, in pixels.
const SIDE: f64 = 520.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 10.0;

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
            |middle: f64| Axis::numbers(middle - reach, middle + reach, 6, false);
        let (x_axis, y_axis) = (axis(x), axis(y));
        let entries = self.entries();
        let height = TOP + SIDE + 60.0 + 20.0 * (entries.len() as f64 / 2.0).ceil();
        Canvas::new((LEFT + SIDE + 20.0) as u32, height as u32)?.draw(|area| {
            let scale = SIDE / (2.0 * reach);
            let locate = |(x, y): (f64, f64)| {
                let (x, y) = ((x - x_axis.start) * scale, (y - y_axis.start) * scale);
                (px(LEFT + x), px(TOP + SIDE - y))
            };
            axes(area, &x_axis, &y_axis, scale)?;
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
            let (_, legend_area) = canvas::split_down(area, px(TOP + SIDE + 50.0))?;
            legend::draw(&canvas::right_of(&legend_area, px(LEFT))?, &entries).map(drop)
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

fn axes(area: &Area<'_>, x_axis: &Axis, y_axis: &Axis, scale: f64) -> DrawResult {
    let (left, right) = (px(LEFT), px(LEFT + SIDE));
    let (top, bottom) = (px(TOP), px(TOP + SIDE));
    let (ink, grid) =
        (LINE_COLOR.stroke_width(THIN_WIDTH), GRID_COLOR.stroke_width(THIN_WIDTH));
    for tick in &x_axis.ticks {
        let x = px(LEFT + (tick - x_axis.start) * scale);
        area.draw(&PathElement::new([(x, top), (x, bottom)], grid))?;
        let style = text(area, 12.0).pos(CENTER);
        area.draw_text(&x_axis.label(*tick), &style, (x, bottom + px(12.0)))?;
    }
    for tick in &y_axis.ticks {
        let y = px(TOP + SIDE - (tick - y_axis.start) * scale);
        area.draw(&PathElement::new([(left, y), (right, y)], grid))?;
        let label = y_axis.label(*tick);
        let position = left - px(6.0) - canvas::width(&label, 12.0);
        area.draw_text(&label, &text(area, 12.0).pos(FROM_LEFT), (position, y))?;
    }
    let frame =
        [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
    area.draw(&PathElement::new(frame, ink))?;
    let name = text(area, 12.0).pos(CENTER);
    area.draw_text("east (m)", &name, ((left + right) / 2, bottom + px(32.0)))?;
    let upwards = name.transform(canvas::UPWARDS);
    area.draw_text("north (m)", &upwards, (px(12.0), (top + bottom) / 2))
}
