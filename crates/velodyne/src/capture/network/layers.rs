//! Follows the layers of a frame to the next IP packet, also through tunnels.
//!
//! Each layer names the next one: a link type, an Ethernet type, an IP protocol, a port. The
//! numbers are those of IANA and of <https://www.tcpdump.org/linktypes.html>.

use crate::capture::network::{
    layer::{
        Layer, LayerStart, MIN_ETHERTYPE, Mac, Next, at_ethertype, be16, bytes_at,
    },
    link, tunnels,
};

/// The maximum number of layers before an IP packet, and between two of them.
const MAX_LAYERS: usize = 16;

/// The end of a search for an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followed {
    /// An IP packet of this version, or of any version if it is 0.
    Ip(u8),
    /// A layer whose contents are unknown.
    Unknown,
    /// The frame ends before.
    Short,
}

/// The link type of Ethernet.
const ETHERNET: u16 = 1;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

impl LayerStart {
    /// Follows the layers of `frame` to an IP packet, or to the layer that is unknown.
    pub(crate) fn follow(&mut self, frame: &[u8]) -> Followed {
        // Most frames: the table of layers takes many more instructions.
        if self.layer == Layer::Link(ETHERNET)
            && be16(frame, self.start + 12) == Some(IPV4)
        {
            let mac = bytes_at(frame, self.start + 6).map(Mac);
            *self = Self { layer: Layer::Ip(4), start: self.start + 14, mac };
            return Followed::Ip(4);
        }
        for _ in 0..MAX_LAYERS {
            if let Layer::Ip(version) = self.layer {
                return Followed::Ip(version);
            }
            match self.next(frame) {
                Some(Next::At(next)) => {
                    *self = Self { mac: next.mac.or(self.mac), ..next };
                }
                Some(Next::Unknown) => return Followed::Unknown,
                None => return Followed::Short,
            }
        }
        Followed::Unknown
    }

    fn next(&self, frame: &[u8]) -> Option<Next> {
        let start = self.start;
        let at = |layer, distance| Some(Next::At(Self::new(layer, start + distance)));
        let ethertype_at = |distance| at_ethertype(frame, start + distance);
        let byte = |distance| frame.get(start + distance).copied();
        match self.layer {
            Layer::Link(link) => link::next(link, frame, start),
            Layer::Ethernet => {
                let mac = bytes_at(frame, start + 6).map(Mac);
                Some(ethertype_at(12)?.with_mac(mac))
            }
            Layer::EtherType(IPV4) => at(Layer::Ip(4), 0),
            Layer::EtherType(IPV6) => at(Layer::Ip(6), 0),
            Layer::EtherType(number) => match number {
                0x0000..MIN_ETHERTYPE | 0x8870 => at(Layer::Llc, 0),
                // VLAN tags: single, nested, and older values.
                0x8100 | 0x88a8 | 0x9100 | 0x9200 => ethertype_at(2),
                // VN tag, HSR, metadata of Cisco, bridge port extension.
                0x8926 | 0x892f => ethertype_at(4),
                0x8909 => ethertype_at(2 + 4 * usize::from(byte(1)?)),
                0x893f => ethertype_at(6),
                // Provider backbone bridges, FabricPath, transparent bridging.
                0x88e7 => at(Layer::Ethernet, 4),
                0x8903 => at(Layer::Ethernet, 2),
                0x6558 => at(Layer::Ethernet, 0),
                0x8864 => at(Layer::PppProtocol(be16(frame, start + 6)?), 8),
                0x880b => at(Layer::Ppp, 0),
                0x8847 | 0x8848 => at(Layer::Mpls, 0),
                0x88be | 0x22eb => at(Layer::Erspan(number), 0),
                0x894f => at(Layer::Nsh, 0),
                // MACsec, if the contents are neither encrypted nor changed.
                0x88e5 if byte(0)? & 0x0c == 0 => {
                    ethertype_at(if byte(0)? & 0x20 == 0 { 6 } else { 14 })
                }
                // Redirected packets (WCCP), with and without a header.
                0x883e if byte(0)? >> 4 == 4 => at(Layer::Ip(4), 0),
                0x883e => at(Layer::Ip(0), 4),
                _ => Some(Next::Unknown),
            },
            Layer::Llc => match bytes_at(frame, start)? {
                [0xaa, 0xaa, 3] => match bytes_at(frame, start + 3)? {
                    [0, 0, 0] | [0, 0, 0xf8] => ethertype_at(6),
                    // Bridged Ethernet (RFC 2427), with and without a checksum.
                    [0, 0x80, 0xc2] if matches!(be16(frame, start + 6)?, 1 | 7) => {
                        at(Layer::Ethernet, 8)
                    }
                    _ => Some(Next::Unknown),
                },
                [6, 6, 3] => at(Layer::Ip(4), 3),
                [0xfe, 0xfe, 3] if byte(3)? == 0xcc => at(Layer::Ip(4), 4),
                _ => Some(Next::Unknown),
            },
            Layer::Ppp => {
                let framing = if bytes_at(frame, start)? == [0xff, 3] { 2 } else { 0 };
                // Protocols are odd: a first byte that is odd is the whole number.
                match byte(framing)? {
                    first if first & 1 == 1 => {
                        at(Layer::PppProtocol(first.into()), framing + 1)
                    }
                    // Cisco HDLC, which shares a link type with PPP.
                    0x0f | 0x8f => ethertype_at(2),
                    _ => {
                        let number = be16(frame, start + framing)?;
                        at(Layer::PppProtocol(number), framing + 2)
                    }
                }
            }
            Layer::PppProtocol(number) => match number {
                0x0021 => at(Layer::Ip(4), 0),
                0x0057 => at(Layer::Ip(6), 0),
                0x0281 | 0x0283 => at(Layer::Mpls, 0),
                // Bridged Ethernet (RFC 3518), possibly with the number of the LAN.
                0x0031 if byte(1)? == 1 => {
                    at(Layer::Ethernet, if byte(0)? & 0x40 == 0 { 2 } else { 6 })
                }
                _ => Some(Next::Unknown),
            },
            Layer::FrameRelay => match bytes_at(frame, start + 2)? {
                [3, 0xcc] => at(Layer::Ip(4), 4),
                [3, 0x8e] => at(Layer::Ip(6), 4),
                [3, 0x80] => match bytes_at(frame, start + 4)? {
                    [0, 0, 0] => ethertype_at(7),
                    _ => Some(Next::Unknown),
                },
                // With the framing of Cisco, an Ethernet type follows the address.
                _ => ethertype_at(2),
            },
            Layer::Wifi { is_padded } => wifi(frame, start, is_padded),
            Layer::Mpls => {
                let mut len = 4;
                // The lowest bit of the third byte ends the stack of labels.
                while byte(len - 2)? & 1 == 0 {
                    len += 4;
                }
                // The contents are not named. An Ethernet frame may follow a control word.
                let has_ethertype = |mac| {
                    let number = be16(frame, start + mac + 12);
                    matches!(number, Some(IPV4 | IPV6 | 0x8100 | 0x88a8))
                };
                match byte(len)? >> 4 {
                    0 if !has_ethertype(len) => at(Layer::Ethernet, len + 4),
                    version @ (4 | 6) if byte(len)? == 0x45 || !has_ethertype(len) => {
                        at(Layer::Ip(version), len)
                    }
                    _ => at(Layer::Ethernet, len),
                }
            }
            Layer::Nsh => {
                let len = usize::from(byte(1)? & 0x3f) * 4;
                tunnels::next_protocol(byte(3)?, start + len)
            }
            Layer::Gre => tunnels::gre(frame, start),
            Layer::Erspan(number) => tunnels::erspan(number, frame, start),
            Layer::IpProtocol(protocol) => tunnels::in_ip(protocol, frame, start),
            Layer::UdpPort(port) => tunnels::in_udp(port, frame, start),
            Layer::WifiAggregate | Layer::Ip(_) => Some(Next::Unknown),
        }
    }
}

/// Returns the contents of a data frame of IEEE 802.11 that is not encrypted.
fn wifi(frame: &[u8], start: usize, is_padded: bool) -> Option<Next> {
    let [kind, flags] = bytes_at(frame, start)?;
    let (is_data, has_qos, is_empty) =
        (kind & 0x0c == 0x08, kind & 0x80 != 0, kind & 0x40 != 0);
    let is_encrypted = flags & 0x40 != 0;
    if !is_data || is_empty || is_encrypted {
        return Some(Next::Unknown);
    }
    // The directions decide about the number and the order of the addresses.
    let (source, mut len) = match flags & 3 {
        0 | 1 => (10, 24),
        2 => (16, 24),
        _ => (24, 30),
    };
    let mut is_aggregate = false;
    if has_qos {
        is_aggregate = frame.get(start + len)? & 0x80 != 0;
        len += if flags & 0x80 == 0 { 2 } else { 6 };
    }
    if is_padded {
        len = len.next_multiple_of(4);
    }
    if is_aggregate {
        // Of an aggregate, only a single frame is followed: addresses, length, contents.
        let contents = start + len + 14;
        let end = contents + usize::from(be16(frame, contents - 2)?);
        // The checksum of the whole frame, and the padding of a further frame.
        let is_single = frame.len() <= end + 7;
        let layer = if is_single { Layer::Llc } else { Layer::WifiAggregate };
        let mac = bytes_at(frame, start + len + 6).map(Mac);
        return Some(Next::At(LayerStart { mac, ..LayerStart::new(layer, contents) }));
    }
    let mac = bytes_at(frame, start + source).map(Mac);
    Some(Next::At(LayerStart { mac, ..LayerStart::new(Layer::Llc, start + len) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows a frame of the link type `link` to the start of an IP packet.
    fn ip_start(link: u16, frame: &[u8]) -> Result<usize, Followed> {
        let mut layer = LayerStart::new(Layer::Link(link), 0);
        match layer.follow(frame) {
            Followed::Ip(_) => Ok(layer.start),
            followed => Err(followed),
        }
    }

    /// Creates a frame with `types` after the hardware addresses.
    fn ethernet(types: &[u8]) -> Vec<u8> {
        [&[0; 12], types].concat()
    }

    #[test]
    fn vlan_tags_are_skipped() {
        assert_eq!(ip_start(1, &ethernet(&[0x08, 0x00])), Ok(14));
        let tagged = ethernet(&[0x81, 0x00, 0, 100, 0x86, 0xdd]);
        assert_eq!(ip_start(1, &tagged), Ok(18));
        let doubly_tagged =
            ethernet(&[0x88, 0xa8, 0, 100, 0x81, 0x00, 0, 10, 0x08, 0x00]);
        assert_eq!(ip_start(1, &doubly_tagged), Ok(22));
        assert_eq!(ip_start(1, &ethernet(&[0x08, 0x06])), Err(Followed::Unknown));
        assert_eq!(ip_start(1, &doubly_tagged[..20]), Err(Followed::Short));
    }

    #[test]
    fn number_of_layers_is_bounded() {
        let frame = ethernet(&[0x81, 0x00, 0, 0].repeat(100));
        assert_eq!(ip_start(1, &frame), Err(Followed::Unknown));
        // Labels without an end, options without an end, and attributes of length 0.
        let labels = [&ethernet(&[0x88, 0x47])[..], &[0; 4_000]].concat();
        assert_eq!(ip_start(1, &labels), Err(Followed::Short));
        assert_eq!(ip_start(239, &[0; 4_000]), Err(Followed::Short));
        assert_eq!(ip_start(127, &[0xff; 4_000]), Err(Followed::Short));
        assert_eq!(ip_start(197, &[0xff; 4_000]), Err(Followed::Unknown));
    }

    #[test]
    fn loopback_family_is_read_in_both_byte_orders() {
        assert_eq!(ip_start(0, &[2, 0, 0, 0]), Ok(4));
        assert_eq!(ip_start(108, &[0, 0, 0, 30]), Ok(4));
        assert_eq!(ip_start(0, &[7, 0, 0, 0]), Err(Followed::Unknown));
        assert_eq!(ip_start(147, &[2, 0, 0, 0]), Err(Followed::Unknown));
    }

    #[test]
    fn source_address_is_read_if_the_link_has_addresses() {
        let mac = |link, frame: &[u8]| {
            let mut layer = LayerStart::new(Layer::Link(link), 0);
            layer.follow(frame);
            layer.mac.map(|mac| mac.to_string())
        };
        // Each byte is its own offset.
        let frame: Vec<u8> = (0..64).collect();
        assert_eq!(mac(1, &frame).as_deref(), Some("06:07:08:09:0a:0b"));
        assert_eq!(mac(1, &frame[..11]), None);
        assert_eq!(mac(113, &frame), None);
        let mut cooked = frame.clone();
        cooked[4..6].copy_from_slice(&[0, 6]);
        assert_eq!(mac(113, &cooked).as_deref(), Some("06:07:08:09:0a:0b"));
        cooked[11] = 6;
        assert_eq!(mac(276, &cooked).as_deref(), Some("0c:0d:0e:0f:10:11"));
        assert_eq!(mac(101, &frame), None);
        // IEEE 802.11 from a distribution system: the third address.
        let mut wifi = frame.clone();
        wifi[..2].copy_from_slice(&[0x08, 0x02]);
        assert_eq!(mac(105, &wifi).as_deref(), Some("10:11:12:13:14:15"));
    }

    #[test]
    fn encrypted_and_empty_frames_are_not_followed() {
        let mut wifi = vec![0; 64];
        wifi[24..32].copy_from_slice(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
        for (kind, flags, expected) in [
            (0x08, 0x00, Ok(32)),
            (0x08, 0x40, Err(Followed::Unknown)),
            (0x48, 0x00, Err(Followed::Unknown)),
            (0x80, 0x00, Err(Followed::Unknown)),
        ] {
            wifi[..2].copy_from_slice(&[kind, flags]);
            assert_eq!(ip_start(105, &wifi), expected);
        }
        let macsec = |tag| ethernet(&[0x88, 0xe5, tag, 0, 0, 0, 0, 1, 0x08, 0]);
        assert_eq!(ip_start(1, &macsec(0)), Ok(22));
        assert_eq!(ip_start(1, &macsec(0x0c)), Err(Followed::Unknown));
    }
}
