//! Bzip2 streams, one or several in a chunk.

#![deny(clippy::indexing_slicing)]

mod blocks;

use bzip2::{Decompress, Status};
use logtool_lz4::{FrameOutcome, OutputBuffer};

/// The number of bytes that are reserved in the output at a time.
const OUTPUT_STEP: usize = 256 << 10;

/// The maximum length of the end of a stream: a mark of 6 bytes and a checksum of 4 bytes,
/// which begin at any bit.
const MAX_TAIL: usize = 11;

/// The mark at the start of every block; the first block follows the stream header directly.
pub(super) const BLOCK_MARK: &[u8] = b"\x31\x41\x59\x26\x53\x59";

/// Decompresses all streams of `packed`.
pub(super) fn decompress(
    mut packed: &[u8],
    limit: usize,
    out: &mut OutputBuffer,
) -> FrameOutcome {
    loop {
        let start = out.len();
        let (outcome, consumed) = decompress_stream(packed, limit, out);
        if outcome == FrameOutcome::Broken {
            // The decoder returns bytes before it verifies the checksum of their block, and does
            // not report where in the output the block begins.
            out.truncate(start);
            blocks::decompress_intact_blocks(packed, limit, out);
        }
        packed = packed.get(consumed..).unwrap_or_default();
        if outcome != FrameOutcome::Whole || !packed.starts_with(b"BZh") {
            return outcome;
        }
    }
}

/// Decompresses one stream; also returns its length.
fn decompress_stream(
    packed: &[u8],
    limit: usize,
    out: &mut OutputBuffer,
) -> (FrameOutcome, usize) {
    let mut decoder = Decompress::new(false);
    // The tail is fed separately: if a block is complete only with it, no other block follows.
    // The input is passed up to this position.
    let mut input_end = packed.len().saturating_sub(MAX_TAIL);
    // The length of the output when the tail was added to the input.
    let mut len_before_tail = None;
    loop {
        let totals = (decoder.total_in(), decoder.total_out());
        let input = packed.get(totals.0 as usize..input_end).unwrap_or_default();
        if out.free_space().is_empty() {
            out.make_room(OUTPUT_STEP);
        }
        let status = decoder.decompress(input, out.free_space());
        out.add((decoder.total_out() - totals.1) as usize);
        let consumed = decoder.total_in() as usize;
        if out.len() > limit {
            out.truncate(limit);
            return (FrameOutcome::OverLimit, consumed);
        }
        match status {
            Ok(Status::StreamEnd) => return (FrameOutcome::Whole, consumed),
            Ok(_) if totals != (decoder.total_in(), decoder.total_out()) => {}
            Ok(_) if len_before_tail.is_none() => {
                (len_before_tail, input_end) = (Some(out.len()), packed.len());
            }
            Ok(_) if len_before_tail.is_some_and(|len| len < out.len()) => {
                return (FrameOutcome::Ended, consumed);
            }
            Ok(_) => return (FrameOutcome::Cut, consumed),
            Err(_) => return (FrameOutcome::Broken, consumed),
        }
    }
}
