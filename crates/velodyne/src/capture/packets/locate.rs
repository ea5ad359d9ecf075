//! Finds packets of lidars in bytes whose layers are unknown or damaged.

use std::{net::IpAddr, ops::Range};

use crate::{
    capture::{
        network::ip::{self, Fragment, IpPacket, UDP_HEADER},
        packets::{
            manufacturer::{LSLIDAR_LEN, ROBOSENSE_HEADER, ROBOSENSE_STARTS},
            payload::{self, POSITION_BYTES},
            ports::DATA_PORT,
        },
    },
    packet::{BLOCK_BYTES, BLOCKS, Bank, DATA_BYTES, Firings},
};

/// The number of bytes at the start of a frame that are searched. The headers of all layers
/// that we know are shorter.
const SEARCHED_BYTES: usize = 1024;

/// The first byte of all known flags.
const FLAG_START: u8 = 0xff;

/// The lengths that the UDP headers of packets of lidars declare.
const DATA_UDP_LEN: [u8; 2] = ((UDP_HEADER + DATA_BYTES) as u16).to_be_bytes();
const LSLIDAR_UDP_LEN: [u8; 2] = ((UDP_HEADER + LSLIDAR_LEN) as u16).to_be_bytes();
const POSITION_UDP_LEN: [u8; 2] = ((UDP_HEADER + POSITION_BYTES) as u16).to_be_bytes();

/// The length of an IPv6 header, and the number of the header of a fragment that follows.
const V6_HEADER: usize = 40;
const V6_FRAGMENT: u8 = 44;

/// The maximum length of a checksum at the end of a frame.
const MAX_TRAILER: usize = 4;

/// A packet of a lidar in a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocatedPacket {
    pub(crate) is_position: bool,
    /// The position of the packet in the frame.
    pub(crate) payload: Range<usize>,
    /// The destination port, if there is a UDP header before the packet.
    pub(crate) port: Option<u16>,
    /// The source address and the start of the IP packet, if there is a sound IP header
    /// before that of UDP.
    pub(crate) ip: Option<(IpAddr, usize)>,
}

/// Returns the packets of lidars in `bytes`. Other bytes may be between them.
pub(crate) fn packets(bytes: &[u8]) -> Vec<LocatedPacket> {
    let mut packets = Vec::new();
    let mut start = 0;
    while let Some((is_position, at)) = next_packet(bytes, start) {
        let len = if is_position { POSITION_BYTES } else { DATA_BYTES };
        let payload = at..at + len;
        start = payload.end;
        let udp = at.checked_sub(UDP_HEADER);
        let declared = udp.and_then(|udp| ip::declared_udp(bytes, udp..payload.end));
        let has_len = declared.is_some_and(|(_, declared_len, _)| declared_len == len);
        // If its length is wrong, it is a header of UDP because it follows one of IP.
        let ip = udp.and_then(|udp| ip_header(bytes, udp, has_len));
        let declared = declared.filter(|_| has_len || ip.is_some());
        let port = declared.map(|([_, destination], ..)| destination);
        packets.push(LocatedPacket { is_position, payload, port, ip });
    }
    packets
}

/// Returns the data packet at the end of `bytes`, from `start` on, whose end is missing. At
/// least one block is complete, or several have a known flag if no UDP header declares the
/// length of the packet.
pub(crate) fn cut_packet(bytes: &[u8], start: usize) -> Option<LocatedPacket> {
    let first = start.max((bytes.len() + 1).saturating_sub(DATA_BYTES));
    let last = bytes.len().checked_sub(BLOCK_BYTES)?.min(start + SEARCHED_BYTES);
    (first..=last).find_map(|at| {
        let blocks = bytes.get(at..)?;
        let ports = [DATA_PORT; 2];
        if !payload::may_be_lidar_packet(ports, DATA_BYTES, blocks)
            || is_of_other_lidar(bytes, at)
        {
            return None;
        }
        let udp = at
            .checked_sub(UDP_HEADER)
            .filter(|udp| bytes.get(udp + 4..udp + 6) == Some(&DATA_UDP_LEN));
        let is_sound =
            udp.is_some() || has_several_flags(blocks) && is_first_block(bytes, at);
        let declared = udp.and_then(|udp| ip::declared_udp(bytes, udp..bytes.len()));
        is_sound.then(|| LocatedPacket {
            is_position: false,
            payload: at..bytes.len(),
            port: declared.map(|([_, destination], ..)| destination),
            ip: udp.and_then(|udp| ip_header(bytes, udp, false)),
        })
    })
}

/// Returns the fragment of a datagram in `bytes`. Its IPv4 header has a correct checksum, or
/// its IP header without a checksum has a length that agrees with that of `bytes`.
pub(crate) fn fragment(bytes: &[u8]) -> Option<Fragment> {
    let starts = bytes.iter().take(SEARCHED_BYTES).enumerate();
    starts.filter(|(_, byte)| matches!(byte, 0x45 | 0x60..=0x6f)).find_map(
        |(start, _)| {
            let (version, [high, low], has_checksum) = match *bytes.get(start..)? {
                [0x45, _, high, low, _, _, _, _, _, _, sum_high, sum_low, ..] => {
                    (4, [high, low], [sum_high, sum_low] != [0; 2])
                }
                [0x60..=0x6f, _, _, _, high, low, V6_FRAGMENT, ..] => {
                    (6, [high, low], false)
                }
                _ => return None,
            };
            let header_len = if version == 6 { V6_HEADER } else { 0 };
            let len = header_len + usize::from(u16::from_be_bytes([high, low]));
            let trailer = (bytes.len() - start).checked_sub(len)?;
            let is_sound = if has_checksum {
                !ip::has_wrong_header_checksum(bytes, start)
            } else {
                trailer <= MAX_TRAILER
            };
            match ip::parse_packet(bytes, start, version) {
                IpPacket::Fragment(fragment) if is_sound => Some(fragment),
                _ => None,
            }
        },
    )
}

/// Returns the position of the next packet from `start` on, and whether it is a position
/// packet.
fn next_packet(bytes: &[u8], start: usize) -> Option<(bool, usize)> {
    let end = bytes.len().min(start.saturating_add(SEARCHED_BYTES));
    (start..end).find_map(|at| {
        if is_data(bytes, at) {
            Some((false, at))
        } else if is_position(bytes, at) {
            Some((true, at))
        } else {
            None
        }
    })
}

/// Returns whether a data packet is at `at` of `bytes`.
fn is_data(bytes: &[u8], at: usize) -> bool {
    let candidate = bytes.get(at..).unwrap_or_default();
    // Most positions are excluded by the first flag.
    candidate.first() == Some(&FLAG_START)
        && has_several_flags(candidate)
        && candidate
            .get(..DATA_BYTES)
            .and_then(Firings::new)
            .is_some_and(payload::is_data)
        && !is_of_other_lidar(bytes, at)
}

/// Returns whether `bytes` contain a data packet in which at most half of the blocks have
/// unknown flags.
pub(crate) fn has_corrupted_packet(bytes: &[u8]) -> bool {
    const HALF: usize = BLOCKS / 2;
    let Some(last) = bytes.len().checked_sub(DATA_BYTES) else { return false };
    let last_first = last.min(SEARCHED_BYTES) + HALF * BLOCK_BYTES;
    // The first block with a known flag.
    let starts = bytes.iter().take(last_first + 1).enumerate();
    starts.filter(|(_, byte)| **byte == FLAG_START).any(|(first, _)| {
        let is_known = |block: &usize| has_flag(bytes, first + block * BLOCK_BYTES);
        is_known(&0)
            && is_first_block(bytes, first)
            && !is_of_other_lidar(bytes, first)
            && (0..BLOCKS).filter(is_known).count() >= HALF
    })
}

/// Returns whether no block with a known flag is before the one at `at` of `bytes`.
fn is_first_block(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(BLOCK_BYTES).is_none_or(|before| !has_flag(bytes, before))
}

/// Returns whether the first block and one of the next ones have a known flag. A packet
/// always has several such blocks.
fn has_several_flags(bytes: &[u8]) -> bool {
    has_flag(bytes, 0) && (1..4).any(|block| has_flag(bytes, block * BLOCK_BYTES))
}

/// Returns whether a block with a known flag may start at `at` of `bytes`.
fn has_flag(bytes: &[u8], at: usize) -> bool {
    let flag = bytes.get(at..).and_then(<[u8]>::first_chunk);
    flag.is_some_and(|flag| Bank::from_flag(u16::from_le_bytes(*flag)).is_some())
}

/// Returns whether the blocks at `at` of `bytes` are those of a packet of another
/// manufacturer, whose blocks are like Velodyne's.
fn is_of_other_lidar(bytes: &[u8], at: usize) -> bool {
    let header =
        at.checked_sub(ROBOSENSE_HEADER).and_then(|start| bytes.get(start..at));
    let udp_len = at.checked_sub(4).and_then(|start| bytes.get(start..start + 2));
    header.is_some_and(|header| ROBOSENSE_STARTS.iter().any(|s| header.starts_with(s)))
        || udp_len == Some(&LSLIDAR_UDP_LEN)
}

/// Returns whether a position packet is at `at` of `bytes`, after a UDP header that declares
/// its length and its port, or its sentence.
fn is_position(bytes: &[u8], at: usize) -> bool {
    let Some(udp) = at.checked_sub(UDP_HEADER) else { return false };
    if bytes.get(udp + 4..udp + 6) != Some(&POSITION_UDP_LEN) {
        return false;
    }
    let Some((ports, len, rest)) = ip::declared_udp(bytes, udp..bytes.len()) else {
        return false;
    };
    let Some(payload) = rest.get(..POSITION_BYTES) else { return false };
    payload.iter().any(|byte| *byte != 0)
        && payload::may_be_lidar_packet(ports, len, payload)
}

/// Returns the source address and the start of the sound IP header that ends at `udp`.
/// `is_complete` is whether the end of the datagram has been captured.
fn ip_header(bytes: &[u8], udp: usize, is_complete: bool) -> Option<(IpAddr, usize)> {
    let v4 = (20..=60).step_by(4).map(|len| (4, len));
    v4.chain([(6, 40)]).find_map(|(version, len)| {
        let start = udp.checked_sub(len)?;
        if ip::has_wrong_header_checksum(bytes, start) {
            return None;
        }
        match ip::parse_packet(bytes, start, version) {
            IpPacket::Udp { source, bytes: contents, .. } if contents.start == udp => {
                let is_sound =
                    !is_complete || ip::parse_datagram(bytes, contents).is_some();
                is_sound.then_some((source, start))
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::capture::network::frame_writer;

    fn data_packet() -> [u8; DATA_BYTES] {
        let mut bytes = [0; DATA_BYTES];
        let blocks = bytes.chunks_exact_mut(BLOCK_BYTES);
        blocks.for_each(|block| block[..2].copy_from_slice(&[0xff, 0xee]));
        bytes
    }

    #[test]
    fn data_packet_is_found_after_unknown_headers() {
        for header_len in [0, 42, 77, 900] {
            let frame = [&vec![7; header_len], &data_packet()[..], &[0; 4]].concat();
            let found = packets(&frame);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].payload, header_len..header_len + DATA_BYTES);
            assert_eq!((found[0].port, found[0].ip), (None, None));
        }
        let cut = [&[7; 42], &data_packet()[..1_100], &[0; 4]].concat();
        assert_eq!(packets(&cut), []);
        assert_eq!(packets(&[0xff; 1_500]), []);
        assert_eq!(packets(&[0; 1_500]), []);
    }

    #[test]
    fn address_is_that_of_a_sound_header() {
        let address = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
        let sender = (frame_writer::DEFAULT_MAC, address, 2370);
        let mut frame = vec![9; 5];
        frame_writer::append_frame(&mut frame, sender, 0, &data_packet());
        let found = packets(&frame);
        assert_eq!((found[0].port, found[0].ip), (Some(2370), Some((address, 19))));
        // A wrong checksum.
        frame[19 + 12] ^= 1;
        assert_eq!(packets(&frame)[0].ip, None);
    }

    #[test]
    fn position_packet_is_found_by_its_port() {
        let mut packet = [0; POSITION_BYTES];
        packet[198] = 1;
        let mut frame = vec![9; 5];
        let sender =
            |port| (frame_writer::DEFAULT_MAC, frame_writer::FACTORY_ADDRESS, port);
        frame_writer::append_frame(&mut frame, sender(8308), 0, &packet);
        let found = packets(&frame);
        assert!(found.len() == 1 && found[0].is_position, "{found:?}");
        let mut other = Vec::new();
        frame_writer::append_frame(&mut other, sender(8309), 0, &packet);
        assert_eq!(packets(&other), []);
    }

    #[test]
    fn two_packets_in_a_frame_are_found() {
        let frame = [&data_packet()[..], &[0; 3], &data_packet()].concat();
        assert_eq!(packets(&frame).len(), 2);
    }
}
