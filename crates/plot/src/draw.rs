//! Draws charts as SVG.

pub(crate) mod canvas;
pub(crate) mod legend;
mod marks;
mod xy;

use std::collections::BTreeSet;

use logtool_core::Result;
use plotters::{
    chart::ChartBuilder,
    coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged},
    element::{Circle, DynElement, IntoDynElement as _, PathElement, Rectangle},
    prelude::SVGBackend,
    style::Color as _,
};

use crate::{
    chart::{Band, Chart, Line, Panel, names_of_axis},
    draw::{
        canvas::{Area, Canvas, GRID_COLOR, LINE_COLOR, THIN_WIDTH, px, text},
        legend::{LegendEntry, LegendSample},
    },
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

/// The height of a plot of values against other values, divided by the height of a plot over time.
const XY_HEIGHTS: i32 = 2;

/// The colour intensities of bands and of states.
const TINT: f64 = 0.18;
const STATE_TINT: f64 = 0.45;
/// The height of states, divided by the height of the plot.
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
            let total_heights = self.panels.len() as i32 + XY_HEIGHTS * count;
            let panel_height = XY_HEIGHTS * height / total_heights.max(1);
            let mut remaining = inner.clone();
            if !self.panels.is_empty() || count == 0 {
                let time_height = (height - panel_height * count).clamp(0, height);
                let parts = inner.split_vertically(time_height);
                self.time_panels(&parts.0, f64::from(width))?;
                remaining = parts.1;
            }
            let areas = remaining.split_evenly((count as usize, 1));
            for (panel, area) in self.xy.iter().zip(areas) {
                xy::draw(&area, panel)?;
            }
            Ok(())
        })
    }

    /// Draws the plots over time and their common axis. The whole chart is `width` pixels wide.
    fn time_panels(&self, area: &Area<'_>, width: f64) -> canvas::DrawResult {
        let (start, end) = self.span();
        let tick_count = (width / 110.0) as usize;
        let time = match self.time.day {
            Some(day) => Axis::times_of_day(start, end, tick_count, day),
            None => Axis::numbers(start, end, tick_count, false),
        };
        let mut entries = self.band_entries();
        entries.extend(self.mark_entries(&time));
        let inner = legend::draw(area, &entries)?;
        let (plots, name_area) = canvas::split_down(
            &inner,
            inner.dim_in_pixel().1 as i32 - px(NAME_HEIGHT + TICKS_HEIGHT),
        )?;
        let count = self.panels.len().max(1) as i32;
        let panel_height = plots.dim_in_pixel().1 as i32 / count;
        let axes: Vec<ValueAxes> = self
            .panels
            .iter()
            .map(|panel| ValueAxes::new(panel, panel_height))
            .collect();
        let side_width = |width: i32| width + px(UNIT_WIDTH + 12.0);
        let left = axes.iter().map(|axes| label_width(&axes.left)).max();
        let right =
            axes.iter().filter_map(|axes| axes.right.as_ref().map(label_width)).max();
        let side_widths = (side_width(left.unwrap_or(0)), right.map_or(0, side_width));
        for (index, (panel, values)) in self.panels.iter().zip(&axes).enumerate() {
            let (is_first, is_last) = (index == 0, index + 1 == self.panels.len());
            let top = panel_height * index as i32;
            let bottom =
                top + panel_height + if is_last { px(TICKS_HEIGHT) } else { 0 };
            let (_, below_top) = canvas::split_down(&inner, top)?;
            let (panel_area, _) = canvas::split_down(&below_top, bottom - top)?;
            self.panel(
                &panel_area,
                panel,
                (&time, values),
                side_widths,
                (is_first, is_last),
            )?;
        }
        let (_, label_area) = canvas::split_down(&name_area, px(TICKS_HEIGHT))?;
        let middle =
            (side_widths.0 + label_area.dim_in_pixel().0 as i32 - side_widths.1) / 2;
        let style = text(&label_area, 12.0).pos(canvas::CENTER);
        canvas::draw_text(
            &label_area,
            &self.time.name,
            &style,
            (middle, px(NAME_HEIGHT / 2.0)),
        )
    }

    /// Draws a plot over time, with the widths `left` and `right` for the labels of its axes. Texts
    /// of marks and labels of times are drawn if `has_texts` and `has_times` are set.
    fn panel(
        &self,
        area: &Area<'_>,
        panel: &Panel,
        (time, values): (&Axis, &ValueAxes),
        (left, right): (i32, i32),
        (has_texts, has_times): (bool, bool),
    ) -> canvas::DrawResult {
        let line_names = panel.lines.iter().map(|line| line.name.clone());
        let right_lines = panel.right.iter().flat_map(|right| &right.lines);
        let line_names =
            line_names.chain(right_lines.map(|line| format!("{} (right)", line.name)));
        let entries: Vec<_> =
            line_names.enumerate().map(LegendEntry::for_line).collect();
        let right_area = canvas::right_of(area, left)?;
        let legend_end = legend::draw(&right_area, &entries)?;
        let legend_height = right_area.dim_in_pixel().1 - legend_end.dim_in_pixel().1;
        let (_, area) = canvas::split_down(area, legend_height as i32)?;
        let (width, available_height) = area.dim_in_pixel();
        if (width as i32) < left + right + px(60.0)
            || (available_height as i32) < px(TICKS_HEIGHT + 30.0)
        {
            return Err(canvas::TOO_SMALL);
        }
        let bottom = if has_times { px(TICKS_HEIGHT) } else { px(10.0) };
        let (plot, _) = canvas::split_down(&area, available_height as i32 - bottom)?;
        let unit = text(&plot, 12.0).pos(canvas::CENTER).transform(canvas::UPWARDS);
        let height = plot.dim_in_pixel().1 as i32;
        canvas::draw_text(
            &plot,
            &panel.unit,
            &unit,
            (px(UNIT_WIDTH / 2.0), height / 2),
        )?;
        if let Some(right) = &panel.right {
            let x = width as i32 - px(RIGHT_MARGIN + UNIT_WIDTH / 2.0);
            canvas::draw_text(&plot, &right.unit, &unit, (x, height / 2))?;
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
        let (time_label, value_label) =
            (|at: &f64| time.label(*at), |at: &f64| values.left.label(*at));
        let no_label = |_: &f64| String::new();
        mesh.light_line_style(GRID_COLOR.mix(0.0))
            .bold_line_style(GRID_COLOR.stroke_width(THIN_WIDTH))
            .axis_style(LINE_COLOR.stroke_width(THIN_WIDTH))
            .label_style(text(&area, TICK_TEXT))
            .set_all_tick_mark_size(px(4.0))
            .x_label_formatter(if has_times { &time_label } else { &no_label })
            .y_label_formatter(&value_label)
            .draw()?;
        let range = (time.start, time.end);
        let lines = panel.lines.iter().enumerate();
        let shapes =
            self.shapes(lines, panel.limits, range, |point| chart.backend_coord(point));
        chart.draw_series(shapes)?;
        if let Some((right, axis)) = panel.right.as_ref().zip(values.right.as_ref()) {
            chart
                .configure_secondary_axes()
                .axis_style(LINE_COLOR.stroke_width(THIN_WIDTH))
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

    /// Returns the shapes of `lines`, given with their indices, on an axis with these `limits`.
    /// `locate` converts a point to units of the canvas.
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
                let clipped = match limits {
                    // Lines outside of the limits would extend into the panel above or below.
                    Some(limits) => clip(&points, limits),
                    None => vec![points],
                };
                let clipped = clipped.into_iter();
                shapes.extend(
                    clipped.filter_map(|segment| shape(segment, index, &locate)),
                );
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
        let mut last_value = None;
        for (nanos, value) in run {
            let time = self.time.seconds(*nanos);
            if time > end {
                break;
            }
            if let Some(previous) = last_value.filter(|_| time >= start) {
                if points.is_empty() {
                    points.push((start, previous));
                }
                points.push((time, previous));
            }
            if time >= start {
                points.push((time, *value));
            }
            last_value = Some(*value).filter(|_| line.is_held);
        }
        // The last value lasts until the end.
        if let Some(value) = last_value {
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
            let is_visible = self.time.seconds(band.start) < end
                && self.time.seconds(band.end) > start;
            if is_visible && !entries.iter().any(|entry| entry.name == band.name) {
                let color = tint(band.color, intensity);
                let (name, sample) = (band.name.clone(), LegendSample::Area);
                entries.push(LegendEntry { name, color, sample });
            }
        }
        entries
    }
}

/// A line or a dot.
type Shape<'a> = DynElement<'static, SVGBackend<'a>, (f64, f64)>;

/// Returns the shape of a line through `points` with the style of the line `index`. Returns `None`
/// without points.
fn shape<'a>(
    points: Vec<(f64, f64)>,
    index: usize,
    locate: impl Fn(&(f64, f64)) -> (i32, i32),
) -> Option<Shape<'a>> {
    let color = canvas::color(palette::line(index));
    let first = *points.first()?;
    if is_dot(points.iter().map(&locate)) {
        return Some(Circle::new(first, px(1.6), color.filled()).into_dyn());
    }
    let style = color.stroke_width(canvas::LINE_WIDTH + palette::dash(index));
    Some(PathElement::new(points, style).into_dyn())
}

/// Clips the line through `points` to the values between `low` and `high`. Returns its visible
/// parts.
fn clip(points: &[(f64, f64)], (low, high): (f64, f64)) -> Vec<Vec<(f64, f64)>> {
    let is_within = |point: (f64, f64)| (low..=high).contains(&point.1);
    let mut parts: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut is_inside = false;
    let mut previous: Option<(f64, f64)> = None;
    for point in points {
        // The line may cross the limits between two points, also both of them.
        if let Some(start) = previous {
            let mut crossings: Vec<(f64, f64)> = [low, high]
                .into_iter()
                .filter(|limit| (start.1 < *limit) != (point.1 < *limit))
                .filter(|limit| start.1 != *limit && point.1 != *limit)
                .map(|limit| {
                    let share = (limit - start.1) / (point.1 - start.1);
                    (start.0 + share * (point.0 - start.0), limit)
                })
                .collect();
            if start.1 > point.1 {
                crossings.reverse();
            }
            for crossing in crossings {
                match parts.last_mut().filter(|_| is_inside) {
                    Some(part) => part.push(crossing),
                    None => parts.push(vec![crossing]),
                }
                is_inside = !is_inside;
            }
        }
        let is_visible = is_within(*point);
        match parts.last_mut().filter(|_| is_inside) {
            Some(part) if is_visible => part.push(*point),
            None if is_visible => parts.push(vec![*point]),
            _ => {}
        }
        is_inside = is_visible;
        previous = Some(*point);
    }
    parts
}

/// Draws `title` at the top of `area`. Returns the remaining area.
fn draw_title<'a>(area: &Area<'a>, title: &str) -> canvas::DrawResult<Area<'a>> {
    if title.is_empty() {
        return Ok(area.clone());
    }
    let (above, below) = canvas::split_down(area, px(TITLE_HEIGHT))?;
    let style = text(&above, TITLE_TEXT).pos(canvas::CENTER);
    let middle = (above.dim_in_pixel().0 as i32 / 2, px(TITLE_HEIGHT / 2.0));
    canvas::draw_text(&above, title, &style, middle)?;
    Ok(below)
}

/// Returns whether a line through `positions` would be shorter than its width, and therefore hardly
/// visible.
fn is_dot(positions: impl Iterator<Item = (i32, i32)> + Clone) -> bool {
    let is_short = |coordinate: fn((i32, i32)) -> i32| {
        let (low, high) = positions
            .clone()
            .map(coordinate)
            .fold((i32::MAX, i32::MIN), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        high.saturating_sub(low) < canvas::LINE_WIDTH as i32
    };
    is_short(|position| position.0) && is_short(|position| position.1)
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
    /// Returns the axes of `panel` for a plot of this height.
    fn new(panel: &Panel, height: i32) -> Self {
        let right = panel.right.as_ref();
        Self {
            left: value_axis(&panel.lines, panel.limits, height),
            right: right.map(|right| value_axis(&right.lines, right.limits, height)),
        }
    }
}

/// Returns the value axis of `lines` for a plot of this height.
fn value_axis(lines: &[Line], limits: Option<(f64, f64)>, height: i32) -> Axis {
    let spans = || lines.iter().filter_map(|line| line.signal.span());
    let low = spans().map(|span| span.0).fold(f64::INFINITY, f64::min);
    let high = spans().map(|span| span.1).fold(f64::NEG_INFINITY, f64::max);
    let tick_count = value_tick_count(height);
    if let Some(names) = names_of_axis(lines) {
        let samples = lines.iter().flat_map(|line| line.signal.runs.iter().flatten());
        let values = samples.map(|(_, value)| *value);
        return Axis::states(&states(values), names, limits, tick_count * 2);
    }
    if let Some((low, high)) = limits {
        return Axis::numbers(low, high, tick_count, false);
    }
    // States are integers, so their axis has ticks only at integers.
    if lines.iter().all(|line| line.is_held) {
        Axis::whole_numbers(low, high, tick_count)
    } else {
        Axis::numbers(low, high, tick_count, true)
    }
}

/// Returns the states among `values`, which are whole numbers.
fn states(values: impl Iterator<Item = f64>) -> BTreeSet<i64> {
    values.filter(|value| value.is_finite()).map(|value| value.round() as i64).collect()
}

/// Returns the number of ticks of a value axis with this height.
fn value_tick_count(height: i32) -> usize {
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
