//! Statistics of the compression of chunks.

use std::collections::BTreeMap;

use logtool_core::{ChunkStatistics, CompressionStatistics, Value};

use crate::{codec::compression::Compression, file::toplevel_record::ChunkHeader};

/// The maximum number of compression names in a message, and of characters in each.
const MAX_NAMES: usize = 4;
const MAX_NAME_CHARS: usize = 40;

/// Counts of chunks by their compression.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompressionStats {
    /// The number of chunks that the index lists, including chunks that were not inspected; 0 if
    /// the index was not read.
    pub(crate) total: u64,
    by_compression: BTreeMap<String, CompressionCounts>,
}

/// The counts of chunks with the same compression.
#[derive(Clone, Copy, Debug, Default)]
struct CompressionCounts {
    chunks: u64,
    bytes: u64,
    uncompressed_bytes: u64,
    is_supported: bool,
}

impl CompressionStats {
    /// Counts a chunk with `bytes` bytes of compressed data.
    pub(crate) fn add(&mut self, chunk_header: &ChunkHeader, bytes: u64) {
        let name = match &chunk_header.compression {
            Ok(compression) => compression.name(),
            Err(name) => name,
        };
        let counts = self.by_compression.entry(name.to_owned()).or_default();
        counts.chunks += 1;
        counts.bytes = counts.bytes.saturating_add(bytes);
        counts.uncompressed_bytes += u64::from(chunk_header.declared_size);
        counts.is_supported = chunk_header.compression.is_ok();
    }

    /// Returns the sum of the declared decompressed sizes of the chunks with `compression`.
    pub(crate) fn uncompressed_bytes(&self, compression: Compression) -> u64 {
        self.by_compression
            .get(compression.name())
            .map_or(0, |counts| counts.uncompressed_bytes)
    }

    /// Returns the names of the unsupported compressions.
    pub(crate) fn unsupported(&self) -> impl Iterator<Item = &str> {
        let unsupported =
            self.by_compression.iter().filter(|(_, counts)| !counts.is_supported);
        unsupported.map(|(name, _)| name.as_str())
    }

    /// Returns the reason why no message can be read, if each of the `parts` of the bag is a chunk
    /// with an unsupported compression. `parts` is their number.
    pub(crate) fn unreadable_reason(&self, parts: usize) -> Option<String> {
        let is_any_supported =
            self.by_compression.values().any(|counts| counts.is_supported);
        if parts == 0 || is_any_supported || self.inspected_chunks() < parts as u64 {
            return None;
        }
        let quoted = |name: &str| format!("{:?}", shorten_name(name));
        let names: Vec<String> =
            self.unsupported().take(MAX_NAMES).map(quoted).collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        let names = names.join(" and ");
        Some(format!(
            "its chunks are compressed with {names}, which {verb} not supported"
        ))
    }

    /// Returns the number of chunks that were inspected.
    fn inspected_chunks(&self) -> u64 {
        self.by_compression.values().map(|counts| counts.chunks).sum()
    }

    /// Returns the counts by the name of the compression, with the number of all chunks and the
    /// number of those that were inspected.
    pub(crate) fn to_value(&self) -> Value {
        let statistics = |counts: &CompressionCounts| CompressionStatistics {
            chunks: counts.chunks,
            bytes: counts.bytes,
            uncompressed_bytes: counts.uncompressed_bytes,
        };
        let by_compression = self
            .by_compression
            .iter()
            .map(|(name, counts)| (name.clone(), statistics(counts)));
        let inspected_chunks = self.inspected_chunks();
        let statistics = ChunkStatistics {
            chunks: self.total.max(inspected_chunks),
            inspected_chunks,
            by_compression: by_compression.collect(),
        };
        statistics.to_value()
    }
}

/// Returns the name of a compression, truncated if it is too long.
pub(crate) fn shorten_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

impl Compression {
    /// Returns the name of the compression in bags.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bz2 => "bz2",
            Self::Lz4 => "lz4",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_names_all_unsupported_compressions() {
        let mut stats = CompressionStats::default();
        for (name, expected) in [
            ("zstd", "\"zstd\", which is not supported"),
            ("xz", "\"xz\" and \"zstd\", which are not supported"),
        ] {
            let compression = Err(name.to_owned());
            stats.add(&ChunkHeader { compression, declared_size: 1 }, 1);
            let reason = stats.unreadable_reason(1).unwrap();
            assert_eq!(reason, format!("its chunks are compressed with {expected}"));
        }
    }
}
