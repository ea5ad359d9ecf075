//! The numbers in columns.

use arrow_array::{Array, ArrayRef, cast::AsArray as _, types::*};
use arrow_schema::{DataType, TimeUnit};

/// Whether a column of this type is numbers that can be drawn.
pub(crate) fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_floating()
        || matches!(
            data_type,
            DataType::Boolean
                | DataType::Timestamp(TimeUnit::Nanosecond, _)
                | DataType::Duration(TimeUnit::Nanosecond)
        )
}

/// The numbers of `array`, NaN where there is none.
pub(crate) fn numbers_of(array: &ArrayRef) -> Vec<f64> {
    numbers(array, None)
}

/// The numbers of `array`, or of `element` of each list in it; NaN where there is none.
/// Times are seconds, truth is 1.
pub(super) fn numbers(array: &ArrayRef, element: Option<usize>) -> Vec<f64> {
    if let Some(element) = element {
        return of_lists(array, element);
    }
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

/// The element of each list.
fn of_lists(array: &ArrayRef, element: usize) -> Vec<f64> {
    let Some(lists) = array.as_list_opt::<i32>() else {
        return vec![f64::NAN; array.len()];
    };
    let values = numbers(lists.values(), None);
    let of = |row: usize| {
        let ends = lists.value_offsets().get(row..row + 2)?;
        let (start, end) = (usize::try_from(*ends.first()?).ok()?, *ends.last()?);
        let at = start.checked_add(element)?;
        let is_there = !lists.is_null(row) && at < usize::try_from(end).ok()?;
        values.get(at).copied().filter(|_| is_there)
    };
    (0..lists.len()).map(|row| of(row).unwrap_or(f64::NAN)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, DurationNanosecondArray, ListArray, StringArray};

    use super::*;

    #[test]
    fn numbers_of_all_kinds_are_numbers() {
        let truths: ArrayRef =
            Arc::new(BooleanArray::from(vec![Some(true), Some(false)]));
        assert_eq!(numbers(&truths, None), [1.0, 0.0]);
        let spans: ArrayRef =
            Arc::new(DurationNanosecondArray::from(vec![1_500_000_000]));
        assert_eq!(numbers(&spans, None), [1.5]);
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["1"]));
        assert!(numbers(&texts, None)[0].is_nan() && !is_number(texts.data_type()));
    }

    #[test]
    fn an_element_of_a_list_that_is_shorter_is_nothing() {
        let lists = [Some(vec![Some(1.0), Some(2.0)]), None, Some(vec![Some(3.0)])];
        let lists: ArrayRef =
            Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(lists));
        let second = numbers(&lists.slice(0, 3), Some(1));
        assert!(second[0] == 2.0 && second[1].is_nan() && second[2].is_nan());
        assert_eq!(numbers(&lists.slice(2, 1), Some(0)), [3.0]);
    }
}
