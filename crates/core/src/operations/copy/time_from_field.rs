//! Taking the time of records from one of their fields.

use std::ops::Range;

use arrow_array::{Array as _, cast::AsArray as _, types::TimestampNanosecondType};
use arrow_schema::{DataType, TimeUnit};

use crate::{
    error::{Error, ErrorKind, Result},
    log::{Columns, Decoder, Log, View},
    model::{
        time::Timestamp,
        topic::{TopicId, TopicSet},
    },
    operations::copy::Retime,
    record::block::{Block, Run, TopicSort},
};

/// Reads the times of records from one of their fields, e.g. `header.stamp`.
///
/// A record keeps its own time if the field is 0, which means unset in ROS, or if it
/// cannot be decoded.
pub struct TimeFromField {
    topics: Vec<Option<TimeFieldTopic>>,
    sort: TopicSort,
    unchanged_records: u64,
    topics_without_field: TopicSet,
}

struct TimeFieldTopic {
    decoder: Box<dyn Decoder>,
    /// The times of the topic's records in the current block, in the order of the file.
    times: Vec<Option<Timestamp>>,
    /// The index of the time of the next record.
    next: usize,
}

impl TimeFromField {
    /// Creates a reader of the field called `field` in the flat view, for those of
    /// `topics` that have such a time field.
    ///
    /// # Errors
    /// `NoSuch` if none of them has it.
    pub fn new(log: &dyn Log, topics: &TopicSet, field: &str) -> Result<Self> {
        let mut topic_fields = Vec::new();
        for (id, _) in log.manifest().topics() {
            topic_fields.push(if topics.contains(id) {
                TimeFieldTopic::new(log, id, field)?
            } else {
                None
            });
        }
        if topic_fields.iter().all(Option::is_none) {
            let message =
                format!("none of the topics has a field {field:?} that is a time");
            return Err(Error::new(ErrorKind::NoSuch, message));
        }
        Ok(Self {
            topics: topic_fields,
            sort: TopicSort::default(),
            unchanged_records: 0,
            topics_without_field: TopicSet::EMPTY,
        })
    }

    /// Returns the topics without such a field that had records so far.
    pub fn topics_without_field(&self) -> &TopicSet {
        &self.topics_without_field
    }

    /// Returns the number of records of the other topics that kept their own time so far.
    pub fn unchanged_records(&self) -> u64 {
        self.unchanged_records
    }
}

impl TimeFieldTopic {
    fn new(log: &dyn Log, id: TopicId, field: &str) -> Result<Option<Self>> {
        let all_columns = log.decoder(id, &Columns::new(View::Flat))?;
        let is_time = |data_type: &DataType| {
            matches!(data_type, DataType::Timestamp(TimeUnit::Nanosecond, _))
        };
        // The first column is the time of the record itself.
        let mut fields = all_columns.schema().fields().iter().enumerate().skip(1);
        let time_field = fields
            .find(|(_, column)| column.name() == field && is_time(column.data_type()));
        let Some((index, _)) = time_field else { return Ok(None) };
        let columns =
            Columns { indices: Some(vec![index]), ..Columns::new(View::Flat) };
        let decoder = log.decoder(id, &columns)?;
        Ok(Some(Self { decoder, times: Vec::new(), next: 0 }))
    }

    /// Reads the times of `run`, which contains all records of the topic in a block.
    fn read_times(&mut self, run: Run<'_>) -> Result<()> {
        (self.times, self.next) = (Vec::new(), 0);
        let decoder = &mut self.decoder;
        decoder.append(run, &mut Vec::new());
        if decoder.rows() == run.len() {
            self.times = take_times(&mut **decoder, 0..run.len())?;
            return Ok(());
        }
        // A record produced no row. Decoding one by one shows which.
        decoder.take()?;
        for record in run.single_record_runs() {
            decoder.append(record, &mut Vec::new());
            let rows = decoder.rows();
            let mut row_times = take_times(&mut **decoder, 0..rows)?;
            self.times.push(row_times.pop().flatten());
        }
        Ok(())
    }
}

/// Takes the times of the rows `rows` from `decoder`, or `None` where they are 0.
fn take_times(
    decoder: &mut dyn Decoder,
    rows: Range<usize>,
) -> Result<Vec<Option<Timestamp>>> {
    let batch = decoder.take()?;
    let times = batch
        .columns()
        .get(1)
        .and_then(|column| column.as_primitive_opt::<TimestampNanosecondType>());
    let time_of_row = |row: usize| {
        let times = times.filter(|times| row < times.len() && times.is_valid(row))?;
        match times.value(row) {
            0 => None,
            nanos => Some(Timestamp::from_nanos(nanos)),
        }
    };
    Ok(rows.map(time_of_row).collect())
}

impl Retime for TimeFromField {
    fn retime(&mut self, block: &Block, times: &mut Vec<Timestamp>) -> Result<()> {
        let mut sorted = block.clone();
        sorted.sort_by_topic(&mut self.sort);
        for run in sorted.runs() {
            if let Some(Some(topic)) = self.topics.get_mut(run.topic().index()) {
                topic.read_times(run)?;
            }
        }
        for record in block.iter() {
            let Some(Some(topic)) = self.topics.get_mut(record.topic.index()) else {
                self.topics_without_field.insert(record.topic);
                times.push(record.time);
                continue;
            };
            let time = topic.times.get(topic.next).copied().flatten();
            topic.next += 1;
            self.unchanged_records += u64::from(time.is_none());
            times.push(time.unwrap_or(record.time));
        }
        Ok(())
    }
}

impl std::fmt::Debug for TimeFromField {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimeFromField")
            .field("unchanged_records", &self.unchanged_records)
            .finish_non_exhaustive()
    }
}
