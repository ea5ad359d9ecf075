//! Cuts lines at the antimeridian (180°), where maps end.

use crate::tracks::fix::Fix;

/// Returns the points where a line from `start` to `end` leaves and re-enters the map, if the
/// shorter path crosses the antimeridian. (RFC 7946, 3.1.9: lines are cut there.)
pub(super) fn antimeridian_crossing(start: &Fix, end: &Fix) -> Option<(Fix, Fix)> {
    if (start.longitude - end.longitude).abs() <= 180.0 {
        return None;
    }
    let degrees_before = 180.0 - start.longitude.abs();
    let degrees_after = 180.0 - end.longitude.abs();
    let degrees = degrees_before + degrees_after;
    let fraction = if degrees > 0.0 { degrees_before / degrees } else { 0.0 };
    let interpolate = |start: f64, end: f64| start + (end - start) * fraction;
    let nanos = start.nanos.zip(end.nanos).map(|(start, end)| {
        let duration = i128::from(end) - i128::from(start);
        start.saturating_add((duration as f64 * fraction) as i64)
    });
    let exit = Fix {
        nanos,
        latitude: interpolate(start.latitude, end.latitude),
        longitude: 180_f64.copysign(start.longitude),
        altitude: start
            .altitude
            .zip(end.altitude)
            .map(|(start, end)| interpolate(start, end)),
    };
    Some((exit, Fix { longitude: -exit.longitude, ..exit }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(nanos: i64, latitude: f64, longitude: f64) -> Fix {
        Fix { nanos: Some(nanos), latitude, longitude, altitude: None }
    }

    #[test]
    fn line_is_cut_at_the_antimeridian() {
        // From 1° before the antimeridian to 3° after it: a quarter of the line is before it.
        let eastward =
            antimeridian_crossing(&fix(0, 10.0, 179.0), &fix(400, 20.0, -177.0));
        assert_eq!(eastward, Some((fix(100, 12.5, 180.0), fix(100, 12.5, -180.0))));
        let westward =
            antimeridian_crossing(&fix(0, 10.0, -179.0), &fix(400, 20.0, 177.0));
        assert_eq!(westward, Some((fix(100, 12.5, -180.0), fix(100, 12.5, 180.0))));
        assert_eq!(
            antimeridian_crossing(&fix(0, 0.0, -80.0), &fix(0, 0.0, 80.0)),
            None
        );
        let crossing = antimeridian_crossing(&fix(7, 1.0, 180.0), &fix(9, 1.0, -180.0));
        assert_eq!(crossing, Some((fix(7, 1.0, 180.0), fix(7, 1.0, -180.0))));
    }
}
