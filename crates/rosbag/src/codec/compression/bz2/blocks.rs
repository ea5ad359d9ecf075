//! The blocks of a damaged bzip2 stream, each of which has its own checksum.

use logtool_lz4::{FrameOutcome, OutputBuffer};

use crate::codec::compression::bz2::decompress_stream;

/// The length of the header of a stream: `BZh` and the level.
const STREAM_HEADER_LEN: usize = 4;

/// The length in bits of the marks of blocks and of the end of a stream.
const MARK_BITS: usize = 48;

/// The length in bits of a checksum.
const CHECKSUM_BITS: usize = 32;

/// The marks at the start of a block and at the end of a stream.
const BLOCK_MARK: u64 = 0x3141_5926_5359;
const END_MARK: u64 = 0x1772_4538_5090;

/// Appends the content of the blocks of `packed` to `out`, up to the first damaged block. Each
/// block is decompressed as a stream of its own, so that its checksum is verified.
pub(super) fn decompress_intact_blocks(
    packed: &[u8],
    limit: usize,
    out: &mut OutputBuffer,
) {
    let Some(header) = packed.get(..STREAM_HEADER_LEN) else { return };
    let mut positions =
        MarkPositions { bytes: packed, at: STREAM_HEADER_LEN * 8, last_bits: 0 };
    let Some(mut start) = positions.next() else { return };
    for end in positions {
        let complete_len = out.len();
        let block = block_as_stream(packed, header, start, end);
        let (outcome, _) = decompress_stream(&block, limit, out);
        if outcome != FrameOutcome::Whole {
            return out.truncate(complete_len);
        }
        start = end;
    }
}

/// Returns the block between the bits `start` and `end` of `packed` as a stream of its own.
fn block_as_stream(packed: &[u8], header: &[u8], start: usize, end: usize) -> Vec<u8> {
    let mut stream = BitWriter { bytes: header.to_vec(), bit_count: 0 };
    for bit in start..end {
        stream.push_bit(bit_at(packed, bit));
    }
    stream.push_bits(END_MARK, MARK_BITS);
    // The checksum of a stream of one block is that of the block.
    for bit in start + MARK_BITS..start + MARK_BITS + CHECKSUM_BITS {
        stream.push_bit(bit_at(packed, bit));
    }
    stream.bytes
}

/// Iterates over the bit positions of the marks of blocks and of the end of the stream.
struct MarkPositions<'m> {
    bytes: &'m [u8],
    /// The next bit to read.
    at: usize,
    /// The bits that were read last.
    last_bits: u64,
}

impl Iterator for MarkPositions<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.at < self.bytes.len() * 8 {
            self.last_bits =
                self.last_bits << 1 | u64::from(bit_at(self.bytes, self.at));
            self.at += 1;
            let mark = self.last_bits & ((1 << MARK_BITS) - 1);
            let start = self.at.saturating_sub(MARK_BITS);
            if start >= STREAM_HEADER_LEN * 8
                && (mark == BLOCK_MARK || mark == END_MARK)
            {
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
    /// Appends `bit`.
    fn push_bit(&mut self, bit: bool) {
        if self.bit_count == 0 {
            self.bytes.push(0);
        }
        if let Some(last_byte) = self.bytes.last_mut() {
            *last_byte |= u8::from(bit) << (7 - self.bit_count);
        }
        self.bit_count = (self.bit_count + 1) % 8;
    }

    /// Appends the lowest `bits` bits of `number`, the highest of them first.
    fn push_bits(&mut self, number: u64, bits: usize) {
        for bit in (0..bits).rev() {
            self.push_bit(number >> bit & 1 == 1);
        }
    }
}
