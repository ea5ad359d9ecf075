//! Reading a whole log, on all processors.
//!
//! Parts are decoded side by side; their batches are put back into the file's order
//! and handed to one lane per topic; lanes write side by side. No task ever waits: a
//! part begins when another is wholly written, so that memory is bounded by a few
//! parts however long the log is, and a slow sink slows the reading down.

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
    block::{Block, TopicSort},
    damage::Damage,
    error::Result,
    log::{Columns, Cursor, Decoder, Log},
    manifest::{Part, Selection},
    shape::TimeBase,
    sink::{RecordSink, TableSink, TableWriter},
    topic::TopicId,
};

/// What was read, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Records that were read.
    pub records: u64,
    /// Everything that was found damaged, in the order of the file.
    pub damage: Vec<Damage>,
}

/// What to make tables of, and how.
pub struct TableJob<'j> {
    /// The records that are wanted.
    pub selection: Selection,
    /// The columns that are wanted of each topic that is not in `columns_of`.
    pub columns: Columns,
    /// The columns that are wanted of some topics.
    pub columns_of: BTreeMap<TopicId, Columns>,
    /// The clock on which the tables tell their times.
    pub time: TimeBase,
    /// About how many bytes of the log to decode at a time.
    pub part_bytes: u64,
    /// Told, as it goes, how many more bytes of the log are done.
    pub progress: &'j (dyn Fn(u64) + Sync),
}

/// Moves every record of `cursor` into `sink`, whose only extract they are.
pub fn drain(cursor: &mut dyn Cursor, sink: &mut dyn RecordSink) -> Result<Report> {
    let (mut block, mut report) = (Block::default(), Report::default());
    while cursor.fill(&mut block)? {
        report.damage.extend_from_slice(block.damage());
        for record in block.iter() {
            sink.write(0, record)?;
            report.records += 1;
        }
    }
    Ok(report)
}

/// Decodes what `job` wants of `log` into `sink`, one table a topic.
///
/// Runs on the current rayon pool. The rows of a table are in the file's order.
pub fn to_tables(
    log: &dyn Log,
    job: &TableJob<'_>,
    sink: &dyn TableSink,
) -> Result<Report> {
    let plan = log.manifest().plan(&job.selection, job.part_bytes);
    let lanes = log.manifest().topics.iter().map(|_| Mutex::default()).collect();
    let driver = Driver {
        log,
        job,
        sink,
        plan,
        lanes,
        spare: Mutex::default(),
        state: Mutex::default(),
        width: rayon::current_num_threads() + 1,
    };
    rayon::scope(|scope| driver.begin_parts(scope));
    driver.finish()
}

impl TableJob<'_> {
    fn columns(&self, topic: TopicId) -> &Columns {
        self.columns_of.get(&topic).unwrap_or(&self.columns)
    }
}

/// All that the tasks share.
struct Driver<'d> {
    log: &'d dyn Log,
    job: &'d TableJob<'d>,
    sink: &'d dyn TableSink,
    plan: Vec<Part>,
    lanes: Vec<Mutex<Lane>>,
    /// Decoders that no task is using.
    spare: Mutex<Vec<Workbench>>,
    state: Mutex<State>,
    /// How many parts may be under way.
    width: usize,
}

#[derive(Default)]
struct State {
    /// The next part to begin.
    next: usize,
    /// How many are begun and not wholly written.
    under_way: usize,
    /// Decoded parts that wait for an earlier one.
    early: BTreeMap<usize, Vec<(TopicId, RecordBatch)>>,
    /// The next part to hand to the lanes.
    hand_over: usize,
    report: Report,
    failed: Option<crate::error::Error>,
}

/// The way of one topic's batches into its table.
#[derive(Default)]
struct Lane {
    waiting: VecDeque<(RecordBatch, Arc<Ticket>)>,
    writer: Option<Box<dyn TableWriter>>,
    is_busy: bool,
}

/// Counts the batches of a part that are not yet written.
struct Ticket(AtomicUsize);

/// What a task decodes with; kept from part to part.
#[derive(Default)]
struct Workbench {
    block: Block,
    sort: TopicSort,
    decoders: Vec<Option<Box<dyn Decoder>>>,
}

impl<'d> Driver<'d> {
    /// Begins as many parts as may be under way.
    fn begin_parts<'s>(&'s self, scope: &Scope<'s>)
    where
        'd: 's,
    {
        let mut state = lock(&self.state);
        while state.failed.is_none()
            && state.under_way < self.width
            && state.next < self.plan.len()
        {
            let part = state.next;
            state.next += 1;
            state.under_way += 1;
            scope.spawn(move |scope| self.part(part, scope));
        }
    }

    /// Decodes a part, and hands over all that are now in order.
    fn part<'s>(&'s self, index: usize, scope: &Scope<'s>)
    where
        'd: 's,
    {
        let part = &self.plan[index];
        let mut bench = lock(&self.spare).pop().unwrap_or_default();
        let decoded = self.decode(part, &mut bench);
        lock(&self.spare).push(bench);
        self.log.source().release(part.bytes.clone());
        (self.job.progress)(part.bytes.end - part.bytes.start);

        let mut ready = Vec::new();
        {
            let mut state = lock(&self.state);
            match decoded {
                Ok((batches, report)) => {
                    state.report.records += report.records;
                    for damage in report.damage {
                        damage.add_to(&mut state.report.damage);
                    }
                    state.early.insert(index, batches);
                }
                Err(err) => drop(state.failed.get_or_insert(err)),
            }
            while state.failed.is_none() {
                let next = state.hand_over;
                let Some(batches) = state.early.remove(&next) else { break };
                state.hand_over += 1;
                if batches.is_empty() {
                    state.under_way -= 1;
                }
                let ticket = Arc::new(Ticket(AtomicUsize::new(batches.len())));
                for (topic, batch) in batches {
                    let mut lane = lock(&self.lanes[topic.index()]);
                    lane.waiting.push_back((batch, ticket.clone()));
                    if !mem::replace(&mut lane.is_busy, true) {
                        ready.push(topic);
                    }
                }
            }
        }
        for topic in ready {
            scope.spawn(move |scope| self.lane(topic, scope));
        }
        self.begin_parts(scope);
    }

    /// The tables of one part.
    fn decode(
        &self,
        part: &Part,
        bench: &mut Workbench,
    ) -> Result<(Vec<(TopicId, RecordBatch)>, Report)> {
        let Workbench { block, sort, decoders } = bench;
        decoders.resize_with(self.lanes.len(), || None);
        let mut report = Report::default();
        let mut cursor = self.log.read(part, &self.job.selection)?;
        while cursor.fill(block)? {
            report.damage.extend_from_slice(block.damage());
            block.sort_by_topic(sort);
            for run in block.runs() {
                let decoder = match &mut decoders[run.topic().index()] {
                    Some(decoder) => decoder,
                    none => {
                        let columns = self.job.columns(run.topic());
                        none.insert(self.log.decoder(run.topic(), columns)?)
                    }
                };
                decoder.append(run, &mut report.damage);
                report.records += run.len() as u64;
            }
        }
        let mut batches = Vec::new();
        for (topic, decoder) in (0..).map(TopicId).zip(decoders) {
            if let Some(decoder) = decoder.as_mut().filter(|d| d.rows() > 0) {
                let schema = self.job.time.schema(decoder.schema());
                let batch = self.job.time.apply(decoder.take()?, &schema)?;
                batches.push((topic, batch));
            }
        }
        Ok((batches, report))
    }

    /// Writes the batches that wait in a lane, until there are none.
    fn lane<'s>(&'s self, topic: TopicId, scope: &Scope<'s>)
    where
        'd: 's,
    {
        let mut writer = lock(&self.lanes[topic.index()]).writer.take();
        loop {
            let (batch, ticket) = {
                let mut lane = lock(&self.lanes[topic.index()]);
                match lane.waiting.pop_front() {
                    Some(next) => next,
                    None => {
                        (lane.writer, lane.is_busy) = (writer, false);
                        return;
                    }
                }
            };
            if let Err(err) = self.write(topic, &mut writer, &batch) {
                lock(&self.state).failed.get_or_insert(err);
                return; // still busy, so that nothing more is written
            }
            drop(batch);
            if ticket.0.fetch_sub(1, Ordering::AcqRel) == 1 {
                lock(&self.state).under_way -= 1;
                self.begin_parts(scope);
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
            none => {
                let about = self.log.manifest().get(topic)?;
                none.insert(self.sink.table(about, &batch.schema())?)
            }
        };
        writer.write(batch)
    }

    /// Finishes the tables, side by side.
    fn finish(self) -> Result<Report> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(err) = state.failed {
            return Err(err);
        }
        let failed = Mutex::new(None);
        rayon::scope(|scope| {
            for lane in self.lanes {
                let lane = lane.into_inner().unwrap_or_else(PoisonError::into_inner);
                let Some(writer) = lane.writer else { continue };
                let failed = &failed;
                scope.spawn(move |_| {
                    if let Err(err) = writer.finish() {
                        lock(failed).get_or_insert(err);
                    }
                });
            }
        });
        if let Some(err) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(err);
        }
        let mut report = state.report;
        report.damage.sort_by_key(|damage| damage.bytes.start);
        Ok(report)
    }
}

/// Locks, also after a panic elsewhere: rayon carries that one on by itself.
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
