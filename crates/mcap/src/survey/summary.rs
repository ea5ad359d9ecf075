//! What the summary at the end of a file says, if it can be believed.

mod counts;
mod declarations;

use std::{collections::BTreeSet, ops::Range};

use logtool_core::{OpenOptions, Result, TimeRange, Timestamp, WindowReader};

use crate::{
    chunk::Compression,
    contents::{self, Met},
    resync,
    survey::{
        Count, END_LEN, Found, START, Tile,
        summary::{counts::MessageCounts, declarations::Declarations},
    },
    wire::{self, Chunk, ChunkIndex, HEAD_LEN, MAGIC, Statistics, op, timestamp},
};

/// A summary that is longer is not believed.
const MAX_LEN: u64 = 1 << 30;
/// Words that are longer are not kept.
const MAX_WORDS: u64 = 1 << 20;

/// What a summary says, or why it is not gone by, where there is one.
pub(super) type Told = std::result::Result<Found, Option<&'static str>>;

/// What the summary of a file of `len` bytes says.
pub(super) fn read(
    window: &mut WindowReader<'_>,
    len: u64,
    options: OpenOptions,
) -> Result<Told> {
    let Some(end) = len.checked_sub(END_LEN).filter(|end| *end >= START) else {
        return Ok(Err(None));
    };
    let tail = window.peek(end, END_LEN as usize)?;
    let footer = wire::record(&tail).filter(|(op, _)| *op == op::FOOTER);
    let footer = footer.and_then(|(_, content)| wire::footer(content));
    let (Some((start, crc)), true) = (footer, tail.ends_with(&MAGIC)) else {
        return Ok(Err(None));
    };
    if start == 0 {
        return Ok(Err(None));
    }
    if start < START || start > end || end - start > MAX_LEN {
        return Ok(Err(Some("it lies where it cannot be")));
    }
    // The checksum takes in the footer, up to itself.
    let len = (end - start) as usize;
    let bytes = window.peek(start, len + HEAD_LEN + 16)?;
    if crc != 0 && crc32fast::hash(&bytes) != crc {
        return Ok(Err(Some("its checksum is another one")));
    }
    let (mut summary, mut is_broken) = (Summary::default(), false);
    contents::walk(bytes.get(..len).unwrap_or_default(), |met| match met {
        Met::Record(op, content, range) => {
            let place = start + range.start as u64..start + range.end as u64;
            is_broken |= summary.take(op, content, place).is_none();
        }
        Met::Gap(_) => is_broken = true,
    });
    if is_broken {
        return Ok(Err(Some("it is broken")));
    }
    summary.check(window, start, options)
}

#[derive(Default)]
struct Summary {
    found: Found,
    declared: Declarations,
    chunks: Vec<ChunkIndex>,
    statistics: Option<Statistics>,
    /// How many messages each channel has by the data section.
    counts: MessageCounts,
}

impl Summary {
    fn take(&mut self, op: u8, content: &[u8], place: Range<u64>) -> Option<()> {
        match op {
            op::SCHEMA | op::CHANNEL => self.declared.add(op, content, place)?,
            op::CHUNK_INDEX => self.chunks.push(ChunkIndex::parse(content)?),
            op::STATISTICS => self.statistics = Some(Statistics::parse(content)?),
            _ => {}
        }
        Some(())
    }

    /// Checks the places of the chunks and the records between them, and completes the
    /// summary from the data section, which ends at `end`.
    fn check(
        mut self,
        window: &mut WindowReader<'_>,
        end: u64,
        options: OpenOptions,
    ) -> Result<Told> {
        let told = self.statistics.as_ref().map(|told| (told.messages, told.chunks));
        if self.chunks.is_empty() && told != Some((0, 0)) {
            // Messages are in no chunk, or there is no list of chunks.
            return Ok(Err(None));
        }
        if told.is_some_and(|(_, chunks)| chunks as usize != self.chunks.len()) {
            return Ok(Err(Some("it counts other chunks than it lists")));
        }
        self.chunks.sort_by_key(|chunk| chunk.at);
        let chunks = std::mem::take(&mut self.chunks);
        let mut at = START;
        for chunk in &chunks {
            let ends = chunk.at.checked_add(chunk.len);
            let Some(chunk_end) = ends.filter(|ends| chunk.at >= at && *ends <= end)
            else {
                return Ok(Err(Some("chunks lie where they cannot be")));
            };
            if !self.between(window, at..chunk.at)? {
                return Ok(Err(Some("between chunks there are no records")));
            }
            let is_known = Compression::of(chunk.compression.as_bytes()).is_some();
            if !is_known && !is_compressed_so(window, chunk)? {
                return Ok(Err(Some("it tells of another compression than a chunk")));
            }
            at = chunk_end.saturating_add(chunk.index_len);
            self.found.pack(&chunk.compression, chunk.packed_len, chunk.size);
            // Where the list of message indexes is empty, it is not known which there are.
            let is_indexed = chunk.index_len > 0 && !chunk.channels.is_empty();
            self.found.tiles.push(Tile {
                bytes: chunk.at..chunk_end,
                is_chunk: true,
                channels: is_indexed.then(|| {
                    chunk.channels.iter().map(|(channel, _)| *channel).collect()
                }),
                time: range(chunk.start, chunk.end),
            });
        }
        if at > end || !self.between(window, at..end)? {
            return Ok(Err(Some("behind the chunks there are no records")));
        }
        let used = self.used_channels(&chunks);
        for chunk in &chunks {
            if self.declared.are_complete(&used) {
                break;
            }
            if !self.declared.read_chunk(window, chunk, options)? {
                return Ok(Err(Some("it does not repeat the channels")));
            }
        }
        if !used.iter().all(|id| self.declared.has_channel(*id)) {
            return Ok(Err(Some("messages are of channels that are not declared")));
        }
        let counts = match self.statistics.as_ref().and_then(Statistics::counts) {
            Some(counts) => Some(counts.clone()),
            None => self.counts.of_chunks(window, &chunks)?,
        };
        // Without statistics and message indexes only the messages themselves can be counted.
        let Some(counts) = counts else { return Ok(Err(None)) };
        let mut found = self.found;
        self.declared.declare(&mut found.table);
        found.has_summary = true;
        let count = |records| Count { records, ..Count::default() };
        let counts = counts.into_iter().map(|(id, records)| (id, count(records)));
        found.counts = Some(counts.collect());
        Ok(Ok(found))
    }

    /// Returns the channels that are known to have messages.
    fn used_channels(&self, chunks: &[ChunkIndex]) -> BTreeSet<u16> {
        let indexed = chunks.iter().flat_map(|chunk| &chunk.channels).map(|(id, _)| id);
        let counted = self.statistics.iter().flat_map(|told| told.of_channels.keys());
        indexed.chain(counted).chain(self.counts.channels()).copied().collect()
    }

    /// Looks at the heads of the records in a stretch that is in no chunk; says whether
    /// it is records.
    fn between(
        &mut self,
        window: &mut WindowReader<'_>,
        stretch: Range<u64>,
    ) -> Result<bool> {
        let (mut at, mut has_messages) = (stretch.start, false);
        while at < stretch.end {
            let bytes = window.peek(at, HEAD_LEN + 2)?;
            let Some((op, len)) = wire::head(&bytes).filter(|(op, _)| *op != 0) else {
                return Ok(false);
            };
            let end = at.saturating_add(HEAD_LEN as u64).saturating_add(len);
            if end > stretch.end || op == op::CHUNK {
                return Ok(false);
            }
            match op {
                op::MESSAGE => {
                    has_messages = true;
                    self.counts.add_message(bytes.get(HEAD_LEN..).unwrap_or_default());
                }
                op::ATTACHMENT => self.found.attached.push(at..end),
                op::HEADER | op::METADATA if len < MAX_WORDS => {
                    let content = window.peek(at + HEAD_LEN as u64, len as usize)?;
                    self.found.words(op, &content);
                }
                op::SCHEMA | op::CHANNEL if len < MAX_LEN => {
                    let content = window.peek(at + HEAD_LEN as u64, len as usize)?;
                    if self.declared.add(op, &content, at..end).is_none() {
                        return Ok(false);
                    }
                }
                _ => {}
            }
            at = end;
        }
        if has_messages {
            self.found.tiles.push(Tile {
                bytes: stretch,
                is_chunk: false,
                channels: None,
                time: TimeRange::ALL,
            });
        }
        Ok(true)
    }
}

/// Whether the chunk itself tells of the compression that `index` does.
fn is_compressed_so(window: &WindowReader<'_>, index: &ChunkIndex) -> Result<bool> {
    let head = window.peek(index.at, resync::SIGHT)?;
    let chunk = head.get(HEAD_LEN..).and_then(Chunk::parse);
    Ok(chunk.is_some_and(|chunk| chunk.compression == index.compression.as_bytes()))
}

/// From the one time to the other, both taken in.
fn range(start: u64, end: u64) -> TimeRange {
    let (start, end) = (timestamp(start), timestamp(end));
    let end = Timestamp::from_nanos(end.as_nanos().saturating_add(1));
    TimeRange { start, end }
}
