//! The bytes of a `.vel` log, as values.
//!
//! Functions of bytes: nothing here reads a file.

use logtool_core::Cut;
use serde::{Deserialize, Serialize};

/// What a `.vel` log begins with.
pub const MAGIC: [u8; 4] = *b"\xa4VEL";

/// The bytes before the index: magic, version, number of entries.
pub(crate) const HEAD_LEN: usize = 12;

/// The bytes before the data of a message, its size included.
pub(crate) const HEADER_LEN: usize = 21;

/// The bytes before the data of a record's payload: a message without its size.
pub(crate) const PREFIX_LEN: usize = HEADER_LEN - SIZE_LEN;

/// The bytes of the size of a message.
pub(crate) const SIZE_LEN: usize = 4;

/// The validity of a message that is valid: `I`.
pub const VALID: u8 = 0x49;

/// What some say instead, the specification's text being ambiguous: `1`.
pub(crate) const VALID_DIGIT: u8 = 0x31;

/// The size that is none: the messages end here.
pub(crate) const END: u32 = u32::MAX;

/// The version of the format: major and minor.
pub(crate) const FORMAT_VERSION: (u16, u16) = (1, 1);

/// The version of all messages of which the layout is known.
pub const VERSION: i32 = 100;

/// How many bytes a packet of the sensor has.
pub(crate) const PACKET_LEN: usize = 1206;

/// What the size of a message counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizeField {
    /// All that follows it: 17 bytes of header, and the data.
    AfterItself,
    /// The whole message, itself included: 21 bytes of header, and the data.
    Whole,
}

impl SizeField {
    /// How many bytes of the header it counts: 17 or 21.
    pub const fn header_bytes(self) -> u32 {
        match self {
            Self::AfterItself => 17,
            Self::Whole => 21,
        }
    }
}

/// The type of a message, as the file numbers it.
pub mod kind {
    /// `OBDDataM`: what the car's diagnosis says.
    pub const OBD: u32 = 0x0001_4043;
    /// `GPSTDataM`: position and UTC.
    pub const GPS: u32 = 0x0001_4A32;
    /// `ImageM`: a picture of one of the cameras.
    pub const IMAGE: u32 = 0x0001_09C9;
    /// `RobotPoseM`: attitude and acceleration.
    pub const POSE: u32 = 0x0001_E342;
    /// `VelodyneRawDataM`: packets of the lidar.
    pub const VELODYNE: u32 = 0x0003_112B;
}

/// What a log says before its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) major: u16,
    pub(crate) minor: u16,
    /// How many entries the index is said to have.
    pub(crate) entries: u32,
}

/// What a message says before its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// [`VALID`], or anything else for what its writer did not vouch for.
    pub validity: u8,
    /// What it is: see [`kind`].
    pub kind: u32,
    /// Which version of that.
    pub version: i32,
    /// When, in milliseconds since the program started.
    pub millis: f64,
}

/// The head of the log that begins with `bytes`, if it is one.
pub(crate) fn head(bytes: &[u8]) -> Option<Head> {
    let mut cut = Cut::new(bytes.strip_prefix(&MAGIC)?);
    Some(Head { major: cut.u16()?, minor: cut.u16()?, entries: cut.u32()? })
}

/// Whether the messages are said to end where `bytes` begin.
pub(crate) fn end_mark(bytes: &[u8]) -> bool {
    Cut::new(bytes).u32() == Some(END)
}

/// The size and the header of the message at the start of `bytes`.
pub(crate) fn message(bytes: &[u8]) -> Option<(u32, Header)> {
    let size = Cut::new(bytes).u32()?;
    Some((size, header(bytes.get(SIZE_LEN..)?)?))
}

/// The header at the start of a record's payload.
pub(crate) fn header(payload: &[u8]) -> Option<Header> {
    let mut cut = Cut::new(payload);
    Some(Header {
        validity: cut.u8()?,
        kind: cut.u32()?,
        version: cut.i32()?,
        millis: f64::from_bits(cut.u64()?),
    })
}

/// How long the data of a message of `kind` is, as far as its first bytes say.
pub(crate) fn declared_len(kind: u32, data: &[u8]) -> Option<u64> {
    match kind {
        kind::OBD | kind::POSE => Some(28),
        kind::GPS => Some(80),
        kind::IMAGE => Some(20 + u64::from(Cut::new(data.get(16..)?).u32()?)),
        kind::VELODYNE => Some(4 + PACKET_LEN as u64 * u64::from(packet_count(data)?)),
        _ => None,
    }
}

/// Whether data of `len` bytes that begin with `data` is what messages of `kind` have.
///
/// Of fewer packets than are said to be there, whole ones are all the same.
pub(crate) fn fits(kind: u32, data: &[u8], len: u64) -> bool {
    match declared_len(kind, data) {
        Some(declared) if kind == kind::VELODYNE => {
            len >= 4 && len <= declared && (len - 4).is_multiple_of(PACKET_LEN as u64)
        }
        Some(declared) => declared == len,
        None => false,
    }
}

/// Whether data of `len` bytes can be that of messages of `kind`, whatever number it
/// begins with says of the rest.
pub(crate) fn can_hold(kind: u32, len: u64) -> bool {
    match kind {
        kind::IMAGE => len > 20,
        kind::VELODYNE => len > 4 && (len - 4).is_multiple_of(PACKET_LEN as u64),
        _ => false,
    }
}

/// The packets of the data of a `VelodyneRawDataM`: all that are there, however many are
/// said to be.
pub(crate) fn packets(data: &[u8]) -> &[[u8; PACKET_LEN]] {
    data.get(4..).unwrap_or_default().as_chunks().0
}

fn packet_count(data: &[u8]) -> Option<u32> {
    Cut::new(data).u32()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_says_how_many_entries_follow() {
        let bytes = b"\xa4VEL\x01\x00\x01\x00\x02\x00\x00\x00";
        assert_eq!(head(bytes), Some(Head { major: 1, minor: 1, entries: 2 }));
        assert_eq!(head(&bytes[..11]), None);
        assert_eq!(head(b"\xa4VEX\x01\x00\x01\x00\x02\x00\x00\x00"), None);
    }

    #[test]
    fn a_header_lies_where_the_specification_says() {
        let mut bytes = vec![45, 0, 0, 0, 0x49, 0x43, 0x40, 1, 0, 100, 0, 0, 0];
        bytes.extend(1234.5_f64.to_le_bytes());
        let header =
            Header { validity: VALID, kind: kind::OBD, version: 100, millis: 1234.5 };
        assert_eq!(message(&bytes), Some((45, header)));
        assert_eq!(message(&bytes[..20]), None);
    }

    #[test]
    fn data_says_how_long_it_is() {
        assert_eq!(declared_len(kind::VELODYNE, &[2, 0, 0, 0]), Some(4 + 2 * 1206));
        assert_eq!(declared_len(kind::VELODYNE, &[0xff; 4]), Some(5_179_730_557_774));
        assert_eq!(declared_len(kind::VELODYNE, &[2, 0, 0]), None);
        let mut image = [0; 20];
        image[16] = 7;
        assert_eq!(declared_len(kind::IMAGE, &image), Some(27));
        assert_eq!(declared_len(0x1234, &image), None);
    }

    #[test]
    fn whole_packets_are_taken_from_a_message_that_is_cut() {
        let data = [&[3, 0, 0, 0][..], &[7; 2 * 1206]].concat();
        assert!(fits(kind::VELODYNE, &data, 4 + 2 * 1206));
        assert!(!fits(kind::VELODYNE, &data, 4 + 2 * 1206 - 1));
        assert!(!fits(kind::VELODYNE, &data, 4 + 4 * 1206));
        assert_eq!(packets(&data).len(), 2);
        assert!(can_hold(kind::VELODYNE, 4 + 1206));
        assert!(!can_hold(kind::VELODYNE, 1206));
        assert!(!can_hold(kind::OBD, 28));
    }
}
