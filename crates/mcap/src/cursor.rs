//! Reading the messages of a part.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::{
    Block, Cursor, Damage, DamageKind, DamagedRangeCursor, OpenOptions, RecordScanner,
    Result, ScanStep, Selection, Source,
};

use crate::{
    channels::Channels,
    check::Inside,
    chunk::{self, Opened},
    contents::{self, Met},
    wire::{self, ENVELOPE, HEAD_LEN, op, timestamp},
};

/// Reads a part.
pub(crate) struct McapCursor {
    reader: Reader,
    next: Next,
}

/// What is to be read next.
enum Next {
    /// The chunk that lies here.
    Chunk(Arc<dyn Source>, Range<u64>),
    /// Records that are in no chunk.
    Records {
        walk: RecordScanner,
        gaps: Arc<[Damage]>,
        gap: DamagedRangeCursor,
    },
    Nothing,
}

/// What is wanted of messages.
struct Reader {
    channels: Arc<Channels>,
    selection: Selection,
    /// Whether some of that is derived of messages.
    has_derived: bool,
    options: OpenOptions,
    /// What looks into chunks as they are read.
    inside: Option<Arc<Inside>>,
}

impl McapCursor {
    /// A cursor of the chunk that lies at `place` of `source`.
    pub(crate) fn chunk(
        source: &Arc<dyn Source>,
        place: Range<u64>,
        channels: Arc<Channels>,
        selection: Selection,
        options: OpenOptions,
    ) -> Self {
        let reader = Reader::new(channels, selection, options);
        Self { reader, next: Next::Chunk(source.clone(), place) }
    }

    /// The same, and `inside` looks into what it reads.
    pub(crate) fn inspected(mut self, inside: Arc<Inside>) -> Self {
        self.reader.inside = Some(inside);
        self
    }

    /// A cursor of the records at `place`, which are in no chunk; between them are some
    /// of the `gaps`.
    pub(crate) fn records(
        source: &Arc<dyn Source>,
        place: Range<u64>,
        gaps: Arc<[Damage]>,
        channels: Arc<Channels>,
        selection: Selection,
        options: OpenOptions,
    ) -> Self {
        let reader = Reader::new(channels, selection, options);
        let gap = DamagedRangeCursor::new(&gaps, place.start);
        let walk = RecordScanner::new(source.clone(), place, options);
        Self { reader, next: Next::Records { walk, gaps, gap } }
    }
}

impl Cursor for McapCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Self { reader, next } = self;
        match next {
            Next::Nothing => Ok(false),
            Next::Chunk(_, place) if place.end - place.start > reader.most() => {
                block.reset(Bytes::new(), place.start);
                block.report(Damage::new(DamageKind::OverLimit, place.clone()));
                *next = Next::Nothing;
                Ok(true)
            }
            Next::Chunk(source, place) => {
                let bytes = source.read_at(place.clone())?;
                reader.chunk(block, place.clone(), &bytes);
                *next = Next::Nothing;
                Ok(true)
            }
            Next::Records { walk, gaps, gap } => {
                let start = walk.position();
                walk.fill(block, |block, bytes, used| {
                    let at = start + used as u64;
                    let gap = gap.step(gaps, at);
                    gap.unwrap_or_else(|| reader.step(block, at, bytes, used))
                })
            }
        }
    }
}

impl Reader {
    fn new(
        channels: Arc<Channels>,
        selection: Selection,
        options: OpenOptions,
    ) -> Self {
        let has_derived = channels.derived.is_wanted(&selection.topics);
        Self { channels, selection, has_derived, options, inside: None }
    }

    /// Looks at the record at `used` of `bytes`, which lies at `at` of the file.
    fn step(&self, block: &mut Block, at: u64, bytes: &[u8], used: usize) -> ScanStep {
        let rest = bytes.get(used..).unwrap_or_default();
        let Some((op, len)) = wire::head(rest) else {
            return ScanStep::Partial { len: HEAD_LEN };
        };
        let len = usize::try_from(len).unwrap_or(usize::MAX).saturating_add(HEAD_LEN);
        if op != op::MESSAGE {
            // What is attached may be longer than all that is kept in memory.
            return ScanStep::Whole { len };
        }
        let Some(content) = rest.get(HEAD_LEN..len) else {
            return ScanStep::Partial { len };
        };
        let file = at..at + len as u64;
        self.message(block, content, used + HEAD_LEN..used + len, file);
        ScanStep::Whole { len }
    }

    /// How long the record of a chunk may be.
    fn most(&self) -> u64 {
        chunk::most(self.options)
    }

    /// Reads the chunk that lies at `place`, as far as it goes.
    fn chunk(&self, block: &mut Block, place: Range<u64>, bytes: &Bytes) {
        let Some(opened) = Opened::new(bytes, self.options.record_bytes as usize)
        else {
            block.reset(Bytes::new(), place.start);
            block.report(Damage::new(DamageKind::Garbled, place));
            return;
        };
        if let Some(inside) = &self.inside {
            inside.look(&place, &opened);
        }
        let records = opened.records.clone();
        match opened.plain {
            Some(at) => block.reset(records.clone(), place.start + at as u64),
            None => block.reset_unpacked(records.clone(), place.start),
        }
        let file = |range: &Range<usize>| opened.place(place.clone(), range);
        contents::walk(&records, |met| match met {
            Met::Record(op::MESSAGE, content, range) => {
                let file = file(&range);
                self.message(block, content, range, file);
            }
            Met::Record(..) => {}
            Met::Gap(range) if opened.is_told(&range) => {}
            Met::Gap(range) => {
                block.report(Damage::new(DamageKind::Garbled, file(&range)));
            }
        });
        if opened.is_unverified() {
            let why = "the checksum is also of what is broken";
            let doubtful = Damage::new(DamageKind::Doubtful, place.clone());
            block.report(doubtful.with_reason(why));
        }
        if let Some(damage) = opened.damage(&place) {
            block.report(damage);
        }
    }

    /// Adds the message whose `content` is at `range` of the block and at `file` of the
    /// file, if it is wanted.
    fn message(
        &self,
        block: &mut Block,
        content: &[u8],
        range: Range<usize>,
        file: Range<u64>,
    ) {
        let Some((channel, time)) = wire::message(content) else {
            let lost = Damage::new(DamageKind::Undecodable, file);
            return block.report(lost.with_records(1, None));
        };
        let Some((stream, topic)) = self.channels.get(channel) else {
            let lost = Damage::new(DamageKind::UnknownTopic, file);
            return block.report(lost.with_records(1, None));
        };
        let time = timestamp(time);
        if self.has_derived {
            // Behind the number of the channel and the envelope.
            let payload = range.start + 2 + ENVELOPE as usize..range.end;
            let (derived, of) = (&self.channels.derived, (topic, stream));
            derived.derive(block, &self.selection, of, time, payload);
        }
        if self.selection.wants(topic, time) {
            // All but the number of the channel.
            block.push_from_stream(topic, stream, time, range.start + 2..range.end);
        }
    }
}
