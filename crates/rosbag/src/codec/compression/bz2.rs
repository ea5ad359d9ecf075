//! Bzip2 streams, one or several in a chunk.

#![deny(clippy::indexing_slicing)]

mod blocks;

use bzip2::{Decompress, Status};
use logtool_lz4::{FrameOutcome, OutputBuffer};

/// The bytes that are reserved in the output at a time.
const ROOM: usize = 256 << 10;

/// The maximum length of the end of a stream: a mark of 6 bytes and a checksum of 4 bytes,
/// which begin at any bit.
const TAIL: usize = 11;

/// The mark at the start of every block; the first block follows the stream header directly.
pub(super) const BLOCK: &[u8] = b"\x31\x41\x59\x26\x53\x59";

/// Decompresses all streams of `packed`.
pub(super) fn decompress(
    mut packed: &[u8],
    limit: usize,
    out: &mut OutputBuffer,
) -> FrameOutcome {
    loop {
        let start = out.len();
        let (outcome, consumed) = stream(packed, limit, out);
        if outcome == FrameOutcome::Broken {
            // The decoder returns bytes before it verifies the checksum of their block, and
            // does not show where the block begins in them.
            out.truncate(start);
            blocks::unpack_sound(packed, limit, out);
        }
        packed = packed.get(consumed..).unwrap_or_default();
        if outcome != FrameOutcome::Whole || !packed.starts_with(b"BZh") {
            return outcome;
        }
    }
}

/// Decompresses one stream; also returns its length.
fn stream(
    packed: &[u8],
    limit: usize,
    out: &mut OutputBuffer,
) -> (FrameOutcome, usize) {
    let mut state = Decompress::new(false);
    // The tail is fed separately: if a block is complete only with it, no other block follows.
    let mut end = packed.len().saturating_sub(TAIL);
    let mut before_tail = None;
    loop {
        let before = (state.total_in(), state.total_out());
        let input = packed.get(before.0 as usize..end).unwrap_or_default();
        if out.free_space().is_empty() {
            out.make_room(ROOM);
        }
        let status = state.decompress(input, out.free_space());
        out.add((state.total_out() - before.1) as usize);
        let read = state.total_in() as usize;
        if out.len() > limit {
            out.truncate(limit);
            return (FrameOutcome::OverLimit, read);
        }
        match status {
            Ok(Status::StreamEnd) => return (FrameOutcome::Whole, read),
            Ok(_) if before != (state.total_in(), state.total_out()) => {}
            Ok(_) if before_tail.is_none() => {
                (before_tail, end) = (Some(out.len()), packed.len());
            }
            Ok(_) if before_tail.is_some_and(|len| len < out.len()) => {
                return (FrameOutcome::Ended, read);
            }
            Ok(_) => return (FrameOutcome::Cut, read),
            Err(_) => return (FrameOutcome::Broken, read),
        }
    }
}
