//! Reassembles fragmented datagrams.
//!
//! The state is bounded, both in number and in distance within the file. A few frame
//! positions are therefore sufficient to start reading in the middle of a file.

use std::{collections::VecDeque, ops::Range};

use logtool_core::Timestamp;

use crate::{
    capture::{
        duplicates,
        ip::{self, Piece, PieceOf, UDP_HEADER},
        payload,
    },
    packet::DATA_BYTES,
};

/// The maximum number of incomplete datagrams.
const MAX_OPEN: usize = 64;

/// The maximum number of fragments of a datagram.
const MAX_PIECES: usize = 256;

/// The number of completed datagrams that are remembered, because their fragments may be
/// duplicated.
const REMEMBERED: usize = 4;

/// The distance from its first fragment, in bytes of the file, after which an incomplete
/// datagram is dropped.
const PATIENCE: u64 = 1 << 20;

/// The maximum length of a UDP datagram.
const MAX_LEN: u32 = 65_535;

/// The reassembly of fragmented datagrams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    open: Vec<Open>,
    /// The last completed datagrams.
    complete: VecDeque<Open>,
    /// The number of dropped datagrams.
    pub(crate) given_up: u64,
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
pub(crate) struct Whole {
    pub(crate) bytes: Vec<u8>,
    /// The ranges of the frames in the file, in the order of arrival.
    pub(crate) frames: Vec<Range<u64>>,
}

/// A datagram of which some fragments have arrived.
#[derive(Clone, Debug)]
struct Open {
    /// The index of the interface that captured the fragments.
    interface: u32,
    of: PieceOf,
    /// The time of the last fragment.
    time: Timestamp,
    /// The ranges of the frames in the file, in the order of arrival.
    frames: Vec<Range<u64>>,
    /// The fragments with their offsets.
    pieces: Vec<(u32, Vec<u8>)>,
    /// The length, known once the last fragment has arrived.
    len: Option<u32>,
}

impl Pieces {
    /// Adds a fragment with these `bytes` from the `frame` of the file. It was captured
    /// at this interface and time. Returns the datagram if this fragment completes it.
    pub(crate) fn take(
        &mut self,
        frame: Range<u64>,
        (interface, time): (u32, Timestamp),
        piece: &Piece,
        bytes: &[u8],
    ) -> Option<Whole> {
        self.give_up_before(frame.start.saturating_sub(PATIENCE));
        let end = piece.offset.saturating_add(u32::try_from(bytes.len()).ok()?);
        if end > MAX_LEN || bytes.is_empty() {
            return None;
        }
        let is_again = |complete: &Open| {
            complete.interface == interface && complete.has(piece, time, bytes)
        };
        if self.complete.iter().any(is_again) {
            return None;
        }
        let is_its = |open: &Open| open.interface == interface && open.of == piece.of;
        let mut known = self.open.iter().position(is_its);
        // Identifications are reused over time: a contradicting fragment is from another
        // datagram.
        if let Some(index) = known
            && self.open.get(index).is_some_and(|open| open.contradicts(piece, bytes))
        {
            let open = self.open.remove(index);
            self.lose(&open);
            known = None;
        }
        let index = match known {
            Some(index) => index,
            None => {
                if self.open.len() == MAX_OPEN {
                    let oldest = self.open.remove(0);
                    self.lose(&oldest);
                }
                let (frames, pieces) = (Vec::new(), Vec::new());
                let (of, len) = (piece.of, None);
                self.open.push(Open { interface, of, time, frames, pieces, len });
                self.open.len() - 1
            }
        };
        let open = self.open.get_mut(index)?;
        open.time = time;
        open.frames.push(frame);
        open.pieces.push((piece.offset, bytes.to_vec()));
        if !piece.has_next {
            open.len = Some(end);
        }
        match open.whole() {
            Some(bytes) => {
                let open = self.open.remove(index);
                let frames = open.frames.clone();
                if self.complete.len() == REMEMBERED {
                    self.complete.pop_front();
                }
                self.complete.push_back(open);
                Some(Whole { bytes, frames })
            }
            None if open.pieces.len() >= MAX_PIECES => {
                let open = self.open.remove(index);
                self.lose(&open);
                None
            }
            None => None,
        }
    }

    /// Records the frames of a complete datagram, except the last one, as lost.
    pub(crate) fn lose_whole(&mut self, mut frames: Vec<Range<u64>>) {
        frames.pop();
        let lost = frames.into_iter();
        self.lost.extend(lost.map(|bytes| LostFrame { bytes, is_first: false }));
    }

    /// Returns the positions of the frames whose fragments are incomplete or may be
    /// duplicated.
    pub(crate) fn frames(&self) -> Vec<u64> {
        let starts = |open: &Open| open.frames.clone().into_iter().map(|f| f.start);
        let all = self.open.iter().chain(&self.complete);
        let mut frames: Vec<u64> = all.flat_map(starts).collect();
        frames.sort_unstable();
        frames
    }

    /// Returns whether no fragments are stored.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.complete.is_empty()
    }

    /// Drops all incomplete datagrams at the end of the file.
    pub(crate) fn give_up(&mut self) {
        self.give_up_before(u64::MAX);
    }

    fn give_up_before(&mut self, at: u64) {
        let is_late =
            |open: &Open| open.frames.first().is_none_or(|first| first.start < at);
        while let Some(index) = self.open.iter().position(is_late) {
            let open = self.open.remove(index);
            self.lose(&open);
        }
    }

    /// Records a dropped datagram.
    fn lose(&mut self, open: &Open) {
        self.given_up += 1;
        if open.may_be_of_lidar() {
            let frames = open.frames.iter().enumerate().map(|(index, bytes)| {
                LostFrame { bytes: bytes.clone(), is_first: index == 0 }
            });
            self.lost.extend(frames);
        }
    }
}

impl Open {
    /// Returns whether other bytes were received for the offset of `piece`.
    fn contradicts(&self, piece: &Piece, bytes: &[u8]) -> bool {
        let here = |(offset, _): &&(u32, Vec<u8>)| *offset == piece.offset;
        self.pieces.iter().find(here).is_some_and(|(_, known)| known != bytes)
    }

    /// Returns whether `piece` is a duplicate of a fragment of this datagram, as sent by
    /// mirror ports.
    fn has(&self, piece: &Piece, time: Timestamp, bytes: &[u8]) -> bool {
        let is_it = |(offset, known): &(u32, Vec<u8>)| {
            *offset == piece.offset && known == bytes
        };
        self.of == piece.of
            && duplicates::is_soon(self.time, time)
            && self.pieces.iter().any(is_it)
    }

    /// Returns whether the datagram may be from a lidar, according to its known
    /// fragments.
    fn may_be_of_lidar(&self) -> bool {
        let first = self.pieces.iter().find(|(offset, _)| *offset == 0);
        let told = first.and_then(|(_, bytes)| ip::promised(bytes, 0..bytes.len()));
        if let Some((ports, len, seen)) = told {
            return payload::may_be(ports, len, seen);
        }
        let lengths = [DATA_BYTES, payload::POSITION_BYTES].map(|len| len + UDP_HEADER);
        let ends = self.pieces.iter().map(|(at, bytes)| *at as usize + bytes.len());
        match self.len {
            Some(len) => lengths.contains(&(len as usize)),
            None => ends.max() < lengths.into_iter().max(),
        }
    }

    /// Returns the datagram if its fragments are contiguous.
    fn whole(&mut self) -> Option<Vec<u8>> {
        let len = self.len?;
        self.pieces.sort_by_key(|(offset, _)| *offset);
        let mut whole: Vec<u8> = Vec::with_capacity(len as usize);
        for (offset, bytes) in &self.pieces {
            // A duplicate fragment overlaps itself.
            let skip = whole.len().checked_sub(*offset as usize)?;
            whole.extend(bytes.get(skip..).unwrap_or_default());
        }
        (whole.len() == len as usize).then_some(whole)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    /// The interface and the time of a frame.
    const NOW: (u32, Timestamp) = (0, Timestamp::from_nanos(0));

    fn piece(id: u32, offset: u32, has_next: bool) -> Piece {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let of = PieceOf { source: address, destination: address, id };
        Piece { of, offset, has_next, bytes: 0..0 }
    }

    #[test]
    fn fragments_in_any_order_are_reassembled() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.take(0..9, NOW, &piece(1, 8, false), b"world"), None);
        assert_eq!(pieces.take(10..19, NOW, &piece(2, 0, true), b"other---"), None);
        assert_eq!(pieces.take(20..29, NOW, &piece(1, 8, false), b"world"), None);
        assert_eq!(pieces.frames(), [0, 10, 20]);
        let whole = pieces.take(30..39, NOW, &piece(1, 0, true), b"hello   ");
        let whole = whole.unwrap();
        assert_eq!(whole.bytes, b"hello   world");
        assert_eq!(whole.frames, [0..9, 20..29, 30..39]);
        // Completed datagrams may be duplicated.
        assert_eq!(pieces.frames(), [0, 10, 20, 30]);
    }

    #[test]
    fn reused_identification_starts_another_datagram() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.take(0..9, NOW, &piece(1, 0, true), b"an end  "), None);
        assert_eq!(pieces.take(10..19, NOW, &piece(1, 0, true), b"hello   "), None);
        let whole = pieces.take(20..29, NOW, &piece(1, 8, false), b"world").unwrap();
        assert_eq!((&*whole.bytes, pieces.given_up), (&b"hello   world"[..], 1));
    }

    #[test]
    fn fragments_of_two_interfaces_are_separate_datagrams() {
        let mut pieces = Pieces::default();
        let other = (1, NOW.1);
        assert_eq!(pieces.take(0..9, NOW, &piece(1, 0, true), b"hello   "), None);
        assert_eq!(pieces.take(10..19, other, &piece(1, 0, true), b"goodbye "), None);
        let whole = pieces.take(20..29, other, &piece(1, 8, false), b"moon").unwrap();
        assert_eq!(whole.bytes, b"goodbye moon");
        let whole = pieces.take(30..39, NOW, &piece(1, 8, false), b"world").unwrap();
        assert_eq!(whole.bytes, b"hello   world");
    }

    #[test]
    fn incomplete_datagrams_are_dropped() {
        let mut pieces = Pieces::default();
        pieces.take(0..9, NOW, &piece(1, 0, true), b"12345678");
        let late = PATIENCE + 1..PATIENCE + 9;
        assert_eq!(pieces.take(late, NOW, &piece(1, 8, false), b"9"), None);
        assert_eq!((pieces.given_up, pieces.frames()), (1, vec![PATIENCE + 1]));
        for id in 2..1_000 {
            let frame = PATIENCE + 10..PATIENCE + 19;
            pieces.take(frame, NOW, &piece(id, 0, true), b"12345678");
        }
        assert_eq!(pieces.frames().len(), MAX_OPEN);
    }

    #[test]
    fn fragments_with_a_gap_are_not_reassembled() {
        let mut pieces = Pieces::default();
        pieces.take(0..1, NOW, &piece(1, 0, true), b"12345678");
        assert_eq!(pieces.take(1..2, NOW, &piece(1, 16, false), b"9"), None);
        assert_eq!(pieces.take(2..3, NOW, &piece(1, 70_000, false), b"9"), None);
    }

    #[test]
    fn duplicate_fragments_do_not_lose_a_datagram() {
        let mut pieces = Pieces::default();
        let first = piece(1, 0, true);
        assert_eq!(pieces.take(0..1, NOW, &first, b"hello   "), None);
        assert_eq!(pieces.take(1..2, NOW, &first, b"hello   "), None);
        let last = piece(1, 8, false);
        assert!(pieces.take(2..3, NOW, &last, b"world").is_some());
        assert_eq!(pieces.take(3..4, NOW, &last, b"world"), None);
        pieces.give_up();
        assert_eq!((pieces.given_up, &*pieces.lost), (0, &[][..]));
        assert_eq!(pieces.frames(), [0, 1, 2]);
        let later = (0, Timestamp::from_nanos(2_000_000));
        assert_eq!(pieces.take(4..5, later, &last, b"world"), None);
        pieces.give_up();
        assert_eq!(pieces.given_up, 1);
    }

    /// Returns the lost frames if only these fragments of a datagram arrive.
    fn lost(given: &[(u32, bool, &[u8])]) -> Vec<(Range<u64>, bool)> {
        let mut pieces = Pieces::default();
        for (at, (offset, has_next, bytes)) in (0..).zip(given) {
            let frame = 100 * at..100 * at + 50;
            assert_eq!(
                pieces.take(frame, NOW, &piece(1, *offset, *has_next), bytes),
                None
            );
        }
        pieces.give_up();
        pieces.lost.into_iter().map(|lost| (lost.bytes, lost.is_first)).collect()
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
        let both = [(0..50, true), (100..150, false)];
        assert_eq!(lost(&[(800, true, middle), (816, true, middle)]), both);
        assert_eq!(lost(&[(1_480, true, middle)]), []);
    }
}
