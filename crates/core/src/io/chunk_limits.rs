//! Limits of the decompressed lengths of the chunks of a log.

use std::{
    fmt, io,
    sync::{Arc, OnceLock},
};

use crate::{io::source::Source, model::open_options::OpenOptions};

/// Every chunk may decompress to the length that it declares, up to this number of times its
/// compressed length. Compressions only exceed this number for long repetitions.
const MAX_RATIO: u64 = 2_000;

/// A chunk that declares less than it holds may decompress to this number of times its compressed
/// length, because the declared length may be the damaged part. LZ4 cannot exceed this number.
const MAX_UNDECLARED_RATIO: u64 = 255;

/// The number of bytes to which a chunk may decompress regardless of that ratio, and the number of
/// bytes by which all chunks of a file may exceed it.
const EXTREME_BYTES: u64 = 64 << 20;

/// The number of bytes of the file that are searched at once, and the maximum length of the part of
/// a chunk header in which the decompressed length is found.
const WINDOW_BYTES: u64 = 1 << 20;
const HEADER_BYTES: u64 = 64;

/// Finds the headers of chunks in some bytes of a file. Returns the offset and the declared
/// decompressed length of each header that is complete.
pub type FindChunkHeaders = fn(&[u8]) -> Vec<(usize, u64)>;

/// Limits of the decompressed lengths of the chunks of a file, so that a small file does not take long
/// or need much memory.
///
/// A chunk may decompress to the length that it declares, up to 2,000 times its compressed length,
/// and to 255 times its compressed length in any case. A chunk that declares nothing, because its
/// recorder did not finish it, may reach 2,000 times. A chunk may exceed this number up to the length
/// that it declares and up to 64 MiB, or [`OpenOptions::record_bytes`] if that is more than
/// its default. If the chunks of the file declare more than this number of bytes plus 2,000 times the
/// length of the file in total, each of them has an equal share.
///
/// The limit of a chunk depends on the bytes of the file only, not on the chunks that were read
/// before. Clones share the lengths that were found.
#[derive(Clone)]
pub struct ChunkLimits {
    max_bytes: u64,
    find_headers: FindChunkHeaders,
    /// The share of each chunk. The file is searched for chunks when the first chunk exceeds the
    /// ratio, which is rare.
    share: Arc<OnceLock<u64>>,
}

impl ChunkLimits {
    /// Creates the limits for a file whose chunk headers `find_headers` finds.
    pub fn new(options: OpenOptions, find_headers: FindChunkHeaders) -> Self {
        let max_bytes = u64::from(options.record_bytes);
        Self { max_bytes, find_headers, share: Arc::default() }
    }

    /// Returns the number of bytes to which a chunk of `source` may decompress that has
    /// `compressed_len` bytes and declares `declared_len` decompressed bytes.
    ///
    /// # Errors
    /// Those of the source.
    pub fn max_len(
        &self,
        source: &dyn Source,
        compressed_len: u64,
        declared_len: u64,
    ) -> io::Result<usize> {
        let by_ratio = compressed_len.saturating_mul(MAX_RATIO);
        let extreme = declared_len.min(self.max_extreme());
        let limit = if declared_len == 0 {
            by_ratio
        } else if extreme <= by_ratio {
            let undeclared = compressed_len.saturating_mul(MAX_UNDECLARED_RATIO);
            declared_len.min(by_ratio).max(undeclared)
        } else {
            by_ratio.max(extreme.min(self.share(source)?))
        };
        Ok(usize::try_from(limit.min(self.max_bytes)).unwrap_or(usize::MAX))
    }

    /// Returns whether a chunk with these lengths does not exceed the ratio that every chunk may
    /// have.
    pub fn is_ordinary(compressed_len: u64, declared_len: u64) -> bool {
        declared_len <= compressed_len.saturating_mul(MAX_RATIO)
    }

    fn max_extreme(&self) -> u64 {
        if self.max_bytes > u64::from(OpenOptions::default().record_bytes) {
            self.max_bytes
        } else {
            EXTREME_BYTES
        }
    }

    /// Returns the number of bytes to which each chunk of `source` may decompress regardless of its
    /// compressed length.
    fn share(&self, source: &dyn Source) -> io::Result<u64> {
        if let Some(share) = self.share.get() {
            return Ok(*share);
        }
        let (mut chunks, mut declared, mut start) = (0, 0_u64, 0);
        while start < source.len() {
            let end = start + WINDOW_BYTES;
            let bytes = source.read_at(start..end + HEADER_BYTES)?;
            for (offset, declared_len) in (self.find_headers)(&bytes) {
                // The next window contains headers that begin after this one.
                if (offset as u64) < WINDOW_BYTES {
                    chunks += 1;
                    let extreme = declared_len.min(self.max_extreme());
                    declared = declared.saturating_add(extreme);
                }
            }
            source.release(start..end);
            start = end;
        }
        let total = source.len().saturating_mul(MAX_RATIO);
        let total = total.saturating_add(self.max_extreme());
        let share = if declared <= total { u64::MAX } else { total / chunks.max(1) };
        Ok(*self.share.get_or_init(|| share))
    }
}

impl fmt::Debug for ChunkLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkLimits")
            .field("max_bytes", &self.max_bytes)
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    /// A header of these tests: a byte 7, and the declared length in MiB.
    fn find(bytes: &[u8]) -> Vec<(usize, u64)> {
        let headers = bytes.windows(2).enumerate().filter(|(_, pair)| pair[0] == 7);
        headers.map(|(at, pair)| (at, u64::from(pair[1]) << 20)).collect()
    }

    fn limits() -> ChunkLimits {
        ChunkLimits::new(OpenOptions::default(), find)
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn chunk_may_have_its_declared_length_or_the_ratio() {
        let source = Bytes::from_static(&[7, 60]);
        let limit = |compressed, declared| {
            limits().max_len(&source, compressed, declared).unwrap() as u64
        };
        assert_eq!(limit(100, 60 * MIB), 60 * MIB);
        assert_eq!(limit(100, 10), 25_500);
        assert_eq!(limit(100, 150_000), 150_000);
        assert_eq!(limit(100, 0), 200_000);
        assert_eq!(limit(100, u64::MAX), 64 * MIB);
        assert_eq!(limit(MIB, 10), 255 * MIB);
        assert_eq!(limit(2 * MIB, u64::MAX), 256 * MIB);
        assert!(ChunkLimits::is_ordinary(100, 200_000));
        assert!(!ChunkLimits::is_ordinary(100, 200_001));
    }

    #[test]
    fn chunks_that_declare_too_much_have_equal_shares() {
        // Six of 10 MiB fit into 64 MiB, and seven do not.
        let limit = |chunks| {
            let source = Bytes::from([7, 10].repeat(chunks));
            limits().max_len(&source, 1, 10 * MIB).unwrap() as u64
        };
        assert_eq!(limit(6), 10 * MIB);
        assert_eq!(limit(7), (64 * MIB + 7 * 2 * 2_000) / 7);
    }

    #[test]
    fn headers_on_the_border_of_two_windows_are_counted_once() {
        let mut bytes = vec![0; WINDOW_BYTES as usize - 101];
        bytes.extend([7, 255].repeat(100));
        let source = Bytes::from(bytes);
        let total = 64 * MIB + Source::len(&source) * 2_000;
        assert_eq!(limits().share(&source).unwrap(), total / 100);
    }

    #[test]
    fn greater_limit_for_records_allows_longer_chunks() {
        let options = OpenOptions { record_bytes: 1 << 30, ..OpenOptions::default() };
        let source = Bytes::from([7, 120].repeat(2));
        let limit = ChunkLimits::new(options, find).max_len(&source, 1, 120 * MIB);
        assert_eq!(limit.unwrap() as u64, 120 * MIB);
    }
}
