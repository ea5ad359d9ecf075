//! Legends above plots.

use plotters::{
    element::{PathElement, Rectangle},
    style::Color as _,
};

use crate::{
    draw::canvas::{self, Area, DrawResult, px, text},
    font,
    palette::{self, Rgb},
};

const TEXT: f64 = 12.0;
/// The height of a row, the width of the colour sample before a name, and the space after
/// it.
const ROW: f64 = 18.0;
const PIECE: f64 = 18.0;
const ROOM: f64 = 16.0;

/// A colour and its name.
pub(crate) struct LegendEntry {
    pub(crate) name: String,
    pub(crate) color: Rgb,
    pub(crate) piece: LegendSample,
}

impl LegendEntry {
    /// Returns the entry of the line with this number and name.
    pub(crate) fn of_line((index, name): (usize, String)) -> Self {
        let piece = LegendSample::Line(palette::dash(index));
        Self { name, color: palette::line(index), piece }
    }
}

/// The kind of the colour sample.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LegendSample {
    /// A line with this dash style.
    Line(u32),
    Area,
}

/// Returns the positions of `entries` in rows that are `most` units wide, and the height of the
/// rows.
fn layout(entries: &[LegendEntry], most: i32) -> (Vec<(i32, i32)>, i32) {
    let (mut x, mut y) = (0, px(ROW / 2.0));
    let mut places = Vec::with_capacity(entries.len());
    for entry in entries {
        let name = font::printable_text(&entry.name);
        let width = px(PIECE + 6.0 + ROOM) + canvas::width(&name, TEXT);
        if x > 0 && x + width > most {
            (x, y) = (0, y + px(ROW));
        }
        places.push((x, y));
        x += width;
    }
    (places, if entries.is_empty() { 0 } else { y + px(ROW / 2.0 + 2.0) })
}

/// Returns the height in units of `entries` in rows that are `most` units wide.
pub(crate) fn height(entries: &[LegendEntry], most: i32) -> i32 {
    layout(entries, most).1
}

/// Draws `entries` in as many rows as necessary, at the top of `area`. Returns the rest
/// of the area.
pub(crate) fn draw<'a>(
    area: &Area<'a>,
    entries: &[LegendEntry],
) -> DrawResult<Area<'a>> {
    let style = text(area, TEXT).pos(canvas::FROM_LEFT);
    let (places, used) = layout(entries, area.dim_in_pixel().0 as i32);
    for (entry, (x, y)) in entries.iter().zip(places) {
        let name = font::printable_text(&entry.name);
        let color = canvas::color(entry.color);
        match entry.piece {
            LegendSample::Line(dash) => {
                let line = color.stroke_width(canvas::STRONG + dash);
                area.draw(&PathElement::new([(x, y), (x + px(PIECE), y)], line))?;
            }
            LegendSample::Area => {
                let corners = [(x, y - px(5.0)), (x + px(PIECE), y + px(5.0))];
                area.draw(&Rectangle::new(corners, color.filled()))?;
            }
        }
        area.draw_text(&name, &style, (x + px(PIECE + 6.0), y))?;
    }
    Ok(canvas::split_down(area, used)?.1)
}
