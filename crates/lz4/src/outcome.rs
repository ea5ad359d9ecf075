//! The result of a decompression.

/// The result of a decompression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameOutcome {
    /// Everything was decompressed.
    Whole,
    /// The compressed data is truncated. The output is correct up to the truncation.
    Cut,
    /// The compressed data ends after the last block. Only the end mark or the checksum
    /// after it is missing.
    Ended,
    /// The compressed data is corrupt. The output was decompressed before the corruption.
    Broken,
    /// Everything was decompressed, but a checksum does not match.
    Doubtful,
    /// The output would exceed the limit.
    OverLimit,
}
