//! Converts columns to numbers.

#[cfg(feature = "plot")]
use arrow_array::TimestampNanosecondArray;
use arrow_array::{Array, ArrayRef, cast::AsArray as _, types::*};
use arrow_schema::{DataType, TimeUnit};

use crate::records::signals::ValuePart;

/// Returns whether a column of this type can be drawn as numbers.
pub(super) fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_floating()
        || matches!(
            data_type,
            DataType::Boolean
                | DataType::Timestamp(TimeUnit::Nanosecond, _)
                | DataType::Duration(TimeUnit::Nanosecond)
        )
}

/// Returns whether a column of this type contains lists of numbers.
pub(super) fn is_list(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) => is_number(item.data_type()),
        _ => false,
    }
}

/// Returns the `part` of each value of `array`, NaN for nulls.
pub(super) fn numbers(array: &ArrayRef, part: ValuePart) -> Vec<f64> {
    match part {
        ValuePart::Itself => numbers_of(array),
        ValuePart::Element(at) => reduce_lists(array, |list| list.get(at).copied()),
        #[cfg(feature = "align")]
        ValuePart::Norm => {
            reduce_lists(array, |list| (!list.is_empty()).then(|| norm(list)))
        }
        ValuePart::Count => reduce_lists(array, |list| Some(list.len() as f64)),
        // These are of rows, and not of a column.
        #[cfg(feature = "plot")]
        ValuePart::Time | ValuePart::Interval => vec![f64::NAN; array.len()],
    }
}

/// Returns times in microseconds, NaN for nulls.
#[cfg(feature = "plot")]
pub(super) fn micros(times: &TimestampNanosecondArray) -> Vec<f64> {
    times.iter().map(|time| time.map_or(f64::NAN, |time| time as f64 / 1e3)).collect()
}

/// Returns the time since the row before in microseconds: for the first row, since `before`.
/// Rows without a row before or without a time have NaN.
#[cfg(feature = "plot")]
pub(super) fn interval_micros(
    times: &TimestampNanosecondArray,
    mut before: Option<i64>,
) -> Vec<f64> {
    let interval = |time: Option<i64>| {
        let time = time?;
        let before = before.replace(time)?;
        Some(time.checked_sub(before)? as f64 / 1e3)
    };
    times.iter().map(interval).map(|micros| micros.unwrap_or(f64::NAN)).collect()
}

/// Returns the Euclidean norm of a vector.
#[cfg(feature = "align")]
pub(super) fn norm(numbers: &[f64]) -> f64 {
    numbers.iter().map(|number| number * number).sum::<f64>().sqrt()
}

/// Returns the numbers of `array`, NaN for nulls. Times are converted to seconds, `true` to 1.
pub(crate) fn numbers_of(array: &ArrayRef) -> Vec<f64> {
    macro_rules! of {
        ($type:ty, $float:expr) => {{
            let values = array.as_primitive::<$type>().iter();
            values.map(|value| value.map_or(f64::NAN, $float)).collect()
        }};
    }
    match array.data_type() {
        DataType::Int8 => of!(Int8Type, f64::from),
        DataType::Int16 => of!(Int16Type, f64::from),
        DataType::Int32 => of!(Int32Type, f64::from),
        DataType::Int64 => of!(Int64Type, |value| value as f64),
        DataType::UInt8 => of!(UInt8Type, f64::from),
        DataType::UInt16 => of!(UInt16Type, f64::from),
        DataType::UInt32 => of!(UInt32Type, f64::from),
        DataType::UInt64 => of!(UInt64Type, |value| value as f64),
        DataType::Float32 => of!(Float32Type, f64::from),
        DataType::Float64 => of!(Float64Type, |value| value),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            of!(TimestampNanosecondType, |value| value as f64 / 1e9)
        }
        DataType::Duration(TimeUnit::Nanosecond) => {
            of!(DurationNanosecondType, |value| value as f64 / 1e9)
        }
        DataType::Boolean => {
            let truths = array.as_boolean().iter();
            truths.map(|t| t.map_or(f64::NAN, |t| f64::from(u8::from(t)))).collect()
        }
        _ => vec![f64::NAN; array.len()],
    }
}

/// Applies `reduce` to the numbers of each list.
fn reduce_lists(array: &ArrayRef, reduce: impl Fn(&[f64]) -> Option<f64>) -> Vec<f64> {
    let Some(lists) = array.as_list_opt::<i32>() else {
        return vec![f64::NAN; array.len()];
    };
    let values = numbers_of(lists.values());
    let list = |row: usize| {
        let ends = lists.value_offsets().get(row..row + 2)?;
        let end = |index: usize| usize::try_from(*ends.get(index)?).ok();
        values.get(end(0)?..end(1)?).filter(|_| !lists.is_null(row))
    };
    let number = |row: usize| list(row).and_then(&reduce).unwrap_or(f64::NAN);
    (0..lists.len()).map(number).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, DurationNanosecondArray, ListArray, StringArray};

    use super::*;

    #[test]
    fn all_numeric_types_are_converted() {
        let truths: ArrayRef =
            Arc::new(BooleanArray::from(vec![Some(true), Some(false)]));
        assert_eq!(numbers_of(&truths), [1.0, 0.0]);
        let spans: ArrayRef =
            Arc::new(DurationNanosecondArray::from(vec![1_500_000_000]));
        assert_eq!(numbers_of(&spans), [1.5]);
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["1"]));
        assert!(numbers_of(&texts)[0].is_nan() && !is_number(texts.data_type()));
    }

    #[test]
    fn intervals_continue_from_the_batch_before() {
        let times = TimestampNanosecondArray::from(vec![
            Some(5_000),
            None,
            Some(9_000),
            Some(8_000),
        ]);
        let intervals = interval_micros(&times, Some(2_000));
        assert_eq!((intervals[0], intervals[2], intervals[3]), (3.0, 4.0, -1.0));
        assert!(intervals[1].is_nan() && interval_micros(&times, None)[0].is_nan());
        assert_eq!(micros(&times)[3], 8.0);
    }

    #[test]
    fn missing_element_of_a_shorter_list_is_nan() {
        let lists = [Some(vec![Some(1.0), Some(2.0)]), None, Some(vec![Some(3.0)])];
        let lists: ArrayRef =
            Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(lists));
        let second = numbers(&lists.slice(0, 3), ValuePart::Element(1));
        assert!(second[0] == 2.0 && second[1].is_nan() && second[2].is_nan());
        assert_eq!(numbers(&lists.slice(2, 1), ValuePart::Element(0)), [3.0]);
    }

    #[cfg(feature = "align")]
    #[test]
    fn norm_of_a_list_is_that_of_pythagoras() {
        let lists = [Some(vec![Some(3.0), Some(4.0)]), Some(vec![]), None];
        let lists: ArrayRef =
            Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(lists));
        assert!(is_list(lists.data_type()) && !is_number(lists.data_type()));
        let norms = numbers(&lists, ValuePart::Norm);
        assert!(norms[0] == 5.0 && norms[1].is_nan() && norms[2].is_nan());
        let counts = numbers(&lists, ValuePart::Count);
        assert!(counts[..2] == [2.0, 0.0] && counts[2].is_nan());
        assert!(norm(&[1.0, f64::NAN]).is_nan());
    }
}
