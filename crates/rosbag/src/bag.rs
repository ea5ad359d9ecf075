//! What all readers of a bag share, and how a chunk is opened.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use bytes::{Bytes, BytesMut};
use logtool_core::{Damage, DamageKind, OpenOptions, Result, Source};

use crate::{
    chunk::{Compression, Unpacked},
    encryption::Lock,
    head::Head,
    index::{self, IndexedChunk},
    options::RosbagOptions,
    packing::shortened,
    toplevel::ChunkHead,
    walk::{Plain, Progress, Stretch, Visitor, walk},
};

/// What all readers of a bag share.
#[derive(Clone)]
pub(crate) struct Bag {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) options: OpenOptions,
    pub(crate) lock: Lock,
    pub(crate) head: Arc<Head>,
    /// What the index tells of the chunks, once somebody asked.
    told: Arc<OnceLock<Vec<IndexedChunk>>>,
}

/// A chunk, and how much of it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) at: u64,
    pub(crate) head: ChunkHead,
    /// Its packed bytes, as far as the file has them.
    pub(crate) data: Range<u64>,
    /// Whether the file has not all of them.
    pub(crate) is_cut: bool,
    /// Whether it says to have more of them, or less.
    pub(crate) is_wrong: bool,
}

/// The content of a chunk.
pub(crate) enum Content {
    /// It lies open in the file.
    Plain(Plain),
    /// It is unpacked.
    Unpacked(Bytes, Unpacked),
    /// It cannot be had: this is all of it.
    Lost(Damage),
}

impl Bag {
    /// The bag in `source`, which begins with `head`.
    pub(crate) fn new(
        source: Arc<dyn Source>,
        head: Head,
        options: &RosbagOptions,
    ) -> Self {
        let lock = Lock::new(&head.encryptor, &head.user, options.key);
        let (head, told) = (Arc::new(head), Arc::default());
        Self { source, options: options.open, lock, head, told }
    }

    /// What the index tells of the chunks, in the order of the file: of those that are
    /// lost, too. It is read when that is first asked.
    pub(crate) fn told(&self) -> Result<&[IndexedChunk]> {
        if let Some(told) = self.told.get() {
            return Ok(told);
        }
        let told = index::chunks(&self.source, &self.head, &self.lock)?;
        Ok(self.told.get_or_init(|| told))
    }

    /// What the index tells of the chunk at `at`, if it tells of one.
    pub(crate) fn told_of(&self, at: u64) -> Result<Option<&IndexedChunk>> {
        let told = self.told()?;
        let place = told.binary_search_by_key(&at, |chunk| chunk.at).ok();
        Ok(place.and_then(|place| told.get(place)))
    }

    /// The content of `chunk`, unpacked into `buffer`.
    pub(crate) fn open(&self, chunk: &Chunk, buffer: BytesMut) -> Result<Content> {
        self.lock.check()?;
        let lost = |kind| Content::Lost(Damage::new(kind, 0..u64::MAX));
        let compression = match &chunk.head.compression {
            Ok(compression) => *compression,
            Err(name) => {
                let lost = Damage::new(DamageKind::Garbled, 0..u64::MAX);
                return Ok(Content::Lost(lost.with_reason(unknown(name))));
            }
        };
        if chunk.is_cut && chunk.data.is_empty() {
            return Ok(lost(DamageKind::Truncated));
        }
        let is_open = matches!(self.lock, Lock::Open);
        if compression == Compression::None && is_open {
            return Ok(Content::Plain(Plain {
                bytes: chunk.data.clone(),
                is_cut: chunk.is_cut,
                is_outside: false,
                is_v1: false,
            }));
        }
        let limit = self.options.record_bytes as usize;
        if chunk.data.end - chunk.data.start > limit as u64 {
            return Ok(lost(DamageKind::OverLimit));
        }
        let mut packed = self.source.read_at(chunk.data.clone())?;
        if let Lock::Key(key) = &self.lock {
            let text = match chunk.is_cut {
                true => key.decrypt_cut(&packed),
                false => key.decrypt(&packed),
            };
            match text {
                Some(text) => packed = text.freeze(),
                None => return Ok(lost(DamageKind::Garbled)),
            }
        }
        let declared = chunk.head.declared;
        let (bytes, how) =
            compression.unpack_of(&packed, declared, limit, chunk.is_cut, buffer);
        Ok(Content::Unpacked(bytes.freeze(), how))
    }
}

/// Why nothing can be read of a chunk that is packed with `name`.
fn unknown(name: &str) -> String {
    let name = shortened(name);
    format!("the chunk is compressed with {name:?}, which logtool does not know")
}

impl Chunk {
    /// Walks over the content `bytes` of the chunk, unpacked `how`. Damage is counted
    /// from the start of the content.
    pub(crate) fn walk<V: Visitor>(
        &self,
        bytes: &[u8],
        how: Unpacked,
        visitor: &mut V,
    ) {
        // What was not yet told when its recorder was ended, or is there.
        let is_all = self.head.declared as usize <= bytes.len();
        let cut = match how {
            Unpacked::Whole | Unpacked::Doubtful => None,
            Unpacked::Ended if is_all => None,
            Unpacked::Ended if self.is_cut => Some(DamageKind::Truncated),
            Unpacked::Ended => Some(DamageKind::Garbled),
            Unpacked::Cut | Unpacked::Broken if self.is_cut => {
                Some(DamageKind::Truncated)
            }
            Unpacked::Cut | Unpacked::Broken => Some(DamageKind::Garbled),
            Unpacked::OverLimit => Some(DamageKind::OverLimit),
        };
        let stretch = Stretch {
            base: 0,
            left: bytes.len() as u64,
            end: DamageKind::Garbled,
            goes_on: cut.is_some(),
            is_short: false,
            is_outside: false,
            limit: u64::MAX,
            is_v1: false,
        };
        let Progress { used, .. } = walk(bytes, &stretch, visitor);
        if let Some(kind) = cut {
            visitor.damage(Damage::new(kind, used..u64::MAX));
        }
        // Where the file ends, no checksum is to be expected.
        let is_doubtful = match how {
            Unpacked::Doubtful => true,
            Unpacked::Ended => is_all && !self.is_cut,
            // Bzip2 has a checksum for each block, LZ4 one behind the last.
            Unpacked::Broken => {
                self.head.compression == Ok(Compression::Lz4) && !bytes.is_empty()
            }
            _ => false,
        };
        if is_doubtful {
            let mut doubtful = Damage::new(DamageKind::Doubtful, u64::MAX..u64::MAX);
            if how == Unpacked::Broken {
                doubtful =
                    doubtful.with_reason("the checksum lies behind what is broken");
            }
            visitor.damage(doubtful);
        }
    }
}
