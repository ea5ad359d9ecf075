//! The headers of the link types.
//!
//! Link types: <https://www.tcpdump.org/linktypes.html>.

use crate::capture::network::layer::{
    Layer, LayerStart, Mac, Next, at_ethertype, be16, bytes_at,
};

const MAC_LEN: u8 = 6;

/// Returns the layer inside the header of the link type `link`, which starts at `start`.
pub(super) fn next(link: u16, frame: &[u8], start: usize) -> Option<Next> {
    let at = |layer, distance| Some(Next::At(LayerStart::new(layer, start + distance)));
    let ethertype_at = |distance| at_ethertype(frame, start + distance);
    let byte = |distance| frame.get(start + distance).copied();
    let le16 = |distance| Some(u16::from_le_bytes(bytes_at(frame, start + distance)?));
    let le32 = |distance| Some(u32::from_le_bytes(bytes_at(frame, start + distance)?));
    let mac = |distance| bytes_at(frame, start + distance).map(Mac);
    match link {
        // The address family, in the byte order of the capturing host.
        0 | 108 => {
            let family = le32(0)?;
            match family.min(family.swap_bytes()) {
                2 => at(Layer::Ip(4), 4),
                10 | 24 | 28 | 30 => at(Layer::Ip(6), 4),
                _ => Some(Next::Unknown),
            }
        }
        1 => at(Layer::Ethernet, 0),
        // IEEE 802.5: a routing field may follow the addresses.
        6 => {
            let route = if byte(8)? & 0x80 == 0 { 0 } else { byte(14)? & 0x1f };
            let step = at(Layer::Llc, 14 + usize::from(route))?;
            Some(step.with_mac(mac(8)))
        }
        10 => Some(at(Layer::Llc, 13)?.with_mac(mac(7))),
        9 | 50 => at(Layer::Ppp, 0),
        51 => at(Layer::EtherType(0x8864), 0),
        // The direction replaces, or precedes, the address of the PPP frame.
        166 => at(Layer::Ppp, 2),
        204 => at(Layer::Ppp, 1),
        12 | 14 | 101 => at(Layer::Ip(0), 0),
        228 => at(Layer::Ip(4), 0),
        229 => at(Layer::Ip(6), 0),
        // Cisco HDLC, also with a direction.
        104 => ethertype_at(2),
        205 => ethertype_at(3),
        105 => at(Layer::Wifi { is_padded: false }, 0),
        107 => at(Layer::FrameRelay, 0),
        206 => at(Layer::FrameRelay, 1),
        109 => at(Layer::Ip(0), 12),
        113 => {
            let step = linux_cooked(frame, start + 14, start + 16)?;
            let has_mac = be16(frame, start + 4) == Some(MAC_LEN.into());
            Some(step.with_mac(mac(6).filter(|_| has_mac)))
        }
        276 => {
            let step = linux_cooked(frame, start, start + 20)?;
            Some(step.with_mac(mac(12).filter(|_| byte(11) == Some(MAC_LEN))))
        }
        // PF of OpenBSD: the length of the header without its padding.
        117 => at(Layer::Ip(0), usize::from(byte(0)?).next_multiple_of(4)),
        119 if bytes_at(frame, start) == Some([0x80, 0x21, 0x10]) => {
            at(Layer::Wifi { is_padded: false }, be16(frame, start + 6)?.into())
        }
        119 => at(Layer::Wifi { is_padded: false }, 144),
        163 => at(Layer::Wifi { is_padded: false }, be16(frame, start + 6)?.into()),
        122 => at(Layer::Llc, 16),
        127 => {
            let is_padded =
                radiotap_flags(frame, start).is_some_and(|flags| flags & 0x20 != 0);
            at(Layer::Wifi { is_padded }, le16(2)?.into())
        }
        138 => ethertype_at(16),
        192 => at(Layer::Link(u16::try_from(le32(4)?).ok()?), le16(2)?.into()),
        // Endace: extension headers while the highest bit is set, and the type of the record.
        197 => {
            let mut len = 16;
            let mut has_next = byte(8)? & 0x80 != 0;
            while has_next && len < 80 {
                has_next = byte(len)? & 0x80 != 0;
                len += 8;
            }
            match byte(8)? & 0x7f {
                2 | 11 | 16 | 20 => at(Layer::Ethernet, len + 2),
                22 => at(Layer::Ip(4), len),
                23 => at(Layer::Ip(6), len),
                _ => Some(Next::Unknown),
            }
        }
        219 => at(Layer::Mpls, 0),
        226 => at(Layer::Ip(0), 24),
        239 => nflog(frame, start),
        240 => at(Layer::Ethernet, 4),
        241 => at(Layer::Ethernet, 12),
        // IP over InfiniBand: the type is followed by two reserved bytes.
        242 => at(Layer::EtherType(be16(frame, start + 40)?), 44),
        258 => {
            let header_len = usize::try_from(le32(0)?).ok()?;
            at(Layer::Link(u16::try_from(le32(8)?).ok()?), header_len)
        }
        // A preamble.
        274 => at(Layer::Ethernet, 8),
        // The tags of switches from Broadcom and Marvell, after or before the addresses.
        281 | 284 => Some(ethertype_at(16)?.with_mac(mac(6))),
        282 => at(Layer::Ethernet, 4),
        285 => Some(ethertype_at(20)?.with_mac(mac(6))),
        _ => Some(Next::Unknown),
    }
}

/// Returns the layer at `contents` of a Linux cooked frame with this protocol field. The
/// protocol 4 means IEEE 802.2.
fn linux_cooked(frame: &[u8], protocol: usize, contents: usize) -> Option<Next> {
    let layer = match be16(frame, protocol)? {
        4 => Layer::Llc,
        protocol => Layer::EtherType(protocol),
    };
    Some(Next::At(LayerStart::new(layer, contents)))
}

/// Returns the payload attribute of a message of the Linux netfilter log. The attributes
/// are in the byte order of the capturing host: in the other one, the type of the first
/// would be greater than 255.
fn nflog(frame: &[u8], start: usize) -> Option<Next> {
    const PAYLOAD: u16 = 9;
    let version = match frame.get(start)? {
        2 => 4,
        10 => 6,
        _ => 0,
    };
    let mut at = start + 4;
    let is_big_endian = *frame.get(at + 2)? == 0;
    loop {
        let [len, kind] =
            [bytes_at(frame, at)?, bytes_at(frame, at + 2)?].map(|bytes| {
                if is_big_endian {
                    u16::from_be_bytes(bytes)
                } else {
                    u16::from_le_bytes(bytes)
                }
            });
        if kind == PAYLOAD {
            return Some(Next::At(LayerStart::new(Layer::Ip(version), at + 4)));
        }
        // Each attribute has at least 4 bytes, so the loop ends.
        at += usize::from(len).max(4).next_multiple_of(4);
    }
}

/// Returns the field with the flags of a radiotap header, if it has one.
fn radiotap_flags(frame: &[u8], start: usize) -> Option<u8> {
    let word = |at| bytes_at(frame, at).map(u32::from_le_bytes);
    let present = word(start + 4)?;
    let mut at = start + 4;
    // The highest bit means that another word follows.
    while word(at)? & 1 << 31 != 0 {
        at += 4;
    }
    at += 4;
    // A time of 8 bytes, aligned to them, precedes the flags.
    if present & 1 != 0 {
        at = start + (at - start).next_multiple_of(8) + 8;
    }
    (present & 2 != 0).then(|| frame.get(at).copied())?
}
