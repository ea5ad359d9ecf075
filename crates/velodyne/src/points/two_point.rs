//! Corrections of distance that differ for near and far, along x and along y.

use crate::points::{lasers::Each, options::Formula};

/// Up to where the near corrections reach, in metres; at this distance both are equal.
const FAR: f64 = 25.04;

/// Where the near corrections were measured, along x and along y.
const NEAR: (f64, f64) = (2.40, 1.93);

/// The point that `laser` sees over the raw distance `d` (m) when the sine and cosine of
/// the azimuth of the head are these, in the axes of the manual; nothing if the near
/// corrections do not touch it.
pub(super) fn point(
    laser: &Each,
    formula: Formula,
    d: f64,
    (sin_head, cos_head): (f64, f64),
) -> Option<(f64, f64, f64)> {
    let everywhere = formula == Formula::Ros;
    if !laser.is_two_point || (d >= FAR && !everywhere) {
        return None;
    }
    // The azimuth of the laser is that of the head less its rotation.
    let sin = sin_head * laser.cos_rotation - cos_head * laser.sin_rotation;
    let cos = cos_head * laser.cos_rotation + sin_head * laser.sin_rotation;
    let plane = |d: f64| d * laser.cos_vertical + laser.out;
    let across = laser.across;
    let far = plane(d + laser.far);
    let (x, y) = match formula {
        Formula::VelodyneDecoder => (far * sin, far * cos),
        _ => (far * sin - across * cos, far * cos + across * sin),
    };
    let between = |at: f64, near_at: f64, near: f64| {
        (laser.far - near) * (at.abs() - near_at) / (FAR - near_at) + near
    };
    let by_x = between(x, NEAR.0, laser.near_x);
    let by_y = between(y, NEAR.1, laser.near_y);
    let by_z = match formula {
        Formula::VelodyneDecoder => f64::midpoint(by_x, by_y),
        _ => by_y,
    };
    Some((
        plane(d + by_x) * sin - across * cos,
        plane(d + by_y) * cos + across * sin,
        (d + by_z) * laser.sin_vertical + laser.up,
    ))
}
