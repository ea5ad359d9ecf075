//! What an MCAP file holds: by its summary where that is sound, else by looking through
//! all of it.

mod finish;
mod scan;
mod summary;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use logtool_core::{
    Damage, DamageKind, Error, ErrorKind, Manifest, OpenOptions, Result, Source,
    TimeRange, TopicSet, WindowReader,
};

use crate::{
    chunk::Compression,
    notes::Notes,
    table::Table,
    wire::{self, FOOTER_LEN, MAGIC, op},
};

/// Surveys the file in `source`.
///
/// # Errors
/// `Unrecognized` if it is none.
pub(crate) fn survey(
    source: &Arc<dyn Source>,
    options: OpenOptions,
) -> Result<(Manifest, Notes)> {
    let mut window = WindowReader::new(source);
    let head = window.peek(0, MAGIC.len())?; // no window: there may be a summary
    let has_magic = head.starts_with(&MAGIC);
    if !has_magic && !options.is_format_given {
        let what = "it does not begin as an MCAP file does";
        return Err(Error::new(ErrorKind::Unrecognized, what).at(0));
    }
    let mut found = match summary::read(&mut window, source.len(), options)? {
        Ok(found) => found,
        Err(why) => {
            let mut found = scan::scan(&mut window, source.len(), options)?;
            let remark = why.map(|why| format!("the summary is not gone by: {why}"));
            found.remarks.extend(remark);
            found
        }
    };
    if !has_magic {
        let lost = Damage::new(DamageKind::Garbled, 0..START.min(source.len()));
        found.damage.push(lost.with_reason("the magic bytes of the file are lost"));
    }
    found.finish(source.len())
}

/// What was found so far.
#[derive(Default)]
struct Found {
    profile: String,
    library: String,
    table: Table,
    tiles: Vec<Tile>,
    /// How many messages each channel has; nothing where that is not known.
    counts: Option<BTreeMap<u16, Count>>,
    gaps: Vec<Damage>,
    damage: Vec<Damage>,
    remarks: Vec<String>,
    metadata: Vec<(String, BTreeMap<String, String>)>,
    /// Where the records are of files that are attached.
    attached: Vec<Range<u64>>,
    has_summary: bool,
    packing: BTreeMap<String, Packing>,
}

/// What is known of the messages of a channel.
#[derive(Clone, Copy, Default)]
struct Count {
    records: u64,
    bytes: Option<u64>,
    time: Option<TimeRange>,
}

/// A stretch that can be read by itself.
struct Tile {
    bytes: Range<u64>,
    is_chunk: bool,
    /// The channels of its messages, where they are known.
    channels: Option<BTreeSet<u16>>,
    time: TimeRange,
}

/// How chunks are packed in one way.
#[derive(Clone, Copy, Default)]
struct Packing {
    chunks: u64,
    packed: u64,
    size: u64,
}

impl Found {
    /// Notes what a header or a metadata record says.
    fn words(&mut self, op: u8, content: &[u8]) {
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

    /// The compressions that are not known, and how many chunks have each.
    fn unknown(&self) -> impl Iterator<Item = (String, u64)> {
        let is_unknown = |name: &str| Compression::of(name.as_bytes()).is_none();
        let unknown = self.packing.iter().filter(move |(name, _)| is_unknown(name));
        let shown = unknown.take(MOST_NAMES);
        shown.map(|(name, packing)| {
            (name.chars().take(LETTERS).collect(), packing.chunks)
        })
    }

    fn pack(&mut self, compression: &str, packed: u64, size: u64) {
        let name = if compression.is_empty() { "none" } else { compression };
        let packing = self.packing.entry(name.to_owned()).or_default();
        packing.chunks += 1;
        packing.packed = packing.packed.saturating_add(packed);
        packing.size = packing.size.saturating_add(size);
    }
}

impl Tile {
    /// The topics that it may have messages of.
    fn topics(&self, table: &Table) -> TopicSet {
        match &self.channels {
            Some(channels) => {
                channels.iter().filter_map(|id| table.topic(*id)).collect()
            }
            None => TopicSet::All,
        }
    }
}

/// So many compressions that are not known are told, and so many letters of their names.
const MOST_NAMES: usize = 5;
const LETTERS: usize = 40;

/// Where the records begin.
const START: u64 = MAGIC.len() as u64;

/// The least that a file has after its records: a footer, and its last bytes.
const END_LEN: u64 = (FOOTER_LEN + MAGIC.len()) as u64;
