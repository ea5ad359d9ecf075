//! Verifies the checksums of datagrams.
//!
//! ```text
//! pseudo header   source | destination | 0, protocol 17 | length of UDP
//!                 12 bytes for IPv4, 36 bytes for IPv6
//! UDP             header and payload; the checksum 0 means that it is absent
//! ```
//! (RFC 768, RFC 8200 section 8.1.) The checksum covers all of these.

use std::net::IpAddr;

use crate::capture::network::{frame_writer, ip::UDP_HEADER};

const UDP: u8 = 17;

/// Returns whether the checksum of the UDP packet `udp` between these addresses is correct,
/// or `None` if the packet has no checksum.
///
/// A frame that was captured on the sending computer may only contain the sum of the pseudo
/// header, because the network card adds the remaining bytes later. Such a checksum counts
/// as absent.
pub(crate) fn is_correct(
    udp: &[u8],
    [source, destination]: [IpAddr; 2],
) -> Option<bool> {
    let [_, _, _, _, high, low, sum_high, sum_low] = *udp.first_chunk()?;
    let (len, sum) = ([high, low], u16::from_be_bytes([sum_high, sum_low]));
    let udp = udp.get(..usize::from(u16::from_be_bytes(len)))?;
    if sum == 0 || udp.len() < UDP_HEADER {
        return None;
    }
    let (source, destination) = (octets(source), octets(destination));
    let protocol_and_len = [[0, UDP], len];
    let parts = [&source[..], &destination, protocol_and_len.as_flattened(), udp];
    let is_correct = frame_writer::checksum(&parts) == 0;
    let [pseudo_header @ .., _] = &parts;
    let is_partial = || sum == !frame_writer::checksum(pseudo_header);
    (is_correct || !is_partial()).then_some(is_correct)
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    const DESTINATION: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

    /// Returns a UDP packet from port 1 to port 2 with the payload `abc` and the checksum
    /// `sum`. With the pseudo header, the words are c000 0201 c000 0202 0011 000b 0001 0002
    /// 000b 6162 6300. Their sum is 2488f, folded 4891 and inverted b76e.
    fn udp(sum: u16) -> [u8; 11] {
        let [high, low] = sum.to_be_bytes();
        [0, 1, 0, 2, 0, 11, high, low, b'a', b'b', b'c']
    }

    #[test]
    fn zero_and_partial_sums_are_absent_checksums() {
        assert_eq!(is_correct(&udp(0), [SOURCE, DESTINATION]), None);
        // The pseudo header, c000 0201 c000 0202 0011 000b, has the sum 1841f, folded 8420.
        assert_eq!(is_correct(&udp(0x8420), [SOURCE, DESTINATION]), None);
    }

    #[test]
    fn incomplete_packet_is_not_verified() {
        assert_eq!(is_correct(&udp(0xb76e)[..10], [SOURCE, DESTINATION]), None);
    }

    #[test]
    fn checksum_covers_addresses_header_and_payload() {
        assert_eq!(is_correct(&udp(0xb76e), [SOURCE, DESTINATION]), Some(true));
        assert_eq!(is_correct(&udp(0xb76f), [SOURCE, DESTINATION]), Some(false));
        assert_eq!(is_correct(&udp(0xb76e), [SOURCE, SOURCE]), Some(false));
        let mut changed = udp(0xb76e);
        changed[9] = 0;
        assert_eq!(is_correct(&changed, [SOURCE, DESTINATION]), Some(false));
    }

    #[test]
    fn checksum_over_ipv6_covers_the_longer_addresses() {
        // The same payload from ::1 to ::1: 0001 0001 0011 000b and the words of the packet,
        // 0001 0002 000b 6162 6300, are c48e in all, inverted 3b71.
        let localhost = IpAddr::V6(Ipv6Addr::LOCALHOST);
        assert_eq!(is_correct(&udp(0x3b71), [localhost, localhost]), Some(true));
        assert_eq!(is_correct(&udp(0xb76e), [localhost, localhost]), Some(false));
    }
}
