//! Reading records one after the other, decoding those of one topic together.

use anyhow::Result;
use logtool_core::{
    Block, Columns, Cursor, Damage, Decoder, Log, ReadAhead, Run, Selection, TimeOrder,
    TopicId, TopicSort,
};

use crate::{args::Order, row::Rows};

/// What makes rows of a decoded table.
pub(crate) type MakeRows = fn(&arrow_array::RecordBatch) -> Result<Rows>;

/// Reads a log block by block.
pub(crate) struct Reader<'l> {
    log: &'l dyn Log,
    cursor: Box<dyn Cursor + 'l>,
    columns: Columns,
    make_rows: MakeRows,
    sort: TopicSort,
    topics: Vec<Topic>,
}

/// What is known of a topic in the block that is being read.
#[derive(Default)]
struct Topic {
    decoder: Option<Box<dyn Decoder>>,
    rows: Option<Rows>,
    /// How many rows each record gave, if that is not one each.
    rows_each: Option<Vec<usize>>,
    next_record: usize,
    next_row: usize,
}

/// About how many bytes a thread reads at a time.
const PART_BYTES: u64 = 1 << 20;

impl<'l> Reader<'l> {
    /// A reader of what `selection` wants of `log`, in this `order`.
    pub(crate) fn new(
        log: &'l dyn Log,
        selection: Selection,
        order: Order,
        columns: Columns,
        make_rows: MakeRows,
    ) -> Self {
        let columns = Columns { time: selection.time, ..columns };
        let cursor: Box<dyn Cursor + 'l> = match order {
            Order::Time => Box::new(TimeOrder::new(log, selection)),
            Order::File => {
                let plan = log.manifest().plan(&selection, PART_BYTES);
                Box::new(ReadAhead::new(log, plan, selection))
            }
        };
        let topics = log.manifest().topics.iter().map(|_| Topic::default()).collect();
        let sort = TopicSort::default();
        Self { log, cursor, columns, make_rows, sort, topics }
    }

    /// Hands every row to `row`, until that says false; and all damage to `damaged`,
    /// which may fail.
    pub(crate) fn each(
        &mut self,
        row: &mut dyn FnMut(TopicId, &Rows, usize) -> Result<bool>,
        damaged: &mut dyn FnMut(&[Damage]) -> Result<()>,
    ) -> Result<()> {
        let (mut block, mut order) = (Block::default(), Vec::new());
        while self.cursor.fill(&mut block)? {
            let mut damage = block.damage().to_vec();
            order.clear();
            order.extend(block.iter().map(|record| record.topic));
            block.sort_by_topic(&mut self.sort);
            for run in block.runs() {
                self.decode(run, &mut damage)?;
            }
            if !damage.is_empty() {
                damaged(&damage)?;
            }
            for topic in &order {
                if !self.topics[topic.index()].hand_out(*topic, row)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Makes the rows of `run`, which are all of a topic that the block has.
    fn decode(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) -> Result<()> {
        let topic = &mut self.topics[run.topic().index()];
        let decoder = match &mut topic.decoder {
            Some(decoder) => decoder,
            none => none.insert(self.log.decoder(run.topic(), &self.columns)?),
        };
        let mut found = Vec::new();
        decoder.append(run, &mut found);
        topic.rows_each = None;
        if decoder.rows() != run.len() {
            // Some record gave none, or several: find out which.
            decoder.take()?;
            found.clear();
            let mut rows_each = Vec::with_capacity(run.len());
            for record in run.singles() {
                let before = decoder.rows();
                decoder.append(record, &mut found);
                rows_each.push(decoder.rows() - before);
            }
            topic.rows_each = Some(rows_each);
        }
        damage.append(&mut found);
        topic.rows = Some((self.make_rows)(&decoder.take()?)?);
        (topic.next_record, topic.next_row) = (0, 0);
        Ok(())
    }
}

impl Topic {
    /// Hands out the rows of the next record.
    fn hand_out(
        &mut self,
        id: TopicId,
        row: &mut dyn FnMut(TopicId, &Rows, usize) -> Result<bool>,
    ) -> Result<bool> {
        let Some(rows) = &self.rows else { return Ok(true) };
        let count = match &self.rows_each {
            Some(rows_each) => rows_each.get(self.next_record).copied().unwrap_or(0),
            None => 1,
        };
        self.next_record += 1;
        for _ in 0..count {
            self.next_row += 1;
            if !row(id, rows, self.next_row - 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
