use std::sync::Arc;

use arrow_array::{
    BinaryArray, Float32Array, Float64Array, ListArray, StringArray, types::Float64Type,
};

use super::*;
use crate::{
    column_formats::spark::SparkTypes,
    testing::{all_kinds, column, table, utc_times},
};

fn rows(batch: &RecordBatch) -> Vec<String> {
    let rows = JsonRows::new(batch).unwrap();
    let row_text = |row| {
        let mut json = Vec::new();
        rows.write_row(row, &mut json);
        String::from_utf8(json).unwrap()
    };
    (0..rows.rows()).map(row_text).collect()
}

#[test]
fn each_column_type_has_its_json_form() {
    let expected = [
        concat!(
            r#"{"timestamp":1234567,"f":0.1,"big":18446744073709551615,"#,
            r#""small":-9223372036854775808,"on":true,"text":"say \"hi\",\r\n","#,
            r#""mode_label":"MANUAL","list":[0.5,null],"pair":{"x":null,"s":"a"}}"#
        ),
        concat!(
            r#"{"timestamp":null,"f":16777216.0,"big":0,"small":-1,"on":false,"#,
            r#""text":"\u0001é\\","mode_label":null,"list":[],"#,
            r#""pair":{"x":null,"s":null}}"#
        ),
    ];
    assert_eq!(rows(&all_kinds()), expected);
}

#[test]
fn integers_for_spark_have_all_digits() {
    let batch = all_kinds();
    let converted = SparkTypes::new(&batch.schema()).convert(&batch).unwrap();
    let first = &rows(&converted)[0];
    for expected in [r#""big":18446744073709551615,"#, r#""timestamp_ns":1234567000,"#]
    {
        assert!(first.contains(expected), "{first}");
    }
}

#[test]
fn infinities_are_counted_nulls_or_large_numbers() {
    // JSON (RFC 8259, 6) has no infinities; Python's json parses 1e999 as infinity.
    let (infinity, nan) = (f32::INFINITY, f32::NAN);
    let single = Float32Array::from(vec![infinity, -infinity, nan, f32::MAX]);
    let double = Float64Array::from(vec![f64::NEG_INFINITY, 1.5, f64::NAN, f64::MAX]);
    let lists = ListArray::from_iter_primitive::<Float64Type, _, _>([
        Some(vec![Some(f64::INFINITY), None, Some(1.0)]),
        None,
        Some(vec![]),
        Some(vec![Some(f64::NEG_INFINITY)]),
    ]);
    let batch = table(vec![
        column("s", Arc::new(single)),
        column("d", Arc::new(double)),
        column("l", Arc::new(lists)),
    ]);
    let lines = |infinities: &Infinities| {
        let rows = JsonRows::with_infinities(&batch, infinities).unwrap();
        let mut json = Vec::new();
        (0..rows.rows()).for_each(|row| rows.write_row(row, &mut json));
        String::from_utf8(json).unwrap()
    };
    let as_nulls = Infinities::default();
    let expected = concat!(
        r#"{"s":null,"d":null,"l":[null,null,1.0]}"#,
        r#"{"s":null,"d":1.5,"l":null}{"s":null,"d":null,"l":[]}"#,
        r#"{"s":3.4028235e+38,"d":1.7976931348623157e+308,"l":[null]}"#
    );
    assert_eq!(lines(&as_nulls), expected);
    assert_eq!((as_nulls.take_null_count(), as_nulls.take_null_count()), (5, 0));
    let as_large_numbers = Infinities::as_large_numbers();
    let expected = concat!(
        r#"{"s":1e999,"d":-1e999,"l":[1e999,null,1.0]}"#,
        r#"{"s":-1e999,"d":1.5,"l":null}{"s":null,"d":null,"l":[]}"#,
        r#"{"s":3.4028235e+38,"d":1.7976931348623157e+308,"l":[-1e999]}"#
    );
    assert_eq!(
        (lines(&as_large_numbers).as_str(), as_large_numbers.take_null_count()),
        (expected, 0)
    );
    let texts = JsonColumn::for_text(batch.schema().field(2), batch.column(2)).unwrap();
    let mut text = Vec::new();
    [0, 3].iter().for_each(|row| texts.write(*row, &mut text));
    assert_eq!(str::from_utf8(&text).unwrap(), "[inf,null,1.0][-inf]");
}

#[test]
fn utc_times_are_strings() {
    let batch =
        table(vec![utc_times("us", vec![Some(1_714_564_800_123_456_000), None])]);
    let expected =
        [r#"{"timestamp":"2024-05-01T12:00:00.123456Z"}"#, r#"{"timestamp":null}"#];
    assert_eq!(rows(&batch), expected);
}

#[test]
fn every_control_character_is_escaped() {
    let ascii: String = (0..0x80_u8).map(char::from).collect();
    let batch =
        table(vec![column("a", Arc::new(StringArray::from(vec![ascii.clone()])))]);
    let json: serde_json::Value = serde_json::from_str(&rows(&batch)[0]).unwrap();
    assert_eq!(json["a"], ascii);
}

#[test]
fn byte_strings_are_hexadecimal() {
    let bytes = BinaryArray::from(vec![b"\x00\xab".as_slice()]);
    let batch = table(vec![column("a", Arc::new(bytes))]);
    assert_eq!(rows(&batch), [r#"{"a":"00ab"}"#]);
}

#[test]
fn table_without_columns_has_empty_objects() {
    let schema = Arc::new(arrow_schema::Schema::empty());
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(1));
    let batch = RecordBatch::try_new_with_options(schema, vec![], &options).unwrap();
    assert_eq!(rows(&batch), ["{}"]);
}
