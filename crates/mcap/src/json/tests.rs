use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::*};

use super::*;

fn read(schema: &str, messages: &[&str]) -> Option<RecordBatch> {
    let mut reader = JsonReader::new("T", schema);
    let mut row = Branch::new(&Shape::Struct(reader.shape().clone()));
    for message in messages {
        reader.read(message.as_bytes(), &mut row, 1000)?;
    }
    let array = row.take().ok()?;
    Some(array.as_struct().into())
}

const SCHEMA: &str = r##"{"type": "object", "properties": {
    "n": {"type": "integer"}, "x": {"type": ["number", "null"]}, "s": {"type": "string"},
    "in": {"$ref": "#/$defs/in"}, "any": {}, "of": {"type": "array", "items": {"type": "number"}}
}, "$defs": {"in": {"type": "object", "properties": {"b": {"type": "boolean"}}}}}"##;

#[test]
fn the_schema_says_what_columns_there_are() {
    let first = r#"{"n": 5, "x": null, "s": "hi", "in": {"b": true}, "any": [1], "of": [1, 2.5], "more": 1}"#;
    let batch = read(SCHEMA, &[first, r#"{"n": 2.0, "x": 1}"#]).unwrap();
    assert_eq!(batch["n"].as_primitive::<Int64Type>().values(), &[5, 2]);
    let x = batch["x"].as_primitive::<Float64Type>();
    assert_eq!(x.iter().collect::<Vec<_>>(), [None, Some(1.0)]);
    assert_eq!(batch["s"].as_string::<i32>().value(0), "hi");
    assert!(batch["s"].is_null(1));
    let inner = batch["in"].as_struct();
    assert!(inner.column(0).as_boolean().value(0) && inner.is_null(1));
    assert_eq!(batch["any"].as_string::<i32>().value(0), "[1]");
    let of = batch["of"].as_list::<i32>().value(0);
    assert_eq!(of.as_primitive::<Float64Type>().values(), &[1.0, 2.5]);
}

#[test]
fn messages_that_are_not_what_the_schema_says_are_none() {
    for message in [r#"{"n": "5"}"#, r#"{"n": 1.5}"#, r#"{"in": 3}"#, "[]", "{"] {
        assert!(read(SCHEMA, &[message]).is_none(), "{message}");
    }
}

#[test]
fn without_a_schema_there_is_the_text() {
    for schema in ["", "{}", "no", r#"{"type": "object"}"#, r##"{"$ref": "#/$ref"}"##] {
        let batch = read(schema, &[r#"{"a": 1}"#]).unwrap();
        assert_eq!(
            batch["json"].as_string::<i32>().value(0),
            r#"{"a": 1}"#,
            "{schema}"
        );
    }
}
