//! Decoding a whole log into tables on all processors.
//!
//! Parts are decoded in parallel. Their batches are put back into the order of the file
//! and appended to one queue per topic, and the queues are written in parallel. No task
//! ever waits: a new part starts only when another is completely written. So memory is
//! bounded by a few parts for any length of the log, and a slow sink slows the reading
//! down. A part with a lot of data is decoded in several sections, and the next section
//! starts when the previous one is written.

mod topic_statistics;

use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use arrow_array::RecordBatch;
use rayon::Scope;

use crate::{
    error::Result,
    log::{Columns, Cursor, Decoder, Log},
    model::{
        damage::Damage,
        manifest::{Part, Selection},
        time_base::TimeBase,
        topic::TopicId,
    },
    record::block::{Block, TopicSort},
    sink::{RecordSink, TableSink, TableWriter},
};

pub use self::topic_statistics::TopicStatistics;

/// The result of reading a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadReport {
    /// The number of records that were read.
    pub records: u64,
    /// All damage, in the order of the file.
    pub damage: Vec<Damage>,
    /// Statistics of the records of each topic. Only known for tables.
    pub topic_statistics: BTreeMap<TopicId, TopicStatistics>,
}

/// The tables to create, and how.
pub struct TableJob<'j> {
    /// The selected records.
    pub selection: Selection,
    /// The selected columns of each topic that is not in `columns_by_topic`.
    pub columns: Columns,
    /// The selected columns of some topics.
    pub columns_by_topic: BTreeMap<TopicId, Columns>,
    /// The clock of the times in the tables.
    pub time: TimeBase,
    /// The approximate number of bytes of the log in one part.
    pub part_bytes: u64,
    /// Called with the number of further bytes of the log that are done.
    pub progress: &'j (dyn Fn(u64) + Sync),
}

/// Writes all records of `cursor` to `sink`, as its first slice.
///
/// # Errors
/// Errors of reading and writing. Damage is not an error.
pub fn copy_records(
    cursor: &mut dyn Cursor,
    sink: &mut dyn RecordSink,
) -> Result<ReadReport> {
    let (mut block, mut report) = (Block::default(), ReadReport::default());
    while cursor.fill(&mut block)? {
        report.damage.extend_from_slice(block.damage());
        for record in block.iter() {
            sink.write(0, record)?;
            report.records += 1;
        }
    }
    Ok(report)
}

/// Decodes the records of `job` in `log` into `sink`, with one table per topic.
///
/// This runs on the current rayon pool. The rows of a table are in the order of the file.
///
/// # Errors
/// Errors of reading, decoding and writing. Damage is not an error.
pub fn export_tables(
    log: &dyn Log,
    job: &TableJob<'_>,
    sink: &dyn TableSink,
) -> Result<ReadReport> {
    let plan = log.manifest().plan(&job.selection, job.part_bytes);
    let queues = log.manifest().topics.iter().map(|_| Mutex::default()).collect();
    let export = TableExport {
        log,
        job,
        sink,
        plan,
        queues,
        idle_workers: Mutex::default(),
        state: Mutex::default(),
        max_active_parts: rayon::current_num_threads() + 1,
    };
    rayon::scope(|scope| export.start_parts(scope));
    export.finish()
}

impl TableJob<'_> {
    fn columns(&self, topic: TopicId) -> Columns {
        let columns = self.columns_by_topic.get(&topic).unwrap_or(&self.columns);
        Columns { time: self.selection.time, ..columns.clone() }
    }
}

/// The state that all tasks share.
struct TableExport<'d> {
    log: &'d dyn Log,
    job: &'d TableJob<'d>,
    sink: &'d dyn TableSink,
    plan: Vec<Part>,
    queues: Vec<Mutex<TopicQueue>>,
    /// Workers that no task is using.
    idle_workers: Mutex<Vec<DecodeWorker>>,
    state: Mutex<ExportState>,
    /// The maximum number of active parts.
    max_active_parts: usize,
}

#[derive(Default)]
struct ExportState {
    /// The number of parts for which tasks exist, and the next part that a task will
    /// read. The first task to run reads the first part, because later parts wait for it.
    started_parts: usize,
    next_part_to_read: usize,
    /// The number of parts that are started and not completely written.
    active_parts: usize,
    /// Decoded sections that wait for earlier parts.
    waiting_sections: BTreeMap<usize, PartSection>,
    /// The next part to append to the queues.
    next_part_to_queue: usize,
    report: ReadReport,
    error: Option<crate::error::Error>,
}

/// The batches of one topic on the way to its table.
#[derive(Default)]
struct TopicQueue {
    waiting: VecDeque<(RecordBatch, Arc<PendingWrite>)>,
    writer: Option<Box<dyn TableWriter>>,
    is_busy: bool,
}

/// The decoded batches of a part, or of a section of a large part.
struct PartSection {
    batches: Vec<(TopicId, RecordBatch)>,
    /// The cursor at the remaining records of the part, if there are any.
    remaining: Option<Box<dyn Cursor>>,
}

/// A section that is being written.
struct PendingWrite {
    /// The number of its batches that are not yet written.
    batches: AtomicUsize,
    part: usize,
    remaining: Mutex<Option<Box<dyn Cursor>>>,
}

/// The number of decoded bytes, and of rows, after which a section ends.
const SECTION_BYTES: usize = 16 << 20;
const SECTION_ROWS: usize = 1 << 18;

/// The buffers and decoders of a task. They are reused for the next part.
#[derive(Default)]
struct DecodeWorker {
    block: Block,
    sort: TopicSort,
    decoders: Vec<Option<Box<dyn Decoder>>>,
}

impl<'d> TableExport<'d> {
    /// Starts as many parts as are allowed to be active.
    fn start_parts<'s>(&'s self, scope: &Scope<'s>)
    where
        'd: 's,
    {
        let mut state = lock(&self.state);
        while state.error.is_none()
            && state.active_parts < self.max_active_parts
            && state.started_parts < self.plan.len()
        {
            state.started_parts += 1;
            state.active_parts += 1;
            scope.spawn(move |scope| {
                let mut state = lock(&self.state);
                let part = state.next_part_to_read;
                state.next_part_to_read += 1;
                drop(state);
                self.decode_and_queue(part, None, scope);
            });
        }
    }

    /// Decodes the next section of the part with this `index`, and appends all sections that
    /// are now in order to the queues.
    fn decode_and_queue<'s>(
        &'s self,
        index: usize,
        remaining: Option<Box<dyn Cursor>>,
        scope: &Scope<'s>,
    ) where
        'd: 's,
    {
        let part = &self.plan[index];
        let mut worker = lock(&self.idle_workers).pop().unwrap_or_default();
        let decoded = self.decode(part, remaining, &mut worker);
        lock(&self.idle_workers).push(worker);
        if decoded.as_ref().is_ok_and(|(section, _)| section.remaining.is_none()) {
            self.log.source().release(part.bytes.clone());
            (self.job.progress)(part.bytes.end - part.bytes.start);
        }

        let mut topics_to_write = Vec::new();
        {
            let mut state = lock(&self.state);
            match decoded {
                Ok((section, report)) => {
                    state.report.records += report.records;
                    topic_statistics::join(
                        &mut state.report.topic_statistics,
                        report.topic_statistics,
                    );
                    for damage in report.damage {
                        damage.add_to(&mut state.report.damage);
                    }
                    state.waiting_sections.insert(index, section);
                }
                Err(err) => drop(state.error.get_or_insert(err)),
            }
            while state.error.is_none() {
                let part = state.next_part_to_queue;
                let Some(PartSection { batches, remaining }) =
                    state.waiting_sections.remove(&part)
                else {
                    break;
                };
                let is_end = remaining.is_none();
                state.next_part_to_queue += usize::from(is_end);
                if batches.is_empty() {
                    match remaining {
                        None => state.active_parts -= 1,
                        remaining => scope.spawn(move |scope| {
                            self.decode_and_queue(part, remaining, scope)
                        }),
                    }
                    continue;
                }
                let pending = Arc::new(PendingWrite {
                    batches: AtomicUsize::new(batches.len()),
                    part,
                    remaining: Mutex::new(remaining),
                });
                for (topic, batch) in batches {
                    let mut write_queue = lock(&self.queues[topic.index()]);
                    write_queue.waiting.push_back((batch, pending.clone()));
                    if !mem::replace(&mut write_queue.is_busy, true) {
                        topics_to_write.push(topic);
                    }
                }
            }
        }
        self.start_parts(scope);
        // Last, because this thread has the batches in its caches and starts with them.
        for topic in topics_to_write {
            scope.spawn(move |scope| self.write_queue(topic, scope));
        }
    }

    /// Decodes the next section of `part`, from `remaining` or from its start.
    fn decode(
        &self,
        part: &Part,
        remaining: Option<Box<dyn Cursor>>,
        worker: &mut DecodeWorker,
    ) -> Result<(PartSection, ReadReport)> {
        let DecodeWorker { block, sort, decoders } = worker;
        decoders.resize_with(self.queues.len(), || None);
        let mut report = ReadReport::default();
        let mut cursor = match remaining {
            Some(cursor) => cursor,
            None => self.log.read(part, &self.job.selection)?,
        };
        let (mut bytes, mut rows) = (0, 0);
        let (mut is_end, mut is_full) = (false, false);
        while bytes < SECTION_BYTES && rows < SECTION_ROWS && !is_full {
            if !cursor.fill(block)? {
                is_end = true;
                break;
            }
            report.damage.extend_from_slice(block.damage());
            bytes += block.bytes().len();
            block.sort_by_topic(sort);
            for run in block.runs() {
                let decoder = match &mut decoders[run.topic().index()] {
                    Some(decoder) => decoder,
                    empty => {
                        let columns = self.job.columns(run.topic());
                        empty.insert(self.log.decoder(run.topic(), &columns)?)
                    }
                };
                let old_rows = decoder.rows();
                decoder.append(run, &mut report.damage);
                rows += decoder.rows() - old_rows;
                is_full |= decoder.is_full();
                report.records += run.len() as u64;
                topic_statistics::add(&mut report.topic_statistics, run);
            }
        }
        let mut batches = Vec::new();
        for (topic, decoder) in (0..).map(TopicId).zip(decoders) {
            if let Some(decoder) = decoder.as_mut().filter(|decoder| decoder.rows() > 0)
            {
                let schema = self.job.time.schema(decoder.schema());
                let batch = self.job.time.apply(decoder.take()?, &schema)?;
                batches.push((topic, batch));
            }
        }
        let remaining = if is_end { None } else { Some(cursor) };
        Ok((PartSection { batches, remaining }, report))
    }

    /// Writes the batches in the queue of a topic until it is empty.
    fn write_queue<'s>(&'s self, topic: TopicId, scope: &Scope<'s>)
    where
        'd: 's,
    {
        let mut writer = lock(&self.queues[topic.index()]).writer.take();
        loop {
            let (batch, pending) = {
                let mut write_queue = lock(&self.queues[topic.index()]);
                match write_queue.waiting.pop_front() {
                    Some(next) => next,
                    None => {
                        (write_queue.writer, write_queue.is_busy) = (writer, false);
                        return;
                    }
                }
            };
            if let Err(err) = self.write(topic, &mut writer, &batch) {
                lock(&self.state).error.get_or_insert(err);
                return; // still marked as busy, so that nothing more is written
            }
            drop(batch);
            if pending.batches.fetch_sub(1, Ordering::AcqRel) == 1 {
                let part = pending.part;
                match lock(&pending.remaining).take() {
                    None => {
                        lock(&self.state).active_parts -= 1;
                        self.start_parts(scope);
                    }
                    remaining => scope.spawn(move |scope| {
                        self.decode_and_queue(part, remaining, scope)
                    }),
                }
            }
        }
    }

    fn write(
        &self,
        topic: TopicId,
        writer: &mut Option<Box<dyn TableWriter>>,
        batch: &RecordBatch,
    ) -> Result<()> {
        let writer = match writer {
            Some(writer) => writer,
            empty => {
                let topic_info = self.log.manifest().topic(topic)?;
                empty.insert(self.sink.new_table(topic_info, &batch.schema())?)
            }
        };
        writer.write(batch)
    }

    /// Finishes the tables in parallel.
    fn finish(self) -> Result<ReadReport> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(err) = state.error {
            return Err(err);
        }
        let first_error = Mutex::new(None);
        rayon::scope(|scope| {
            for write_queue in self.queues {
                let write_queue =
                    write_queue.into_inner().unwrap_or_else(PoisonError::into_inner);
                let Some(writer) = write_queue.writer else { continue };
                let first_error = &first_error;
                scope.spawn(move |_| {
                    if let Err(err) = writer.finish() {
                        lock(first_error).get_or_insert(err);
                    }
                });
            }
        });
        if let Some(err) =
            first_error.into_inner().unwrap_or_else(PoisonError::into_inner)
        {
            return Err(err);
        }
        let mut report = state.report;
        report.damage.sort_by_key(|damage| damage.bytes.start);
        Ok(report)
    }
}

/// Locks the mutex, even if another thread panicked: rayon propagates that panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for TableJob<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableJob")
            .field("selection", &self.selection)
            .field("time", &self.time)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
