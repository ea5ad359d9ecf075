//! Decodes a block on one thread.

use std::ops::Range;

use arrow_array::RecordBatch;
use logtool_core::{
    Block, Columns, Damage, Decoder, Log, RawDecoder, Run, TopicId, TopicOrigin,
    TopicSort,
};

use crate::{error::Result, records::rows::PrintedRows};

/// Converts a decoded table to rows.
pub type MakeRows = fn(&RecordBatch) -> Result<PrintedRows>;

/// Adds a row of a topic to the value of a block.
pub(super) type AddRow<M> = dyn Fn(TopicId, &PrintedRows, usize, &mut M) + Send + Sync;

/// A block, and the state for decoding it, which is reused for other blocks.
#[derive(Default)]
pub(super) struct DecodeWorker<M> {
    pub(super) block: Block,
    /// The range of its bytes in the file, if they are the bytes of the file.
    pub(super) bytes: Range<u64>,
    /// The topic of each record, in the order of the records.
    order: Vec<TopicId>,
    sort: TopicSort,
    topics: Vec<TopicDecoder>,
    /// The damage of the block and of its records.
    pub(super) damage: Vec<Damage>,
    /// The number of rows.
    pub(super) rows: usize,
    /// The value that is produced from the rows.
    pub(super) value: M,
}

/// The decoder of a topic, and its decoded records.
#[derive(Default)]
struct TopicDecoder {
    decoder: Option<Box<dyn Decoder>>,
    /// The number of bytes before each message; `None` for a derived topic, whose records are shown
    /// with those of the topic that it is derived from.
    header_len: Option<u32>,
    /// Whether some of the last records had no row, or several.
    is_uneven: bool,
    table: Option<DecodedTable>,
    /// The payloads of records that could not be decoded.
    payloads: Option<DecodedTable>,
}

/// The records of a topic in a block, decoded.
struct DecodedTable {
    rows: PrintedRows,
    /// The number of rows of each record, unless each has one.
    rows_each: Option<Vec<usize>>,
    next_record: usize,
    next_row: usize,
}

impl<M> DecodeWorker<M> {
    /// Prepares for the records of the block, which are of `log`.
    pub(super) fn prepare(&mut self, log: &dyn Log, columns: &Columns) -> Result<()> {
        self.topics.resize_with(log.manifest().topics.len(), TopicDecoder::default);
        self.order.clear();
        for record in self.block.iter() {
            self.order.push(record.topic);
            let decoder = &mut self.topics[record.topic.index()].decoder;
            if decoder.is_none() {
                *decoder = Some(log.decoder(record.topic, columns)?);
                let topic_info = log.manifest().topic(record.topic)?;
                let is_derived = topic_info.origin == TopicOrigin::Derived;
                self.topics[record.topic.index()].header_len =
                    (!is_derived).then_some(topic_info.header_len);
            }
        }
        self.bytes = self.block.file_range();
        Ok(())
    }

    /// Decodes the records and converts them to rows.
    pub(super) fn decode(&mut self, make_rows: MakeRows) -> Result<()> {
        self.damage.clear();
        self.damage.extend_from_slice(self.block.damage());
        self.rows = 0;
        self.block.sort_by_topic(&mut self.sort);
        for run in self.block.runs() {
            let topic = &mut self.topics[run.topic().index()];
            self.rows += topic.decode(run, make_rows, &mut self.damage)?;
        }
        Ok(())
    }

    /// Adds all rows to the value, in the order of the records. After the rows of each record,
    /// `take` may consume the value, and returns whether to continue. Returns whether `take` always
    /// returned true.
    pub(super) fn make(
        &mut self,
        add_row: &AddRow<M>,
        take: &mut dyn FnMut(&mut M) -> Result<bool>,
    ) -> Result<bool> {
        for id in &self.order {
            let topic = &mut self.topics[id.index()];
            for table in topic.table.iter_mut().chain(&mut topic.payloads) {
                for row in table.rows_of_next() {
                    add_row(*id, &table.rows, row, &mut self.value);
                }
            }
            if !take(&mut self.value)? {
                return Ok(false);
            }
        }
        for run in self.block.runs() {
            let topic = &mut self.topics[run.topic().index()];
            (topic.table, topic.payloads) = (None, None);
        }
        Ok(true)
    }
}

impl TopicDecoder {
    /// Decodes `run`, which contains all records of the topic in the block. Returns the number of
    /// rows.
    fn decode(
        &mut self,
        run: Run<'_>,
        make_rows: MakeRows,
        damage: &mut Vec<Damage>,
    ) -> Result<usize> {
        let Some(decoder) = &mut self.decoder else { return Ok(0) };
        let mut decode_damage = Vec::new();
        if !self.is_uneven {
            decoder.append(run, &mut decode_damage);
            self.is_uneven = decoder.rows() != run.len();
            if self.is_uneven {
                // Some record has no row, or several: decode one by one to count them.
                decoder.take()?;
                decode_damage.clear();
            }
        }
        let header_len = self.header_len.filter(|_| self.is_uneven);
        let mut undecodable = header_len.map(RawRows::new).transpose()?;
        let rows_each = self.is_uneven.then(|| {
            let mut each = Vec::with_capacity(run.len());
            for record in run.single_record_runs() {
                let (before, lost) =
                    (decoder.rows(), undecodable_records(&decode_damage));
                decoder.append(record, &mut decode_damage);
                each.push(decoder.rows() - before);
                if let Some(rows) = &mut undecodable {
                    rows.add(record, undecodable_records(&decode_damage) > lost);
                }
            }
            each
        });
        damage.append(&mut decode_damage);
        let batch = decoder.take()?;
        let rows = make_rows(&batch)?;
        self.table =
            Some(DecodedTable { rows, rows_each, next_record: 0, next_row: 0 });
        self.payloads =
            undecodable.map(|rows| rows.table(make_rows)).transpose()?.flatten();
        Ok(batch.num_rows())
    }
}

/// Returns the number of records of `damage` that are shown as their payloads.
fn undecodable_records(damage: &[Damage]) -> u64 {
    let undecodable = damage.iter().filter(|entry| entry.kind.keeps_payload());
    undecodable.map(|entry| entry.records).fold(0, u64::saturating_add)
}

/// The payloads of the records of a run that cannot be decoded, which are shown as bytes.
struct RawRows {
    decoder: RawDecoder,
    rows_each: Vec<usize>,
}

impl RawRows {
    fn new(header_len: u32) -> Result<Self> {
        let decoder = RawDecoder::new("ns", &Columns::default())?;
        Ok(Self { decoder: decoder.without_header(header_len), rows_each: Vec::new() })
    }

    /// Adds the next record.
    fn add(&mut self, record: Run<'_>, is_undecodable: bool) {
        let before = self.decoder.rows();
        if is_undecodable {
            self.decoder.append(record, &mut Vec::new());
        }
        self.rows_each.push(self.decoder.rows() - before);
    }

    /// Returns the rows, if there are any.
    fn table(mut self, make_rows: MakeRows) -> Result<Option<DecodedTable>> {
        if self.decoder.rows() == 0 {
            return Ok(None);
        }
        let rows = make_rows(&self.decoder.take()?)?;
        let rows_each = Some(self.rows_each);
        Ok(Some(DecodedTable { rows, rows_each, next_record: 0, next_row: 0 }))
    }
}

impl DecodedTable {
    /// Returns the rows of the next record.
    fn rows_of_next(&mut self) -> Range<usize> {
        let count = match &self.rows_each {
            Some(rows_each) => rows_each.get(self.next_record).copied().unwrap_or(0),
            None => 1,
        };
        self.next_record += 1;
        self.next_row += count;
        self.next_row - count..self.next_row
    }
}
