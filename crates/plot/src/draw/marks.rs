//! Marks of events on the plots over time.

use logtool_core::escape_unprintable;
use plotters::{
    chart::ChartContext,
    coord::cartesian::Cartesian2d,
    element::{EmptyElement, PathElement, Rectangle, Text},
    prelude::SVGBackend,
    style::{Color as _, WHITE},
};

use crate::{
    chart::{Chart, Mark},
    draw::canvas::{self, Area, THIN_WIDTH, px, text},
    draw::legend::{LegendEntry, LegendSample},
    ticks::Axis,
};

/// The height of the texts next to marks, and the minimum distance of two texts, in pixels.
const TEXT_HEIGHT: f64 = 10.0;
const TEXT_DISTANCE: f64 = 16.0;
/// The distance of a text to its mark and to the upper end of the plot, in pixels.
const TEXT_GAP: (f64, f64) = (8.0, 4.0);

/// The minimum width of a bar in pixels. Narrower marks are lines.
const BAR_WIDTH: f64 = 2.0;
/// The intensity of the colours of bars.
const BAR_TINT: f64 = 0.35;

/// The maximum number of characters of a text.
const MAX_CHARS: usize = 100;

/// A plot with its coordinates.
type Plot<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

impl Chart {
    /// Draws the marks between the start and the end of `time` as lines and bars.
    pub(super) fn draw_marks(
        &self,
        plot: &mut Plot<'_>,
        (time, values): (&Axis, &Axis),
    ) -> canvas::DrawResult {
        let (low, high) = (values.start, values.end);
        let column = |seconds: f64| plot.backend_coord(&(seconds, low)).0;
        let (mut bars, mut lines) = (Vec::new(), Vec::new());
        for (mark, (start, end)) in self.visible_marks(time) {
            let color = canvas::color(mark.color);
            if column(end) - column(start) >= px(BAR_WIDTH) {
                let style = color.mix(BAR_TINT).filled();
                bars.push(Rectangle::new([(start, low), (end, high)], style));
            } else {
                let ends = vec![(start, low), (start, high)];
                lines.push(PathElement::new(ends, color.stroke_width(THIN_WIDTH)));
            }
        }
        plot.draw_series(bars)?;
        plot.draw_series(lines)?;
        Ok(())
    }

    /// Draws the texts of the marks downwards from the upper end of the plot, which is `height`
    /// units high. Texts that would overlap others are omitted.
    pub(super) fn draw_mark_texts(
        &self,
        area: &Area<'_>,
        plot: &mut Plot<'_>,
        (time, values): (&Axis, &Axis),
        height: i32,
    ) -> canvas::DrawResult {
        let (gap, top) = (px(TEXT_GAP.0), px(TEXT_GAP.1));
        let style =
            text(area, TEXT_HEIGHT).pos(canvas::FROM_LEFT).transform(canvas::DOWNWARDS);
        let mut texts = Vec::new();
        let mut min_position = i32::MIN;
        let right = plot.backend_coord(&(time.end, values.end)).0;
        for (mark, (start, _)) in self.visible_marks(time) {
            let position = plot.backend_coord(&(start, values.end)).0;
            let text_part = shorten_text(&mark.text, height - 2 * top);
            if text_part.is_empty()
                || position < min_position
                || position + 2 * gap > right
            {
                continue;
            }
            min_position = position + px(TEXT_DISTANCE);
            let length = canvas::width(&text_part, TEXT_HEIGHT);
            let half = px(TEXT_HEIGHT * 0.6);
            let background = [(gap - half, top), (gap + half, top + length)];
            let text_part = escape_unprintable(&text_part);
            texts.push(
                EmptyElement::at((start, values.end))
                    + Rectangle::new(background, WHITE.mix(0.75).filled())
                    + Text::new(text_part, (gap, top), style.clone()),
            );
        }
        plot.draw_series(texts)?;
        Ok(())
    }

    /// Returns a legend entry for each kind of the visible marks.
    pub(super) fn mark_entries(&self, time: &Axis) -> Vec<LegendEntry> {
        let mut entries: Vec<LegendEntry> = Vec::new();
        for (mark, _) in self.visible_marks(time) {
            if !entries.iter().any(|entry| entry.name == mark.kind) {
                let (name, color) = (mark.kind.clone(), mark.color);
                entries.push(LegendEntry { name, color, sample: LegendSample::Area });
            }
        }
        entries
    }

    /// Returns the marks that are at least partly on the axis, with their visible time ranges in
    /// seconds.
    fn visible_marks(&self, time: &Axis) -> impl Iterator<Item = (&Mark, (f64, f64))> {
        let (axis_start, axis_end) = (time.start, time.end);
        self.marks.iter().filter_map(move |mark| {
            let start = self.time.seconds(mark.start);
            let end = self.time.seconds(mark.end).max(start);
            let is_visible = start <= axis_end && end >= axis_start;
            is_visible.then(|| (mark, (start.max(axis_start), end.min(axis_end))))
        })
    }
}

/// Shortens `text` to at most `length` units. A shortened text ends with an ellipsis. Returns an
/// empty text if not even one character fits.
fn shorten_text(text: &str, length: i32) -> String {
    let mut prefix: String = text.chars().take(MAX_CHARS).collect();
    let mut is_whole = prefix.len() == text.len();
    loop {
        let candidate = if is_whole { prefix.clone() } else { format!("{prefix}…") };
        if canvas::width(&candidate, TEXT_HEIGHT) <= length {
            return candidate;
        }
        is_whole = false;
        prefix.pop();
        if prefix.is_empty() {
            return prefix;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_ends_with_an_ellipsis() {
        let length = canvas::width("MC_ROLL_P 7", TEXT_HEIGHT);
        assert_eq!(shorten_text("MC_ROLL_P 7", length), "MC_ROLL_P 7");
        let part = shorten_text("MC_ROLL_P 7, MC_PITCH_P 7", length);
        assert!(part.starts_with("MC_ROLL") && part.ends_with('…'), "{part}");
        assert!(canvas::width(&part, TEXT_HEIGHT) <= length);
        assert_eq!(shorten_text("MC_ROLL_P 7", 0), "");
        let endless = "A".repeat(1 << 20);
        assert_eq!(shorten_text(&endless, i32::MAX).chars().count(), MAX_CHARS + 1);
    }
}
