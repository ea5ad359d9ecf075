//! Classifies frames: follows their layers and tunnels to a packet of a lidar.

use std::{
    net::{IpAddr, Ipv4Addr},
    ops::Range,
};

use crate::{
    capture::{
        item::Frame,
        network::{
            ip::{self, DatagramKey, Fragment, IpPacket, UDP, UDP_HEADER},
            layer::{Layer, LayerStart, Mac},
            layers::Followed,
            tunnels, udp_checksum,
        },
        packets::{
            locate::{self, LocatedPacket},
            payload::{self, POSITION_BYTES, Payload},
            ports::DATA_PORT,
            sender::{Device, Sender},
        },
        reader::{
            ItemContent, ItemReader, LidarPacket, PacketBytes, RejectReason,
            incomplete::{
                completed, incomplete_datagram, incomplete_frame, incomplete_or,
                is_packet_with_wrong_length, may_have_packet, unknown_layer,
            },
        },
    },
    packet::DATA_BYTES,
};

/// The maximum number of IP packets in each other that are followed. More are searched.
const MAX_IP_PACKETS: usize = 8;

/// The IP protocols whose contents are not layers.
const ICMP: u8 = 1;
const TCP: u8 = 6;
const ICMP_V6: u8 = 58;

/// A frame with the range of its item in the file.
pub(super) struct FrameInFile<'f> {
    pub(super) frame: &'f Frame,
    pub(super) range: Range<u64>,
}

/// An IP packet whose contents are examined.
#[derive(Clone, Copy)]
pub(super) struct IpHeader {
    pub(super) source: IpAddr,
    destination: IpAddr,
    pub(super) identification: u32,
    /// The hardware address of the layers before it.
    pub(super) mac: Option<Mac>,
}

/// The result of a datagram: a classification, or a layer in it.
pub(super) enum InDatagram {
    Content(ItemContent),
    Layer(LayerStart),
}

impl ItemReader {
    /// Classifies the frame whose captured bytes are `bytes`. The range of a packet is that
    /// in these bytes.
    pub(super) fn classify_frame(
        &mut self,
        frame: &FrameInFile<'_>,
        bytes: &[u8],
    ) -> ItemContent {
        let first = LayerStart::new(Layer::Link(frame.frame.link), 0);
        self.follow(frame, bytes, first, None, 0)
    }

    /// Follows the layers from `layer` on. `bytes` are those of the frame or of a reassembled
    /// packet. `address` is the source of the IP packet around them, and `depth` the number of
    /// IP packets.
    fn follow(
        &mut self,
        frame: &FrameInFile<'_>,
        bytes: &[u8],
        mut layer: LayerStart,
        mut address: Option<IpAddr>,
        depth: usize,
    ) -> ItemContent {
        for depth in depth..MAX_IP_PACKETS {
            let outer_mac = layer.mac.take();
            let version = match layer.follow(bytes) {
                Followed::Ip(version) => version,
                Followed::Unknown => {
                    layer.mac = layer.mac.or(outer_mac);
                    let otherwise = unknown_layer(&layer, bytes, frame.frame);
                    return self.search(
                        frame,
                        bytes,
                        (layer, address, depth),
                        otherwise,
                    );
                }
                Followed::Short => {
                    layer.mac = layer.mac.or(outer_mac);
                    let otherwise = incomplete_frame(frame.frame, bytes);
                    return self.search(
                        frame,
                        bytes,
                        (layer, address, depth),
                        otherwise,
                    );
                }
            };
            let packet = ip::parse_packet(bytes, layer.start, version);
            if ip::has_wrong_header_checksum(bytes, layer.start)
                && let Some(content) =
                    self.wrong_header(frame.frame, bytes, &layer, &packet)
            {
                return content;
            }
            layer = match packet {
                IpPacket::Udp { source, destination, bytes: udp } => {
                    let identification = ip::identification(bytes, layer.start);
                    let header = IpHeader {
                        source,
                        destination,
                        identification,
                        mac: layer.mac,
                    };
                    match self.classify_datagram(frame, bytes, udp, header, depth) {
                        InDatagram::Content(content) => return content,
                        InDatagram::Layer(next) => {
                            address = Some(source);
                            next
                        }
                    }
                }
                IpPacket::Fragment(fragment) => {
                    return self
                        .add_fragment(frame, bytes, &fragment, layer.mac, depth);
                }
                IpPacket::Other { source, protocol, start } => {
                    address = Some(source);
                    LayerStart { layer: Layer::IpProtocol(protocol), start, ..layer }
                }
                IpPacket::Broken => {
                    return incomplete_or(RejectReason::Broken, frame.frame, bytes);
                }
                IpPacket::Short => return incomplete_frame(frame.frame, bytes),
            };
        }
        let otherwise = ItemContent::Rejected(RejectReason::OtherProtocol);
        let depth = depth.max(MAX_IP_PACKETS);
        self.search(frame, bytes, (layer, address, depth), otherwise)
    }

    /// Classifies the UDP packet at `udp` of `bytes`.
    fn classify_datagram(
        &mut self,
        frame: &FrameInFile<'_>,
        bytes: &[u8],
        udp: Range<usize>,
        header: IpHeader,
        depth: usize,
    ) -> InDatagram {
        let IpHeader { source, destination, identification, mac } = header;
        let Some(datagram) = ip::parse_datagram(bytes, udp.clone()) else {
            let start = udp.start + UDP_HEADER;
            let declared = ip::declared_udp(bytes, udp.clone());
            let layer = Layer::UdpPort(declared.map_or(0, |([_, port], ..)| port));
            return match incomplete_datagram(frame.frame, bytes, udp, header) {
                InDatagram::Content(otherwise @ ItemContent::Rejected(_)) => {
                    let place = (LayerStart { layer, start, mac }, Some(source), depth);
                    InDatagram::Content(self.search(frame, bytes, place, otherwise))
                }
                in_datagram => in_datagram,
            };
        };
        let ports = [datagram.source_port, datagram.destination_port];
        let port = datagram.destination_port;
        let payload = bytes.get(datagram.payload.clone()).unwrap_or_default();
        let layer = LayerStart {
            layer: Layer::UdpPort(port),
            start: datagram.payload.start,
            mac,
        };
        let is_packet_len = matches!(payload.len(), DATA_BYTES | POSITION_BYTES);
        if tunnels::is_port(port) && !is_packet_len {
            return InDatagram::Layer(layer);
        }
        let class = payload::classify(ports, payload);
        let is_position = class == Payload::Position;
        let reason = match class {
            Payload::Data
            | Payload::Position
            | Payload::Corrupted
            | Payload::WrongFlags
                if self.verifies_checksums
                    && udp_checksum::is_correct(
                        bytes.get(udp.clone()).unwrap_or_default(),
                        [source, destination],
                    ) == Some(false) =>
            {
                RejectReason::Checksum
            }
            Payload::Data | Payload::Position => {
                let device =
                    Device { interface: frame.frame.interface, mac, address: source };
                return InDatagram::Content(ItemContent::Packet(LidarPacket {
                    sender: Sender { device, port, is_position },
                    time: frame.frame.time,
                    identification,
                    bytes: PacketBytes::InItem(datagram.payload),
                    doubt: None,
                    unknown_layer: None,
                    has_unreadable_ip: false,
                    others: Vec::new(),
                }));
            }
            Payload::Corrupted => RejectReason::Corrupted,
            Payload::Zeros => RejectReason::Zeros,
            Payload::WrongFlags => RejectReason::WrongFlags,
            // The IP header may declare the length of a packet where that of UDP is wrong.
            Payload::OtherLidar(_) | Payload::Other
                if is_packet_with_wrong_length(bytes, &udp, payload.len()) =>
            {
                RejectReason::Broken
            }
            // A packet may have a prefix or a trailer.
            Payload::OtherLidar(_) | Payload::Other => {
                let reason = match class {
                    Payload::OtherLidar(other) => RejectReason::OtherLidar(other),
                    _ => RejectReason::OtherDatagram,
                };
                let otherwise = ItemContent::Rejected(reason);
                let place = (layer, Some(source), depth);
                return InDatagram::Content(
                    self.search(frame, bytes, place, otherwise),
                );
            }
        };
        InDatagram::Content(match reason {
            RejectReason::WrongFlags => ItemContent::Rejected(reason),
            _ => ItemContent::Lost(reason),
        })
    }

    /// Adds a fragment, and classifies the packet that it completes.
    fn add_fragment(
        &mut self,
        frame: &FrameInFile<'_>,
        bytes: &[u8],
        fragment: &Fragment,
        mac: Option<Mac>,
        depth: usize,
    ) -> ItemContent {
        let fragment_bytes = bytes.get(fragment.bytes.clone()).unwrap_or_default();
        let interface_and_time = (frame.frame.interface, frame.frame.time);
        let Some(whole) = self.reassembler.push(
            frame.range.clone(),
            interface_and_time,
            fragment,
            fragment_bytes,
        ) else {
            return ItemContent::Fragment;
        };
        let DatagramKey { source, destination, protocol, id } = fragment.key;
        let layer = match protocol {
            UDP => {
                let header = IpHeader { source, destination, identification: id, mac };
                let range = 0..whole.bytes.len();
                self.classify_datagram(frame, &whole.bytes, range, header, depth)
            }
            _ => {
                let layer = Layer::IpProtocol(protocol);
                InDatagram::Layer(LayerStart { layer, start: 0, mac })
            }
        };
        let mut content = match layer {
            InDatagram::Content(content) => content,
            InDatagram::Layer(layer) => {
                self.follow(frame, &whole.bytes, layer, Some(source), depth + 1)
            }
        };
        match &mut content {
            ItemContent::Packet(packet) => packet.change_all(|packet| {
                if let PacketBytes::InItem(range) = &packet.bytes {
                    let payload = whole.bytes.get(range.clone()).unwrap_or_default();
                    packet.bytes = PacketBytes::Owned(payload.to_vec());
                }
            }),
            ItemContent::Lost(_) | ItemContent::WrongHeader(_) => {
                self.reassembler.record_lost_datagram(whole.frames)
            }
            _ => {}
        }
        content
    }

    /// Searches `bytes` for packets of lidars, because the contents of this layer are
    /// unknown. Returns `otherwise` if there are none.
    fn search(
        &mut self,
        frame: &FrameInFile<'_>,
        bytes: &[u8],
        (layer, address, depth): (LayerStart, Option<IpAddr>, usize),
        otherwise: ItemContent,
    ) -> ItemContent {
        let mut packets = locate::packets(bytes);
        if frame.frame.is_truncated() {
            let end = packets.last().map_or(0, |packet| packet.payload.end);
            packets.extend(locate::cut_packet(bytes, end));
        }
        // Errors of ICMP quote packets, and a stream may be the transfer of a log.
        let may_be_copies =
            matches!(layer.layer, Layer::IpProtocol(ICMP | TCP | ICMP_V6));
        match &packets[..] {
            [] => match locate::fragment(bytes).filter(|_| depth <= MAX_IP_PACKETS) {
                Some(fragment) => {
                    let mac = layer.mac.filter(|_| address.is_none());
                    let mut content =
                        self.add_fragment(frame, bytes, &fragment, mac, depth + 1);
                    if let ItemContent::Packet(packet) = &mut content {
                        packet.unknown_layer.get_or_insert(layer.layer);
                    }
                    content
                }
                None if !may_be_copies && locate::has_corrupted_packet(bytes) => {
                    ItemContent::Lost(RejectReason::Corrupted)
                }
                None => otherwise,
            },
            [first, others @ ..]
                if may_be_copies
                    && (first.payload.start != layer.start + UDP_HEADER
                        || !others.is_empty()) =>
            {
                let is_stream = layer.layer == Layer::IpProtocol(TCP);
                if is_stream || !others.is_empty() {
                    ItemContent::Lost(RejectReason::Hidden)
                } else {
                    otherwise
                }
            }
            _ => {
                let mut found = packets.iter().filter_map(|packet| {
                    found_packet(frame.frame, bytes, (layer, address), packet)
                });
                match found.next() {
                    Some(first) => {
                        let others = found.collect();
                        ItemContent::Packet(LidarPacket { others, ..first })
                    }
                    None => otherwise,
                }
            }
        }
    }

    /// Classifies a frame whose IP header at `layer` has a wrong checksum. Returns `None` if
    /// it is not from a lidar, or if such headers are not verified.
    fn wrong_header(
        &self,
        frame: &Frame,
        bytes: &[u8],
        layer: &LayerStart,
        packet: &IpPacket,
    ) -> Option<ItemContent> {
        let source = match packet {
            IpPacket::Udp { source, .. } | IpPacket::Other { source, .. } => *source,
            IpPacket::Fragment(fragment) => fragment.key.source,
            IpPacket::Broken | IpPacket::Short => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        };
        let device =
            Device { interface: frame.interface, mac: layer.mac, address: source };
        let is_of_lidar = || match packet {
            IpPacket::Udp { bytes: udp, .. } => {
                match ip::parse_datagram(bytes, udp.clone()) {
                    Some(datagram) => {
                        let ports = [datagram.source_port, datagram.destination_port];
                        let payload = bytes.get(datagram.payload).unwrap_or_default();
                        let class = payload::classify(ports, payload);
                        !matches!(class, Payload::Other | Payload::OtherLidar(_))
                    }
                    None => may_have_packet(frame, bytes),
                }
            }
            IpPacket::Fragment(fragment) => fragment.key.protocol == UDP,
            _ => false,
        };
        let is_damaged = self.corrections.verifies_headers(device)
            && (is_of_lidar() || !locate::packets(bytes).is_empty());
        is_damaged.then_some(ItemContent::WrongHeader(device))
    }
}

/// Returns the packet of a lidar that was located in `bytes`, in a layer with unknown
/// contents, or `None` if it has no complete block. `address` is the source of the IP packet
/// around the layer.
fn found_packet(
    frame: &Frame,
    bytes: &[u8],
    (layer, address): (LayerStart, Option<IpAddr>),
    packet: &LocatedPacket,
) -> Option<LidarPacket> {
    let LocatedPacket { is_position, payload, port, ip } = packet.clone();
    // A header of UDP that is not the contents of the layer follows one of IP.
    let has_unreadable_ip =
        port.is_some() && ip.is_none() && payload.start != layer.start + UDP_HEADER;
    // The hardware address is not that of a packet in a tunnel.
    let is_in_tunnel =
        address.is_some() && ip.is_some_and(|(_, start)| start >= layer.start);
    let mac = layer.mac.filter(|_| !is_in_tunnel);
    let address = ip.map(|(address, _)| address).or(address);
    let address = address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let device = Device { interface: frame.interface, mac, address };
    let identification = ip.map_or(0, |(_, start)| ip::identification(bytes, start));
    let port = port.unwrap_or(match layer.layer {
        Layer::UdpPort(port) => port,
        _ => DATA_PORT,
    });
    let sender = Sender { device, port, is_position };
    let unknown_layer = Some(layer.layer);
    if !is_position && payload.len() < DATA_BYTES {
        let blocks = bytes.get(payload).unwrap_or_default();
        let packet = completed(frame, sender, identification, blocks)?;
        return Some(LidarPacket { unknown_layer, has_unreadable_ip, ..packet });
    }
    Some(LidarPacket {
        sender,
        time: frame.time,
        identification,
        bytes: PacketBytes::InItem(payload),
        doubt: None,
        unknown_layer,
        has_unreadable_ip,
        others: Vec::new(),
    })
}
