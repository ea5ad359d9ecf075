//! Tunnels: protocols that carry frames or packets in IP packets and in datagrams.
//!
//! GRE (RFC 2784, 2890, 2637), ERSPAN (draft-foschiano-erspan), EtherIP (RFC 3378), MPLS
//! (RFC 4023, 7510), authentication header (RFC 4302), VXLAN (RFC 7348) and its generic
//! extension, GENEVE (RFC 8926), GTP-U (3GPP TS 29.281), L2TP (RFC 2661), GUE
//! (draft-ietf-intarea-gue), Teredo (RFC 4380), and TZSP of wireless sensors.

use crate::capture::network::layer::{Layer, LayerStart, Next, be16, bytes_at};

/// Returns whether `protocol` is that of a tunnel in IP packets.
pub(crate) fn is_protocol(protocol: u8) -> bool {
    matches!(protocol, 4 | 41 | 47 | 51 | 97 | 137 | 143)
}

/// Returns the layer in an IP packet with this `protocol`, whose contents start at `start`.
pub(super) fn in_ip(protocol: u8, frame: &[u8], start: usize) -> Option<Next> {
    match protocol {
        4 => at(Layer::Ip(4), start),
        41 => at(Layer::Ip(6), start),
        47 => at(Layer::Gre, start),
        // The authentication header, in IPv4.
        51 => {
            let [next, len] = bytes_at(frame, start)?;
            at(Layer::IpProtocol(next), start + 8 + 4 * usize::from(len))
        }
        97 => at(Layer::Ethernet, start + 2),
        137 => at(Layer::Mpls, start),
        143 => at(Layer::Ethernet, start),
        _ => Some(Next::Unknown),
    }
}

/// Returns whether a datagram to `port` may be that of a tunnel.
pub(crate) fn is_port(port: u16) -> bool {
    matches!(port, 1701 | 2152 | 3544 | 4789 | 4790 | 6080 | 6081 | 6635 | 8472 | 37008)
}

/// Returns the layer in the payload of a datagram to `port`, which starts at `start`.
pub(super) fn in_udp(port: u16, frame: &[u8], start: usize) -> Option<Next> {
    let first = *frame.get(start)?;
    match port {
        // L2TP, version 2, data messages: the optional fields are those of the flags.
        1701 => {
            let flags = be16(frame, start)?;
            if flags & 0x800f != 2 {
                return Some(Next::Unknown);
            }
            let mut len = 6;
            len += if flags & 0x4000 == 0 { 0 } else { 2 };
            len += if flags & 0x0800 == 0 { 0 } else { 4 };
            if flags & 0x0200 != 0 {
                len += 2 + usize::from(be16(frame, start + len)?);
            }
            at(Layer::Ppp, start + len)
        }
        // GTP-U, version 1, packets of users.
        2152 if first >> 4 == 3 && frame.get(start + 1) == Some(&255) => {
            let mut len = if first & 7 == 0 { 8 } else { 12 };
            let mut has_extension = first & 4 != 0 && *frame.get(start + 11)? != 0;
            while has_extension {
                len += usize::from(*frame.get(start + len)?).max(1) * 4;
                has_extension = *frame.get(start + len - 1)? != 0;
            }
            at(Layer::Ip(0), start + len)
        }
        3544 if first >> 4 == 6 => at(Layer::Ip(6), start),
        4789 | 8472 if first & 0x08 != 0 => at(Layer::Ethernet, start + 8),
        4790 if first & 0x04 != 0 => next_protocol(*frame.get(start + 3)?, start + 8),
        6080 if first >> 5 == 0 => {
            let len = 4 + 4 * usize::from(first & 0x1f);
            at(Layer::IpProtocol(*frame.get(start + 1)?), start + len)
        }
        6081 if first >> 6 == 0 => {
            let contents = start + 8 + 4 * usize::from(first & 0x3f);
            at(Layer::EtherType(be16(frame, start + 2)?), contents)
        }
        6635 => at(Layer::Mpls, start),
        37008 => tzsp(frame, start),
        _ => Some(Next::Unknown),
    }
}

/// Returns the layer that VXLAN-GPE and NSH state by number.
pub(super) fn next_protocol(number: u8, start: usize) -> Option<Next> {
    match number {
        1 => at(Layer::Ip(4), start),
        2 => at(Layer::Ip(6), start),
        3 => at(Layer::Ethernet, start),
        4 => at(Layer::Nsh, start),
        5 => at(Layer::Mpls, start),
        _ => Some(Next::Unknown),
    }
}

pub(super) fn gre(frame: &[u8], start: usize) -> Option<Next> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ACKNOWLEDGEMENT: u16 = 0x0080;
    let (flags, protocol) = (be16(frame, start)?, be16(frame, start + 2)?);
    let is_pptp = flags & 7 == 1;
    if flags & ROUTING != 0 || flags & 7 > 1 {
        return Some(Next::Unknown);
    }
    let optional = [CHECKSUM, KEY, SEQUENCE, if is_pptp { ACKNOWLEDGEMENT } else { 0 }];
    let present = optional.into_iter().filter(|flag| flags & flag != 0).count();
    let contents = start + 4 + 4 * present;
    match protocol {
        // ERSPAN of type I has no header of its own.
        0x88be if flags & SEQUENCE == 0 => at(Layer::Ethernet, contents),
        _ => at(Layer::EtherType(protocol), contents),
    }
}

/// Returns the frame after the header of ERSPAN of type II or III.
pub(super) fn erspan(number: u16, frame: &[u8], start: usize) -> Option<Next> {
    const TYPE_III: u16 = 0x22eb;
    let len = match number {
        // The last bit means that a header for the platform follows.
        TYPE_III if frame.get(start + 11)? & 1 == 1 => 20,
        TYPE_III => 12,
        _ => 8,
    };
    at(Layer::Ethernet, start + len)
}

fn tzsp(frame: &[u8], start: usize) -> Option<Next> {
    const PADDING: u8 = 0;
    const END: u8 = 1;
    let mut contents = start + 4;
    loop {
        match *frame.get(contents)? {
            PADDING => contents += 1,
            END => break,
            _ => contents += 2 + usize::from(*frame.get(contents + 1)?),
        }
    }
    match be16(frame, start + 2)? {
        1 => at(Layer::Ethernet, contents + 1),
        0x12 => at(Layer::Wifi { is_padded: false }, contents + 1),
        _ => Some(Next::Unknown),
    }
}

fn at(layer: Layer, start: usize) -> Option<Next> {
    Some(Next::At(LayerStart::new(layer, start)))
}
