//! Plots of values against other values.

use plotters::{chart::ChartBuilder, style::Color as _};

use crate::{
    chart::{XyAxis, XyLine, XyPanel},
    draw::{
        NAME_HEIGHT, RIGHT_MARGIN, TICK_TEXT, TICKS_HEIGHT, UNIT_WIDTH,
        canvas::{
            self, Area, DrawResult, GRID_COLOR, LINE_COLOR, THIN_WIDTH, px, text,
        },
        label_width,
        legend::{self, LegendEntry},
        shape, states, value_tick_count,
    },
    ticks::Axis,
};

/// The minimum width and height of the plot without labels, in pixels.
const MIN_SIZE: f64 = 60.0;
/// The distance of the ticks of the horizontal axis, in pixels.
const TICK_DISTANCE: f64 = 90.0;

/// Draws `panel` in `area`.
pub(super) fn draw(area: &Area<'_>, panel: &XyPanel) -> DrawResult {
    let names = panel.lines.iter().map(|line| line.name.clone()).enumerate();
    let entries: Vec<LegendEntry> = names.map(LegendEntry::for_line).collect();
    let area = legend::draw(area, &entries)?;
    let (width, height) = (area.dim_in_pixel().0 as i32, area.dim_in_pixel().1 as i32);
    let bottom = px(TICKS_HEIGHT + NAME_HEIGHT);
    let plot_height = height - bottom;
    let y_tick_count = value_tick_count(plot_height);
    let mut y = axis(panel, &panel.y, y_tick_count, |point| point.1);
    // The width of the labels hardly depends on the final range.
    let left = label_width(&y) + px(UNIT_WIDTH + 12.0);
    let plot_width = width - left - px(RIGHT_MARGIN);
    if plot_width < px(MIN_SIZE) || plot_height < px(MIN_SIZE) {
        return Err(canvas::TOO_SMALL);
    }
    let x_tick_count =
        (f64::from(plot_width) / f64::from(px(TICK_DISTANCE))).max(2.0) as usize;
    let mut x = axis(panel, &panel.x, x_tick_count, |point| point.0);
    let has_states = [&panel.x, &panel.y].iter().any(|own| !own.value_names.is_empty());
    if panel.x.unit == panel.y.unit
        && panel.x.limits.or(panel.y.limits).is_none()
        && !has_states
    {
        let per_unit =
            |axis: &Axis, units: i32| (axis.end - axis.start) / f64::from(units);
        let scale = per_unit(&x, plot_width).max(per_unit(&y, plot_height));
        let widen = |axis: &Axis, units: i32, marks| {
            let (middle, half) =
                ((axis.start + axis.end) / 2.0, scale * f64::from(units) / 2.0);
            Axis::numbers(middle - half, middle + half, marks, false)
        };
        (x, y) =
            (widen(&x, plot_width, x_tick_count), widen(&y, plot_height, y_tick_count));
    }

    let style = text(&area, TICK_TEXT).pos(canvas::CENTER);
    let label_position = (left + plot_width / 2, height - px(NAME_HEIGHT / 2.0));
    canvas::draw_text(&area, &label(&panel.x), &style, label_position)?;
    let style = style.transform(canvas::UPWARDS);
    canvas::draw_text(
        &area,
        &label(&panel.y),
        &style,
        (px(UNIT_WIDTH / 2.0), plot_height / 2),
    )?;
    let (plots, _) = canvas::split_down(&area, height - px(NAME_HEIGHT))?;
    let mut chart = ChartBuilder::on(&plots)
        .margin_right(px(RIGHT_MARGIN))
        .margin_top(px(3.0))
        .x_label_area_size(px(TICKS_HEIGHT))
        .y_label_area_size(left)
        .build_cartesian_2d(x.clone(), y.clone())?;
    chart
        .configure_mesh()
        .light_line_style(GRID_COLOR.mix(0.0))
        .bold_line_style(GRID_COLOR.stroke_width(THIN_WIDTH))
        .axis_style(LINE_COLOR.stroke_width(THIN_WIDTH))
        .label_style(text(&area, TICK_TEXT))
        .set_all_tick_mark_size(px(4.0))
        .x_label_formatter(&|value: &f64| x.label(*value))
        .y_label_formatter(&|value: &f64| y.label(*value))
        .draw()?;
    let is_visible = |point: &(f64, f64)| {
        (x.start..=x.end).contains(&point.0) && (y.start..=y.end).contains(&point.1)
    };
    let mut shapes = Vec::new();
    for (index, line) in panel.lines.iter().enumerate() {
        let visible =
            line.runs.iter().flat_map(|run| run.split(|point| !is_visible(point)));
        shapes.extend(visible.filter_map(|run| {
            shape(run.to_vec(), index, |point| chart.backend_coord(point))
        }));
    }
    chart.draw_series(shapes)?;
    Ok(())
}

/// Returns the axis `axis` of `panel`. `value` returns the coordinate of a position on this axis.
fn axis(
    panel: &XyPanel,
    axis: &XyAxis,
    tick_count: usize,
    value: fn(&(f64, f64)) -> f64,
) -> Axis {
    let values = || panel.lines.iter().flat_map(XyLine::points).map(value);
    if !axis.value_names.is_empty() {
        let states = states(values());
        return Axis::states(&states, &axis.value_names, axis.limits, tick_count);
    }
    let span = values()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    let (start, end) = axis.limits.unwrap_or(span);
    Axis::numbers(start, end, tick_count, axis.limits.is_none())
}

/// Returns the label of an axis: its name and its unit.
fn label(axis: &XyAxis) -> String {
    let XyAxis { name, unit, .. } = axis;
    if unit.is_empty() { name.clone() } else { format!("{name} ({unit})") }
}
