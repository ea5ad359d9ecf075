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
    chunk::{Compression, MAX_NAME_CHARS},
    format_state::FormatState,
    index::summary::SummaryResult,
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
        SummaryResult::Complete(pass) => *pass,
        SummaryResult::Incomplete => scan::scan(&mut window, source.len(), options)?,
        SummaryResult::Invalid(reason) => {
            let mut pass = scan::scan(&mut window, source.len(), options)?;
            pass.remarks.push(format!("the summary is not used: {reason}"));
            pass
        }
    };
    if !has_magic {
        let lost =
            Damage::new(DamageKind::Garbled, 0..FIRST_RECORD_START.min(source.len()));
        pass.damage.push(lost.with_reason("the magic bytes of the file are lost"));
    }
    pass.finish(source.len())
}

/// The offset of the first record.
const FIRST_RECORD_START: u64 = MAGIC.len() as u64;

/// The length of the end of a file: a footer and the magic bytes.
const FILE_END_LEN: u64 = (FOOTER_LEN + MAGIC.len()) as u64;

/// The maximum number of unknown compressions in texts for users.
const MAX_NAMES: usize = 5;

/// The contents of a file, as far as they are needed for the manifest.
#[derive(Default)]
struct IndexPass {
    profile: String,
    /// The library that wrote the file.
    library: String,
    table: ChannelTable,
    /// The parts, in the order of the file.
    parts: Vec<PartEntry>,
    /// The statistics of each channel that has messages; `None` if they are unknown.
    counts: Option<BTreeMap<u16, ChannelStatistics>>,
    /// The damaged ranges outside chunks, in the order of the file.
    damaged_ranges: Vec<Damage>,
    /// All damage, including the damaged ranges.
    damage: Vec<Damage>,
    remarks: Vec<String>,
    metadata: Vec<(String, BTreeMap<String, String>)>,
    /// The byte ranges of attachment records.
    attachments: Vec<Range<u64>>,
    /// Whether this was read from the summary, and not by scanning the whole file.
    has_summary: bool,
    /// The statistics of the chunks by the name of their compression, which is `none` for
    /// uncompressed chunks.
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
    /// Stores the content of a header or a metadata record.
    fn add_header_or_metadata(&mut self, op: u8, content: &[u8]) {
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

    /// Adds a remark about a record at `range` that is too long to be read.
    fn add_length_remark(&mut self, op: u8, range: &Range<u64>) {
        let record = match op {
            op::HEADER => "header",
            op::SCHEMA => "schema",
            op::CHANNEL => "channel",
            _ => "metadata",
        };
        let (len, start) = (range.end - range.start, range.start);
        self.remarks.push(format!(
            "the {record} record at byte {start} is too long to be read: it has {len} bytes"
        ));
    }

    /// Returns the first unknown compressions, each with its number of chunks.
    fn unknown_compressions(&self) -> impl Iterator<Item = (String, u64)> {
        let is_unknown = |name: &str| Compression::from_name(name.as_bytes()).is_none();
        let unknown =
            self.compressions.iter().filter(move |(name, _)| is_unknown(name));
        unknown.take(MAX_NAMES).map(|(name, statistics)| {
            (name.chars().take(MAX_NAME_CHARS).collect(), statistics.chunks)
        })
    }

    /// Adds a chunk to the statistics of its compression.
    fn count_chunk(
        &mut self,
        compression: &str,
        compressed_len: u64,
        uncompressed_len: u64,
    ) {
        let name = if compression.is_empty() { "none" } else { compression };
        let statistics = self.compressions.entry(name.to_owned()).or_default();
        statistics.chunks += 1;
        statistics.bytes = statistics.bytes.saturating_add(compressed_len);
        statistics.uncompressed_bytes =
            statistics.uncompressed_bytes.saturating_add(uncompressed_len);
    }
}

impl PartEntry {
    /// Returns the topics that may have messages in this part.
    fn topics(&self, table: &ChannelTable) -> TopicSet {
        match &self.channels {
            Some(channels) => {
                channels.iter().filter_map(|id| table.topic(*id)).collect()
            }
            None => TopicSet::All,
        }
    }
}
