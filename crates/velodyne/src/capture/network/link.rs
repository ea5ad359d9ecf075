//! Parses the link layers.
//!
//! Link types: <https://www.tcpdump.org/linktypes.html>.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A hardware address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Mac(pub(crate) [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([a, b, c, d, e, g]) = self;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The payload of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkPayload {
    /// An IP packet that starts at this byte of the frame.
    Ip(usize),
    /// Another protocol.
    Other,
    /// The link type is unknown.
    UnknownLink,
    /// The frame ends before its payload.
    Short,
}

const NULL: u16 = 0;
const ETHERNET: u16 = 1;
const RAW: [u16; 3] = [12, 14, 101];
const LOOP: u16 = 108;
const LINUX_SLL: u16 = 113;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const LINUX_SLL2: u16 = 276;

/// The Ethernet types of VLAN tags: single, nested, and an older value.
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// The maximum number of nested VLAN tags.
const MAX_TAGS: usize = 8;

/// Returns the payload of `frame`, which was captured on a link of the type `link`.
pub(crate) fn link_payload(link: u16, frame: &[u8]) -> LinkPayload {
    match link {
        ETHERNET => payload_by_ethertype(frame, 12),
        LINUX_SLL => payload_by_ethertype(frame, 14),
        LINUX_SLL2 => match ethertype(frame, 0) {
            Some(kind) if is_ip(kind) => LinkPayload::Ip(20),
            Some(kind) if VLAN.contains(&kind) => payload_by_ethertype(frame, 22),
            Some(_) => LinkPayload::Other,
            None => LinkPayload::Short,
        },
        IPV4 | IPV6 => LinkPayload::Ip(0),
        link if RAW.contains(&link) => LinkPayload::Ip(0),
        NULL | LOOP => payload_by_family(frame),
        _ => LinkPayload::UnknownLink,
    }
}

/// Returns the source hardware address of `frame`, if its link type has such addresses.
pub(crate) fn source_mac(link: u16, frame: &[u8]) -> Option<Mac> {
    const MAC_LEN: u8 = 6;
    let offset = match link {
        ETHERNET => 6,
        LINUX_SLL if frame.get(4..6) == Some(&[0, MAC_LEN]) => 6,
        LINUX_SLL2 if frame.get(11) == Some(&MAC_LEN) => 12,
        _ => return None,
    };
    frame.get(offset..)?.first_chunk().copied().map(Mac)
}

/// Returns the payload according to the Ethernet type at `offset`. VLAN tags are skipped.
fn payload_by_ethertype(frame: &[u8], mut offset: usize) -> LinkPayload {
    for _ in 0..=MAX_TAGS {
        match ethertype(frame, offset) {
            Some(kind) if is_ip(kind) => return LinkPayload::Ip(offset + 2),
            Some(kind) if VLAN.contains(&kind) => offset += 4,
            Some(_) => return LinkPayload::Other,
            None => return LinkPayload::Short,
        }
    }
    LinkPayload::Other
}

/// Returns the payload according to the address family at the start of the frame, a `u32`
/// in the byte order of the capturing host: IPv4 is always 2, IPv6 is 10, 24, 28 or 30.
fn payload_by_family(frame: &[u8]) -> LinkPayload {
    let Some(family) = frame.first_chunk() else { return LinkPayload::Short };
    let family = u32::from_le_bytes(*family);
    match family.min(family.swap_bytes()) {
        2 | 10 | 24 | 28 | 30 => LinkPayload::Ip(4),
        _ => LinkPayload::Other,
    }
}

fn ethertype(frame: &[u8], offset: usize) -> Option<u16> {
    frame.get(offset..)?.first_chunk().map(|kind| u16::from_be_bytes(*kind))
}

fn is_ip(ethertype: u16) -> bool {
    matches!(ethertype, 0x0800 | 0x86dd)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a frame with `types` after the hardware addresses.
    fn ethernet(types: &[u8]) -> Vec<u8> {
        [&[0; 12], types].concat()
    }

    #[test]
    fn vlan_tags_are_skipped() {
        let ipv4_frame = ethernet(&[0x08, 0x00]);
        assert_eq!(link_payload(ETHERNET, &ipv4_frame), LinkPayload::Ip(14));
        let tagged = ethernet(&[0x81, 0x00, 0, 100, 0x86, 0xdd]);
        assert_eq!(link_payload(ETHERNET, &tagged), LinkPayload::Ip(18));
        let doubly_tagged =
            ethernet(&[0x88, 0xa8, 0, 100, 0x81, 0x00, 0, 10, 0x08, 0x00]);
        assert_eq!(link_payload(ETHERNET, &doubly_tagged), LinkPayload::Ip(22));
        assert_eq!(
            link_payload(ETHERNET, &ethernet(&[0x08, 0x06])),
            LinkPayload::Other
        );
        assert_eq!(link_payload(ETHERNET, &doubly_tagged[..20]), LinkPayload::Short);
    }

    #[test]
    fn source_address_is_read_if_the_link_has_addresses() {
        let mac =
            |link, frame: &[u8]| source_mac(link, frame).map(|mac| mac.to_string());
        // Each byte is its own offset.
        let frame: Vec<u8> = (0..24).collect();
        assert_eq!(mac(ETHERNET, &frame).as_deref(), Some("06:07:08:09:0a:0b"));
        assert_eq!(mac(ETHERNET, &frame[..11]), None);
        let mut linux_sll_frame = frame.clone();
        linux_sll_frame[4..6].copy_from_slice(&[0, 6]);
        assert_eq!(
            mac(LINUX_SLL, &linux_sll_frame).as_deref(),
            Some("06:07:08:09:0a:0b")
        );
        assert_eq!(mac(LINUX_SLL, &frame), None);
        linux_sll_frame[11] = 6;
        assert_eq!(
            mac(LINUX_SLL2, &linux_sll_frame).as_deref(),
            Some("0c:0d:0e:0f:10:11")
        );
        assert_eq!(mac(RAW[0], &frame), None);
    }

    #[test]
    fn number_of_vlan_tags_is_bounded() {
        let frame = ethernet(&[0x81, 0x00, 0, 0].repeat(100));
        assert_eq!(link_payload(ETHERNET, &frame), LinkPayload::Other);
    }

    #[test]
    fn loopback_family_is_read_in_both_byte_orders() {
        assert_eq!(link_payload(NULL, &[2, 0, 0, 0]), LinkPayload::Ip(4));
        assert_eq!(link_payload(LOOP, &[0, 0, 0, 30]), LinkPayload::Ip(4));
        assert_eq!(link_payload(NULL, &[7, 0, 0, 0]), LinkPayload::Other);
        assert_eq!(link_payload(147, &[2, 0, 0, 0]), LinkPayload::UnknownLink);
    }
}
