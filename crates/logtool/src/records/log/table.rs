//! The table of a topic, and its batches.

use std::{fmt, ops::Range, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{
    Block, Columns, Damage, Decoder, Part, PayloadLog, Selection, TimeBase, TimeRange,
    Topic, TopicId, TopicSet, View,
};
use parking_lot::Mutex;

use crate::{
    error::{Error, Result},
    records::{
        log::{
            Log, PART_BYTES,
            column_types::{ColumnConverter, ColumnTypes},
            threads,
        },
        parallel::{OrderedResults, PushResult},
    },
    source::selection,
    text::suggest,
    time::clock::{ShownClock, TimeChoice},
};

/// The number of rows after which a batch ends.
const BATCH_ROWS: usize = 1 << 16;

impl Log {
    /// Returns the table of the topic with the label `topic`, e.g. `imu` or `sensor_gps.1`.
    ///
    /// # Errors
    /// `NotFound` if there is no such topic.
    pub fn table(&self, topic: &str) -> Result<Table> {
        let topic = self.manifest().topic_id(topic).map_err(|err| {
            let labels: Vec<_> = self.topics().iter().map(Topic::label).collect();
            let labels = labels.iter().map(|label| &**label);
            let hint = suggest::hint(topic, labels, "`logtool info` lists the topics");
            Error::from(err).with_hint(hint)
        })?;
        Ok(Table {
            log: self.clone(),
            topic,
            columns: Columns::default(),
            time: TimeRange::ALL,
            time_base: TimeBase::default(),
            types: ColumnTypes::default(),
            has_payloads: false,
            reported: None,
        })
    }
}

/// The records of one topic as a table: the first column is the time.
#[derive(Clone, Debug)]
#[must_use]
pub struct Table {
    log: Log,
    topic: TopicId,
    columns: Columns,
    time: TimeRange,
    time_base: TimeBase,
    types: ColumnTypes,
    has_payloads: bool,
    /// The damage that is reported, if it is not that of the topic in any bytes.
    reported: Option<ReportedDamage>,
}

/// The damage that a table of translated messages reports.
#[derive(Clone, Debug)]
pub(crate) struct ReportedDamage {
    /// The topic of the source log.
    pub(crate) topic: TopicId,
    /// The bytes in which the damage starts.
    pub(crate) bytes: Range<u64>,
}

impl Table {
    /// Creates the table of a split, whose `log` may contain only the rows of the split.
    pub(crate) fn from_split(
        log: Log,
        topic: TopicId,
        columns: Columns,
        time: TimeRange,
        time_base: TimeBase,
    ) -> Self {
        let types = ColumnTypes::default();
        let (has_payloads, reported) = (false, None);
        Self { log, topic, columns, time, time_base, types, has_payloads, reported }
    }

    /// Reports only this damage, as damage of the topic of the table.
    pub(crate) fn with_reported_damage(mut self, reported: ReportedDamage) -> Self {
        self.reported = Some(reported);
        self
    }

    /// Returns the log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the topic in the [manifest](Log::manifest) of the log.
    pub fn topic(&self) -> TopicId {
        self.topic
    }

    /// Selects the columns that match one of `patterns`; the time is always there.
    ///
    /// # Errors
    /// `NotFound` if a pattern matches no column.
    pub fn with_columns(mut self, patterns: &[String]) -> Result<Self> {
        let mut topics: TopicSet = [self.topic].into_iter().collect();
        let log = &*self.log.log;
        let columns = selection::columns(log, &mut topics, &self.columns, patterns)?;
        if let Some(columns) = columns.get(&self.topic) {
            self.columns = columns.clone();
        }
        Ok(self)
    }

    /// Makes one column of each number: `q[0]`, `pose.x`. To be called before
    /// [`with_columns`](Self::with_columns).
    pub fn with_flat_columns(mut self) -> Self {
        if self.columns.view != View::Flat {
            self.columns = Columns::new(View::Flat);
        }
        self
    }

    /// Makes one column of each number in the selected columns.
    ///
    /// # Errors
    /// If the topic cannot be decoded.
    pub(crate) fn with_flattened_selection(mut self) -> Result<Self> {
        if self.columns.view == View::Flat {
            return Ok(self);
        }
        if let Some(indices) = &self.columns.indices {
            let columns = |view| self.log.log.decoder(self.topic, &Columns::new(view));
            let (nested, flat) = (columns(View::Nested)?, columns(View::Flat)?);
            let names =
                indices.iter().filter_map(|index| nested.schema().fields().get(*index));
            let names: Vec<&str> = names.map(|field| field.name().as_str()).collect();
            let is_selected = |column: &str| {
                names.iter().any(|name| {
                    let suffix = column.strip_prefix(name);
                    suffix.is_some_and(|suffix| {
                        suffix.is_empty() || suffix.starts_with(['[', '.'])
                    })
                })
            };
            let flat = flat.schema().fields().iter().enumerate();
            let selected = flat.filter(|(_, field)| is_selected(field.name()));
            self.columns.indices = Some(selected.map(|(index, _)| index).collect());
        }
        self.columns.view = View::Flat;
        Ok(self)
    }

    /// Selects, of the selected records, those of these times, on the clock of the log.
    pub fn with_time(mut self, time: TimeRange) -> Self {
        self.time.start = self.time.start.max(time.start);
        self.time.end = self.time.end.min(time.end).max(self.time.start);
        self
    }

    /// Sets the clock on which the times of the table are.
    ///
    /// # Errors
    /// If the log does not state its times on that clock.
    pub fn with_clock(mut self, clock: TimeChoice) -> Result<Self> {
        self.time_base = ShownClock::new(self.log.manifest(), clock)?.base();
        Ok(self)
    }

    /// Makes the times of the table durations, or timestamps with the time zone UTC if they
    /// count from 1970. Without this, all are timestamps without a time zone, except those on
    /// the clock [`Utc`](TimeChoice::Utc).
    pub fn with_typed_times(mut self) -> Self {
        self.types.has_typed_times = true;
        self
    }

    /// Converts the columns to types that Apache Spark reads:
    /// [`TableLayout::Spark`](crate::jobs::convert::TableLayout::Spark) describes them.
    pub fn with_spark_types(mut self) -> Self {
        self.types.has_spark_types = true;
        self
    }

    /// Adds the column `payload` with the bytes of records that cannot be decoded. Each of them
    /// is a row in which all other columns except the time are null, and is still reported as
    /// damage. Without this, it is only damage. Derived topics, and topics of an unknown type,
    /// whose rows are payloads anyway, have no such column.
    pub fn with_payloads(mut self) -> Self {
        let topic = self.log.manifest().topic(self.topic);
        if !self.has_payloads && topic.is_ok_and(PayloadLog::can_have_payloads) {
            let log = Box::new(Arc::clone(&self.log.log));
            self.log.log = Arc::new(PayloadLog::new(log, [self.topic].into()));
            self.has_payloads = true;
        }
        self
    }

    /// Returns the columns of the batches.
    ///
    /// # Errors
    /// If the topic cannot be decoded.
    pub fn schema(&self) -> Result<SchemaRef> {
        let columns = Columns { time: self.time, ..self.columns.clone() };
        let decoder = self.log.log.decoder(self.topic, &columns)?;
        Ok(self.converter(decoder.schema()).schema().clone())
    }

    /// Returns the conversion of decoded batches with the columns `schema`.
    fn converter(&self, schema: &SchemaRef) -> ColumnConverter {
        let clock = &self.log.manifest().clock;
        self.types.converter(schema, self.time_base, clock.zero)
    }

    /// Starts to read the table: the batches come in the order of the file, and are decoded
    /// by several threads. Memory is bounded by a few batches for each thread.
    ///
    /// # Errors
    /// If the topic cannot be decoded.
    ///
    /// # Example
    /// ```no_run
    /// let log = logtool::open("drive.bag")?;
    /// let mut batches = log.table("/imu/data")?.batches()?;
    /// for batch in &mut batches {
    ///     println!("{} rows", batch?.num_rows());
    /// }
    /// println!("{} places are damaged", batches.damage().len());
    /// # Ok::<(), logtool::Error>(())
    /// ```
    pub fn batches(&self) -> Result<Batches> {
        let schema = self.schema()?;
        let selection =
            Selection { topics: [self.topic].into_iter().collect(), time: self.time };
        let table = Self {
            columns: Columns { time: self.time, ..self.columns.clone() },
            ..self.clone()
        };
        let parts = self.log.manifest().plan(&selection, PART_BYTES);
        let count = parts.len();
        // Blocks and decoders keep their memory from one part to the next.
        let unused = Mutex::new(Vec::new());
        let work = move |index: usize, push: PushResult<'_, DecodedRows>| {
            let buffers = unused.lock().pop();
            let (mut block, mut decoder) = match buffers {
                Some(buffers) => buffers,
                None => {
                    let log = &table.log.log;
                    (Block::default(), log.decoder(table.topic, &table.columns)?)
                }
            };
            let part_selection = (&parts[index], &selection);
            table.decode(part_selection, (&mut block, &mut *decoder), push)?;
            unused.lock().push((block, decoder));
            Ok(())
        };
        let results = OrderedResults::new(count, threads(), work);
        Ok(Batches { schema, results, damage: Vec::new() })
    }

    /// Returns `damage` as the damage of this table, if it is.
    fn own_damage(&self, damage: &Damage) -> Option<Damage> {
        let topic =
            self.reported.as_ref().map_or(self.topic, |reported| reported.topic);
        let bytes = self.reported.as_ref().map(|reported| &reported.bytes);
        let is_own = damage.topic.is_none_or(|other| other == topic)
            && bytes.is_none_or(|bytes| bytes.contains(&damage.bytes.start));
        let own_topic = damage.topic.map(|_| self.topic);
        is_own.then(|| Damage { topic: own_topic, ..damage.clone() })
    }

    /// Decodes the records of a selection in one part of the log. The decoder has no rows at
    /// the end.
    fn decode(
        &self,
        (part, selection): (&Part, &Selection),
        (block, decoder): (&mut Block, &mut dyn Decoder),
        push: PushResult<'_, DecodedRows>,
    ) -> Result<()> {
        let log = &*self.log.log;
        let mut cursor = log.read(part, selection)?;
        let mut damage = Vec::new();
        loop {
            let is_end = !cursor.fill(block)?;
            if !is_end {
                damage.extend(
                    block.damage().iter().filter_map(|entry| self.own_damage(entry)),
                );
                for run in block.runs() {
                    decoder.append(run, &mut damage);
                }
            }
            let rows = decoder.rows();
            if rows >= BATCH_ROWS || is_end && (rows > 0 || !damage.is_empty()) {
                let batch = decoder.take()?;
                let batch = self.converter(decoder.schema()).convert(batch)?;
                if !push(DecodedRows { batch, damage: std::mem::take(&mut damage) }) {
                    return Ok(());
                }
            }
            if is_end {
                log.source().release(part.bytes.clone());
                return Ok(());
            }
        }
    }
}

/// Some rows, and the damage that was found while they were decoded.
struct DecodedRows {
    batch: RecordBatch,
    damage: Vec<Damage>,
}

/// The batches of a table, in the order of the file.
pub struct Batches {
    schema: SchemaRef,
    results: OrderedResults<DecodedRows>,
    damage: Vec<Damage>,
}

impl Batches {
    /// Returns the columns of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the damage of the topic, and of no known topic, that was found so far, in the
    /// order of the file. Damage that was found when the log was opened is included only if
    /// reading finds it again.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            match self.results.next()? {
                Err(error) => return Some(Err(error)),
                Ok(DecodedRows { batch, damage }) => {
                    for entry in damage {
                        entry.add_to(&mut self.damage);
                    }
                    if batch.num_rows() > 0 {
                        return Some(Ok(batch));
                    }
                }
            }
        }
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("schema", &self.schema).finish_non_exhaustive()
    }
}
