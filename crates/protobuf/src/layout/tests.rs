use std::sync::Arc;

use logtool_core::{
    FieldRole, Layout, LayoutField, LayoutKind, Primitive, RecordProperties,
    TrailingBytes,
};

use super::*;
use crate::descriptor::kind;

fn field(name: &str, kind: LayoutKind, count: Option<u32>) -> LayoutField {
    let (name, role) = (name.to_owned(), FieldRole::Plain);
    LayoutField { name, kind, count, offset: 0, role }
}

fn number(name: &str, primitive: Primitive, count: Option<u32>) -> LayoutField {
    field(name, LayoutKind::Primitive(primitive), count)
}

fn layout(name: &str, fields: Vec<LayoutField>) -> Layout {
    Layout::from_fields(name.to_owned(), fields).unwrap()
}

/// Made by hand after the documentation of the encoding.
#[test]
fn message_has_the_documented_encoding() {
    let inner = layout("inner", vec![number("deep", Primitive::U8, None)]);
    let layout = layout(
        "outer",
        vec![
            number("small", Primitive::I8, None),
            number("zero", Primitive::U32, None),
            number("floats", Primitive::F32, Some(2)),
            number("name", Primitive::Char, Some(4)),
            field("inner", LayoutKind::Nested(Arc::new(inner)), Some(2)),
            number("counts", Primitive::U16, Some(2)),
        ],
    );
    let messages = LayoutMessages::new(&layout, "a").unwrap();
    let payload = [
        &[0xff][..],
        &[0; 4],
        &1_f32.to_le_bytes(),
        &2_f32.to_le_bytes(),
        b"hi\0\0",
        &[5, 0],
        &[0x2c, 1, 0, 0],
    ]
    .concat();
    let mut out = Vec::new();
    assert!(messages.append_message(&payload, &mut out));
    let expected = [
        &b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"[..],
        b"\x1a\x08\0\0\x80\x3f\0\0\0\x40",
        b"\x22\x02hi",
        b"\x2a\x02\x08\x05\x2a\x00",
        b"\x32\x03\xac\x02\x00",
    ]
    .concat();
    assert_eq!(out, expected);
}

#[test]
fn nested_types_are_declared_before_their_users() {
    let inner = Arc::new(layout("inner", vec![number("x", Primitive::F64, None)]));
    let fields = vec![
        field("one", LayoutKind::Nested(inner.clone()), None),
        field("two", LayoutKind::Nested(inner), None),
        field("at", LayoutKind::Timestamp, None),
    ];
    let messages = LayoutMessages::new(&layout("outer", fields), "p").unwrap();
    assert_eq!(messages.type_name, "p.outer");
    let [time, own] = &messages.files.files[..] else { panic!("two files") };
    assert_eq!(time.name, "google/protobuf/timestamp.proto");
    assert_eq!(own.imports, ["google/protobuf/timestamp.proto"]);
    let names: Vec<_> = own.messages.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["inner", "outer"]);
    let fields = &own.messages[1].fields;
    let types: Vec<_> =
        fields.iter().map(|f| (f.number, f.kind, f.type_name.as_str())).collect();
    let expected = [
        (1, kind::MESSAGE, ".p.inner"),
        (2, kind::MESSAGE, ".p.inner"),
        (3, kind::MESSAGE, ".google.protobuf.Timestamp"),
    ];
    assert_eq!(types, expected);
}

#[test]
fn written_descriptors_are_parsed_back() {
    let files = crate::FoxgloveLog::files();
    assert_eq!(FileSet::parse(&files.to_bytes()).unwrap(), files);
}

#[test]
fn payloads_that_are_too_short_or_too_long_are_rejected() {
    let fields = || {
        vec![
            number("x", Primitive::U16, None),
            field("text", LayoutKind::Text, None),
            field(
                "list",
                LayoutKind::List(Arc::new(LayoutKind::Primitive(Primitive::U32))),
                None,
            ),
        ]
    };
    let frame =
        RecordProperties { time_unit: "ns", trailing_bytes: TrailingBytes::Nothing };
    let layout = layout("t", fields()).with_record_properties(frame);
    let messages = LayoutMessages::new(&layout, "p").unwrap();
    let payload = b"\x01\0\x02\0\0\0hi\x01\0\0\0\x07\0\0\0";
    let mut out = vec![9];
    assert!(messages.append_message(payload, &mut out));
    assert_eq!(out, b"\x09\x08\x01\x12\x02hi\x1a\x01\x07");
    for len in 0..payload.len() {
        assert!(!messages.append_message(&payload[..len], &mut out), "{len} bytes");
    }
    assert!(!messages.append_message(&[&payload[..], &[0]].concat(), &mut out));
    let hostile = b"\x01\0\xff\xff\xff\xffhi\x01\0\0\0\x07\0\0\0";
    assert!(!messages.append_message(hostile, &mut out));
    assert_eq!(out.len(), 10);
}

#[test]
fn padding_at_the_end_may_be_missing() {
    let mut padding = number("_padding0", Primitive::U8, Some(3));
    padding.role = FieldRole::Hidden;
    let layout = layout("t", vec![number("x", Primitive::U8, None), padding]);
    let messages = LayoutMessages::new(&layout, "p").unwrap();
    for payload in [&[7_u8][..], &[7, 0], &[7, 0, 0, 0]] {
        let mut out = Vec::new();
        assert!(messages.append_message(payload, &mut out));
        assert_eq!(out, [8, 7]);
    }
    assert!(!messages.append_message(&[7, 0, 0, 0, 0], &mut Vec::new()));
}
