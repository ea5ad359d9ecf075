//! Drawing charts as SVG.

pub(crate) mod canvas;
pub(crate) mod legend;

use logtool_core::Result;
use plotters::{
    chart::ChartBuilder,
    coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged},
    element::{Circle, PathElement, Rectangle},
    style::Color as _,
};

use crate::{
    chart::{Chart, Line, Panel},
    draw::{
        canvas::{Area, Canvas, FINE, GRID, INK, px, text},
        legend::{LegendEntry, LegendSample},
    },
    palette::{self, Rgb},
    ticks::Axis,
};

/// The sizes of the parts of a chart in pixels.
const MARGIN: f64 = 10.0;
const TICK_TEXT: f64 = 12.0;
const UNIT_WIDTH: f64 = 22.0;
const TICKS_HEIGHT: f64 = 26.0;
const NAME_HEIGHT: f64 = 20.0;

/// The intensity of the colours of bands.
const TINT: f64 = 0.18;

impl Chart {
    /// Returns the chart as SVG.
    ///
    /// # Errors
    /// `Limit` if the size is too small for the plots.
    pub fn svg(&self) -> Result<String> {
        let (width, height) = self.size;
        let (start, end) = self.span();
        let marks = (f64::from(width) / 110.0) as usize;
        let time = match self.time.day {
            Some(day) => Axis::times_of_day(start, end, marks, day),
            None => Axis::numbers(start, end, marks, false),
        };
        Canvas::new(width, height)?.draw(|area| {
            let inner = area.margin(px(MARGIN), px(MARGIN), px(MARGIN), px(MARGIN));
            let inner = legend::draw(&inner, &self.band_entries())?;
            let (plots, name) = canvas::split_down(
                &inner,
                inner.dim_in_pixel().1 as i32 - px(NAME_HEIGHT + TICKS_HEIGHT),
            )?;
            let count = self.panels.len().max(1) as i32;
            let each = plots.dim_in_pixel().1 as i32 / count;
            let axes: Vec<_> =
                self.panels.iter().map(|panel| value_axis(panel, each)).collect();
            let left =
                axes.iter().map(label_width).max().unwrap_or(0) + px(UNIT_WIDTH + 12.0);
            for (index, (panel, values)) in self.panels.iter().zip(axes).enumerate() {
                let is_last = index + 1 == self.panels.len();
                let top = each * index as i32;
                let bottom = top + each + if is_last { px(TICKS_HEIGHT) } else { 0 };
                let (_, rest) = canvas::split_down(&inner, top)?;
                let (own, _) = canvas::split_down(&rest, bottom - top)?;
                self.panel(&own, panel, (&time, values), left, is_last)?;
            }
            let (_, below) = canvas::split_down(&name, px(TICKS_HEIGHT))?;
            let middle = (left + below.dim_in_pixel().0 as i32) / 2;
            let style = text(&below, 12.0).pos(canvas::CENTER);
            below.draw_text(
                &self.time.name,
                &style,
                (middle, px(NAME_HEIGHT / 2.0)),
            )?;
            Ok(())
        })
    }

    fn panel(
        &self,
        area: &Area<'_>,
        panel: &Panel,
        (time, values): (&Axis, Axis),
        left: i32,
        has_times: bool,
    ) -> canvas::DrawResult {
        let entries: Vec<_> = panel
            .lines
            .iter()
            .enumerate()
            .map(|(index, line)| LegendEntry {
                name: line.name.clone(),
                color: palette::line(index),
                piece: LegendSample::Line(palette::dash(index)),
            })
            .collect();
        let beside = canvas::right_of(area, left)?;
        let shown = legend::draw(&beside, &entries)?;
        let used = beside.dim_in_pixel().1 - shown.dim_in_pixel().1;
        let (_, area) = canvas::split_down(area, used as i32)?;
        let (room_x, room_y) = area.dim_in_pixel();
        if (room_x as i32) < left + px(60.0)
            || (room_y as i32) < px(TICKS_HEIGHT + 30.0)
        {
            return Err(canvas::NO_ROOM);
        }
        let bottom = if has_times { px(TICKS_HEIGHT) } else { px(10.0) };
        let (plot, _) = canvas::split_down(&area, room_y as i32 - bottom)?;
        let unit = text(&plot, 12.0).pos(canvas::CENTER).transform(canvas::UPWARDS);
        let height = plot.dim_in_pixel().1 as i32;
        plot.draw_text(&panel.unit, &unit, (px(UNIT_WIDTH / 2.0), height / 2))?;

        let mut chart = ChartBuilder::on(&area)
            .margin_right(px(12.0))
            .margin_top(px(3.0))
            .x_label_area_size(bottom)
            .y_label_area_size(left)
            .build_cartesian_2d(time.clone(), values.clone())?;
        let (low, high) = (values.start, values.end);
        let bands = self.bands.iter().filter_map(|band| {
            let start = self.time.seconds(band.start).max(time.start);
            let end = self.time.seconds(band.end).min(time.end);
            let style = canvas::color(band.color).mix(TINT).filled();
            (start < end).then(|| Rectangle::new([(start, low), (end, high)], style))
        });
        chart.draw_series(bands)?;
        let mut mesh = chart.configure_mesh();
        let (of_time, of_value) =
            (|at: &f64| time.label(*at), |at: &f64| values.label(*at));
        let nothing = |_: &f64| String::new();
        mesh.light_line_style(GRID.mix(0.0))
            .bold_line_style(GRID.stroke_width(FINE))
            .axis_style(INK.stroke_width(FINE))
            .label_style(text(&area, TICK_TEXT))
            .set_all_tick_mark_size(px(4.0))
            .x_label_formatter(if has_times { &of_time } else { &nothing })
            .y_label_formatter(&of_value)
            .draw()?;
        for (index, line) in panel.lines.iter().enumerate() {
            let color = canvas::color(palette::line(index));
            for run in &line.signal.runs {
                let mut points = self.points(line, run, (time.start, time.end));
                if let Some((low, high)) = panel.limits {
                    // Otherwise the line would extend into the panel above or below.
                    points.iter_mut().for_each(|(_, y)| *y = y.max(low).min(high));
                }
                let places = points.iter().map(|point| chart.backend_coord(point));
                match points.first() {
                    None => {}
                    Some(one) if is_spot(places) => {
                        let dot = Circle::new(*one, px(1.6), color.filled());
                        chart.draw_series([dot])?;
                    }
                    Some(_) => {
                        let width = canvas::LINE + palette::dash(index);
                        let style = color.stroke_width(width);
                        chart.draw_series([PathElement::new(points, style)])?;
                    }
                }
            }
        }
        Ok(())
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

    /// Returns the legend entries of the visible bands.
    fn band_entries(&self) -> Vec<LegendEntry> {
        let (start, end) = self.span();
        let mut entries: Vec<LegendEntry> = Vec::new();
        for band in &self.bands {
            let is_seen = self.time.seconds(band.start) < end
                && self.time.seconds(band.end) > start;
            if is_seen && !entries.iter().any(|entry| entry.name == band.name) {
                let color = tint(band.color);
                let (name, piece) = (band.name.clone(), LegendSample::Area);
                entries.push(LegendEntry { name, color, piece });
            }
        }
        entries
    }
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

/// Returns the colour of a band on white.
fn tint(color: Rgb) -> Rgb {
    color.map(|part| (255.0 - (255.0 - f64::from(part)) * TINT).round() as u8)
}

/// Returns the value axis of a plot with this height.
fn value_axis(panel: &Panel, height: i32) -> Axis {
    let spans = || panel.lines.iter().filter_map(|line| line.signal.span());
    let low = spans().map(|span| span.0).fold(f64::INFINITY, f64::min);
    let high = spans().map(|span| span.1).fold(f64::NEG_INFINITY, f64::max);
    let marks = (f64::from(height) / f64::from(px(45.0))).max(2.0) as usize;
    if let Some((low, high)) = panel.limits {
        return Axis::numbers(low, high, marks, false);
    }
    // States are integers, so there are no ticks between two of them.
    if panel.lines.iter().all(|line| line.is_held) {
        Axis::whole_numbers(low, high, marks)
    } else {
        Axis::numbers(low, high, marks, true)
    }
}

/// Returns the width of the labels of an axis.
fn label_width(axis: &Axis) -> i32 {
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
