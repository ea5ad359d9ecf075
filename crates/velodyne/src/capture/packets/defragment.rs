//! Reassembles fragmented datagrams.
//!
//! The state is bounded, both in number and in distance within the file. A few frame
//! positions are therefore sufficient to start reading in the middle of a file.

use std::{collections::VecDeque, ops::Range};

use logtool_core::Timestamp;

use crate::{
    capture::{
        network::ip::{self, DatagramKey, Fragment, UDP_HEADER},
        packets::{duplicates, payload},
    },
    packet::DATA_BYTES,
};

/// The maximum number of incomplete datagrams.
const MAX_INCOMPLETE: usize = 64;

/// The maximum number of fragments of a datagram.
const MAX_FRAGMENTS: usize = 256;

/// The number of completed datagrams that are remembered, because their fragments may be
/// duplicated.
const MAX_COMPLETE: usize = 4;

/// The distance from its first fragment, in bytes of the file, after which an incomplete
/// datagram is dropped.
const MAX_DISTANCE: u64 = 1 << 20;

/// The maximum length of a UDP datagram.
const MAX_LEN: u32 = 65_535;

/// The reassembly of fragmented datagrams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembler {
    incomplete: Vec<IncompleteDatagram>,
    /// The last completed datagrams.
    complete: VecDeque<IncompleteDatagram>,
    /// The number of dropped datagrams.
    pub(crate) dropped: u64,
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
        let is_duplicate = |complete: &IncompleteDatagram| {
            complete.interface == interface
                && complete.has_duplicate(fragment, time, bytes)
        };
        if self.complete.iter().any(is_duplicate) {
            return None;
        }
        let is_same_datagram = |datagram: &IncompleteDatagram| {
            datagram.interface == interface && datagram.key == fragment.datagram
        };
        let mut index_of_datagram = self.incomplete.iter().position(is_same_datagram);
        // Identifications are reused over time: a contradicting fragment is from another
        // datagram.
        if let Some(index) = index_of_datagram
            && self
                .incomplete
                .get(index)
                .is_some_and(|datagram| datagram.contradicts(fragment, bytes))
        {
            let datagram = self.incomplete.remove(index);
            self.record_lost(&datagram);
            index_of_datagram = None;
        }
        let index = match index_of_datagram {
            Some(index) => index,
            None => {
                if self.incomplete.len() == MAX_INCOMPLETE {
                    let oldest = self.incomplete.remove(0);
                    self.record_lost(&oldest);
                }
                let (frames, fragments) = (Vec::new(), Vec::new());
                let (datagram, len) = (fragment.datagram, None);
                self.incomplete.push(IncompleteDatagram {
                    interface,
                    key: datagram,
                    time,
                    frames,
                    fragments,
                    len,
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
                let datagram = self.incomplete.remove(index);
                self.record_lost(&datagram);
                None
            }
            None => None,
        }
    }

    /// Records the frames of a complete datagram, except the last one, as lost.
    pub(crate) fn record_lost_datagram(&mut self, mut frames: Vec<Range<u64>>) {
        frames.pop();
        let lost = frames.into_iter();
        self.lost.extend(lost.map(|bytes| LostFrame { bytes, is_first: false }));
    }

    /// Returns the positions of the frames whose fragments are incomplete or may be
    /// duplicated.
    pub(crate) fn frames(&self) -> Vec<u64> {
        let starts = |datagram: &IncompleteDatagram| {
            datagram.frames.clone().into_iter().map(|f| f.start)
        };
        let datagrams = self.incomplete.iter().chain(&self.complete);
        let mut frames: Vec<u64> = datagrams.flat_map(starts).collect();
        frames.sort_unstable();
        frames
    }

    /// Returns whether no fragments are stored.
    pub(crate) fn is_empty(&self) -> bool {
        self.incomplete.is_empty() && self.complete.is_empty()
    }

    /// Drops all incomplete datagrams at the end of the file.
    pub(crate) fn drop_incomplete(&mut self) {
        self.drop_before(u64::MAX);
    }

    fn drop_before(&mut self, at: u64) {
        let is_late = |datagram: &IncompleteDatagram| {
            datagram.frames.first().is_none_or(|first| first.start < at)
        };
        while let Some(index) = self.incomplete.iter().position(is_late) {
            let datagram = self.incomplete.remove(index);
            self.record_lost(&datagram);
        }
    }

    /// Records a dropped datagram.
    fn record_lost(&mut self, datagram: &IncompleteDatagram) {
        self.dropped += 1;
        if datagram.may_be_of_lidar() {
            let frames = datagram.frames.iter().enumerate().map(|(index, bytes)| {
                LostFrame { bytes: bytes.clone(), is_first: index == 0 }
            });
            self.lost.extend(frames);
        }
    }
}

impl IncompleteDatagram {
    /// Returns whether other bytes were received for the offset of `fragment`.
    fn contradicts(&self, fragment: &Fragment, bytes: &[u8]) -> bool {
        let overlaps = |(offset, _): &&(u32, Vec<u8>)| *offset == fragment.offset;
        self.fragments.iter().find(overlaps).is_some_and(|(_, known)| known != bytes)
    }

    /// Returns whether `fragment` is a duplicate of a fragment of this datagram, as sent by
    /// mirror ports.
    fn has_duplicate(
        &self,
        fragment: &Fragment,
        time: Timestamp,
        bytes: &[u8],
    ) -> bool {
        let is_equal = |(offset, known): &(u32, Vec<u8>)| {
            *offset == fragment.offset && known == bytes
        };
        self.key == fragment.datagram
            && duplicates::is_soon(self.time, time)
            && self.fragments.iter().any(is_equal)
    }

    /// Returns whether the datagram may be from a lidar, according to its known
    /// fragments.
    fn may_be_of_lidar(&self) -> bool {
        let first = self.fragments.iter().find(|(offset, _)| *offset == 0);
        let description =
            first.and_then(|(_, bytes)| ip::declared_udp(bytes, 0..bytes.len()));
        if let Some((ports, len, head)) = description {
            return payload::may_be(ports, len, head);
        }
        let lengths = [DATA_BYTES, payload::POSITION_BYTES].map(|len| len + UDP_HEADER);
        let ends = self.fragments.iter().map(|(at, bytes)| *at as usize + bytes.len());
        match self.len {
            Some(len) => lengths.contains(&(len as usize)),
            None => ends.max() < lengths.into_iter().max(),
        }
    }

    /// Returns the datagram if its fragments are contiguous.
    fn reassemble(&mut self) -> Option<Vec<u8>> {
        let len = self.len?;
        self.fragments.sort_by_key(|(offset, _)| *offset);
        let mut payload: Vec<u8> = Vec::with_capacity(len as usize);
        for (offset, bytes) in &self.fragments {
            // A duplicate fragment overlaps itself.
            let skip = payload.len().checked_sub(*offset as usize)?;
            payload.extend(bytes.get(skip..).unwrap_or_default());
        }
        (payload.len() == len as usize).then_some(payload)
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
        let key = DatagramKey { source: address, destination: address, id };
        Fragment { datagram: key, offset, has_next, bytes: 0..0 }
    }

    #[test]
    fn fragments_in_any_order_are_reassembled() {
        let mut fragments = Reassembler::default();
        assert_eq!(fragments.push(0..9, NOW, &fragment(1, 8, false), b"world"), None);
        assert_eq!(
            fragments.push(10..19, NOW, &fragment(2, 0, true), b"other---"),
            None
        );
        assert_eq!(fragments.push(20..29, NOW, &fragment(1, 8, false), b"world"), None);
        assert_eq!(fragments.frames(), [0, 10, 20]);
        let whole = fragments.push(30..39, NOW, &fragment(1, 0, true), b"hello   ");
        let whole = whole.unwrap();
        assert_eq!(whole.bytes, b"hello   world");
        assert_eq!(whole.frames, [0..9, 20..29, 30..39]);
        // Completed datagrams may be duplicated.
        assert_eq!(fragments.frames(), [0, 10, 20, 30]);
    }

    #[test]
    fn reused_identification_starts_another_datagram() {
        let mut fragments = Reassembler::default();
        assert_eq!(fragments.push(0..9, NOW, &fragment(1, 0, true), b"an end  "), None);
        assert_eq!(
            fragments.push(10..19, NOW, &fragment(1, 0, true), b"hello   "),
            None
        );
        let whole =
            fragments.push(20..29, NOW, &fragment(1, 8, false), b"world").unwrap();
        assert_eq!((&*whole.bytes, fragments.dropped), (&b"hello   world"[..], 1));
    }

    #[test]
    fn fragments_of_two_interfaces_are_separate_datagrams() {
        let mut fragments = Reassembler::default();
        let other = (1, NOW.1);
        assert_eq!(fragments.push(0..9, NOW, &fragment(1, 0, true), b"hello   "), None);
        assert_eq!(
            fragments.push(10..19, other, &fragment(1, 0, true), b"goodbye "),
            None
        );
        let whole =
            fragments.push(20..29, other, &fragment(1, 8, false), b"moon").unwrap();
        assert_eq!(whole.bytes, b"goodbye moon");
        let whole =
            fragments.push(30..39, NOW, &fragment(1, 8, false), b"world").unwrap();
        assert_eq!(whole.bytes, b"hello   world");
    }

    #[test]
    fn incomplete_datagrams_are_dropped() {
        let mut fragments = Reassembler::default();
        fragments.push(0..9, NOW, &fragment(1, 0, true), b"12345678");
        let late = MAX_DISTANCE + 1..MAX_DISTANCE + 9;
        assert_eq!(fragments.push(late, NOW, &fragment(1, 8, false), b"9"), None);
        assert_eq!(
            (fragments.dropped, fragments.frames()),
            (1, vec![MAX_DISTANCE + 1])
        );
        for id in 2..1_000 {
            let frame = MAX_DISTANCE + 10..MAX_DISTANCE + 19;
            fragments.push(frame, NOW, &fragment(id, 0, true), b"12345678");
        }
        assert_eq!(fragments.frames().len(), MAX_INCOMPLETE);
    }

    #[test]
    fn fragments_with_a_gap_are_not_reassembled() {
        let mut fragments = Reassembler::default();
        fragments.push(0..1, NOW, &fragment(1, 0, true), b"12345678");
        assert_eq!(fragments.push(1..2, NOW, &fragment(1, 16, false), b"9"), None);
        assert_eq!(fragments.push(2..3, NOW, &fragment(1, 70_000, false), b"9"), None);
    }

    #[test]
    fn duplicate_fragments_do_not_lose_a_datagram() {
        let mut fragments = Reassembler::default();
        let first = fragment(1, 0, true);
        assert_eq!(fragments.push(0..1, NOW, &first, b"hello   "), None);
        assert_eq!(fragments.push(1..2, NOW, &first, b"hello   "), None);
        let last = fragment(1, 8, false);
        assert!(fragments.push(2..3, NOW, &last, b"world").is_some());
        assert_eq!(fragments.push(3..4, NOW, &last, b"world"), None);
        fragments.drop_incomplete();
        assert_eq!((fragments.dropped, &*fragments.lost), (0, &[][..]));
        assert_eq!(fragments.frames(), [0, 1, 2]);
        let later = (0, Timestamp::from_nanos(2_000_000));
        assert_eq!(fragments.push(4..5, later, &last, b"world"), None);
        fragments.drop_incomplete();
        assert_eq!(fragments.dropped, 1);
    }

    /// Returns the lost frames if only these fragments of a datagram arrive.
    fn lost(inputs: &[(u32, bool, &[u8])]) -> Vec<(Range<u64>, bool)> {
        let mut fragments = Reassembler::default();
        for (at, (offset, has_next, bytes)) in (0..).zip(inputs) {
            let frame = 100 * at..100 * at + 50;
            assert_eq!(
                fragments.push(frame, NOW, &fragment(1, *offset, *has_next), bytes),
                None
            );
        }
        fragments.drop_incomplete();
        fragments.lost.into_iter().map(|lost| (lost.bytes, lost.is_first)).collect()
    }

    #[test]
    fn only_fragments_of_possible_lidar_packets_are_lost() {
        // From and to port 2368, 8 + 1206 bytes (0x4be); a block of lasers 0 to 31.
        let first =
            |len: u8| [9, 64, 9, 64, 4, len, 0, 0, 0xff, 0xee, 0, 0, 1, 0, 0, 0];
        assert_eq!(lost(&[(0, true, &first(0xbe))]), [(0..50, true)]);
        assert_eq!(lost(&[(0, true, &first(0xb0))]), []);
        // The end of 1214 bytes, the end of 1222, and a middle fragment.
        assert_eq!(lost(&[(1208, false, &[7; 6])]), [(0..50, true)]);
        assert_eq!(lost(&[(1208, false, &[7; 14])]), []);
        let middle: &[u8] = &[7; 8];
        let expected = [(0..50, true), (100..150, false)];
        assert_eq!(lost(&[(800, true, middle), (816, true, middle)]), expected);
        assert_eq!(lost(&[(1_480, true, middle)]), []);
    }
}
