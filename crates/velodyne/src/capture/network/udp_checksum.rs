//! Verifies the checksums of datagrams.
//!
//! ```text
//! IPv4   source | destination | 0, protocol 17 | length of UDP        12 bytes
//! IPv6   with longer addresses                              36 bytes
//! UDP    header and payload; the checksum 0 means that it is absent
//! ```
//! (RFC 768, RFC 8200 section 8.1.) The checksum covers all of these.

use std::net::IpAddr;

use crate::capture::network::{frame_writer, ip::UDP_HEADER};

const UDP: u8 = 17;

/// Returns whether the checksum of the UDP packet `udp` between these addresses is right,
/// or `None` if it has none.
///
/// A frame that was captured on the sending computer may only have the sum of the
/// addresses, because the network card calculates the rest. Such a checksum counts as
/// absent.
pub(crate) fn is_right(udp: &[u8], [source, destination]: [IpAddr; 2]) -> Option<bool> {
    let [_, _, _, _, high, low, sum_high, sum_low] = *udp.first_chunk()?;
    let (len, sum) = ([high, low], u16::from_be_bytes([sum_high, sum_low]));
    let udp = udp.get(..usize::from(u16::from_be_bytes(len)))?;
    if sum == 0 || udp.len() < UDP_HEADER {
        return None;
    }
    let (source, destination) = (octets(source), octets(destination));
    let rest = [[0, UDP], len];
    let parts = [source.as_slice(), destination.as_slice(), rest.as_flattened(), udp];
    let is_right = frame_writer::checksum(&parts) == 0;
    let is_partial = || sum == !frame_writer::checksum(&parts[..3]);
    (is_right || !is_partial()).then_some(is_right)
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

    const FROM: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    const TO: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

    /// From port 1 to port 2 with the payload `abc`. The words are c000 0201 c000 0202 0011
    /// 000b 0001 0002 000b 6162 6300; their sum is 2488f, folded 4891 and inverted b76e.
    fn udp(sum: u16) -> [u8; 11] {
        let [high, low] = sum.to_be_bytes();
        [0, 1, 0, 2, 0, 11, high, low, b'a', b'b', b'c']
    }

    #[test]
    fn checksum_covers_addresses_header_and_payload() {
        assert_eq!(is_right(&udp(0xb76e), [FROM, TO]), Some(true));
        assert_eq!(is_right(&udp(0xb76f), [FROM, TO]), Some(false));
        assert_eq!(is_right(&udp(0xb76e), [FROM, FROM]), Some(false));
        let mut changed = udp(0xb76e);
        changed[9] = 0;
        assert_eq!(is_right(&changed, [FROM, TO]), Some(false));
    }

    #[test]
    fn zero_and_partial_sums_are_absent_checksums() {
        assert_eq!(is_right(&udp(0), [FROM, TO]), None);
        // c000 0201 c000 0202 0011 000b: 1841f, folded 8420.
        assert_eq!(is_right(&udp(0x8420), [FROM, TO]), None);
        assert_eq!(is_right(&udp(0xb76e)[..10], [FROM, TO]), None);
        // The same payload from ::1 to ::1: 0001 0001 0011 000b and the words of the packet,
        // 0001 0002 000b 6162 6300, are c48e in all, inverted 3b71.
        let local = IpAddr::V6(Ipv6Addr::LOCALHOST);
        assert_eq!(is_right(&udp(0x3b71), [local, local]), Some(true));
        let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
        assert_eq!(is_right(&udp(0xb76e), [v6, v6]), Some(false));
    }
}
