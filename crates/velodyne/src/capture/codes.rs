//! The codes of what is found in captures.

use logtool_core::{
    Code,
    Severity::{self, Error, Note, Warning},
};

use crate::lidar;

/// All of them, but for those of lidars.
pub(crate) const OWN: &[&Code] = &[
    &BROKEN,
    &EMPTY,
    &FLAGS,
    &HOURS,
    &OTHER_DATAGRAM,
    &OTHER_PROTOCOL,
    &PIECES,
    &SHORT,
    &TWICE,
    &UNKNOWN_LINK,
    &WITHOUT_TIME,
];

/// All of them.
pub(crate) const CODES: &[&Code] = &{
    let mut all = [&EMPTY; OWN.len() + lidar::CODES.len()];
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

pub(crate) static BROKEN: Code = code(
    "capture.broken",
    Error,
    "frames of a capture are shorter than the packets in them say, or hold packets to \
     which their headers do not lead, or with blocks of no known lasers",
);
pub(crate) static EMPTY: Code =
    code("capture.empty", Warning, "a capture has no packet of a lidar");
pub(crate) static FLAGS: Code = code(
    "capture.flags",
    Warning,
    "datagrams are as long as data packets, but their blocks are of no known lasers",
);
pub(crate) static HOURS: Code = code(
    "capture.hours",
    Note,
    "packets without a container: times are what they tell, from the hour of the first",
);
pub(crate) static OTHER_DATAGRAM: Code = code(
    "capture.other.datagram",
    Note,
    "datagrams of a capture are of something else than lidars",
);
pub(crate) static OTHER_PROTOCOL: Code =
    code("capture.other.protocol", Note, "frames of a capture are of other protocols");
pub(crate) static PIECES: Code =
    code("capture.pieces", Error, "datagrams that came in pieces are not complete");
pub(crate) static SHORT: Code = code(
    "capture.short",
    Error,
    "frames were captured only in part: the packets in them are lost",
);
pub(crate) static TWICE: Code = code(
    "capture.twice",
    Note,
    "packets of a capture came twice, as behind the mirror port of a switch: one of each \
     is read",
);
pub(crate) static UNKNOWN_LINK: Code = code(
    "capture.unknown_link",
    Warning,
    "frames of a capture are of an unknown type of link, and were not looked into",
);
pub(crate) static WITHOUT_TIME: Code =
    code("capture.time", Warning, "packets of a capture have no time");
