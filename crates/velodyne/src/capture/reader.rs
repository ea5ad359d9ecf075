//! Finds packets of lidars in the items of a container, for the index pass and for
//! cursors.

use std::{net::IpAddr, ops::Range};

use logtool_core::Timestamp;

use crate::{
    capture::{
        container::{Container, Look},
        defragment::Pieces,
        duplicates::{self, Latest},
        ip::{self, Datagram, Packet, PieceOf},
        item::{Declaration, Frame, Item, Section},
        link::{self, Carried},
        manufacturer::Manufacturer,
        payload::{self, Payload},
        sender::{Device, Sender},
        top_of_hour::Hours,
        verify,
    },
    packet::Firings,
};

/// The classification of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A packet of a lidar.
    Packet(LidarPacket),
    /// A fragment of an incomplete datagram.
    Piece,
    /// A frame without a packet of a lidar.
    Foreign(Foreign),
    /// A frame that contained, or may have contained, a packet of a lidar that is lost.
    Lost(Foreign),
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
    In(Range<usize>),
    /// The bytes of a reassembled datagram.
    Joined(Vec<u8>),
}

/// The reason why a frame has no packet of a lidar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Foreign {
    /// It is truncated by the snapshot length.
    Short,
    /// It is shorter than its headers declare.
    Broken,
    /// It contains a data packet that its headers do not lead to.
    Hidden,
    /// It contains a data packet in which some blocks have unknown flags.
    Marred,
    /// It is a duplicate of a previous packet.
    Twice,
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
            PacketBytes::In(place) => item.get(place.clone()).unwrap_or_default(),
            PacketBytes::Joined(bytes) => bytes,
        }
    }
}

/// Reads items in order.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub(crate) container: Container,
    pub(crate) section: Section,
    pub(crate) pieces: Pieces,
    /// The last packets, for detecting duplicates.
    pub(crate) latest: Latest,
    /// The clock of packets without a container.
    pub(crate) hours: Option<Hours>,
    /// Whether a wrong UDP checksum means that a packet is damaged.
    pub(crate) verifies_checksums: bool,
}

impl Reader {
    /// Classifies the item at `at` of the file, which consists of `bytes`.
    pub(crate) fn read(&mut self, at: u64, bytes: &[u8]) -> Found {
        match self.see(at, bytes) {
            Found::Packet(packet) if self.container != Container::Bare => {
                let sum = packet.sum(bytes);
                self.once(packet, sum)
            }
            Found::Declaration(declaration) => {
                self.section.declare(declaration);
                Found::Declaration(declaration)
            }
            found => found,
        }
    }

    /// Like [`read`](Self::read), but without detecting duplicates and without applying
    /// declarations.
    pub(crate) fn see(&mut self, at: u64, bytes: &[u8]) -> Found {
        match self.section.item(self.container, bytes) {
            Item::Frame(frame) if self.container == Container::Bare => {
                self.bare(&frame, bytes)
            }
            Item::Frame(frame) => lost_or(self.frame(at, &frame, bytes), bytes),
            Item::Declaration(declaration) => Found::Declaration(declaration),
            Item::Other => lost_or(Found::Other, bytes),
            Item::Broken => Found::Broken,
        }
    }

    /// Returns a packet with this [`sum`](duplicates::sum), or [`Foreign::Twice`] if it
    /// is a duplicate.
    pub(crate) fn once(&mut self, packet: LidarPacket, sum: u64) -> Found {
        match self.latest.has(&packet.sender, packet.time, sum) {
            true => Found::Foreign(Foreign::Twice),
            false => Found::Packet(packet),
        }
    }

    fn bare(&mut self, frame: &Frame, bytes: &[u8]) -> Found {
        let Some(firings) = Firings::new(bytes) else { return Found::Broken };
        let time = match &mut self.hours {
            Some(hours) => hours.time(firings.tail().micros),
            None => frame.time,
        };
        let sender = Sender { device: Device::UNKNOWN, port: 0, is_position: false };
        Found::Packet(LidarPacket {
            sender,
            time,
            identification: 0,
            bytes: PacketBytes::In(0..bytes.len()),
        })
    }

    fn frame(&mut self, at: u64, frame: &Frame, item: &[u8]) -> Found {
        let bytes = item.get(frame.bytes.clone()).unwrap_or_default();
        let ip = match link::carried(frame.link, bytes) {
            Carried::Ip(ip) => ip,
            Carried::Other => return Found::Foreign(Foreign::OtherProtocol),
            Carried::UnknownLink => return Found::Foreign(Foreign::UnknownLink),
            Carried::Short => return unseen(frame),
        };
        let device = |address| Device {
            interface: frame.interface,
            mac: link::source_mac(frame.link, bytes),
            address,
        };
        match ip::packet(bytes, ip) {
            Packet::Udp { source, destination, bytes: udp } => {
                let Some(datagram) = ip::datagram(bytes, udp.clone()) else {
                    return cut(frame, bytes, udp);
                };
                let is_wrong = self.has_wrong_checksum(
                    bytes.get(udp).unwrap_or_default(),
                    [source, destination],
                );
                match classify(bytes, datagram, device(source), is_wrong) {
                    Ok((sender, payload)) => {
                        let start = frame.bytes.start;
                        let place = start + payload.start..start + payload.end;
                        let identification = ip::identification(bytes, ip);
                        let (time, bytes) = (frame.time, PacketBytes::In(place));
                        Found::Packet(LidarPacket {
                            sender,
                            time,
                            identification,
                            bytes,
                        })
                    }
                    Err(why) => no_packet(why),
                }
            }
            Packet::Piece(piece) => {
                let part = bytes.get(piece.bytes.clone()).unwrap_or_default();
                let place = at..at.saturating_add(item.len() as u64);
                let origin = (frame.interface, frame.time);
                let Some(whole) = self.pieces.take(place, origin, &piece, part) else {
                    return Found::Piece;
                };
                let PieceOf { source, destination, id } = piece.of;
                let is_wrong =
                    self.has_wrong_checksum(&whole.bytes, [source, destination]);
                let found = joined(&whole.bytes, frame, (device(source), id), is_wrong);
                if matches!(found, Found::Lost(_)) {
                    self.pieces.lose_whole(whole.frames);
                }
                found
            }
            Packet::Other => Found::Foreign(Foreign::OtherProtocol),
            Packet::Short => unseen(frame),
        }
    }

    /// Returns whether the datagram `udp` between these addresses has a wrong checksum.
    fn has_wrong_checksum(&self, udp: &[u8], addresses: [IpAddr; 2]) -> bool {
        self.verifies_checksums && verify::is_right(udp, addresses) == Some(false)
    }

    /// Returns whether most checksums of packets of lidars at the start of a capture are
    /// right. If addresses were changed, they are wrong, and a wrong checksum does not
    /// mean damage.
    pub(crate) fn trusts_checksums(mut self, head: &[u8], start: u64) -> bool {
        let (mut right, mut wrong) = (0_u64, 0_u64);
        let (mut at, end) = (start, head.len() as u64);
        self.verifies_checksums = true;
        while let Some(bytes) = head.get(at as usize..) {
            let before = self.section.is_big_endian;
            let is_big_endian = self.container.is_big_endian(bytes, before);
            let look = self.container.look(at, bytes, is_big_endian, end);
            let Look::Item(len) = look else { break };
            match self.read(at, bytes.get(..len as usize).unwrap_or_default()) {
                Found::Packet(_) => right += 1,
                Found::Lost(Foreign::Checksum) => wrong += 1,
                _ => {}
            }
            at += len;
        }
        wrong <= right
    }
}

/// Replaces `found` by [`Foreign::Hidden`] if `bytes` contains a packet of a lidar that
/// its headers do not lead to.
fn lost_or(found: Found, bytes: &[u8]) -> Found {
    match found {
        Found::Foreign(Foreign::OtherLidar(_)) => found,
        Found::Foreign(_) | Found::Other if payload::holds_packet(bytes) => {
            Found::Lost(Foreign::Hidden)
        }
        found => found,
    }
}

/// Returns whether a frame that ends too early was truncated by the snapshot length or is
/// malformed.
fn short(frame: &Frame) -> Foreign {
    if frame.is_short() { Foreign::Short } else { Foreign::Broken }
}

/// Classifies a frame that ends before its contents are known.
fn unseen(frame: &Frame) -> Found {
    match frame.len >= payload::LEAST_FRAME {
        true => Found::Lost(short(frame)),
        false => Found::Foreign(Foreign::OtherProtocol),
    }
}

/// Classifies the reassembled datagram `udp`, which `frame` completed.
fn joined(
    udp: &[u8],
    frame: &Frame,
    (source, identification): (Device, u32),
    is_wrong: bool,
) -> Found {
    let Some(datagram) = ip::datagram(udp, 0..udp.len()) else {
        return cut(frame, udp, 0..udp.len());
    };
    match classify(udp, datagram, source, is_wrong) {
        Ok((sender, payload)) => {
            let joined = udp.get(payload).unwrap_or_default().to_vec();
            let (time, bytes) = (frame.time, PacketBytes::Joined(joined));
            Found::Packet(LidarPacket { sender, time, identification, bytes })
        }
        Err(why) => no_packet(why),
    }
}

/// Converts the reason why a datagram has no packet.
fn no_packet(why: Foreign) -> Found {
    match why {
        Foreign::Marred | Foreign::Zeros | Foreign::Checksum => Found::Lost(why),
        _ => Found::Foreign(why),
    }
}

/// Classifies a frame that ends inside the UDP packet at `udp` of its `bytes`.
fn cut(frame: &Frame, bytes: &[u8], udp: Range<usize>) -> Found {
    match ip::promised(bytes, udp) {
        Some((ports, len, seen)) if payload::may_be(ports, len, seen) => {
            Found::Lost(short(frame))
        }
        Some(_) => Found::Foreign(Foreign::OtherDatagram),
        None => unseen(frame),
    }
}

/// Returns the sender and the payload of a datagram in `bytes`, or why it is not a
/// packet. If its checksum `is_wrong`, a packet of a lidar is lost.
fn classify(
    bytes: &[u8],
    datagram: Datagram,
    device: Device,
    is_wrong: bool,
) -> Result<(Sender, Range<usize>), Foreign> {
    let ports = [datagram.source_port, datagram.destination_port];
    let payload = bytes.get(datagram.payload.clone()).unwrap_or_default();
    let kind = payload::of(ports, payload);
    let is_position = match kind {
        Payload::Data | Payload::Position | Payload::Marred | Payload::WrongFlags
            if is_wrong =>
        {
            return Err(Foreign::Checksum);
        }
        Payload::Data => false,
        Payload::Position => true,
        Payload::Marred => return Err(Foreign::Marred),
        Payload::Zeros => return Err(Foreign::Zeros),
        Payload::WrongFlags => return Err(Foreign::WrongFlags),
        Payload::OtherLidar(whose) => return Err(Foreign::OtherLidar(whose)),
        Payload::Other => return Err(Foreign::OtherDatagram),
    };
    let sender = Sender { device, port: datagram.destination_port, is_position };
    Ok((sender, datagram.payload))
}
