//! The calibration of each laser of a lidar.

use std::fmt;

use logtool_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::model::Model;

/// The angles and corrections of all lasers of a lidar, and their origin.
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
    /// The status bytes of the packets, completed with values of another calibration.
    Completed {
        /// The lasers with values that are missing in the packets.
        lasers: Vec<u16>,
        /// The origin of the missing values.
        completed_from: String,
    },
    /// A built-in table with this name: the design angles of a model, or the calibration of
    /// one lidar, which is used for all lidars of its model.
    Default(String),
}

/// The angles and corrections of one laser (HDL-64E S2 manual, appendix F).
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
    /// The correction that is added to far distances, in metres.
    #[serde(rename = "distance_m")]
    pub far_correction_m: f64,
    /// The correction that is added to distances of 2.40 m along x, in metres.
    #[serde(rename = "distance_x_m")]
    pub near_correction_x_m: f64,
    /// The correction that is added to distances of 1.93 m along y, in metres.
    #[serde(rename = "distance_y_m")]
    pub near_correction_y_m: f64,
    /// Whether to use the two near corrections, or `None` if the file does not state this.
    pub two_point: Option<bool>,
    /// The upward offset of the start of the beam, in metres.
    pub vertical_offset_m: f64,
    /// The offset of the start of the beam to the left, in metres.
    pub horizontal_offset_m: f64,
    /// The distance at which the intensity needs no correction, in metres.
    pub focal_distance_m: f64,
    /// The factor of the intensity correction, which depends on the distance.
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
            far_correction_m: 0.0,
            near_correction_x_m: 0.0,
            near_correction_y_m: 0.0,
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
        let mut indices_and_lasers: Vec<(usize, &Laser)> =
            self.lasers.iter().enumerate().collect();
        indices_and_lasers
            .sort_by(|(_, a), (_, b)| a.vertical_deg.total_cmp(&b.vertical_deg));
        let mut rings = vec![0; self.lasers.len()];
        for (ring, (laser_index, _)) in indices_and_lasers.into_iter().enumerate() {
            if let Some(ring_of_laser) = rings.get_mut(laser_index) {
                *ring_of_laser = u8::try_from(ring).unwrap_or(u8::MAX);
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
        let origin = &self.origin;
        let mismatch = if laser_count != model_lasers {
            format!(
                "the calibration has {laser_count} lasers ({origin}), but the lidar has \
                 {model_lasers} ({model})"
            )
        } else if let Some(other_model) = self.other_model(model) {
            format!(
                "the calibration has the angles of a {other_model} ({origin}), but the lidar is \
                 a {model}"
            )
        } else {
            return Ok(());
        };
        let message = format!(
            "{mismatch}; specify the calibration of this lidar, or its model if that is \
             another one"
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
                let lasers = format_lasers(lasers);
                write!(
                    f,
                    "status bytes of the packets, except for values of {lasers}: \
                     {completed_from}"
                )
            }
            Self::Default(name) => write!(f, "built in, {name}"),
        }
    }
}

/// Formats sorted numbers with ranges: `3, 5-7`.
pub(super) fn format_ranges(numbers: &[u16]) -> String {
    let is_next = |a: &u16, b: &u16| a.checked_add(1) == Some(*b);
    let format_run = |run: &[u16]| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run.first().map(u16::to_string).unwrap_or_default(),
    };
    let runs: Vec<String> = numbers.chunk_by(is_next).map(format_run).collect();
    runs.join(", ")
}

/// Formats sorted laser numbers as a subject: `laser 3`, or `lasers 3, 5-7`.
pub(super) fn format_lasers(numbers: &[u16]) -> String {
    let noun = if numbers.len() == 1 { "laser" } else { "lasers" };
    format!("{noun} {}", format_ranges(numbers))
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
