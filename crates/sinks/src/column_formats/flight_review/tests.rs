use std::sync::Arc;

use arrow_array::{BooleanArray, Float32Array, StringArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use super::*;
use crate::{
    files::staged_outputs::ExistingFiles,
    testing::{column, table, times, topic},
};

fn rows() -> RecordBatch {
    table(vec![
        times("us", vec![Some(5_000), None, Some(-1)]),
        column("q[0]", Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0]))),
        column("armed", Arc::new(BooleanArray::from(vec![true, false, true]))),
        column("name", Arc::new(StringArray::from(vec!["a", "bc", ""]))),
    ])
}

#[test]
fn files_have_the_layout_of_flight_review() {
    let dir = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
    let topics = [topic("esc", 0), topic("esc", 1), topic("gps", 0)];
    let sink = Px4Sink::new(
        outputs.clone(),
        &topics,
        BTreeMap::new(),
        MemoryBudget::default(),
    );
    for topic in &topics[..2] {
        let mut writer = sink.new_table(topic, &rows().schema()).unwrap();
        writer.write(&rows()).unwrap();
        writer.finish().unwrap();
    }
    let flight = Px4Metadata {
        sys_name: Some("PX4".to_owned()),
        flight_duration_s: Some(1.5),
        parameters: BTreeMap::from([
            ("A".to_owned(), Px4Value::Int32(-1)),
            ("B".to_owned(), Px4Value::Float(0.1)),
            ("C".to_owned(), Px4Value::Float(f32::INFINITY)),
        ]),
        ..Px4Metadata::default()
    };
    sink.finish("a.ulg", &flight).unwrap();
    let paths = outputs.commit().unwrap();
    let names: Vec<_> = paths.iter().map(|path| path.file_name().unwrap()).collect();
    assert_eq!(
        names,
        ["esc.parquet", "esc_1.parquet", "manifest.json", "metadata.json"]
    );

    let read = |i: usize| std::fs::read(&paths[i]).unwrap();
    let manifest: Value = serde_json::from_slice(&read(2)).unwrap();
    let expected = json!({
        "version": 1,
        "source": "a.ulg",
        "vehicle": "PX4",
        "duration_s": 1.5,
        "topics": {"esc": "esc.parquet", "esc_1": "esc_1.parquet"},
        "diagnostics": [],
    });
    assert_eq!(manifest, expected);
    let metadata: Value = serde_json::from_slice(&read(3)).unwrap();
    assert_eq!(metadata["topics"], json!({"esc": {"message_count": 6, "multi_id": 0}}));
    assert_eq!(metadata["parameters"], json!({"A": -1, "B": 0.1, "C": null}));
    assert_eq!(metadata["ver_hw"], Value::Null);
    assert_eq!(metadata["compat_flags"], json!([0, 0, 0, 0, 0, 0, 0, 0]));

    let bytes = bytes::Bytes::from(read(0));
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let batch = reader.build().unwrap().next().unwrap().unwrap();
    let schema = batch.schema();
    let types: Vec<_> =
        schema.fields().iter().map(|f| (&**f.name(), f.data_type())).collect();
    let expected = [
        ("timestamp", &DataType::UInt64),
        ("q[0]", &DataType::Float32),
        ("armed", &DataType::Boolean),
        ("name", &DataType::Utf8),
    ];
    assert_eq!(types, expected);
    let micros: ArrayRef = Arc::new(UInt64Array::from(vec![Some(5), None, None]));
    assert_eq!(batch.column(0), &micros);
}

#[test]
fn releases_are_formatted_as_px4_encodes_them() {
    assert_eq!(Px4Metadata::release_text(0x010f_00c0), "1.15.0-rc");
    assert_eq!(Px4Metadata::release_text(0x010d_03ff), "1.13.3-release");
}

#[test]
fn timestamp_column_that_is_not_the_time_is_renamed() {
    let counter = Arc::new(Float32Array::from(vec![1.0]));
    let batch = table(vec![times("us", vec![Some(5)]), column("timestamp", counter)]);
    let schema = viewer_schema(&batch.schema()).unwrap();
    let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
    assert_eq!(names, ["timestamp", "timestamp_logged"]);
}
