//! Reading a log, and translating what is read.

use std::ops::Range;

use bytes::Bytes;

use crate::{
    block::{Block, TopicSort},
    error::Result,
    log::Cursor,
    topic::TopicId,
    translated::{Messages, Translate, Translation},
};

/// Reads what the reader beneath reads, translated.
pub(super) struct TranslatedCursor {
    reader: Box<dyn Cursor>,
    /// The topics beneath, each with the new topics that are made of it.
    makers: Vec<(TopicId, Vec<Maker>)>,
    offset: i64,
    read: Block,
    sort: TopicSort,
    messages: Messages,
}

/// Makes the records of a topic.
struct Maker {
    topic: TopicId,
    translate: Box<dyn Translate>,
}

/// A record that was made.
struct Made {
    /// The index of that which it is made of.
    of: usize,
    topic: TopicId,
    place: Range<usize>,
}

impl TranslatedCursor {
    /// Translates what `reader` reads to the `wanted` topics.
    pub(super) fn begin(
        reader: Box<dyn Cursor>,
        wanted: &[(TopicId, &Translation)],
        offset: i64,
    ) -> Result<Self> {
        let mut makers: Vec<(TopicId, Vec<Maker>)> = Vec::new();
        for (topic, translation) in wanted {
            let maker = Maker { topic: *topic, translate: (translation.begin)()? };
            match makers.iter_mut().find(|(from, _)| *from == translation.from) {
                Some((_, makers)) => makers.push(maker),
                None => makers.push((translation.from, vec![maker])),
            }
        }
        makers.sort_by_key(|(from, _)| *from);
        let (read, sort) = (Block::default(), TopicSort::default());
        let messages = Messages::default();
        Ok(Self { reader, makers, offset, read, sort, messages })
    }
}

impl Cursor for TranslatedCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let Self { reader, makers, offset, read, sort, messages } = self;
        if !reader.fill(read)? {
            return Ok(false);
        }
        // Where each record was before they are sorted, which keeps those of a topic in
        // their order.
        let mut order: Vec<usize> = (0..read.len()).collect();
        order.sort_by_key(|index| read.get(*index).map(|record| record.topic));
        let (mut bytes, mut made) = (Vec::new(), Vec::new());
        let mut damage = read.damage().to_vec();
        let times: Vec<_> =
            read.iter().map(|record| (record.time, record.offset)).collect();
        let mut sorted = read.clone();
        sorted.sort_by_topic(sort);
        let mut before = 0;
        for run in sorted.runs() {
            let of_run = order.get(before..before + run.len()).unwrap_or_default();
            before += run.len();
            let found = makers.binary_search_by_key(&run.topic(), |(from, _)| *from);
            let Some((_, makers)) = found.ok().and_then(|at| makers.get_mut(at)) else {
                continue;
            };
            for maker in makers {
                maker.translate.translate(run, messages)?;
                messages.drain(&mut bytes, &mut damage, |record, place| {
                    let Some(of) = of_run.get(record) else { return };
                    made.push(Made { of: *of, topic: maker.topic, place });
                });
            }
        }
        // Messages lie in the order in which they were made.
        let of = |made: &Made| times.get(made.of).copied().unwrap_or_default();
        let places =
            made.iter().map(|made| (made.place.start as u32, of(made).1)).collect();
        block.reset_gathered(Bytes::from(bytes), places);
        made.sort_by_key(|made| made.of);
        for made in made {
            let time = of(&made).0.later(*offset);
            block.push_of(made.topic, made.topic.0, time, made.place);
        }
        damage.into_iter().for_each(|damage| block.report(damage));
        Ok(true)
    }
}
