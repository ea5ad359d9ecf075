//! Decoding records only to see whether they can be, and summing up their payloads, by
//! whoever reads them: they are in the caches of that processor then.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    error::Result,
    io::source::Source,
    log::{Columns, Cursor, Decoder, Log, View},
    model::{
        damage::Damage,
        manifest::{Manifest, Part, Selection},
        topic::{TopicId, TopicSet},
    },
    record::block::{Block, Run, TopicSort},
};

/// So many bytes of payloads are decoded at once, so that what comes of them stays in the
/// caches of the processor, and in the same memory.
const TRIED: usize = 64 << 10;

/// A log of which the blocks are tried as they are read.
pub(crate) struct Trials<'l> {
    log: &'l dyn Log,
    summing: Option<Summing>,
    spare: Arc<Spare>,
    /// What comes of the parts that are begun, in the order in which they were.
    begun: Mutex<VecDeque<Arc<Outcomes>>>,
}

/// What is summed up of records, which nobody wants otherwise.
#[derive(Clone)]
pub(crate) struct Summing {
    /// The topics of those that are.
    pub(crate) topics: Arc<TopicSet>,
    /// The sum of a payload.
    pub(crate) sum: fn(&[u8]) -> u64,
}

/// What comes of the blocks of a part, in their order.
#[derive(Default)]
pub(crate) struct Outcomes(Mutex<VecDeque<Outcome>>);

/// What comes of trying a block.
#[derive(Default)]
pub(crate) struct Outcome {
    /// The sums of the payloads of the records that are summed up, in the order of the
    /// block.
    pub(crate) sums: Vec<u64>,
    /// What cannot be decoded, or why a decoder gave up; nothing if a decoder was missing,
    /// which only who has the log can make.
    pub(crate) decoded: Option<Result<Vec<Damage>>>,
}

/// What nobody uses.
#[derive(Default)]
struct Spare {
    decoders: Mutex<HashMap<TopicId, Vec<Box<dyn Decoder>>>>,
    /// Blocks with the memory that was read into.
    blocks: Mutex<Vec<Block>>,
}

/// Reads a part, and tries its blocks. Of those that were summed up it gives the records
/// without their payloads, so that these are read into the same memory again and again.
struct Trying {
    cursor: Box<dyn Cursor>,
    block: Option<Block>,
    summing: Option<Summing>,
    decoders: HashMap<TopicId, Box<dyn Decoder>>,
    sort: TopicSort,
    outcomes: Arc<Outcomes>,
    spare: Arc<Spare>,
}

impl<'l> Trials<'l> {
    /// Of `log`.
    pub(crate) fn new(log: &'l dyn Log, summing: Option<Summing>) -> Self {
        Self { log, summing, spare: Arc::default(), begun: Mutex::default() }
    }

    /// What comes of the next of the parts that are begun.
    pub(crate) fn next_part(&self) -> Arc<Outcomes> {
        lock(&self.begun).pop_front().unwrap_or_default()
    }

    /// Decodes a block for whoever read it and had no decoder; now there are some.
    pub(crate) fn decode(
        &self,
        block: &Block,
        sort: &mut TopicSort,
    ) -> Result<Vec<Damage>> {
        let mut damage = Vec::new();
        for run in block.runs_by_topic(sort) {
            let topic = run.topic();
            let mut decoder = match self.spare.take(topic) {
                Some(decoder) => decoder,
                None => decoder(self.log, topic)?,
            };
            tried(&mut *decoder, run, &mut damage)?;
            self.spare.give([(topic, decoder)]);
        }
        Ok(damage)
    }
}

impl Log for Trials<'_> {
    fn manifest(&self) -> &Manifest {
        self.log.manifest()
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let outcomes: Arc<Outcomes> = Arc::default();
        lock(&self.begun).push_back(outcomes.clone());
        let cursor = self.log.read(part, selection)?;
        let (summing, spare) = (self.summing.clone(), self.spare.clone());
        let (decoders, sort) = (HashMap::new(), TopicSort::default());
        let block = None;
        Ok(Box::new(Trying { cursor, block, summing, decoders, sort, outcomes, spare }))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        self.log.decoder(topic, columns)
    }

    fn source(&self) -> &Arc<dyn Source> {
        self.log.source()
    }
}

impl Outcomes {
    /// What comes of `block`, which is the next one.
    pub(crate) fn next(&self, block: &Block) -> Outcome {
        let next = is_tried(block).then(|| lock(&self.0).pop_front());
        next.flatten().unwrap_or_default()
    }
}

impl Cursor for Trying {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let own = self.block.take();
        let mut own = own.unwrap_or_else(|| self.spare.block());
        let filled = self.cursor.fill(&mut own);
        if !matches!(filled, Ok(true)) {
            self.block = Some(own); // with the memory that others will read into
            return filled;
        }
        let outcome = is_tried(&own).then(|| self.tried(&own));
        match outcome {
            Some(Outcome { decoded: Some(_), .. }) if self.summing.is_some() => {
                block.take_heads(&mut own);
            }
            _ => mem::swap(block, &mut own),
        }
        lock(&self.outcomes.0).extend(outcome);
        self.block = Some(own);
        filled
    }
}

/// Whether there is something in `block`. (Others may be left out by who reads ahead.)
fn is_tried(block: &Block) -> bool {
    !block.is_empty()
}

impl Trying {
    fn tried(&mut self, block: &Block) -> Outcome {
        let sums = self.summing.as_ref().map(|Summing { topics, sum }| {
            let records = block.iter().filter(|record| topics.contains(record.topic));
            records.map(|record| sum(record.payload)).collect()
        });
        Outcome { sums: sums.unwrap_or_default(), decoded: self.decode(block) }
    }

    fn decode(&mut self, block: &Block) -> Option<Result<Vec<Damage>>> {
        let Self { decoders, sort, spare, .. } = self;
        let mut damage = Vec::new();
        for run in block.runs_by_topic(sort) {
            let topic = run.topic();
            let decoder = match decoders.entry(topic) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(spare.take(topic)?),
            };
            if let Err(err) = tried(&mut **decoder, run, &mut damage) {
                decoders.remove(&topic); // nobody decodes with one that gave up
                return Some(Err(err));
            }
        }
        Some(Ok(damage))
    }
}

impl Drop for Trying {
    fn drop(&mut self) {
        self.spare.give(mem::take(&mut self.decoders));
        lock(&self.spare.blocks).extend(self.block.take());
    }
}

impl Spare {
    fn block(&self) -> Block {
        lock(&self.blocks).pop().unwrap_or_default()
    }

    fn take(&self, topic: TopicId) -> Option<Box<dyn Decoder>> {
        lock(&self.decoders).get_mut(&topic)?.pop()
    }

    fn give(&self, decoders: impl IntoIterator<Item = (TopicId, Box<dyn Decoder>)>) {
        let mut spare = lock(&self.decoders);
        for (topic, decoder) in decoders {
            spare.entry(topic).or_default().push(decoder);
        }
    }
}

/// Locks, also after a panic elsewhere, which is carried on by itself.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Decodes the records of `run`, of which nothing is kept.
fn tried(
    decoder: &mut dyn Decoder,
    run: Run<'_>,
    damage: &mut Vec<Damage>,
) -> Result<()> {
    run.pieces(TRIED).try_for_each(|piece| {
        decoder.append(piece, damage);
        decoder.discard_rows()
    })
}

/// A decoder of the records of `topic` that keeps as little of them as can be.
///
/// # Errors
/// If the topic cannot be decoded at all.
fn decoder(log: &dyn Log, topic: TopicId) -> Result<Box<dyn Decoder>> {
    // No column but the time: the records are walked over all the same.
    let only = Some(Vec::new());
    log.decoder(topic, &Columns { only, ..Columns::all(View::Nested) })
}

#[cfg(test)]
mod tests;
