//! Compressing chunks so that ROS can decompress them.
//!
//! ```text
//! bz2   one stream of level 9
//! lz4   one frame: magic 04 22 4d 18 | flags 64 | block size 40 | header checksum |
//!       blocks | 0 u32 | content checksum u32
//! ```
//! The LZ4 reader of ROS, roslz4, requires this form: independent blocks (its writer makes
//! blocks of 1 MiB, its reader accepts all lengths), a content checksum, no content size, no
//! block checksums, no dictionary.

use std::io::Write as _;

use bzip2::write::BzEncoder;
use logtool_core::{Error, ErrorKind, Result};
use twox_hash::XxHash32;

use crate::codec::compression::Compression;

const LZ4_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
/// Version 1, independent blocks, a content checksum.
const LZ4_FLAGS: u8 = 0x64;
/// The block size descriptor: 4 stands for 64 KiB, the minimum. (Most readers lose a damaged block
/// completely.)
const LZ4_BLOCK_DESCRIPTOR: u8 = 0x40;
const LZ4_BLOCK_LEN: usize = 64 << 10;
/// The flag of a block that is not compressed.
const LZ4_UNCOMPRESSED: u32 = 1 << 31;

impl Compression {
    /// Compresses `bytes` into `buffer`, which is empty. Returns the result, and the other of the
    /// two buffers for reuse.
    pub(crate) fn compress(
        self,
        bytes: Vec<u8>,
        buffer: Vec<u8>,
    ) -> Result<(Vec<u8>, Vec<u8>)> {
        Ok(match self {
            Self::None => (bytes, buffer),
            Self::Bz2 => (compress_bz2(&bytes, buffer)?, bytes),
            Self::Lz4 => (compress_lz4(&bytes, buffer), bytes),
        })
    }

    /// Returns whether ROS can decompress data that begin with `packed`. They may come from other
    /// writers, and ROS cannot read all LZ4 frames.
    pub(crate) fn is_readable_by_ros(self, packed: &[u8]) -> bool {
        match (self, packed) {
            (Self::None, _) => true,
            (Self::Bz2, packed) => packed.starts_with(b"BZh"),
            (Self::Lz4, [m0, m1, m2, m3, flags, sizes, ..]) => {
                [*m0, *m1, *m2, *m3] == LZ4_MAGIC
                    && *flags == LZ4_FLAGS
                    && sizes >> 4 >= 4
                    && sizes & 0x8f == 0
            }
            (Self::Lz4, _) => false,
        }
    }
}

/// Compresses `bytes` into `buffer`.
fn compress_bz2(bytes: &[u8], mut buffer: Vec<u8>) -> Result<Vec<u8>> {
    let into_error =
        |err| Error::new(ErrorKind::Io, "compressing a chunk failed").with_source(err);
    buffer.reserve(bytes.len() / 2);
    let mut stream = BzEncoder::new(buffer, bzip2::Compression::best());
    stream.write_all(bytes).map_err(into_error)?;
    stream.finish().map_err(into_error)
}

/// Compresses `bytes` into `frame`, which is empty.
fn compress_lz4(bytes: &[u8], mut frame: Vec<u8>) -> Vec<u8> {
    frame.reserve(bytes.len() / 2);
    frame.extend(LZ4_MAGIC);
    frame.extend([LZ4_FLAGS, LZ4_BLOCK_DESCRIPTOR]);
    frame.push((XxHash32::oneshot(0, &[LZ4_FLAGS, LZ4_BLOCK_DESCRIPTOR]) >> 8) as u8);
    for block in bytes.chunks(LZ4_BLOCK_LEN) {
        let packed = lz4_flex::block::compress(block);
        let (size, data) = if packed.len() < block.len() {
            (packed.len() as u32, packed.as_slice())
        } else {
            (block.len() as u32 | LZ4_UNCOMPRESSED, block)
        };
        frame.extend(size.to_le_bytes());
        frame.extend_from_slice(data);
    }
    frame.extend([0; 4]);
    frame.extend(XxHash32::oneshot(0, bytes).to_le_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;
    use crate::codec::compression::FrameOutcome;

    /// Returns incompressible bytes.
    fn noise(len: usize) -> Vec<u8> {
        let next = |state: &mut u64| {
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            Some(*state as u8)
        };
        let mut state = 0x2545_f491_4f6c_dd1d;
        std::iter::from_fn(|| next(&mut state)).take(len).collect()
    }

    #[test]
    fn lz4_frame_has_the_profile_of_roslz4() {
        // The expected bytes were written by Python's lz4.frame 4.4.5 with block_size=4,
        // block_linked=False, content_checksum=True and store_size=False: the header with its
        // checksum, and the checksum of the content, which is 40 times "abcd".
        let frame = compress_lz4(&b"abcd".repeat(40), Vec::new());
        assert_eq!(frame[..7], [0x04, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7]);
        assert_eq!(frame[frame.len() - 8..], [0, 0, 0, 0, 0x07, 0x56, 0xcc, 0x43]);
        assert!(Compression::Lz4.is_readable_by_ros(&frame));
    }

    #[test]
    fn incompressible_data_are_stored_in_blocks_of_64_kib() {
        let bytes = noise((64 << 10) + 5);
        let frame = compress_lz4(&bytes, Vec::new());
        assert_eq!(frame[7..11], 0x8001_0000_u32.to_le_bytes());
        assert_eq!(frame[11..11 + (64 << 10)], bytes[..64 << 10]);
        assert_eq!(frame[11 + (64 << 10)..][..4], 0x8000_0005_u32.to_le_bytes());
        assert_eq!(frame.len(), 7 + 4 + (64 << 10) + 4 + 5 + 4 + 4);
    }

    #[test]
    fn compressed_data_decompress_to_the_same_bytes() {
        let long = [b"long and long ".repeat(100_000), noise(10_000)].concat();
        for bytes in [vec![0], b"abc".to_vec(), noise(300_000), long] {
            for compression in [Compression::None, Compression::Bz2, Compression::Lz4] {
                let buffer = Vec::new();
                let (packed, _) = compression.compress(bytes.clone(), buffer).unwrap();
                let buffer = BytesMut::new();
                let (out, outcome) =
                    compression.decompress(&packed, 0, 1 << 30, false, buffer);
                assert!(
                    outcome == FrameOutcome::Whole && out == bytes,
                    "{compression:?}"
                );
            }
        }
    }

    #[test]
    fn bz2_stream_has_level_9() {
        let (packed, _) = Compression::Bz2.compress(vec![7; 10], Vec::new()).unwrap();
        assert!(packed.starts_with(b"BZh9"));
    }

    #[test]
    fn frames_that_roslz4_rejects_are_recognized() {
        let header = |flags, sizes| [0x04, 0x22, 0x4d, 0x18, flags, sizes, 0];
        for (flags, sizes, is_accepted) in [
            (0x64, 0x40, true),
            (0x64, 0x70, true),
            (0x64, 0x30, false), // an undefined block size
            (0x44, 0x60, false), // linked blocks
            (0x60, 0x60, false), // no content checksum
            (0x6c, 0x60, false), // a content size
            (0x74, 0x60, false), // checksums of blocks
            (0x65, 0x60, false), // a dictionary
        ] {
            let header = header(flags, sizes);
            assert_eq!(
                Compression::Lz4.is_readable_by_ros(&header),
                is_accepted,
                "{header:x?}"
            );
        }
    }
}
