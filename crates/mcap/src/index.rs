//! Builds the manifest of an MCAP file from its summary, or by scanning the whole file
//! if the summary is missing or invalid.

mod manifest;
mod scan;
mod summary;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use logtool_core::{
    CompressionStatistics, Damage, DamageKind, Error, ErrorKind, Manifest, OpenOptions,
    Result, Source, TimeRange, TopicSet, WindowReader,
};

use crate::{
    channel_table::ChannelTable,
    chunk::Compression,
    format_state::FormatState,
    wire::{self, FOOTER_LEN, MAGIC, op},
};

/// Builds the manifest of the file in `source`.
///
/// # Errors
/// `Unrecognized` if the file is not MCAP.
pub(crate) fn build_manifest(
    source: &Arc<dyn Source>,
    options: OpenOptions,
) -> Result<(Manifest, FormatState)> {
    let mut window = WindowReader::new(source);
    let first_bytes = window.peek(0, MAGIC.len())?; // no read-ahead: a summary may follow
    let has_magic = first_bytes.starts_with(&MAGIC);
    if !has_magic && !options.is_format_given {
        let message = "the file does not start with the MCAP magic bytes";
        return Err(Error::new(ErrorKind::Unrecognized, message).with_offset(0));
    }
    let mut pass = match summary::read(&mut window, source.len(), options)? {
        Ok(pass) => pass,
        Err(reason) => {
            let mut pass = scan::scan(&mut window, source.len(), options)?;
            let remark =
                reason.map(|reason| format!("the summary is not used: {reason}"));
            pass.remarks.extend(remark);
            pass
        }
    };
    if !has_magic {
        let lost = Damage::new(DamageKind::Garbled, 0..FIRST_RECORD.min(source.len()));
        pass.damage.push(lost.with_reason("the magic bytes of the file are lost"));
    }
    pass.finish(source.len())
}

/// The findings about a file.
#[derive(Default)]
struct IndexPass {
    profile: String,
    library: String,
    table: ChannelTable,
    part_entries: Vec<PartEntry>,
    /// The number of messages of each channel; `None` if it is unknown.
    counts: Option<BTreeMap<u16, ChannelStatistics>>,
    damaged_ranges: Vec<Damage>,
    damage: Vec<Damage>,
    remarks: Vec<String>,
    metadata: Vec<(String, BTreeMap<String, String>)>,
    /// The byte ranges of attachment records.
    attachments: Vec<Range<u64>>,
    has_summary: bool,
    compressions: BTreeMap<String, CompressionStatistics>,
}

/// Statistics of the messages of a channel.
#[derive(Clone, Copy, Default)]
struct ChannelStatistics {
    records: u64,
    bytes: Option<u64>,
    time: Option<TimeRange>,
}

/// A range of the file that can be read on its own.
struct PartEntry {
    bytes: Range<u64>,
    is_chunk: bool,
    /// The channels of its messages, if they are known.
    channels: Option<BTreeSet<u16>>,
    time: TimeRange,
}

impl IndexPass {
    /// Stores the contents of a header or a metadata record.
    fn add_metadata(&mut self, op: u8, content: &[u8]) {
        match op {
            op::HEADER => {
                if let Some((profile, library)) = wire::header(content) {
                    (self.profile, self.library) = (profile, library);
                }
            }
            op::METADATA => self.metadata.extend(wire::metadata(content)),
            _ => {}
        }
    }

    /// Returns the unknown compressions, each with its number of chunks.
    fn unknown(&self) -> impl Iterator<Item = (String, u64)> {
        let is_unknown = |name: &str| Compression::from_name(name.as_bytes()).is_none();
        let unknown =
            self.compressions.iter().filter(move |(name, _)| is_unknown(name));
        let named = unknown.take(MAX_NAMES);
        named.map(|(name, statistics)| {
            (name.chars().take(MAX_NAME_CHARS).collect(), statistics.chunks)
        })
    }

    fn add_chunk(&mut self, compression: &str, compressed: u64, size: u64) {
        let name = if compression.is_empty() { "none" } else { compression };
        let statistics = self.compressions.entry(name.to_owned()).or_default();
        statistics.chunks += 1;
        statistics.bytes = statistics.bytes.saturating_add(compressed);
        statistics.uncompressed_bytes =
            statistics.uncompressed_bytes.saturating_add(size);
    }
}

impl PartEntry {
    /// Returns the topics that may have messages here.
    fn topics(&self, table: &ChannelTable) -> TopicSet {
        match &self.channels {
            Some(channels) => {
                channels.iter().filter_map(|id| table.topic(*id)).collect()
            }
            None => TopicSet::All,
        }
    }
}

/// The maximum number of unknown compressions in messages.
const MAX_NAMES: usize = 5;
/// The maximum number of characters of their names.
const MAX_NAME_CHARS: usize = 40;

/// The offset of the first record.
const FIRST_RECORD: u64 = MAGIC.len() as u64;

/// The minimum length of the end of a file: a footer and the magic bytes.
const END_LEN: u64 = (FOOTER_LEN + MAGIC.len()) as u64;
