//! Statistics of the compression of chunks.

use std::collections::BTreeMap;

use logtool_core::{ChunkStatistics, CompressionStatistics, Value};

use crate::{codec::compression::Compression, file::toplevel_record::ChunkHeader};

/// The maximum number of compression names in a message, and of characters of each.
const NAMES: usize = 4;
const LETTERS: usize = 40;

/// Counts of chunks by their compression.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompressionStats {
    /// The number of chunks.
    pub(crate) total: u64,
    kinds: BTreeMap<String, ChunkKind>,
}

/// Chunks with the same compression.
#[derive(Clone, Copy, Debug, Default)]
struct ChunkKind {
    chunks: u64,
    bytes: u64,
    declared: u64,
    is_known: bool,
}

impl CompressionStats {
    /// Counts a chunk with `bytes` bytes of data.
    pub(crate) fn add(&mut self, chunk_header: &ChunkHeader, bytes: u64) {
        let name = match &chunk_header.compression {
            Ok(known) => known.name(),
            Err(name) => name,
        };
        let kind = self.kinds.entry(name.to_owned()).or_default();
        kind.chunks += 1;
        kind.bytes = kind.bytes.saturating_add(bytes);
        kind.declared += u64::from(chunk_header.declared);
        kind.is_known = chunk_header.compression.is_ok();
    }

    /// Returns the declared number of bytes of all chunks with `compression`, decompressed.
    pub(crate) fn uncompressed_bytes(&self, compression: Compression) -> u64 {
        self.kinds.get(compression.name()).map_or(0, |kind| kind.declared)
    }

    /// Returns the names of unsupported compressions.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = &str> {
        let unknown = self.kinds.iter().filter(|(_, kind)| !kind.is_known);
        unknown.map(|(name, _)| name.as_str())
    }

    /// Returns why nothing can be read of a bag with this number of `parts`, if each is a chunk
    /// with an unsupported compression.
    pub(crate) fn unreadable_reason(&self, parts: usize) -> Option<String> {
        let is_any_known = self.kinds.values().any(|kind| kind.is_known);
        if parts == 0 || is_any_known || self.inspected_chunks() < parts as u64 {
            return None;
        }
        let quoted = |name: &str| format!("{:?}", shorten_name(name));
        let names: Vec<String> = self.unknown().take(NAMES).map(quoted).collect();
        let names = names.join(" and ");
        Some(format!("its chunks are compressed with {names}, which is not supported"))
    }

    /// Returns the number of chunks that were inspected.
    fn inspected_chunks(&self) -> u64 {
        self.kinds.values().map(|kind| kind.chunks).sum()
    }

    /// Returns the counts by the name of the compression, with the number of all chunks and the
    /// number of those that were inspected.
    pub(crate) fn to_value(&self) -> Value {
        let statistics = |kind: &ChunkKind| CompressionStatistics {
            chunks: kind.chunks,
            bytes: kind.bytes,
            uncompressed_bytes: kind.declared,
        };
        let kinds =
            self.kinds.iter().map(|(name, kind)| (name.clone(), statistics(kind)));
        let inspected_chunks = self.inspected_chunks();
        let statistics = ChunkStatistics {
            chunks: self.total.max(inspected_chunks),
            inspected_chunks,
            by_compression: kinds.collect(),
        };
        statistics.to_value()
    }
}

/// Returns the name of a compression, truncated if it is too long.
pub(crate) fn shorten_name(name: &str) -> String {
    name.chars().take(LETTERS).collect()
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
