//! How the chunks of a bag are packed.

use std::collections::BTreeMap;

use logtool_core::Value;

use crate::{chunk::Compression, top::ChunkHead};

/// How chunks are packed, counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packing {
    /// How many chunks there are.
    pub(crate) of: u64,
    kinds: BTreeMap<String, Kind>,
}

/// Chunks that are packed alike.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    chunks: u64,
    bytes: u64,
    declared: u64,
    is_known: bool,
}

impl Packing {
    /// Counts a chunk, the data of which are `bytes` bytes.
    pub(crate) fn add(&mut self, head: &ChunkHead, bytes: u64) {
        let name = match &head.compression {
            Ok(known) => known.name(),
            Err(name) => name,
        };
        let kind = self.kinds.entry(name.to_owned()).or_default();
        kind.chunks += 1;
        kind.bytes = kind.bytes.saturating_add(bytes);
        kind.declared += u64::from(head.declared);
        kind.is_known = head.compression.is_ok();
    }

    /// The names of what cannot be unpacked.
    pub(crate) fn unknown(&self) -> impl Iterator<Item = &str> {
        let unknown = self.kinds.iter().filter(|(_, kind)| !kind.is_known);
        unknown.map(|(name, _)| name.as_str())
    }

    /// The counts, by the name of the compression; and of how many chunks they are,
    /// which are some of many.
    pub(crate) fn facts(&self) -> Value {
        let map = |facts: Vec<(&str, u64)>| {
            let facts = facts.into_iter();
            Value::Map(
                facts.map(|(name, n)| (name.to_owned(), Value::UInt(n))).collect(),
            )
        };
        let kind = |kind: &Kind| {
            map(vec![
                ("chunks", kind.chunks),
                ("bytes", kind.bytes),
                ("unpacked_bytes", kind.declared),
            ])
        };
        let kinds =
            self.kinds.iter().map(|(name, counts)| (name.clone(), kind(counts)));
        let looked_at = self.kinds.values().map(|kind| kind.chunks).sum();
        Value::Map(BTreeMap::from([
            ("chunks".to_owned(), Value::UInt(self.of.max(looked_at))),
            ("looked_at".to_owned(), Value::UInt(looked_at)),
            ("by_compression".to_owned(), Value::Map(kinds.collect())),
        ]))
    }
}

impl Compression {
    /// What bags call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bz2 => "bz2",
            Self::Lz4 => "lz4",
        }
    }
}
