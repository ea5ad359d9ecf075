//! Finds packets of lidars in the items of a container, for the index pass and for
//! cursors.

use std::{net::IpAddr, ops::Range};

use logtool_core::Timestamp;

use crate::{
    capture::{
        container::{Classification, Container},
        hour_counter::HourCounter,
        item::{CaptureItem, Declaration, Frame, Section},
        network::{
            ip::{self, Datagram, DatagramKey, IpPacket},
            link::{self, LinkPayload},
            udp_checksum,
        },
        packets::{
            defragment::Reassembler,
            duplicates::{self, DuplicateFilter},
            manufacturer::Manufacturer,
            payload::{self, Payload},
            sender::{Device, Sender},
        },
    },
    packet::Firings,
};

/// The classification of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ItemContent {
    /// A packet of a lidar.
    Packet(LidarPacket),
    /// A fragment of an incomplete datagram.
    Fragment,
    /// A frame without a packet of a lidar.
    Rejected(RejectReason),
    /// A frame that contained, or may have contained, a packet of a lidar that is lost.
    Lost(RejectReason),
    /// A declaration of a section or an interface.
    Declaration(Declaration),
    /// An item that is not a frame.
    Other,
    /// A malformed item.
    Broken,
}

/// A packet of a lidar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LidarPacket {
    pub(crate) sender: Sender,
    pub(crate) time: Timestamp,
    /// The identification of its IP packet.
    pub(crate) identification: u32,
    pub(crate) bytes: PacketBytes,
}

/// The bytes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PacketBytes {
    /// The bytes at this range of the item.
    InItem(Range<usize>),
    /// The bytes of a reassembled datagram.
    Reassembled(Vec<u8>),
}

/// The reason why a frame has no packet of a lidar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RejectReason {
    /// It is truncated by the snapshot length.
    Short,
    /// It is shorter than its headers declare.
    Broken,
    /// It contains a data packet that its headers do not lead to.
    Hidden,
    /// It contains a data packet in which some blocks have unknown flags.
    Corrupted,
    /// It is a duplicate of a previous packet.
    Duplicate,
    /// It has the length of a data packet, but unknown block flags.
    WrongFlags,
    /// It contains zeros in place of a packet of a lidar.
    Zeros,
    /// Its UDP checksum is wrong.
    Checksum,
    /// It is from a lidar of another manufacturer.
    OtherLidar(Manufacturer),
    /// It is a datagram of another length or port.
    OtherDatagram,
    /// It has another protocol.
    OtherProtocol,
    /// It has an unknown link type.
    UnknownLink,
}

impl LidarPacket {
    /// Returns the [`sum`](duplicates::sum) that identifies duplicates of the packet in
    /// `item`.
    pub(crate) fn sum(&self, item: &[u8]) -> u64 {
        duplicates::sum(self.payload(item), self.identification)
    }

    /// Returns the payload of the packet in `item`.
    pub(crate) fn payload<'b>(&'b self, item: &'b [u8]) -> &'b [u8] {
        match &self.bytes {
            PacketBytes::InItem(place) => item.get(place.clone()).unwrap_or_default(),
            PacketBytes::Reassembled(bytes) => bytes,
        }
    }
}

/// Reads items in order.
#[derive(Clone, Debug)]
pub(crate) struct ItemReader {
    pub(crate) container: Container,
    pub(crate) section: Section,
    pub(crate) fragments: Reassembler,
    /// The last packets, for detecting duplicates.
    pub(crate) duplicate_filter: DuplicateFilter,
    /// The clock of packets without a container.
    pub(crate) hours: Option<HourCounter>,
    /// Whether a wrong UDP checksum means that a packet is damaged.
    pub(crate) verifies_checksums: bool,
}

impl ItemReader {
    /// Classifies the item at `at` of the file, which consists of `bytes`.
    pub(crate) fn read(&mut self, at: u64, bytes: &[u8]) -> ItemContent {
        match self.classify(at, bytes) {
            ItemContent::Packet(packet) if self.container != Container::Bare => {
                let sum = packet.sum(bytes);
                self.unless_duplicate(packet, sum)
            }
            ItemContent::Declaration(declaration) => {
                self.section.declare(declaration);
                ItemContent::Declaration(declaration)
            }
            content => content,
        }
    }

    /// Like [`read`](Self::read), but without detecting duplicates and without applying
    /// declarations.
    pub(crate) fn classify(&mut self, at: u64, bytes: &[u8]) -> ItemContent {
        match self.section.item(self.container, bytes) {
            CaptureItem::Frame(frame) if self.container == Container::Bare => {
                self.packet_without_network(&frame, bytes)
            }
            CaptureItem::Frame(frame) => {
                hidden_packet_or(self.frame(at, &frame, bytes), bytes)
            }
            CaptureItem::Declaration(declaration) => {
                ItemContent::Declaration(declaration)
            }
            CaptureItem::Other => hidden_packet_or(ItemContent::Other, bytes),
            CaptureItem::Broken => ItemContent::Broken,
        }
    }

    /// Returns a packet with this [`sum`](duplicates::sum), or [`RejectReason::Duplicate`] if it
    /// is a duplicate.
    pub(crate) fn unless_duplicate(
        &mut self,
        packet: LidarPacket,
        sum: u64,
    ) -> ItemContent {
        if self.duplicate_filter.is_duplicate(&packet.sender, packet.time, sum) {
            ItemContent::Rejected(RejectReason::Duplicate)
        } else {
            ItemContent::Packet(packet)
        }
    }

    fn packet_without_network(&mut self, frame: &Frame, bytes: &[u8]) -> ItemContent {
        let Some(firings) = Firings::new(bytes) else { return ItemContent::Broken };
        let time = match &mut self.hours {
            Some(hours) => hours.time(firings.tail().micros),
            None => frame.time,
        };
        let sender = Sender { device: Device::UNKNOWN, port: 0, is_position: false };
        ItemContent::Packet(LidarPacket {
            sender,
            time,
            identification: 0,
            bytes: PacketBytes::InItem(0..bytes.len()),
        })
    }

    fn frame(&mut self, at: u64, frame: &Frame, item: &[u8]) -> ItemContent {
        let bytes = item.get(frame.bytes.clone()).unwrap_or_default();
        let ip = match link::link_payload(frame.link, bytes) {
            LinkPayload::Ip(ip) => ip,
            LinkPayload::Other => {
                return ItemContent::Rejected(RejectReason::OtherProtocol);
            }
            LinkPayload::UnknownLink => {
                return ItemContent::Rejected(RejectReason::UnknownLink);
            }
            LinkPayload::Short => return incomplete_frame(frame),
        };
        let device = |address| Device {
            interface: frame.interface,
            mac: link::source_mac(frame.link, bytes),
            address,
        };
        match ip::packet(bytes, ip) {
            IpPacket::Udp { source, destination, bytes: udp } => {
                let Some(datagram) = ip::datagram(bytes, udp.clone()) else {
                    return truncated_datagram(frame, bytes, udp);
                };
                let is_wrong = self.has_wrong_checksum(
                    bytes.get(udp).unwrap_or_default(),
                    [source, destination],
                );
                match sender_and_payload(bytes, datagram, device(source), is_wrong) {
                    Ok((sender, payload)) => {
                        let start = frame.bytes.start;
                        let payload_range = start + payload.start..start + payload.end;
                        let identification = ip::identification(bytes, ip);
                        let (time, bytes) =
                            (frame.time, PacketBytes::InItem(payload_range));
                        ItemContent::Packet(LidarPacket {
                            sender,
                            time,
                            identification,
                            bytes,
                        })
                    }
                    Err(reason) => rejection(reason),
                }
            }
            IpPacket::Fragment(fragment) => {
                let part = bytes.get(fragment.bytes.clone()).unwrap_or_default();
                let payload_range = at..at.saturating_add(item.len() as u64);
                let origin = (frame.interface, frame.time);
                let Some(whole) =
                    self.fragments.push(payload_range, origin, &fragment, part)
                else {
                    return ItemContent::Fragment;
                };
                let DatagramKey { source, destination, id } = fragment.datagram;
                let is_wrong =
                    self.has_wrong_checksum(&whole.bytes, [source, destination]);
                let content = reassembled_packet(
                    &whole.bytes,
                    frame,
                    (device(source), id),
                    is_wrong,
                );
                if matches!(content, ItemContent::Lost(_)) {
                    self.fragments.record_lost_datagram(whole.frames);
                }
                content
            }
            IpPacket::Other => ItemContent::Rejected(RejectReason::OtherProtocol),
            IpPacket::Short => incomplete_frame(frame),
        }
    }

    /// Returns whether the datagram `udp` between these addresses has a wrong checksum.
    fn has_wrong_checksum(&self, udp: &[u8], addresses: [IpAddr; 2]) -> bool {
        self.verifies_checksums && udp_checksum::is_right(udp, addresses) == Some(false)
    }

    /// Returns whether most checksums of packets of lidars at the start of a capture are
    /// right. If addresses were changed, they are wrong, and a wrong checksum does not
    /// mean damage.
    pub(crate) fn trusts_checksums(mut self, first_bytes: &[u8], start: u64) -> bool {
        let (mut correct, mut wrong) = (0_u64, 0_u64);
        let (mut at, end) = (start, first_bytes.len() as u64);
        self.verifies_checksums = true;
        while let Some(bytes) = first_bytes.get(at as usize..) {
            let before = self.section.is_big_endian;
            let is_big_endian = self.container.is_big_endian(bytes, before);
            let classification = self.container.classify(at, bytes, is_big_endian, end);
            let Classification::Item(len) = classification else { break };
            match self.read(at, bytes.get(..len as usize).unwrap_or_default()) {
                ItemContent::Packet(_) => correct += 1,
                ItemContent::Lost(RejectReason::Checksum) => wrong += 1,
                _ => {}
            }
            at += len;
        }
        wrong <= correct
    }
}

/// Replaces `content` by [`RejectReason::Hidden`] if `bytes` contains a packet of a lidar that
/// its headers do not lead to.
fn hidden_packet_or(content: ItemContent, bytes: &[u8]) -> ItemContent {
    match content {
        ItemContent::Rejected(RejectReason::OtherLidar(_)) => content,
        ItemContent::Rejected(_) | ItemContent::Other
            if payload::holds_packet(bytes) =>
        {
            ItemContent::Lost(RejectReason::Hidden)
        }
        content => content,
    }
}

/// Returns whether a frame that ends too early was truncated by the snapshot length or is
/// malformed.
fn truncation_reason(frame: &Frame) -> RejectReason {
    if frame.is_short() { RejectReason::Short } else { RejectReason::Broken }
}

/// Classifies a frame that ends before its contents are known.
fn incomplete_frame(frame: &Frame) -> ItemContent {
    if frame.len >= payload::LEAST_FRAME {
        ItemContent::Lost(truncation_reason(frame))
    } else {
        ItemContent::Rejected(RejectReason::OtherProtocol)
    }
}

/// Classifies the reassembled datagram `udp`, which `frame` completed.
fn reassembled_packet(
    udp: &[u8],
    frame: &Frame,
    (source, identification): (Device, u32),
    is_wrong: bool,
) -> ItemContent {
    let Some(datagram) = ip::datagram(udp, 0..udp.len()) else {
        return truncated_datagram(frame, udp, 0..udp.len());
    };
    match sender_and_payload(udp, datagram, source, is_wrong) {
        Ok((sender, payload)) => {
            let joined = udp.get(payload).unwrap_or_default().to_vec();
            let (time, bytes) = (frame.time, PacketBytes::Reassembled(joined));
            ItemContent::Packet(LidarPacket { sender, time, identification, bytes })
        }
        Err(reason) => rejection(reason),
    }
}

/// Converts the reason why a datagram has no packet.
fn rejection(reason: RejectReason) -> ItemContent {
    match reason {
        RejectReason::Corrupted | RejectReason::Zeros | RejectReason::Checksum => {
            ItemContent::Lost(reason)
        }
        _ => ItemContent::Rejected(reason),
    }
}

/// Classifies a frame that ends inside the UDP packet at `udp` of its `bytes`.
fn truncated_datagram(frame: &Frame, bytes: &[u8], udp: Range<usize>) -> ItemContent {
    match ip::declared_udp(bytes, udp) {
        Some((ports, len, head)) if payload::may_be(ports, len, head) => {
            ItemContent::Lost(truncation_reason(frame))
        }
        Some(_) => ItemContent::Rejected(RejectReason::OtherDatagram),
        None => incomplete_frame(frame),
    }
}

/// Returns the sender and the payload of a datagram in `bytes`, or why it is not a
/// packet. If its checksum `is_wrong`, a packet of a lidar is lost.
fn sender_and_payload(
    bytes: &[u8],
    datagram: Datagram,
    device: Device,
    is_wrong: bool,
) -> Result<(Sender, Range<usize>), RejectReason> {
    let ports = [datagram.source_port, datagram.destination_port];
    let payload = bytes.get(datagram.payload.clone()).unwrap_or_default();
    let kind = payload::classify(ports, payload);
    let is_position = match kind {
        Payload::Data
        | Payload::Position
        | Payload::Corrupted
        | Payload::WrongFlags
            if is_wrong =>
        {
            return Err(RejectReason::Checksum);
        }
        Payload::Data => false,
        Payload::Position => true,
        Payload::Corrupted => return Err(RejectReason::Corrupted),
        Payload::Zeros => return Err(RejectReason::Zeros),
        Payload::WrongFlags => return Err(RejectReason::WrongFlags),
        Payload::OtherLidar(manufacturer) => {
            return Err(RejectReason::OtherLidar(manufacturer));
        }
        Payload::Other => return Err(RejectReason::OtherDatagram),
    };
    let sender = Sender { device, port: datagram.destination_port, is_position };
    Ok((sender, datagram.payload))
}
