//! Parses IP packets to UDP datagrams or fragments of them.
//!
//! IPv4: RFC 791. IPv6 and its extension headers: RFC 8200. UDP: RFC 768.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::Range,
};

use crate::capture::network::tunnels;

/// The contents of an IP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IpPacket {
    /// A whole UDP packet, including its header, at these bytes.
    Udp { source: IpAddr, destination: IpAddr, bytes: Range<usize> },
    /// A fragment of a packet.
    Fragment(Fragment),
    /// The contents of another protocol, at this byte.
    Other { source: IpAddr, protocol: u8, start: usize },
    /// The header is not that of an IP packet.
    Broken,
    /// The packet is incomplete: it declares a greater length than there are bytes.
    Short,
}

/// A fragment of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) key: DatagramKey,
    /// The offset of the fragment in the contents of the packet.
    pub(crate) offset: u32,
    /// Whether more fragments follow.
    pub(crate) has_next: bool,
    /// The position of the fragment's bytes in the frame.
    pub(crate) bytes: Range<usize>,
}

/// The fields that are the same in all fragments of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatagramKey {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    /// The protocol of the contents: UDP, or that of a tunnel.
    pub(crate) protocol: u8,
    pub(crate) id: u32,
}

/// A UDP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Datagram {
    pub(crate) destination_port: u16,
    pub(crate) source_port: u16,
    pub(crate) payload: Range<usize>,
}

/// The protocol number of UDP.
pub(crate) const UDP: u8 = 17;
/// The length of the UDP header.
pub(crate) const UDP_HEADER: usize = 8;

/// Parses the IP packet that starts at `start` of `frame`. Its version must be `version`,
/// unless that is 0.
pub(crate) fn parse_packet(frame: &[u8], start: usize, version: u8) -> IpPacket {
    match frame.get(start).map(|byte| byte >> 4) {
        Some(4) if version != 6 => parse_v4(frame, start),
        Some(6) if version != 4 => parse_v6(frame, start),
        Some(_) => IpPacket::Broken,
        None => IpPacket::Short,
    }
}

/// Returns whether an IPv4 header with a wrong checksum starts at `start` of `frame`. The
/// sum 0 means that it is absent: a network card fills it in after the capture.
pub(crate) fn has_wrong_header_checksum(frame: &[u8], start: usize) -> bool {
    let Some(first @ 0x45..=0x4f) = frame.get(start) else { return false };
    let header_len = usize::from(first & 15) * 4;
    let Some(header) = frame.get(start..start + header_len) else { return false };
    let sum: u64 = header
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from(u32::from_be_bytes(*word)))
        .sum();
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    // The sum of all words is a multiple of 2^16 - 1 (RFC 1071), and it is not 0.
    header.get(10..12) != Some(&[0, 0]) && !sum.is_multiple_of(0xffff)
}

/// Parses the UDP packet at `bytes` of `frame`, or returns `None` if it is invalid.
pub(crate) fn parse_datagram(frame: &[u8], bytes: Range<usize>) -> Option<Datagram> {
    let udp = frame.get(bytes.clone())?;
    let len = usize::from(u16_at(udp, 4)?);
    let payload = bytes.start + UDP_HEADER..bytes.start + len;
    (len >= UDP_HEADER && len <= udp.len()).then_some(Datagram {
        source_port: u16_at(udp, 0)?,
        destination_port: u16_at(udp, 2)?,
        payload,
    })
}

/// Returns the ports and the payload length that the UDP packet at `bytes` of `frame`
/// declares, and the available part of the payload. Returns `None` if the header is
/// incomplete.
pub(crate) fn declared_udp(
    frame: &[u8],
    bytes: Range<usize>,
) -> Option<([u16; 2], usize, &[u8])> {
    let udp = frame.get(bytes)?;
    let len = usize::from(u16_at(udp, 4)?).saturating_sub(UDP_HEADER);
    Some(([u16_at(udp, 0)?, u16_at(udp, 2)?], len, udp.get(UDP_HEADER..)?))
}

/// Returns the identification of the IPv4 packet, or the flow label of the IPv6 packet,
/// that starts at `start` of `frame`.
pub(crate) fn identification(frame: &[u8], start: usize) -> u32 {
    let header = frame.get(start..).unwrap_or_default();
    match header {
        [0x40..=0x4f, _, _, _, high, low, ..] => {
            u16::from_be_bytes([*high, *low]).into()
        }
        [0x60..=0x6f, highest, high, low, ..] => {
            u32::from_be_bytes([0, *highest & 15, *high, *low])
        }
        _ => 0,
    }
}

fn parse_v4(frame: &[u8], start: usize) -> IpPacket {
    let fixed_header = frame.get(start..).and_then(<[u8]>::first_chunk::<20>);
    let Some(fixed_header) = fixed_header else { return IpPacket::Short };
    let header_len = usize::from(fixed_header[0] & 15) * 4;
    let total_len = match u16::from_be_bytes([fixed_header[2], fixed_header[3]]) {
        // The frame was captured on the sending computer, before its network card filled
        // in the length.
        0 => frame.len() - start,
        len => usize::from(len),
    };
    if header_len < 20 || total_len < header_len {
        return IpPacket::Broken;
    }
    if start + header_len > frame.len() {
        return IpPacket::Short;
    }
    let end = start + total_len;
    let is_short = end > frame.len();
    let bytes = start + header_len..end.min(frame.len());
    let address = |i: usize| {
        let [a, b, c, d] = [
            fixed_header[i],
            fixed_header[i + 1],
            fixed_header[i + 2],
            fixed_header[i + 3],
        ];
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    let (source, destination) = (address(12), address(16));
    let protocol = fixed_header[9];
    let fragment_field = u16::from_be_bytes([fixed_header[6], fixed_header[7]]);
    let offset = u32::from(fragment_field & 0x1fff) * 8;
    let has_next = fragment_field & 0x2000 != 0;
    if offset == 0 && !has_next {
        // The length in the UDP header may be valid even if the length in the IP header
        // is too large: the VLP-16 declares 1234 bytes for its position packets of 540
        // bytes.
        return match protocol {
            UDP => IpPacket::Udp { source, destination, bytes },
            _ => IpPacket::Other { source, protocol, start: bytes.start },
        };
    }
    if !may_have_packet(protocol) {
        return IpPacket::Other { source, protocol, start: bytes.start };
    }
    if is_short {
        return first_bytes_of_datagram(protocol, offset, source, destination, bytes);
    }
    let id = u16::from_be_bytes([fixed_header[4], fixed_header[5]]).into();
    let key = DatagramKey { source, destination, protocol, id };
    IpPacket::Fragment(Fragment { key, offset, has_next, bytes })
}

/// Returns the contents of a fragment at `offset` whose end is missing, so that it cannot be
/// reassembled: the first bytes of a datagram, if it is the first fragment of one.
fn first_bytes_of_datagram(
    protocol: u8,
    offset: u32,
    source: IpAddr,
    destination: IpAddr,
    bytes: Range<usize>,
) -> IpPacket {
    if protocol == UDP && offset == 0 {
        IpPacket::Udp { source, destination, bytes }
    } else {
        IpPacket::Short
    }
}

/// Returns whether a packet of this protocol may contain a packet of a lidar, so that its
/// fragments are reassembled.
fn may_have_packet(protocol: u8) -> bool {
    protocol == UDP || tunnels::is_protocol(protocol)
}

fn parse_v6(frame: &[u8], start: usize) -> IpPacket {
    let fixed_header = frame.get(start..).and_then(<[u8]>::first_chunk::<40>);
    let Some(fixed_header) = fixed_header else { return IpPacket::Short };
    let end = match u16::from_be_bytes([fixed_header[4], fixed_header[5]]) {
        // As in IPv4.
        0 => frame.len(),
        len => start + 40 + usize::from(len),
    };
    let is_short = end > frame.len();
    let end = end.min(frame.len());
    let address = |i: usize| {
        let bytes = fixed_header.get(i..).and_then(<[u8]>::first_chunk::<16>);
        IpAddr::V6(bytes.map_or(Ipv6Addr::UNSPECIFIED, |bytes| Ipv6Addr::from(*bytes)))
    };
    let (source, destination) = (address(8), address(24));
    let first_header = start + 40;
    let (mut protocol, mut start) = (fixed_header[6], first_header);
    // Each extension header has at least 8 bytes, so the loop ends.
    while start < end {
        let header = frame.get(start..end).unwrap_or_default();
        match protocol {
            UDP => return IpPacket::Udp { source, destination, bytes: start..end },
            // Hop-by-hop options precede all others: these are zeros, as of a lost sector.
            0 if start > first_header => break,
            // Hop-by-hop, routing and destination options.
            0 | 43 | 60 => {
                let [next, len, ..] = header else { break };
                (protocol, start) = (*next, start + 8 + 8 * usize::from(*len));
            }
            // Authentication.
            51 => {
                let [next, len, ..] = header else { break };
                (protocol, start) = (*next, start + 8 + 4 * usize::from(*len));
            }
            // A fragment.
            44 => {
                let [next, _, high, low, a, b, c, d, ..] = header else { break };
                let bytes = start + 8..end;
                let fragment_field = u16::from_be_bytes([*high, *low]);
                let offset = u32::from(fragment_field & 0xfff8);
                let has_next = fragment_field & 1 != 0;
                if offset == 0 && !has_next {
                    (protocol, start) = (*next, bytes.start);
                    continue;
                }
                if !may_have_packet(*next) {
                    return IpPacket::Other {
                        source,
                        protocol: *next,
                        start: bytes.start,
                    };
                }
                if is_short {
                    return first_bytes_of_datagram(
                        *next,
                        offset,
                        source,
                        destination,
                        bytes,
                    );
                }
                let id = u32::from_be_bytes([*a, *b, *c, *d]);
                let key = DatagramKey { source, destination, protocol: *next, id };
                return IpPacket::Fragment(Fragment { key, offset, has_next, bytes });
            }
            _ => return IpPacket::Other { source, protocol, start },
        }
    }
    if is_short { IpPacket::Short } else { IpPacket::Broken }
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    bytes.get(offset..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates an IPv4 packet with `options` and `payload`. `fragment` is the field with the
    /// flags and the fragment offset.
    fn v4_packet(fragment: u16, options: &[u8], payload: &[u8]) -> Vec<u8> {
        let header_len = 20 + options.len();
        let total_len = (header_len + payload.len()) as u16;
        let mut bytes = vec![0x40 | (header_len / 4) as u8, 0];
        bytes.extend(total_len.to_be_bytes());
        bytes.extend([0x12, 0x34]);
        bytes.extend(fragment.to_be_bytes());
        bytes.extend([64, UDP, 0, 0, 192, 168, 1, 201, 255, 255, 255, 255]);
        [&bytes, options, payload].concat()
    }

    const SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 201));
    const BROADCAST: IpAddr = IpAddr::V4(Ipv4Addr::BROADCAST);

    #[test]
    fn options_are_skipped_and_trailing_bytes_are_ignored() {
        let mut bytes = v4_packet(0, &[1, 1, 1, 0], &[7; 10]);
        bytes.extend([0xde, 0xad, 0xbe, 0xef]);
        let udp =
            |bytes| IpPacket::Udp { source: SOURCE, destination: BROADCAST, bytes };
        assert_eq!(parse_packet(&bytes, 0, 0), udp(24..34));
        // All available bytes: the UDP header determines whether they are complete.
        assert_eq!(parse_packet(&bytes[..33], 0, 0), udp(24..33));
        assert_eq!(parse_packet(&bytes[..23], 0, 0), IpPacket::Short);
    }

    #[test]
    fn fragment_has_its_offset_and_identification() {
        let IpPacket::Fragment(fragment) =
            parse_packet(&v4_packet(0x2000 | 100, &[], &[7; 16]), 0, 4)
        else {
            panic!("not a fragment");
        };
        assert_eq!((fragment.offset, fragment.has_next), (800, true));
        assert_eq!((fragment.key.id, fragment.bytes), (0x1234, 20..36));
    }

    #[test]
    fn ipv6_extension_headers_are_skipped() {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 8 + 16, 0, 64];
        bytes.extend([0; 15]);
        bytes.push(1);
        bytes.extend([0; 16]);
        bytes.extend([UDP, 0, 0, 0, 0, 0, 0, 0]); // hop-by-hop options
        bytes.extend([7; 16]);
        let source = IpAddr::V6(Ipv6Addr::LOCALHOST);
        let destination = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let udp = |bytes| IpPacket::Udp { source, destination, bytes };
        assert_eq!(parse_packet(&bytes, 0, 0), udp(48..64));
        assert_eq!(parse_packet(&bytes[..63], 0, 6), udp(48..63));
        assert_eq!(parse_packet(&bytes[..47], 0, 6), IpPacket::Short);
    }

    #[test]
    fn datagram_length_is_checked_against_the_available_bytes() {
        let bytes = [9, 64, 9, 64, 0, 10, 0, 0, 1, 2, 3];
        let udp = parse_datagram(&bytes, 0..11).unwrap();
        assert_eq!((udp.source_port, udp.destination_port), (2368, 2368));
        assert_eq!(udp.payload, 8..10);
        assert_eq!(parse_datagram(&bytes, 0..9), None);
        assert_eq!(declared_udp(&bytes, 0..9), Some(([2368; 2], 2, &[1][..])));
        assert_eq!(declared_udp(&bytes, 0..7), None);
    }
}
