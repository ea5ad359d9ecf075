//! Reads records in order; the records of each topic are decoded together.

mod decode_worker;

use std::{mem, sync::Arc};

use logtool_core::{
    Block, Columns, Cursor, Damage, Log, ReadAhead, Selection, TaskQueue, TimeOrder,
    TopicId, TopicOrigin,
};

use self::decode_worker::{AddRow, DecodeWorker};
use crate::{
    error::{Error, Result},
    records::rows::PrintedRows,
};

pub use self::decode_worker::MakeRows;

/// The order of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum RecordOrder {
    /// As they are in the file
    File,
    /// Sorted by time; records with equal times keep their order in the file
    Time,
}

/// Reads a log block by block, and produces a value of type `M` from the rows of each block, e.g.
/// their lines of text.
///
/// Several blocks are decoded at the same time, one on each thread; the values are delivered in the
/// order of the blocks.
pub struct LogReader<'l, M> {
    log: &'l dyn Log,
    cursor: Box<dyn Cursor + 'l>,
    /// The rest of the last block, which was too long for one worker.
    unread: Block,
    /// The number of records for one worker; `None` if a worker takes whole blocks.
    records_per_worker: Option<usize>,
    columns: Columns,
    make_rows: MakeRows,
    add_row: Arc<AddRow<M>>,
    /// Workers that are not in use.
    idle: Vec<DecodeWorker<M>>,
}

/// Consumes and clears a value; returns whether more values are wanted.
pub type ReceiveValue<'t, M> = &'t mut dyn FnMut(&mut M) -> Result<bool>;

/// Receives damage.
pub type ReceiveDamage<'t> = &'t mut dyn FnMut(&[Damage]) -> Result<()>;

/// The approximate number of bytes that a thread reads at a time.
const PART_BYTES: u64 = 1 << 20;

/// If topics are derived from others, a worker gets this many records until it is known how many
/// rows they have, and then as many records as have this many rows: the lines of the points of a
/// block may be 100 times as long as the block.
const FIRST_RECORDS: usize = 64;
const ROWS: usize = 1 << 13;

impl<'l, M: Default + Send + 'static> LogReader<'l, M> {
    /// Creates a reader of the records of `log` in `selection`, in this `order`. Each decoded
    /// table is converted by `make_rows`, and `add_row` adds each of its rows to the value of
    /// the block.
    pub fn new(
        log: &'l dyn Log,
        selection: Selection,
        order: RecordOrder,
        columns: Columns,
        make_rows: MakeRows,
        add_row: impl Fn(TopicId, &PrintedRows, usize, &mut M) + Send + Sync + 'static,
    ) -> Self {
        let columns = Columns { time: selection.time, ..columns };
        let is_derived = log.manifest().topics().any(|(id, topic)| {
            topic.origin == TopicOrigin::Derived && selection.topics.contains(id)
        });
        let cursor: Box<dyn Cursor + 'l> = match order {
            RecordOrder::Time => Box::new(TimeOrder::new(log, selection)),
            RecordOrder::File => {
                let plan = log.manifest().plan(&selection, PART_BYTES);
                Box::new(ReadAhead::new(log, plan, selection).with_compaction())
            }
        };
        let unread = Block::default();
        let records_per_worker = is_derived.then_some(FIRST_RECORDS);
        let (add_row, idle) = (Arc::new(add_row), Vec::new());
        Self {
            log,
            cursor,
            unread,
            records_per_worker,
            columns,
            make_rows,
            add_row,
            idle,
        }
    }

    /// Passes all values to `receive_value` until it returns false, and all damage to
    /// `receive_damage`, before the value of the block that contains it. Both may fail, and are called on this thread.
    pub fn for_each(
        mut self,
        receive_value: ReceiveValue<'_, M>,
        receive_damage: ReceiveDamage<'_>,
    ) -> Result<()> {
        match rayon::current_num_threads() {
            1 => self.read_by_record(receive_value, receive_damage),
            _ => self.read_in_parallel(receive_value, receive_damage),
        }
    }

    /// Passes the rows of each record to `receive_value` before the next record is decoded, so that
    /// rows are shown without delay.
    fn read_by_record(
        &mut self,
        receive_value: ReceiveValue<'_, M>,
        receive_damage: ReceiveDamage<'_>,
    ) -> Result<()> {
        self.records_per_worker = None;
        while let Some(mut worker) = self.fill()? {
            worker.decode(self.make_rows)?;
            report_damage(&worker, receive_damage)?;
            if !worker.make(&*self.add_row, receive_value)? {
                break;
            }
            self.idle.push(worker);
        }
        Ok(())
    }

    /// Decodes blocks, or the parts of blocks that are enough for one worker, on all threads.
    fn read_in_parallel(
        &mut self,
        receive_value: ReceiveValue<'_, M>,
        receive_damage: ReceiveDamage<'_>,
    ) -> Result<()> {
        let mut queue: TaskQueue<Result<DecodeWorker<M>>> =
            TaskQueue::with_double_length();
        let mut accept = |result: Result<DecodeWorker<M>>, reader: &mut Self| {
            let mut worker = result?;
            report_damage(&worker, receive_damage)?;
            let is_more = receive_value(&mut worker.value)?;
            // The cursor released the bytes before they were decoded.
            reader.log.source().release(worker.bytes.clone());
            if let Some(limit) = &mut reader.records_per_worker {
                let records = (ROWS * worker.block.len()).checked_div(worker.rows);
                *limit = records.unwrap_or(*limit).max(1);
            }
            reader.idle.push(worker);
            Ok::<_, Error>(is_more)
        };
        let ended = loop {
            let mut worker = match self.fill() {
                Ok(Some(worker)) => worker,
                Ok(None) => break Ok(()),
                Err(err) => break Err(err), // returned after the preceding values
            };
            let (make_rows, add_row) = (self.make_rows, self.add_row.clone());
            queue.push(move || {
                worker.decode(make_rows)?;
                worker.make(&*add_row, &mut |_| Ok(true))?;
                Ok(worker)
            });
            while let Some(result) = queue.next() {
                if !accept(result, self)? {
                    return Ok(());
                }
            }
        };
        while let Some(result) = queue.wait() {
            if !accept(result, self)? {
                return Ok(());
            }
        }
        ended
    }

    /// Returns a worker with the next block, ready to decode its records; `None` at the end.
    fn fill(&mut self) -> Result<Option<DecodeWorker<M>>> {
        let mut worker = self.idle.pop().unwrap_or_default();
        if !self.unread.is_empty() {
            worker.block = mem::take(&mut self.unread);
        } else if !self.cursor.fill(&mut worker.block)? {
            return Ok(None);
        }
        if let Some(count) =
            self.records_per_worker.filter(|count| worker.block.len() > *count)
        {
            self.unread = worker.block.split_off(count);
        }
        worker.prepare(self.log, &self.columns)?;
        Ok(Some(worker))
    }
}

/// Reports the damage of a block, if there is any.
fn report_damage<M>(
    worker: &DecodeWorker<M>,
    receive_damage: ReceiveDamage<'_>,
) -> Result<()> {
    if worker.damage.is_empty() { Ok(()) } else { receive_damage(&worker.damage) }
}
