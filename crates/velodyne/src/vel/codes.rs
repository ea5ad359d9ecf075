//! The codes of the findings in `.vel` logs.

use logtool_core::FindingCode;

use crate::lidar;

/// The codes that only `.vel` logs have: all except those of lidars.
pub(crate) const VEL_CODES: &[&FindingCode] = &[
    &DIGIT,
    &GPS_WARNING,
    &IMAGE,
    &INDEX,
    &LENGTH,
    &NO_UTC,
    &POSITION,
    &TIME,
    &TRAILING,
    &VALIDITY,
    &VERSION,
];

/// All codes.
pub(crate) const CODES: &[&FindingCode] =
    &lidar::with_lidar_codes::<{ VEL_CODES.len() + lidar::CODES.len() }>(VEL_CODES);

pub(crate) static DIGIT: FindingCode = FindingCode::note(
    "vel.validity.digit",
    "valid messages are marked with the digit 1, the specification requires the letter I",
);
pub(crate) static GPS_WARNING: FindingCode = FindingCode::warning(
    "vel.gps.warning",
    "the warning field of GPS messages is neither 0 nor 1",
);
pub(crate) static IMAGE: FindingCode = FindingCode::warning(
    "vel.image",
    "images are neither JPEG (if compressed) nor rows of pixels of the stated size",
);
pub(crate) static INDEX: FindingCode = FindingCode::warning(
    "vel.index",
    "the index of a .vel log is missing, short, not sorted, or does not point to the starts of \
     seconds: programs that rely on it seek to wrong positions",
);
pub(crate) static LENGTH: FindingCode = FindingCode::warning(
    "vel.length",
    "messages contain more or fewer packets, or a longer or shorter image, than they declare",
);
pub(crate) static NO_UTC: FindingCode = FindingCode::note(
    "vel.utc",
    "no GPS message of a .vel log states UTC: times are only on the clock of the recorder",
);
pub(crate) static POSITION: FindingCode = FindingCode::warning(
    "vel.gps.position",
    "positions are not valid degrees: if most are not, they are decoded as degrees and minutes, \
     ddmm.mmmm; otherwise they are dropped from tracks",
);
pub(crate) static TIME: FindingCode = FindingCode::warning(
    "vel.time",
    "messages of a .vel log have no valid time, or one that is hours from those around them",
);
pub(crate) static TRAILING: FindingCode = FindingCode::note(
    "vel.trailing",
    "there are bytes after the mark that ends the messages",
);
pub(crate) static VALIDITY: FindingCode = FindingCode::warning(
    "vel.validity",
    "messages are not marked valid: they are not used for points, plots or tracks",
);
pub(crate) static VERSION: FindingCode = FindingCode::warning(
    "vel.version",
    "a .vel log has a major version other than 1: its layout may differ",
);
