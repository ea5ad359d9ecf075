//! Several topics of a log in one table, on one axis of time.
//!
//! A row of the table is a moment of an even grid; a column holds what its topic last
//! said at that moment or before. Parts are read in the order of their first times, and
//! a row is written as soon as no part that is still to be read can change it. Of the
//! rows that wait, only the last before each moment is kept; should even those be too
//! many, the later ones are given up, and their parts read again when their turn has
//! come. So memory is bounded, whatever the order of the records in the file.

mod grid;
mod limits;
mod output;
mod pending;
mod reader;
mod sweep;
mod topic_rows;

use std::{collections::BTreeMap, fmt, sync::Arc};

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::{
    decode::columns::{TIME_UNIT_KEY, time_field},
    error::{Error, ErrorKind, Result},
    log::{Columns, Log},
    model::{
        time::{TimeRange, Timestamp},
        time_base::TimeBase,
        topic::TopicId,
    },
    operations::{
        asof::{limits::Limits, sweep::Sweep},
        export_tables::ReadReport,
    },
    sink::TableWriter,
};

/// What to put side by side in one table, and at which moments.
///
/// The moments are the multiples of the period on the log's clock, from the first record
/// of the wanted topics to the last (not from those before the start of logging, whose
/// values the first row has), within what the log is known to span
/// ([`Manifest::time`](crate::Manifest::time)) and the wanted times; so those of a
/// shorter range are among those of a longer one.
pub struct AsofJob<'j> {
    /// The topics that are wanted, and which of their columns, in the flat view.
    pub columns_of: BTreeMap<TopicId, Columns>,
    /// The times of the rows that are wanted, on the log's clock. What was said before
    /// them holds in them.
    pub time: TimeRange,
    /// Nanoseconds from one row to the next; not 0.
    pub period_nanos: u64,
    /// The clock on which the table tells its times.
    pub base: TimeBase,
    /// How many nanoseconds old a value may be: an older one is null.
    pub max_age_nanos: Option<u64>,
    /// Told, as it goes, how many more bytes of the log are done.
    pub progress: &'j (dyn Fn(u64) + Sync),
}

/// What became of an [`AsofJob`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AsofReport {
    /// What was read of the log, and what was not.
    pub read: ReadReport,
    /// How many rows the table has.
    pub rows: u64,
    /// How many rows of the topics were left out because their times cannot be right:
    /// those that are not in
    /// [`Manifest::possible_times`](crate::Manifest::possible_times).
    pub left_out: u64,
}

/// The columns of the table that [`merge_asof`] makes: `timestamp`, then those of each
/// topic, named by its [label](crate::Topic::label): `vehicle_attitude.q[0]`,
/// `battery_status.1.voltage_v`. All are nullable.
///
/// It is an error of the kind [`NoSuch`](ErrorKind::NoSuch) if there are none but the
/// time.
pub fn asof_schema(log: &dyn Log, job: &AsofJob<'_>) -> Result<SchemaRef> {
    let (on_log_clock, _) = schema_on_log_clock(log, job)?;
    Ok(job.base.schema(&on_log_clock))
}

/// Writes the table that `job` wants of `log` to `writer`, and leaves it to the caller
/// to finish that.
///
/// Each value is that of the last row of its topic at the row's time or before: of rows
/// at one time, the last in the file. It is null where there is none, and where that is
/// older than wanted. The time of a row is its record's, as it is in all topics that
/// [`LayoutDecoder`](crate::LayoutDecoder) reads.
///
/// Runs on the current rayon pool. It is an error of the kind
/// [`Limit`](ErrorKind::Limit) if the table would have more than 2³¹ rows.
pub fn merge_asof(
    log: &dyn Log,
    job: &AsofJob<'_>,
    writer: &mut dyn TableWriter,
) -> Result<AsofReport> {
    Sweep::new(log, job, writer, Limits::default())?.run()
}

/// The columns of the table before its times are moved, and how many of them are of
/// each topic.
fn schema_on_log_clock(
    log: &dyn Log,
    job: &AsofJob<'_>,
) -> Result<(SchemaRef, Vec<usize>)> {
    let mut widths = Vec::with_capacity(job.columns_of.len());
    let mut fields = Vec::new();
    let mut is_micros = true;
    for (topic, columns) in &job.columns_of {
        let label = log.manifest().get(*topic)?.label();
        let decoder = log.decoder(*topic, columns)?;
        let before = fields.len();
        for field in decoder.schema().fields() {
            is_micros &= unit(field).is_none_or(|unit| unit == MICROS);
        }
        for field in decoder.schema().fields().iter().skip(1) {
            let name = format!("{label}.{}", field.name());
            fields.push(Field::clone(field).with_name(name).with_nullable(true));
        }
        widths.push(fields.len() - before);
    }
    if fields.is_empty() {
        return Err(Error::new(ErrorKind::NoSuch, "a table of no column but the time"));
    }
    // One unit for all timestamps of a row, fine enough for each of them.
    let all_in = if is_micros { MICROS } else { NANOS };
    for field in fields.iter_mut().filter(|field| unit(field).is_some()) {
        let mut metadata = field.metadata().clone();
        metadata.insert(TIME_UNIT_KEY.to_owned(), all_in.to_owned());
        field.set_metadata(metadata);
    }
    fields.insert(0, time_field("timestamp", all_in));
    Ok((Arc::new(Schema::new(fields)), widths))
}

/// Units of timestamps in text formats.
const MICROS: &str = "us";
const NANOS: &str = "ns";

/// Returns the unit of a timestamp column in text formats.
fn unit(field: &Field) -> Option<&str> {
    let is_time = matches!(field.data_type(), DataType::Timestamp(..));
    is_time.then(|| field.metadata().get(TIME_UNIT_KEY).map_or(NANOS, String::as_str))
}

fn into_error(err: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Malformed, "columns that cannot be joined").from_source(err)
}

impl AsofJob<'_> {
    /// The times of the records that can be told in some row.
    fn heard(&self) -> TimeRange {
        let TimeRange { start, end } = self.time;
        let start = self.max_age_nanos.map_or(Timestamp::MIN, |age| {
            Timestamp::from_nanos(start.as_nanos().saturating_sub_unsigned(age))
        });
        TimeRange { start, end }
    }
}

impl fmt::Debug for AsofJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsofJob")
            .field("columns_of", &self.columns_of)
            .field("time", &self.time)
            .field("period_nanos", &self.period_nanos)
            .field("base", &self.base)
            .field("max_age_nanos", &self.max_age_nanos)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
