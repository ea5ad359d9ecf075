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
    /// It contains a data packet at a position that its headers do not lead to.
    Hidden,
    /// It contains a data packet in which some blocks have unknown flags.
    Corrupted,
    /// It is a duplicate of a previous packet.
    Duplicate,
    /// It contains a datagram with the length of a data packet, but unknown block flags.
    WrongFlags,
    /// It contains zeros in place of a packet of a lidar.
    Zeros,
    /// Its UDP checksum is wrong.
    Checksum,
    /// It is from a lidar of another manufacturer.
    OtherLidar(Manufacturer),
    /// It contains a datagram that is not from a lidar.
    OtherDatagram,
    /// It does not contain a datagram, but another protocol.
    OtherProtocol,
    /// It has an unknown link type.
    UnknownLink,
}

impl LidarPacket {
    /// Returns the [`packet_hash`](duplicates::packet_hash) of the packet in `item`, which
    /// identifies duplicates.
    pub(crate) fn hash(&self, item: &[u8]) -> u64 {
        duplicates::packet_hash(self.payload(item), self.identification)
    }

    /// Returns the payload of the packet in `item`.
    pub(crate) fn payload<'b>(&'b self, item: &'b [u8]) -> &'b [u8] {
        match &self.bytes {
            PacketBytes::InItem(range) => item.get(range.clone()).unwrap_or_default(),
            PacketBytes::Reassembled(bytes) => bytes,
        }
    }
}

/// Reads items in order.
#[derive(Clone, Debug)]
pub(crate) struct ItemReader {
    pub(crate) container: Container,
    pub(crate) section: Section,
    pub(crate) reassembler: Reassembler,
    /// The last packets, for detecting duplicates.
    pub(crate) duplicate_filter: DuplicateFilter,
    /// The clock of packets without a container, if they have one.
    pub(crate) hours: Option<HourCounter>,
    /// Whether a wrong UDP checksum means that a packet is damaged.
    pub(crate) verifies_checksums: bool,
}

impl ItemReader {
    /// Classifies the item at `offset` of the file, which consists of `bytes`.
    pub(crate) fn read(&mut self, offset: u64, bytes: &[u8]) -> ItemContent {
        match self.classify(offset, bytes) {
            ItemContent::Packet(packet) if self.container != Container::Bare => {
                let hash = packet.hash(bytes);
                self.reject_duplicate(packet, hash)
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
    pub(crate) fn classify(&mut self, offset: u64, bytes: &[u8]) -> ItemContent {
        match self.section.parse_item(self.container, bytes) {
            CaptureItem::Frame(frame) if self.container == Container::Bare => {
                self.classify_bare_packet(&frame, bytes)
            }
            CaptureItem::Frame(frame) => {
                let content = self.classify_frame(offset, &frame, bytes);
                check_hidden_packet(content, bytes)
            }
            CaptureItem::Declaration(declaration) => {
                ItemContent::Declaration(declaration)
            }
            CaptureItem::Other => check_hidden_packet(ItemContent::Other, bytes),
            CaptureItem::Broken => ItemContent::Broken,
        }
    }

    /// Returns `packet`, which has this [`hash`](LidarPacket::hash), or
    /// [`RejectReason::Duplicate`] if it is a duplicate.
    pub(crate) fn reject_duplicate(
        &mut self,
        packet: LidarPacket,
        hash: u64,
    ) -> ItemContent {
        if self.duplicate_filter.is_duplicate(&packet.sender, packet.time, hash) {
            ItemContent::Rejected(RejectReason::Duplicate)
        } else {
            ItemContent::Packet(packet)
        }
    }

    fn classify_bare_packet(&mut self, frame: &Frame, bytes: &[u8]) -> ItemContent {
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

    fn classify_frame(
        &mut self,
        offset: u64,
        frame: &Frame,
        item: &[u8],
    ) -> ItemContent {
        let bytes = item.get(frame.bytes.clone()).unwrap_or_default();
        let ip_start = match link::link_payload(frame.link, bytes) {
            LinkPayload::Ip(start) => start,
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
        match ip::parse_packet(bytes, ip_start) {
            IpPacket::Udp { source, destination, bytes: udp } => {
                let Some(datagram) = ip::parse_datagram(bytes, udp.clone()) else {
                    return truncated_datagram(frame, bytes, udp);
                };
                let has_wrong_checksum = self.has_wrong_checksum(
                    bytes.get(udp).unwrap_or_default(),
                    [source, destination],
                );
                let sender_and_payload = sender_and_payload(
                    bytes,
                    datagram,
                    device(source),
                    has_wrong_checksum,
                );
                match sender_and_payload {
                    Ok((sender, payload)) => {
                        let start = frame.bytes.start;
                        let payload_range = start + payload.start..start + payload.end;
                        ItemContent::Packet(LidarPacket {
                            sender,
                            time: frame.time,
                            identification: ip::identification(bytes, ip_start),
                            bytes: PacketBytes::InItem(payload_range),
                        })
                    }
                    Err(reason) => lost_or_rejected(reason),
                }
            }
            IpPacket::Fragment(fragment) => {
                let fragment_bytes =
                    bytes.get(fragment.bytes.clone()).unwrap_or_default();
                let frame_range = offset..offset.saturating_add(item.len() as u64);
                let interface_and_time = (frame.interface, frame.time);
                let Some(datagram) = self.reassembler.push(
                    frame_range,
                    interface_and_time,
                    &fragment,
                    fragment_bytes,
                ) else {
                    return ItemContent::Fragment;
                };
                let DatagramKey { source, destination, id } = fragment.key;
                let has_wrong_checksum =
                    self.has_wrong_checksum(&datagram.bytes, [source, destination]);
                let content = classify_reassembled(
                    &datagram.bytes,
                    frame,
                    (device(source), id),
                    has_wrong_checksum,
                );
                if matches!(content, ItemContent::Lost(_)) {
                    self.reassembler.record_lost_datagram(datagram.frames);
                }
                content
            }
            IpPacket::Other => ItemContent::Rejected(RejectReason::OtherProtocol),
            IpPacket::Short => incomplete_frame(frame),
        }
    }

    /// Returns whether the datagram `udp` between these addresses has a wrong checksum.
    fn has_wrong_checksum(&self, udp: &[u8], addresses: [IpAddr; 2]) -> bool {
        self.verifies_checksums
            && udp_checksum::is_correct(udp, addresses) == Some(false)
    }

    /// Returns whether at least half of the packets of lidars at the start of a capture,
    /// from `start` in `first_bytes`, have correct checksums. If addresses were changed in
    /// the capture, the checksums are wrong, and a wrong checksum does not mean damage.
    pub(crate) fn has_correct_checksums(
        mut self,
        first_bytes: &[u8],
        start: u64,
    ) -> bool {
        let (mut correct, mut wrong) = (0_u64, 0_u64);
        let (mut offset, end) = (start, first_bytes.len() as u64);
        self.verifies_checksums = true;
        while let Some(bytes) = first_bytes.get(offset as usize..) {
            let was_big_endian = self.section.is_big_endian;
            let is_big_endian = self.container.is_big_endian(bytes, was_big_endian);
            let classification =
                self.container.classify(offset, bytes, is_big_endian, end);
            let Classification::Item(len) = classification else { break };
            match self.read(offset, bytes.get(..len as usize).unwrap_or_default()) {
                ItemContent::Packet(_) => correct += 1,
                ItemContent::Lost(RejectReason::Checksum) => wrong += 1,
                _ => {}
            }
            offset += len;
        }
        wrong <= correct
    }
}

/// Returns `content` or, if the rejected item `bytes` contains a data packet at a position
/// that its headers do not lead to, [`RejectReason::Hidden`].
fn check_hidden_packet(content: ItemContent, bytes: &[u8]) -> ItemContent {
    match content {
        ItemContent::Rejected(RejectReason::OtherLidar(_)) => content,
        ItemContent::Rejected(_) | ItemContent::Other
            if payload::contains_data_packet(bytes) =>
        {
            ItemContent::Lost(RejectReason::Hidden)
        }
        content => content,
    }
}

/// Returns the reason why a frame ends too early: it was truncated by the snapshot length or
/// is malformed.
fn truncation_reason(frame: &Frame) -> RejectReason {
    if frame.is_truncated() { RejectReason::Short } else { RejectReason::Broken }
}

/// Classifies a frame that ends before it can be determined whether it is from a lidar.
fn incomplete_frame(frame: &Frame) -> ItemContent {
    if frame.len >= payload::MIN_FRAME_BYTES {
        ItemContent::Lost(truncation_reason(frame))
    } else {
        ItemContent::Rejected(RejectReason::OtherProtocol)
    }
}

/// Classifies the reassembled datagram `udp`, which `frame` completed.
fn classify_reassembled(
    udp: &[u8],
    frame: &Frame,
    (source, identification): (Device, u32),
    has_wrong_checksum: bool,
) -> ItemContent {
    let Some(datagram) = ip::parse_datagram(udp, 0..udp.len()) else {
        return truncated_datagram(frame, udp, 0..udp.len());
    };
    match sender_and_payload(udp, datagram, source, has_wrong_checksum) {
        Ok((sender, payload)) => {
            let payload = udp.get(payload).unwrap_or_default().to_vec();
            ItemContent::Packet(LidarPacket {
                sender,
                time: frame.time,
                identification,
                bytes: PacketBytes::Reassembled(payload),
            })
        }
        Err(reason) => lost_or_rejected(reason),
    }
}

/// Classifies a frame whose datagram is rejected for this reason.
fn lost_or_rejected(reason: RejectReason) -> ItemContent {
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
        Some((ports, len, payload))
            if payload::may_be_lidar_packet(ports, len, payload) =>
        {
            ItemContent::Lost(truncation_reason(frame))
        }
        Some(_) => ItemContent::Rejected(RejectReason::OtherDatagram),
        None => incomplete_frame(frame),
    }
}

/// Returns the sender and the payload of a datagram in `bytes`, or the reason why it is not
/// a packet of a lidar. A packet of a lidar that `has_wrong_checksum` is rejected.
fn sender_and_payload(
    bytes: &[u8],
    datagram: Datagram,
    device: Device,
    has_wrong_checksum: bool,
) -> Result<(Sender, Range<usize>), RejectReason> {
    let ports = [datagram.source_port, datagram.destination_port];
    let payload = bytes.get(datagram.payload.clone()).unwrap_or_default();
    let is_position = match payload::classify(ports, payload) {
        Payload::Data
        | Payload::Position
        | Payload::Corrupted
        | Payload::WrongFlags
            if has_wrong_checksum =>
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
