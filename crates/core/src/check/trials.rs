//! Decoding the records of blocks, and summing up their payloads, on all processors.

use std::sync::Arc;

use crate::{
    block::{Block, Entry, TopicSort},
    check::twins,
    damage::Damage,
    error::{Error, Result},
    log::{Decoder, Log},
    queue::Queue,
    topic::{TopicId, TopicSet},
    trial,
};

/// While blocks of more bytes than this are tried, no other is begun.
const AHEAD: usize = 8 << 20;

/// Tries the blocks of a log, several at a time, and gives them back in their order. In a
/// pool of one thread, the caller tries them.
pub(super) struct Trials<'l> {
    log: &'l dyn Log,
    summed: Arc<TopicSet>,
    topics: Vec<OfTopic>,
    /// How many blocks have been begun.
    count: u64,
    /// Those that are being tried, if others do it, and how many bytes they have.
    queue: Option<Queue<Tried>>,
    bytes: usize,
    /// Blocks, and buffers, that nobody uses.
    spare: Vec<Tried>,
}

/// What is kept of a topic.
#[derive(Default)]
struct OfTopic {
    /// Decoders that nobody uses.
    spare: Vec<Box<dyn Decoder>>,
    /// The last block with records of it: as the count was then.
    last: u64,
}

/// A block, and what comes of trying it.
#[derive(Default)]
pub(super) struct Tried {
    pub(super) block: Block,
    /// Which of the parts that are read it is of.
    pub(super) part: usize,
    /// The sums of the payloads of the records that are summed up, in the order of the
    /// block.
    pub(super) sums: Vec<u64>,
    /// What cannot be decoded.
    pub(super) damage: Vec<Damage>,
    /// Why a decoder gave up.
    pub(super) failed: Option<Error>,
    decoders: Vec<(TopicId, Box<dyn Decoder>)>,
    sort: TopicSort,
}

impl<'l> Trials<'l> {
    /// Of blocks of `log`, of which the records of the topics `summed` are summed up.
    pub(super) fn new(log: &'l dyn Log, summed: Arc<TopicSet>) -> Self {
        let mut topics = Vec::new();
        topics.resize_with(log.manifest().topics.len(), OfTopic::default);
        let is_alone = rayon::current_num_threads() == 1;
        let queue = (!is_alone).then(Queue::new);
        let (count, bytes, spare) = (0, 0, Vec::new());
        Self { log, summed, topics, count, queue, bytes, spare }
    }

    /// One to be filled with the next block of the part with the index `part`.
    pub(super) fn spare(&mut self, part: usize) -> Tried {
        let mut spare = self.spare.pop().unwrap_or_default();
        spare.part = part;
        spare
    }

    /// Takes one back that is no longer needed.
    pub(super) fn give(&mut self, mut tried: Tried) {
        for (topic, decoder) in tried.decoders.drain(..) {
            if let Some(topic) = self.topics.get_mut(topic.index()) {
                topic.spare.push(decoder);
            }
        }
        self.spare.push(tried);
    }

    /// Begins to try a block; gives the next that is tried, as [`next`](Self::next) does.
    ///
    /// # Errors
    /// If a topic cannot be decoded at all.
    pub(super) fn push(&mut self, mut begun: Tried) -> Result<Option<Tried>> {
        self.equip(&mut begun)?;
        let summed = self.summed.clone();
        let Some(queue) = &mut self.queue else {
            return Ok(Some(begun.tried(&summed)));
        };
        self.bytes += begun.block.bytes().len();
        queue.push(move || begun.tried(&summed));
        Ok(self.next())
    }

    /// The next block, if it is tried, or if there are too many: then it is waited for.
    pub(super) fn next(&mut self) -> Option<Tried> {
        let queue = self.queue.as_mut()?;
        let tried = if self.bytes > AHEAD { queue.wait() } else { queue.next() }?;
        self.bytes -= tried.block.bytes().len();
        Some(tried)
    }

    /// The next block, waited for; nothing if there is none.
    pub(super) fn wait(&mut self) -> Option<Tried> {
        let tried = self.queue.as_mut()?.wait()?;
        self.bytes -= tried.block.bytes().len();
        Some(tried)
    }

    /// Gives a block the decoders of its topics.
    fn equip(&mut self, begun: &mut Tried) -> Result<()> {
        self.count += 1;
        for Entry { topic: id, .. } in begun.block.entries() {
            let Some(topic) = self.topics.get_mut(id.index()) else { continue };
            if topic.last == self.count {
                continue;
            }
            topic.last = self.count;
            let decoder = match topic.spare.pop() {
                Some(decoder) => decoder,
                None => trial::decoder(self.log, *id)?,
            };
            begun.decoders.push((*id, decoder));
        }
        Ok(())
    }
}

impl Tried {
    /// Tries the block.
    fn tried(mut self, summed: &TopicSet) -> Self {
        self.sums.clear();
        let records = self.block.iter().filter(|r| summed.contains(r.topic));
        self.sums.extend(records.map(|record| twins::sum(record.payload)));
        self.damage.clear();
        self.failed = self.decode().err();
        self
    }

    fn decode(&mut self) -> Result<()> {
        self.decoders.sort_unstable_by_key(|(topic, _)| *topic);
        let mut decoders = self.decoders.iter_mut().peekable();
        for run in self.block.runs_by_topic(&mut self.sort) {
            let decoder = decoders.next_if(|(topic, _)| *topic == run.topic());
            let Some((_, decoder)) = decoder else { continue };
            decoder.append(run, &mut self.damage);
            decoder.take()?;
        }
        Ok(())
    }
}
