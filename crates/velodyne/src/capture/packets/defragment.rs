//! Reassembles fragmented datagrams.
//!
//! Both the number of incomplete datagrams and their distance within the file are bounded.
//! A few frame positions are therefore sufficient to start reading in the middle of a file.

use std::{collections::VecDeque, ops::Range};

use logtool_core::Timestamp;

use crate::{
    capture::{
        network::ip::{self, DatagramKey, Fragment, UDP, UDP_HEADER},
        packets::{duplicates, locate, payload},
    },
    packet::DATA_BYTES,
};

/// The maximum number of incomplete datagrams.
const MAX_INCOMPLETE: usize = 64;

/// The maximum number of fragments of a datagram.
const MAX_FRAGMENTS: usize = 256;

/// The maximum number of completed datagrams that are stored. Duplicates of their fragments
/// may follow.
const MAX_COMPLETE: usize = 4;

/// The distance from its first fragment, in bytes of the file, after which an incomplete
/// datagram is dropped.
const MAX_DISTANCE: u64 = 1 << 20;

/// The maximum length of a UDP datagram.
const MAX_LEN: u32 = 65_535;

/// Reassembles fragmented datagrams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembler {
    incomplete: Vec<IncompleteDatagram>,
    /// The last completed datagrams.
    complete: VecDeque<IncompleteDatagram>,
    /// The number of dropped datagrams.
    pub(crate) dropped: u64,
    /// The number of those that are not from lidars.
    pub(crate) dropped_others: u64,
    /// The frames of dropped datagrams that may have been packets of lidars. The caller
    /// drains this list.
    pub(crate) lost: Vec<LostFrame>,
}

/// A frame with a fragment of an incomplete datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostFrame {
    /// The range of the frame in the file.
    pub(crate) bytes: Range<u64>,
    /// Whether it is the first frame of its datagram.
    pub(crate) is_first: bool,
}

/// A reassembled datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReassembledDatagram {
    pub(crate) bytes: Vec<u8>,
    /// The ranges of the frames in the file, in the order of arrival.
    pub(crate) frames: Vec<Range<u64>>,
}

/// A datagram of which some fragments have arrived.
#[derive(Clone, Debug)]
struct IncompleteDatagram {
    /// The index of the interface that captured the fragments.
    interface: u32,
    key: DatagramKey,
    /// The time of the last fragment.
    time: Timestamp,
    /// The ranges of the frames in the file, in the order of arrival.
    frames: Vec<Range<u64>>,
    /// The fragments with their offsets.
    fragments: Vec<(u32, Vec<u8>)>,
    /// The length, known once the last fragment has arrived.
    len: Option<u32>,
}

impl Reassembler {
    /// Adds a fragment with these `bytes` from the `frame` of the file. It was captured
    /// at this interface and time. Returns the datagram if this fragment completes it.
    pub(crate) fn push(
        &mut self,
        frame: Range<u64>,
        (interface, time): (u32, Timestamp),
        fragment: &Fragment,
        bytes: &[u8],
    ) -> Option<ReassembledDatagram> {
        self.drop_before(frame.start.saturating_sub(MAX_DISTANCE));
        let end = fragment.offset.saturating_add(u32::try_from(bytes.len()).ok()?);
        if end > MAX_LEN || bytes.is_empty() {
            return None;
        }
        let is_duplicate = |datagram: &IncompleteDatagram| {
            datagram.interface == interface
                && datagram.has_duplicate(fragment, time, bytes)
        };
        if self.complete.iter().any(is_duplicate) {
            return None;
        }
        let is_same_datagram = |datagram: &IncompleteDatagram| {
            datagram.interface == interface && datagram.key == fragment.key
        };
        let mut index_of_datagram = self.incomplete.iter().position(is_same_datagram);
        // Identifications are reused over time: a contradicting fragment is from another
        // datagram.
        if let Some(index) = index_of_datagram
            && self.incomplete[index].contradicts(fragment, bytes)
        {
            self.drop_datagram(index);
            index_of_datagram = None;
        }
        let index = match index_of_datagram {
            Some(index) => index,
            None => {
                if self.incomplete.len() == MAX_INCOMPLETE {
                    self.drop_datagram(0);
                }
                self.incomplete.push(IncompleteDatagram {
                    interface,
                    key: fragment.key,
                    time,
                    frames: Vec::new(),
                    fragments: Vec::new(),
                    len: None,
                });
                self.incomplete.len() - 1
            }
        };
        let datagram = self.incomplete.get_mut(index)?;
        datagram.time = time;
        datagram.frames.push(frame);
        datagram.fragments.push((fragment.offset, bytes.to_vec()));
        if !fragment.has_next {
            datagram.len = Some(end);
        }
        match datagram.reassemble() {
            Some(bytes) => {
                let datagram = self.incomplete.remove(index);
                let frames = datagram.frames.clone();
                if self.complete.len() == MAX_COMPLETE {
                    self.complete.pop_front();
                }
                self.complete.push_back(datagram);
                Some(ReassembledDatagram { bytes, frames })
            }
            None if datagram.fragments.len() >= MAX_FRAGMENTS => {
                self.drop_datagram(index);
                None
            }
            None => None,
        }
    }

    /// Records the frames of a complete datagram, except the last one, as lost.
    pub(crate) fn record_lost_datagram(&mut self, mut frames: Vec<Range<u64>>) {
        frames.pop();
        let frames = frames.into_iter();
        self.lost.extend(frames.map(|bytes| LostFrame { bytes, is_first: false }));
    }

    /// Returns the offsets of the frames whose fragments are stored. If reading starts in
    /// the middle of the file, these frames must be read first.
    pub(crate) fn frame_offsets(&self) -> Vec<u64> {
        let datagrams = self.incomplete.iter().chain(&self.complete);
        let frames = datagrams.flat_map(|datagram| &datagram.frames);
        let mut offsets: Vec<u64> = frames.map(|frame| frame.start).collect();
        offsets.sort_unstable();
        offsets
    }

    /// Returns whether no fragments are stored.
    pub(crate) fn is_empty(&self) -> bool {
        self.incomplete.is_empty() && self.complete.is_empty()
    }

    /// Drops all incomplete datagrams at the end of the file.
    pub(crate) fn drop_incomplete(&mut self) {
        self.drop_before(u64::MAX);
    }

    /// Drops the incomplete datagrams whose first frame starts before `offset`.
    fn drop_before(&mut self, offset: u64) {
        let is_old = |datagram: &IncompleteDatagram| {
            datagram.frames.first().is_none_or(|first| first.start < offset)
        };
        while let Some(index) = self.incomplete.iter().position(is_old) {
            self.drop_datagram(index);
        }
    }

    /// Drops the incomplete datagram at `index`, and records its frames as lost if it may
    /// be from a lidar.
    fn drop_datagram(&mut self, index: usize) {
        let datagram = self.incomplete.remove(index);
        self.dropped += 1;
        if datagram.may_be_from_lidar() {
            let frames = datagram.frames.into_iter().enumerate();
            let lost =
                frames.map(|(index, bytes)| LostFrame { bytes, is_first: index == 0 });
            self.lost.extend(lost);
        } else {
            self.dropped_others += 1;
        }
    }
}

impl IncompleteDatagram {
    /// Returns whether different bytes were received at the offset of `fragment`.
    fn contradicts(&self, fragment: &Fragment, bytes: &[u8]) -> bool {
        let mut received = self.fragments.iter();
        let at_same_offset = received.find(|(offset, _)| *offset == fragment.offset);
        at_same_offset.is_some_and(|(_, received)| received != bytes)
    }

    /// Returns whether `fragment` is a duplicate of a fragment of this datagram. Mirror
    /// ports send duplicates.
    fn has_duplicate(
        &self,
        fragment: &Fragment,
        time: Timestamp,
        bytes: &[u8],
    ) -> bool {
        let is_equal = |(offset, received): &(u32, Vec<u8>)| {
            *offset == fragment.offset && received == bytes
        };
        self.key == fragment.key
            && duplicates::may_be_duplicates(self.time, time)
            && self.fragments.iter().any(is_equal)
    }

    /// Returns whether the datagram may be from a lidar, according to the fragments that
    /// were received.
    fn may_be_from_lidar(&self) -> bool {
        // A tunnel, or a datagram whose fragment offset is damaged.
        let has_packet =
            |(_, bytes): &(u32, Vec<u8>)| !locate::packets(bytes).is_empty();
        if self.key.protocol != UDP || self.fragments.iter().any(has_packet) {
            return true;
        }
        let first = self.fragments.iter().find(|(offset, _)| *offset == 0);
        let header =
            first.and_then(|(_, bytes)| ip::declared_udp(bytes, 0..bytes.len()));
        if let Some((ports, len, payload)) = header {
            return payload::may_be_lidar_packet(ports, len, payload);
        }
        let lengths = [DATA_BYTES, payload::POSITION_BYTES].map(|len| len + UDP_HEADER);
        let ends =
            self.fragments.iter().map(|(offset, bytes)| *offset as usize + bytes.len());
        match self.len {
            Some(len) => lengths.contains(&(len as usize)),
            None => ends.max() < lengths.into_iter().max(),
        }
    }

    /// Returns the bytes of the datagram if it is complete.
    fn reassemble(&mut self) -> Option<Vec<u8>> {
        let len = self.len?;
        self.fragments.sort_by_key(|(offset, _)| *offset);
        let mut datagram: Vec<u8> = Vec::with_capacity(len as usize);
        for (offset, bytes) in &self.fragments {
            // Duplicate fragments overlap.
            let overlap = datagram.len().checked_sub(*offset as usize)?;
            datagram.extend(bytes.get(overlap..).unwrap_or_default());
        }
        (datagram.len() == len as usize).then_some(datagram)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    /// The interface and the time of a frame.
    const NOW: (u32, Timestamp) = (0, Timestamp::from_nanos(0));

    fn fragment(id: u32, offset: u32, has_next: bool) -> Fragment {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let key =
            DatagramKey { source: address, destination: address, protocol: UDP, id };
        Fragment { key, offset, has_next, bytes: 0..0 }
    }

    #[test]
    fn fragments_in_any_order_are_reassembled() {
        let mut reassembler = Reassembler::default();
        assert_eq!(reassembler.push(0..9, NOW, &fragment(1, 8, false), b"world"), None);
        assert_eq!(
            reassembler.push(10..19, NOW, &fragment(2, 0, true), b"other---"),
            None
        );
        assert_eq!(
            reassembler.push(20..29, NOW, &fragment(1, 8, false), b"world"),
            None
        );
        assert_eq!(reassembler.frame_offsets(), [0, 10, 20]);
        let whole = reassembler.push(30..39, NOW, &fragment(1, 0, true), b"hello   ");
        let whole = whole.unwrap();
        assert_eq!(whole.bytes, b"hello   world");
        assert_eq!(whole.frames, [0..9, 20..29, 30..39]);
        // Completed datagrams may be duplicated.
        assert_eq!(reassembler.frame_offsets(), [0, 10, 20, 30]);
    }

    #[test]
    fn reused_identification_starts_another_datagram() {
        let mut reassembler = Reassembler::default();
        assert_eq!(
            reassembler.push(0..9, NOW, &fragment(1, 0, true), b"an end  "),
            None
        );
        assert_eq!(
            reassembler.push(10..19, NOW, &fragment(1, 0, true), b"hello   "),
            None
        );
        let whole =
            reassembler.push(20..29, NOW, &fragment(1, 8, false), b"world").unwrap();
        assert_eq!((&*whole.bytes, reassembler.dropped), (&b"hello   world"[..], 1));
    }

    #[test]
    fn fragments_of_two_interfaces_are_separate_datagrams() {
        let mut reassembler = Reassembler::default();
        let other = (1, NOW.1);
        assert_eq!(
            reassembler.push(0..9, NOW, &fragment(1, 0, true), b"hello   "),
            None
        );
        assert_eq!(
            reassembler.push(10..19, other, &fragment(1, 0, true), b"goodbye "),
            None
        );
        let whole =
            reassembler.push(20..29, other, &fragment(1, 8, false), b"moon").unwrap();
        assert_eq!(whole.bytes, b"goodbye moon");
        let whole =
            reassembler.push(30..39, NOW, &fragment(1, 8, false), b"world").unwrap();
        assert_eq!(whole.bytes, b"hello   world");
    }

    #[test]
    fn incomplete_datagrams_are_dropped() {
        let mut reassembler = Reassembler::default();
        reassembler.push(0..9, NOW, &fragment(1, 0, true), b"12345678");
        let late = MAX_DISTANCE + 1..MAX_DISTANCE + 9;
        assert_eq!(reassembler.push(late, NOW, &fragment(1, 8, false), b"9"), None);
        assert_eq!(
            (reassembler.dropped, reassembler.frame_offsets()),
            (1, vec![MAX_DISTANCE + 1])
        );
        for id in 2..1_000 {
            let frame = MAX_DISTANCE + 10..MAX_DISTANCE + 19;
            reassembler.push(frame, NOW, &fragment(id, 0, true), b"12345678");
        }
        assert_eq!(reassembler.frame_offsets().len(), MAX_INCOMPLETE);
    }

    #[test]
    fn fragments_with_a_gap_are_not_reassembled() {
        let mut reassembler = Reassembler::default();
        reassembler.push(0..1, NOW, &fragment(1, 0, true), b"12345678");
        assert_eq!(reassembler.push(1..2, NOW, &fragment(1, 16, false), b"9"), None);
        assert_eq!(
            reassembler.push(2..3, NOW, &fragment(1, 70_000, false), b"9"),
            None
        );
    }

    #[test]
    fn duplicate_fragments_do_not_lose_a_datagram() {
        let mut reassembler = Reassembler::default();
        let first = fragment(1, 0, true);
        assert_eq!(reassembler.push(0..1, NOW, &first, b"hello   "), None);
        assert_eq!(reassembler.push(1..2, NOW, &first, b"hello   "), None);
        let last = fragment(1, 8, false);
        assert!(reassembler.push(2..3, NOW, &last, b"world").is_some());
        assert_eq!(reassembler.push(3..4, NOW, &last, b"world"), None);
        reassembler.drop_incomplete();
        assert_eq!((reassembler.dropped, &*reassembler.lost), (0, &[][..]));
        assert_eq!(reassembler.frame_offsets(), [0, 1, 2]);
        let later = (0, Timestamp::from_nanos(2_000_000));
        assert_eq!(reassembler.push(4..5, later, &last, b"world"), None);
        reassembler.drop_incomplete();
        assert_eq!(reassembler.dropped, 1);
    }

    /// Returns the lost frames if only these fragments of a datagram arrive.
    fn lost_fragments(inputs: &[(u32, bool, &[u8])]) -> Vec<(Range<u64>, bool)> {
        let mut reassembler = Reassembler::default();
        for (index, (offset, has_next, bytes)) in (0..).zip(inputs) {
            let frame = 100 * index..100 * index + 50;
            assert_eq!(
                reassembler.push(frame, NOW, &fragment(1, *offset, *has_next), bytes),
                None
            );
        }
        reassembler.drop_incomplete();
        reassembler
            .lost
            .into_iter()
            .map(|frame| (frame.bytes, frame.is_first))
            .collect()
    }

    #[test]
    fn only_fragments_of_possible_lidar_packets_are_lost() {
        // Ports 2368 and 2368, 8 + 1206 bytes (0x4be), a block of lasers 0 to 31.
        let first =
            |len: u8| [9, 64, 9, 64, 4, len, 0, 0, 0xff, 0xee, 0, 0, 1, 0, 0, 0];
        assert_eq!(lost_fragments(&[(0, true, &first(0xbe))]), [(0..50, true)]);
        assert_eq!(lost_fragments(&[(0, true, &first(0xb0))]), []);
        // The end of 1214 bytes, the end of 1222, and a middle fragment.
        assert_eq!(lost_fragments(&[(1208, false, &[7; 6])]), [(0..50, true)]);
        assert_eq!(lost_fragments(&[(1208, false, &[7; 14])]), []);
        let middle: &[u8] = &[7; 8];
        let both_frames = [(0..50, true), (100..150, false)];
        assert_eq!(
            lost_fragments(&[(800, true, middle), (816, true, middle)]),
            both_frames
        );
        assert_eq!(lost_fragments(&[(1_480, true, middle)]), []);
    }
}
