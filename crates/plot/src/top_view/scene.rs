//! Draws everything around the points: axes, rings and the colour bar.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use logtool_core::Result;
use plotters::{
    element::{Circle, PathElement, Rectangle},
    style::Color as _,
};

use crate::{
    draw::{
        canvas::{
            self, Area, CENTER, Canvas, DrawResult, FROM_LEFT, GRID_COLOR, LINE_COLOR,
            THIN_WIDTH, px, text,
        },
        label_width,
    },
    palette::viridis,
    ticks::Axis,
    top_view::{
        SIDE, TopViewOptions,
        raster::{self, Raster},
    },
};

/// The sizes of the parts of an image in pixels.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// The position and the side of the square of points.
    left: f64,
    top: f64,
    side: f64,
    /// The height below the square, and the width to the right of it.
    below: f64,
    right: f64,
    /// The space between the square and the colour bar, and the width of the bar.
    bar_space: f64,
    bar_width: f64,
    /// The number of ticks of an axis.
    ticks: usize,
}

/// The space between a label and the axis on the left, and the width of the name of the axis.
const LABEL_SPACE: f64 = 8.0;
const NAME_WIDTH: f64 = 24.0;

/// The layout of an image file.
const FILE: Layout = Layout {
    left: 64.0,
    top: 34.0,
    side: SIDE as f64,
    below: 56.0,
    right: 126.0,
    bar_space: 24.0,
    bar_width: 16.0,
    ticks: 8,
};

/// The layout in a page: a small square, so that the texts stay legible on phones.
const PAGE: Layout = Layout {
    left: 52.0,
    top: 10.0,
    side: 340.0,
    below: 50.0,
    right: 92.0,
    bar_space: 12.0,
    bar_width: 14.0,
    ticks: 6,
};

/// The title, the axes, the rings and the colour bar of an image of points.
pub(super) struct Scene<'s> {
    options: &'s TopViewOptions,
    center: (f64, f64),
    reach: f64,
    colors: (f64, f64),
    layout: Layout,
}

impl<'s> Scene<'s> {
    /// Creates the surroundings of the points in `raster` for an image file.
    pub(super) fn new(options: &'s TopViewOptions, raster: &Raster) -> Self {
        Self::with_layout(options, raster, FILE)
    }

    /// Creates the surroundings of the points in `raster` for a page.
    pub(super) fn for_page(options: &'s TopViewOptions, raster: &Raster) -> Self {
        Self::with_layout(options, raster, PAGE)
    }

    fn with_layout(
        options: &'s TopViewOptions,
        raster: &Raster,
        layout: Layout,
    ) -> Self {
        let Raster { center, reach, colors, .. } = *raster;
        let mut scene = Self { options, center, reach, colors, layout };
        // Labels of positions far from the origin are long.
        let width = label_width(&scene.axis(center.1));
        let least = f64::from(width) / f64::from(px(1.0)) + LABEL_SPACE + NAME_WIDTH;
        scene.layout.left = layout.left.max(least.ceil());
        scene
    }

    /// Returns the axis around this coordinate of the centre.
    fn axis(&self, center: f64) -> Axis {
        let ticks = self.layout.ticks;
        Axis::numbers(center - self.reach, center + self.reach, ticks, false)
    }

    /// Returns the position of the square of points in pixels from the left and the top.
    pub(super) fn position(&self) -> (f32, f32) {
        (self.layout.left as f32, self.layout.top as f32)
    }

    /// Returns everything except the points, on a transparent background.
    pub(super) fn svg(&self) -> Result<String> {
        self.canvas()?.draw(|area| {
            self.title(area)?;
            self.grid(area)?;
            self.bar_colors(area)?;
            self.bar(area)
        })
    }

    /// Returns everything without the title, with the points and the colours of the bar as
    /// images.
    pub(super) fn svg_with_points(&self, raster: &Raster) -> Result<String> {
        let svg = self.canvas()?.draw(|area| {
            self.grid(area)?;
            self.bar(area)
        })?;
        let Layout { left, top, side, bar_width, .. } = self.layout;
        let points = image(&raster.png()?, [left, top, side, side]);
        let bar = image(&raster::bar_png()?, [self.bar_left(), top, bar_width, side]);
        // The images come first: axes and rings are drawn over them.
        let start = svg.find('>').map_or(0, |end| end + 1);
        let (head, rest) = svg.split_at(start);
        Ok(format!("{head}\n{points}{bar}{rest}"))
    }

    fn canvas(&self) -> Result<Canvas> {
        let Layout { left, top, side, below, right, .. } = self.layout;
        Canvas::new((left + side + right) as u32, (top + side + below) as u32)
    }

    /// Returns the distance of the colour bar from the left in pixels.
    fn bar_left(&self) -> f64 {
        self.layout.left + self.layout.side + self.layout.bar_space
    }

    fn title(&self, area: &Area<'_>) -> DrawResult {
        let style = text(area, 13.0).pos(FROM_LEFT);
        let Layout { left, top, .. } = self.layout;
        canvas::draw_text(area, &self.options.title, &style, (px(left), px(top / 2.0)))
    }

    /// Draws the axes in metres, and rings of equal distance from the sensor.
    fn grid(&self, area: &Area<'_>) -> DrawResult {
        let Layout { left: left_side, top: upper, side, .. } = self.layout;
        let (left, bottom) = (px(left_side), px(upper + side));
        let middle = (px(left_side + side / 2.0), px(upper + side / 2.0));
        let per_metre = side / (2.0 * self.reach);
        let ink = LINE_COLOR.stroke_width(THIN_WIDTH);
        let (x_axis, y_axis) = (self.axis(self.center.0), self.axis(self.center.1));
        for tick in &x_axis.ticks {
            let x = px(left_side + (tick - x_axis.start) * per_metre);
            area.draw(&PathElement::new([(x, bottom), (x, bottom + px(4.0))], ink))?;
            let style = text(area, 12.0).pos(CENTER);
            canvas::draw_text(
                area,
                &x_axis.label(*tick),
                &style,
                (x, bottom + px(14.0)),
            )?;
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
            let y = px(upper + side - (tick - y_axis.start) * per_metre);
            area.draw(&PathElement::new([(left - px(4.0), y), (left, y)], ink))?;
            let label = y_axis.label(*tick);
            let label_x = left - px(LABEL_SPACE) - canvas::width(&label, 12.0);
            canvas::draw_text(
                area,
                &label,
                &text(area, 12.0).pos(FROM_LEFT),
                (label_x, y),
            )?;
        }
        let (right, top) = (px(left_side + side), px(upper));
        let frame =
            [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        area.draw(&PathElement::new(frame, ink))?;
        let name = text(area, 12.0).pos(CENTER);
        canvas::draw_text(area, "x (m)", &name, (middle.0, bottom + px(36.0)))?;
        let upwards = name.transform(canvas::UPWARDS);
        canvas::draw_text(area, "y (m)", &upwards, (px(14.0), middle.1))
    }

    /// Draws the colours of the bar.
    fn bar_colors(&self, area: &Area<'_>) -> DrawResult {
        let Layout { top: upper, side, bar_width, .. } = self.layout;
        let left = self.bar_left();
        const STEPS: u32 = 128;
        for step in 0..STEPS {
            let share = f64::from(step) / f64::from(STEPS - 1);
            let y_of_step =
                |step: u32| upper + side * (1.0 - f64::from(step) / f64::from(STEPS));
            // Slightly larger, so that no gap is visible between the colours.
            let (top, bottom) = (
                px(y_of_step(step + 1)),
                px((y_of_step(step) + 0.6).min(upper + side)),
            );
            let corners = [(px(left), top), (px(left + bar_width), bottom)];
            area.draw(&Rectangle::new(
                corners,
                canvas::color(viridis(share)).filled(),
            ))?;
        }
        Ok(())
    }

    /// Draws the ticks and the name of the colour bar.
    fn bar(&self, area: &Area<'_>) -> DrawResult {
        let (low, high) = self.colors;
        let Layout { left, top, side, right, bar_width, ticks, .. } = self.layout;
        let axis = Axis::numbers(low, high, ticks, false);
        for tick in &axis.ticks {
            let y = px(top + side - (tick - low) / (high - low) * side);
            let x = px(self.bar_left() + bar_width);
            let ink = LINE_COLOR.stroke_width(THIN_WIDTH);
            area.draw(&PathElement::new([(x, y), (x + px(4.0), y)], ink))?;
            let style = text(area, 12.0).pos(FROM_LEFT);
            canvas::draw_text(area, &axis.label(*tick), &style, (x + px(7.0), y))?;
        }
        let name = text(area, 12.0).pos(CENTER).transform(canvas::UPWARDS);
        canvas::draw_text(
            area,
            &self.options.color,
            &name,
            (px(left + side + right - 16.0), px(top + side / 2.0)),
        )
    }
}

/// Returns an image element at this position and of this size in pixels.
fn image(png: &[u8], place: [f64; 4]) -> String {
    let [x, y, width, height] = place.map(px);
    let bytes = BASE64_STANDARD.encode(png);
    format!(
        "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
         preserveAspectRatio=\"none\" href=\"data:image/png;base64,{bytes}\"/>\n"
    )
}
