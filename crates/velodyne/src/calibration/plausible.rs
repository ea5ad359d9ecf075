//! What values of a calibration can be.
//!
//! The bounds are those within which lidars are built, with room to spare: no laser of
//! them looks further to the side than 10 degrees or further up or down than 31, none is
//! mounted more than 22 cm off, corrections of distances are below 1.7 m, and intensities
//! are focused below 25 m (HDL-64E S2 manual, appendix E and F; the calibrations that come
//! with lidars).

use crate::calibration::laser::Laser;

/// How many values are named one by one.
const NAMED: usize = 4;

/// Of a value: what it is, where it is in a laser, its least and its most, and its unit.
type Bound = (&'static str, fn(&Laser) -> f64, f64, f64, &'static str);

/// In the order in which the status bytes have the values.
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

/// The values of `lasers` that no lidar has, laser by laser, in a sentence; none if all can
/// be.
pub(super) fn odd(lasers: &[Laser]) -> Option<String> {
    let mut all = Vec::new();
    for laser in lasers {
        for (name, value, least, most, unit) in BOUNDS {
            let value = value(laser);
            if !(least..=most).contains(&value) {
                let value = (value * 1e6).round() / 1e6;
                all.push(format!("{name} {value}{unit} of laser {}", laser.id));
            }
        }
    }
    let count = all.len();
    let more = match count.checked_sub(NAMED) {
        None | Some(0) => String::new(),
        Some(more) => format!(", and {more} more"),
    };
    all.truncate(NAMED);
    let some = match count {
        1 => "there is a value that no lidar has",
        _ => "there are values that no lidar has",
    };
    (count > 0).then(|| format!("{some}: {}{more}", all.join(", ")))
}

/// That all of `lasers` look as far up, in a sentence, if they do: no lidar is like that.
pub(super) fn alike(lasers: &[Laser]) -> Option<String> {
    let angle = lasers.first()?.vertical_deg;
    let is_alike = lasers.iter().all(|laser| laser.vertical_deg == angle);
    (is_alike && lasers.len() > 1).then(|| {
        format!("all lasers look as far up: the vertical angle is {angle} deg")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_no_lidar_has_are_named_by_laser() {
        let mut lasers: Vec<Laser> = (0..64).map(Laser::new).collect();
        assert_eq!(odd(&lasers), None);
        lasers[17].distance_m = 32.767;
        let told =
            "there is a value that no lidar has: far correction 32.767 m of laser 17";
        assert_eq!(odd(&lasers).unwrap(), told);
        (0..6).for_each(|at| lasers[at].vertical_deg = f64::NAN);
        let told = odd(&lasers).unwrap();
        assert!(
            told.contains("vertical angle NaN deg of laser 3, and 3 more"),
            "{told}"
        );
    }
}
