//! Classifies frames that have no readable packet: they end early, or their headers are
//! malformed.

use std::ops::Range;

use crate::{
    capture::{
        item::Frame,
        network::{
            ip::{self, UDP_HEADER},
            layer::{Layer, LayerStart},
            link_names, tunnels,
        },
        packets::{
            payload::{self, Payload},
            sender::{Device, Sender},
        },
        reader::{
            Doubt, ItemContent, LidarPacket, PacketBytes, RejectReason,
            frames::{InDatagram, IpHeader},
        },
    },
    packet::{self, DATA_BYTES},
};

/// Classifies a frame whose layer is unknown and in which no packet is found.
pub(super) fn unknown_layer(
    layer: &LayerStart,
    bytes: &[u8],
    frame: &Frame,
) -> ItemContent {
    let has_zeros = || {
        let contents = bytes.get(layer.start..).and_then(<[u8]>::first_chunk);
        contents == Some(&[0; 8])
    };
    // Where a sector of a disk was lost, the numbers of these layers are 0, or end with 0.
    let may_be_zeroed = match layer.layer {
        Layer::Llc | Layer::PppProtocol(0) | Layer::IpProtocol(0) => true,
        Layer::EtherType(number) => number & 0xff == 0,
        _ => false,
    };
    match layer.layer {
        Layer::Link(link) if !link_names::has_no_ip(link) => {
            ItemContent::Lost(RejectReason::UnknownLink(link))
        }
        _ if may_be_zeroed && has_zeros() && may_have_packet(frame, bytes) => {
            ItemContent::Lost(RejectReason::Zeros)
        }
        _ => ItemContent::Rejected(RejectReason::OtherProtocol),
    }
}

/// Returns the reason why a frame ends too early: it was truncated by the snapshot length or
/// is malformed.
fn truncation_reason(frame: &Frame) -> RejectReason {
    if frame.is_truncated() { RejectReason::Short } else { RejectReason::Broken }
}

/// Returns whether a frame is long enough for a packet of a lidar. `bytes` are those of the
/// frame or of a reassembled packet. The length that the frame declares may be damaged.
pub(super) fn may_have_packet(frame: &Frame, bytes: &[u8]) -> bool {
    frame.len.max(bytes.len()) >= payload::MIN_DATAGRAM_BYTES
}

/// Classifies a frame that ends before it can be determined whether it is from a lidar.
pub(super) fn incomplete_frame(frame: &Frame, bytes: &[u8]) -> ItemContent {
    incomplete_or(truncation_reason(frame), frame, bytes)
}

/// Classifies a frame whose headers are malformed for this `reason`. It is lost if it was
/// long enough for a packet of a lidar.
pub(super) fn incomplete_or(
    reason: RejectReason,
    frame: &Frame,
    bytes: &[u8],
) -> ItemContent {
    if may_have_packet(frame, bytes) {
        ItemContent::Lost(reason)
    } else {
        ItemContent::Rejected(RejectReason::OtherProtocol)
    }
}

/// Returns the packet of `sender` whose first bytes are `blocks`, because its end was not
/// captured, or `None` if no block is complete.
pub(super) fn completed(
    frame: &Frame,
    sender: Sender,
    identification: u32,
    blocks: &[u8],
) -> Option<LidarPacket> {
    let bytes = packet::complete(blocks, frame.time)?.to_vec();
    Some(LidarPacket {
        sender,
        time: frame.time,
        identification,
        bytes: PacketBytes::Owned(bytes),
        doubt: Some(Doubt::Incomplete),
        unknown_layer: None,
        has_unreadable_ip: false,
        others: Vec::new(),
    })
}

/// Classifies the UDP packet at `udp` of `bytes`, which is invalid: its end was not
/// captured, or its length is impossible.
pub(super) fn incomplete_datagram(
    frame: &Frame,
    bytes: &[u8],
    udp: Range<usize>,
    header: IpHeader,
) -> InDatagram {
    let IpHeader { source, identification, mac, .. } = header;
    let declared = ip::declared_udp(bytes, udp.clone());
    let start = udp.start + UDP_HEADER;
    match declared.filter(|_| frame.is_truncated()) {
        Some((ports, DATA_BYTES, blocks))
            if payload::may_be_lidar_packet(ports, DATA_BYTES, blocks) =>
        {
            let [_, port] = ports;
            let device = Device { interface: frame.interface, mac, address: source };
            let sender = Sender { device, port, is_position: false };
            let completed = completed(frame, sender, identification, blocks);
            let otherwise = ItemContent::Lost(RejectReason::Short);
            InDatagram::Content(completed.map_or(otherwise, ItemContent::Packet))
        }
        Some(([_, port], ..)) if tunnels::is_port(port) => {
            let layer = Layer::UdpPort(port);
            InDatagram::Layer(LayerStart { layer, start, mac })
        }
        _ => InDatagram::Content(impossible_length(frame, bytes, udp)),
    }
}

/// Classifies a frame with the UDP packet at `udp` of `bytes`, whose length is impossible:
/// it is less than that of its header, or greater than that of its bytes.
fn impossible_length(frame: &Frame, bytes: &[u8], udp: Range<usize>) -> ItemContent {
    let contents = udp.len().saturating_sub(UDP_HEADER);
    match ip::declared_udp(bytes, udp) {
        Some((ports, len, payload))
            if payload::may_be_lidar_packet(ports, len, payload) =>
        {
            ItemContent::Lost(truncation_reason(frame))
        }
        // The frame was cut by the snapshot length before the end of another datagram.
        Some((_, len, _)) if frame.is_truncated() && len > contents => {
            ItemContent::Rejected(RejectReason::OtherDatagram)
        }
        Some(_) => incomplete_or(RejectReason::Broken, frame, bytes),
        None => incomplete_frame(frame, bytes),
    }
}

/// Returns whether the UDP packet at `udp` of `bytes` has the length of a packet of a lidar
/// and resembles it or a damaged one, but declares another `payload_len`.
pub(super) fn is_packet_with_wrong_length(
    bytes: &[u8],
    udp: &Range<usize>,
    payload_len: usize,
) -> bool {
    let Some((ports, _, contents)) = ip::declared_udp(bytes, udp.clone()) else {
        return false;
    };
    contents.len() != payload_len
        && matches!(
            payload::classify(ports, contents),
            Payload::Data | Payload::Position | Payload::Corrupted | Payload::Zeros
        )
}
