use std::sync::Arc;

use arrow_array::{BinaryArray, StringArray};

use super::*;
use crate::testing::{all_kinds, column, table, utc_times};

fn rows(batch: &RecordBatch) -> Vec<String> {
    let rows = JsonRows::new(batch).unwrap();
    let row = |i| {
        let mut json = Vec::new();
        rows.write_row(i, &mut json);
        String::from_utf8(json).unwrap()
    };
    (0..rows.rows()).map(row).collect()
}

#[test]
fn each_kind_of_column_has_its_text() {
    let expected = [
        concat!(
            r#"{"timestamp":1234567,"f":0.1,"big":18446744073709551615,"#,
            r#""small":-9223372036854775808,"on":true,"text":"say \"hi\",\r\n","#,
            r#""mode_label":"MANUAL","list":[0.5,null],"pair":{"x":null,"s":"a"}}"#
        ),
        concat!(
            r#"{"timestamp":null,"f":16777216.0,"big":0,"small":-1,"on":false,"#,
            r#""text":"\u0001é\\","mode_label":null,"list":[],"#,
            r#""pair":{"x":-1e999,"s":null}}"#
        ),
    ];
    assert_eq!(rows(&all_kinds()), expected);
}

#[test]
fn times_of_day_are_strings() {
    let batch =
        table(vec![utc_times("us", vec![Some(1_714_564_800_123_456_000), None])]);
    let expected =
        [r#"{"timestamp":"2024-05-01T12:00:00.123456Z"}"#, r#"{"timestamp":null}"#];
    assert_eq!(rows(&batch), expected);
}

#[test]
fn every_control_character_is_escaped() {
    let all: String = (0..0x80_u8).map(char::from).collect();
    let batch =
        table(vec![column("a", Arc::new(StringArray::from(vec![all.clone()])))]);
    let json: serde_json::Value = serde_json::from_str(&rows(&batch)[0]).unwrap();
    assert_eq!(json["a"], all);
}

#[test]
fn bytes_are_hexadecimal() {
    let bytes = BinaryArray::from(vec![b"\x00\xab".as_slice()]);
    let batch = table(vec![column("a", Arc::new(bytes))]);
    assert_eq!(rows(&batch), [r#"{"a":"00ab"}"#]);
}

#[test]
fn a_table_without_columns_has_empty_objects() {
    let schema = Arc::new(arrow_schema::Schema::empty());
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(1));
    let batch = RecordBatch::try_new_with_options(schema, vec![], &options).unwrap();
    assert_eq!(rows(&batch), ["{}"]);
}
