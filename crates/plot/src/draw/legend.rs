//! Legends above plots.

use plotters::{
    element::{PathElement, Rectangle},
    style::Color as _,
};

use crate::{
    draw::canvas::{self, Area, DrawResult, px, text},
    palette::{self, Rgb},
};

const TEXT_HEIGHT: f64 = 12.0;
/// The height of a row, the width of the colour sample before a name, and the space after
/// it.
const ROW_HEIGHT: f64 = 18.0;
const SAMPLE_WIDTH: f64 = 18.0;
const SPACE: f64 = 16.0;

/// An entry of a legend: a colour sample and a name.
pub(crate) struct LegendEntry {
    pub(crate) name: String,
    pub(crate) color: Rgb,
    pub(crate) sample: LegendSample,
}

impl LegendEntry {
    /// Returns the entry of the line with this index and name.
    pub(crate) fn for_line((index, name): (usize, String)) -> Self {
        let sample = LegendSample::Line(palette::dash(index));
        Self { name, color: palette::line(index), sample }
    }
}

/// The shape of a colour sample.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LegendSample {
    /// A line with this dash style.
    Line(u32),
    /// A filled rectangle.
    Area,
}

/// Returns the positions of `entries` in rows that are `max_width` units wide, and the height of the
/// rows.
fn layout(entries: &[LegendEntry], max_width: i32) -> (Vec<(i32, i32)>, i32) {
    let (mut x, mut y) = (0, px(ROW_HEIGHT / 2.0));
    let mut positions = Vec::with_capacity(entries.len());
    for entry in entries {
        let width =
            px(SAMPLE_WIDTH + 6.0 + SPACE) + canvas::width(&entry.name, TEXT_HEIGHT);
        if x > 0 && x + width > max_width {
            (x, y) = (0, y + px(ROW_HEIGHT));
        }
        positions.push((x, y));
        x += width;
    }
    (positions, if entries.is_empty() { 0 } else { y + px(ROW_HEIGHT / 2.0 + 2.0) })
}

/// Returns the height in units of `entries` in rows that are `max_width` units wide.
pub(crate) fn height(entries: &[LegendEntry], max_width: i32) -> i32 {
    layout(entries, max_width).1
}

/// Draws `entries` in as many rows as necessary, at the top of `area`. Returns the rest
/// of the area.
pub(crate) fn draw<'a>(
    area: &Area<'a>,
    entries: &[LegendEntry],
) -> DrawResult<Area<'a>> {
    let style = text(area, TEXT_HEIGHT).pos(canvas::FROM_LEFT);
    let (positions, used) = layout(entries, area.dim_in_pixel().0 as i32);
    for (entry, (x, y)) in entries.iter().zip(positions) {
        let color = canvas::color(entry.color);
        match entry.sample {
            LegendSample::Line(dash) => {
                let line = color.stroke_width(canvas::THICK_WIDTH + dash);
                area.draw(&PathElement::new(
                    [(x, y), (x + px(SAMPLE_WIDTH), y)],
                    line,
                ))?;
            }
            LegendSample::Area => {
                let corners = [(x, y - px(5.0)), (x + px(SAMPLE_WIDTH), y + px(5.0))];
                area.draw(&Rectangle::new(corners, color.filled()))?;
            }
        }
        let position = (x + px(SAMPLE_WIDTH + 6.0), y);
        canvas::draw_text(area, &entry.name, &style, position)?;
    }
    Ok(canvas::split_down(area, used)?.1)
}
