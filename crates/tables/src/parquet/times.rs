//! The time column of a file.

use arrow_array::{Array as _, ArrayRef, cast::AsArray as _, types::*};
use arrow_schema::{DataType, Schema, TimeUnit as ArrowUnit};
use logtool_core::{Error, ErrorKind, Result};

use crate::time_column::{
    self, TimeColumn, TimeColumnChoice, TimeUnit, cell_nanos, float_nanos,
    integer_nanos, unit_of, without_time_column,
};

/// Returns the time column of a file with `schema`: the chosen column, or the first column with a
/// known name, or the first column of timestamps. `first_value` returns the first value of a column
/// of numbers.
///
/// # Errors
/// `NoSuch` if the chosen column does not exist; `Unsupported` without a time column; errors of
/// `first_value`.
pub(super) fn time_column(
    schema: &Schema,
    choice: Option<&TimeColumnChoice>,
    first_value: impl Fn(usize) -> Result<Option<f64>>,
) -> Result<TimeColumn> {
    let names: Vec<String> =
        schema.fields().iter().map(|field| field.name().clone()).collect();
    if let Some(choice) = choice {
        let (index, unit) = time_column::find_chosen_column(choice, &names)?;
        let default_unit = unit.unwrap_or(TimeUnit::Seconds);
        let time_column =
            column(schema, index, default_unit, choice.unit.is_some(), &first_value)?;
        return time_column.ok_or_else(|| {
            let message = format!("the column `{}` has no times", choice.name);
            Error::new(ErrorKind::Unsupported, message)
        });
    }
    for (index, unit) in time_column::candidates(&names) {
        if let Some(time_column) = column(schema, index, unit, false, &first_value)? {
            return Ok(time_column);
        }
    }
    let is_timestamp = |index: &usize| {
        matches!(schema.field(*index).data_type(), DataType::Timestamp(..))
    };
    if let Some(index) = (0..names.len()).find(is_timestamp)
        && let Some(time_column) =
            column(schema, index, TimeUnit::Nanos, false, &first_value)?
    {
        return Ok(time_column);
    }
    Err(without_time_column(&names))
}

/// Returns the column at `index` as the time column, or `None` if its type cannot represent times.
/// The unit of numbers is `default_unit` if `is_explicit` is set; otherwise it also depends on
/// their first value.
fn column(
    schema: &Schema,
    index: usize,
    default_unit: TimeUnit,
    is_explicit: bool,
    first_value: &impl Fn(usize) -> Result<Option<f64>>,
) -> Result<Option<TimeColumn>> {
    let field = schema.field(index);
    let mut is_utc = false;
    let unit = match field.data_type() {
        DataType::Timestamp(unit, zone) => {
            is_utc = zone.is_some();
            match unit {
                ArrowUnit::Second => TimeUnit::Seconds,
                ArrowUnit::Millisecond => TimeUnit::Millis,
                ArrowUnit::Microsecond => TimeUnit::Micros,
                ArrowUnit::Nanosecond => TimeUnit::Nanos,
            }
        }
        DataType::Utf8 => TimeUnit::Iso8601,
        kind if kind.is_integer() || kind.is_floating() => {
            let value = if is_explicit { None } else { first_value(index)? };
            value.map_or(default_unit, |value| unit_of(default_unit, value))
        }
        _ => return Ok(None),
    };
    Ok(Some(TimeColumn { index, name: field.name().clone(), unit, is_utc }))
}

/// Returns the first value of `array` that is not null, if it has numbers.
pub(super) fn first_number(array: &ArrayRef) -> Option<f64> {
    let row = (0..array.len()).find(|row| array.is_valid(*row))?;
    macro_rules! number {
        ($type:ty) => {
            Some(f64::from(array.as_primitive::<$type>().value(row)))
        };
    }
    match array.data_type() {
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => Some(array.as_primitive::<Int64Type>().value(row) as f64),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => Some(array.as_primitive::<UInt64Type>().value(row) as f64),
        DataType::Float32 => number!(Float32Type),
        DataType::Float64 => number!(Float64Type),
        _ => None,
    }
}

/// Returns the times of the rows of `array` in nanoseconds. A time is `None` if the value is null,
/// or if the time does not fit into 64 bits.
pub(super) fn nanos_of(array: &ArrayRef, unit: TimeUnit) -> Vec<Option<i64>> {
    macro_rules! times {
        ($type:ty, $convert:expr) => {{
            let values = array.as_primitive::<$type>().iter();
            values.map(|value| value.and_then($convert)).collect()
        }};
    }
    macro_rules! integers {
        ($type:ty) => {
            times!($type, |value| integer_nanos(i128::from(value), unit))
        };
    }
    match array.data_type() {
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => integers!(UInt64Type),
        DataType::Float32 => {
            times!(Float32Type, |value| float_nanos(value.into(), unit))
        }
        DataType::Float64 => times!(Float64Type, |value| float_nanos(value, unit)),
        DataType::Timestamp(ArrowUnit::Second, _) => integers!(TimestampSecondType),
        DataType::Timestamp(ArrowUnit::Millisecond, _) => {
            integers!(TimestampMillisecondType)
        }
        DataType::Timestamp(ArrowUnit::Microsecond, _) => {
            integers!(TimestampMicrosecondType)
        }
        DataType::Timestamp(ArrowUnit::Nanosecond, _) => {
            integers!(TimestampNanosecondType)
        }
        DataType::Utf8 => {
            let texts = array.as_string::<i32>().iter();
            texts.map(|text| cell_nanos(text?.as_bytes(), unit)).collect()
        }
        _ => vec![None; array.len()],
    }
}
