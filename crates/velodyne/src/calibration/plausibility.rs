//! Checks whether the values of a calibration are plausible.
//!
//! The bounds are wider than the values of real lidars: no laser points more than 10 degrees
//! to the side or more than 31 degrees up or down, no beam starts more than 22 cm off centre,
//! distance corrections are below 1.7 m, and focal distances are below 25 m (HDL-64E S2
//! manual, appendix E and F; calibrations that come with lidars).

use crate::calibration::laser::Laser;

/// The maximum number of values that a warning lists.
const MAX_LISTED: usize = 4;

/// A value of a laser: its name, getter, minimum, maximum and unit.
type Bound = (&'static str, fn(&Laser) -> f64, f64, f64, &'static str);

/// The bounds, in the order of the values in the status bytes.
pub(super) const BOUNDS: [Bound; 9] = [
    ("vertical angle", |laser| laser.vertical_deg, -45.0, 45.0, " deg"),
    ("rotation", |laser| laser.rotation_deg, -30.0, 30.0, " deg"),
    ("far correction", |laser| laser.far_correction_m, -1.0, 4.0, " m"),
    ("near correction along x", |laser| laser.near_correction_x_m, -1.0, 4.0, " m"),
    ("near correction along y", |laser| laser.near_correction_y_m, -1.0, 4.0, " m"),
    ("vertical offset", |laser| laser.vertical_offset_m, -0.5, 0.5, " m"),
    ("horizontal offset", |laser| laser.horizontal_offset_m, -0.5, 0.5, " m"),
    ("focal distance", |laser| laser.focal_distance_m, 0.0, 40.0, " m"),
    ("focal slope", |laser| laser.focal_slope, -10.0, 10.0, ""),
];

/// Describes the implausible values of `lasers`, or returns `None` if all are plausible.
pub(super) fn implausible_values(lasers: &[Laser]) -> Option<String> {
    let mut implausible = Vec::new();
    for laser in lasers {
        for (name, value, min, max, unit) in BOUNDS {
            let value = value(laser);
            if !(min..=max).contains(&value) {
                let value = (value * 1e6).round() / 1e6;
                implausible.push(format!("{name} {value}{unit} of laser {}", laser.id));
            }
        }
    }
    let count = implausible.len();
    let more = match count.checked_sub(MAX_LISTED) {
        None | Some(0) => String::new(),
        Some(unlisted) => format!(", and {unlisted} more"),
    };
    implausible.truncate(MAX_LISTED);
    let noun = if count == 1 { "value" } else { "values" };
    (count > 0).then(|| format!("implausible {noun}: {}{more}", implausible.join(", ")))
}

/// Returns a warning if all of `lasers` have the same vertical angle, which is impossible
/// for a lidar with several lasers.
pub(super) fn equal_angles(lasers: &[Laser]) -> Option<String> {
    let angle = lasers.first()?.vertical_deg;
    let are_equal = lasers.iter().all(|laser| laser.vertical_deg == angle);
    (are_equal && lasers.len() > 1)
        .then(|| format!("all lasers have the same vertical angle of {angle} deg"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn implausible_values_are_listed_with_their_lasers() {
        let mut lasers: Vec<Laser> = (0..64).map(Laser::new).collect();
        assert_eq!(implausible_values(&lasers), None);
        lasers[17].far_correction_m = 32.767;
        let description = "implausible value: far correction 32.767 m of laser 17";
        assert_eq!(implausible_values(&lasers).unwrap(), description);
        lasers[..6].iter_mut().for_each(|laser| laser.vertical_deg = f64::NAN);
        let description = implausible_values(&lasers).unwrap();
        assert!(
            description.contains("vertical angle NaN deg of laser 3, and 3 more"),
            "{description}"
        );
    }
}
