//! The types of the columns of a table: those of the log, or others for the programs that read it.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, RecordBatch,
    cast::AsArray as _,
    types::{DurationNanosecondType, TimestampNanosecondType},
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use logtool_core::{ClockZero, TimeBase};
use logtool_sinks::SparkTypes;

use crate::error::Result;

/// The selected types of the columns of a table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ColumnTypes {
    /// Whether times are durations, or timestamps with a time zone.
    pub(crate) has_typed_times: bool,
    /// Whether the types are those that Apache Spark reads.
    pub(crate) has_spark_types: bool,
}

/// The type of the first column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeType {
    /// Timestamps, as the log is decoded.
    Decoded,
    /// Timestamps with the time zone UTC.
    Utc,
    /// Durations.
    Duration,
}

/// Converts decoded batches to the selected clock and types.
#[derive(Debug)]
pub(crate) struct ColumnConverter {
    base: TimeBase,
    /// The columns on the selected clock.
    on_clock: SchemaRef,
    time_type: TimeType,
    /// The columns with the type of the time.
    typed: SchemaRef,
    spark: Option<SparkTypes>,
}

impl ColumnTypes {
    /// Returns the converter of decoded batches with the columns `schema`, for times on the
    /// clock `base` of a log whose own clock starts at `zero`.
    pub(crate) fn converter(
        self,
        schema: &SchemaRef,
        base: TimeBase,
        zero: ClockZero,
    ) -> ColumnConverter {
        let time_type = match (self.has_typed_times, zero) {
            (false, _) => TimeType::Decoded,
            (true, _) if base.is_utc => TimeType::Utc,
            (true, ClockZero::Unix) if base.offset_nanos == 0 => TimeType::Utc,
            (true, _) => TimeType::Duration,
        };
        let on_clock = base.schema(schema);
        let typed = time_type.schema(&on_clock);
        let spark = self.has_spark_types.then(|| SparkTypes::new(&typed));
        ColumnConverter { base, on_clock, time_type, typed, spark }
    }
}

impl TimeType {
    /// Returns `schema` with this type of the first column.
    fn schema(self, schema: &SchemaRef) -> SchemaRef {
        let data_type = match self {
            Self::Decoded => return schema.clone(),
            Self::Utc => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            Self::Duration => DataType::Duration(TimeUnit::Nanosecond),
        };
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        if let Some(first) = fields.first_mut() {
            *first = Arc::new(Field::clone(first).with_data_type(data_type));
        }
        Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }

    /// Returns `times` with this type. The values stay the same.
    fn convert(self, times: &ArrayRef) -> ArrayRef {
        let nanos = times.as_primitive::<TimestampNanosecondType>();
        match self {
            Self::Decoded => times.clone(),
            Self::Utc => Arc::new(nanos.clone().with_timezone("UTC")),
            Self::Duration => {
                Arc::new(nanos.reinterpret_cast::<DurationNanosecondType>())
            }
        }
    }
}

impl ColumnConverter {
    /// Returns the columns of the converted batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        self.spark.as_ref().map_or(&self.typed, SparkTypes::schema)
    }

    /// Converts a decoded batch.
    pub(crate) fn convert(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let mut batch = self.base.apply(batch, &self.on_clock)?;
        if self.time_type != TimeType::Decoded {
            let (_, mut columns, _) = batch.into_parts();
            if let Some(times) = columns.first_mut() {
                *times = self.time_type.convert(times);
            }
            batch = RecordBatch::try_new(self.typed.clone(), columns)?;
        }
        match &self.spark {
            Some(spark) => Ok(spark.convert(&batch)?),
            None => Ok(batch),
        }
    }
}
