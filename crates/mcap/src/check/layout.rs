//! What lies where in a file.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use bytes::Bytes;
use logtool_core::{Finding, Findings, Result, WindowReader};

use crate::{
    check::{Checked, codes as code, declared::Declared},
    chunk::Compression,
    resync,
    wire::{self, Chunk, ChunkIndex, HEAD_LEN, MAGIC, Statistics, op},
};

/// Records of the summary, and declarations, that are longer are not looked at.
const MAX_CONTENT: usize = 64 << 20;

/// What lies where.
#[derive(Default)]
pub(super) struct Layout {
    pub(super) chunks: Vec<ChunkSeen>,
    /// The messages that are in no chunk: channel and time.
    pub(super) outside: Outside,
    /// What is declared in no chunk, and where.
    pub(super) declared: Vec<(u64, Declared)>,
    /// The numbers of the channels among them.
    channels: BTreeSet<u16>,
    pub(super) attachments: Vec<Range<u64>>,
    pub(super) metadata: Vec<Range<u64>>,
    /// Where the data end, and their checksum.
    pub(super) data_end: Option<(u64, u32)>,
    pub(super) summary: Summary,
    /// The footer: where it is, and what it says.
    pub(super) footer: Option<(u64, Footer)>,
    /// Whether all of the file was gone through, record by record.
    pub(super) is_whole: bool,
    /// Whether the last chunk has a head that cannot be gone by.
    is_behind_headless: bool,
}

/// A chunk that is not yet looked into.
#[derive(Clone, Debug)]
pub(super) struct ChunkSeen {
    /// Where its record is.
    pub(super) bytes: Range<u64>,
    /// Its times, its size, and how it is packed.
    pub(super) told: (u64, u64, u64, String),
    pub(super) packed_len: u64,
    /// Its message indexes: the channel, and where the record is.
    pub(super) indexes: Vec<(u16, Range<u64>)>,
}

/// Messages that are in no chunk.
#[derive(Default)]
pub(super) struct Outside {
    pub(super) counts: BTreeMap<u16, u64>,
    /// The first and the last time.
    pub(super) times: Option<(u64, u64)>,
    /// Those of channels that were not declared before: where, and of which.
    pub(super) undeclared: Vec<(u64, u16)>,
}

/// What is said behind the data.
#[derive(Default)]
pub(super) struct Summary {
    /// Where it begins: at the first of its records.
    pub(super) start: Option<u64>,
    pub(super) declared: Vec<Declared>,
    pub(super) chunks: Vec<(u64, ChunkIndex)>,
    pub(super) statistics: Option<(u64, Statistics)>,
    /// Where attached files are said to be, and metadata, and groups of the summary: what
    /// kind of record is said to be at which bytes.
    pub(super) places: Vec<(u64, u8, Range<u64>)>,
    /// The first record of each kind.
    pub(super) offsets: Option<u64>,
}

/// What a footer says.
#[derive(Clone, Copy)]
pub(super) struct Footer {
    pub(super) summary: u64,
    pub(super) offsets: u64,
    pub(super) crc: u32,
}

impl Layout {
    /// Goes through the file of `log`, from record to record.
    pub(super) fn read(log: &Checked, findings: &mut Findings) -> Result<Self> {
        let (len, mut window) = (log.source.len(), WindowReader::new(&log.source));
        let (mut layout, mut at) = (Self::default(), MAGIC.len() as u64);
        layout.is_whole = true;
        while at < len {
            let sight = window.at(at, resync::SIGHT)?;
            let is_magic = sight.starts_with(&MAGIC);
            if is_magic && layout.footer.is_some() {
                let end = at + MAGIC.len() as u64;
                if end < len {
                    let what = format!("{} bytes", len - end);
                    findings.add(Finding::new(&code::TRAILING, what).at(end..len));
                }
                return Ok(layout);
            }
            let chunks = &log.chunks;
            let chunk = chunks.binary_search_by_key(&at, |chunk| chunk.start);
            if let Some(bytes) = chunk.ok().and_then(|at| chunks.get(at)) {
                at = bytes.end;
                layout.chunk(&mut window, bytes.clone())?;
                continue;
            }
            let head = wire::head(&sight);
            let whole = head.and_then(|(op, content)| {
                let end = at.checked_add(HEAD_LEN as u64)?.checked_add(content)?;
                (op != 0 && end <= len).then_some((op, at..end))
            });
            let gap = log.gaps.binary_search_by_key(&at, |gap| gap.bytes.start);
            let gap = gap.ok().and_then(|index| log.gaps.get(index));
            match (whole, gap) {
                (Some((op, bytes)), None) => {
                    at = bytes.end;
                    layout.record(&mut window, op, bytes, findings)?;
                }
                (_, Some(gap)) => {
                    layout.is_whole = false;
                    at = gap.bytes.end.max(at + 1);
                }
                (None, None) => {
                    layout.is_whole = false;
                    at = resync::search(&mut window, at + 1, len)?.unwrap_or(len);
                }
            }
        }
        let end = len.saturating_sub(MAGIC.len() as u64);
        if layout.footer.is_none() && window.peek(end, MAGIC.len())?[..] == MAGIC {
            return Ok(layout);
        }
        let what = "it breaks off before its end";
        findings.add(Finding::new(&code::MAGIC_END, what).at(len..len));
        Ok(layout)
    }

    fn record(
        &mut self,
        window: &mut WindowReader<'_>,
        op: u8,
        bytes: Range<u64>,
        findings: &mut Findings,
    ) -> Result<()> {
        let len = (bytes.end - bytes.start) as usize;
        let is_behind = self.data_end.is_some();
        let (is_short, len) = (len <= MAX_CONTENT, len.min(MAX_CONTENT));
        let mut content = || -> Result<Bytes> {
            let all = window.at(bytes.start, len)?;
            Ok(all.slice(HEAD_LEN.min(all.len())..len.min(all.len())))
        };
        if is_behind && op != op::FOOTER {
            self.summary.start.get_or_insert(bytes.start);
        }
        match op {
            op::CHUNK => self.chunk(window, bytes)?,
            op::MESSAGE_INDEX if self.is_behind_headless => {}
            op::MESSAGE => {
                let all = window.at(bytes.start, HEAD_LEN + wire::MESSAGE_HEAD_LEN)?;
                self.message(bytes.start, all.get(HEAD_LEN..).unwrap_or_default());
            }
            op::MESSAGE_INDEX => {
                let all = window.at(bytes.start, HEAD_LEN + 2)?;
                let channel = all.get(HEAD_LEN..HEAD_LEN + 2);
                let channel = channel.and_then(|id| id.try_into().ok());
                if let (Some(chunk), Some(id)) = (self.chunks.last_mut(), channel) {
                    chunk.indexes.push((u16::from_le_bytes(id), bytes));
                }
            }
            op::ATTACHMENT => self.attachments.push(bytes),
            op::METADATA => self.metadata.push(bytes),
            op::FOOTER => {
                let footer = wire::footer_of(&content()?);
                self.footer = footer
                    .map(|(summary, offsets, crc)| Footer { summary, offsets, crc })
                    .map(|footer| (bytes.start, footer));
            }
            op::DATA_END => {
                let crc = content()?.get(..4).and_then(|crc| crc.try_into().ok());
                let crc = u32::from_le_bytes(crc.unwrap_or_default());
                self.data_end = Some((bytes.start, crc));
            }
            op::SCHEMA | op::CHANNEL if is_short => {
                let declared = Declared::of(op, &content()?);
                match is_behind {
                    true => self.summary.declared.extend(declared),
                    false => {
                        let channel = declared.as_ref().and_then(Declared::channel);
                        self.channels.extend(channel);
                        let placed = declared.map(|declared| (bytes.start, declared));
                        self.declared.extend(placed);
                    }
                }
            }
            op::CHUNK_INDEX if is_short => {
                let index = ChunkIndex::parse(&content()?);
                self.summary.chunks.extend(index.map(|index| (bytes.start, index)));
            }
            op::STATISTICS if is_short => {
                let told = Statistics::parse(&content()?);
                self.summary.statistics = told.map(|told| (bytes.start, told));
            }
            op::ATTACHMENT_INDEX | op::METADATA_INDEX | op::SUMMARY_OFFSET
                if is_short =>
            {
                let place = wire::place(op, &content()?);
                if op == op::SUMMARY_OFFSET {
                    self.summary.offsets.get_or_insert(bytes.start);
                }
                let told = place.map(|(kind, place)| (bytes.start, kind, place));
                self.summary.places.extend(told);
            }
            0x10..=0x7f => {
                let what = format!("its opcode is {op:#04x}");
                findings.add(Finding::new(&code::RECORD_UNKNOWN, what).at(bytes));
            }
            _ => {}
        }
        Ok(())
    }

    fn chunk(
        &mut self,
        window: &mut WindowReader<'_>,
        bytes: Range<u64>,
    ) -> Result<()> {
        let len = resync::SIGHT.min((bytes.end - bytes.start) as usize);
        let head = window.at(bytes.start, len)?;
        let is_so = wire::head(&head).is_some_and(|(op, content)| {
            op == op::CHUNK && content == bytes.end - bytes.start - HEAD_LEN as u64
        });
        let chunk = Chunk::parse(head.get(HEAD_LEN..len).unwrap_or_default());
        let is_known =
            |chunk: &Chunk<'_>| is_so || Compression::of(chunk.compression).is_some();
        let chunk = chunk.filter(is_known);
        self.is_whole &= is_so && chunk.is_some();
        self.is_behind_headless = chunk.is_none();
        if let Some(chunk) = chunk {
            let name = logtool_core::decode_text(chunk.compression).into_owned();
            let told = (chunk.start, chunk.end, chunk.size, name);
            let (packed_len, indexes) = (chunk.packed_len, Vec::new());
            self.chunks.push(ChunkSeen { bytes, told, packed_len, indexes });
        }
        Ok(())
    }

    fn message(&mut self, at: u64, content: &[u8]) {
        let Some((channel, time)) = wire::message(content) else { return };
        let is_new = !self.outside.counts.contains_key(&channel);
        *self.outside.counts.entry(channel).or_default() += 1;
        let (first, last) = self.outside.times.unwrap_or((time, time));
        self.outside.times = Some((first.min(time), last.max(time)));
        if is_new && !self.channels.contains(&channel) {
            self.outside.undeclared.push((at, channel));
        }
    }
}
