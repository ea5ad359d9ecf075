//! Reading records one after the other, decoding those of one topic together.

mod decode_worker;

use std::{mem, sync::Arc};

use logtool_core::{
    Block, Columns, Cursor, Damage, Log, Queue, ReadAhead, Selection, TimeOrder,
    TopicId, TopicOrigin,
};

use self::decode_worker::{AddRow, Bench};
use crate::{
    error::{Error, Result},
    rows::Rows,
};

pub use self::decode_worker::MakeRows;

/// The order in which records come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Order {
    /// As they are in the file
    File,
    /// The earliest first; of those at one time, as they are in the file
    Time,
}

/// Reads a log block by block, and makes an `M` of the rows of each: lines, say.
///
/// Several blocks are decoded at a time, one on each thread; what is made of them comes
/// in their order.
pub struct Reader<'l, M> {
    log: &'l dyn Log,
    cursor: Box<dyn Cursor + 'l>,
    /// What is left of the last block that was too much for a bench.
    rest: Block,
    /// So many records are enough for a bench; whatever a block has, if that is not told.
    enough: Option<usize>,
    columns: Columns,
    make_rows: MakeRows,
    add_row: Arc<AddRow<M>>,
    /// Benches at which nobody works.
    idle: Vec<Bench<M>>,
}

/// What is done with what was made of rows, and empties it; it says whether it wants more.
pub type Take<'t, M> = &'t mut dyn FnMut(&mut M) -> Result<bool>;

/// What is told of damage.
pub type Tell<'t> = &'t mut dyn FnMut(&[Damage]) -> Result<()>;

/// About how many bytes a thread reads at a time.
const PART_BYTES: u64 = 1 << 20;

/// Where topics are made of others, a thread makes something of so many records at a time,
/// until it is known how many rows they give, and then of so many rows: the lines of the
/// points of a block may be 100 times as long as the block.
const FIRST_RECORDS: usize = 64;
const ROWS: usize = 1 << 13;

impl<'l, M: Default + Send + 'static> Reader<'l, M> {
    /// A reader of what `selection` wants of `log`, in this `order`. Of each table it
    /// makes rows, and `add_row` adds each of these to what is made of them.
    pub fn new(
        log: &'l dyn Log,
        selection: Selection,
        order: Order,
        columns: Columns,
        make_rows: MakeRows,
        add_row: impl Fn(TopicId, &Rows, usize, &mut M) + Send + Sync + 'static,
    ) -> Self {
        let columns = Columns { time: selection.time, ..columns };
        let is_made = log.manifest().topics().any(|(id, topic)| {
            topic.origin == TopicOrigin::Derived && selection.topics.contains(id)
        });
        let cursor: Box<dyn Cursor + 'l> = match order {
            Order::Time => Box::new(TimeOrder::new(log, selection)),
            Order::File => {
                let plan = log.manifest().plan(&selection, PART_BYTES);
                Box::new(ReadAhead::new(log, plan, selection).gathering())
            }
        };
        let rest = Block::default();
        let enough = is_made.then_some(FIRST_RECORDS);
        let (add_row, idle) = (Arc::new(add_row), Vec::new());
        Self { log, cursor, rest, enough, columns, make_rows, add_row, idle }
    }

    /// Hands all that is made of the rows to `take`, piece by piece, until that says false;
    /// and all damage to `damaged`, before the rows of the block that it is in. Both may
    /// fail, and are called by this thread.
    pub fn each(mut self, take: Take<'_, M>, damaged: Tell<'_>) -> Result<()> {
        match rayon::current_num_threads() {
            1 => self.one_by_one(take, damaged),
            _ => self.side_by_side(take, damaged),
        }
    }

    /// Hands out the rows of each record before those of the next are made: nothing is
    /// kept for which nobody waits.
    fn one_by_one(&mut self, take: Take<'_, M>, damaged: Tell<'_>) -> Result<()> {
        self.enough = None;
        while let Some(mut bench) = self.fill()? {
            bench.decode(self.make_rows)?;
            tell(&bench, damaged)?;
            if !bench.make(&*self.add_row, take)? {
                break;
            }
            self.idle.push(bench);
        }
        Ok(())
    }

    /// Makes all of a block, or of as much of it as is enough, by whichever thread has
    /// nothing else to do.
    fn side_by_side(&mut self, take: Take<'_, M>, damaged: Tell<'_>) -> Result<()> {
        let mut queue: Queue<Result<Bench<M>>> = Queue::long();
        let mut taken = |done: Result<Bench<M>>, reader: &mut Self| {
            let mut bench = done?;
            tell(&bench, damaged)?;
            let is_more = take(&mut bench.made)?;
            // The cursor did that before the bytes were decoded.
            reader.log.source().release(bench.bytes.clone());
            if let Some(enough) = &mut reader.enough {
                let records = (ROWS * bench.block.len()).checked_div(bench.rows);
                *enough = records.unwrap_or(*enough).max(1);
            }
            reader.idle.push(bench);
            Ok::<_, Error>(is_more)
        };
        let ended = loop {
            let mut bench = match self.fill() {
                Ok(Some(bench)) => bench,
                Ok(None) => break Ok(()),
                Err(err) => break Err(err), // told after what came before
            };
            let (make_rows, add_row) = (self.make_rows, self.add_row.clone());
            queue.push(move || {
                bench.decode(make_rows)?;
                bench.make(&*add_row, &mut |_| Ok(true))?;
                Ok(bench)
            });
            while let Some(done) = queue.next() {
                if !taken(done, self)? {
                    return Ok(());
                }
            }
        };
        while let Some(done) = queue.wait() {
            if !taken(done, self)? {
                return Ok(());
            }
        }
        ended
    }

    /// The next block, on a bench that is ready for its records; nothing at the end.
    fn fill(&mut self) -> Result<Option<Bench<M>>> {
        let mut bench = self.idle.pop().unwrap_or_default();
        if !self.rest.is_empty() {
            bench.block = mem::take(&mut self.rest);
        } else if !self.cursor.fill(&mut bench.block)? {
            return Ok(None);
        }
        if let Some(enough) = self.enough.filter(|enough| bench.block.len() > *enough) {
            self.rest = bench.block.split_off(enough);
        }
        bench.prepare(self.log, &self.columns)?;
        Ok(Some(bench))
    }
}

/// Tells what was damaged in a block, if anything was.
fn tell<M>(bench: &Bench<M>, damaged: Tell<'_>) -> Result<()> {
    if bench.damage.is_empty() { Ok(()) } else { damaged(&bench.damage) }
}
