//! Parses the items of a container: frames, and the declarations of sections and
//! interfaces.

use std::ops::Range;

use logtool_core::Timestamp;
use pcap_parser::{Block, PcapNGOption, parse_block_be, parse_block_le};
use serde::{Deserialize, Serialize};

use crate::capture::container::{Container, Pcap};

/// The maximum number of interfaces of a section.
const MAX_INTERFACES: usize = 1 << 12;

/// The codes of the interface options for the clock.
const TIME_RESOLUTION: u16 = 9;
const TIME_OFFSET: u16 = 14;

/// The code of the option that ends a list of options.
const END_OF_OPTIONS: u16 = 0;

/// The type of the obsolete Packet Block.
const PACKET_BLOCK: u32 = 2;

/// The time of frames without a timestamp.
pub(crate) const NO_TIME: Timestamp = Timestamp::MAX;

/// A parsed item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CaptureItem {
    /// A frame.
    Frame(Frame),
    /// The start of a section, or an interface.
    Declaration(Declaration),
    /// An item without frames or declarations.
    Other,
    /// The item is malformed.
    Broken,
}

/// A captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The index of the interface in its section, or 0 if there are no interfaces.
    pub(crate) interface: u32,
    pub(crate) link: u16,
    pub(crate) time: Timestamp,
    /// The position of the captured bytes in the item.
    pub(crate) bytes: Range<usize>,
    /// The length of the frame on the link.
    pub(crate) len: usize,
}

/// A declaration that determines how later frames are parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Declaration {
    Section { is_big_endian: bool },
    Interface(Interface),
}

/// A capture interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Interface {
    link: u16,
    /// The resolution of timestamps in seconds: 10 to the power of minus this or, if the
    /// highest bit is set, 2 to the power of minus the lower bits.
    resolution: u8,
    /// The offset of timestamps in seconds.
    offset_secs: i64,
    snap_len: u32,
}

/// The current section of a pcapng. In other containers, it has no interfaces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    pub(crate) is_big_endian: bool,
    interfaces: Vec<Interface>,
}

impl Section {
    /// Applies a declaration. Returns false if there are too many interfaces.
    pub(crate) fn declare(&mut self, declaration: Declaration) -> bool {
        match declaration {
            Declaration::Section { is_big_endian } => {
                *self = Self { is_big_endian, interfaces: Vec::new() };
                true
            }
            Declaration::Interface(interface) => {
                let fits = self.interfaces.len() < MAX_INTERFACES;
                if fits {
                    self.interfaces.push(interface);
                }
                fits
            }
        }
    }

    /// Parses the item that consists of `bytes`.
    pub(crate) fn parse_item(&self, container: Container, bytes: &[u8]) -> CaptureItem {
        match container {
            Container::Pcap(pcap) => pcap_frame(pcap, bytes),
            Container::PcapNg => self.parse_block(bytes),
            Container::Bare => CaptureItem::Frame(Frame {
                interface: 0,
                link: 0,
                time: NO_TIME,
                bytes: 0..bytes.len(),
                len: bytes.len(),
            }),
        }
    }

    fn parse_block(&self, bytes: &[u8]) -> CaptureItem {
        let block = if self.is_big_endian {
            parse_block_be(bytes)
        } else {
            parse_block_le(bytes)
        };
        match block.map(|(_, block)| block) {
            Ok(Block::SectionHeader(section)) => {
                let is_big_endian = section.big_endian();
                CaptureItem::Declaration(Declaration::Section { is_big_endian })
            }
            Ok(Block::InterfaceDescription(interface)) => {
                let option = |code| option_value(&interface.options, code);
                let resolution = option(TIME_RESOLUTION).and_then(<[u8]>::first);
                let offset = option(TIME_OFFSET).and_then(<[u8]>::first_chunk);
                let offset = offset.copied().map(|bytes| {
                    if self.is_big_endian {
                        i64::from_be_bytes(bytes)
                    } else {
                        i64::from_le_bytes(bytes)
                    }
                });
                CaptureItem::Declaration(Declaration::Interface(Interface {
                    link: interface.linktype.0 as u16,
                    resolution: resolution.copied().unwrap_or(6),
                    offset_secs: offset.unwrap_or(0),
                    snap_len: interface.snaplen,
                }))
            }
            Ok(Block::EnhancedPacket(packet)) => {
                let captured = packet.caplen as usize;
                let Some(interface) = self.interfaces.get(packet.if_id as usize) else {
                    return CaptureItem::Broken;
                };
                let is_complete = captured <= packet.data.len();
                if !is_complete || !self.ends_with_options(bytes, 28 + captured) {
                    return CaptureItem::Broken;
                }
                let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                CaptureItem::Frame(Frame {
                    interface: packet.if_id,
                    link: interface.link,
                    time: interface.time(ticks),
                    bytes: 28..28 + captured,
                    len: (packet.origlen as usize).max(captured),
                })
            }
            Ok(Block::SimplePacket(packet)) => {
                let Some(interface) = self.interfaces.first() else {
                    return CaptureItem::Broken;
                };
                let len = packet.origlen as usize;
                let limit = match interface.snap_len {
                    0 => usize::MAX,
                    limit => limit as usize,
                };
                let captured = len.min(limit).min(packet.data.len());
                // Only padding follows on the packet.
                if len.next_multiple_of(4) < packet.data.len() {
                    return CaptureItem::Broken;
                }
                CaptureItem::Frame(Frame {
                    interface: 0,
                    link: interface.link,
                    time: NO_TIME,
                    bytes: 12..12 + captured,
                    len,
                })
            }
            Ok(_) if self.word_at(bytes, 0) == Some(PACKET_BLOCK) => {
                self.parse_packet_block(bytes).unwrap_or(CaptureItem::Broken)
            }
            Ok(_) => CaptureItem::Other,
            Err(_) => CaptureItem::Broken,
        }
    }

    /// Parses an obsolete Packet Block. Its layout is that of the Enhanced Packet Block,
    /// but the word of the interface index contains a 16-bit index and the number of
    /// dropped packets.
    fn parse_packet_block(&self, bytes: &[u8]) -> Option<CaptureItem> {
        let word_at = |offset| self.word_at(bytes, offset);
        let index_and_drops = word_at(8)?;
        let index = if self.is_big_endian {
            index_and_drops >> 16
        } else {
            index_and_drops & 0xffff
        };
        let interface = self.interfaces.get(index as usize)?;
        let ticks = u64::from(word_at(12)?) << 32 | u64::from(word_at(16)?);
        let (captured, len) = (word_at(20)? as usize, word_at(24)? as usize);
        // The length of the block is repeated at its end.
        let is_complete = captured <= bytes.len().checked_sub(32)?
            && self.ends_with_options(bytes, 28 + captured);
        is_complete.then_some(CaptureItem::Frame(Frame {
            interface: index,
            link: interface.link,
            time: interface.time(ticks),
            bytes: 28..28 + captured,
            len: len.max(captured),
        }))
    }

    /// Returns whether the block that consists of `bytes` has only options, or no bytes, after
    /// its packet, which ends at `end`. Otherwise, the length of the packet is wrong.
    fn ends_with_options(&self, bytes: &[u8], end: usize) -> bool {
        let options_end = bytes.len().saturating_sub(4);
        let mut offset = end.next_multiple_of(4);
        while offset < options_end {
            let Some(&[a, b, c, d]) = bytes.get(offset..).and_then(<[u8]>::first_chunk)
            else {
                return false;
            };
            let (code, len) = if self.is_big_endian {
                (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
            } else {
                (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))
            };
            offset += 4 + usize::from(len).next_multiple_of(4);
            if code == END_OF_OPTIONS {
                break;
            }
        }
        offset == options_end || end.next_multiple_of(4) >= options_end
    }

    fn word_at(&self, bytes: &[u8], offset: usize) -> Option<u32> {
        let word = *bytes.get(offset..)?.first_chunk()?;
        Some(if self.is_big_endian {
            u32::from_be_bytes(word)
        } else {
            u32::from_le_bytes(word)
        })
    }
}

impl Frame {
    /// Returns whether the frame was longer on the link than the captured bytes.
    pub(crate) fn is_truncated(&self) -> bool {
        self.len > self.bytes.len()
    }
}

impl Interface {
    /// Converts `ticks` of this interface's clock to a timestamp.
    fn time(&self, ticks: u64) -> Timestamp {
        let exponent = u32::from(self.resolution & 0x7f);
        let ticks_per_second: Option<u128> = match self.resolution & 0x80 {
            0 => 10_u128.checked_pow(exponent),
            _ => 1_u128.checked_shl(exponent),
        };
        let nanos = match ticks_per_second {
            Some(ticks_per_second) => {
                u128::from(ticks) * 1_000_000_000 / ticks_per_second.max(1)
            }
            // The resolution is so fine that 64 bits of ticks are less than a nanosecond.
            None => 0,
        };
        let offset = i128::from(self.offset_secs) * 1_000_000_000;
        let nanos = i128::try_from(nanos).unwrap_or(i128::MAX).saturating_add(offset);
        i64::try_from(nanos).map_or(NO_TIME, Timestamp::from_nanos)
    }
}

fn pcap_frame(pcap: Pcap, bytes: &[u8]) -> CaptureItem {
    let Some(header) = pcap.frame_header(bytes) else { return CaptureItem::Broken };
    let start = pcap.frame_header_len();
    CaptureItem::Frame(Frame {
        interface: 0,
        link: pcap.link,
        time: header.nanos.map_or(NO_TIME, Timestamp::from_nanos),
        bytes: start..bytes.len(),
        // The declared length may be damaged.
        len: (header.len as usize).max(bytes.len().saturating_sub(start)),
    })
}

fn option_value<'o>(options: &'o [PcapNGOption<'_>], code: u16) -> Option<&'o [u8]> {
    options.iter().find(|option| option.code.0 == code).map(|option| option.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(resolution: u8, offset_secs: i64, ticks: u64) -> i64 {
        Interface { link: 1, resolution, offset_secs, snap_len: 0 }
            .time(ticks)
            .as_nanos()
    }

    #[test]
    fn obsolete_packet_block_is_parsed() {
        let interface =
            Interface { link: 1, resolution: 6, offset_secs: 0, snap_len: 0 };
        for is_big_endian in [false, true] {
            let section = Section { is_big_endian, interfaces: vec![interface] };
            // Two packets were dropped at interface 0.
            let ids = if is_big_endian { 2 } else { 2 << 16 };
            let mut words = [2, 36, ids, 0, 1_500_000, 3, 1_248, u32::MAX, 36];
            if is_big_endian {
                words = words.map(u32::swap_bytes);
            }
            let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
            let frame = Frame {
                interface: 0,
                link: 1,
                time: Timestamp::from_nanos(1_500_000_000),
                bytes: 28..31,
                len: 1_248,
            };
            assert_eq!(
                section.parse_item(Container::PcapNg, &bytes),
                CaptureItem::Frame(frame)
            );
            let mut long_block = bytes.clone();
            (long_block[20], long_block[23]) = (9, 9);
            assert_eq!(
                section.parse_item(Container::PcapNg, &long_block),
                CaptureItem::Broken
            );
        }
    }

    #[test]
    fn all_timestamp_resolutions_are_converted() {
        assert_eq!(nanos(6, 0, 1_500_000), 1_500_000_000);
        assert_eq!(nanos(9, 0, 1_500_000), 1_500_000);
        assert_eq!(nanos(0x80 | 20, 0, 3 << 19), 1_500_000_000);
        assert_eq!(nanos(6, 1_400_000_000, 1), 1_400_000_000_000_001_000);
        assert_eq!(nanos(0, -1, 2), 1_000_000_000);
        assert_eq!(nanos(127, 0, u64::MAX), 0);
        assert_eq!(nanos(0, 0, u64::MAX), NO_TIME.as_nanos());
    }
}
