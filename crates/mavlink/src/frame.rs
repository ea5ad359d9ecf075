//! Finds MAVLink frames in bytes, and reads those that a log stream needs.
//!
//! ```text
//! 2.0  fd | length u8 | incompatible u8 | compatible u8 | sequence u8 | system u8 | component u8
//!      | message u24 | payload | checksum u16 | signature of 13 bytes, if incompatible is 1
//! 1.0  fe | length u8 | sequence u8 | system u8 | component u8 | message u8 | payload | checksum u16
//! ```
//! (MAVLink Developer Guide, "Packet Serialization". Trailing zeros of a 2.0 payload are left out.)

use mavlink::{
    MAV_STX, MAV_STX_V2, MavHeader, MavlinkVersion, Message as _, calculate_crc,
    dialects::common::{MavCmd, MavMessage, MavResult},
};

use crate::packet::StreamPacket;

/// The flag of a signed frame. Frames with other flags must not be read.
const SIGNED: u8 = 1;
const SIGNATURE_BYTES: usize = 13;
const CHECKSUM_BYTES: usize = 2;
/// The id of a HEARTBEAT.
const HEARTBEAT: u32 = 0;
/// `MAV_TYPE_GCS`: a ground control station.
const GROUND_STATION: u8 = 6;
/// `MAV_AUTOPILOT_INVALID`: not a flight controller.
const NOT_AN_AUTOPILOT: u8 = 8;

/// The result of parsing the start of some bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Scan {
    /// A sound frame of this many bytes.
    Frame(Frame, usize),
    /// A frame of this many bytes with a message that is not in the common message set. Its
    /// checksum cannot be checked.
    Unknown(usize),
    /// Perhaps the start of a frame, whose rest is missing.
    Incomplete,
    /// Not a frame, or one with a wrong checksum.
    Invalid,
}

/// A frame with a correct checksum.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The system that sent it.
    pub system: u8,
    /// The component of the system.
    pub component: u8,
    pub(crate) content: Content,
}

/// The contents of a frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// A sign of life.
    Heartbeat { is_autopilot: bool },
    /// The answer to a command.
    Answer { command: MavCmd, result: MavResult },
    /// A part of a log. `packet` is `None` if it contradicts itself.
    Stream { sequence: u16, needs_answer: bool, packet: Option<StreamPacket> },
    /// Anything else.
    Other,
}

impl Frame {
    /// Returns the packet of a log stream, if the frame has one: `Some(None)` is a packet that
    /// contradicts itself.
    pub fn into_packet(self) -> Option<Option<StreamPacket>> {
        match self.content {
            Content::Stream { packet, .. } => Some(packet),
            _ => None,
        }
    }
}

/// Parses the start of `bytes`.
pub fn scan(bytes: &[u8]) -> Scan {
    match bytes.first() {
        None => Scan::Incomplete,
        Some(&MAV_STX_V2) => scan_v2(bytes),
        Some(&MAV_STX) => scan_v1(bytes),
        Some(_) => Scan::Invalid,
    }
}

fn scan_v2(bytes: &[u8]) -> Scan {
    let Some(&[_, payload, flags, _, _, system, component, a, b, c]) =
        bytes.first_chunk::<10>()
    else {
        return Scan::Incomplete;
    };
    if flags & !SIGNED != 0 {
        return Scan::Invalid;
    }
    let id = u32::from_le_bytes([a, b, c, 0]);
    let signature = if flags & SIGNED == 0 { 0 } else { SIGNATURE_BYTES };
    let parts = Parts { header: 10, payload: payload.into(), signature };
    read(bytes, parts, MavlinkVersion::V2, id, (system, component))
}

fn scan_v1(bytes: &[u8]) -> Scan {
    let Some(&[_, payload, _, system, component, id]) = bytes.first_chunk::<6>() else {
        return Scan::Incomplete;
    };
    let parts = Parts { header: 6, payload: payload.into(), signature: 0 };
    read(bytes, parts, MavlinkVersion::V1, id.into(), (system, component))
}

/// The lengths of the parts of a frame, in bytes.
struct Parts {
    header: usize,
    payload: usize,
    signature: usize,
}

fn read(
    bytes: &[u8],
    parts: Parts,
    version: MavlinkVersion,
    id: u32,
    (system, component): (u8, u8),
) -> Scan {
    let end = parts.header + parts.payload;
    let length = end + CHECKSUM_BYTES + parts.signature;
    let (Some(frame), Some(payload)) =
        (bytes.get(..length), bytes.get(parts.header..end))
    else {
        return Scan::Incomplete;
    };
    let extra = MavMessage::extra_crc(id);
    // The library has no other sign of an unknown message, and no message has this extra byte.
    if extra == 0 {
        return Scan::Unknown(length);
    }
    let checksum = frame.get(end..).and_then(<[u8]>::first_chunk);
    let want = frame.get(1..end).map(|checked| calculate_crc(checked, extra));
    if checksum.map(|bytes| u16::from_le_bytes(*bytes)) != want {
        return Scan::Invalid;
    }
    let content = content(version, id, payload);
    Scan::Frame(Frame { system, component, content }, length)
}

fn content(version: MavlinkVersion, id: u32, payload: &[u8]) -> Content {
    if id == HEARTBEAT {
        // By its bytes: the library rejects types of vehicles that are newer than it.
        let byte = |offset| payload.get(offset).copied().unwrap_or(0);
        let (kind, autopilot) = (byte(4), byte(5));
        let is_autopilot = autopilot != NOT_AN_AUTOPILOT && kind != GROUND_STATION;
        return Content::Heartbeat { is_autopilot };
    }
    match MavMessage::parse(version, id, payload) {
        Ok(MavMessage::COMMAND_ACK(answer)) => {
            Content::Answer { command: answer.command, result: answer.result }
        }
        Ok(MavMessage::LOGGING_DATA(part)) => Content::Stream {
            sequence: part.sequence,
            needs_answer: false,
            packet: StreamPacket::from_fields(
                part.sequence,
                part.length,
                part.first_message_offset,
                &part.data,
            ),
        },
        Ok(MavMessage::LOGGING_DATA_ACKED(part)) => Content::Stream {
            sequence: part.sequence,
            needs_answer: true,
            packet: StreamPacket::from_fields(
                part.sequence,
                part.length,
                part.first_message_offset,
                &part.data,
            ),
        },
        _ => Content::Other,
    }
}

/// Returns the frame of a message, as MAVLink 2.
pub(crate) fn encode(header: MavHeader, message: &MavMessage) -> Vec<u8> {
    let mut frame = mavlink::MAVLinkV2MessageRaw::new();
    frame.serialize_message(header, message);
    frame.raw_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A HEARTBEAT of a quadrotor with PX4 in MAVLink 1 and 2, as pymavlink 2.4.50 encodes it:
    /// `MAVLink(None, 1, 1).heartbeat_encode(2, 12, 81, 0, 4)`.
    const HEARTBEAT_V1: [u8; 17] =
        [0xfe, 9, 0, 1, 1, 0, 0, 0, 0, 0, 2, 12, 81, 4, 3, 0x81, 0xb7];
    const HEARTBEAT_V2: [u8; 21] =
        [0xfd, 9, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 12, 81, 4, 3, 0x1b, 0x74];

    #[test]
    fn heartbeats_of_both_versions_are_read() {
        let want = Frame {
            system: 1,
            component: 1,
            content: Content::Heartbeat { is_autopilot: true },
        };
        assert_eq!(scan(&HEARTBEAT_V1), Scan::Frame(want.clone(), 17));
        assert_eq!(scan(&HEARTBEAT_V2), Scan::Frame(want, 21));
    }

    #[test]
    fn cut_frames_are_incomplete_and_changed_ones_invalid() {
        for end in 0..HEARTBEAT_V2.len() {
            assert_eq!(scan(&HEARTBEAT_V2[..end]), Scan::Incomplete, "{end}");
        }
        // The second byte is the length, and bytes 7 to 9 are the message.
        for place in [0, 2, 4, 5, 6, 10, 19, 20] {
            let mut bytes = HEARTBEAT_V2;
            bytes[place] ^= 0x40;
            assert_eq!(scan(&bytes), Scan::Invalid, "{place}");
        }
    }

    #[test]
    fn omitted_zeros_of_a_packet_are_restored() {
        // `logging_data_acked_encode(7, 255, 155, 5, 2, [1, 2, 3, 4, 5] + 244 * [0])`: to component
        // 255 of system 7.
        let bytes = [
            0xfd, 11, 0, 0, 0, 1, 1, 0x0b, 1, 0, 155, 0, 7, 255, 5, 2, 1, 2, 3, 4, 5,
            0xfa, 0xcf,
        ];
        let Scan::Frame(frame, 23) = scan(&bytes) else { panic!("no frame") };
        let packet = StreamPacket::new(155, Some(2), vec![1, 2, 3, 4, 5]);
        let want = Content::Stream { sequence: 155, needs_answer: true, packet };
        assert_eq!(frame.content, want);
    }

    #[test]
    fn message_of_another_set_is_unknown() {
        let mut bytes = HEARTBEAT_V2;
        bytes[8] = 0x7f;
        assert_eq!(scan(&bytes), Scan::Unknown(21));
    }
}
