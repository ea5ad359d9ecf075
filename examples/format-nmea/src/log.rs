//! The open log, and the cursor that reads its sentences.

use std::{collections::HashMap, sync::Arc};

use logtool_core::{
    Block, Columns, Cursor, Damage, DamageKind, Decoder, Log, Manifest, OpenOptions,
    Part, RecordScanner, Result, ScanStep, Selection, Source, Timestamp, TopicId,
};

use crate::{
    decode::decoder,
    sentence::{Line, Sentence},
};

/// Nanoseconds in a day.
const DAY: i64 = 86_400_000_000_000;

/// An open NMEA log.
pub(crate) struct NmeaLog {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) options: OpenOptions,
}

impl Log for NmeaLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let topics = self.manifest.topics();
        let topics = topics.map(|(id, topic)| (topic.type_name.clone(), id)).collect();
        let walk =
            RecordScanner::new(self.source.clone(), part.bytes.clone(), self.options);
        Ok(Box::new(SentenceCursor {
            walk,
            topics: Topics::Known(topics),
            clock: SentenceClock::default(),
            selection: selection.clone(),
        }))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        let kind = &self.manifest.topic(topic)?.type_name;
        Ok(Box::new(decoder(kind, columns)?))
    }
}

/// Reads the sentences of a range of bytes.
pub(crate) struct SentenceCursor {
    pub(crate) walk: RecordScanner,
    pub(crate) topics: Topics,
    pub(crate) clock: SentenceClock,
    pub(crate) selection: Selection,
}

/// The topic of each type of sentence.
pub(crate) enum Topics {
    /// The topics of the manifest.
    Known(HashMap<String, TopicId>),
    /// The topics so far, while the manifest is built. Each new type becomes a topic.
    Growing(HashMap<String, TopicId>),
}

impl Topics {
    fn topic(&mut self, kind: &str) -> Option<TopicId> {
        match self {
            Self::Known(topics) => topics.get(kind).copied(),
            Self::Growing(topics) => match topics.get(kind) {
                Some(topic) => Some(*topic),
                None => {
                    let topic = TopicId(u32::try_from(topics.len()).ok()?);
                    topics.insert(kind.to_owned(), topic);
                    Some(topic)
                }
            },
        }
    }
}

/// The time of the last sentence that had one. Sentences without a time follow it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SentenceClock {
    /// Days since 1970-01-01. Most sentences state only the time of the day.
    day: Option<i64>,
    time: Option<Timestamp>,
}

impl SentenceClock {
    /// Returns the time of `sentence`. Before the first date, it is zero.
    fn advance(&mut self, sentence: &Sentence<'_>) -> Timestamp {
        self.day = sentence.day().or(self.day);
        if let (Some(day), Some(of_day)) = (self.day, sentence.time_of_day()) {
            self.time = Some(Timestamp::from_nanos(day * DAY + of_day));
        }
        self.time.unwrap_or_default()
    }
}

impl Cursor for SentenceCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Self { walk, topics, clock, selection } = self;
        let start = walk.position();
        walk.fill(block, |block, bytes, used| {
            match Line::parse(bytes.get(used..).unwrap_or_default()) {
                Line::Sentence { sentence, len } => {
                    let time = clock.advance(&sentence);
                    if let Some(topic) = topics.topic(sentence.kind)
                        && selection.contains(topic, time)
                    {
                        block.push(topic, time, used..used + len);
                    }
                    ScanStep::Whole { len }
                }
                Line::Garbled { len } => {
                    let offset = start + used as u64;
                    let damage =
                        Damage::new(DamageKind::Garbled, offset..offset + len as u64);
                    ScanStep::Damaged { len: len as u64, damage: Box::new(damage) }
                }
                Line::Partial => ScanStep::Partial { len: bytes.len() - used + 1 },
            }
        })
    }
}
