//! The codes of findings about lidars, for all formats.

use logtool_core::FindingCode;

/// All codes.
pub const CODES: &[&FindingCode] = &[
    &CALIBRATION_CHECK,
    &CALIBRATION_INCOMPLETE,
    &CALIBRATION_OTHER,
    &CLOCK_JUMP,
    &CLOCK_UNSET,
    &CLOCK_UTC,
    &CONFLICT,
    &MOTOR,
    &OVERRULED,
    &PACKETS_LOST,
    &RATE,
    &RETURNS,
];

/// Returns the codes of a format, `format_codes`, and those of lidars. `N` is the number of
/// both.
pub(crate) const fn with_lidar_codes<const N: usize>(
    format_codes: &[&'static FindingCode],
) -> [&'static FindingCode; N] {
    let mut codes = [CODES[0]; N];
    let mut index = 0;
    while index < N {
        codes[index] = if index < format_codes.len() {
            format_codes[index]
        } else {
            CODES[index - format_codes.len()]
        };
        index += 1;
    }
    codes
}

pub(super) static CALIBRATION_CHECK: FindingCode = FindingCode::warning(
    "lidar.calibration.check",
    "the calibration that a lidar sends has a wrong checksum or length, or a calibration file \
     is implausible",
);
pub(super) static CALIBRATION_INCOMPLETE: FindingCode = FindingCode::warning(
    "lidar.calibration.incomplete",
    "the log does not contain the whole calibration that a lidar sends in its packets",
);
pub(super) static CALIBRATION_OTHER: FindingCode = FindingCode::warning(
    "lidar.calibration.other",
    "points are computed with the calibration of another lidar, because its own is unknown",
);
pub(super) static CLOCK_JUMP: FindingCode = FindingCode::warning(
    "lidar.clock.jump",
    "the clock of a lidar goes back, or its step differs by more than a second from that of \
     the clock of the log",
);
pub(crate) static CLOCK_UNSET: FindingCode = FindingCode::note(
    "lidar.clock.unset",
    "the clock of a lidar is not set by a receiver and its pulse: it is not UTC",
);
pub(super) static CLOCK_UTC: FindingCode = FindingCode::warning(
    "lidar.clock.utc",
    "the time that a lidar states contradicts the clock of the log or its own status bytes, \
     or looks like TAI or GPS time",
);
pub(super) static CONFLICT: FindingCode = FindingCode::note(
    "lidar.model.conflict",
    "the packets do not agree on a lidar model, or the model is unknown: one was chosen",
);
pub(super) static MOTOR: FindingCode = FindingCode::warning(
    "lidar.motor",
    "the head of a lidar does not turn: the azimuths of its packets stay the same",
);
pub(super) static OVERRULED: FindingCode = FindingCode::warning(
    "lidar.model.overruled",
    "the lidar model or return mode that the user set contradicts the packets",
);
pub(super) static PACKETS_LOST: FindingCode = FindingCode::warning(
    "lidar.packets.lost",
    "packets are missing, according to the timestamps of those around them",
);
pub(super) static RATE: FindingCode = FindingCode::warning(
    "lidar.packets.rate",
    "packets come more often from one sender than a lidar of its model sends them",
);
pub(super) static RETURNS: FindingCode = FindingCode::note(
    "lidar.returns",
    "the return mode changes within a log: each packet is decoded in its own mode",
);
