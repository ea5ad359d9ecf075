use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::*};

use super::*;

/// The columns of `messages`, and how many values of each do not fit.
fn read_all(schema: &str, messages: &[&str]) -> Option<(RecordBatch, Vec<u64>)> {
    let mut misfits = Vec::new();
    let mut reader = JsonReader::new("T", schema);
    let mut row = Branch::new(&Shape::Struct(reader.shape().clone()));
    for message in messages {
        misfits.push(reader.read(message.as_bytes(), &mut row, 1000)?.misfits);
    }
    let array = row.take().ok()?;
    Some((array.as_struct().into(), misfits))
}

/// The columns of messages that fit.
fn read(schema: &str, messages: &[&str]) -> Option<RecordBatch> {
    let (batch, misfits) = read_all(schema, messages)?;
    misfits.iter().all(|misfits| *misfits == 0).then_some(batch)
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
    for message in ["[]", "{", r#"{"x": nan}"#, r#"{"x": NaN"#, r#""NaN""#, "NaN"] {
        assert!(read_all(SCHEMA, &[message]).is_none(), "{message}");
    }
}

#[test]
fn a_field_that_is_not_what_the_schema_says_is_null_and_counted() {
    let messages = [
        r#"{"n": "5", "x": 2.5}"#,
        r#"{"n": 1.5, "x": 2.5}"#,
        r#"{"n": 18446744073709551615, "x": 2.5}"#,
        r#"{"in": 3, "of": {}, "x": 2.5}"#,
        r#"{"of": [1, "a", true], "in": {"b": 0}, "x": 2.5}"#,
    ];
    let (batch, misfits) = read_all(SCHEMA, &messages).unwrap();
    assert_eq!(misfits, [1, 1, 1, 2, 3]);
    assert_eq!(batch["x"].as_primitive::<Float64Type>().values(), &[2.5; 5]);
    assert_eq!((batch["n"].null_count(), batch["in"].null_count()), (5, 4));
    let of = batch["of"].as_list::<i32>().value(4);
    assert_eq!((of.len(), of.null_count()), (3, 2));
}

#[test]
fn numbers_that_json_has_no_place_for_are_numbers() {
    // As Python's json.dumps({"x": nan, "of": [inf, -inf, 1.5]}) writes them.
    let messages = [
        r#"{"x": NaN, "of": [Infinity, -Infinity, 1.5], "s": "NaN, \"Infinity\" 1e999"}"#,
        r#"{"x": 1e999, "of": [-1e999], "n": 3}"#,
        r#"{"x": "-Infinity"}"#,
    ];
    let batch = read(SCHEMA, &messages).unwrap();
    let x = batch["x"].as_primitive::<Float64Type>();
    assert!(x.value(0).is_nan());
    assert_eq!((x.value(1), x.value(2)), (f64::INFINITY, f64::NEG_INFINITY));
    let of = batch["of"].as_list::<i32>();
    let of = of.values().as_primitive::<Float64Type>();
    let (inf, minus) = (f64::INFINITY, f64::NEG_INFINITY);
    assert_eq!(of.values(), &[inf, minus, 1.5, minus]);
    assert_eq!(batch["s"].as_string::<i32>().value(0), r#"NaN, "Infinity" 1e999"#);
    assert_eq!(batch["n"].as_primitive::<Int64Type>().value(1), 3);
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
