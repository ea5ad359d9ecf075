//! Trial decoding: finding records that cannot be decoded, and hashing payloads, in the
//! threads that read them, while the records are in the caches of the processor.

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

/// The number of payload bytes to decode at once, so that the columns stay in the caches
/// and reuse the same memory.
const TRIAL_BYTES: usize = 64 << 10;

/// A log whose records are decoded on trial while they are read.
pub(crate) struct TrialDecoder<'l> {
    log: &'l dyn Log,
    hashing: Option<PayloadHashing>,
    pool: Arc<DecoderPool>,
    /// The results of the started parts, in the order of their start.
    started: Mutex<VecDeque<Arc<TrialResults>>>,
}

/// The hashing of payloads.
#[derive(Clone)]
pub(crate) struct PayloadHashing {
    /// The topics whose payloads are hashed.
    pub(crate) topics: Arc<TopicSet>,
    /// The hash function.
    pub(crate) hash: fn(&[u8]) -> u64,
}

/// The results of the blocks of a part, in order.
#[derive(Default)]
pub(crate) struct TrialResults(Mutex<VecDeque<TrialResult>>);

/// The result of the trial decoding of a block.
#[derive(Default)]
pub(crate) struct TrialResult {
    /// The hashes of the payloads of the selected topics, in the order of the block.
    pub(crate) hashes: Vec<u64>,
    /// The damage of undecodable records, or the error of a decoder. `None` if there was
    /// no decoder: only the thread that owns the log can create one.
    pub(crate) decoded: Option<Result<Vec<Damage>>>,
}

/// Decoders and blocks for reuse.
#[derive(Default)]
struct DecoderPool {
    decoders: Mutex<HashMap<TopicId, Vec<Box<dyn Decoder>>>>,
    /// Blocks whose buffers can be read into.
    blocks: Mutex<Vec<Block>>,
}

/// A cursor that decodes the blocks of a part on trial. If their payloads are hashed, it
/// returns the records without payloads, so that the same buffer is reused for each
/// block.
struct TrialCursor {
    cursor: Box<dyn Cursor>,
    /// The block to read into, or `None` before the first block.
    read_buffer: Option<Block>,
    hashing: Option<PayloadHashing>,
    decoders: HashMap<TopicId, Box<dyn Decoder>>,
    sort: TopicSort,
    results: Arc<TrialResults>,
    pool: Arc<DecoderPool>,
}

impl<'l> TrialDecoder<'l> {
    /// Creates a wrapper of `log` that decodes its records on trial, with optional hashing of payloads.
    pub(crate) fn new(log: &'l dyn Log, hashing: Option<PayloadHashing>) -> Self {
        Self { log, hashing, pool: Arc::default(), started: Mutex::default() }
    }

    /// Returns the results of the next started part.
    pub(crate) fn next_part(&self) -> Arc<TrialResults> {
        lock(&self.started).pop_front().unwrap_or_default()
    }

    /// Decodes a block for which there was no decoder, and keeps the decoders for later
    /// blocks.
    pub(crate) fn decode(
        &self,
        block: &Block,
        sort: &mut TopicSort,
    ) -> Result<Vec<Damage>> {
        let mut damage = Vec::new();
        for run in block.runs_by_topic(sort) {
            let topic = run.topic();
            let mut decoder = match self.pool.take(topic) {
                Some(decoder) => decoder,
                None => time_decoder(self.log, topic)?,
            };
            try_decoding(&mut *decoder, run, &mut damage)?;
            self.pool.put_back([(topic, decoder)]);
        }
        Ok(damage)
    }
}

impl Log for TrialDecoder<'_> {
    fn manifest(&self) -> &Manifest {
        self.log.manifest()
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let results: Arc<TrialResults> = Arc::default();
        lock(&self.started).push_back(results.clone());
        let cursor = self.log.read(part, selection)?;
        Ok(Box::new(TrialCursor {
            cursor,
            read_buffer: None,
            hashing: self.hashing.clone(),
            decoders: HashMap::new(),
            sort: TopicSort::default(),
            results,
            pool: self.pool.clone(),
        }))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        self.log.decoder(topic, columns)
    }

    fn source(&self) -> &Arc<dyn Source> {
        self.log.source()
    }
}

impl TrialResults {
    /// Returns the result of `block`, which must be the next one.
    pub(crate) fn next(&self, block: &Block) -> TrialResult {
        if !needs_trial(block) {
            return TrialResult::default();
        }
        lock(&self.0).pop_front().unwrap_or_default()
    }
}

impl Cursor for TrialCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let mut read_block =
            self.read_buffer.take().unwrap_or_else(|| self.pool.take_block());
        let filled = self.cursor.fill(&mut read_block);
        if !matches!(filled, Ok(true)) {
            self.read_buffer = Some(read_block); // it returns to the pool
            return filled;
        }
        let result = if needs_trial(&read_block) {
            Some(self.try_block(&read_block))
        } else {
            None
        };
        match result {
            Some(TrialResult { decoded: Some(_), .. }) if self.hashing.is_some() => {
                block.take_headers(&mut read_block);
            }
            _ => mem::swap(block, &mut read_block),
        }
        lock(&self.results.0).extend(result);
        self.read_buffer = Some(read_block);
        filled
    }
}

/// Returns whether `block` has records. The reader may drop blocks without records.
fn needs_trial(block: &Block) -> bool {
    !block.is_empty()
}

impl TrialCursor {
    /// Hashes and decodes the records of `block`.
    fn try_block(&mut self, block: &Block) -> TrialResult {
        let mut hashes = Vec::new();
        if let Some(PayloadHashing { topics, hash }) = &self.hashing {
            let records = block.iter().filter(|record| topics.contains(record.topic));
            hashes.extend(records.map(|record| hash(record.payload)));
        }
        TrialResult { hashes, decoded: self.decode(block) }
    }

    /// Decodes the records of `block`. Returns `None` if there is no decoder for a topic.
    fn decode(&mut self, block: &Block) -> Option<Result<Vec<Damage>>> {
        let Self { decoders, sort, pool, .. } = self;
        let mut damage = Vec::new();
        for run in block.runs_by_topic(sort) {
            let topic = run.topic();
            let decoder = match decoders.entry(topic) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(pool.take(topic)?),
            };
            if let Err(err) = try_decoding(&mut **decoder, run, &mut damage) {
                decoders.remove(&topic); // a decoder that failed is not used again
                return Some(Err(err));
            }
        }
        Some(Ok(damage))
    }
}

impl Drop for TrialCursor {
    fn drop(&mut self) {
        self.pool.put_back(mem::take(&mut self.decoders));
        lock(&self.pool.blocks).extend(self.read_buffer.take());
    }
}

impl DecoderPool {
    /// Returns a block to read into.
    fn take_block(&self) -> Block {
        lock(&self.blocks).pop().unwrap_or_default()
    }

    /// Returns an unused decoder of `topic`, if there is one.
    fn take(&self, topic: TopicId) -> Option<Box<dyn Decoder>> {
        lock(&self.decoders).get_mut(&topic)?.pop()
    }

    fn put_back(
        &self,
        decoders: impl IntoIterator<Item = (TopicId, Box<dyn Decoder>)>,
    ) {
        let mut pool = lock(&self.decoders);
        for (topic, decoder) in decoders {
            pool.entry(topic).or_default().push(decoder);
        }
    }
}

/// Locks the mutex, even after a panic in another thread, which is handled separately.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Decodes the records of `run` and discards the rows.
fn try_decoding(
    decoder: &mut dyn Decoder,
    run: Run<'_>,
    damage: &mut Vec<Damage>,
) -> Result<()> {
    for short_run in run.split(TRIAL_BYTES) {
        decoder.append(short_run, damage);
        decoder.discard_rows()?;
    }
    Ok(())
}

/// Creates a decoder for the records of `topic` that keeps as little as possible of them.
///
/// # Errors
/// Fails if the topic cannot be decoded at all.
fn time_decoder(log: &dyn Log, topic: TopicId) -> Result<Box<dyn Decoder>> {
    // Only the time column: the records are parsed completely nevertheless.
    let indices = Some(Vec::new());
    log.decoder(topic, &Columns { indices, ..Columns::new(View::Nested) })
}

#[cfg(test)]
mod tests;
