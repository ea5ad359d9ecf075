//! The codes of the findings in captures.

use logtool_core::{
    Code,
    Severity::{Error, Note, Warning},
};

use crate::lidar::{self, code};

/// All codes except those of lidars.
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
    &FRAGMENTS,
    &PRODUCT,
    &SHORT,
    &DUPLICATE,
    &UNKNOWN_LINK,
    &WITHOUT_TIME,
];

/// All codes.
pub(crate) const CODES: &[&Code] =
    &lidar::with_lidar_codes::<{ OWN.len() + lidar::CODES.len() }>(OWN);

pub(crate) static BROKEN: Code = code(
    "capture.broken",
    Error,
    "frames of a capture are shorter than their headers declare, contain packets that \
     their headers do not lead to, or packets with unknown block flags",
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
    code("capture.empty", Warning, "a capture has no packets of a lidar");
pub(crate) static FLAGS: Code = code(
    "capture.flags",
    Warning,
    "datagrams have the length of data packets, but unknown block flags",
);
pub(crate) static HOURS: Code = code(
    "capture.hours",
    Note,
    "packets without a container: times are those in the packets, from the hour of the first",
);
pub(crate) static OTHER_DATAGRAM: Code =
    code("capture.other.datagram", Note, "datagrams of a capture are not from lidars");
pub(crate) static OTHER_LIDAR: Code = code(
    "capture.other.lidar",
    Warning,
    "a capture contains packets of lidars of other manufacturers, which are not supported",
);
pub(crate) static OTHER_PROTOCOL: Code =
    code("capture.other.protocol", Note, "frames of a capture have other protocols");
pub(crate) static FRAGMENTS: Code =
    code("capture.pieces", Error, "fragmented datagrams are incomplete");
pub(crate) static PRODUCT: Code = code(
    "capture.product",
    Warning,
    "data packets have an unknown product ID: they are not decoded to points",
);
pub(crate) static SHORT: Code = code(
    "capture.short",
    Error,
    "frames are truncated by the snapshot length: the packets in them are lost",
);
pub(crate) static DUPLICATE: Code = code(
    "capture.twice",
    Note,
    "packets of a capture are duplicated, e.g. by the mirror port of a switch: one of each \
     is read",
);
pub(crate) static UNKNOWN_LINK: Code = code(
    "capture.unknown_link",
    Warning,
    "frames of a capture have an unknown link type and are ignored",
);
pub(crate) static WITHOUT_TIME: Code =
    code("capture.time", Warning, "packets of a capture have no time");
