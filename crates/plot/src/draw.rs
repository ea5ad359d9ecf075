//! Drawing charts as SVG.

pub(crate) mod canvas;
pub(crate) mod legend;
mod marks;
mod xy;

use logtool_core::Result;
use plotters::{
    chart::ChartBuilder,
    coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged},
    element::{Circle, DynElement, IntoDynElement as _, PathElement, Rectangle},
    prelude::SVGBackend,
    style::Color as _,
};

use crate::{
    chart::{Band, Chart, Line, Panel},
    draw::{
        canvas::{Area, Canvas, FINE, GRID, INK, px, text},
        legend::{LegendEntry, LegendSample},
    },
    font,
    palette::{self, Rgb},
    ticks::Axis,
};

/// The sizes of the parts of a chart in pixels.
const MARGIN: f64 = 10.0;
const TICK_TEXT: f64 = 12.0;
const UNIT_WIDTH: f64 = 22.0;
const RIGHT_MARGIN: f64 = 12.0;
const TICKS_HEIGHT: f64 = 26.0;
const NAME_HEIGHT: f64 = 20.0;
const TITLE_TEXT: f64 = 16.0;
const TITLE_HEIGHT: f64 = 28.0;

/// The height of a plot of values against others, divided by that of a plot over time.
const XY_HEIGHTS: i32 = 2;

/// The intensity of the colours of bands, and that of states.
const TINT: f64 = 0.18;
const STATE_TINT: f64 = 0.45;
/// The height of states, divided by that of the plot.
const STATE_HEIGHT: f64 = 0.08;

impl Chart {
    /// Returns the chart as SVG.
    ///
    /// # Errors
    /// `Limit` if the size is too small for the plots.
    pub fn svg(&self) -> Result<String> {
        let (width, height) = self.size;
        Canvas::new(width, height)?.draw(|area| {
            let inner = area.margin(px(MARGIN), px(MARGIN), px(MARGIN), px(MARGIN));
            let inner = draw_title(&inner, &self.title)?;
            let (height, count) = (inner.dim_in_pixel().1 as i32, self.xy.len() as i32);
            let shares = self.panels.len() as i32 + XY_HEIGHTS * count;
            let each = XY_HEIGHTS * height / shares.max(1);
            let mut below = inner.clone();
            if !self.panels.is_empty() || count == 0 {
                let own = (height - each * count).clamp(0, height);
                let rest = inner.split_vertically(own);
                self.time_panels(&rest.0, f64::from(width))?;
                below = rest.1;
            }
            for (panel, own) in
                self.xy.iter().zip(below.split_evenly((count as usize, 1)))
            {
                xy::draw(&own, panel)?;
            }
            Ok(())
        })
    }

    /// Draws the plots over time and their common axis. The whole chart is `width` pixels wide.
    fn time_panels(&self, area: &Area<'_>, width: f64) -> canvas::DrawResult {
        let (start, end) = self.span();
        let marks = (width / 110.0) as usize;
        let time = match self.time.day {
            Some(day) => Axis::times_of_day(start, end, marks, day),
            None => Axis::numbers(start, end, marks, false),
        };
        let mut entries = self.band_entries();
        entries.extend(self.mark_entries(&time));
        let inner = legend::draw(area, &entries)?;
        let (plots, name) = canvas::split_down(
            &inner,
            inner.dim_in_pixel().1 as i32 - px(NAME_HEIGHT + TICKS_HEIGHT),
        )?;
        let count = self.panels.len().max(1) as i32;
        let each = plots.dim_in_pixel().1 as i32 / count;
        let axes: Vec<ValueAxes> =
            self.panels.iter().map(|panel| ValueAxes::new(panel, each)).collect();
        let beside = |width: i32| width + px(UNIT_WIDTH + 12.0);
        let left = axes.iter().map(|axes| label_width(&axes.left)).max();
        let right =
            axes.iter().filter_map(|axes| axes.right.as_ref().map(label_width)).max();
        let sides = (beside(left.unwrap_or(0)), right.map_or(0, beside));
        for (index, (panel, values)) in self.panels.iter().zip(&axes).enumerate() {
            let (is_first, is_last) = (index == 0, index + 1 == self.panels.len());
            let top = each * index as i32;
            let bottom = top + each + if is_last { px(TICKS_HEIGHT) } else { 0 };
            let (_, rest) = canvas::split_down(&inner, top)?;
            let (own, _) = canvas::split_down(&rest, bottom - top)?;
            self.panel(&own, panel, (&time, values), sides, (is_first, is_last))?;
        }
        let (_, below) = canvas::split_down(&name, px(TICKS_HEIGHT))?;
        let middle = (sides.0 + below.dim_in_pixel().0 as i32 - sides.1) / 2;
        let style = text(&below, 12.0).pos(canvas::CENTER);
        below.draw_text(&self.time.name, &style, (middle, px(NAME_HEIGHT / 2.0)))
    }

    fn panel(
        &self,
        area: &Area<'_>,
        panel: &Panel,
        (time, values): (&Axis, &ValueAxes),
        (left, right): (i32, i32),
        (has_texts, has_times): (bool, bool),
    ) -> canvas::DrawResult {
        let names = panel.lines.iter().map(|line| line.name.clone());
        let on_the_right = panel.right.iter().flat_map(|right| &right.lines);
        let names =
            names.chain(on_the_right.map(|line| format!("{} (right)", line.name)));
        let entries: Vec<_> = names.enumerate().map(LegendEntry::of_line).collect();
        let beside = canvas::right_of(area, left)?;
        let shown = legend::draw(&beside, &entries)?;
        let used = beside.dim_in_pixel().1 - shown.dim_in_pixel().1;
        let (_, area) = canvas::split_down(area, used as i32)?;
        let (room_x, room_y) = area.dim_in_pixel();
        if (room_x as i32) < left + right + px(60.0)
            || (room_y as i32) < px(TICKS_HEIGHT + 30.0)
        {
            return Err(canvas::NO_ROOM);
        }
        let bottom = if has_times { px(TICKS_HEIGHT) } else { px(10.0) };
        let (plot, _) = canvas::split_down(&area, room_y as i32 - bottom)?;
        let unit = text(&plot, 12.0).pos(canvas::CENTER).transform(canvas::UPWARDS);
        let height = plot.dim_in_pixel().1 as i32;
        plot.draw_text(&panel.unit, &unit, (px(UNIT_WIDTH / 2.0), height / 2))?;
        if let Some(right) = &panel.right {
            let x = room_x as i32 - px(RIGHT_MARGIN + UNIT_WIDTH / 2.0);
            plot.draw_text(&right.unit, &unit, (x, height / 2))?;
        }

        let mut chart = ChartBuilder::on(&area)
            .margin_right(px(RIGHT_MARGIN))
            .margin_top(px(3.0))
            .x_label_area_size(bottom)
            .y_label_area_size(left)
            .right_y_label_area_size(right)
            .build_cartesian_2d(time.clone(), values.left.clone())?
            // Without an axis on the right, nothing is drawn with these coordinates.
            .set_secondary_coord(
                time.clone(),
                values.right.as_ref().unwrap_or(&values.left).clone(),
            );
        let (low, high) = (values.left.start, values.left.end);
        let rectangle = |band: &Band, top: f64, tint: f64| {
            let start = self.time.seconds(band.start).max(time.start);
            let end = self.time.seconds(band.end).min(time.end);
            let style = canvas::color(band.color).mix(tint).filled();
            (start < end).then(|| Rectangle::new([(start, low), (end, top)], style))
        };
        let top = low + (high - low) * STATE_HEIGHT;
        let bands = self.bands.iter().map(|band| rectangle(band, high, TINT));
        let states = self.states.iter().map(|band| rectangle(band, top, STATE_TINT));
        chart.draw_series(bands.chain(states).flatten())?;
        self.draw_marks(&mut chart, (time, &values.left))?;
        let mut mesh = chart.configure_mesh();
        let (of_time, of_value) =
            (|at: &f64| time.label(*at), |at: &f64| values.left.label(*at));
        let nothing = |_: &f64| String::new();
        mesh.light_line_style(GRID.mix(0.0))
            .bold_line_style(GRID.stroke_width(FINE))
            .axis_style(INK.stroke_width(FINE))
            .label_style(text(&area, TICK_TEXT))
            .set_all_tick_mark_size(px(4.0))
            .x_label_formatter(if has_times { &of_time } else { &nothing })
            .y_label_formatter(&of_value)
            .draw()?;
        let range = (time.start, time.end);
        let lines = panel.lines.iter().enumerate();
        let shapes =
            self.shapes(lines, panel.limits, range, |point| chart.backend_coord(point));
        chart.draw_series(shapes)?;
        if let Some((right, axis)) = panel.right.as_ref().zip(values.right.as_ref()) {
            chart
                .configure_secondary_axes()
                .axis_style(INK.stroke_width(FINE))
                .label_style(text(&area, TICK_TEXT))
                .set_all_tick_mark_size(px(4.0))
                .y_label_formatter(&|at: &f64| axis.label(*at))
                .draw()?;
            let lines = (panel.lines.len()..).zip(&right.lines);
            let coordinates = chart.borrow_secondary();
            let shapes = self.shapes(lines, right.limits, range, |point| {
                coordinates.backend_coord(point)
            });
            chart.draw_secondary_series(shapes)?;
        }
        if has_texts {
            self.draw_mark_texts(&area, &mut chart, (time, &values.left), height)?;
        }
        Ok(())
    }

    /// Returns the shapes of numbered `lines` on an axis with these `limits`. `locate` converts
    /// a point to units of the canvas.
    fn shapes<'a, 'l>(
        &self,
        lines: impl Iterator<Item = (usize, &'l Line)>,
        limits: Option<(f64, f64)>,
        time: (f64, f64),
        locate: impl Fn(&(f64, f64)) -> (i32, i32),
    ) -> Vec<Shape<'a>> {
        let mut shapes = Vec::new();
        for (index, line) in lines {
            for run in &line.signal.runs {
                let points = self.points(line, run, time);
                let pieces = match limits {
                    // Otherwise the line would extend into the panel above or below.
                    Some(limits) => clip(&points, limits),
                    None => vec![points],
                };
                let pieces = pieces.into_iter();
                shapes.extend(pieces.filter_map(|piece| shape(piece, index, &locate)));
            }
        }
        shapes
    }

    /// Returns the points of a line in the visible time range.
    fn points(
        &self,
        line: &Line,
        run: &[(i64, f64)],
        (start, end): (f64, f64),
    ) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = Vec::with_capacity(run.len());
        let mut held = None;
        for (nanos, value) in run {
            let at = self.time.seconds(*nanos);
            if at > end {
                break;
            }
            if let Some(before) = held.filter(|_| at >= start) {
                if points.is_empty() {
                    points.push((start, before));
                }
                points.push((at, before));
            }
            if at >= start {
                points.push((at, *value));
            }
            held = Some(*value).filter(|_| line.is_held);
        }
        // The last value holds to the end.
        if let Some(value) = held {
            if points.is_empty() {
                points.push((start, value));
            }
            points.push((end, value));
        }
        points
    }

    /// Returns the legend entries of the visible bands and states.
    fn band_entries(&self) -> Vec<LegendEntry> {
        let (start, end) = self.span();
        let mut entries: Vec<LegendEntry> = Vec::new();
        let bands = self.bands.iter().map(|band| (band, TINT));
        let states = self.states.iter().map(|band| (band, STATE_TINT));
        for (band, intensity) in bands.chain(states) {
            let is_seen = self.time.seconds(band.start) < end
                && self.time.seconds(band.end) > start;
            if is_seen && !entries.iter().any(|entry| entry.name == band.name) {
                let color = tint(band.color, intensity);
                let (name, piece) = (band.name.clone(), LegendSample::Area);
                entries.push(LegendEntry { name, color, piece });
            }
        }
        entries
    }
}

/// A line or a dot.
type Shape<'a> = DynElement<'static, SVGBackend<'a>, (f64, f64)>;

/// Returns the shape of a line through `points` with the colour of the line `index`, if there
/// are any.
fn shape<'a>(
    points: Vec<(f64, f64)>,
    index: usize,
    locate: impl Fn(&(f64, f64)) -> (i32, i32),
) -> Option<Shape<'a>> {
    let color = canvas::color(palette::line(index));
    let first = *points.first()?;
    if is_spot(points.iter().map(&locate)) {
        return Some(Circle::new(first, px(1.6), color.filled()).into_dyn());
    }
    let style = color.stroke_width(canvas::LINE + palette::dash(index));
    Some(PathElement::new(points, style).into_dyn())
}

/// Returns the pieces of the line through `points` that are within these limits of the value.
fn clip(points: &[(f64, f64)], (low, high): (f64, f64)) -> Vec<Vec<(f64, f64)>> {
    let is_within = |point: (f64, f64)| (low..=high).contains(&point.1);
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut open = false;
    let mut before: Option<(f64, f64)> = None;
    for point in points {
        // The line may cross the limits between two points, also both of them.
        if let Some(from) = before {
            let mut crossings: Vec<(f64, f64)> = [low, high]
                .into_iter()
                .filter(|limit| (from.1 < *limit) != (point.1 < *limit))
                .filter(|limit| from.1 != *limit && point.1 != *limit)
                .map(|limit| {
                    let share = (limit - from.1) / (point.1 - from.1);
                    (from.0 + share * (point.0 - from.0), limit)
                })
                .collect();
            if from.1 > point.1 {
                crossings.reverse();
            }
            for crossing in crossings {
                match pieces.last_mut().filter(|_| open) {
                    Some(piece) => piece.push(crossing),
                    None => pieces.push(vec![crossing]),
                }
                open = !open;
            }
        }
        let is_visible = is_within(*point);
        match pieces.last_mut().filter(|_| open) {
            Some(piece) if is_visible => piece.push(*point),
            None if is_visible => pieces.push(vec![*point]),
            _ => {}
        }
        open = is_visible;
        before = Some(*point);
    }
    pieces
}

/// Draws `title` at the top of `area`, and returns the rest.
fn draw_title<'a>(area: &Area<'a>, title: &str) -> canvas::DrawResult<Area<'a>> {
    if title.is_empty() {
        return Ok(area.clone());
    }
    let (above, below) = canvas::split_down(area, px(TITLE_HEIGHT))?;
    let style = text(&above, TITLE_TEXT).pos(canvas::CENTER);
    let middle = (above.dim_in_pixel().0 as i32 / 2, px(TITLE_HEIGHT / 2.0));
    above.draw_text(&font::printable_text(title), &style, middle)?;
    Ok(below)
}

/// Returns whether a line through `places` would be shorter than its width, so that it
/// would hardly be visible.
fn is_spot(places: impl Iterator<Item = (i32, i32)> + Clone) -> bool {
    let is_short = |along: fn((i32, i32)) -> i32| {
        let (low, high) = places
            .clone()
            .map(along)
            .fold((i32::MAX, i32::MIN), |(low, high), at| (low.min(at), high.max(at)));
        high.saturating_sub(low) < canvas::LINE as i32
    };
    is_short(|place| place.0) && is_short(|place| place.1)
}

/// Returns the colour of a band of this intensity on white.
fn tint(color: Rgb, intensity: f64) -> Rgb {
    color.map(|part| (255.0 - (255.0 - f64::from(part)) * intensity).round() as u8)
}

/// The value axes of a plot.
struct ValueAxes {
    left: Axis,
    right: Option<Axis>,
}

impl ValueAxes {
    /// Returns the axes of `panel` if it has this height.
    fn new(panel: &Panel, height: i32) -> Self {
        let right = panel.right.as_ref();
        Self {
            left: value_axis(&panel.lines, panel.limits, height),
            right: right.map(|right| value_axis(&right.lines, right.limits, height)),
        }
    }
}

/// Returns the axis of the values of `lines` if it has this height.
fn value_axis(lines: &[Line], limits: Option<(f64, f64)>, height: i32) -> Axis {
    let spans = || lines.iter().filter_map(|line| line.signal.span());
    let low = spans().map(|span| span.0).fold(f64::INFINITY, f64::min);
    let high = spans().map(|span| span.1).fold(f64::NEG_INFINITY, f64::max);
    let marks = value_marks(height);
    if let Some((low, high)) = limits {
        return Axis::numbers(low, high, marks, false);
    }
    // States are integers, so there are no ticks between two of them.
    if lines.iter().all(|line| line.is_held) {
        Axis::whole_numbers(low, high, marks)
    } else {
        Axis::numbers(low, high, marks, true)
    }
}

/// Returns the number of ticks of a value axis with this height.
fn value_marks(height: i32) -> usize {
    (f64::from(height) / f64::from(px(45.0))).max(2.0) as usize
}

/// Returns the width of the labels of an axis.
pub(crate) fn label_width(axis: &Axis) -> i32 {
    let widths =
        axis.ticks.iter().map(|tick| canvas::width(&axis.label(*tick), TICK_TEXT));
    widths.max().unwrap_or(0)
}

/// Implements the axis trait of plotters.
impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        let share = (value - self.start) / (self.end - self.start);
        start + (f64::from(end - start) * share.clamp(-1.0, 2.0)).round() as i32
    }

    fn key_points<H: KeyPointHint>(&self, _: H) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.start..self.end
    }
}

#[cfg(test)]
mod tests;
