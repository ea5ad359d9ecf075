//! How a receiver of a satellite navigation system sets the clock of a lidar.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// How a receiver of a satellite navigation system (GNSS) sets the clock of a lidar. Parsing its
/// text, as in metadata and outputs, returns the same value.
///
/// ```
/// use logtool_velodyne::lidar::ClockState;
///
/// let state = ClockState::NmeaOnly;
/// assert_eq!(state.to_string().parse(), Ok(state));
/// assert!(!state.is_locked());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ClockState {
    /// The clock follows the pulse of a receiver, and NMEA sentences state the hour.
    Locked,
    /// NMEA sentences set the clock, without a pulse.
    NmeaOnly,
    /// The clock follows the pulse of a receiver, and the hour is unknown.
    PulseOnly,
    /// The clock counts from power-on, because there is no receiver with a fix.
    Unset,
    /// NMEA sentences state another minute and second than the clock.
    NotUtc,
}

impl ClockState {
    const ALL: [Self; 5] =
        [Self::Locked, Self::NmeaOnly, Self::PulseOnly, Self::Unset, Self::NotUtc];

    /// Returns whether the clock is UTC and follows the pulse of a receiver.
    pub fn is_locked(self) -> bool {
        self == Self::Locked
    }

    fn text(self) -> &'static str {
        match self {
            Self::Locked => {
                "locked: it follows the pulse of a receiver, and NMEA states the hour"
            }
            Self::NmeaOnly => "NMEA only: it is set without a pulse",
            Self::PulseOnly => "pulse only: the hour is unknown",
            Self::Unset => "counts from power-on: there is no receiver with a fix",
            Self::NotUtc => "not UTC: NMEA states another minute and second",
        }
    }
}

impl fmt::Display for ClockState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// The text is not that of a [`ClockState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseClockStateError;

impl fmt::Display for ParseClockStateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the state of the clock of a lidar")
    }
}

impl std::error::Error for ParseClockStateError {}

impl FromStr for ClockState {
    type Err = ParseClockStateError;

    fn from_str(text: &str) -> Result<Self, ParseClockStateError> {
        let state = Self::ALL.into_iter().find(|state| state.text() == text);
        state.ok_or(ParseClockStateError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_parsed_to_the_same_states() {
        for state in ClockState::ALL {
            assert_eq!(state.to_string().parse(), Ok(state));
        }
        assert_eq!("locked".parse::<ClockState>(), Err(ParseClockStateError));
    }
}
