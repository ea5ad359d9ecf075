//! The calibration of each laser of a lidar.

use std::fmt;

use logtool_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::model::Model;

/// The corrections of all lasers of a lidar, and their origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The lasers, in the order of their indexes in packets.
    pub lasers: Vec<Laser>,
    /// The resolution of distances in metres, if known.
    pub distance_step_m: Option<f64>,
    /// The origin of the values.
    pub origin: Origin,
    /// Whether the sensor corrects its intensities itself (power level A8).
    pub sends_corrected_intensity: bool,
    /// Warnings about implausible values, one sentence each.
    pub warnings: Vec<String>,
}

/// The origin of a calibration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A file of this name.
    File(String),
    /// The status bytes of the packets.
    Stream,
    /// The status bytes of the packets. Values that they do not contain are from another
    /// calibration.
    Completed {
        /// The lasers with values that are missing in the packets.
        lasers: Vec<u16>,
        /// The origin of these values.
        completed_from: String,
    },
    /// The name of a table: the design angles of a model, or the calibration of one lidar
    /// for all.
    Default(String),
}

/// The corrections of one laser (HDL-64E S2 manual, appendix F).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Laser {
    /// The index in packets: 0 for the first laser of the first bank.
    pub id: u16,
    /// Whether the laser is in use.
    pub is_enabled: bool,
    /// The horizontal angle, to the left of the head, in degrees.
    pub rotation_deg: f64,
    /// The vertical angle, upward, in degrees.
    pub vertical_deg: f64,
    /// The correction of far distances, in metres.
    pub distance_m: f64,
    /// The correction at 2.40 m, along x, in metres.
    pub distance_x_m: f64,
    /// The correction at 1.93 m, along y, in metres.
    pub distance_y_m: f64,
    /// Whether to use the two near corrections, if a file states that.
    pub two_point: Option<bool>,
    /// The height at which the laser starts, in metres.
    pub vertical_offset_m: f64,
    /// The offset to the left at which the laser starts, in metres.
    pub horizontal_offset_m: f64,
    /// The distance at which its intensity needs no correction, in metres.
    pub focal_distance_m: f64,
    /// The decrease of the intensity with the distance from there.
    pub focal_slope: f64,
    /// The minimum intensity.
    pub min_intensity: u8,
    /// The maximum intensity.
    pub max_intensity: u8,
}

impl Laser {
    /// Creates a laser without corrections.
    pub const fn new(id: u16) -> Self {
        Self {
            id,
            is_enabled: true,
            rotation_deg: 0.0,
            vertical_deg: 0.0,
            distance_m: 0.0,
            distance_x_m: 0.0,
            distance_y_m: 0.0,
            two_point: None,
            vertical_offset_m: 0.0,
            horizontal_offset_m: 0.0,
            focal_distance_m: 0.0,
            focal_slope: 0.0,
            min_intensity: 0,
            max_intensity: 255,
        }
    }
}

impl Calibration {
    /// Returns the ring of each laser: its index by vertical angle, lowest first. Lasers
    /// with equal angles keep their order.
    pub fn rings(&self) -> Vec<u8> {
        let mut order: Vec<usize> = (0..self.lasers.len()).collect();
        let angle = |at: &usize| self.lasers.get(*at).map_or(0.0, |l| l.vertical_deg);
        order.sort_by(|a, b| angle(a).total_cmp(&angle(b)));
        let mut rings = vec![0; order.len()];
        for (ring, laser) in order.into_iter().enumerate() {
            if let Some(place) = rings.get_mut(laser) {
                *place = u8::try_from(ring).unwrap_or(u8::MAX);
            }
        }
        rings
    }

    /// Checks that the calibration has the number of lasers of `model`, and not the
    /// angles of another model.
    ///
    /// # Errors
    /// `Unsupported` if the number of lasers differs, or if the angles are those of
    /// another model.
    pub fn check_model(&self, model: Model) -> Result<()> {
        let (laser_count, model_lasers) = (self.lasers.len(), model.lasers());
        if laser_count == model_lasers {
            return match self.other_model(model) {
                Some(other_model) => {
                    let message = format!(
                        "the calibration has the angles of a {other_model} ({}), but the lidar is a \
                         {model}; specify the calibration of this lidar, or its model if that \
                         is another one",
                        self.origin
                    );
                    Err(Error::new(ErrorKind::Unsupported, message))
                }
                None => Ok(()),
            };
        }
        let message = format!(
            "the calibration has {laser_count} lasers ({}), but the lidar has {model_lasers} \
             ({model}); specify the calibration of this lidar, or its model if that is \
             another one",
            self.origin
        );
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(name) => write!(f, "file {name}"),
            Self::Stream => write!(f, "status bytes of the packets"),
            Self::Completed { lasers, completed_from } => {
                let lasers = ranges(lasers);
                write!(
                    f,
                    "status bytes of the packets, except for values of lasers {lasers}: {completed_from}"
                )
            }
            Self::Default(name) => write!(f, "built in, {name}"),
        }
    }
}

/// Formats sorted numbers with ranges: `3, 5-7`.
pub(super) fn ranges(numbers: &[u16]) -> String {
    let follow = |a: &u16, b: &u16| a.checked_add(1) == Some(*b);
    let text = |run: &[u16]| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run.first().map(u16::to_string).unwrap_or_default(),
    };
    let runs: Vec<String> = numbers.chunk_by(follow).map(text).collect();
    runs.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_ordered_by_vertical_angle() {
        let angles = [-15.0, 1.0, -13.0, 3.0];
        let laser = |(id, vertical_deg): (usize, &f64)| Laser {
            vertical_deg: *vertical_deg,
            ..Laser::new(id as u16)
        };
        let calibration = Calibration {
            lasers: angles.iter().enumerate().map(laser).collect(),
            distance_step_m: None,
            origin: Origin::Stream,
            sends_corrected_intensity: false,
            warnings: vec![],
        };
        assert_eq!(calibration.rings(), [0, 2, 1, 3]);
    }
}
