//! Small tables for the tests of this crate.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, RecordBatch,
    StringArray, StructArray, TimestampNanosecondArray, UInt64Array,
    builder::{Float32Builder, ListBuilder, StringDictionaryBuilder},
    types::Int32Type,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use logtool_core::{TableSink, Topic, VALUE_NAMES_KEY, time_field};

use crate::{FileNames, NameStyle};

/// A topic with a name and default properties.
pub(crate) fn topic(name: &str, instance: u32) -> Topic {
    Topic {
        instance,
        encoding: "ulog".to_owned(),
        type_name: format!("{name}_s"),
        definition: "uint64_t timestamp;float x;".to_owned(),
        ..Topic::new(name, Arc::new(Schema::empty()))
    }
}

/// Names like `t_0` for the files of a topic called `name`.
pub(crate) fn names(name: &str) -> FileNames {
    FileNames::new(NameStyle::Topic, &[topic(name, 0)])
}

/// A table of these columns, with the types of the arrays.
pub(crate) fn table(columns: Vec<(Field, ArrayRef)>) -> RecordBatch {
    let (fields, columns): (Vec<Field>, Vec<_>) = columns.into_iter().unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// A nullable column.
pub(crate) fn column(name: &str, values: ArrayRef) -> (Field, ArrayRef) {
    (Field::new(name, values.data_type().clone(), true), values)
}

/// A time column with these nanoseconds of the log's own clock, with the time unit `unit`.
pub(crate) fn times(unit: &str, nanos: Vec<Option<i64>>) -> (Field, ArrayRef) {
    (time_field("timestamp", unit), Arc::new(TimestampNanosecondArray::from(nanos)))
}

/// A time column with these nanoseconds of Unix time, with the time unit `unit`.
pub(crate) fn utc_times(unit: &str, nanos: Vec<Option<i64>>) -> (Field, ArrayRef) {
    let utc = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let times = TimestampNanosecondArray::from(nanos).with_timezone("UTC");
    (time_field("timestamp", unit).with_data_type(utc), Arc::new(times))
}

/// A column of labels: the metadata list `value_names`, and the rows have `labels`.
pub(crate) fn labels(
    name: &str,
    value_names: &[&str],
    labels: &[Option<&str>],
) -> (Field, ArrayRef) {
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    labels.iter().for_each(|label| dictionary.append_option(*label));
    let (field, column) = column(name, Arc::new(dictionary.finish()));
    let value_names = serde_json::to_string(value_names).unwrap();
    (field.with_metadata([(VALUE_NAMES_KEY.to_owned(), value_names)].into()), column)
}

/// Two rows of one column of each kind: numbers, booleans, strings, labels, lists, structs.
pub(crate) fn all_kinds() -> RecordBatch {
    let mut lists = ListBuilder::new(Float32Builder::new());
    lists.append_value([Some(0.5), None]);
    lists.append_value([]);
    let floats: ArrayRef =
        Arc::new(Float64Array::from(vec![f64::NAN, f64::NEG_INFINITY]));
    let strings: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    let pair = StructArray::from(vec![
        (Arc::new(Field::new("x", DataType::Float64, true)), floats),
        (Arc::new(Field::new("s", DataType::Utf8, true)), strings),
    ]);
    table(vec![
        times("us", vec![Some(1_234_567_000), None]),
        column("f", Arc::new(Float32Array::from(vec![0.1, 16_777_216.0]))),
        column("big", Arc::new(UInt64Array::from(vec![u64::MAX, 0]))),
        column("small", Arc::new(Int64Array::from(vec![i64::MIN, -1]))),
        column("on", Arc::new(BooleanArray::from(vec![true, false]))),
        column(
            "text",
            Arc::new(StringArray::from(vec!["say \"hi\",\r\n", "\u{1}é\\"])),
        ),
        labels("mode_label", &["MANUAL", "AUTO"], &[Some("MANUAL"), None]),
        column("list", Arc::new(lists.finish())),
        column("pair", Arc::new(pair)),
    ])
}

/// Writes `batches` as the topic `t`, and returns the contents of the one file.
pub(crate) fn write_one_file(
    outputs: &crate::Outputs,
    sink: &dyn TableSink,
    batches: &[RecordBatch],
) -> Vec<u8> {
    let mut writer = sink.new_table(&topic("t", 0), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    std::fs::read(&outputs.commit().unwrap()[0]).unwrap()
}
