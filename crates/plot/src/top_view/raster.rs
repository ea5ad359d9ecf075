//! Draws points as dots.

use logtool_core::{Error, ErrorKind, Result};
use resvg::tiny_skia::{Pixmap, PremultipliedColorU8};

use crate::{
    palette::{Rgb, viridis},
    ticks::round_step,
    top_view::{Point, SIDE, TopViewOptions},
};

/// A square image of dots.
#[derive(Clone, Debug)]
pub(super) struct Raster {
    /// The centre of the image in metres: the sensor, or the centre of the points if the sensor is
    /// far from them.
    pub(super) center: (f64, f64),
    /// The distance from the centre to the sides.
    pub(super) reach: f64,
    /// The values of the first and the last colour.
    pub(super) colors: (f64, f64),
    side: usize,
    dots: Vec<Option<Rgb>>,
    /// The width of a point in pixels.
    width: usize,
}

/// The minimum fraction of points in the image, unless they are too far away.
const VISIBLE_SHARE: f64 = 0.98;

/// The fraction of values below and above the colour range.
const OUTLIER_SHARE: f64 = 0.01;

impl Raster {
    /// Creates an empty square with a range for `points`.
    pub(super) fn new(options: &TopViewOptions, points: &[Point]) -> Self {
        let center = match options.reach {
            Some(_) => (0.0, 0.0),
            None => center_of(points),
        };
        let distance = |point: &Point| {
            let (x, y) = (f64::from(point.x) - center.0, f64::from(point.y) - center.1);
            x.abs().max(y.abs())
        };
        let reach = options.reach.unwrap_or_else(|| {
            let mut distance: Vec<f64> = points.iter().map(distance).collect();
            let reach = quantile(&mut distance, VISIBLE_SHARE).unwrap_or(10.0);
            // A round number that is only slightly larger than necessary.
            let step = round_step(reach / 10.0).max(0.01);
            (reach * 1.02 / step).ceil() * step
        });
        let colors = options.colors.unwrap_or_else(|| {
            let values = points.iter().map(|point| f64::from(point.value));
            let mut values: Vec<f64> =
                values.filter(|value| value.is_finite()).collect();
            let low = quantile(&mut values, OUTLIER_SHARE).unwrap_or(0.0);
            let high = quantile(&mut values, 1.0 - OUTLIER_SHARE).unwrap_or(1.0);
            if high > low { (low, high) } else { (low - 0.5, high + 0.5) }
        });
        let scale = usize::from(options.scale.clamp(1, 8));
        let side = SIDE as usize * scale;
        let reach =
            if reach.is_finite() && reach > 0.0 { reach.min(1e30) } else { 1.0 };
        Self {
            center,
            reach,
            colors,
            side,
            dots: vec![None; side * side],
            width: scale * dot_width(points.len()),
        }
    }

    /// Adds a point, if it is within the square.
    pub(super) fn add(&mut self, point: &Point) {
        let (low, high) = self.colors;
        let share = (f64::from(point.value) - low) / (high - low);
        let color = if share.is_nan() { [0xa0; 3] } else { viridis(share) };
        let per_metre = self.side as f64 / (2.0 * self.reach);
        let column = (f64::from(point.x) - self.center.0 + self.reach) * per_metre;
        let row = (self.reach - f64::from(point.y) + self.center.1) * per_metre;
        let range = 0.0..self.side as f64;
        if !range.contains(&column) || !range.contains(&row) {
            return;
        }
        // Centred around the position.
        let start =
            |position: f64| (position as usize).saturating_sub((self.width - 1) / 2);
        for row in start(row)..(start(row) + self.width + 1).min(self.side) {
            for column in start(column)..(start(column) + self.width + 1).min(self.side)
            {
                if let Some(dot) = self.dots.get_mut(row * self.side + column) {
                    *dot = Some(color);
                }
            }
        }
    }

    /// Returns the dots as PNG with a transparent ground.
    pub(super) fn png(&self) -> Result<Vec<u8>> {
        let side = self.side as u32;
        let mut pixmap = Pixmap::new(side, side)
            .ok_or_else(|| Error::new(ErrorKind::Limit, "too many pixels"))?;
        self.paint(&mut pixmap, 0, 0);
        encode_png(&pixmap)
    }

    /// Paints the dots with the upper left corner at `left` and `top`.
    pub(super) fn paint(&self, pixmap: &mut Pixmap, left: u32, top: u32) {
        let (width, left, top) = (pixmap.width() as usize, left as usize, top as usize);
        for (row, dots) in self.dots.chunks_exact(self.side).enumerate() {
            let start = (top + row) * width + left;
            let Some(pixels) = pixmap.pixels_mut().get_mut(start..) else { return };
            for (pixel, dot) in pixels.iter_mut().zip(dots) {
                let color = dot.and_then(|[r, g, b]| {
                    PremultipliedColorU8::from_rgba(r, g, b, 255)
                });
                *pixel = color.unwrap_or(*pixel);
            }
        }
    }
}

/// Returns the colour bar as PNG, one pixel wide, from the last colour at the top down to the first.
pub(super) fn bar_png() -> Result<Vec<u8>> {
    const STEPS: u32 = 128;
    let mut pixmap = Pixmap::new(1, STEPS)
        .ok_or_else(|| Error::new(ErrorKind::Limit, "too many pixels"))?;
    for (row, pixel) in (0..STEPS).zip(pixmap.pixels_mut()) {
        let [r, g, b] = viridis(1.0 - f64::from(row) / f64::from(STEPS - 1));
        *pixel = PremultipliedColorU8::from_rgba(r, g, b, 255).unwrap_or(*pixel);
    }
    encode_png(&pixmap)
}

fn encode_png(pixmap: &Pixmap) -> Result<Vec<u8>> {
    let encode_error = |err| {
        Error::new(ErrorKind::Malformed, "the image cannot be encoded as PNG")
            .with_source(err)
    };
    pixmap.encode_png().map_err(encode_error)
}

/// Returns the width of a dot in pixels. The fewer points there are, the wider they are.
fn dot_width(points: usize) -> usize {
    match points {
        ..200 => 6,
        200..2_000 => 3,
        _ => 1,
    }
}

/// Returns the centre of `points`, or the position of the sensor if it is near them.
fn center_of(points: &[Point]) -> (f64, f64) {
    let range = |coordinate: fn(&Point) -> f32| {
        let mut values: Vec<f64> =
            points.iter().map(|p| f64::from(coordinate(p))).collect();
        let low = quantile(&mut values, OUTLIER_SHARE).unwrap_or(0.0);
        let high = quantile(&mut values, 1.0 - OUTLIER_SHARE).unwrap_or(0.0);
        (low, high)
    };
    let (x, y) = (range(|point| point.x), range(|point| point.y));
    let margin = (x.1 - x.0).max(y.1 - y.0) / 2.0;
    let is_near = |(low, high): (f64, f64)| low - margin <= 0.0 && 0.0 <= high + margin;
    if is_near(x) && is_near(y) {
        (0.0, 0.0)
    } else {
        (((x.0 + x.1) / 2.0).round(), ((y.0 + y.1) / 2.0).round())
    }
}

/// Returns the quantile of `values` at `share`.
fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let index = ((last as f64 * share).round() as usize).min(last);
    Some(*values.select_nth_unstable_by(index, f64::total_cmp).1)
}
