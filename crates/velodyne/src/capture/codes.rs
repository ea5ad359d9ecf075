//! The codes of what is found in captures.

use logtool_core::{
    Code,
    Severity::{self, Error, Note, Warning},
};

use crate::lidar;

/// All of them, but for those of lidars.
pub(crate) const OWN: &[&Code] = &[
    &BROKEN,
    &CHECKSUM,
    &CHECKSUMS,
    &CLOCK_HOST,
    &CLOCK_NMEA,
    &CLOCK_ROLLOVER,
    &EMPTY,
    &FLAGS,
    &HOURS,
    &OTHER_DATAGRAM,
    &OTHER_LIDAR,
    &OTHER_PROTOCOL,
    &PIECES,
    &PRODUCT,
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
pub(crate) static CHECKSUM: Code = code(
    "capture.checksum",
    Error,
    "packets of lidars have a UDP checksum that does not match their bytes: they are lost",
);
pub(crate) static CHECKSUMS: Code = code(
    "capture.checksums",
    Warning,
    "most UDP checksums of a capture are wrong: none is verified",
);
pub(crate) static CLOCK_HOST: Code = code(
    "capture.clock.host",
    Note,
    "the clock of the computer that captured the packets differs from UTC by more than a \
     second, as the position packets state it",
);
pub(crate) static CLOCK_NMEA: Code = code(
    "capture.clock.nmea",
    Warning,
    "the minute and second in NMEA sentences contradict the time in the packets of the lidar",
);
pub(crate) static CLOCK_ROLLOVER: Code = code(
    "capture.clock.rollover",
    Warning,
    "the dates in NMEA sentences are a multiple of 1024 weeks before those of the capture: \
     the week number of the GPS receiver has overflowed",
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
pub(crate) static OTHER_LIDAR: Code = code(
    "capture.other.lidar",
    Warning,
    "a capture holds packets of lidars of other manufacturers, which are not supported",
);
pub(crate) static OTHER_PROTOCOL: Code =
    code("capture.other.protocol", Note, "frames of a capture are of other protocols");
pub(crate) static PIECES: Code =
    code("capture.pieces", Error, "datagrams that came in pieces are not complete");
pub(crate) static PRODUCT: Code = code(
    "capture.product",
    Warning,
    "data packets have the product ID of no known model: no points are made of them",
);
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
