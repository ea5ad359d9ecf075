use std::sync::Mutex;

use arrow_array::{
    FixedSizeBinaryArray, Int64Array, TimestampNanosecondArray, UInt64Array,
};

use super::*;
use crate::testing::{column, table, times, topic};

/// A sink that retains the batches that are written to it.
#[derive(Debug, Default)]
struct CollectingSink(Arc<Mutex<Vec<RecordBatch>>>);

impl TableSink for CollectingSink {
    fn new_table(&self, _: &Topic, _: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        Ok(Box::new(Self(self.0.clone())))
    }
}

impl TableWriter for CollectingSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.lock().unwrap().push(batch.clone());
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// The batch that a Spark sink writes for `batch`.
fn convert(batch: &RecordBatch) -> RecordBatch {
    let sink = CollectingSink::default();
    let batches = sink.0.clone();
    let mut writer =
        SparkSink::new(sink).new_table(&topic("t", 0), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    batches.lock().unwrap().remove(0)
}

#[test]
fn time_becomes_microseconds_and_a_column_of_nanoseconds() {
    let batch = table(vec![times("ns", vec![Some(1_234_567), Some(-1), None])]);
    let output = convert(&batch);
    let micros = output["timestamp"].as_primitive::<TimestampMicrosecondType>();
    assert_eq!(
        micros,
        &TimestampMicrosecondArray::from(vec![Some(1_234), Some(-1), None])
    );
    let nanos = output["timestamp_ns"].as_primitive::<Int64Type>();
    assert_eq!(nanos, &Int64Array::from(vec![Some(1_234_567), Some(-1), None]));
}

#[test]
fn unsigned_integers_and_fixed_lists_get_types_that_hold_them() {
    let item = Arc::new(Field::new("item", DataType::UInt64, false));
    let values: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 0, 1, 2]));
    let lists = FixedSizeListArray::new(item, 2, values, None);
    let sliced: ArrayRef = Arc::new(lists.slice(1, 1));
    let output = convert(&table(vec![column("x", sliced)]));
    let list: &ListArray = output["x"].as_list();
    let values = list.value(0);
    assert_eq!(values.data_type(), &DataType::Decimal128(20, 0));
    assert_eq!(values.as_primitive::<Decimal128Type>().values()[..], [1, 2]);

    let max_value: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    let output = convert(&table(vec![column("x", max_value)]));
    let max_value = output["x"].as_primitive::<Decimal128Type>().value_as_string(0);
    assert_eq!(max_value, "18446744073709551615");
}

#[test]
fn bytes_have_any_length_and_names_differ_in_more_than_case() {
    let values = FixedSizeBinaryArray::try_from_iter([b"ab", b"cd"].into_iter());
    let nullable_values = FixedSizeBinaryArray::try_from_sparse_iter_with_size(
        [None, Some(b"ef")].into_iter(),
        2,
    );
    let output = convert(&table(vec![
        column("A", Arc::new(values.unwrap())),
        column("a", Arc::new(nullable_values.unwrap())),
        column("a_", Arc::new(Int64Array::from(vec![1, 2]))),
        times("ns", vec![Some(1), None]),
        column("TIMESTAMP_NS", Arc::new(Int64Array::from(vec![3, 4]))),
    ]));
    let schema = output.schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    let expected = ["A", "a__", "a_", "timestamp", "timestamp_ns_", "TIMESTAMP_NS"];
    assert_eq!(names, expected);
    assert_eq!(output["A"].as_binary::<i32>().value(1), b"cd");
    let nullable_values = output["a__"].as_binary::<i32>();
    assert!(nullable_values.is_null(0) && nullable_values.value(1) == b"ef");
}

#[test]
fn times_in_lists_are_nanoseconds() {
    let item = Arc::new(Field::new(
        "item",
        DataType::Timestamp(TimeUnit::Nanosecond, None),
        false,
    ));
    let values: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![5, 6]));
    let lists = ListArray::new(item, OffsetBuffer::from_lengths([2]), values, None);
    let output = convert(&table(vec![column("stamps", Arc::new(lists))]));
    let list: &ListArray = output["stamps"].as_list();
    assert_eq!(list.value(0).as_primitive::<Int64Type>().values()[..], [5, 6]);
}
