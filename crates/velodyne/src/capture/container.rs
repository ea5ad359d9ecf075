//! The containers of packets: pcap, pcapng, and bare packets without a container.
//!
//! ```text
//! pcap      header 24 bytes, then: seconds u32 | fraction u32 | captured u32 |
//!           length u32 | captured bytes
//! pcapng    blocks: type u32 | length u32 | ... | length u32
//! bare      packets of 1206 bytes
//! ```
//! (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.) This module only determines where
//! items start and end, also after damage. The crate `pcap-parser` parses the items of a
//! pcapng.

mod pcap;

use serde::{Deserialize, Serialize};

use crate::{
    capture::packets::payload,
    packet::{DATA_BYTES, Firings},
};

pub(crate) use self::pcap::Pcap;
use self::pcap::Resolution;

/// The maximum length of a pcapng block, as recommended by the specification. Greater
/// lengths are damage.
const MAX_BLOCK: u32 = 16 << 20;

/// The number of bytes that are needed to classify an item of a pcap or pcapng.
const CLASSIFIED_BYTES: usize = 32;

/// The maximum number of packets that are examined to recognize bare packets. They must fit
/// into the bytes that are available before a file is opened.
const PROBED_PACKETS: usize = 3;

/// The types of blocks that are accepted when searching for the next block.
const BLOCK_TYPES: [u32; 9] = [1, 2, 3, 4, 5, 6, 10, 0xbad, SECTION_HEADER];

/// The type of a section header, which is the same in both byte orders.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;

/// The byte-order magic of a section header in both byte orders.
const BIG_ENDIAN_MAGIC: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];
const LITTLE_ENDIAN_MAGIC: [u8; 4] = [0x4d, 0x3c, 0x2b, 0x1a];

/// The container of the packets in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Container {
    Pcap(Pcap),
    PcapNg,
    Bare,
}

/// The classification of the bytes at an offset of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Classification {
    /// An item of this length.
    Item(u64),
    /// An item that extends beyond the end of the file.
    Truncated,
    /// Bytes that cannot be an item.
    Invalid,
}

impl Container {
    /// Detects the container from the first bytes, and returns it with the length of its
    /// header.
    pub(crate) fn detect(first_bytes: &[u8]) -> Option<(Self, u64)> {
        if let Some((pcap, header_len)) = Pcap::detect(first_bytes) {
            return Some((Self::Pcap(pcap), header_len));
        }
        let magic = first_bytes.get(8..12);
        let is_section = word_at(first_bytes, 0, false) == Some(SECTION_HEADER)
            && (magic == Some(&BIG_ENDIAN_MAGIC)
                || magic == Some(&LITTLE_ENDIAN_MAGIC));
        if is_section {
            return Some((Self::PcapNg, 0));
        }
        let (packets, _) = first_bytes.as_chunks::<DATA_BYTES>();
        let packets = packets.get(..PROBED_PACKETS).unwrap_or(packets);
        let data_packets = packets
            .iter()
            .filter(|packet| starts_with_data_packet(&packet[..]))
            .count();
        let is_bare = data_packets > 0 && data_packets * 2 >= packets.len();
        is_bare.then_some((Self::Bare, 0))
    }

    /// Returns the container of a pcap with a damaged header, and the length of the header.
    /// Byte order, unit of times and the form of the headers of frames are detected from the
    /// first frames. Ethernet frames are assumed, as in nearly all captures.
    pub(crate) fn with_damaged_header(first_bytes: &[u8]) -> (Self, u64) {
        let (pcap, header_len) = Pcap::with_damaged_header(first_bytes);
        (Self::Pcap(pcap), header_len)
    }

    /// Returns whether times are in nanoseconds although the header declares microseconds.
    pub(crate) fn has_undeclared_nanos(self) -> bool {
        matches!(self, Self::Pcap(pcap) if pcap.resolution == Resolution::UndeclaredNanos)
    }

    /// Returns the name for metadata.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pcap(_) => "pcap",
            Self::PcapNg => "pcapng",
            Self::Bare => "packets without a container",
        }
    }

    /// Returns whether numbers are big-endian from the item with these `bytes` on. A
    /// section header declares its own byte order. `was_big_endian` is the byte order of
    /// the previous item.
    pub(crate) fn is_big_endian(self, bytes: &[u8], was_big_endian: bool) -> bool {
        match (self, word_at(bytes, 0, false), bytes.get(8..12)) {
            (Self::PcapNg, Some(SECTION_HEADER), Some(magic)) => {
                magic == BIG_ENDIAN_MAGIC
            }
            _ => was_big_endian,
        }
    }

    /// Classifies the `bytes` at `offset` of the file. `is_big_endian` is the byte order of
    /// the section.
    pub(crate) fn classify(
        self,
        offset: u64,
        bytes: &[u8],
        is_big_endian: bool,
        file_len: u64,
    ) -> Classification {
        let len = match self {
            Self::Pcap(pcap) => pcap.item_len(bytes),
            Self::PcapNg => block_len(bytes, self.is_big_endian(bytes, is_big_endian)),
            Self::Bare => starts_with_data_packet(bytes).then_some(DATA_BYTES as u64),
        };
        match len {
            Some(len) if offset.saturating_add(len) > file_len => {
                Classification::Truncated
            }
            Some(len) => Classification::Item(len),
            None if offset.saturating_add(self.min_item_len()) > file_len => {
                Classification::Truncated
            }
            None => Classification::Invalid,
        }
    }

    /// Returns whether `bytes` is accepted as the start of an item after damage.
    pub(crate) fn may_start_item(self, bytes: &[u8], is_big_endian: bool) -> bool {
        match self {
            Self::Pcap(pcap) => pcap.may_start_item(bytes),
            Self::PcapNg => {
                let kind = word_at(bytes, 0, is_big_endian);
                let is_big_endian = self.is_big_endian(bytes, is_big_endian);
                kind.is_some_and(|kind| BLOCK_TYPES.contains(&kind))
                    && block_len(bytes, is_big_endian).is_some()
            }
            Self::Bare => starts_with_data_packet(bytes),
        }
    }

    /// Returns whether the times of the items that `bytes` and `next` start are similar.
    pub(crate) fn is_near(self, bytes: &[u8], next: &[u8]) -> bool {
        match self {
            Self::Pcap(pcap) => pcap.is_near(bytes, next),
            Self::PcapNg | Self::Bare => true,
        }
    }

    /// Returns the number of bytes that are needed to classify an item.
    pub(crate) fn classified_bytes(self) -> usize {
        match self {
            Self::Pcap(_) | Self::PcapNg => CLASSIFIED_BYTES,
            Self::Bare => DATA_BYTES,
        }
    }

    /// Returns the minimum length of an item: that of its header, or that of a packet
    /// without a container.
    pub(crate) fn min_item_len(self) -> u64 {
        match self {
            Self::Pcap(pcap) => pcap.frame_header_len() as u64,
            Self::PcapNg => 12,
            Self::Bare => DATA_BYTES as u64,
        }
    }
}

/// Returns whether `bytes` starts with a data packet.
fn starts_with_data_packet(bytes: &[u8]) -> bool {
    let packet = bytes.get(..DATA_BYTES).and_then(Firings::new);
    packet.is_some_and(payload::is_data)
}

/// Returns the length of the block that starts with `bytes`, if the length is plausible.
fn block_len(bytes: &[u8], is_big_endian: bool) -> Option<u64> {
    let len = word_at(bytes, 4, is_big_endian)?;
    let is_plausible = (12..=MAX_BLOCK).contains(&len) && len.is_multiple_of(4);
    is_plausible.then_some(len.into())
}

/// Returns the 32-bit number at `offset` of `bytes`.
pub(crate) fn word_at(bytes: &[u8], offset: usize, is_big_endian: bool) -> Option<u32> {
    let word = *bytes.get(offset..)?.first_chunk()?;
    Some(if is_big_endian {
        u32::from_be_bytes(word)
    } else {
        u32::from_le_bytes(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_header_declares_its_byte_order() {
        let mut block = [0; 28];
        block[..4].copy_from_slice(&[0x0a, 0x0d, 0x0d, 0x0a]);
        block[4..12].copy_from_slice(&[0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d]);
        assert_eq!(Container::detect(&block), Some((Container::PcapNg, 0)));
        let classification = Container::PcapNg.classify(0, &block, false, 99);
        assert_eq!(classification, Classification::Item(28));
    }

    #[test]
    fn bare_packets_are_recognized_even_if_the_first_one_is_damaged() {
        let mut packets = [0; 3 * DATA_BYTES];
        for packet in packets.chunks_exact_mut(DATA_BYTES) {
            let blocks = packet.chunks_exact_mut(100);
            blocks.for_each(|block| block[..2].copy_from_slice(&[0xff, 0xee]));
        }
        let bare = Some((Container::Bare, 0));
        assert_eq!(Container::detect(&packets), bare);
        packets[0] = 0;
        assert_eq!(Container::detect(&packets), bare);
        assert_eq!(
            Container::Bare.classify(0, &packets, false, 3_618),
            Classification::Invalid
        );
        let second = &packets[DATA_BYTES..];
        assert_eq!(
            Container::Bare.classify(0, second, false, 9_999),
            Classification::Item(1_206)
        );
        assert_eq!(
            Container::Bare.classify(0, &[255; 9], false, 9),
            Classification::Truncated
        );
        packets[DATA_BYTES] = 0;
        assert_eq!(Container::detect(&packets), None);
        assert_eq!(Container::detect(&packets[..DATA_BYTES]), None);
    }
}
