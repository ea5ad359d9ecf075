//! How points are to be made of packets.

use std::{fmt, str::FromStr};

use logtool_core::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

use crate::{
    model::{Anchor, Model, Sensor},
    packet::Outline,
    points::blanked::BlankedSector,
};

/// By which of the formulas that are in use points are computed.
///
/// No two programs agree: of one and the same calibration they make points that are up
/// to 11 cm apart. The one that was used belongs into whatever is written.
///
/// ```
/// use logtool_velodyne::points::Formula;
///
/// let formula: Formula = "manual+two-point".parse()?;
/// assert_eq!(formula, Formula::ManualTwoPoint);
/// # Ok::<(), logtool_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "&str", try_from = "String")]
pub enum Formula {
    /// That of the HDL-64E S2 manual (appendix F) with its one correction of distance
    /// for far and near, as VeloView of 2016 has it. The head of an HDL-64E is where its
    /// block says; that of the others turns on between their firings.
    #[default]
    Manual,
    /// The same, with other corrections of distance below 25.04 m.
    ManualTwoPoint,
    /// That of ROS (velodyne_pointcloud): offsets turned with the laser, near
    /// corrections at all distances. The head of a VLP-16 or a VLS-128 is turned on by a
    /// part of the move to the next block, and all others keep the azimuth of the block.
    Ros,
    /// That of velodyne_decoder 3: near corrections below 25.04 m, the mean of both for
    /// the height, the head to the next hundredth of a degree at each firing.
    VelodyneDecoder,
    /// That of VeloView of 2021: offsets turned with the laser in the plane only, no
    /// near corrections, raw intensity, the head turned on by whole hundredths of a
    /// degree at each firing.
    VeloView,
}

/// How the axes of the sensor lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axes {
    /// x ahead, y to the left, z up: as ROS has it.
    #[default]
    Ros,
    /// x to the right, y ahead, z up: as the manuals have it.
    Manual,
}

/// Where the time of a packet is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeSource {
    /// From the log: when its record was written.
    #[default]
    Record,
    /// From the lidar: the microseconds past the hour in the packet, of the hour that is
    /// nearest to the record. Some hour begins at `hour_nanos` of the log's clock: 0 for
    /// Unix time, if the lidar's clock is set.
    Sensor {
        /// When an hour of the lidar begins.
        hour_nanos: i64,
    },
}

/// How points are to be made of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PointOptions {
    /// By which formula.
    pub formula: Formula,
    /// In which axes.
    pub axes: Axes,
    /// At which azimuth a scan begins, in hundredths of a degree, clockwise from ahead.
    pub cut: u16,
    /// With the time from where.
    pub time: TimeSource,
    /// Whether packets hold the returns that the sensor is said to send, though they say
    /// otherwise themselves.
    #[serde(default)]
    pub fixed_returns: bool,
    /// The sector in which the lidar does not measure, if its field of view is limited.
    #[serde(default)]
    pub blanked: Option<BlankedSector>,
}

impl PointOptions {
    /// What it takes to read `packet` of a lidar that is said to be `sensor`.
    pub(crate) fn sensor(self, sensor: Sensor, packet: &Outline) -> Sensor {
        if self.fixed_returns { sensor } else { sensor.told_by(packet) }
    }

    /// Returns whether the time from which the points of a lidar of this `model` have theirs
    /// is that of the last firing of a packet, where a packet spans a blanked sector.
    pub(super) fn is_timed_at_end(self, model: Model) -> bool {
        match self.time {
            TimeSource::Sensor { .. } if model.tells_time() => {
                model.anchor() == Anchor::End
            }
            _ => self.blanked.is_some_and(|sector| sector.is_stamped_at_end),
        }
    }
}

impl Formula {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Manual,
        Self::ManualTwoPoint,
        Self::Ros,
        Self::VelodyneDecoder,
        Self::VeloView,
    ];

    /// Whether it corrects intensities that the lidar has corrected itself.
    pub const fn corrects_corrected(self) -> bool {
        matches!(self, Self::Ros | Self::VelodyneDecoder)
    }

    /// Its name, as it is printed and as [`FromStr`] takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::ManualTwoPoint => "manual+two-point",
            Self::Ros => "ros",
            Self::VelodyneDecoder => "velodyne_decoder",
            Self::VeloView => "veloview",
        }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Formula {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|formula| formula.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            let what = format!("no formula is called {text:?}; known are {names}");
            Error::new(ErrorKind::NoSuch, what)
        })
    }
}

impl From<Formula> for &'static str {
    fn from(formula: Formula) -> Self {
        formula.name()
    }
}

impl TryFrom<String> for Formula {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}
