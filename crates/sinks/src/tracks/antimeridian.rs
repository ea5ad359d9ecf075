//! Cuts lines at the antimeridian (180°), where maps end.

use crate::tracks::fix::Fix;

/// Returns the points where a line from `a` to `b` leaves and re-enters the map, if the shorter way
/// crosses the antimeridian. (RFC 7946, 3.1.9: lines are cut there.)
pub(super) fn antimeridian_crossing(a: &Fix, b: &Fix) -> Option<(Fix, Fix)> {
    if (a.longitude - b.longitude).abs() <= 180.0 {
        return None;
    }
    let [before, after] = [a, b].map(|fix| 180.0 - fix.longitude.abs());
    let sum = before + after;
    let share = if sum > 0.0 { before / sum } else { 0.0 };
    let interpolate = |a: f64, b: f64| a + (b - a) * share;
    let nanos = a.nanos.zip(b.nanos).map(|(a, b)| {
        let nanos_between = i128::from(b) - i128::from(a);
        a.saturating_add((nanos_between as f64 * share) as i64)
    });
    let edge = Fix {
        nanos,
        latitude: interpolate(a.latitude, b.latitude),
        longitude: 180_f64.copysign(a.longitude),
        altitude: a.altitude.zip(b.altitude).map(|(a, b)| interpolate(a, b)),
    };
    Some((edge, Fix { longitude: -edge.longitude, ..edge }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(nanos: i64, latitude: f64, longitude: f64) -> Fix {
        Fix { nanos: Some(nanos), latitude, longitude, altitude: None }
    }

    #[test]
    fn line_is_cut_at_the_antimeridian() {
        // From 1° before it to 3° after it: a quarter of the way.
        let cut = antimeridian_crossing(&fix(0, 10.0, 179.0), &fix(400, 20.0, -177.0));
        assert_eq!(cut, Some((fix(100, 12.5, 180.0), fix(100, 12.5, -180.0))));
        let back = antimeridian_crossing(&fix(0, 10.0, -179.0), &fix(400, 20.0, 177.0));
        assert_eq!(back, Some((fix(100, 12.5, -180.0), fix(100, 12.5, 180.0))));
        assert_eq!(
            antimeridian_crossing(&fix(0, 0.0, -80.0), &fix(0, 0.0, 80.0)),
            None
        );
        let crossing = antimeridian_crossing(&fix(7, 1.0, 180.0), &fix(9, 1.0, -180.0));
        assert_eq!(crossing, Some((fix(7, 1.0, 180.0), fix(7, 1.0, -180.0))));
    }
}
