//! The codes of findings about lidars, for all formats.

use logtool_core::{
    Code,
    Severity::{self, Note, Warning},
};

/// All codes.
pub const CODES: &[&Code] = &[
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

/// Returns the codes of a format, `own`, and those of lidars.
pub(crate) const fn with_lidar_codes<const N: usize>(
    own: &[&'static Code],
) -> [&'static Code; N] {
    let mut all = [CODES[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < own.len() { own[at] } else { CODES[at - own.len()] };
        at += 1;
    }
    all
}

/// Creates a code.
pub(crate) const fn code(
    name: &'static str,
    severity: Severity,
    meaning: &'static str,
) -> Code {
    Code { name, severity, meaning }
}

pub(super) static CALIBRATION_CHECK: Code = code(
    "lidar.calibration.check",
    Warning,
    "the calibration that a lidar sends has a wrong checksum or length, or a calibration file \
     is implausible",
);
pub(super) static CALIBRATION_INCOMPLETE: Code = code(
    "lidar.calibration.incomplete",
    Warning,
    "the log does not contain the whole calibration that a lidar sends in its packets",
);
pub(super) static CALIBRATION_OTHER: Code = code(
    "lidar.calibration.other",
    Warning,
    "points are computed with the calibration of another lidar, because its own is unknown",
);
pub(super) static CLOCK_JUMP: Code = code(
    "lidar.clock.jump",
    Warning,
    "the time in the packets of a lidar goes back, or advances by over a second more or less \
     than that of the log",
);
pub(crate) static CLOCK_UNSET: Code = code(
    "lidar.clock.unset",
    Note,
    "the clock of a lidar is not set by a receiver and its pulse: it is not UTC",
);
pub(super) static CLOCK_UTC: Code = code(
    "lidar.clock.utc",
    Warning,
    "the time that a lidar states contradicts the clock of the log or its own status bytes, \
     or looks like TAI or GPS time",
);
pub(super) static CONFLICT: Code = code(
    "lidar.model.conflict",
    Note,
    "packets indicate two lidar models, or none: one was chosen",
);
pub(super) static MOTOR: Code = code(
    "lidar.motor",
    Warning,
    "the head of a lidar does not turn: the azimuths of its packets stay the same",
);
pub(super) static OVERRULED: Code = code(
    "lidar.model.overruled",
    Warning,
    "the user set another lidar model or return mode than the packets state",
);
pub(super) static PACKETS_LOST: Code = code(
    "lidar.packets.lost",
    Warning,
    "packets are missing, according to the timestamps of those around them",
);
pub(super) static RATE: Code = code(
    "lidar.packets.rate",
    Warning,
    "packets come more often from one sender than a lidar of its model sends them",
);
pub(super) static RETURNS: Code = code(
    "lidar.returns",
    Note,
    "the return mode changes within a log: each packet is decoded in its own mode",
);
