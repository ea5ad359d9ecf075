//! The blocks of a damaged bzip2 stream, each of which has its own checksum.

use logtool_lz4::{FrameOutcome, OutputBuffer};

use crate::codec::compression::bz2::stream;

/// The length of the header of a stream: `BZh` and the level.
const HEAD: usize = 4;

/// The length in bits of the marks of blocks and of the end of a stream.
const MARK_BITS: usize = 48;

/// The length in bits of a checksum.
const CHECKSUM_BITS: usize = 32;

/// The mark of a block and that of the end of a stream.
const BLOCK_MARK: u64 = 0x3141_5926_5359;
const END_MARK: u64 = 0x1772_4538_5090;

/// Appends the content of the blocks of `packed` to `out`, up to the first damaged block. Each
/// block is decompressed as a stream of its own, so that its checksum is verified.
pub(super) fn unpack_sound(packed: &[u8], limit: usize, out: &mut OutputBuffer) {
    let Some(header) = packed.get(..HEAD) else { return };
    let mut marks = BlockMarks { bytes: packed, at: HEAD * 8, last: 0 };
    let Some(mut start) = marks.next() else { return };
    for end in marks {
        let complete_len = out.len();
        let (outcome, _) = stream(&single(packed, header, start, end), limit, out);
        if outcome != FrameOutcome::Whole {
            return out.truncate(complete_len);
        }
        start = end;
    }
}

/// Returns the block between the bits `start` and `end` of `packed` as a stream of its own.
fn single(packed: &[u8], header: &[u8], start: usize, end: usize) -> Vec<u8> {
    let mut stream = BitWriter { bytes: header.to_vec(), bit_count: 0 };
    for bit in start..end {
        stream.push(bit_at(packed, bit));
    }
    stream.push_number(END_MARK, MARK_BITS);
    // The checksum of a stream of one block is that of the block.
    for bit in start + MARK_BITS..start + MARK_BITS + CHECKSUM_BITS {
        stream.push(bit_at(packed, bit));
    }
    stream.bytes
}

/// Iterates over the starts of blocks and of the end of the stream, as bit positions.
struct BlockMarks<'m> {
    bytes: &'m [u8],
    /// The next bit to read.
    at: usize,
    /// The last bits.
    last: u64,
}

impl Iterator for BlockMarks<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.at < self.bytes.len() * 8 {
            self.last = self.last << 1 | u64::from(bit_at(self.bytes, self.at));
            self.at += 1;
            let mark = self.last & ((1 << MARK_BITS) - 1);
            let start = self.at.saturating_sub(MARK_BITS);
            if start >= HEAD * 8 && (mark == BLOCK_MARK || mark == END_MARK) {
                return Some(start);
            }
        }
        None
    }
}

/// Returns bit number `at` of `bytes`, the highest bit of each byte first.
fn bit_at(bytes: &[u8], at: usize) -> bool {
    bytes.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1)
}

/// A byte buffer that is written bit by bit.
struct BitWriter {
    bytes: Vec<u8>,
    /// The number of used bits in the last byte; 0 if it is full.
    bit_count: usize,
}

impl BitWriter {
    fn push(&mut self, bit: bool) {
        if self.bit_count == 0 {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (7 - self.bit_count);
        }
        self.bit_count = (self.bit_count + 1) % 8;
    }

    /// Appends the lowest `bits` bits of `number`, the highest of them first.
    fn push_number(&mut self, number: u64, bits: usize) {
        for bit in (0..bits).rev() {
            self.push(number >> bit & 1 == 1);
        }
    }
}
