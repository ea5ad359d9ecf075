//! Reads the lidar of a topic of points from the metadata of the topic.

use std::{fmt, str::FromStr};

use logtool_core::Topic;

use crate::{
    calibration::{Calibration, Origin},
    lidar::clock_state::ClockState,
};

// The metadata keys. Outputs contain them too, so they are part of the public interface.
pub(super) const LIDAR: &str = "lidar";
pub(super) const REASONS: &str = "lidar_reasons";
pub(super) const CALIBRATION: &str = "calibration";
pub(super) const FORMULA: &str = "formula";
pub(super) const SCAN_START: &str = "scan_start";
pub(super) const FIELD_OF_VIEW: &str = "field_of_view";
pub(super) const CLOCK: &str = "lidar_clock";
pub(super) const CALIBRATION_MISMATCH: &str = "calibration_mismatch";
pub(super) const MODEL_CONFLICT: &str = "model_conflict";
pub(super) const MODEL_WARNING: &str = "model_warning";
pub(super) const PACKET_WARNING: &str = "packet_warning";
pub(super) const CALIBRATION_WARNING: &str = "calibration_warning";
pub(super) const CLOCK_WARNING: &str = "clock_warning";
pub(crate) const VALIDITY_WARNING: &str = "validity_warning";

/// The unit of the azimuth at which scans start.
pub(super) const DEGREES: &str = " deg";

/// The lidar of a topic of points: its model, its calibration, and how its points are
/// computed.
///
/// ```
/// use logtool_core::Topic;
/// use logtool_velodyne::lidar::{CalibrationOrigin, LidarInfo};
///
/// # fn example(topic: &Topic) {
/// if let Some(info) = LidarInfo::from_topic(topic)
///     && info.calibration == CalibrationOrigin::Sent
/// {
///     println!("{} sends its calibration", info.name);
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LidarInfo<'t> {
    /// The model and the return mode.
    pub name: &'t str,
    /// The reasons for that model.
    pub reasons: Option<&'t str>,
    /// The origin of the calibration.
    pub calibration: CalibrationOrigin,
    /// The formula for computing points.
    pub formula: Option<&'t str>,
    /// The azimuth at which scans start, in degrees.
    pub scan_start_deg: f64,
    /// The sector in which the lidar measures, if that is not the whole circle.
    pub field_of_view: Option<&'t str>,
    /// The state of the lidar's own clock, as stated by its packets.
    pub clock: Option<ClockState>,
    /// Why no points can be computed with the calibration that the user set.
    pub calibration_mismatch: Option<&'t str>,
    /// Observations that contradict the model.
    pub model_conflict: Option<&'t str>,
    /// A warning if the packets indicate a different model from the one that the user set.
    /// It contains the reasons for the indicated model.
    pub model_warning: Option<&'t str>,
    /// Warnings about the packets: an impossible rate, a motor that does not turn, or times
    /// that contradict the clock of the log or each other.
    pub packet_warning: Option<&'t str>,
    /// A warning about the calibration.
    pub calibration_warning: Option<&'t str>,
    /// A warning about two clocks that contradict each other.
    pub clock_warning: Option<&'t str>,
    /// A warning about messages that are not marked valid, whose packets are not decoded.
    pub validity_warning: Option<&'t str>,
}

impl<'t> LidarInfo<'t> {
    /// Reads the metadata of `topic`, or returns `None` if it has no lidar.
    pub fn from_topic(topic: &'t Topic) -> Option<Self> {
        let get = |key: &str| topic.metadata.get(key).map(String::as_str);
        let degrees = get(SCAN_START).and_then(|text| text.strip_suffix(DEGREES));
        Some(Self {
            name: get(LIDAR)?,
            reasons: get(REASONS),
            calibration: get(CALIBRATION)?.parse().ok()?,
            formula: get(FORMULA),
            scan_start_deg: degrees.and_then(|text| text.parse().ok()).unwrap_or(0.0),
            field_of_view: get(FIELD_OF_VIEW),
            clock: get(CLOCK).and_then(|text| text.parse().ok()),
            calibration_mismatch: get(CALIBRATION_MISMATCH),
            model_conflict: get(MODEL_CONFLICT),
            model_warning: get(MODEL_WARNING),
            packet_warning: get(PACKET_WARNING),
            calibration_warning: get(CALIBRATION_WARNING),
            clock_warning: get(CLOCK_WARNING),
            validity_warning: get(VALIDITY_WARNING),
        })
    }

    /// Returns all warnings about the model, the packets, the calibration, the clock and the
    /// messages.
    pub fn warnings(&self) -> impl Iterator<Item = &'t str> {
        let warnings = [
            self.model_warning,
            self.packet_warning,
            self.calibration_warning,
            self.clock_warning,
            self.validity_warning,
        ];
        warnings.into_iter().flatten()
    }
}

/// The origin of a lidar's calibration. Parsing its text, as in metadata and outputs,
/// returns the same value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CalibrationOrigin {
    /// A file of this name.
    File(String),
    /// The lidar sent the whole calibration.
    Sent,
    /// The lidar sent it, but some values were missing and come from another calibration.
    SentIncomplete {
        /// The number of lasers without all values.
        incomplete_lasers: usize,
        /// The number of lasers.
        lasers: usize,
    },
    /// The table with this name, which is the same for all lidars of a model.
    Default(String),
}

impl From<&Calibration> for CalibrationOrigin {
    fn from(calibration: &Calibration) -> Self {
        match &calibration.origin {
            Origin::File(name) => Self::File(name.clone()),
            Origin::Stream => Self::Sent,
            Origin::Completed { lasers, .. } => Self::SentIncomplete {
                incomplete_lasers: lasers.len(),
                lasers: calibration.lasers.len(),
            },
            Origin::Default(name) => Self::Default(name.clone()),
        }
    }
}

// The parts of the texts of a `CalibrationOrigin`.
const FILE: &str = "file ";
const SENT: &str = "sent by the lidar itself";
const BUT_FOR: &str = ", but for values of ";
const OF_ITS: &str = " of its ";
const LASERS: &str = " lasers";
const DEFAULT: &str = "default: ";

impl fmt::Display for CalibrationOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(name) => write!(f, "{FILE}{name}"),
            Self::Sent => f.write_str(SENT),
            Self::SentIncomplete { incomplete_lasers, lasers } => {
                write!(f, "{SENT}{BUT_FOR}{incomplete_lasers}{OF_ITS}{lasers}{LASERS}")
            }
            Self::Default(name) => write!(f, "{DEFAULT}{name}"),
        }
    }
}

/// The text is not that of a [`CalibrationOrigin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseOriginError;

impl fmt::Display for ParseOriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the origin of a calibration")
    }
}

impl std::error::Error for ParseOriginError {}

impl FromStr for CalibrationOrigin {
    type Err = ParseOriginError;

    fn from_str(text: &str) -> Result<Self, ParseOriginError> {
        if let Some(name) = text.strip_prefix(FILE) {
            return Ok(Self::File(name.to_owned()));
        }
        if let Some(name) = text.strip_prefix(DEFAULT) {
            return Ok(Self::Default(name.to_owned()));
        }
        let suffix = text.strip_prefix(SENT).ok_or(ParseOriginError)?;
        if suffix.is_empty() {
            return Ok(Self::Sent);
        }
        let counts = suffix.strip_prefix(BUT_FOR).and_then(|counts| {
            let (incomplete, total) =
                counts.strip_suffix(LASERS)?.split_once(OF_ITS)?;
            incomplete.parse().ok().zip(total.parse().ok())
        });
        let (incomplete_lasers, lasers) = counts.ok_or(ParseOriginError)?;
        Ok(Self::SentIncomplete { incomplete_lasers, lasers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_parse_back_from_their_text() {
        for (origin, text) in [
            (CalibrationOrigin::File("db.xml".to_owned()), "file db.xml"),
            (CalibrationOrigin::Sent, "sent by the lidar itself"),
            (
                CalibrationOrigin::SentIncomplete { incomplete_lasers: 3, lasers: 64 },
                "sent by the lidar itself, but for values of 3 of its 64 lasers",
            ),
            (CalibrationOrigin::Default("VLP-16".to_owned()), "default: VLP-16"),
        ] {
            assert_eq!(origin.to_string(), text);
            assert_eq!(text.parse(), Ok(origin));
        }
        for text in ["", "default", "sent by the lidar itself, but"] {
            assert_eq!(
                text.parse::<CalibrationOrigin>(),
                Err(ParseOriginError),
                "{text}"
            );
        }
    }
}
