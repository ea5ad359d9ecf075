//! Writes frames like those of a lidar: Ethernet, IP, UDP.
//!
//! ```text
//! Ethernet   destination | source | type u16     14 bytes
//! IPv4       RFC 791, without options            20 bytes
//! IPv6       RFC 8200, without extensions        40 bytes
//! UDP        ports | length | checksum (RFC 768)  8 bytes
//! ```
//! Numbers are big-endian. A Velodyne lidar broadcasts, by default from 192.168.1.201
//! (VLP-16 manual 63-9243, 9.1). Its hardware addresses start with 60:76:88.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::capture::network::layer::Mac;

/// The maximum length of the payload of a datagram over IPv4.
pub(crate) const MAX_PAYLOAD: usize = 65_507;

/// The factory-default address of a lidar.
pub(crate) const FACTORY_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 201));

/// The hardware address that is written for a lidar whose own is unknown.
pub(crate) const DEFAULT_MAC: Mac = Mac([0x60, 0x76, 0x88, 0, 0, 1]);

const BROADCAST_MAC: Mac = Mac([0xff; 6]);
/// The IPv6 multicast address of all hosts on the link.
const ALL_HOSTS_MAC: Mac = Mac([0x33, 0x33, 0, 0, 0, 1]);
const ALL_HOSTS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

const UDP: u8 = 17;
const HOP_LIMIT: u8 = 64;

/// Returns the length of the frame of a datagram with `payload` from `address`.
pub(crate) fn frame_len(address: IpAddr, payload: &[u8]) -> usize {
    let ip_header_len = if address.is_ipv4() { 20 } else { 40 };
    14 + ip_header_len + 8 + payload.len()
}

/// Appends the frame of a datagram with `payload` to `out`. It is sent by the device with
/// `mac` and `address`, from and to `port`. The payload must not be longer than
/// [`MAX_PAYLOAD`]. The `identification` distinguishes it from an equal datagram.
pub(crate) fn append_frame(
    out: &mut Vec<u8>,
    (mac, address, port): (Mac, IpAddr, u16),
    identification: u16,
    payload: &[u8],
) {
    let udp_len = (8 + payload.len()) as u16;
    match address {
        IpAddr::V4(address) => {
            let addresses = [address.octets(), Ipv4Addr::BROADCAST.octets()];
            let addresses = addresses.as_flattened();
            append_link(out, mac, BROADCAST_MAC, 0x0800);
            out.extend(v4_header(udp_len, identification, addresses));
            out.extend(addresses);
            append_datagram(out, addresses, port, udp_len, payload);
        }
        IpAddr::V6(address) => {
            let addresses = [address.octets(), ALL_HOSTS.octets()];
            let addresses = addresses.as_flattened();
            append_link(out, mac, ALL_HOSTS_MAC, 0x86dd);
            // The identification is the flow label.
            let [label_high, label_low] = identification.to_be_bytes();
            out.extend([0x60, 0, label_high, label_low]);
            out.extend(udp_len.to_be_bytes());
            out.extend([UDP, HOP_LIMIT]);
            out.extend(addresses);
            append_datagram(out, addresses, port, udp_len, payload);
        }
    }
}

fn append_link(out: &mut Vec<u8>, source: Mac, destination: Mac, ethertype: u16) {
    out.extend(destination.0);
    out.extend(source.0);
    out.extend(ethertype.to_be_bytes());
}

/// Returns the IPv4 header without the addresses at its end. Packets that must not be
/// fragmented may have any identification (RFC 6864, 4.1).
fn v4_header(udp_len: u16, identification: u16, addresses: &[u8]) -> [u8; 12] {
    const VERSION_AND_LEN: u16 = 0x4500;
    const DO_NOT_FRAGMENT: u16 = 0x4000;
    let total_len = 20 + udp_len;
    let hops_and_protocol = u16::from_be_bytes([HOP_LIMIT, UDP]);
    let header = |sum: u16| {
        [
            VERSION_AND_LEN,
            total_len,
            identification,
            DO_NOT_FRAGMENT,
            hops_and_protocol,
            sum,
        ]
        .map(u16::to_be_bytes)
    };
    let sum = checksum(&[header(0).as_flattened(), addresses]);
    let mut bytes = [0; 12];
    bytes.copy_from_slice(header(sum).as_flattened());
    bytes
}

fn append_datagram(
    out: &mut Vec<u8>,
    addresses: &[u8],
    port: u16,
    udp_len: u16,
    payload: &[u8],
) {
    let header = |sum: u16| [port, port, udp_len, sum].map(u16::to_be_bytes);
    // The checksum also covers a pseudo header: addresses, protocol and length.
    let protocol_and_len = [[0, UDP], udp_len.to_be_bytes()];
    let header_without_sum = header(0);
    let parts = [
        addresses,
        protocol_and_len.as_flattened(),
        header_without_sum.as_flattened(),
        payload,
    ];
    // In the header, zero means that there is no checksum.
    let sum = match checksum(&parts) {
        0 => 0xffff,
        sum => sum,
    };
    out.extend(header(sum).as_flattened());
    out.extend(payload);
}

/// Returns the Internet checksum (RFC 1071) of `parts`. All parts except the last must have
/// an even length.
pub(crate) fn checksum(parts: &[&[u8]]) -> u16 {
    // The byte order of the words only changes the byte order of the sum (RFC 1071, 2, B),
    // and several words can be added at once (2, C).
    let mut sum = 0_u64;
    for part in parts {
        let (words, remainder) = part.as_chunks();
        let words = words.iter().map(|word| u64::from(u32::from_le_bytes(*word)));
        let remainder =
            remainder.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        sum += words.sum::<u64>() + remainder;
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16).swap_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::network::ip;
    use crate::capture::network::ip::IpPacket;
    use crate::capture::network::udp_checksum;

    #[test]
    fn checksum_agrees_with_rfc_1071() {
        // RFC 1071, 3: the sum of these is 2ddf0, ddf2 when folded.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(&[&bytes]), !0xddf2);
        assert_eq!(checksum(&[&bytes[..4], &bytes[4..]]), !0xddf2);
        assert_eq!(checksum(&[&bytes[..2], &bytes[2..]]), !0xddf2);
        // An odd length is padded with a zero.
        assert_eq!(checksum(&[&bytes[..7]]), checksum(&[&bytes[..6], &[0xf6, 0]]));
    }

    #[test]
    fn frames_round_trip() {
        let v6 = IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xc9));
        for address in [FACTORY_ADDRESS, v6] {
            let mut frame = Vec::new();
            append_frame(&mut frame, (DEFAULT_MAC, address, 2368), 0, b"odd");
            assert_eq!(frame.len(), frame_len(address, b"odd"));
            let IpPacket::Udp { source, destination, bytes } =
                ip::parse_packet(&frame, 14, 0)
            else {
                panic!("not a datagram")
            };
            assert_eq!(source, address);
            let addresses = [source, destination];
            let udp = &mut frame[bytes.clone()].to_vec();
            assert_eq!(udp_checksum::is_correct(udp, addresses), Some(true));
            udp[9] ^= 0x10;
            assert_eq!(udp_checksum::is_correct(udp, addresses), Some(false));
            let datagram = ip::parse_datagram(&frame, bytes).unwrap();
            assert_eq!(&frame[datagram.payload], b"odd");
            assert_eq!((datagram.source_port, datagram.destination_port), (2368, 2368));
        }
    }
}
