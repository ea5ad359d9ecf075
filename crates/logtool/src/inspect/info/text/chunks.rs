//! The compression of the chunks of a bag or an MCAP file, as text.

use logtool_core::{ChunkStatistics, CompressionStatistics, Value};

use crate::text::units::{Bytes, Count, count_of};

/// Returns a line for each compression in the metadata `chunks` of a log.
pub(super) fn lines(chunks: Option<&Value>) -> Vec<String> {
    let Some(all) = chunks.and_then(ChunkStatistics::from_value) else {
        return Vec::new();
    };
    let line = |(name, statistics): (&String, &CompressionStatistics)| {
        let CompressionStatistics { chunks, bytes, uncompressed_bytes: unpacked } =
            *statistics;
        let share = bytes as f64 * 100.0 / unpacked.max(1) as f64;
        let (bytes, unpacked) = (Bytes(bytes), Bytes(unpacked));
        let chunks = if all.inspected_chunks < all.chunks {
            let (chunks, inspected, all) =
                (Count(chunks), Count(all.inspected_chunks), Count(all.chunks));
            format!("{chunks} of the {inspected} looked at, of {all}")
        } else {
            count_of(chunks, "chunk")
        };
        format!("{name:?}: {chunks}, {bytes} of {unpacked} unpacked ({share:.1} %)")
    };
    all.by_compression.iter().map(line).collect()
}
