//! Formats times and durations in messages for users.

use std::sync::Arc;

use arrow_array::{
    Array as _, ArrayRef, FixedSizeListArray, ListArray, RecordBatch, StringArray,
    StructArray, cast::AsArray as _, types::*,
};
use arrow_schema::{DataType, Field, FieldRef, Schema, TimeUnit};
use logtool_core::Timestamp;

use crate::{error::Result, time::clock::TextTime};

/// Converts times in `batch` to dates, and durations to hours, minutes and seconds, as strings. The
/// first column, the time of the rows, is not changed.
pub(super) fn as_texts(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (index, (field, column)) in
        schema.fields().iter().zip(batch.columns()).enumerate()
    {
        let (field, column) = match index {
            0 => (field.clone(), column.clone()),
            _ => as_text(field, column)?,
        };
        fields.push(field);
        columns.push(column);
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

fn as_text(field: &FieldRef, column: &ArrayRef) -> Result<(FieldRef, ArrayRef)> {
    let data_type = field.data_type();
    if !has_times(data_type) {
        return Ok((field.clone(), column.clone()));
    }
    let nulls = column.nulls().cloned();
    let column: ArrayRef = match data_type {
        DataType::Timestamp(..) => {
            let times = column.as_primitive::<TimestampNanosecondType>().iter();
            let date = |nanos| {
                TextTime::from_unix_time(Timestamp::from_nanos(nanos))
                    .with_nanoseconds()
            };
            let dates = times.map(|time| time.map(|nanos| date(nanos).to_string()));
            Arc::new(StringArray::from_iter(dates))
        }
        DataType::Duration(_) => {
            let spans = column.as_primitive::<DurationNanosecondType>().iter();
            let span = |nanos| TextTime::from_duration(nanos).with_nanoseconds();
            let spans = spans.map(|time| time.map(|nanos| span(nanos).to_string()));
            Arc::new(StringArray::from_iter(spans))
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(column.as_struct().columns());
            let text_columns = columns.map(|(field, column)| as_text(field, column));
            let text_columns = text_columns.collect::<Result<Vec<_>>>()?;
            let (fields, columns): (Vec<_>, Vec<_>) = text_columns.into_iter().unzip();
            Arc::new(StructArray::try_new(fields.into(), columns, nulls)?)
        }
        DataType::List(item) => {
            let list = column.as_list::<i32>();
            let (item, values) = as_text(item, list.values())?;
            Arc::new(ListArray::try_new(item, list.offsets().clone(), values, nulls)?)
        }
        DataType::FixedSizeList(item, count) => {
            let (item, values) = as_text(item, column.as_fixed_size_list().values())?;
            Arc::new(FixedSizeListArray::try_new(item, *count, values, nulls)?)
        }
        _ => column.clone(),
    };
    let field = Field::clone(field).with_data_type(column.data_type().clone());
    Ok((Arc::new(field), column))
}

fn has_times(data_type: &DataType) -> bool {
    match data_type {
        DataType::Timestamp(unit, _) | DataType::Duration(unit) => {
            *unit == TimeUnit::Nanosecond
        }
        DataType::Struct(fields) => {
            fields.iter().any(|field| has_times(field.data_type()))
        }
        DataType::List(item) | DataType::FixedSizeList(item, _) => {
            has_times(item.data_type())
        }
        _ => false,
    }
}
