//! Checks whether the values of a calibration are plausible.
//!
//! The bounds are wider than those of real lidars: no laser points further to the side
//! than 10 degrees or further up or down than 31, none is mounted more than 22 cm off
//! centre, distance corrections are below 1.7 m, and the focal distance is below 25 m
//! (HDL-64E S2 manual, appendix E and F; calibrations that come with lidars).

use crate::calibration::laser::Laser;

/// The maximum number of values that are listed.
const NAMED: usize = 4;

/// A value of a laser: its name, getter, minimum, maximum and unit.
type Bound = (&'static str, fn(&Laser) -> f64, f64, f64, &'static str);

/// The bounds, in the order of the values in the status bytes.
pub(super) const BOUNDS: [Bound; 9] = [
    ("vertical angle", |laser| laser.vertical_deg, -45.0, 45.0, " deg"),
    ("rotation", |laser| laser.rotation_deg, -30.0, 30.0, " deg"),
    ("far correction", |laser| laser.distance_m, -1.0, 4.0, " m"),
    ("near correction along x", |laser| laser.distance_x_m, -1.0, 4.0, " m"),
    ("near correction along y", |laser| laser.distance_y_m, -1.0, 4.0, " m"),
    ("vertical offset", |laser| laser.vertical_offset_m, -0.5, 0.5, " m"),
    ("horizontal offset", |laser| laser.horizontal_offset_m, -0.5, 0.5, " m"),
    ("focal distance", |laser| laser.focal_distance_m, 0.0, 40.0, " m"),
    ("focal slope", |laser| laser.focal_slope, -10.0, 10.0, ""),
];

/// Describes the implausible values of `lasers`, or returns `None` if all are plausible.
pub(super) fn implausible_values(lasers: &[Laser]) -> Option<String> {
    let mut implausible = Vec::new();
    for laser in lasers {
        for (name, value, least, most, unit) in BOUNDS {
            let value = value(laser);
            if !(least..=most).contains(&value) {
                let value = (value * 1e6).round() / 1e6;
                implausible.push(format!("{name} {value}{unit} of laser {}", laser.id));
            }
        }
    }
    let count = implausible.len();
    let rest_count = match count.checked_sub(NAMED) {
        None | Some(0) => String::new(),
        Some(rest_count) => format!(", and {rest_count} more"),
    };
    implausible.truncate(NAMED);
    let some = match count {
        1 => "implausible value",
        _ => "implausible values",
    };
    (count > 0).then(|| format!("{some}: {}{rest_count}", implausible.join(", ")))
}

/// Describes the finding that all of `lasers` have the same vertical angle, which is
/// impossible for a lidar.
pub(super) fn equal_angles(lasers: &[Laser]) -> Option<String> {
    let angle = lasers.first()?.vertical_deg;
    let is_alike = lasers.iter().all(|laser| laser.vertical_deg == angle);
    (is_alike && lasers.len() > 1)
        .then(|| format!("all lasers have the same vertical angle of {angle} deg"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn implausible_values_are_listed_with_their_lasers() {
        let mut lasers: Vec<Laser> = (0..64).map(Laser::new).collect();
        assert_eq!(implausible_values(&lasers), None);
        lasers[17].distance_m = 32.767;
        let description = "implausible value: far correction 32.767 m of laser 17";
        assert_eq!(implausible_values(&lasers).unwrap(), description);
        (0..6).for_each(|at| lasers[at].vertical_deg = f64::NAN);
        let description = implausible_values(&lasers).unwrap();
        assert!(
            description.contains("vertical angle NaN deg of laser 3, and 3 more"),
            "{description}"
        );
    }
}
