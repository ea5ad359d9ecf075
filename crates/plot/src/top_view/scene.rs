//! Draws everything around the points: axes, rings and the colour bar.

use logtool_core::Result;
use plotters::{
    element::{Circle, PathElement, Rectangle},
    style::Color as _,
};

use crate::{
    draw::canvas::{
        self, Area, CENTER, Canvas, DrawResult, FROM_LEFT, GRID_COLOR, LINE_COLOR,
        THIN_WIDTH, px, text,
    },
    palette::viridis,
    ticks::Axis,
    top_view::{SIDE, TopViewOptions, raster::Raster},
};

/// The position of the square of points in pixels.
const LEFT: f64 = 64.0;
const TOP: f64 = 34.0;
const WIDTH: u32 = SIDE + 190;
const HEIGHT: u32 = SIDE + 90;

/// The colour bar.
const BAR_LEFT: f64 = LEFT + SIDE as f64 + 24.0;
const BAR_WIDTH: f64 = 16.0;

/// The title, the axes, the rings and the colour bar of an image of points.
pub(super) struct Scene<'s> {
    options: &'s TopViewOptions,
    center: (f64, f64),
    reach: f64,
    colors: (f64, f64),
}

impl<'s> Scene<'s> {
    /// Creates the scene for the points in `raster`.
    pub(super) fn new(options: &'s TopViewOptions, raster: &Raster) -> Self {
        let Raster { center, reach, colors, .. } = *raster;
        Self { options, center, reach, colors }
    }

    /// Returns the position of the square of points in pixels from the left and the top.
    pub(super) fn position(&self) -> (f32, f32) {
        (LEFT as f32, TOP as f32)
    }

    /// Returns everything except the points, on a transparent background.
    pub(super) fn svg(&self) -> Result<String> {
        Canvas::new(WIDTH, HEIGHT)?.draw(|area| {
            self.title(area)?;
            self.grid(area)?;
            self.bar(area)
        })
    }

    fn title(&self, area: &Area<'_>) -> DrawResult {
        let style = text(area, 13.0).pos(FROM_LEFT);
        let title = crate::font::printable_text(&self.options.title);
        area.draw_text(&title, &style, (px(LEFT), px(TOP / 2.0)))
    }

    /// Draws the axes in metres, and rings of equal distance from the sensor.
    fn grid(&self, area: &Area<'_>) -> DrawResult {
        let side = f64::from(SIDE);
        let (left, bottom) = (px(LEFT), px(TOP + side));
        let middle = (px(LEFT + side / 2.0), px(TOP + side / 2.0));
        let per_metre = side / (2.0 * self.reach);
        let ink = LINE_COLOR.stroke_width(THIN_WIDTH);
        let axis = |center: f64| {
            Axis::numbers(center - self.reach, center + self.reach, 8, false)
        };
        let (x_axis, y_axis) = (axis(self.center.0), axis(self.center.1));
        for tick in &x_axis.ticks {
            let x = px(LEFT + (tick - x_axis.start) * per_metre);
            area.draw(&PathElement::new([(x, bottom), (x, bottom + px(4.0))], ink))?;
            let style = text(area, 12.0).pos(CENTER);
            area.draw_text(&x_axis.label(*tick), &style, (x, bottom + px(14.0)))?;
            // The rings show the distance from the sensor, which is in the centre.
            let radius = px(tick * per_metre);
            if radius > 0 && self.center == (0.0, 0.0) {
                area.draw(&Circle::new(
                    middle,
                    radius,
                    GRID_COLOR.stroke_width(THIN_WIDTH),
                ))?;
            }
        }
        for tick in &y_axis.ticks {
            let y = px(TOP + side - (tick - y_axis.start) * per_metre);
            area.draw(&PathElement::new([(left - px(4.0), y), (left, y)], ink))?;
            let label = y_axis.label(*tick);
            let center = left - px(8.0) - canvas::width(&label, 12.0);
            area.draw_text(&label, &text(area, 12.0).pos(FROM_LEFT), (center, y))?;
        }
        let (right, top) = (px(LEFT + side), px(TOP));
        let frame =
            [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        area.draw(&PathElement::new(frame, ink))?;
        let name = text(area, 12.0).pos(CENTER);
        area.draw_text("x (m)", &name, (middle.0, bottom + px(36.0)))?;
        let upwards = name.transform(canvas::UPWARDS);
        area.draw_text("y (m)", &upwards, (px(14.0), middle.1))
    }

    /// Draws the colour bar.
    fn bar(&self, area: &Area<'_>) -> DrawResult {
        let (low, high) = self.colors;
        let side = f64::from(SIDE);
        const STEPS: u32 = 128;
        for step in 0..STEPS {
            let share = f64::from(step) / f64::from(STEPS - 1);
            let y_of_step =
                |step: u32| TOP + side * (1.0 - f64::from(step) / f64::from(STEPS));
            // Slightly larger, so that no gap is visible between the colours.
            let (top, bottom) =
                (px(y_of_step(step + 1)), px((y_of_step(step) + 0.6).min(TOP + side)));
            let corners = [(px(BAR_LEFT), top), (px(BAR_LEFT + BAR_WIDTH), bottom)];
            area.draw(&Rectangle::new(
                corners,
                canvas::color(viridis(share)).filled(),
            ))?;
        }
        let axis = Axis::numbers(low, high, 8, false);
        for tick in &axis.ticks {
            let y = px(TOP + side - (tick - low) / (high - low) * side);
            let x = px(BAR_LEFT + BAR_WIDTH);
            let ink = LINE_COLOR.stroke_width(THIN_WIDTH);
            area.draw(&PathElement::new([(x, y), (x + px(4.0), y)], ink))?;
            let style = text(area, 12.0).pos(FROM_LEFT);
            area.draw_text(&axis.label(*tick), &style, (x + px(7.0), y))?;
        }
        let name = text(area, 12.0).pos(CENTER).transform(canvas::UPWARDS);
        area.draw_text(
            &self.options.color,
            &name,
            (px(f64::from(WIDTH) - 16.0), px(TOP + side / 2.0)),
        )
    }
}
