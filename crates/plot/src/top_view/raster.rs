//! The points as dots.

use logtool_core::{Error, ErrorKind, Result};
use resvg::tiny_skia::{Pixmap, PremultipliedColorU8};

use crate::{
    palette::{Rgb, viridis},
    ticks::nice,
    top_view::{Point, SIDE, TopViewOptions},
};

/// Dots on a square.
#[derive(Clone, Debug)]
pub(super) struct Raster {
    /// The centre in metres: the sensor, or the points if the sensor is not among them.
    pub(super) middle: (f64, f64),
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
const MOST: f64 = 0.98;

/// The fraction of values below and above the colour range.
const BEYOND: f64 = 0.01;

impl Raster {
    /// Creates an empty square with a range for `points`.
    pub(super) fn new(about: &TopViewOptions, points: &[Point]) -> Self {
        let middle = match about.reach {
            Some(_) => (0.0, 0.0),
            None => centre(points),
        };
        let far = |point: &Point| {
            let (x, y) = (f64::from(point.x) - middle.0, f64::from(point.y) - middle.1);
            x.abs().max(y.abs())
        };
        let reach = about.reach.unwrap_or_else(|| {
            let mut far: Vec<f64> = points.iter().map(far).collect();
            let reach = at_share(&mut far, MOST).unwrap_or(10.0);
            // A round number, but not twice as large as necessary.
            let step = nice(reach / 10.0).max(0.01);
            (reach * 1.02 / step).ceil() * step
        });
        let colors = about.colors.unwrap_or_else(|| {
            let values = points.iter().map(|point| f64::from(point.value));
            let mut values: Vec<f64> =
                values.filter(|value| value.is_finite()).collect();
            let low = at_share(&mut values, BEYOND).unwrap_or(0.0);
            let high = at_share(&mut values, 1.0 - BEYOND).unwrap_or(1.0);
            if high > low { (low, high) } else { (low - 0.5, high + 0.5) }
        });
        let scale = usize::from(about.scale.clamp(1, 8));
        let side = SIDE as usize * scale;
        let reach =
            if reach.is_finite() && reach > 0.0 { reach.min(1e30) } else { 1.0 };
        Self {
            middle,
            reach,
            colors,
            side,
            dots: vec![None; side * side],
            width: scale * strength(points.len()),
        }
    }

    /// Adds a point, if it is within the square.
    pub(super) fn add(&mut self, point: &Point) {
        let (low, high) = self.colors;
        let share = (f64::from(point.value) - low) / (high - low);
        let color = if share.is_nan() { [0xa0; 3] } else { viridis(share) };
        let per_metre = self.side as f64 / (2.0 * self.reach);
        let column = (f64::from(point.x) - self.middle.0 + self.reach) * per_metre;
        let row = (self.reach - f64::from(point.y) + self.middle.1) * per_metre;
        let within = 0.0..self.side as f64;
        if !within.contains(&column) || !within.contains(&row) {
            return;
        }
        // Centred around the position.
        let from = |at: f64| (at as usize).saturating_sub((self.width - 1) / 2);
        for row in from(row)..(from(row) + self.width + 1).min(self.side) {
            for column in from(column)..(from(column) + self.width + 1).min(self.side) {
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
    let wrap = |err| Error::new(ErrorKind::Malformed, "no PNG").from_source(err);
    pixmap.encode_png().map_err(wrap)
}

/// Returns the width in pixels of one of `points` points: few points must be visible too.
fn strength(points: usize) -> usize {
    match points {
        ..200 => 6,
        200..2_000 => 3,
        _ => 1,
    }
}

/// Returns the centre of `points`, or the sensor if it is among them.
fn centre(points: &[Point]) -> (f64, f64) {
    let of = |coordinate: fn(&Point) -> f32| {
        let mut all: Vec<f64> =
            points.iter().map(|p| f64::from(coordinate(p))).collect();
        let low = at_share(&mut all, BEYOND).unwrap_or(0.0);
        let high = at_share(&mut all, 1.0 - BEYOND).unwrap_or(0.0);
        (low, high)
    };
    let (x, y) = (of(|point| point.x), of(|point| point.y));
    let room = (x.1 - x.0).max(y.1 - y.0) / 2.0;
    let is_near = |(low, high): (f64, f64)| low - room <= 0.0 && 0.0 <= high + room;
    if is_near(x) && is_near(y) {
        (0.0, 0.0)
    } else {
        (((x.0 + x.1) / 2.0).round(), ((y.0 + y.1) / 2.0).round())
    }
}

/// Returns the quantile of `values` at `share`.
fn at_share(values: &mut [f64], share: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let at = ((last as f64 * share).round() as usize).min(last);
    Some(*values.select_nth_unstable_by(at, f64::total_cmp).1)
}
