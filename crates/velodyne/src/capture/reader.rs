//! Finds packets of lidars in the items of a container, for the index pass and for
//! cursors.

mod frames;
mod incomplete;

use std::{iter, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{Damage, DamageKind, Source, Timestamp, WindowReader};

use crate::{
    capture::{
        container::{Classification, Container},
        corrections::Corrections,
        hour_counter::HourCounter,
        item::{CaptureItem, Declaration, Frame, Section},
        network::layer::Layer,
        packets::{
            defragment::Reassembler,
            duplicates::{self, DuplicateFilter},
            locate,
            manufacturer::Manufacturer,
            payload,
            sender::{Device, Sender},
        },
        reader::frames::FrameInFile,
        resync::Resync,
    },
    packet::Firings,
};

/// The classification of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ItemContent {
    /// A packet of a lidar, or several.
    Packet(LidarPacket),
    /// A fragment of an incomplete datagram.
    Fragment,
    /// A frame without a packet of a lidar.
    Rejected(RejectReason),
    /// A frame that contained, or may have contained, a packet of a lidar that is lost.
    Lost(RejectReason),
    /// A frame with, or possibly with, a packet of a lidar from this device, that is lost
    /// because its IP header has a wrong checksum.
    WrongHeader(Device),
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
    pub(crate) doubt: Option<Doubt>,
    /// The unknown layer in which the packet was found, if its headers do not lead to it.
    pub(crate) unknown_layer: Option<Layer>,
    /// Whether there is a header of UDP before it, but no readable one of IP.
    pub(crate) has_unreadable_ip: bool,
    /// The packets after it in the same frame.
    pub(crate) others: Vec<Self>,
}

/// The reason why a packet is doubtful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Its end was not captured, and is [completed](crate::packet::complete).
    Incomplete,
    /// Its headers are damaged, so that it was counted to a lidar whose packets are similar.
    Sender,
}

/// The bytes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PacketBytes {
    /// The bytes at this range of the item.
    InItem(Range<usize>),
    /// The bytes of a reassembled datagram, or those of a packet that was completed.
    Owned(Vec<u8>),
}

/// The reason why a frame has no packet of a lidar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RejectReason {
    /// It is truncated by the snapshot length.
    Short,
    /// It is shorter than its headers declare.
    Broken,
    /// It contains a packet, or several, at a position that its headers do not lead to, in a
    /// stream or a damaged block.
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
    /// The checksum of its IP header is wrong.
    HeaderChecksum,
    /// It is from a lidar of another manufacturer.
    OtherLidar(Manufacturer),
    /// It contains a datagram that is not from a lidar.
    OtherDatagram,
    /// It does not contain a datagram, but another protocol.
    OtherProtocol,
    /// It has this unknown link type.
    UnknownLink(u16),
    /// It contains a packet of a sender beyond the maximum number of senders.
    OtherSender,
}

impl LidarPacket {
    /// Returns the packets of the frame: this one and the others.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Self> {
        iter::once(self).chain(&self.others)
    }

    /// Changes all packets of the frame.
    pub(crate) fn change_all(&mut self, mut change: impl FnMut(&mut Self)) {
        change(self);
        self.others.iter_mut().for_each(change);
    }

    /// Returns the [`packet_hash`](duplicates::packet_hash) of the packets of the frame in
    /// `item`, which identifies duplicates.
    pub(crate) fn hash(&self, item: &[u8]) -> u64 {
        self.all().fold(0, |hash: u64, packet| {
            let payload = packet.payload(item);
            hash.rotate_left(1)
                ^ duplicates::packet_hash(payload, packet.identification)
        })
    }

    /// Returns the payload of the packet in `item`.
    pub(crate) fn payload<'b>(&'b self, item: &'b [u8]) -> &'b [u8] {
        match &self.bytes {
            PacketBytes::InItem(range) => item.get(range.clone()).unwrap_or_default(),
            PacketBytes::Owned(bytes) => bytes,
        }
    }
}

impl Doubt {
    /// Returns the damage of a doubtful packet in the item at `range` of the file.
    pub(crate) fn damage(self, range: Range<u64>) -> Damage {
        let reason = match self {
            Self::Incomplete => "the end of the packet was not captured",
            Self::Sender => "the headers of the packet are damaged",
        };
        let damage = Damage::new(DamageKind::Doubtful, range);
        damage.with_records(1, None).with_reason(reason)
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
    pub(crate) corrections: Arc<Corrections>,
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
                let start = frame.bytes.start;
                let captured = bytes.get(frame.bytes.clone()).unwrap_or_default();
                let range = offset..offset.saturating_add(bytes.len() as u64);
                let in_file = FrameInFile { frame: &frame, range };
                let mut content = self.classify_frame(&in_file, captured);
                // The lengths of the frame may be damaged in a longer block.
                let rest = bytes.get(frame.bytes.end..).unwrap_or_default();
                if matches!(content, ItemContent::Rejected(_))
                    && rest.len() >= payload::MIN_DATAGRAM_BYTES
                    && !locate::packets(bytes).is_empty()
                {
                    content = ItemContent::Lost(RejectReason::Hidden);
                }
                if let ItemContent::Packet(packet) = &mut content {
                    packet.change_all(|packet| {
                        let sender = self.corrections.sender(packet.sender);
                        if sender != packet.sender {
                            packet.sender = sender;
                            packet.doubt = packet.doubt.or(Some(Doubt::Sender));
                        }
                        if let PacketBytes::InItem(range) = &mut packet.bytes {
                            *range = start + range.start..start + range.end;
                        }
                    });
                }
                content
            }
            CaptureItem::Declaration(declaration) => {
                ItemContent::Declaration(declaration)
            }
            // A damaged block may contain a packet.
            CaptureItem::Other if !locate::packets(bytes).is_empty() => {
                ItemContent::Lost(RejectReason::Hidden)
            }
            CaptureItem::Other => ItemContent::Other,
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
            doubt: None,
            unknown_layer: None,
            has_unreadable_ip: false,
            others: Vec::new(),
        })
    }

    /// Returns whether at least half of the packets of lidars at the start of a capture,
    /// from `start` in `first_bytes`, have correct checksums. If addresses were changed in
    /// the capture, the checksums are wrong, and a wrong checksum does not mean damage.
    pub(crate) fn has_correct_checksums(
        mut self,
        first_bytes: &Bytes,
        start: u64,
    ) -> bool {
        let source: Arc<dyn Source> = Arc::new(first_bytes.clone());
        let mut window = WindowReader::new(&source);
        let (mut correct, mut wrong) = (0_u64, 0_u64);
        let (mut offset, end) = (start, first_bytes.len() as u64);
        self.verifies_checksums = true;
        // A change of addresses makes the checksums of both headers wrong.
        self.corrections = Arc::new(Corrections::without_header_checksums());
        while let Some(bytes) = first_bytes.get(offset as usize..) {
            let was_big_endian = self.section.is_big_endian;
            let is_big_endian = self.container.is_big_endian(bytes, was_big_endian);
            let classification =
                self.container.classify(offset, bytes, is_big_endian, end);
            let Classification::Item(len) = classification else {
                // The first items may be damaged.
                let resync =
                    Resync { container: self.container, is_big_endian, file_len: end };
                match resync.next_item(offset, &mut window) {
                    Ok(Some(next)) => offset = next,
                    _ => break,
                }
                continue;
            };
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
