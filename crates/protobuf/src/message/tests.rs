use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::*};
use logtool_core::{Branch, ErrorKind, ValueType};

use super::*;
use crate::{
    descriptor::{Field, File, Message, kind},
    well_known_types::{TIMESTAMP, timestamp_file},
};

fn files(messages: Vec<Message>) -> FileSet {
    let package = "p".to_owned();
    let file = File { package, messages, ..File::default() };
    FileSet { files: vec![timestamp_file(), file] }
}

fn message(name: &str, fields: Vec<Field>) -> Message {
    Message { name: name.to_owned(), fields, ..Message::default() }
}

/// Returns the type `p.All` with all kinds of fields.
fn every_kind() -> FileSet {
    let mut optional = Field::new("maybe", 5, kind::UINT32);
    (optional.is_optional, optional.oneof) = (true, Some(0));
    let oneof = |name, number| Field {
        oneof: Some(1),
        ..Field::new(name, number, kind::STRING)
    };
    files(vec![
        message("In", vec![Field::new("x", 1, kind::SINT32)]),
        message(
            "All",
            vec![
                Field::new("n", 1, kind::INT32),
                Field::new("list", 2, kind::UINT32).as_repeated(),
                Field::new("in", 3, kind::MESSAGE).with_type_name(".p.In"),
                Field::new("ins", 4, kind::MESSAGE)
                    .with_type_name(".p.In")
                    .as_repeated(),
                optional,
                oneof("a", 6),
                oneof("b", 7),
                Field::new("at", 8, kind::MESSAGE).with_type_name(TIMESTAMP),
            ],
        ),
    ])
}

/// Returns the rows of `payloads`, and the number of bytes in no field.
fn read(files: &FileSet, payloads: &[&[u8]]) -> (Option<RecordBatch>, usize) {
    let mut extra_bytes = 0;
    let mut reader = MessageReader::new(files, "p.All").unwrap();
    let mut row = Branch::new(&ValueType::Struct(reader.struct_type().clone()));
    for payload in payloads {
        let Some(added) = reader.read(payload, &mut row, 1000) else {
            return (None, 0);
        };
        extra_bytes += added.extra_bytes;
    }
    let array = row.take().unwrap();
    (Some(array.as_struct().into()), extra_bytes)
}

/// Made by hand after the documentation of the encoding.
#[test]
fn every_kind_of_field_becomes_a_column() {
    let message = [
        &b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"[..], // n: -1
        b"\x12\x03\x01\xac\x02\x10\x05", // list: packed 1, 300, then 5
        b"\x1a\x02\x08\x03",             // in.x: -2
        b"\x22\x00\x22\x02\x08\x02",     // ins: one empty, x: 1
        b"\x28\x00",                     // 0, which the message states
        b"\x32\x01a\x3a\x01b",           // a, then b instead
        b"\x42\x04\x08\x02\x10\x07",     // at: 2 s, 7 ns
    ]
    .concat();
    let (batch, extra_bytes) = read(&every_kind(), &[&message, b"\x78\x01"]);
    let batch = batch.unwrap();
    assert_eq!(extra_bytes, 2);
    assert_eq!(batch["n"].as_primitive::<Int32Type>().values(), &[-1, 0]);
    let list = batch["list"].as_list::<i32>();
    assert_eq!(list.value(0).as_primitive::<UInt32Type>().values(), &[1, 300, 5]);
    assert_eq!((list.is_null(1), list.value(1).len()), (false, 0));
    let inner = batch["in"].as_struct();
    assert_eq!(inner.column(0).as_primitive::<Int32Type>().value(0), -2);
    assert!(inner.is_null(1));
    let inners = batch["ins"].as_list::<i32>().value(0);
    let x = inners.as_struct().column(0).as_primitive::<Int32Type>().clone();
    assert_eq!(x.values(), &[0, 1]);
    let maybe = batch["maybe"].as_primitive::<UInt32Type>();
    assert_eq!(maybe.iter().collect::<Vec<_>>(), [Some(0), None]);
    let text = |name: &str| -> Vec<Option<String>> {
        batch[name].as_string::<i32>().iter().map(|t| t.map(str::to_owned)).collect()
    };
    assert_eq!(text("a"), [None, None]);
    assert_eq!(text("b"), [Some("b".to_owned()), None]);
    let at = batch["at"].as_primitive::<TimestampNanosecondType>();
    assert_eq!(at.iter().collect::<Vec<_>>(), [Some(2_000_000_007), None]);
}

#[test]
fn message_that_occurs_twice_is_merged() {
    let (batch, _) = read(&every_kind(), &[b"\x1a\x02\x08\x03\x1a\x00"]);
    let batch = batch.unwrap();
    let x = batch["in"].as_struct().column(0).as_primitive::<Int32Type>().clone();
    assert_eq!(x.values(), &[-2]);
}

/// Made by hand: the documentation says that a message that occurs twice is merged, and that the
/// last field of a oneof is kept.
#[test]
fn last_field_of_a_oneof_is_kept_when_messages_are_merged() {
    let of_type =
        |name, number, of| Field::new(name, number, kind::MESSAGE).with_type_name(of);
    let in_oneof = |field| Field { oneof: Some(0), ..field };
    let files = files(vec![
        message(
            "In",
            vec![Field::new("x", 1, kind::INT32), Field::new("y", 2, kind::INT32)],
        ),
        message(
            "Choice",
            vec![
                in_oneof(of_type("a", 1, ".p.In")),
                in_oneof(Field::new("b", 2, kind::INT32)),
            ],
        ),
        message("All", vec![of_type("choice", 1, ".p.Choice")]),
    ]);
    // The fields `a.x` and `a.y` of one row; `None` if `a` is null. Then `b`.
    let choice = |payload: &[u8]| {
        let batch = read(&files, &[payload]).0.unwrap();
        let choice = batch["choice"].as_struct();
        let b = choice.column(1).as_primitive::<Int32Type>();
        let a = choice.column(0).as_struct();
        let number =
            |index: usize| a.column(index).as_primitive::<Int32Type>().value(0);
        let a = a.is_valid(0).then(|| [number(0), number(1)]);
        (a, b.is_valid(0).then(|| b.value(0)))
    };
    let (x, y, b) =
        (b"\x0a\x04\x0a\x02\x08\x05", b"\x0a\x04\x0a\x02\x10\x06", b"\x0a\x02\x10\x07");
    assert_eq!(choice(&[&x[..], y].concat()), (Some([5, 6]), None));
    assert_eq!(choice(&[&x[..], b].concat()), (None, Some(7)));
    assert_eq!(choice(&[&x[..], b, y].concat()), (Some([0, 6]), None));
}

#[test]
fn broken_messages_are_rejected() {
    for payload in
        [&b"\x08"[..], b"\x12\x05\x01", b"\x1a\x02\x08\x80", b"\x00", b"\x0f"]
    {
        assert!(read(&every_kind(), &[payload]).0.is_none(), "{payload:?}");
    }
}

/// Made by hand after the documentation of the encoding. `n` is 7, and unknown bytes follow.
#[test]
fn bytes_in_no_field_are_counted_and_the_fields_are_read() {
    for (unknown, expected) in [
        (&b"\x78\x01"[..], 2),                  // field 15, a varint
        (b"\x7a\x02hi\x7d\x01\x02\x03\x04", 9), // field 15, as text and as 4 bytes
        (b"\x7b\x08\x01\x7c", 4),               // field 15, a group
        (b"\x1a\x04\x08\x03\x10\x05", 2), // in.x, and a field that `In` does not have
        (b"\x0d\x01\x02\x03\x04", 5),     // field 1 as 4 bytes, not as an int32
        (b"\0\0\0\0", 4),                 // the number of a field is not 0
        (b"\xab\xab\xab\xab", 4),         // a key without an end
        (b"\x7a\xff\x01x", 4),            // field 15, truncated
        (b"\x0f\x01", 2),                 // field 1 with an invalid wire type
    ] {
        let payload = [b"\x08\x07", unknown].concat();
        let (batch, extra_bytes) = read(&every_kind(), &[&payload]);
        assert_eq!(extra_bytes, expected, "{unknown:?}");
        let n = batch.unwrap()["n"].as_primitive::<Int32Type>().value(0);
        assert_eq!(n, 7, "{unknown:?}");
    }
}

#[test]
fn truncated_known_field_is_an_error() {
    let truncated_fields =
        [&b"\x12\x05\x01"[..], b"\x28", b"\x22\x01", b"\x32\xff\xff\xff\x0fa"];
    for truncated in truncated_fields {
        let payload = [b"\x08\x07", truncated].concat();
        assert!(read(&every_kind(), &[&payload]).0.is_none(), "{truncated:?}");
    }
}

#[test]
fn recursive_type_is_refused() {
    let field = Field::new("own", 1, kind::MESSAGE).with_type_name(".p.All");
    let err = MessageReader::new(&files(vec![message("All", vec![field])]), "p.All");
    let err = err.unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Unsupported);
    assert!(err.to_string().contains("contains itself"), "{err}");
}

#[test]
fn exponentially_growing_types_are_refused() {
    let doubling_type = |n: u32| {
        let type_name = format!(".p.T{}", n + 1);
        let field = |number| {
            Field::new(&format!("f{number}"), number, kind::MESSAGE)
                .with_type_name(&type_name)
        };
        message(&format!("T{n}"), vec![field(1), field(2)])
    };
    let mut types: Vec<_> = (0..40).map(doubling_type).collect();
    types.push(message("T40", vec![]));
    let err = MessageReader::new(&files(types), "p.T0").unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Limit);
}
