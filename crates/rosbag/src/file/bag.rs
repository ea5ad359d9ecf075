//! The state that all readers of a bag share, and decompression of its chunks.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use bytes::{Bytes, BytesMut};
use logtool_core::{ChunkLimits, Damage, DamageKind, OpenOptions, Result, Source};

use crate::{
    codec::{
        compression::{Compression, FrameOutcome},
        encryption::Encryption,
    },
    file::{
        compression_stats::shorten_name,
        file_header::FileHeader,
        index::{self, IndexedChunk},
        toplevel_record::ChunkHeader,
    },
    options::RosbagOptions,
    records::record_scanner::{
        RecordVisitor, ScanProgress, ScanSegment, WindowScan, scan_records,
    },
    wire,
};

/// The state that all readers of a bag share.
#[derive(Clone)]
pub(crate) struct Bag {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) options: OpenOptions,
    pub(crate) encryption: Encryption,
    pub(crate) file_header: Arc<FileHeader>,
    /// The limits of the decompressed chunks.
    chunk_limits: ChunkLimits,
    /// The chunks that the index lists. The index is read on first use.
    listed_chunks: Arc<OnceLock<Vec<IndexedChunk>>>,
}

/// A chunk, and how much of it the file contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) at: u64,
    pub(crate) header: ChunkHeader,
    /// The byte range of its compressed data, as far as the file contains them.
    pub(crate) data: Range<u64>,
    /// Whether the file ends before the chunk does.
    pub(crate) is_cut: bool,
    /// Whether the length in the header is wrong, so that `data` has another length.
    pub(crate) has_wrong_length: bool,
}

/// The content of a chunk.
pub(crate) enum ChunkContent {
    /// The content is not compressed, and is read from the file.
    Plain(WindowScan),
    /// The decompressed content, and the result of decompressing it.
    Decompressed(Bytes, FrameOutcome),
    /// The content cannot be read, and is lost completely.
    Lost(Damage),
}

impl Bag {
    /// Creates the shared state of the bag in `source`, which starts with `file_header`.
    pub(crate) fn new(
        source: Arc<dyn Source>,
        file_header: FileHeader,
        options: &RosbagOptions,
    ) -> Self {
        let encryption =
            Encryption::new(&file_header.encryptor, &file_header.user, options.key);
        Self {
            source,
            options: options.open,
            encryption,
            file_header: Arc::new(file_header),
            chunk_limits: ChunkLimits::new(options.open, wire::chunk_headers),
            listed_chunks: Arc::default(),
        }
    }

    /// Returns the chunks that the index lists, in the order of the file, including chunks that
    /// are lost. The index is read on the first call.
    pub(crate) fn listed_chunks(&self) -> Result<&[IndexedChunk]> {
        if let Some(listed_chunks) = self.listed_chunks.get() {
            return Ok(listed_chunks);
        }
        let listed_chunks =
            index::chunks(&self.source, &self.file_header, &self.encryption)?;
        Ok(self.listed_chunks.get_or_init(|| listed_chunks))
    }

    /// Returns the index entry of the chunk at `at`, or `None` if the index does not list it.
    pub(crate) fn listed_chunk(&self, at: u64) -> Result<Option<&IndexedChunk>> {
        let listed_chunks = self.listed_chunks()?;
        let index = listed_chunks.binary_search_by_key(&at, |chunk| chunk.at).ok();
        Ok(index.and_then(|index| listed_chunks.get(index)))
    }

    /// Returns the content of `chunk`, decompressed into `buffer` if it is compressed.
    pub(crate) fn open_chunk(
        &self,
        chunk: &Chunk,
        buffer: BytesMut,
    ) -> Result<ChunkContent> {
        self.encryption.check_unlocked()?;
        let lost = |kind| ChunkContent::Lost(Damage::new(kind, 0..u64::MAX));
        let compression = match &chunk.header.compression {
            Ok(compression) => *compression,
            Err(name) => {
                let damage = Damage::new(DamageKind::Garbled, 0..u64::MAX);
                let reason = unsupported_compression(name);
                return Ok(ChunkContent::Lost(damage.with_reason(reason)));
            }
        };
        if chunk.is_cut && chunk.data.is_empty() {
            return Ok(lost(DamageKind::Truncated));
        }
        let is_encrypted = !matches!(self.encryption, Encryption::None);
        if compression == Compression::None && !is_encrypted {
            return Ok(ChunkContent::Plain(WindowScan {
                bytes: chunk.data.clone(),
                is_cut: chunk.is_cut,
                is_outside_chunks: false,
                is_v1: false,
            }));
        }
        if chunk.data.end - chunk.data.start > self.options.record_bytes.into() {
            return Ok(lost(DamageKind::OverLimit));
        }
        let mut packed = self.source.read_at(chunk.data.clone())?;
        if let Encryption::Key(key) = &self.encryption {
            let decrypted = if chunk.is_cut {
                key.decrypt_truncated(&packed)
            } else {
                key.decrypt(&packed)
            };
            match decrypted {
                Some(decrypted) => packed = decrypted.freeze(),
                None => return Ok(lost(DamageKind::Garbled)),
            }
        }
        let declared_size = chunk.header.declared_size;
        let limit = self.chunk_limits.max_len(
            &*self.source,
            packed.len() as u64,
            declared_size.into(),
        )?;
        let (bytes, outcome) =
            compression.decompress(&packed, declared_size, limit, chunk.is_cut, buffer);
        Ok(ChunkContent::Decompressed(bytes.freeze(), outcome))
    }
}

/// Returns the reason why a chunk that is compressed with `name` cannot be read.
fn unsupported_compression(name: &str) -> String {
    let name = shorten_name(name);
    format!("the chunk is compressed with {name:?}, which logtool does not support")
}

impl Chunk {
    /// Scans `bytes`, the content of the chunk, which was decompressed with the result `outcome`.
    /// Positions of damage count from the start of the content.
    pub(crate) fn scan_records<V: RecordVisitor>(
        &self,
        bytes: &[u8],
        outcome: FrameOutcome,
        visitor: &mut V,
    ) {
        // A chunk that the recorder did not finish declares the size 0, and counts as complete.
        let is_complete = self.header.declared_size as usize <= bytes.len();
        let damage_kind = match outcome {
            FrameOutcome::Whole | FrameOutcome::Doubtful => None,
            FrameOutcome::Ended if is_complete => None,
            FrameOutcome::Ended if self.is_cut => Some(DamageKind::Truncated),
            FrameOutcome::Ended => Some(DamageKind::Garbled),
            FrameOutcome::Cut | FrameOutcome::Broken if self.is_cut => {
                Some(DamageKind::Truncated)
            }
            FrameOutcome::Cut | FrameOutcome::Broken => Some(DamageKind::Garbled),
            FrameOutcome::OverLimit => Some(DamageKind::OverLimit),
        };
        let segment = ScanSegment {
            base: 0,
            len: bytes.len() as u64,
            end_damage: DamageKind::Garbled,
            may_continue: damage_kind.is_some(),
            should_continue: false,
            is_outside_chunks: false,
            limit: u64::MAX,
            is_v1: false,
        };
        let ScanProgress { scanned_len, .. } = scan_records(bytes, &segment, visitor);
        if let Some(kind) = damage_kind {
            visitor.damage(Damage::new(kind, scanned_len..u64::MAX));
        }
        // If the file ends within the chunk, no checksum is expected.
        let is_doubtful = match outcome {
            FrameOutcome::Doubtful => true,
            FrameOutcome::Ended => is_complete && !self.is_cut,
            // Bzip2 has a checksum for each block, LZ4 one after the last block.
            FrameOutcome::Broken => {
                self.header.compression == Ok(Compression::Lz4) && !bytes.is_empty()
            }
            _ => false,
        };
        if is_doubtful {
            let mut doubtful = Damage::new(DamageKind::Doubtful, u64::MAX..u64::MAX);
            if outcome == FrameOutcome::Broken {
                doubtful = doubtful.with_reason("the checksum lies after the damage");
            }
            visitor.damage(doubtful);
        }
    }
}
