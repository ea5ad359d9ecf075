//! What is known of each laser of a lidar.

use std::fmt;

use logtool_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::model::Model;

/// The corrections of all lasers of a lidar, and where they are from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Of each laser, in the order of their numbers.
    pub lasers: Vec<Laser>,
    /// Metres in one step of a distance, where that is told.
    pub distance_step_m: Option<f64>,
    /// Where it is from.
    pub origin: Origin,
    /// Whether the sensor corrects its intensities itself (power level A8).
    pub sends_corrected_intensity: bool,
    /// What is odd about it, a sentence each.
    pub remarks: Vec<String>,
}

/// Where a calibration is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A file of this name.
    File(String),
    /// The status bytes of the packets.
    Stream,
    /// The status bytes of the packets; what they do not hold of some lasers is of another
    /// calibration.
    Completed {
        /// The lasers of which something was not in the packets.
        lasers: Vec<u16>,
        /// Where that is from.
        with: String,
    },
    /// The angles to which all lidars of a model are built, or those of one lidar for
    /// all: the name of the table.
    Default(String),
}

/// The corrections of one laser (HDL-64E S2 manual, appendix F).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Laser {
    /// Its number in the packets: 0 for the first one of the first bank.
    pub id: u16,
    /// Whether it is in use.
    pub is_enabled: bool,
    /// How far it looks to the left of the head, in degrees.
    pub rotation_deg: f64,
    /// How far it looks up, in degrees.
    pub vertical_deg: f64,
    /// What to add to a far distance, in metres.
    pub distance_m: f64,
    /// What to add at 2.40 m, along x, in metres.
    pub distance_x_m: f64,
    /// What to add at 1.93 m, along y, in metres.
    pub distance_y_m: f64,
    /// Whether the two near corrections are to be used, where a file says so.
    pub two_point: Option<bool>,
    /// How far up it starts, in metres.
    pub vertical_offset_m: f64,
    /// How far to the left it starts, in metres.
    pub horizontal_offset_m: f64,
    /// The distance for which its intensity is right, in metres.
    pub focal_distance_m: f64,
    /// How fast its intensity falls off from there.
    pub focal_slope: f64,
    /// The least intensity that it tells.
    pub min_intensity: u8,
    /// The highest intensity that it tells.
    pub max_intensity: u8,
}

impl Laser {
    /// The laser `id`, of which nothing is to be corrected.
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
    /// The place of each laser among all, counted from the lowest look upwards: its
    /// ring. Of two that look alike, the first is the lower.
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

    /// Checks that it is of as many lasers as `model` has, and not built like another model:
    /// that of another model makes points that are nowhere near.
    ///
    /// # Errors
    /// `Unsupported` if it has fewer lasers or more, or the angles of another model.
    pub fn suits(&self, model: Model) -> Result<()> {
        let (own, needed) = (self.lasers.len(), model.lasers());
        if own == needed {
            return match self.other_model(model) {
                Some(other) => {
                    let what = format!(
                        "a calibration with the angles of a {other} ({}) for a {model}: give \
                         the calibration of this lidar, or name its model if it is another",
                        self.origin
                    );
                    Err(Error::new(ErrorKind::Unsupported, what))
                }
                None => Ok(()),
            };
        }
        let what = format!(
            "a calibration of {own} lasers ({}) for a lidar of {needed} ({model}): give the \
             calibration of this lidar, or name its model if it is another",
            self.origin
        );
        Err(Error::new(ErrorKind::Unsupported, what))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(name) => write!(f, "file {name}"),
            Self::Stream => write!(f, "status bytes of the packets"),
            Self::Completed { lasers, with } => {
                let lasers = ranges(lasers);
                write!(
                    f,
                    "status bytes of the packets, but for values of lasers {lasers}: {with}"
                )
            }
            Self::Default(name) => write!(f, "built in, {name}"),
        }
    }
}

/// `3, 5-7`, of numbers in their order.
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
    fn rings_count_from_the_lowest_laser_up() {
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
            remarks: vec![],
        };
        assert_eq!(calibration.rings(), [0, 2, 1, 3]);
    }
}
