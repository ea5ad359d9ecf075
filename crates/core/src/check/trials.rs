//! Decoding the records of blocks, and summing up their payloads, by whoever reads them:
//! they are in the caches of that processor then.

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    block::{Block, TopicSort},
    check::twins,
    damage::Damage,
    error::Result,
    log::{Columns, Cursor, Decoder, Log},
    manifest::{Manifest, Part, Selection},
    source::Source,
    topic::{TopicId, TopicSet},
    trial,
};

/// Of so many topics of a part records are tried as they are read.
const TOPICS: usize = 1 << 10;

/// A log of which the blocks are tried as they are read.
pub(super) struct Trials<'l> {
    log: &'l dyn Log,
    summed: Arc<TopicSet>,
    spare: Arc<Spare>,
    /// What comes of the parts that are begun, in the order in which they were.
    begun: Mutex<VecDeque<Arc<Outcomes>>>,
}

/// What comes of the blocks of a part, in their order.
#[derive(Default)]
pub(super) struct Outcomes(Mutex<VecDeque<Outcome>>);

/// What comes of trying a block.
#[derive(Default)]
pub(super) struct Outcome {
    /// The sums of the payloads of the records that are summed up, in the order of the
    /// block.
    pub(super) sums: Vec<u64>,
    /// What cannot be decoded, or why a decoder gave up; nothing if it was not tried, as
    /// there are records of topics that were not expected.
    pub(super) decoded: Option<Result<Vec<Damage>>>,
}

/// Decoders that nobody uses.
#[derive(Default)]
struct Spare(Mutex<Vec<Vec<Box<dyn Decoder>>>>);

/// Reads a part, and tries its blocks.
struct Trying {
    cursor: Box<dyn Cursor>,
    summed: Arc<TopicSet>,
    /// Those that it was lent, in the order of their topics.
    decoders: Vec<(TopicId, Box<dyn Decoder>)>,
    topics: TopicSet,
    sort: TopicSort,
    outcomes: Arc<Outcomes>,
    spare: Arc<Spare>,
}

impl<'l> Trials<'l> {
    /// Of `log`, of which the records of the topics `summed` are summed up.
    pub(super) fn new(log: &'l dyn Log, summed: TopicSet) -> Self {
        let (summed, spare) = (Arc::new(summed), Arc::default());
        Self { log, summed, spare, begun: Mutex::default() }
    }

    /// What comes of the next of the parts that are begun.
    pub(super) fn next_part(&self) -> Arc<Outcomes> {
        lock(&self.begun).pop_front().unwrap_or_default()
    }

    /// Decoders of the topics that `part` may hold. One that cannot be made is missed
    /// where there are records of its topic.
    fn lend(&self, part: &Part) -> Vec<(TopicId, Box<dyn Decoder>)> {
        let topics = self.log.manifest().topics().map(|(id, _)| id);
        let topics = topics.filter(|id| part.topics.contains(*id)).take(TOPICS);
        let lent = topics.filter_map(|id| {
            let spare = self.spare.take(id);
            Some((id, spare.or_else(|| trial::decoder(self.log, id).ok())?))
        });
        lent.collect()
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
        let decoders = self.lend(part);
        let topics = decoders.iter().map(|(id, _)| *id).collect();
        let (summed, spare) = (self.summed.clone(), self.spare.clone());
        let sort = TopicSort::default();
        Ok(Box::new(Trying { cursor, summed, decoders, topics, sort, outcomes, spare }))
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
    pub(super) fn next(&self, block: &Block) -> Outcome {
        let next = is_tried(block).then(|| lock(&self.0).pop_front());
        next.flatten().unwrap_or_default()
    }
}

impl Cursor for Trying {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let is_more = self.cursor.fill(block)?;
        if is_more && is_tried(block) {
            let outcome = self.tried(block);
            lock(&self.outcomes.0).push_back(outcome);
        }
        Ok(is_more)
    }
}

/// Whether there is something in `block`. (Others may be left out by who reads ahead.)
fn is_tried(block: &Block) -> bool {
    !block.is_empty()
}

impl Trying {
    fn tried(&mut self, block: &Block) -> Outcome {
        let records = block.iter().filter(|record| self.summed.contains(record.topic));
        let sums = records.map(|record| twins::sum(record.payload)).collect();
        let is_expected = block.entries().iter().all(|e| self.topics.contains(e.topic));
        Outcome { sums, decoded: is_expected.then(|| self.decode(block)) }
    }

    fn decode(&mut self, block: &Block) -> Result<Vec<Damage>> {
        let mut damage = Vec::new();
        let mut decoders = self.decoders.iter_mut();
        for run in block.runs_by_topic(&mut self.sort) {
            let decoder = decoders.find(|(topic, _)| *topic == run.topic());
            let Some((_, decoder)) = decoder else { continue };
            decoder.append(run, &mut damage);
            decoder.take()?;
        }
        Ok(damage)
    }
}

impl Drop for Trying {
    fn drop(&mut self) {
        self.spare.give(mem::take(&mut self.decoders));
    }
}

impl Spare {
    fn take(&self, topic: TopicId) -> Option<Box<dyn Decoder>> {
        lock(&self.0).get_mut(topic.index())?.pop()
    }

    fn give(&self, decoders: Vec<(TopicId, Box<dyn Decoder>)>) {
        let mut spare = lock(&self.0);
        for (topic, decoder) in decoders {
            if spare.len() <= topic.index() {
                spare.resize_with(topic.index() + 1, Vec::new);
            }
            spare[topic.index()].push(decoder);
        }
    }
}

/// Locks, also after a panic elsewhere, which is carried on by itself.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
