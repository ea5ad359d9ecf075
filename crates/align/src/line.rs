//! Robust fitting of a line to points with outliers.

use crate::signal::median;

/// A point with a weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) weight: f64,
}

/// A line with the standard errors of its parameters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line {
    /// The height at `x` = 0.
    pub(crate) height: f64,
    pub(crate) slope: f64,
    pub(crate) height_error: f64,
    pub(crate) slope_error: f64,
    /// The robust standard deviation of the points from the line.
    pub(crate) scale: f64,
}

/// Points that are further than this multiple of the scale from the line have no weight
/// (Tukey's biweight).
const MAX_SCALES: f64 = 4.685;
/// The minimum scale in seconds: offsets of windows are not more exact.
const MIN_SCALE: f64 = 1e-6;

impl Line {
    /// Fits a line to `points`: first with the median of all slopes (Theil-Sen), then
    /// with iteratively reweighted least squares.
    pub(crate) fn fit(points: &[Point]) -> Self {
        let pairs = points.iter().enumerate().flat_map(|(index, first)| {
            points.iter().skip(index + 1).map(move |second| (first, second))
        });
        let distinct = pairs.filter(|(first, second)| first.x != second.x);
        let mut slopes: Vec<f64> = distinct
            .map(|(first, second)| (second.y - first.y) / (second.x - first.x))
            .collect();
        let slope = median(&mut slopes);
        let mut heights: Vec<f64> = points.iter().map(|p| p.y - slope * p.x).collect();
        let mut line = Self { height: median(&mut heights), slope, ..Self::default() };
        for _ in 0..10 {
            line.scale = line.scale_of(points);
            line = line.refit(points);
        }
        line
    }

    /// Returns the height of `point` above the line.
    pub(crate) fn residual(&self, point: &Point) -> f64 {
        point.y - self.height - self.slope * point.x
    }

    fn scale_of(&self, points: &[Point]) -> f64 {
        let mut deviations: Vec<f64> =
            points.iter().map(|point| self.residual(point).abs()).collect();
        // The median deviation of a normal distribution is its standard deviation / 1.4826.
        (1.4826 * median(&mut deviations)).max(MIN_SCALE)
    }

    /// Returns the least-squares line of the points, which are weighted by their distance
    /// from `self`.
    fn refit(self, points: &[Point]) -> Self {
        let weighted: Vec<Point> = points
            .iter()
            .map(|point| {
                let ratio = self.residual(point) / (MAX_SCALES * self.scale);
                let closeness = (1.0 - ratio * ratio).max(0.0);
                Point { weight: point.weight * closeness * closeness, ..*point }
            })
            .collect();
        let sum = |value_of: &dyn Fn(&Point) -> f64| -> f64 {
            weighted.iter().map(value_of).sum()
        };
        let weight = sum(&|p| p.weight);
        if weight <= 0.0 {
            return self;
        }
        let mean_x = sum(&|p| p.weight * p.x) / weight;
        let mean_y = sum(&|p| p.weight * p.y) / weight;
        let spread = sum(&|p| p.weight * (p.x - mean_x).powi(2));
        if spread <= 0.0 {
            return self;
        }
        let slope = sum(&|p| p.weight * (p.x - mean_x) * (p.y - mean_y)) / spread;
        let mut line = Self { height: mean_y - slope * mean_x, slope, ..self };
        // The effective number of points.
        let count = weight * weight / sum(&|p| p.weight * p.weight);
        let variance = sum(&|p| p.weight * line.residual(p).powi(2)) / weight * count
            / (count - 2.0).max(1.0);
        let mean_spread = spread / weight;
        line.slope_error = (variance / count / mean_spread).sqrt();
        line.height_error =
            (variance / count * (1.0 + mean_x * mean_x / mean_spread)).sqrt();
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_do_not_move_the_line() {
        let point = |n: i32| {
            let x = f64::from(n) - 20.0;
            let noise = if n % 2 == 0 { 1e-4 } else { -1e-4 };
            let y = if n % 4 == 1 { 0.3 } else { 0.5 + 2e-3 * x + noise };
            Point { x, y, weight: 1.0 }
        };
        let points: Vec<Point> = (0..41).map(point).collect();
        let line = Line::fit(&points);
        assert!((line.height - 0.5).abs() < 1e-4, "{line:?}");
        assert!((line.slope - 2e-3).abs() < 1e-5, "{line:?}");
        assert!(line.height_error < 1e-4 && line.slope_error < 1e-5, "{line:?}");
    }
}
