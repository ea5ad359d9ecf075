//! Parses the bytes of a `.vel` log, without I/O.

use logtool_core::ByteReader;
use serde::{Deserialize, Serialize};

/// The first bytes of a `.vel` log.
pub const MAGIC: [u8; 4] = *b"\xa4VEL";

/// The length of the file header: magic, version, number of entries.
pub(crate) const FILE_HEADER_LEN: usize = 12;

/// The length of the size field of a message.
pub(crate) const SIZE_LEN: usize = 4;

/// The length of a message before its data, including the size field.
pub(crate) const HEADER_LEN: usize = 21;

/// The length of a payload before the data. A payload is a message without its size field.
pub(crate) const PREFIX_LEN: usize = HEADER_LEN - SIZE_LEN;

/// The length of the number of packets, before the packets of a message.
pub(crate) const COUNT_LEN: usize = 4;

/// The validity byte of valid messages: `I`.
pub const VALID: u8 = 0x49;

/// The validity byte that some writers use instead, because the specification is
/// ambiguous: `1`.
pub(crate) const VALID_DIGIT: u8 = 0x31;

/// The size value that marks the end of the messages.
pub(crate) const END: u32 = u32::MAX;

/// The version of the format: major and minor.
pub(crate) const FORMAT_VERSION: (u16, u16) = (1, 1);

/// The version of the types with a known layout.
pub const VERSION: i32 = 100;

/// The length of a packet of the sensor.
pub(crate) const PACKET_LEN: usize = 1206;

/// The bytes that the size of a message includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizeField {
    /// Everything after the size: 17 bytes of header, and the data.
    AfterItself,
    /// The whole message: 21 bytes of size and header, and the data.
    Whole,
}

impl SizeField {
    /// Returns the number of header bytes that the size includes: 17 or 21.
    pub const fn header_bytes(self) -> u32 {
        match self {
            Self::AfterItself => 17,
            Self::Whole => 21,
        }
    }
}

/// The types of messages.
pub mod kind {
    /// `OBDDataM`: on-board diagnostics of the car.
    pub const OBD: u32 = 0x0001_4043;
    /// `GPSTDataM`: position and UTC.
    pub const GPS: u32 = 0x0001_4A32;
    /// `ImageM`: an image of one of the cameras.
    pub const IMAGE: u32 = 0x0001_09C9;
    /// `RobotPoseM`: attitude and acceleration.
    pub const POSE: u32 = 0x0001_E342;
    /// `VelodyneRawDataM`: packets of the lidar.
    pub const VELODYNE: u32 = 0x0003_112B;
}

/// The header of a file, before its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub(crate) major: u16,
    pub(crate) minor: u16,
    /// The declared number of index entries.
    pub(crate) entries: u32,
}

/// The header of a message, before its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// [`VALID`], or another value if the writer did not mark the message valid.
    pub validity: u8,
    /// The type, see [`kind`].
    pub kind: u32,
    /// The version of the type.
    pub version: i32,
    /// Milliseconds since the program started.
    pub millis: f64,
}

/// Parses the header of a file, or returns `None` if `bytes` does not start with one.
pub(crate) fn file_header(bytes: &[u8]) -> Option<FileHeader> {
    let mut reader = ByteReader::new(bytes.strip_prefix(&MAGIC)?);
    Some(FileHeader {
        major: reader.u16()?,
        minor: reader.u16()?,
        entries: reader.u32()?,
    })
}

/// Returns whether `bytes` starts with the mark that ends the messages.
pub(crate) fn is_end_mark(bytes: &[u8]) -> bool {
    ByteReader::new(bytes).u32() == Some(END)
}

/// Parses the size and the header of the message at the start of `bytes`.
pub(crate) fn message(bytes: &[u8]) -> Option<(u32, Header)> {
    let size = ByteReader::new(bytes).u32()?;
    Some((size, header(bytes.get(SIZE_LEN..)?)?))
}

/// Parses the header at the start of a payload.
pub(crate) fn header(payload: &[u8]) -> Option<Header> {
    let mut reader = ByteReader::new(payload);
    Some(Header {
        validity: reader.u8()?,
        kind: reader.u32()?,
        version: reader.i32()?,
        millis: f64::from_bits(reader.u64()?),
    })
}

/// Returns the length of the data of a message of `kind`, as declared by its first bytes.
pub(crate) fn declared_len(kind: u32, data: &[u8]) -> Option<u64> {
    match kind {
        kind::OBD | kind::POSE => Some(28),
        kind::GPS => Some(80),
        kind::IMAGE => Some(20 + u64::from(ByteReader::new(data.get(16..)?).u32()?)),
        kind::VELODYNE => Some(4 + PACKET_LEN as u64 * u64::from(packet_count(data)?)),
        _ => None,
    }
}

/// Returns whether `len` bytes that start with `data` are complete data of a message of
/// `kind`. A message may have fewer packets than it declares.
pub(crate) fn is_valid_len(kind: u32, data: &[u8], len: u64) -> bool {
    match declared_len(kind, data) {
        Some(declared) if kind == kind::VELODYNE => {
            len >= 4 && len <= declared && (len - 4).is_multiple_of(PACKET_LEN as u64)
        }
        Some(declared) => declared == len,
        None => false,
    }
}

/// Returns whether `len` bytes can be the header and the bytes of an image, or complete
/// packets, whatever length the data declares.
pub(crate) fn is_possible_len(kind: u32, len: u64) -> bool {
    match kind {
        kind::IMAGE => len > 20,
        kind::VELODYNE => len > 4 && (len - 4).is_multiple_of(PACKET_LEN as u64),
        _ => false,
    }
}

/// Returns the complete packets in the data of a `VelodyneRawDataM`, whatever number of
/// packets the data declares.
pub(crate) fn packets(data: &[u8]) -> &[[u8; PACKET_LEN]] {
    data.get(4..).unwrap_or_default().as_chunks().0
}

fn packet_count(data: &[u8]) -> Option<u32> {
    ByteReader::new(data).u32()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_header_declares_the_number_of_entries() {
        let bytes = b"\xa4VEL\x01\x00\x01\x00\x02\x00\x00\x00";
        assert_eq!(
            file_header(bytes),
            Some(FileHeader { major: 1, minor: 1, entries: 2 })
        );
        assert_eq!(file_header(&bytes[..11]), None);
        assert_eq!(file_header(b"\xa4VEX\x01\x00\x01\x00\x02\x00\x00\x00"), None);
    }

    #[test]
    fn message_header_is_parsed_at_its_offsets() {
        let mut bytes = vec![45, 0, 0, 0, 0x49, 0x43, 0x40, 1, 0, 100, 0, 0, 0];
        bytes.extend(1234.5_f64.to_le_bytes());
        let header =
            Header { validity: VALID, kind: kind::OBD, version: 100, millis: 1234.5 };
        assert_eq!(message(&bytes), Some((45, header)));
        assert_eq!(message(&bytes[..20]), None);
    }

    #[test]
    fn length_of_data_follows_from_its_first_bytes() {
        assert_eq!(declared_len(kind::VELODYNE, &[2, 0, 0, 0]), Some(4 + 2 * 1206));
        assert_eq!(declared_len(kind::VELODYNE, &[0xff; 4]), Some(5_179_730_557_774));
        assert_eq!(declared_len(kind::VELODYNE, &[2, 0, 0]), None);
        let mut image = [0; 20];
        image[16] = 7;
        assert_eq!(declared_len(kind::IMAGE, &image), Some(27));
        assert_eq!(declared_len(0x1234, &image), None);
    }

    #[test]
    fn complete_packets_of_a_truncated_message_are_returned() {
        let data = [&[3, 0, 0, 0][..], &[7; 2 * 1206]].concat();
        assert!(is_valid_len(kind::VELODYNE, &data, 4 + 2 * 1206));
        assert!(!is_valid_len(kind::VELODYNE, &data, 4 + 2 * 1206 - 1));
        assert!(!is_valid_len(kind::VELODYNE, &data, 4 + 4 * 1206));
        assert_eq!(packets(&data).len(), 2);
        assert!(is_possible_len(kind::VELODYNE, 4 + 1206));
        assert!(!is_possible_len(kind::VELODYNE, 1206));
        assert!(!is_possible_len(kind::OBD, 28));
    }
}
