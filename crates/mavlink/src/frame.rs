//! Finds MAVLink frames in bytes, and decodes the messages of a log stream.
//!
//! ```text
//! 2.0  fd | length u8 | incompatible u8 | compatible u8 | sequence u8 | system u8 | component u8
//!      | message u24 | payload | checksum u16 | signature of 13 bytes, if incompatible is 1
//! 1.0  fe | length u8 | sequence u8 | system u8 | component u8 | message u8 | payload | checksum u16
//! ```
//! (MAVLink Developer Guide, "Packet Serialization". Trailing zeros of a 2.0 payload are omitted.)

use std::net::SocketAddr;

use mavlink::{
    MAV_STX, MAV_STX_V2, MavHeader, MavlinkVersion, Message as _, calculate_crc,
    dialects::common::{MavCmd, MavMessage, MavResult},
};

use crate::packet::StreamPacket;

/// The incompatible flag of a signed frame. Frames with other flags must be dropped.
const SIGNED: u8 = 1;
const SIGNATURE_BYTES: usize = 13;
const CHECKSUM_BYTES: usize = 2;
/// The id of a HEARTBEAT.
const HEARTBEAT: u32 = 0;
/// The ids of LOGGING_DATA and LOGGING_DATA_ACKED.
const STREAM_PACKETS: [u32; 2] = [266, 267];
/// `MAV_TYPE_GCS`: a ground control station.
const GROUND_STATION: u8 = 6;
/// `MAV_AUTOPILOT_INVALID`: not a flight controller.
const NOT_AN_AUTOPILOT: u8 = 8;

/// The result of parsing the start of some bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Scan {
    /// A valid frame, and its length in bytes.
    Frame(Frame, usize),
    /// A frame of this length in bytes, with a message that is not in the common message set. Its
    /// checksum cannot be verified.
    Unknown(usize),
    /// The bytes may be the start of a frame whose remaining bytes are missing.
    Incomplete,
    /// The bytes are not a frame, or its checksum is wrong.
    Invalid,
}

/// A frame with a correct checksum.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The id of the system that sent the frame.
    pub system: u8,
    /// The id of the component that sent the frame.
    pub component: u8,
    pub(crate) content: Content,
}

/// A frame that arrived over a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedFrame {
    /// The frame.
    pub frame: Frame,
    /// The UDP address of its sender; `None` for other connections.
    pub address: Option<SocketAddr>,
}

/// The contents of a frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// HEARTBEAT.
    Heartbeat { is_autopilot: bool },
    /// COMMAND_ACK: the response to a command.
    CommandAck { command: MavCmd, result: MavResult },
    /// LOGGING_DATA and LOGGING_DATA_ACKED: a packet of a log stream. `packet` is `None` if its
    /// fields contradict each other.
    Stream { sequence: u16, needs_ack: bool, packet: Option<StreamPacket> },
    /// Any other message.
    Other,
}

impl Frame {
    /// Returns the packet of a log stream, if the frame contains one. `Some(None)` is a packet
    /// whose fields contradict each other.
    pub fn into_packet(self) -> Option<Option<StreamPacket>> {
        match self.content {
            Content::Stream { packet, .. } => Some(packet),
            _ => None,
        }
    }
}

/// Returns whether `bytes` start like a frame with a packet of a log stream.
pub(crate) fn is_stream_packet(bytes: &[u8]) -> bool {
    match bytes.first_chunk() {
        Some(&[MAV_STX_V2, _, flags, _, _, _, _, a, b, c]) => {
            let id = u32::from_le_bytes([a, b, c, 0]);
            flags & !SIGNED == 0 && STREAM_PACKETS.contains(&id)
        }
        _ => false,
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
    let lengths = FrameLengths { header: 10, payload: payload.into(), signature };
    read(bytes, lengths, MavlinkVersion::V2, id, (system, component))
}

fn scan_v1(bytes: &[u8]) -> Scan {
    let Some(&[_, payload, _, system, component, id]) = bytes.first_chunk::<6>() else {
        return Scan::Incomplete;
    };
    let lengths = FrameLengths { header: 6, payload: payload.into(), signature: 0 };
    read(bytes, lengths, MavlinkVersion::V1, id.into(), (system, component))
}

/// The lengths of the parts of a frame, in bytes.
struct FrameLengths {
    header: usize,
    payload: usize,
    signature: usize,
}

fn read(
    bytes: &[u8],
    lengths: FrameLengths,
    version: MavlinkVersion,
    id: u32,
    (system, component): (u8, u8),
) -> Scan {
    let end = lengths.header + lengths.payload;
    let length = end + CHECKSUM_BYTES + lengths.signature;
    let (Some(frame), Some(payload)) =
        (bytes.get(..length), bytes.get(lengths.header..end))
    else {
        return Scan::Incomplete;
    };
    let crc_extra = MavMessage::extra_crc(id);
    // The library returns 0 for unknown messages, and no known message has this CRC_EXTRA.
    if crc_extra == 0 {
        return Scan::Unknown(length);
    }
    let checksum = frame.get(end..).and_then(<[u8]>::first_chunk);
    let expected = frame.get(1..end).map(|checked| calculate_crc(checked, crc_extra));
    if checksum.map(|bytes| u16::from_le_bytes(*bytes)) != expected {
        return Scan::Invalid;
    }
    let content = content(version, id, payload);
    Scan::Frame(Frame { system, component, content }, length)
}

fn content(version: MavlinkVersion, id: u32, payload: &[u8]) -> Content {
    if id == HEARTBEAT {
        // The bytes are decoded here, because the library rejects vehicle types that it does not
        // know.
        let byte = |offset| payload.get(offset).copied().unwrap_or(0);
        let (kind, autopilot) = (byte(4), byte(5));
        let is_autopilot = autopilot != NOT_AN_AUTOPILOT && kind != GROUND_STATION;
        return Content::Heartbeat { is_autopilot };
    }
    match MavMessage::parse(version, id, payload) {
        Ok(MavMessage::COMMAND_ACK(ack)) => {
            Content::CommandAck { command: ack.command, result: ack.result }
        }
        Ok(MavMessage::LOGGING_DATA(data)) => Content::Stream {
            sequence: data.sequence,
            needs_ack: false,
            packet: StreamPacket::from_fields(
                data.sequence,
                data.length,
                data.first_message_offset,
                &data.data,
            ),
        },
        Ok(MavMessage::LOGGING_DATA_ACKED(data)) => Content::Stream {
            sequence: data.sequence,
            needs_ack: true,
            packet: StreamPacket::from_fields(
                data.sequence,
                data.length,
                data.first_message_offset,
                &data.data,
            ),
        },
        _ => Content::Other,
    }
}

/// Encodes a message as a MAVLink 2 frame.
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
        let want = Content::Stream { sequence: 155, needs_ack: true, packet };
        assert_eq!(frame.content, want);
    }

    #[test]
    fn message_of_another_set_is_unknown() {
        let mut bytes = HEARTBEAT_V2;
        bytes[8] = 0x7f;
        assert_eq!(scan(&bytes), Scan::Unknown(21));
    }
}
