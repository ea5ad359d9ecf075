use std::cell::RefCell;

use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::*};
use arrow_schema::DataType;
use logtool_core::conformance::check_float_parser;

use super::*;

/// Returns the columns of `messages`, and the number of mismatched values in each
/// message.
fn read_all(schema: &str, messages: &[&str]) -> Option<(RecordBatch, Vec<u64>)> {
    let mut type_mismatches = Vec::new();
    let mut reader = JsonReader::new("T", schema);
    let mut row = Branch::new(&ValueType::Struct(reader.struct_type().clone()));
    for message in messages {
        type_mismatches
            .push(reader.read(message.as_bytes(), &mut row, 1000)?.type_mismatches);
    }
    let array = row.take().ok()?;
    Some((array.as_struct().into(), type_mismatches))
}

/// Returns the columns of messages without mismatched values.
fn read(schema: &str, messages: &[&str]) -> Option<RecordBatch> {
    let (batch, type_mismatches) = read_all(schema, messages)?;
    type_mismatches.iter().all(|type_mismatches| *type_mismatches == 0).then_some(batch)
}

const SCHEMA: &str = r##"{"type": "object", "properties": {
    "n": {"type": "integer"}, "x": {"type": ["number", "null"]}, "s": {"type": "string"},
    "in": {"$ref": "#/$defs/in"}, "any": {}, "of": {"type": "array", "items": {"type": "number"}}
}, "$defs": {"in": {"type": "object", "properties": {"b": {"type": "boolean"}}}}}"##;

#[test]
fn columns_match_schema() {
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
    let list = batch["of"].as_list::<i32>().value(0);
    assert_eq!(list.as_primitive::<Float64Type>().values(), &[1.0, 2.5]);
}

#[test]
fn message_that_is_not_an_object_is_rejected() {
    for message in ["[]", "{", r#"{"x": nan}"#, r#"{"x": NaN"#, r#""NaN""#, "NaN"] {
        assert!(read_all(SCHEMA, &[message]).is_none(), "{message}");
    }
}

#[test]
fn mismatched_field_is_null_and_counted() {
    let messages = [
        r#"{"n": "5", "x": 2.5}"#,
        r#"{"n": 1.5, "x": 2.5}"#,
        r#"{"n": 18446744073709551615, "x": 2.5}"#,
        r#"{"in": 3, "of": {}, "x": 2.5}"#,
        r#"{"of": [1, "a", true], "in": {"b": 0}, "x": 2.5}"#,
    ];
    let (batch, type_mismatches) = read_all(SCHEMA, &messages).unwrap();
    assert_eq!(type_mismatches, [1, 1, 1, 2, 3]);
    assert_eq!(batch["x"].as_primitive::<Float64Type>().values(), &[2.5; 5]);
    assert_eq!((batch["n"].null_count(), batch["in"].null_count()), (5, 4));
    let list = batch["of"].as_list::<i32>().value(4);
    assert_eq!((list.len(), list.null_count()), (3, 2));
}

#[test]
fn special_float_values_are_decoded() {
    // As written by Python's json.dumps({"x": nan, "of": [inf, -inf, 1.5]}).
    let messages = [
        r#"{"x": NaN, "of": [Infinity, -Infinity, 1.5], "s": "NaN, \"Infinity\" 1e999"}"#,
        r#"{"x": 1e999, "of": [-1e999], "n": 3}"#,
        r#"{"x": "-Infinity"}"#,
    ];
    let batch = read(SCHEMA, &messages).unwrap();
    let x = batch["x"].as_primitive::<Float64Type>();
    assert!(x.value(0).is_nan());
    assert_eq!((x.value(1), x.value(2)), (f64::INFINITY, f64::NEG_INFINITY));
    let list = batch["of"].as_list::<i32>();
    let items = list.values().as_primitive::<Float64Type>();
    let (inf, minus_inf) = (f64::INFINITY, f64::NEG_INFINITY);
    assert_eq!(items.values(), &[inf, minus_inf, 1.5, minus_inf]);
    assert_eq!(batch["s"].as_string::<i32>().value(0), r#"NaN, "Infinity" 1e999"#);
    assert_eq!(batch["n"].as_primitive::<Int64Type>().value(1), 3);
}

#[test]
fn message_without_usable_schema_is_text() {
    for schema in ["", "{}", "no", r#"{"type": "object"}"#, r##"{"$ref": "#/$ref"}"##] {
        let batch = read(schema, &[r#"{"a": 1}"#]).unwrap();
        assert_eq!(
            batch["json"].as_string::<i32>().value(0),
            r#"{"a": 1}"#,
            "{schema}"
        );
    }
}

#[test]
fn doubles_are_rounded_correctly() {
    let schema = r#"{"type": "object", "properties": {"x": {"type": "number"}}}"#;
    let struct_type = JsonReader::new("T", schema).struct_type().clone();
    let reader = RefCell::new(JsonReader::new("T", schema));
    let row = RefCell::new(Branch::new(&ValueType::Struct(struct_type)));
    check_float_parser(|text| {
        let (mut reader, mut row) = (reader.borrow_mut(), row.borrow_mut());
        let message = format!("{{\"x\": {text}}}");
        reader.read(message.as_bytes(), &mut row, 1000).unwrap();
        let batch: RecordBatch = row.take().unwrap().as_struct().into();
        batch["x"].as_primitive::<Float64Type>().value(0)
    });
}

#[test]
fn columns_have_the_order_of_the_schema() {
    let schema = r#"{"type": "object", "properties": {"z": {"type": "integer"},
        "a": {"type": "object", "properties": {"y": {}, "b": {"type": "number"}}}, "m": {}}}"#;
    let batch = read(schema, &[r#"{"a": {"b": 1}, "m": "M", "z": 3}"#]).unwrap();
    let schema = batch.schema();
    let names: Vec<_> =
        schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["z", "a", "m"]);
    let DataType::Struct(inner) = schema.field(1).data_type() else {
        panic!("no struct")
    };
    assert_eq!(
        inner.iter().map(|field| field.name().as_str()).collect::<Vec<_>>(),
        ["y", "b"]
    );
}

#[test]
fn optional_value_has_type_of_other_alternative() {
    let schema = r##"{"type": "object", "properties": {
        "a": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "b": {"oneOf": [{"type": "null"}, {"$ref": "#/definitions/b~1c"}]},
        "c": {"allOf": [{"type": "array", "items": {"type": "boolean"}}]},
        "d": {"anyOf": [{"type": "number"}, {"type": "string"}]}},
        "definitions": {"b/c": {"type": "integer"}}}"##;
    let rows =
        [r#"{"a": 0.5, "b": 7, "c": [true], "d": 1.50}"#, r#"{"a": null, "d": "x"}"#];
    let batch = read(schema, &rows).unwrap();
    let a = batch["a"].as_primitive::<Float64Type>();
    assert_eq!(a.iter().collect::<Vec<_>>(), [Some(0.5), None]);
    let b = batch["b"].as_primitive::<Int64Type>();
    assert_eq!(b.iter().collect::<Vec<_>>(), [Some(7), None]);
    assert!(batch["c"].as_list::<i32>().value(0).as_boolean().value(0));
    let d = batch["d"].as_string::<i32>();
    assert_eq!(d.iter().collect::<Vec<_>>(), [Some("1.50"), Some("x")]);
}

#[test]
fn integers_are_exact_in_a_column_of_their_range() {
    let schema = r#"{"type": "object", "properties": {"u": {"type": "integer"},
        "n": {"type": "integer"}, "both": {"type": "integer"}, "list": {"type": "array",
        "items": {"type": "object", "properties": {"i": {"type": "integer"}}}},
        "id": {"type": "integer", "format": "uint64"}}}"#;
    let messages = [
        r#"{"u": 18446744073709551615, "n": -9223372036854775808, "both": -1, "id": 1}"#,
        r#"{"u": 1e3, "both": 1.8446744073709551615e19, "list": [{"i": 9223372036854775808}]}"#,
        r#"{"u": 20.0e-1, "list": [{"i": 1}, {}], "id": 9223372036854775809}"#,
    ];
    let mut examined = RangeReader::new(JsonReader::new("T", schema));
    messages.iter().for_each(|message| examined.read(message.as_bytes()));
    let mut reader = JsonReader::new("T", schema).with_types(&examined.types());
    let mut row = Branch::new(&ValueType::Struct(reader.struct_type().clone()));
    for message in messages {
        let added = reader.read(message.as_bytes(), &mut row, 1000).unwrap();
        assert_eq!(added.type_mismatches, 0, "{message}");
    }
    let batch: RecordBatch = row.take().unwrap().as_struct().into();
    let u = batch["u"].as_primitive::<UInt64Type>();
    assert_eq!(u.values(), &[u64::MAX, 1000, 2]);
    assert_eq!(batch["n"].as_primitive::<Int64Type>().value(0), i64::MIN);
    let both = batch["both"].as_string::<i32>();
    assert_eq!((both.value(0), both.value(1)), ("-1", "1.8446744073709551615e19"));
    let items = batch["list"].as_list::<i32>().values().as_struct();
    assert_eq!(items.column(0).as_primitive::<UInt64Type>().value(0), 1 << 63);
    assert_eq!(batch["id"].as_primitive::<UInt64Type>().value(2), (1 << 63) + 1);
}

#[test]
fn integers_with_a_fraction_or_an_exponent_are_exact() {
    let cases = [
        ("1.0", Some(1)),
        ("-12.50e1", Some(-125)),
        ("0.000e99999", Some(0)),
        ("-0", Some(0)),
        ("9007199254740993.0", Some(9_007_199_254_740_993)),
        ("170141183460469231731687303715884105727", Some(i128::MAX)),
        ("2.5", None),
        ("1e-1", None),
        ("1e400", None),
        ("\"5\"", None),
        ("true", None),
    ];
    for (json, value) in cases {
        assert_eq!(numbers::integer(json), value, "{json}");
    }
}
