//! Datagrams that came in pieces, put together again.
//!
//! What is remembered is bounded, in number and in how far back in the file it goes, so
//! that a few frames say all that a reader needs to begin in the middle of a file.

use crate::capture::ip::{Piece, PieceOf};

/// How many datagrams may be incomplete at once.
const MAX_OPEN: usize = 64;

/// How many pieces one datagram may be in.
const MAX_PIECES: usize = 64;

/// How far behind its first piece, in bytes of the file, a datagram is given up.
const PATIENCE: u64 = 1 << 20;

/// The longest datagram that UDP can have.
const MAX_LEN: u32 = 65_535;

/// Datagrams of which some pieces have come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    open: Vec<Open>,
    /// How many datagrams were given up.
    pub(crate) given_up: u64,
}

/// A datagram of which some pieces have come.
#[derive(Clone, Debug)]
struct Open {
    of: PieceOf,
    /// Where the frames of the pieces are in the file; the first is the earliest.
    frames: Vec<u64>,
    /// The pieces, and where they belong.
    pieces: Vec<(u32, Vec<u8>)>,
    /// The length, once the last piece has come.
    len: Option<u32>,
}

impl Pieces {
    /// Takes a piece, its `bytes`, from the frame at `at`; gives the datagram that it
    /// completes.
    pub(crate) fn take(
        &mut self,
        at: u64,
        piece: &Piece,
        bytes: &[u8],
    ) -> Option<Vec<u8>> {
        self.give_up_before(at.saturating_sub(PATIENCE));
        let end = piece.offset.saturating_add(u32::try_from(bytes.len()).ok()?);
        if end > MAX_LEN || bytes.is_empty() {
            return None;
        }
        let index = match self.open.iter().position(|open| open.of == piece.of) {
            Some(index) => index,
            None => {
                if self.open.len() == MAX_OPEN {
                    self.open.remove(0);
                    self.given_up += 1;
                }
                let (frames, pieces) = (Vec::new(), Vec::new());
                self.open.push(Open { of: piece.of, frames, pieces, len: None });
                self.open.len() - 1
            }
        };
        let open = self.open.get_mut(index)?;
        open.frames.push(at);
        open.pieces.push((piece.offset, bytes.to_vec()));
        if !piece.has_next {
            open.len = Some(end);
        }
        match open.whole() {
            Some(whole) => {
                self.open.remove(index);
                Some(whole)
            }
            None if open.pieces.len() >= MAX_PIECES => {
                self.open.remove(index);
                self.given_up += 1;
                None
            }
            None => None,
        }
    }

    /// Where in the file the frames are of which the pieces still wait for others.
    pub(crate) fn frames(&self) -> Vec<u64> {
        let mut frames: Vec<u64> =
            self.open.iter().flat_map(|open| open.frames.iter().copied()).collect();
        frames.sort_unstable();
        frames
    }

    /// Gives up what is incomplete, at the end of the file.
    pub(crate) fn give_up(&mut self) {
        self.give_up_before(u64::MAX);
    }

    fn give_up_before(&mut self, at: u64) {
        let open = self.open.len();
        self.open.retain(|open| open.frames.first().is_some_and(|first| *first >= at));
        self.given_up += (open - self.open.len()) as u64;
    }
}

impl Open {
    /// All of it, if the pieces follow on each other without a gap.
    fn whole(&mut self) -> Option<Vec<u8>> {
        let len = self.len?;
        self.pieces.sort_by_key(|(offset, _)| *offset);
        let mut whole: Vec<u8> = Vec::with_capacity(len as usize);
        for (offset, bytes) in &self.pieces {
            // A piece that came twice overlaps itself.
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

    fn piece(id: u32, offset: u32, has_next: bool) -> Piece {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let of = PieceOf { source: address, destination: address, id };
        Piece { of, offset, has_next, bytes: 0..0 }
    }

    #[test]
    fn pieces_in_any_order_make_the_whole() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.take(0, &piece(1, 8, false), b"world"), None);
        assert_eq!(pieces.take(10, &piece(2, 0, true), b"other---"), None);
        assert_eq!(pieces.take(20, &piece(1, 8, false), b"world"), None);
        assert_eq!(pieces.frames(), [0, 10, 20]);
        let whole = pieces.take(30, &piece(1, 0, true), b"hello   ");
        assert_eq!(whole.as_deref(), Some(&b"hello   world"[..]));
        assert_eq!(pieces.frames(), [10]);
    }

    #[test]
    fn what_never_comes_is_given_up() {
        let mut pieces = Pieces::default();
        pieces.take(0, &piece(1, 0, true), b"12345678");
        assert_eq!(pieces.take(PATIENCE + 1, &piece(1, 8, false), b"9"), None);
        assert_eq!((pieces.given_up, pieces.frames()), (1, vec![PATIENCE + 1]));
        for id in 0..1_000 {
            pieces.take(PATIENCE + 2, &piece(id, 0, true), b"12345678");
        }
        assert_eq!(pieces.frames().len(), MAX_OPEN);
    }

    #[test]
    fn pieces_that_leave_a_gap_are_no_datagram() {
        let mut pieces = Pieces::default();
        pieces.take(0, &piece(1, 0, true), b"12345678");
        assert_eq!(pieces.take(1, &piece(1, 16, false), b"9"), None);
        assert_eq!(pieces.take(2, &piece(1, 70_000, false), b"9"), None);
    }
}
