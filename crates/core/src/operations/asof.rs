//! Joining several topics of a log in one table with a common time axis.
//!
//! Each row of the table is at a point of a regular time grid. A column contains the last
//! value of its topic at that time or before. Parts are read in the order of their first
//! times, and a row is written as soon as no unread part can change it.
//! Of the pending rows of a topic, only the last before each grid point is kept. If even
//! those exceed the limit, the later ones are dropped, and their parts are read again
//! when they are needed. So memory is bounded for any order of the records in the file.

mod grid;
mod limits;
mod output;
mod pending_rows;
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
        asof::{limits::MemoryLimits, sweep::Sweep},
        export_tables::ReadReport,
    },
    sink::TableWriter,
};

/// The topics and columns to join, and the time grid.
///
/// The grid points are the multiples of the period on the log's clock. They range from
/// the first record of the selected topics to the last, within
/// [`Manifest::time`](crate::Manifest::time) and the selected times. Records from before
/// the start of logging only provide values for the first row. So the grid points of a
/// shorter range are a subset of those of a longer range.
pub struct AsofJob<'j> {
    /// The selected topics, and the selected columns of each in the flat view.
    pub columns_by_topic: BTreeMap<TopicId, Columns>,
    /// The times of the rows on the log's clock. Earlier values are carried into this
    /// range.
    pub time: TimeRange,
    /// Nanoseconds between rows. Must not be 0.
    pub period_nanos: u64,
    /// The clock of the times in the table.
    pub base: TimeBase,
    /// The maximum age of a value in nanoseconds. Older values become null.
    pub max_age_nanos: Option<u64>,
    /// Called with the number of further bytes of the log that are done.
    pub progress: &'j (dyn Fn(u64) + Sync),
}

/// The result of an [`AsofJob`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AsofReport {
    /// The records that were read, and the damage.
    pub read: ReadReport,
    /// The number of rows in the table.
    pub rows: u64,
    /// The number of decoded rows that were dropped because their times are implausible,
    /// i.e. outside of [`Manifest::possible_times`](crate::Manifest::possible_times).
    pub dropped_rows: u64,
}

/// Returns the columns of the table that [`merge_asof`] creates: `timestamp`, then the
/// columns of each topic, prefixed with its [label](crate::Topic::label), e.g.
/// `vehicle_attitude.q[0]` or `battery_status.1.voltage_v`. All are nullable.
///
/// # Errors
/// `NoSuch` if there is no column but the time.
pub fn asof_schema(log: &dyn Log, job: &AsofJob<'_>) -> Result<SchemaRef> {
    let (on_log_clock, _) = schema_on_log_clock(log, job)?;
    Ok(job.base.schema(&on_log_clock))
}

/// Writes the table of `job` to `writer`, without finishing the writer.
///
/// Each value is that of the last row of its topic at the time of the table row or
/// before. Of several rows with equal times, the last one in the file counts. The value
/// is null if there is none, or if it is too old. The time of a row is that of its
/// record, as in all topics that [`LayoutDecoder`](crate::LayoutDecoder) decodes.
///
/// This runs on the current rayon pool.
///
/// # Errors
/// `Limit` if the table would have more than 2³¹ rows; `NoSuch` like [`asof_schema`];
/// errors of reading and writing.
pub fn merge_asof(
    log: &dyn Log,
    job: &AsofJob<'_>,
    writer: &mut dyn TableWriter,
) -> Result<AsofReport> {
    Sweep::new(log, job, writer, MemoryLimits::default())?.run()
}

/// Returns the columns of the table with times on the log's clock, and the number of
/// columns of each topic.
fn schema_on_log_clock(
    log: &dyn Log,
    job: &AsofJob<'_>,
) -> Result<(SchemaRef, Vec<usize>)> {
    let mut column_counts = Vec::with_capacity(job.columns_by_topic.len());
    let mut fields = Vec::new();
    let mut has_only_micros = true;
    for (topic, columns) in &job.columns_by_topic {
        let label = log.manifest().topic(*topic)?.label();
        let decoder = log.decoder(*topic, columns)?;
        let first_field = fields.len();
        for field in decoder.schema().fields() {
            has_only_micros &= time_unit(field).is_none_or(|unit| unit == MICROS);
        }
        for field in decoder.schema().fields().iter().skip(1) {
            let name = format!("{label}.{}", field.name());
            fields.push(Field::clone(field).with_name(name).with_nullable(true));
        }
        column_counts.push(fields.len() - first_field);
    }
    if fields.is_empty() {
        return Err(Error::new(
            ErrorKind::NoSuch,
            "the table has no column except the time",
        ));
    }
    // One unit for all timestamps of a row, fine enough for each of them.
    let unit = if has_only_micros { MICROS } else { NANOS };
    for field in fields.iter_mut().filter(|field| time_unit(field).is_some()) {
        let mut metadata = field.metadata().clone();
        metadata.insert(TIME_UNIT_KEY.to_owned(), unit.to_owned());
        field.set_metadata(metadata);
    }
    fields.insert(0, time_field("timestamp", unit));
    Ok((Arc::new(Schema::new(fields)), column_counts))
}

/// The units of timestamps in text formats.
const MICROS: &str = "us";
const NANOS: &str = "ns";

/// Returns the unit of a timestamp column in text formats, or `None` if the column has no
/// timestamps.
fn time_unit(field: &Field) -> Option<&str> {
    match field.data_type() {
        DataType::Timestamp(..) => {
            Some(field.metadata().get(TIME_UNIT_KEY).map_or(NANOS, String::as_str))
        }
        _ => None,
    }
}

fn into_error(err: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Malformed, "inconsistent columns").with_source(err)
}

impl AsofJob<'_> {
    /// Returns the times of the records that can affect a row.
    fn affecting_times(&self) -> TimeRange {
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
            .field("columns_by_topic", &self.columns_by_topic)
            .field("time", &self.time)
            .field("period_nanos", &self.period_nanos)
            .field("base", &self.base)
            .field("max_age_nanos", &self.max_age_nanos)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
