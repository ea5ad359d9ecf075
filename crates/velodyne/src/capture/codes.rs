//! The codes of the findings in captures.

use logtool_core::FindingCode;

use crate::lidar;

/// All codes except those of lidars.
pub(crate) const CAPTURE_CODES: &[&FindingCode] = &[
    &BROKEN,
    &CHECKSUM,
    &CHECKSUMS,
    &CLOCK_HOST,
    &CLOCK_NMEA,
    &CLOCK_ROLLOVER,
    &DUPLICATE,
    &EMPTY,
    &FLAGS,
    &FRAGMENTS,
    &HOURS,
    &OTHER_DATAGRAM,
    &OTHER_FRAGMENTS,
    &OTHER_LIDAR,
    &OTHER_PROTOCOL,
    &PRODUCT,
    &SENDER,
    &SENDERS,
    &SHORT,
    &UNDECLARED_NANOS,
    &UNKNOWN_LAYER,
    &UNKNOWN_LINK,
    &WITHOUT_TIME,
];

/// All codes.
pub(crate) const CODES: &[&FindingCode] = &lidar::with_lidar_codes::<
    { CAPTURE_CODES.len() + lidar::CODES.len() },
>(CAPTURE_CODES);

pub(crate) static BROKEN: FindingCode = FindingCode::error(
    "capture.broken",
    "frames of a capture are shorter than their headers declare, or contain packets that \
     their headers do not lead to, packets with unknown block flags, or only zeros",
);
pub(crate) static CHECKSUM: FindingCode = FindingCode::error(
    "capture.checksum",
    "packets of lidars have a UDP or IPv4 header checksum that does not match their bytes: \
     they are lost",
);
pub(crate) static CHECKSUMS: FindingCode = FindingCode::warning(
    "capture.checksums",
    "most UDP checksums of a capture, or most IPv4 header checksums of a sender, are wrong: \
     they are not verified",
);
pub(crate) static CLOCK_HOST: FindingCode = FindingCode::note(
    "capture.clock.host",
    "the clock of the computer that captured the packets differs by more than a second from \
     the UTC that the position packets state",
);
pub(crate) static CLOCK_NMEA: FindingCode = FindingCode::warning(
    "capture.clock.nmea",
    "the minute and second in NMEA sentences contradict the time in the packets of the lidar",
);
pub(crate) static CLOCK_ROLLOVER: FindingCode = FindingCode::warning(
    "capture.clock.rollover",
    "the dates in NMEA sentences are a multiple of 1024 weeks before those of the capture: \
     the week number of the GPS receiver has overflowed",
);
pub(crate) static DUPLICATE: FindingCode = FindingCode::note(
    "capture.duplicate",
    "packets of a capture are duplicated, e.g. by the mirror port of a switch: one of each \
     is read",
);
pub(crate) static EMPTY: FindingCode =
    FindingCode::warning("capture.empty", "a capture has no packets of a lidar");
pub(crate) static FLAGS: FindingCode = FindingCode::warning(
    "capture.flags",
    "datagrams have the length of data packets, but unknown block flags",
);
pub(crate) static FRAGMENTS: FindingCode = FindingCode::error(
    "capture.fragments",
    "fragmented datagrams that may be from lidars are incomplete",
);
pub(crate) static HOURS: FindingCode = FindingCode::note(
    "capture.hours",
    "packets without a container: times are those in the packets, from the hour of the first",
);
pub(crate) static OTHER_DATAGRAM: FindingCode = FindingCode::note(
    "capture.other.datagram",
    "datagrams of a capture are not from lidars",
);
pub(crate) static OTHER_FRAGMENTS: FindingCode = FindingCode::note(
    "capture.other.fragments",
    "fragmented datagrams that are not from lidars are incomplete",
);
pub(crate) static OTHER_LIDAR: FindingCode = FindingCode::warning(
    "capture.other.lidar",
    "a capture contains packets of lidars of other manufacturers, which are not supported",
);
pub(crate) static OTHER_PROTOCOL: FindingCode = FindingCode::note(
    "capture.other.protocol",
    "frames of a capture have other protocols",
);
pub(crate) static PRODUCT: FindingCode = FindingCode::warning(
    "capture.product",
    "data packets have an unknown product ID: they are not decoded to points",
);
pub(crate) static SENDER: FindingCode = FindingCode::error(
    "capture.sender",
    "the headers of packets are damaged: the packets are counted to a lidar whose other \
     packets are similar",
);
pub(crate) static SENDERS: FindingCode = FindingCode::error(
    "capture.senders",
    "a capture has packets of more than 256 senders: those of further senders are lost",
);
pub(crate) static SHORT: FindingCode = FindingCode::error(
    "capture.short",
    "frames are truncated by the snapshot length: the packets in them are lost, or only their \
     complete blocks are read",
);
pub(crate) static UNDECLARED_NANOS: FindingCode = FindingCode::warning(
    "capture.undeclared_nanos",
    "the header of a capture declares times in microseconds, but they are in nanoseconds",
);
pub(crate) static UNKNOWN_LAYER: FindingCode = FindingCode::note(
    "capture.unknown_layer",
    "packets were found in layers of frames that are not known: they are read",
);
pub(crate) static UNKNOWN_LINK: FindingCode = FindingCode::error(
    "capture.unknown_link",
    "frames of a capture have an unknown link type: packets in them are lost",
);
pub(crate) static WITHOUT_TIME: FindingCode =
    FindingCode::warning("capture.time", "packets of a capture have no time");
