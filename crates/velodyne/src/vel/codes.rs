//! The codes of what is found in `.vel` logs.

use logtool_core::{
    Code,
    Severity::{self, Note, Warning},
};

use crate::lidar;

/// All of them, but for those of the lidar.
pub(crate) const OWN: &[&Code] = &[
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

/// All of them.
pub(crate) const CODES: &[&Code] = &{
    let mut all = [&DIGIT; OWN.len() + lidar::CODES.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = match at < OWN.len() {
            true => OWN[at],
            false => lidar::CODES[at - OWN.len()],
        };
        at += 1;
    }
    all
};

const fn code(name: &'static str, severity: Severity, meaning: &'static str) -> Code {
    Code { name, severity, meaning }
}

pub(crate) static DIGIT: Code = code(
    "vel.validity.digit",
    Note,
    "valid messages are marked with the digit 1, where the specification wants an I",
);
pub(crate) static GPS_WARNING: Code =
    code("vel.gps.warning", Warning, "the warning of GPS messages is neither 0 nor 1");
pub(crate) static IMAGE: Code = code(
    "vel.image",
    Warning,
    "pictures are neither JPEG, which compressed ones are, nor rows of pixels of their size",
);
pub(crate) static INDEX: Code = code(
    "vel.index",
    Warning,
    "the index of a .vel log is missing, short, not sorted, or does not say where seconds \
     begin: programs that use it go wrong",
);
pub(crate) static LENGTH: Code = code(
    "vel.length",
    Warning,
    "messages hold more or fewer packets, or a longer or shorter picture, than they say",
);
pub(crate) static NO_UTC: Code = code(
    "vel.utc",
    Note,
    "no GPS message of a .vel log tells UTC: its times are those of the recorder only",
);
pub(crate) static POSITION: Code = code(
    "vel.gps.position",
    Warning,
    "positions cannot be degrees: if they are most, they are degrees and minutes, ddmm.mmmm; \
     else they are no places",
);
pub(crate) static TIME: Code = code(
    "vel.time",
    Warning,
    "messages of a .vel log are of no time, or of one that is hours from those around them",
);
pub(crate) static TRAILING: Code = code(
    "vel.trailing",
    Note,
    "there are bytes behind the mark that ends the messages",
);
pub(crate) static VALIDITY: Code = code(
    "vel.validity",
    Warning,
    "messages are not marked valid: no points, plots or tracks are made of them",
);
pub(crate) static VERSION: Code = code(
    "vel.version",
    Warning,
    "a .vel log has another major version than 1: its layout may differ",
);
